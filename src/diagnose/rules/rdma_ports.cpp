// RDMA ports: state and speed. Kinds beside each other are in rdma_reach.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <array>
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

namespace {

// PortPhysicalState of PortInfo, InfiniBand Architecture Specification 1.4, table 155; for Ethernet the
// kernel says LinkUp or Disabled alone (RoCE drivers' query_port).
struct PhysicalState {
  std::string_view name;
  const char* meaning;
};
constexpr std::array kPhysicalStates = {
    PhysicalState{"Sleep", "switched off by the subnet manager or by power saving"},
    PhysicalState{"Polling",
                  "it sends and hears no partner: no cable, a dead cable or transceiver, or the other "
                  "end is off"},
    PhysicalState{"Disabled",
                  "switched off here: by a command, the firmware, or because nobody brought it up"},
    PhysicalState{"PortConfigurationTraining",
                  "it hears a partner and agrees on speed and lanes; staying there "
                  "means a bad cable or ends that share no speed"},
    PhysicalState{"LinkErrorRecovery",
                  "the link was lost and is being trained again: a bad cable, transceiver or "
                  "port"},
    PhysicalState{"Phy Test", "a test pattern runs: somebody tests the cable"}};

std::string physical_in_words(const std::string& name) {
  const auto found = std::ranges::find(kPhysicalStates, name, &PhysicalState::name);
  return "physical state " + name +
         (found != kPhysicalStates.end() ? std::string(": ") + found->meaning : "");
}

model::Evidence physical_seen(const Machine& machine, const RdmaPort& port) {
  return seen(machine, port.physical_state.source(), physical_in_words(*port.physical_state.get()));
}

// INIT: the link is up, nobody gave it a LID. ARMED: it has its settings and waits for the last step, which
// the subnet manager or a first packet makes.
const char* state_meaning(const std::string& state) {
  return state == "INIT" ? "state INIT: the link works, but no subnet manager has given the port a LID"
                         : "state ARMED: a subnet manager set it up and never made it active";
}

}  // namespace

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
                .evidence = {seen(machine, ref.port->state.source(), state_meaning(*state))},
                .cost = {"no traffic until it is configured", ""}};
    if (ref.port->sm_lid.is(Lid{0}))
      draft.evidence.push_back(seen(machine, ref.port->sm_lid.source(), "SM LID 0: it never heard of one"));
    const std::string words = *state == "INIT" ? " linked but no subnet manager configured "
                                               : " linked, but the subnet manager did not activate ";
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
Draft down_draft(const Machine& machine, const PortRef& ref) {
  const bool disabled = ref.port->physical_state.is("Disabled");
  Draft draft{.title = {}, .evidence = {seen(machine, ref.port->state.source(), "state DOWN")}};
  if (ref.port->physical_state.is_known()) draft.evidence.push_back(physical_seen(machine, *ref.port));
  if (disabled) {
    draft.severity = model::Severity::kInfo;
    const bool ethernet = ref.port->link_layer == LinkLayer::kEthernet && !ref.device->netdevs.empty();
    draft.words[ethernet ? "disabled_netdev" : "disabled_port"] =
        ethernet ? ref.device->netdevs.front() : ref.device->name;
  } else {
    draft.words["link_down"] = "";
  }
  return draft;
}

Trouble down_trouble(const Machine& machine, const PortRef& ref, std::size_t up, std::size_t all) {
  Draft draft = down_draft(machine, ref);
  draft.cost = {fmt::format("1 of {} ports", all), "count-share"};
  draft.rank = 1.0 / static_cast<double>(all);
  const bool disabled = ref.port->physical_state.is("Disabled");
  const std::string words =
      fmt::format("{}, {} of {} like ports are active", disabled ? "disabled" : "down", up, all);
  return {ref, "is " + words, "are " + words, std::move(draft)};
}

// A list that names this very device means it; a prefix like "mlx5" means whatever there is.
const model::Setting* named_by(const Machine& machine, const PortRef& ref) {
  for (const model::Process* job : jobs_of(machine, {"NCCL_IB_HCA"})) {
    const model::Setting* setting = hca_setting(machine, job);
    if (setting == nullptr) continue;
    const NameList list = parse_names(setting->value);
    const bool named = std::ranges::any_of(
        list.names, [&](std::string_view name) { return device_part(name) == ref.device->name; });
    if (named && !list.exclude && takes(list, ref)) return setting;
  }
  return nullptr;
}

// The job names the port, so that what its neighbours do does not matter.
void fire_named(const Machine& machine, const std::vector<PortRef>& ports,
                const std::set<const RdmaPort*>& done, Outcome& outcome) {
  std::vector<Trouble> troubles;
  for (const PortRef& ref : ports) {
    const model::Setting* setting = ref.port->state.is("DOWN") ? named_by(machine, ref) : nullptr;
    if (setting == nullptr || done.contains(ref.port)) continue;
    Draft draft = down_draft(machine, ref);
    draft.severity = std::nullopt;
    draft.evidence.push_back(seen(machine, setting->source, setting->name + "=" + setting->value));
    draft.cost = {"NCCL goes on without", ""};
    troubles.push_back(
        {ref, "is down, and NCCL_IB_HCA names it", "are down, and NCCL_IB_HCA names them", std::move(draft)});
  }
  fire_grouped(troubles, outcome);
}

}  // namespace

void port_down(const Machine& machine, Outcome& outcome) {
  const auto ports = hardware_ports(machine);
  if (ports.empty()) return outcome.not_applicable();
  Gaps gaps("port state");
  for (const PortRef& ref : ports) {
    if (!ref.port->state.is_known()) gaps.add(port_label(ref), ref.port->state);
  }
  std::set<const RdmaPort*> done;
  for (const auto& [kind, alike] : by_kind(ports)) {
    const auto up = static_cast<std::size_t>(
        std::ranges::count_if(alike, [](const PortRef& ref) { return is_active(*ref.port); }));
    std::vector<Trouble> troubles;
    for (const PortRef& ref : alike) {
      if (!ref.port->state.is("DOWN") || up * 2 <= alike.size()) continue;
      troubles.push_back(down_trouble(machine, ref, up, alike.size()));
      done.insert(ref.port);
    }
    for (Trouble& trouble : troubles) {  // what all of them together are
      const auto same = std::ranges::count(troubles, trouble.singular, &Trouble::singular);
      trouble.draft.cost.text = fmt::format("{} of {} ports", same, alike.size());
      trouble.draft.rank = static_cast<double>(same) / static_cast<double>(alike.size());
    }
    fire_grouped(troubles, outcome);
  }
  fire_named(machine, ports, done, outcome);
  gaps.report(outcome);
}

// ACTIVE is what the software above still believes; below, the link is being made anew.
void port_unsettled(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("physical port state");
  std::vector<Trouble> troubles;
  for (const PortRef& ref : hardware_ports(machine)) {
    const bool deferred = ref.port->state.is("ACTIVE_DEFER");
    if (!is_active(*ref.port) && !deferred) continue;
    any = true;
    const std::string* physical = ref.port->physical_state.get();
    if (physical == nullptr) gaps.add(port_label(ref), ref.port->physical_state);
    if (physical == nullptr || (!deferred && *physical == "LinkUp")) continue;
    Draft draft{.title = {},
                .evidence = {seen(machine, ref.port->state.source(), "state " + *ref.port->state.get()),
                             physical_seen(machine, *ref.port)}};
    troubles.push_back({ref, "counts as active while its link is being trained again",
                        "count as active while their links are being trained again", std::move(draft)});
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
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
  const bool left = left_out(machine, ref);  // storage on the same boards, say
  const std::string words = "at " + in_words(rate) + ", a like port at " + most;
  Draft draft{.title = {},
              .evidence = {seen(machine, ref.port->rate.source(),
                                in_words(rate) + " " + ref.port->speed_name.value_or("")),
                           seen(machine, best.rate.source(), "like port: " + most)}};
  draft.cost = {in_words(to_bytes(rate)) + " of " + in_words(to_bytes(*best.rate.get())) + " a port",
                "port-rate"};
  draft.rank = 1 - rate / *best.rate.get();
  if (left) draft.severity = model::Severity::kInfo;
  return {ref, "runs " + words + (left ? "; NCCL_IB_HCA leaves it out" : ""),
          "run " + words + (left ? "; NCCL_IB_HCA leaves them out" : ""), std::move(draft)};
}

}  // namespace

namespace {

// sysfs tells what a port runs at, not what it could: without a like port nothing can be said, and the
// machine's only fast kind is worth saying that.
void report_alone(const Machine& machine, const std::map<std::string, std::vector<PortRef>>& kinds,
                  Outcome& outcome) {
  if (machine.gpus.empty()) return;
  std::vector<std::string> alone;
  for (const auto& [kind, alike] : kinds) {
    const auto active = std::ranges::count_if(alike, [](const PortRef& ref) { return is_active(*ref.port); });
    if (active > 1) return;
    if (active == 1 && alike.size() == 1 && is_fast(*alike.front().port))
      alone.push_back(port_label(alike.front()));
  }
  if (alone.empty()) return;
  outcome.undecided("what " + list_of(alone) +
                        " could run at: no like port to compare with, and sysfs tells only "
                        "the rate in use",
                    "angio doctor over several nodes compares them; mlxlink -d " + alone.front() +
                        " -c shows what card and cable can");
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
  if (troubles.empty() && gaps.empty()) report_alone(machine, by_kind(ports), outcome);
}

}  // namespace angio::diagnose::rdma
