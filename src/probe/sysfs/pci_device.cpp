#include "probe/sysfs/pci_device.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "base/text.hpp"
#include "probe/sysfs/cpu_sets.hpp"
#include "probe/sysfs/pci_config.hpp"

namespace angio::probe {
namespace {

template <typename T, typename U>
Observed<T> same_reason(const Observed<U>& other, model::Source source) {
  if (other.is_absent()) return Observed<T>::absent(source);
  return Observed<T>::unreadable(other.reason(), source, other.error());
}

// "PCI_ID=10DE:2330".
void parse_id_pair(std::string_view text, std::uint16_t& vendor, std::uint16_t& device) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos) return;
  vendor = parse_integer<std::uint16_t>(text.substr(0, colon), 16).value_or(0);
  device = parse_integer<std::uint16_t>(text.substr(colon + 1), 16).value_or(0);
}

// True when the text had the identity; drivers are told by a line or by its lack.
bool take_uevent(const Observed<std::string>& uevent, model::PciDevice& device) {
  bool found = false;
  device.driver = Observed<std::string>::absent(uevent.source());
  for (const std::string_view line : split_lines(*uevent.get())) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view key = line.substr(0, equals);
    const std::string_view value = line.substr(equals + 1);
    if (key == "DRIVER") device.driver = Observed<std::string>::known(printable(value), uevent.source());
    if (key == "PCI_SUBSYS_ID") parse_id_pair(value, device.subsystem_vendor, device.subsystem_device);
    if (key == "PCI_ID") parse_id_pair(value, device.vendor, device.device);
    if (key != "PCI_CLASS") continue;
    device.class_code = parse_integer<std::uint32_t>(value, 16).value_or(0);
    found = true;
  }
  return found;
}

Observed<std::string> driver_from_link(const Place& place) {
  const host::Read<std::string> link = place.root().read_link(place.path("driver"));
  if (!link) return place.missing<std::string>("driver", link.error());
  return Observed<std::string>::known(printable(link->substr(link->rfind('/') + 1)), place.source("driver"));
}

// Captured trees of other tools often lack uevent.
void take_single_files(const Place& place, model::PciDevice& device) {
  device.class_code = place.integer<std::uint32_t>("class", 16).value_or(0);
  device.vendor = place.integer<std::uint16_t>("vendor", 16).value_or(0);
  device.device = place.integer<std::uint16_t>("device", 16).value_or(0);
  device.subsystem_vendor = place.integer<std::uint16_t>("subsystem_vendor", 16).value_or(0);
  device.subsystem_device = place.integer<std::uint16_t>("subsystem_device", 16).value_or(0);
  device.driver = driver_from_link(place);
}

Observed<NumaId> read_numa_node(const Place& place) {
  const Observed<std::int64_t> node = place.integer<std::int64_t>("numa_node");
  if (!node.is_known()) return same_reason<NumaId>(node, node.source());
  if (*node.get() == -1) return Observed<NumaId>::absent(node.source());  // NUMA_NO_NODE
  if (*node.get() < 0 || *node.get() > CpuSet::kMaxCpu) {
    return Observed<NumaId>::unreadable(model::Reason::kUnparsable, node.source());
  }
  return Observed<NumaId>::known({static_cast<std::uint32_t>(*node.get())}, node.source());
}

// Speed and width; a device without a trained link says "Unknown" and 0 (or 63, 255).
Observed<model::PciLink> read_link(const Place& place, const char* speed_leaf, const char* width_leaf) {
  constexpr std::uint32_t kWidest = 32;
  const Observed<std::string> text = place.text(speed_leaf);
  if (!text.is_known()) return same_reason<model::PciLink>(text, text.source());
  const Observed<std::uint32_t> width = place.integer<std::uint32_t>(width_leaf);
  if (!width.is_known()) return same_reason<model::PciLink>(width, width.source());
  const auto speed = parse_link_speed(*text.get());
  if (speed && *width.get() > 0 && *width.get() <= kWidest) {
    return Observed<model::PciLink>::known({*speed, *width.get()}, text.source());
  }
  const bool unknown = speed || text.get()->starts_with("Unknown");
  return Observed<model::PciLink>::unreadable(
      unknown ? model::Reason::kUnsupported : model::Reason::kUnparsable, text.source());
}

// "BadTLP 3" lines; the kernel ends each file with its total.
std::uint64_t parse_counters(std::string_view text, std::map<std::string, std::uint64_t>& counters) {
  std::uint64_t sum = 0;
  std::optional<std::uint64_t> total;
  for (const std::string_view line : split_lines(text)) {
    const std::vector<std::string_view> words = split_words(line);
    const auto count = words.size() == 2 ? parse_integer<std::uint64_t>(words[1]) : std::nullopt;
    if (!count) continue;
    if (words[0].starts_with("TOTAL_"))
      total = *count;
    else if (*count > 0)
      counters[printable(words[0])] = *count;
    if (!words[0].starts_with("TOTAL_")) sum += *count;
  }
  return total.value_or(sum);
}

Observed<model::AerCounters> read_aer(const Place& place) {
  const Observed<std::string> correctable = place.text("aer_dev_correctable");
  if (!correctable.is_known()) return same_reason<model::AerCounters>(correctable, correctable.source());
  model::AerCounters counters;
  counters.total_correctable = parse_counters(*correctable.get(), counters.correctable);
  counters.total_nonfatal = parse_counters(place.text("aer_dev_nonfatal").value_or(""), counters.nonfatal);
  counters.total_fatal = parse_counters(place.text("aer_dev_fatal").value_or(""), counters.fatal);
  return Observed<model::AerCounters>::known(std::move(counters), correctable.source());
}

Observed<Bytes> read_largest_bar(const Place& place) {
  const Observed<Bytes> largest = place.parsed("resource", parse_largest_bar);
  return largest.is(Bytes{0}) ? Observed<Bytes>::absent(largest.source()) : largest;
}

void read_virtual_functions(const Place& place, model::PciDevice& device) {
  device.virtual_functions_max = place.integer<std::uint32_t>("sriov_totalvfs");
  device.virtual_functions =
      device.virtual_functions_max.is_known()
          ? place.integer<std::uint32_t>("sriov_numvfs")
          : same_reason<std::uint32_t>(device.virtual_functions_max, place.source("sriov_numvfs"));
  if (device.virtual_functions_max.is_known()) return;  // it is a physical function itself
  const host::Read<std::string> link = place.root().read_link(place.path("physfn"));
  if (link)
    device.physical_function = parse_pci_address(std::string_view(*link).substr(link->rfind('/') + 1));
}

template <typename T>
Observed<T> found_or(const std::optional<T>& value, const Observed<T>& otherwise, model::Source source) {
  return value ? Observed<T>::known(*value, source) : otherwise;
}

void take_extended(const PciConfig& config, model::Source source, model::PciDevice& device) {
  using model::AccessControl;
  // Conventional PCI has no extended space; PCIe with only 256 bytes was cut by who captured it.
  const auto cut = model::Reason::kNotCollected;
  const bool whole = config.reach() == ConfigReach::kExtended || !config.express();
  device.acs = found_or(
      config.access_control(),
      whole ? Observed<AccessControl>::absent(source) : Observed<AccessControl>::unreadable(cut, source),
      source);
  device.ats_enabled =
      found_or(config.address_translation(),
               whole ? Observed<bool>::absent(source) : Observed<bool>::unreadable(cut, source), source);
}

void take_express(const PciConfig& config, model::Source source, model::PciDevice& device) {
  const auto express = config.express();
  const auto none = Observed<Bytes>::absent(source);
  const PciExpressCapability capability = express.value_or(PciExpressCapability{});
  device.port = capability.port;
  device.max_payload = found_or(capability.max_payload, none, source);
  device.max_payload_supported = found_or(capability.max_payload_supported, none, source);
  device.max_read_request = found_or(capability.max_read_request, none, source);
  // Kernels before 4.13 have no current_link_speed.
  if (!device.link.is_known()) device.link = found_or(capability.link, device.link, source);
  if (!device.link_max.is_known()) device.link_max = found_or(capability.link_max, device.link_max, source);
}

void deny_config(model::Reason reason, int error, model::Source source, model::PciDevice& device) {
  device.acs = Observed<model::AccessControl>::unreadable(reason, source, error);
  device.ats_enabled = Observed<bool>::unreadable(reason, source, error);
  device.max_payload = Observed<Bytes>::unreadable(reason, source, error);
  device.max_payload_supported = device.max_payload;
  device.max_read_request = device.max_payload;
}

void take_config(const Observed<std::string>& bytes, model::PciDevice& device) {
  const model::Source source = bytes.source();
  if (!bytes.is_known()) {
    return deny_config(bytes.is_absent() ? model::Reason::kNotCollected : bytes.reason(), bytes.error(),
                       source, device);
  }
  const PciConfig config(*bytes.get());
  switch (config.reach()) {
    case ConfigReach::kNothing:
      return deny_config(model::Reason::kUnparsable, 0, source, device);
    case ConfigReach::kHeader:
      return deny_config(model::Reason::kDenied, EACCES, source, device);
    case ConfigReach::kStandard:
    case ConfigReach::kExtended:
      take_express(config, source, device);
      take_extended(config, source, device);
  }
}

}  // namespace

std::optional<TransfersPerSecond> parse_link_speed(std::string_view text) {
  constexpr double kGiga = 1e9;
  constexpr double kFastest = 1e4;  // GT/s; a bound, not a generation
  const std::vector<std::string_view> words = split_words(text);
  if (words.size() < 2 || words[1] != "GT/s") return std::nullopt;
  const auto speed = parse_double(words[0]);
  if (!speed || !std::isfinite(*speed) || *speed <= 0 || *speed > kFastest) return std::nullopt;
  return TransfersPerSecond{*speed * kGiga};
}

std::optional<Bytes> parse_largest_bar(std::string_view text) {
  constexpr std::size_t kBars = 6;                 // PCI_STD_NUM_BARS
  constexpr std::uint64_t kIoResourceMem = 0x200;  // include/linux/ioport.h
  std::size_t number = 0;
  std::uint64_t largest = 0;
  bool any = false;
  for (const std::string_view line : split_lines(text)) {
    if (number++ == kBars) break;
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() != 3) continue;
    const auto start = parse_integer<std::uint64_t>(words[0], 16);
    const auto end = parse_integer<std::uint64_t>(words[1], 16);
    const auto flags = parse_integer<std::uint64_t>(words[2], 16);
    if (!start || !end || !flags) continue;
    any = true;
    if ((*flags & kIoResourceMem) != 0 && *end > *start) largest = std::max(largest, *end - *start + 1);
  }
  if (!any) return std::nullopt;
  return Bytes{largest};
}

void read_identity(const Place& place, model::PciDevice& device) {
  const Observed<std::string> uevent = place.text("uevent");
  if (!uevent.is_known() || !take_uevent(uevent, device)) take_single_files(place, device);
  device.numa = read_numa_node(place);
}

bool is_of_interest(const model::PciDevice& device) {
  constexpr std::uint16_t kNvidia = 0x10de;
  if (model::is_bridge(device)) return true;
  switch (model::base_class(device)) {  // include/linux/pci_ids.h
    case 0x02:                          // network, InfiniBand
    case 0x03:                          // display
    case 0x0b:                          // processor: co-processors of the Xeon Phi kind
    case 0x12:
      return true;  // processing accelerator
    default:
      break;
  }
  const std::uint32_t sub_class = device.class_code >> 8U;
  const bool nvswitch = sub_class == 0x0680 && device.vendor == kNvidia;
  return nvswitch || sub_class == 0x0108 || sub_class == 0x0c06;  // NVMe, InfiniBand as a serial bus
}

void read_details(const Place& place, const Observed<std::string>& config, model::PciDevice& device) {
  device.link = read_link(place, "current_link_speed", "current_link_width");
  device.link_max = read_link(place, "max_link_speed", "max_link_width");
  device.aer = read_aer(place);
  take_config(config, device);
  if (model::is_bridge(device)) return;
  device.local_cpus = observe_cpu_set(place, "local_cpulist", "local_cpus");
  device.enabled = place.parsed("enable", [](std::string_view text) -> std::optional<bool> {
    const auto count = parse_integer<std::int64_t>(text);  // how many drivers enabled it
    if (!count) return std::nullopt;
    return *count > 0;
  });
  device.largest_bar = read_largest_bar(place);
  read_virtual_functions(place, device);
}

}  // namespace angio::probe
