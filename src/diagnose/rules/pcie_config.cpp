// Error counters and configuration space: AER, Access Control Services, address translation, payload,
// read requests, BAR size. Most of it needs root to read; unread means undecided.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "base/format.hpp"
#include "diagnose/rules/pcie.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::pcie {
namespace {

using model::Machine;
using model::PciDevice;
using model::PciPort;

std::string address_of(const PciDevice& device) {
  return to_string(device.address);
}

std::string kind_of(const PciDevice& bridge) {
  switch (bridge.port) {
    case PciPort::kRootPort:
      return "root port ";
    case PciPort::kSwitchUpstream:
      return "switch uplink ";
    case PciPort::kSwitchDownstream:
      return "switch port ";
    default:
      return "bridge ";
  }
}

// The cards and every bridge above them, with words for each.
std::map<std::uint32_t, std::string> data_path(const Machine& machine) {
  std::map<std::uint32_t, std::string> found;
  for (const Endpoint& card : endpoints(machine)) {
    found[card.device] = card.label;
    for (const std::uint32_t bridge : bridges_above(machine, card.device)) {
      found.emplace(bridge, kind_of(machine.pci.devices[bridge]) + address_of(machine.pci.devices[bridge]));
    }
  }
  return found;
}

// ---- Advanced Error Reporting

using Counts = std::map<std::string, std::uint64_t>;

// Names as in drivers/pci/pcie/aer.c. An unsupported request is what probing an empty function number
// gives, and an advisory (NonFatalErr) is its correctable form: neither says that a link is bad.
bool says_nothing(std::string_view name) {
  return name == "UnsupReq" || name == "NonFatalErr" || name == "ACSViol";
}

std::uint64_t add_up(const Counts& counts, std::string& words) {
  std::uint64_t sum = 0;
  for (const auto& [name, count] : counts) {
    if (count == 0 || says_nothing(name)) continue;
    sum += count;
    words += (words.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  }
  return sum;
}

void fire_errors(const Machine& machine, std::uint32_t index, const std::string& label, std::uint64_t count,
                 const std::string& kind, const std::string& words, Outcome& outcome) {
  const PciDevice& device = machine.pci.devices[index];
  const std::string plural = count == 1 ? " error" : " errors";
  outcome.fire({.title = label + " counts " + std::to_string(count) + " " + kind + " PCIe" + plural,
                .devices = {label, address_of(device)},
                .evidence = {seen(machine, device.aer.source(), words + " since boot")},
                .words = {{"address", address_of(device)}}});
}

}  // namespace

void aer_correctable(const Machine& machine, Outcome& outcome) {
  const auto path = data_path(machine);
  if (path.empty()) return outcome.not_applicable();
  const double limit = knowledge::threshold("pcie.correctable-errors");
  Gaps gaps("PCIe error counters");
  for (const auto& [index, label] : path) {
    const auto& aer = machine.pci.devices[index].aer;
    if (!aer.is_known()) {
      gaps.add(label, aer);
      continue;
    }
    std::string words;
    const std::uint64_t count = add_up(aer.get()->correctable, words);
    if (static_cast<double>(count) > limit)
      fire_errors(machine, index, label, count, "correctable", words, outcome);
  }
  gaps.report(outcome);
}

void aer_uncorrectable(const Machine& machine, Outcome& outcome) {
  const auto path = data_path(machine);
  if (path.empty()) return outcome.not_applicable();
  Gaps gaps("PCIe error counters");
  for (const auto& [index, label] : path) {
    const auto& aer = machine.pci.devices[index].aer;
    if (!aer.is_known()) {
      gaps.add(label, aer);
      continue;
    }
    std::string words;
    const std::uint64_t count = add_up(aer.get()->fatal, words) + add_up(aer.get()->nonfatal, words);
    if (count > 0) fire_errors(machine, index, label, count, "uncorrectable", words, outcome);
  }
  gaps.report(outcome);
}

// ---- Access Control Services

namespace {

// Ports of switches with two cards or more below: only there can a peer's packet turn round in the
// switch, and only there does a redirect take that away. Between root ports it passes the root anyway.
std::set<std::uint32_t> ports_between_peers(const Machine& machine) {
  const std::vector<Endpoint> cards = endpoints(machine);
  std::map<std::uint32_t, std::set<std::uint32_t>> cards_below;  // upstream port → cards
  std::map<std::uint32_t, std::set<std::uint32_t>> ports_below;  // upstream port → its downstream ports
  for (const Endpoint& card : cards) {
    const auto above = bridges_above(machine, card.device);
    for (std::size_t i = 0; i + 1 < above.size(); ++i) {
      const PciPort port = machine.pci.devices[above[i]].port;
      if (port != PciPort::kSwitchDownstream && port != PciPort::kUnknown) continue;
      cards_below[above[i + 1]].insert(card.device);
      ports_below[above[i + 1]].insert(above[i]);
    }
  }
  std::set<std::uint32_t> found;
  for (const auto& [uplink, below] : cards_below) {
    if (below.size() > 1) found.insert(ports_below[uplink].begin(), ports_below[uplink].end());
  }
  return found;
}

std::string redirects(const model::AccessControl& acs) {
  std::string words = acs.request_redirect ? "request redirect" : "";
  if (acs.completion_redirect) words += words.empty() ? "completion redirect" : " and completion redirect";
  return words;
}

}  // namespace

void acs_redirect(const Machine& machine, Outcome& outcome) {
  // Guests need ACS on their host's bridges and cannot see it.
  if (is_virtual(machine)) return outcome.not_applicable();
  const std::set<std::uint32_t> ports = ports_between_peers(machine);
  if (ports.empty()) return outcome.not_applicable();
  Gaps gaps("ACS state");
  Draft draft;
  for (const std::uint32_t index : ports) {
    const PciDevice& port = machine.pci.devices[index];
    if (!port.acs.is_known()) {
      gaps.add(address_of(port), port.acs);
    } else if (const std::string words = redirects(*port.acs.get()); !words.empty()) {
      draft.devices.push_back(address_of(port));
      draft.evidence.push_back(
          seen(machine, port.acs.source(), kind_of(port) + address_of(port) + ": " + words));
    }
  }
  if (!draft.devices.empty()) {
    draft.title = "ACS sends peer traffic of " + count_of(draft.devices.size(), "PCIe switch port") +
                  " up to the CPU instead of straight across";
    draft.rank = static_cast<double>(draft.devices.size()) / static_cast<double>(ports.size());
    draft.words = {{"address", draft.devices.front()}};
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// ---- address translation in a guest

void ats_in_guest(const Machine& machine, Outcome& outcome) {
  const std::vector<Endpoint> nics = nic_endpoints(machine);
  if (!is_virtual(machine) || nics.empty() || machine.gpus.empty()) return outcome.not_applicable();
  Gaps gaps("address translation (ATS)");
  Draft draft;
  for (const Endpoint& nic : nics) {
    const PciDevice& device = machine.pci.devices[nic.device];
    if (!device.ats_enabled.is_known()) {
      gaps.add(nic.label, device.ats_enabled);
    } else if (device.ats_enabled.is(false)) {
      draft.devices.push_back(nic.label);
      draft.evidence.push_back(seen(machine, device.ats_enabled.source(), nic.label + ": ATS off"));
    }
  }
  if (!draft.devices.empty()) {
    draft.title =
        "Address translation (ATS) is off in " + list_of(draft.devices) + " of this virtual machine";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// ---- payload

namespace {

struct Payload {
  Bytes now;
  Bytes possible;
  bool above_port = false;  // the card may send what its port does not take
};

std::optional<Payload> payload_of(const Machine& machine, const Endpoint& card, Gaps& gaps) {
  const PciDevice& device = machine.pci.devices[card.device];
  if (!device.max_payload.is_known() || !device.max_payload_supported.is_known()) {
    device.max_payload.is_known() ? gaps.add(card.label, device.max_payload_supported)
                                  : gaps.add(card.label, device.max_payload);
    return std::nullopt;
  }
  Payload payload{*device.max_payload.get(), *device.max_payload_supported.get()};
  for (const std::uint32_t index : bridges_above(machine, card.device)) {
    const Bytes* supported = machine.pci.devices[index].max_payload_supported.get();
    if (supported == nullptr) return std::nullopt;  // the same root rights would have shown it
    payload.possible = std::min(payload.possible, *supported);
  }
  const PciDevice* port = port_above(machine, device);
  const Bytes* theirs = port != nullptr ? port->max_payload.get() : nullptr;
  payload.above_port = theirs != nullptr && payload.now > *theirs;
  return payload;
}

// Share of the line that is data when every packet is full.
double efficiency(Bytes payload) {
  const double bytes = static_cast<double>(payload.value);
  return bytes / (bytes + knowledge::threshold("pcie.packet-overhead"));
}

std::string percent(double share) {
  return std::to_string(static_cast<int>(share * 100 + 0.5)) + " %";
}

void fire_payload(const Machine& machine, const std::vector<std::pair<Endpoint, Payload>>& cards,
                  bool mismatch, Outcome& outcome) {
  if (cards.empty()) return;
  Draft draft;
  for (const auto& [card, payload] : cards) {
    draft.devices.push_back(card.label);
    draft.evidence.push_back(seen(machine, machine.pci.devices[card.device].max_payload.source(),
                                  card.label + ": max payload " + in_words(payload.now) +
                                      ", the way to the CPU takes " + in_words(payload.possible)));
  }
  const Payload& first = cards.front().second;
  if (mismatch) {
    draft.severity = model::Severity::kWarning;
    draft.title = "Max payload of " + list_of(draft.devices) + " is above what the port takes";
  } else {
    draft.title = "Max payload of " + list_of(draft.devices) + " is " + in_words(first.now) +
                  "; all on the way can " + in_words(first.possible);
    draft.cost = {percent(efficiency(first.now)) + " of the link carries data, " +
                      percent(efficiency(first.possible)) + " possible",
                  "pcie-payload"};
    draft.rank = 1 - efficiency(first.now) / efficiency(first.possible);
  }
  draft.words = {{"address", address_of(machine.pci.devices[cards.front().first.device])}};
  outcome.fire(std::move(draft));
}

}  // namespace

void payload(const Machine& machine, Outcome& outcome) {
  const std::vector<Endpoint> cards = endpoints(machine);
  if (cards.empty() || is_virtual(machine)) return outcome.not_applicable();
  Gaps gaps("max payload");
  std::vector<std::pair<Endpoint, Payload>> small;
  std::vector<std::pair<Endpoint, Payload>> mismatched;
  for (const Endpoint& card : cards) {
    const auto payload = payload_of(machine, card, gaps);
    if (!payload) continue;
    if (payload->above_port) {
      mismatched.emplace_back(card, *payload);
    } else if (payload->now < payload->possible &&
               static_cast<double>(payload->now.value) < knowledge::threshold("pcie.payload.small")) {
      small.emplace_back(card, *payload);
    }
  }
  fire_payload(machine, mismatched, true, outcome);
  fire_payload(machine, small, false, outcome);
  gaps.report(outcome);
}

// ---- read requests

namespace {
constexpr std::string_view kMlx5 = "mlx5_core";
}

void read_request(const Machine& machine, Outcome& outcome) {
  std::vector<Endpoint> nics = nic_endpoints(machine);
  std::erase_if(nics, [&](const Endpoint& nic) {
    return machine.pci.devices[nic.device].driver.value_or("") != kMlx5;
  });
  if (nics.empty() || is_virtual(machine)) return outcome.not_applicable();
  const double least = knowledge::threshold("pcie.read-request.mlx5");
  Gaps gaps("max read request");
  Draft draft;
  std::string size;
  for (const Endpoint& nic : nics) {
    const PciDevice& device = machine.pci.devices[nic.device];
    const Bytes* request = device.max_read_request.get();
    if (request == nullptr) {
      gaps.add(nic.label, device.max_read_request);
    } else if (static_cast<double>(request->value) < least) {
      if (size.empty()) size = in_words(*request);
      draft.devices.push_back(nic.label);
      draft.evidence.push_back(seen(machine, device.max_read_request.source(),
                                    nic.label + ": max read request " + in_words(*request)));
      draft.words.emplace("address", address_of(device));
    }
  }
  if (!draft.devices.empty()) {
    draft.title = "Max read request of " + list_of(draft.devices) + " is " + size;
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

// ---- BAR size

void small_bar(const Machine& machine, Outcome& outcome) {
  const std::vector<Endpoint> gpus = gpu_endpoints(machine);
  // Peers are what needs the window: other GPUs, or RDMA cards.
  if (gpus.empty() || gpus.size() + machine.rdma.size() < 2) return outcome.not_applicable();
  Gaps gaps("BAR size");
  Gaps memory("memory size", Asked::kNvml);
  Draft draft;
  for (const Endpoint& card : gpus) {
    const PciDevice& device = machine.pci.devices[card.device];
    if (card.gpu->coherent_link.is(true)) continue;  // its memory is reached over C2C
    const Bytes* bar = device.largest_bar.get();
    const Bytes* size = card.gpu->memory.get();
    if (bar == nullptr || size == nullptr) {
      bar == nullptr ? gaps.add(card.label, device.largest_bar) : memory.add(card.label, card.gpu->memory);
    } else if (*bar < *size) {
      draft.devices.push_back(card.label);
      draft.evidence.push_back(
          seen(machine, device.largest_bar.source(),
               card.label + ": largest BAR " + in_words(*bar) + ", memory " + in_words(*size)));
      draft.rank = std::max(draft.rank, 1 - *bar / *size);
    }
  }
  if (!draft.devices.empty()) {
    draft.title = "Peers see only a part of the memory of " + list_of(draft.devices) + ": the BAR is small";
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
  memory.report(outcome);
}

}  // namespace angio::diagnose::pcie
