// RDMA adapters: firmware, and what ports count: link errors, lost packets, traffic.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;
using model::RdmaDevice;
using model::RdmaPort;

void firmware_mixed(const Machine& machine, Outcome& outcome) {
  std::map<std::string, std::map<std::string, std::vector<const RdmaDevice*>>> boards;
  Gaps gaps("firmware version");
  bool pairs = false;
  for (const RdmaDevice& device : machine.rdma) {
    if (device.virtual_function || !device.board_id.is_known()) continue;
    if (!device.firmware.is_known()) gaps.add(device.name, device.firmware);
    if (device.firmware.is_known()) boards[*device.board_id.get()][*device.firmware.get()].push_back(&device);
  }
  for (const auto& [board, versions] : boards) {
    pairs = pairs || versions.size() > 1 || versions.begin()->second.size() > 1;
    if (versions.size() < 2) continue;
    Draft draft{.title = "Adapters of board " + board + " run " + std::to_string(versions.size()) +
                         " firmware versions"};
    for (const auto& [version, devices] : versions) {
      std::vector<std::string> names;
      for (const RdmaDevice* device : devices)
        names.push_back(device->name);
      draft.devices.insert(draft.devices.end(), names.begin(), names.end());
      draft.evidence.push_back(
          seen(machine, devices.front()->firmware.source(), version + ": " + list_of(names)));
    }
    outcome.fire(std::move(draft));
  }
  if (!pairs && gaps.empty()) return outcome.not_applicable();
  gaps.report(outcome);
}

namespace {

struct Watched {
  const char* name;       // as sysfs calls the counter
  const char* threshold;  // above it the counter is worth a word
  bool roce_only = false;
};

// port_xmit_discards lies in counters/, the others of the transport in hw_counters/.
const model::Observed<std::uint64_t>* counter_of(const RdmaPort& port, const char* name) {
  const auto link = port.counters.find(name);
  if (link != port.counters.end()) return &link->second;
  const auto hardware = port.hw_counters.find(name);
  return hardware != port.hw_counters.end() ? &hardware->second : nullptr;
}

// Counters above their limit, of all active ports; equal counters of several ports are one finding.
void judge_counters(const Machine& machine, std::span<const Watched> watched, const char* words,
                    Outcome& outcome) {
  bool any = false;
  Gaps gaps("error counters");
  std::vector<Trouble> troubles;
  for (const PortRef& ref : hardware_ports(machine)) {
    if (!is_active(*ref.port)) continue;
    any = true;
    Draft draft;
    for (const Watched& one : watched) {
      const auto* counter = counter_of(*ref.port, one.name);
      if (counter == nullptr || (one.roce_only && ref.port->link_layer != LinkLayer::kEthernet)) continue;
      if (counter->is_unreadable()) gaps.add(port_label(ref), *counter);
      const std::uint64_t value = counter->value_or(0);
      if (static_cast<double>(value) > knowledge::threshold(one.threshold))
        draft.evidence.push_back(
            seen(machine, counter->source(), std::string(one.name) + " " + std::to_string(value)));
    }
    if (!draft.evidence.empty())
      troubles.push_back(
          {ref, std::string("counts ") + words, std::string("count ") + words, std::move(draft)});
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

}  // namespace

void port_errors(const Machine& machine, Outcome& outcome) {
  constexpr std::array kWatched = {Watched{"link_downed", "rdma.link-downed"},
                                   Watched{"symbol_error", "rdma.symbol-errors"},
                                   Watched{"link_error_recovery", "rdma.link-recoveries"}};
  judge_counters(machine, kWatched, "link errors", outcome);
}

// Linux Documentation/ABI/stable/sysfs-class-infiniband, hw_counters of mlx5. Adaptive routing of InfiniBand
// may deliver out of sequence without any loss.
void port_loss(const Machine& machine, Outcome& outcome) {
  constexpr std::array kWatched = {Watched{"out_of_sequence", "rdma.lost-packets", true},
                                   Watched{"packet_seq_err", "rdma.lost-packets"},
                                   Watched{"local_ack_timeout_err", "rdma.ack-timeouts"},
                                   Watched{"port_xmit_discards", "rdma.lost-packets"}};
  judge_counters(machine, kWatched, "lost packets", outcome);
}

namespace {

// What went through since the counters began; the unit (4 bytes) does not matter to a comparison.
std::optional<std::uint64_t> moved(const RdmaPort& port, Gaps& gaps, const std::string& label) {
  std::uint64_t sum = 0;
  for (const char* name : {"port_xmit_data", "port_rcv_data"}) {
    const auto* counter = counter_of(port, name);
    if (counter == nullptr || !counter->is_known()) {
      gaps.note(label, counter != nullptr ? counter->reason() : model::Reason::kNotCollected,
                counter != nullptr ? counter->error() : 0);
      return std::nullopt;
    }
    sum += *counter->get();
  }
  return sum;
}

struct Traffic {
  std::vector<PortRef> busy;
  std::vector<PortRef> idle;
  std::uint64_t most = 0;
};

Traffic sort_by_traffic(const std::vector<std::pair<PortRef, std::uint64_t>>& ports) {
  Traffic traffic;
  for (const auto& [ref, value] : ports)
    traffic.most = std::max(traffic.most, value);
  const double idle = knowledge::threshold("rdma.idle-share") * static_cast<double>(traffic.most);
  for (const auto& [ref, value] : ports)
    (static_cast<double>(value) < idle ? traffic.idle : traffic.busy).push_back(ref);
  return traffic;
}

bool has_gpu_job(const Machine& machine) {
  return std::ranges::any_of(machine.processes,
                             [](const model::Process& process) { return !process.gpus.empty(); });
}

}  // namespace

// Needs a running job, and ports of one kind of which some carried much and others next to nothing.
void port_idle(const Machine& machine, Outcome& outcome) {
  if (!has_gpu_job(machine)) return outcome.not_applicable();
  Gaps gaps("data counters");
  std::map<std::string, std::vector<std::pair<PortRef, std::uint64_t>>> kinds;
  bool any = false;
  for (const PortRef& ref : hardware_ports(machine)) {
    if (!is_active(*ref.port) || left_out(machine, ref)) continue;
    any = true;
    if (const auto value = moved(*ref.port, gaps, port_label(ref)))
      kinds[kind_of(ref)].emplace_back(ref, *value);
  }
  if (!any) return outcome.not_applicable();
  for (const auto& [kind, ports] : kinds) {
    const Traffic traffic = sort_by_traffic(ports);
    if (traffic.idle.empty() || static_cast<double>(traffic.most) < knowledge::threshold("rdma.busy-words"))
      continue;
    std::vector<std::string> idle;
    std::vector<std::string> busy;
    for (const PortRef& ref : traffic.idle)
      idle.push_back(port_label(ref));
    for (const PortRef& ref : traffic.busy)
      busy.push_back(port_label(ref));
    Draft draft{
        .title = fmt::format("{} of {} like ports carried next to nothing", idle.size(), ports.size()),
        .devices = idle};
    const auto* first = counter_of(*traffic.idle.front().port, "port_xmit_data");
    const auto* top = counter_of(*traffic.busy.front().port, "port_xmit_data");
    draft.evidence = {seen(machine, first->source(), "next to nothing: " + list_of(idle)),
                      seen(machine, top->source(), "in use: " + list_of(busy))};
    draft.rank = static_cast<double>(idle.size()) / static_cast<double>(ports.size());
    outcome.fire(std::move(draft));
  }
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
