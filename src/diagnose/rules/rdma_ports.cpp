// RDMA ports: state, speed, kinds. MTU and GIDs are in rdma_network.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::rdma {

using model::LinkLayer;
using model::Machine;
using model::RdmaDevice;
using model::RdmaPort;

void no_subnet_manager(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("port state");
  std::vector<Trouble> troubles;
  for (const PortRef& ref : hardware_ports(machine)) {
    if (ref.port->link_layer != LinkLayer::kInfiniBand) continue;
    any = true;
    const std::string* state = ref.port->state.get();
    if (state == nullptr) {
      gaps.add(port_label(ref), ref.port->state);
      continue;
    }
    if (*state != "INIT" && *state != "ARMED") continue;
    Draft draft{.title = {},
                .evidence = {seen(machine, ref.port->state.source(), "state " + *state)},
                .cost = {"no traffic until it is configured", ""}};
    if (ref.port->sm_lid.is(Lid{0}))
      draft.evidence.push_back(seen(machine, ref.port->sm_lid.source(), "SM LID 0"));
    const std::string words = " linked but no subnet manager configured ";
    troubles.push_back(
        {ref, "is" + words + "it (" + *state + ")", "are" + words + "them (" + *state + ")", draft});
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

namespace {

std::map<std::string, std::vector<PortRef>> by_kind(const std::vector<PortRef>& ports) {
  std::map<std::string, std::vector<PortRef>> kinds;
  for (const PortRef& ref : ports) {
    const bool known = ref.device->board_id.is_known() || ref.device->hca_type.is_known();
    if (known && !ref.device->virtual_function) kinds[kind_of(ref)].push_back(ref);
  }
  return kinds;
}

// A port that is down among `all` like ones, `up` of them active. "Disabled" is somebody's command or an
// interface that was never brought up; "Polling" a link that finds no partner.
Trouble down_trouble(const Machine& machine, const PortRef& ref, std::size_t up, std::size_t all) {
  const bool disabled = ref.port->physical_state.is("Disabled");
  Draft draft{.title = {}, .evidence = {seen(machine, ref.port->state.source(), "state DOWN")}};
  if (const std::string* physical = ref.port->physical_state.get())
    draft.evidence.push_back(seen(machine, ref.port->physical_state.source(), "physical state " + *physical));
  draft.cost = {fmt::format("1 of {} ports", all), "count-share"};
  draft.rank = 1.0 / static_cast<double>(all);
  if (disabled) {
    draft.severity = model::Severity::kInfo;
    const bool ethernet = ref.port->link_layer == LinkLayer::kEthernet && !ref.device->netdevs.empty();
    draft.words[ethernet ? "disabled_netdev" : "disabled_port"] =
        ethernet ? ref.device->netdevs.front() : ref.device->name;
  } else {
    draft.words["link_down"] = "";
  }
  const std::string words =
      fmt::format("{}, {} of {} like ports are active", disabled ? "disabled" : "down", up, all);
  return {ref, "is " + words, "are " + words, std::move(draft)};
}

}  // namespace

void port_down(const Machine& machine, Outcome& outcome) {
  const auto ports = hardware_ports(machine);
  if (ports.empty()) return outcome.not_applicable();
  Gaps gaps("port state");
  for (const PortRef& ref : ports) {
    if (!ref.port->state.is_known()) gaps.add(port_label(ref), ref.port->state);
  }
  for (const auto& [kind, alike] : by_kind(ports)) {
    const auto up = static_cast<std::size_t>(
        std::ranges::count_if(alike, [](const PortRef& ref) { return is_active(*ref.port); }));
    std::vector<Trouble> troubles;
    for (const PortRef& ref : alike) {
      if (ref.port->state.is("DOWN") && up * 2 > alike.size())
        troubles.push_back(down_trouble(machine, ref, up, alike.size()));
    }
    for (Trouble& trouble : troubles) {  // what all of them together are
      const auto same = std::ranges::count(troubles, trouble.singular, &Trouble::singular);
      trouble.draft.cost.text = fmt::format("{} of {} ports", same, alike.size());
      trouble.draft.rank = static_cast<double>(same) / static_cast<double>(alike.size());
    }
    fire_grouped(troubles, outcome);
  }
  gaps.report(outcome);
}

// ---- speed

namespace {

const RdmaPort* fastest(const std::vector<PortRef>& alike) {
  const RdmaPort* best = nullptr;
  for (const PortRef& ref : alike) {
    if (!is_active(*ref.port) || !ref.port->rate.is_known()) continue;
    if (best == nullptr || *ref.port->rate.get() > *best->rate.get()) best = ref.port;
  }
  return best;
}

Trouble one_lane(const Machine& machine, const PortRef& ref) {
  const std::string words = "on one lane, " + in_words(*ref.port->rate.get());
  Draft draft{
      .title = {},
      .evidence = {seen(machine, ref.port->lanes.source(), "1X " + ref.port->speed_name.value_or(""))},
      .rank = 0.75};  // one of the four lanes an InfiniBand cable has
  return {ref, "runs " + words, "run " + words, std::move(draft)};
}

Trouble slower(const Machine& machine, const PortRef& ref, const RdmaPort& best) {
  const BitsPerSecond rate = *ref.port->rate.get();
  const std::string most = in_words(*best.rate.get());
  const std::string words = "at " + in_words(rate) + ", a like port at " + most;
  Draft draft{.title = {},
              .evidence = {seen(machine, ref.port->rate.source(),
                                in_words(rate) + " " + ref.port->speed_name.value_or("")),
                           seen(machine, best.rate.source(), "like port: " + most)}};
  draft.cost = {in_words(to_bytes(rate)) + " of " + in_words(to_bytes(*best.rate.get())) + " a port",
                "port-rate"};
  draft.rank = 1 - rate / *best.rate.get();
  return {ref, "runs " + words, "run " + words, std::move(draft)};
}

}  // namespace

void port_slow(const Machine& machine, Outcome& outcome) {
  const auto ports = hardware_ports(machine);
  Gaps gaps("port rate");
  std::vector<Trouble> troubles;
  std::size_t active = 0;
  for (const PortRef& ref : ports) {
    if (!is_active(*ref.port)) continue;
    ++active;
    if (!ref.port->rate.is_known()) gaps.add(port_label(ref), ref.port->rate);
    const bool single = ref.port->lanes.is(1U) && ref.port->link_layer == LinkLayer::kInfiniBand;
    if (single && ref.port->rate.is_known() && !ref.device->virtual_function)
      troubles.push_back(one_lane(machine, ref));
  }
  if (active == 0) return outcome.not_applicable();
  for (const auto& [kind, alike] : by_kind(ports)) {
    const RdmaPort* best = fastest(alike);
    if (best == nullptr) continue;
    for (const PortRef& ref : alike) {
      const BitsPerSecond* rate = ref.port->rate.get();
      const bool judged = is_active(*ref.port) && rate != nullptr && !ref.port->lanes.is(1U);
      if (judged && *rate < *best->rate.get()) troubles.push_back(slower(machine, ref, *best));
    }
  }
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

namespace {

bool hca_is_chosen(const Machine& machine) {
  if (find_setting(machine.software.settings, "NCCL_IB_HCA") != nullptr) return true;
  std::size_t jobs = 0;
  for (const model::Process& process : machine.processes) {
    if (process.gpus.empty()) continue;
    ++jobs;
    if (find_setting(process.settings, "NCCL_IB_HCA") == nullptr) return false;
  }
  return jobs > 0;
}

std::string kind_in_words(const PortRef& ref) {
  return in_words(*ref.port->rate.get()) +
         (ref.port->link_layer == LinkLayer::kInfiniBand ? " InfiniBand" : " RoCE");
}

}  // namespace

void port_mixed(const Machine& machine, Outcome& outcome) {
  std::map<std::string, std::vector<std::string>> kinds;
  std::set<LinkLayer> layers;
  PortRef first{};
  double best = 0;
  Gaps gaps("port rate");
  for (const PortRef& ref : hardware_ports(machine)) {
    if (!is_active(*ref.port) || ref.port->link_layer == LinkLayer::kUnknown) continue;
    if (!ref.port->rate.is_known()) {
      gaps.add(port_label(ref), ref.port->rate);
      continue;
    }
    if (first.device == nullptr) first = ref;
    best = std::max(best, ref.port->rate.get()->value);
    layers.insert(ref.port->link_layer);
    kinds[kind_in_words(ref)].push_back(ref.device->name);
  }
  if (first.device == nullptr || machine.gpus.empty()) return outcome.not_applicable();
  if (kinds.size() < 2 || hca_is_chosen(machine)) return gaps.report(outcome);
  std::vector<std::string> parts;
  std::vector<std::string> fast;
  for (const auto& [kind, names] : kinds)
    parts.push_back(std::to_string(names.size()) + " x " + kind + " (" + list_of(names) + ")");
  for (const PortRef& ref : hardware_ports(machine)) {
    if (is_active(*ref.port) && ref.port->rate.value_or({}).value >= best) fast.push_back(ref.device->name);
  }
  Draft draft{.title = "NCCL would use active ports of " + std::to_string(kinds.size()) + " kinds together",
              .devices = {},
              .evidence = {seen(machine, first.port->rate.source(), join(parts, "; ")),
                           {"NCCL_IB_HCA is not set", "environment"}},
              .words = {{"fast", join(fast, ",")}}};
  if (layers.size() < 2) draft.severity = model::Severity::kInfo;
  outcome.fire(std::move(draft));
}

}  // namespace angio::diagnose::rdma
