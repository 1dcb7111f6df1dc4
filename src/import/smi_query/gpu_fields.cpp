#include "import/smi_query/gpu_fields.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>

namespace angio::import::smi_query {
namespace {

using model::Gpu;
using Setter = std::function<void(Draft&, const Field&, Gpu&)>;

template <typename T, typename Parse>
Setter into(model::Observed<T> Gpu::* member, Parse parse) {
  return [member, parse](Draft& draft, const Field& field, Gpu& gpu) {
    gpu.*member = observe<T>(draft, field, parse);
  };
}

std::optional<std::string> parse_compute_mode(std::string_view value) {
  static const std::map<std::string_view, std::string> kModes{{"Default", "default"},
                                                              {"Exclusive_Process", "exclusive process"},
                                                              {"Exclusive Process", "exclusive process"},
                                                              {"Exclusive_Thread", "exclusive thread"},
                                                              {"Exclusive Thread", "exclusive thread"},
                                                              {"Prohibited", "prohibited"}};
  const auto found = kModes.find(value);
  return found != kModes.end() ? std::optional(found->second) : std::nullopt;
}

// Bits of nvmlClocksEventReasons (nvml.h) by the names that nvidia-smi prints.
const std::map<std::string_view, std::uint64_t>& reason_bits() {
  static const std::map<std::string_view, std::uint64_t> kBits{{"Idle", 0x1},
                                                               {"Applications Clocks Setting", 0x2},
                                                               {"SW Power Cap", 0x4},
                                                               {"SW Power Capping", 0x4},
                                                               {"HW Slowdown", 0x8},
                                                               {"Sync Boost", 0x10},
                                                               {"SW Thermal Slowdown", 0x20},
                                                               {"HW Thermal Slowdown", 0x40},
                                                               {"HW Power Brake Slowdown", 0x80},
                                                               {"HW Power Braking", 0x80},
                                                               {"Display Clock Setting", 0x100}};
  return kBits;
}

// A reason that is not understood makes the whole mask unreadable: half a mask would say "not throttled".
void take_reason(Draft& draft, const Field& field, Gpu& gpu) {
  const std::string_view name = std::string_view(field.path).substr(field.path.rfind('/') + 1);
  const auto bit = reason_bits().find(name);
  const auto active = parse_enabled(field.value);
  if (const auto reason = missing(field.value)) {
    gpu.throttle_reasons = draft.unreadable<std::uint64_t>(*reason, field.line);
  } else if (bit == reason_bits().end() || !active) {
    gpu.throttle_reasons = draft.unreadable<std::uint64_t>(model::Reason::kUnparsable, field.line);
    draft.note(
        "smi-query.unknown-throttle-reason", field.line,
        [&] { return quoted(name) + " is no clocks event reason known here: " + quoted(field.value); },
        "the reasons of this GPU are not used; check that the text was not edited");
  } else if (gpu.throttle_reasons.is_known() ||
             gpu.throttle_reasons.reason() == model::Reason::kNotCollected) {
    const std::uint64_t mask = gpu.throttle_reasons.value_or(0);
    gpu.throttle_reasons = draft.known(*active ? mask | bit->second : mask, field.line);
  }
}

// New drivers split uncorrectable errors by kind; the sum is what NVML's total counts.
void add_ecc(Draft& draft, const Field& field, Gpu& gpu) {
  const auto count = observe<std::uint64_t>(draft, field, parse_count);
  if (count.is_known() && gpu.ecc_uncorrected.is_known()) {
    const std::uint64_t sum = gpu.ecc_uncorrected.value_or(0);
    const std::uint64_t more = count.value_or(0);
    gpu.ecc_uncorrected = draft.known(more > ~sum ? ~std::uint64_t{0} : sum + more, field.line);
  } else if (!gpu.ecc_uncorrected.is_known()) {
    gpu.ecc_uncorrected = count;
  }
}

void take_fabric(Draft& draft, const Field& field, Gpu& gpu) {
  model::FabricState fabric = gpu.fabric.value_or({});
  const std::string_view name = std::string_view(field.path).substr(std::string_view("Fabric/").size());
  if (missing(field.value)) {
    if (name == "State") gpu.fabric = draft.unreadable<model::FabricState>(*missing(field.value), field.line);
    return;
  }
  if (name == "State") fabric.state = to_lower(printable(field.value));
  if (name == "Status") fabric.status = printable(field.value);
  if (name == "ClusterUUID") fabric.cluster = printable(field.value);
  if (name == "CliqueId") fabric.clique = parse_integer<std::uint32_t>(field.value).value_or(0);
  gpu.fabric = draft.known(std::move(fabric), field.line);
}

const std::map<std::string_view, Setter>& setters() {
  static const std::map<std::string_view, Setter> kSetters{
      {"Product Name", into(&Gpu::name, parse_text)},
      {"Persistence Mode", into(&Gpu::persistence, parse_enabled)},
      {"MIG Mode/Current", into(&Gpu::mig, parse_enabled)},
      {"Serial Number", into(&Gpu::serial, parse_text)},
      {"GPU UUID", into(&Gpu::uuid, parse_text)},
      {"PCI/GPU Link Info/PCIe Generation/Max", into(&Gpu::pcie_generation_max, parse_generation)},
      {"PCI/GPU Link Info/PCIe Generation/Current", into(&Gpu::pcie_generation, parse_generation)},
      {"PCI/GPU Link Info/Link Width/Max", into(&Gpu::pcie_width_max, parse_lanes)},
      {"PCI/GPU Link Info/Link Width/Current", into(&Gpu::pcie_width, parse_lanes)},
      {"PCI/Replays Since Reset", into(&Gpu::pcie_replays, parse_count)},
      {"Performance State", into(&Gpu::performance_state, parse_text)},
      {"FB Memory Usage/Total", into(&Gpu::memory, parse_mebibytes)},
      {"FB Memory Usage/Used", into(&Gpu::memory_used, parse_mebibytes)},
      {"Compute Mode", into(&Gpu::compute_mode, parse_compute_mode)},
      {"Utilization/Gpu", into(&Gpu::utilization, parse_percent)},
      {"Utilization/GPU", into(&Gpu::utilization, parse_percent)},
      {"ECC Mode/Current", into(&Gpu::ecc, parse_enabled)},
      {"Ecc Mode/Current", into(&Gpu::ecc, parse_enabled)},
      {"Remapped Rows/Uncorrectable Error", into(&Gpu::remapped_rows, parse_count)},
      {"Remapped Rows/Pending", into(&Gpu::remap_pending, parse_enabled)},
      {"Remapped Rows/Remapping Failure Occurred", into(&Gpu::remap_failed, parse_enabled)},
      {"Temperature/GPU Current Temp", into(&Gpu::temperature, parse_celsius)},
      {"Clocks/SM", into(&Gpu::sm_clock, parse_megahertz)},
      {"Max Clocks/SM", into(&Gpu::sm_clock_max, parse_megahertz)},
      // "Power Readings" and "Power Limit" until driver 530, "GPU Power Readings" and its limits since; as
      // both forms of the corpus show.
      {"Power Readings/Power Draw", into(&Gpu::power, parse_watts)},
      {"Power Readings/Power Limit", into(&Gpu::power_limit, parse_watts)},
      {"Power Readings/Enforced Power Limit", into(&Gpu::power_limit, parse_watts)},
      {"Power Readings/Default Power Limit", into(&Gpu::power_limit_default, parse_watts)},
      {"GPU Power Readings/Power Draw", into(&Gpu::power, parse_watts)},
      {"GPU Power Readings/Average Power Draw", into(&Gpu::power, parse_watts)},
      {"GPU Power Readings/Current Power Limit", into(&Gpu::power_limit, parse_watts)},
      {"GPU Power Readings/Default Power Limit", into(&Gpu::power_limit_default, parse_watts)}};
  return kSetters;
}

// Headings and fields that a Gpu has no member for.
constexpr std::array kLeftOut{std::string_view("Product Brand"),
                              std::string_view("Product Architecture"),
                              std::string_view("Display Mode"),
                              std::string_view("Display Active"),
                              std::string_view("Display Attached"),
                              std::string_view("Addressing Mode"),
                              std::string_view("vGPU Device Capability"),
                              std::string_view("MIG Mode"),
                              std::string_view("MIG Devices"),
                              std::string_view("MIG Device"),
                              std::string_view("Accounting Mode"),
                              std::string_view("Accounting Mode Buffer Size"),
                              std::string_view("Driver Model"),
                              std::string_view("Minor Number"),
                              std::string_view("VBIOS Version"),
                              std::string_view("MultiGPU Board"),
                              std::string_view("Board ID"),
                              std::string_view("Board Part Number"),
                              std::string_view("GPU Part Number"),
                              std::string_view("FRU Part Number"),
                              std::string_view("Platform Info"),
                              std::string_view("Module ID"),
                              std::string_view("Module Id"),
                              std::string_view("Inforom Version"),
                              std::string_view("Inforom BBX Object Flush"),
                              std::string_view("GPU Operation Mode"),
                              std::string_view("GPU C2C Mode"),
                              std::string_view("GSP Firmware Version"),
                              std::string_view("GPU Virtualization Mode"),
                              std::string_view("GPU Reset Status"),
                              std::string_view("GPU Recovery Action"),
                              std::string_view("IBMNPU"),
                              std::string_view("PCI"),
                              std::string_view("Fan Speed"),
                              std::string_view("Sparse Operation Mode"),
                              std::string_view("Clocks Event Reasons Counters"),
                              std::string_view("FB Memory Usage"),
                              std::string_view("BAR1 Memory Usage"),
                              std::string_view("Conf Compute Protected Memory Usage"),
                              std::string_view("Utilization"),
                              std::string_view("Encoder Stats"),
                              std::string_view("FBC Stats"),
                              std::string_view("DRAM Encryption Mode"),
                              std::string_view("ECC Mode"),
                              std::string_view("Ecc Mode"),
                              std::string_view("ECC Errors"),
                              std::string_view("Retired Pages"),
                              std::string_view("Remapped Rows"),
                              std::string_view("Temperature"),
                              std::string_view("Power Readings"),
                              std::string_view("GPU Power Readings"),
                              std::string_view("Module Power Readings"),
                              std::string_view("GPU Memory Power Readings"),
                              std::string_view("Power Smoothing"),
                              std::string_view("Workload Power Profiles"),
                              std::string_view("EDPp Multiplier"),
                              std::string_view("Clocks"),
                              std::string_view("Applications Clocks"),
                              std::string_view("Default Applications Clocks"),
                              std::string_view("Deferred Clocks"),
                              std::string_view("Max Clocks"),
                              std::string_view("Max Customer Boost Clocks"),
                              std::string_view("Clock Policy"),
                              std::string_view("Voltage"),
                              std::string_view("Fabric"),
                              std::string_view("Capabilities"),
                              std::string_view("Products Brand"),
                              std::string_view("HW Slowdown")};

bool is_ecc_total(std::string_view path) {
  if (!path.starts_with("ECC Errors/Volatile/") && !path.starts_with("Ecc Errors/Volatile/")) return false;
  return path.find("Uncorrectable") != std::string_view::npos || path.ends_with("Double Bit/Total");
}

bool is_reason(std::string_view path) {
  return path.starts_with("Clocks Event Reasons/") || path.starts_with("Clocks Throttle Reasons/");
}

}  // namespace

bool take_gpu_field(Draft& draft, const Field& field, Gpu& gpu) {
  const std::string_view path = field.path;
  if (is_reason(path)) {
    take_reason(draft, field, gpu);
  } else if (is_ecc_total(path)) {
    add_ecc(draft, field, gpu);
  } else if (path.starts_with("Fabric/")) {
    take_fabric(draft, field, gpu);
  } else if (const auto setter = setters().find(path); setter != setters().end()) {
    setter->second(draft, field, gpu);
  } else {
    const std::string_view top = path.substr(0, path.find('/'));
    return std::ranges::find(kLeftOut, top) != kLeftOut.end();
  }
  return true;
}

}  // namespace angio::import::smi_query
