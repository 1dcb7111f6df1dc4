#include "import/lspci/details.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "import/pci_words.hpp"

namespace angio::import::lspci {
namespace {

constexpr std::string_view kRunAgain =
    "run 'sudo lspci -vvv -nn -D > lspci.txt' again and send the whole file";

void note_unreadable(Draft& draft, const Line& line) {
  draft.note("lspci.value-unreadable", line.number, [&] { return quoted(line.text); }, kRunAgain);
}

// What stands between `begin` and the next ',' or blank-bracket: "32GT/s" of "Speed 32GT/s (ok), …".
std::string_view word_after(std::string_view text, std::string_view begin) {
  const std::size_t start = text.find(begin);
  if (start == std::string_view::npos) return {};
  const std::string_view rest = text.substr(start + begin.size());
  return rest.substr(0, std::min(rest.find_first_of(", \t"), rest.size()));
}

// "Port #0, Speed 32GT/s, Width x16, ASPM L1". Unknown speeds and x0 (nothing plugged) are no link.
model::Observed<model::PciLink> read_link(Draft& draft, const Line& line, std::string_view value) {
  const auto speed = parse_link_speed(word_after(value, "Speed "));
  const std::string_view width = word_after(value, "Width ");
  constexpr std::uint32_t kMaxLanes = 32;  // PCI Express base specification
  const std::uint32_t lanes = width.starts_with('x')
                                  ? parse_integer<std::uint32_t>(width.substr(1)).value_or(kMaxLanes + 1)
                                  : kMaxLanes + 1;
  if (speed && lanes > 0 && lanes <= kMaxLanes)
    return draft.known(model::PciLink{*speed, lanes}, line.number);
  if (speed && lanes == 0) return draft.absent<model::PciLink>(line.number);
  if (!contains(value, "unknown")) note_unreadable(draft, line);
  return draft.unreadable<model::PciLink>(model::Reason::kUnparsable, line.number);
}

bool is_on(std::string_view value, std::string_view flag) {
  return contains(value, std::string(flag) + "+");
}

void read_acs(Draft& draft, const Line& line, std::string_view value, model::PciDevice& device) {
  if (!contains(value, "ReqRedir")) return note_unreadable(draft, line);
  model::AccessControl acs;
  acs.source_validation = is_on(value, "SrcValid");
  acs.request_redirect = is_on(value, "ReqRedir");
  acs.completion_redirect = is_on(value, "CmpltRedir");
  acs.upstream_forwarding = is_on(value, "UpstreamFwd");
  device.acs = draft.known(acs, line.number);
}

std::optional<Bytes> bytes_after(std::string_view text, std::string_view begin) {
  const auto count = parse_integer<std::uint64_t>(word_after(text, begin));
  return count && *count <= 65536 ? std::optional(Bytes{*count}) : std::nullopt;
}

void read_express(std::string_view value, model::PciDevice& device) {
  using model::PciPort;
  if (contains(value, "Root Port")) {
    device.port = PciPort::kRootPort;
  } else if (contains(value, "Upstream Port")) {
    device.port = PciPort::kSwitchUpstream;
  } else if (contains(value, "Downstream Port")) {
    device.port = PciPort::kSwitchDownstream;
  } else if (contains(value, "Endpoint")) {
    device.port = PciPort::kEndpoint;
  } else if (contains(value, "Bridge")) {
    device.port = PciPort::kOther;
  }
}

// "Memory at 210000000000 (64-bit, prefetchable) [size=128G]"
void read_region(Draft& draft, const Line& line, std::string_view value, model::PciDevice& device) {
  const std::size_t start = value.find("[size=");
  if (start == std::string_view::npos || !value.starts_with("Memory")) return;
  const std::string_view rest = value.substr(start + 6);
  const auto size = parse_byte_count(rest.substr(0, rest.find(']')));
  if (!size) return note_unreadable(draft, line);
  if (*size > device.largest_bar.value_or(Bytes{0}).value)
    device.largest_bar = draft.known(Bytes{*size}, line.number);
}

// "primary=15, secondary=16, subordinate=1c, sec-latency=0"
void read_buses(Draft& draft, const Line& line, std::string_view value, Details& details) {
  const auto secondary = parse_integer<std::uint8_t>(word_after(value, "secondary="), 16);
  const auto subordinate = parse_integer<std::uint8_t>(word_after(value, "subordinate="), 16);
  if (!secondary || !subordinate) return note_unreadable(draft, line);
  if (*secondary > 0) details.buses = BusRange{*secondary, *subordinate};
}

// "DellDevice 0b73", "Mellanox Technologies Device [15b3:0041]"
void read_subsystem(std::string_view value, model::PciDevice& device) {
  const std::size_t bracket = value.rfind('[');
  if (bracket == std::string_view::npos || value.size() - bracket < 11) return;
  const auto vendor = parse_integer<std::uint16_t>(value.substr(bracket + 1, 4), 16);
  const auto id = parse_integer<std::uint16_t>(value.substr(bracket + 6, 4), 16);
  if (value[bracket + 5] != ':' || !vendor || !id) return;
  device.subsystem_vendor = *vendor;
  device.subsystem_device = *id;
}

void read_node(Draft& draft, const Line& line, std::string_view value, model::PciDevice& device) {
  const auto node = parse_integer<std::uint32_t>(value);
  if (!node || *node > CpuSet::kMaxCpu) return note_unreadable(draft, line);
  device.numa = draft.known(NumaId{*node}, line.number);
}

void read_virtual_functions(Draft& draft, const Line& line, model::PciDevice& device) {
  const auto total = parse_integer<std::uint32_t>(word_after(line.text, "Total VFs: "));
  const auto now = parse_integer<std::uint32_t>(word_after(line.text, "Number of VFs: "));
  if (!total || !now) return note_unreadable(draft, line);
  device.virtual_functions_max = draft.known(*total, line.number);
  device.virtual_functions = draft.known(*now, line.number);
}

// Lines in which the name does not say everything.
bool take_plain(Draft& draft, const Line& line, model::PciDevice& device) {
  if (const auto payload = bytes_after(line.text, "MaxPayload ");
      payload && contains(line.text, "MaxReadReq")) {
    device.max_payload = draft.known(*payload, line.number);
    if (const auto read = bytes_after(line.text, "MaxReadReq "))
      device.max_read_request = draft.known(*read, line.number);
    return true;
  }
  if (contains(line.text, "Number of VFs:")) {
    read_virtual_functions(draft, line, device);
    return true;
  }
  return false;
}

}  // namespace

void take_detail(Draft& draft, const Line& line, model::PciDevice& device, Details& details) {
  details.verbose = true;
  KeyValue pair;
  if (take_plain(draft, line, device) || !split_key_value(line.text, ":", pair)) return;
  if (pair.key == "LnkCap") {
    device.link_max = read_link(draft, line, pair.value);
  } else if (pair.key == "LnkSta") {
    device.link = read_link(draft, line, pair.value);
  } else if (pair.key == "ACSCtl") {
    read_acs(draft, line, pair.value, device);
  } else if (pair.key == "ATSCtl") {
    device.ats_enabled = draft.known(is_on(pair.value, "Enable"), line.number);
  } else if (pair.key == "NUMA node") {
    read_node(draft, line, pair.value, device);
  } else if (pair.key == "Bus") {
    read_buses(draft, line, pair.value, details);
  } else if (pair.key == "Kernel driver in use") {
    device.driver = draft.known(printable(pair.value), line.number);
    details.driver_told = true;
  } else if (pair.key == "Subsystem") {
    read_subsystem(pair.value, device);
  } else if (pair.key == "Physical Slot") {
    device.slot = draft.known(printable(pair.value), line.number);
  } else if (pair.key.starts_with("Region ")) {
    read_region(draft, line, pair.value, device);
  } else if (pair.key == "DevCap") {
    if (const auto payload = bytes_after(pair.value, "MaxPayload ")) {
      device.max_payload_supported = draft.known(*payload, line.number);
    }
  } else if (pair.key == "Capabilities" && contains(pair.value, "Express")) {
    read_express(pair.value, device);
  } else if (pair.key == "Capabilities" && contains(pair.value, "access denied")) {
    details.denied = true;
    device.acs = draft.unreadable<model::AccessControl>(model::Reason::kDenied, line.number);
  }
}

}  // namespace angio::import::lspci
