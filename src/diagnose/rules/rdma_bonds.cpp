// Bonds below RDMA devices: members that carry nothing, or less than the others. How many queue pairs a bond
// needs is a rule of process_hca.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"

namespace angio::diagnose::rdma {

using model::Machine;
using model::NetDevice;

namespace {

// The bond an RDMA device's traffic leaves by; null: none is known.
const NetDevice* bond_of(const Machine& machine, const model::RdmaDevice& device) {
  for (const std::string& name : device.netdevs) {
    const NetDevice* found = find_interface(machine, name);
    if (found != nullptr && found->bond_master.is_known())
      found = find_interface(machine, *found->bond_master.get());
    if (found != nullptr && found->kind.is("bond")) return found;
  }
  return nullptr;
}

bool has_no_link(const NetDevice& member) {
  return member.carrier.is(false) || member.state.is("down") || member.state.is("lowerlayerdown");
}

// It has a link, and LACP keeps it apart from those that carry traffic.
bool is_left_out_by_lacp(const Machine& machine, const NetDevice& bond, const NetDevice& member) {
  const model::NetDeviceFacts* all = facts_of(machine, bond);
  const model::NetDeviceFacts* one = facts_of(machine, member);
  if (all == nullptr || one == nullptr || !all->bond_mode.is("802.3ad")) return false;
  const std::uint32_t* used = all->aggregator.get();
  const std::uint32_t* own = one->aggregator.get();
  return used != nullptr && own != nullptr && *used != *own;
}

struct Members {
  std::vector<const NetDevice*> working;
  std::vector<const NetDevice*> dead;
  std::vector<const NetDevice*> apart;  // left out by LACP
};

Members members_of(const Machine& machine, const NetDevice& bond, Gaps& gaps) {
  Members members;
  for (const std::string& name : bond.bond_members) {
    const NetDevice* member = find_interface(machine, name);
    if (member == nullptr) {
      gaps.note(name, model::Reason::kNotCollected, 0);
    } else if (has_no_link(*member)) {
      members.dead.push_back(member);
    } else if (!member->carrier.is_known()) {
      gaps.add(name, member->carrier);
    } else {
      (is_left_out_by_lacp(machine, bond, *member) ? members.apart : members.working).push_back(member);
    }
  }
  return members;
}

std::string names_of(const std::vector<const NetDevice*>& members) {
  std::vector<std::string> names;
  for (const NetDevice* member : members)
    names.push_back(member->name);
  return list_of(names);
}

// What is seen of one that carries nothing.
model::Evidence evidence_of(const Machine& machine, const NetDevice& bond, const NetDevice& member,
                            bool dead) {
  if (dead) {
    const model::Source& source = member.carrier.is_known() ? member.carrier.source() : member.state.source();
    return seen(machine, source, member.name + " has no carrier");
  }
  const std::uint32_t own = *facts_of(machine, member)->aggregator.get();
  const std::uint32_t used = *facts_of(machine, bond)->aggregator.get();
  return seen(machine, facts_of(machine, member)->aggregator.source(),
              fmt::format("{} is in aggregator {}, {} uses {}", member.name, own, bond.name, used));
}

void add_cost(const Machine& machine, const NetDevice& bond, const Members& members, Draft& draft) {
  const model::NetDeviceFacts* facts = facts_of(machine, bond);
  if (facts != nullptr && facts->bond_mode.is_known())
    draft.evidence.push_back(seen(machine, facts->bond_mode.source(), "mode " + *facts->bond_mode.get()));
  const std::size_t all = bond.bond_members.size();
  const std::size_t missing = members.dead.size() + members.apart.size();
  draft.cost = {fmt::format("{} of {} links of the bond", missing, all), "count-share"};
  draft.rank = static_cast<double>(missing) / static_cast<double>(all);
  if (facts == nullptr || !facts->bond_mode.is("active-backup") || members.working.empty()) return;
  draft.cost = {"no spare link", ""};  // the other member carries everything anyway
  draft.rank = 0;
  draft.severity = model::Severity::kInfo;
}

void fire_lost(const Machine& machine, const NetDevice& bond, const std::string& device,
               const Members& members, Outcome& outcome) {
  const bool dead = !members.dead.empty();
  const std::vector<const NetDevice*>& lost = dead ? members.dead : members.apart;
  const std::size_t all = bond.bond_members.size();  // one that was not read is taken for working
  const char* trouble = !dead              ? "linked, but left out by LACP"
                        : lost.size() == 1 ? "has no link"
                                           : "have no link";
  Draft draft{
      .title = fmt::format("{} of {} runs on {} of {} members: {} {}", bond.name, device,
                           all - members.dead.size() - members.apart.size(), all, names_of(lost), trouble),
      .devices = {device}};
  for (const NetDevice* member : lost)
    draft.evidence.push_back(evidence_of(machine, bond, *member, dead));
  add_cost(machine, bond, members, draft);
  draft.words = {{"bond", bond.name}, {"member", lost.front()->name}, {dead ? "no_link" : "no_lacp", ""}};
  if (const PciAddress* address = lost.front()->address.get()) draft.words["address"] = to_string(*address);
  outcome.fire(std::move(draft));
}

void fire_slow(const Machine& machine, const NetDevice& bond, const std::string& device,
               const Members& members, Outcome& outcome) {
  BitsPerSecond best{0};
  for (const NetDevice* member : members.working)
    best = std::max(best, member->speed.value_or({}));
  for (const NetDevice* member : members.working) {
    const BitsPerSecond* speed = member->speed.get();
    if (speed == nullptr || *speed >= best) continue;
    Draft draft{.title = fmt::format("{} in {} of {} runs at {}, another member at {}", member->name,
                                     bond.name, device, in_words(*speed), in_words(best)),
                .devices = {device},
                .evidence = {seen(machine, member->speed.source(), member->name + ": " + in_words(*speed))},
                .cost = {in_words(to_bytes(*speed)) + " of " + in_words(to_bytes(best)) + " on this member",
                         "port-rate"},
                .rank = (1 - *speed / best) / static_cast<double>(bond.bond_members.size()),
                .words = {{"bond", bond.name}, {"member", member->name}, {"no_link", ""}}};
    if (const PciAddress* address = member->address.get()) draft.words["address"] = to_string(*address);
    outcome.fire(std::move(draft));
  }
}

}  // namespace

// A bond of one member lacks nothing that can be seen here: how many it should have, only its peers tell.
void bond_degraded(const Machine& machine, Outcome& outcome) {
  std::set<const NetDevice*> done;
  Gaps gaps("link of the bond's members");
  for (const model::RdmaDevice& device : machine.rdma) {
    const NetDevice* bond = bond_of(machine, device);
    if (bond == nullptr || bond->bond_members.empty() || !done.insert(bond).second) continue;
    const Members members = members_of(machine, *bond, gaps);
    if (!members.dead.empty() || !members.apart.empty())
      fire_lost(machine, *bond, device.name, members, outcome);
    fire_slow(machine, *bond, device.name, members, outcome);
  }
  if (done.empty()) return outcome.not_applicable();
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
