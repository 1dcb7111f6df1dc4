// GIDs of RoCE ports: whether there is one to use, and which one NCCL takes by itself. A set
// NCCL_IB_GID_INDEX and releases without a search are rules of process_hca.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "diagnose/rules/process.hpp"
#include "diagnose/rules/rdma.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"
#include "model/gid_choice.hpp"

namespace angio::diagnose::rdma {

using model::Gid;
using model::GidChoice;
using model::GidFamily;
using model::GidWish;
using model::LinkLayer;
using model::Machine;
using model::RdmaPort;

namespace {

const model::Observed<std::uint32_t>* slots_of(const Machine& machine, const PortRef& ref) {
  const model::RdmaDeviceFacts* facts = facts_of(machine, *ref.device);
  const auto index = static_cast<std::size_t>(ref.port - ref.device->ports.data());
  return facts != nullptr && index < facts->gid_slots.size() ? &facts->gid_slots[index] : nullptr;
}

// "0 RoCE v1, link-local; 1 RoCE v2, link-local; 3 RoCE v2, IPv4": the first ones, which is where the answer
// is.
std::string table_in_words(const RdmaPort& port) {
  constexpr std::size_t kShown = 8;
  std::vector<std::string> entries;
  for (const Gid& gid : port.gids) {
    if (entries.size() == kShown) break;
    entries.push_back(fmt::format("{} {}", gid.index, model::meaning_of(gid)));
  }
  std::string text = "GID table: " + join(entries, "; ");
  if (port.gids.size() > kShown) text += fmt::format("; and {} more", port.gids.size() - kShown);
  return text;
}

model::Evidence table_seen(const Machine& machine, const RdmaPort& port) {
  return seen(machine, port.gids.front().type.source(), table_in_words(port));
}

// Critical where a job takes the port and names an index: whatever it names, nothing serves there.
Draft no_gid_draft(const Machine& machine, const PortRef& ref) {
  Draft draft{.title = {},
              .evidence = {table_seen(machine, *ref.port)},
              .cost = {"no connection beyond the link's own subnet", ""}};
  for (const model::Process* job : jobs_of(machine, {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX"})) {
    const model::Setting* index = setting_of(machine, job, "NCCL_IB_GID_INDEX");
    const bool named = index != nullptr && parse_integer<std::uint32_t>(trim(index->value)).has_value();
    if (!named || !uses_port(machine, job, ref)) continue;  // -1: automatic
    draft.severity = model::Severity::kCritical;
    draft.evidence.push_back(
        seen(machine, index->source, index->name + "=" + index->value + ": no index serves on this port"));
    break;
  }
  return draft;
}

void judge_table(const Machine& machine, const PortRef& ref, std::vector<Trouble>& troubles, Gaps& gaps) {
  const auto untyped =
      std::ranges::find_if(ref.port->gids, [](const Gid& gid) { return gid.type.is_unreadable(); });
  const auto* slots = slots_of(machine, ref);
  if (ref.port->gids.empty()) {
    if (slots == nullptr || !slots->is_known() || *slots->get() == 0)
      return gaps.note(port_label(ref), model::Reason::kNotCollected, 0);
    Draft draft{.title = {},
                .evidence = {seen(machine, slots->source(),
                                  fmt::format("{} slots, all empty: the interface has no address, or is down",
                                              *slots->get()))},
                .cost = {"no connection", ""}};
    troubles.push_back({ref, "has an empty GID table", "have empty GID tables", std::move(draft)});
  } else if (std::ranges::any_of(ref.port->gids, is_routable_v2)) {
    return;
  } else if (untyped != ref.port->gids.end()) {
    gaps.note(port_label(ref), untyped->type.reason(), untyped->type.error());
  } else {
    troubles.push_back(
        {ref, "has no routable RoCE v2 GID", "have no routable RoCE v2 GID", no_gid_draft(machine, ref)});
  }
}

}  // namespace

void roce_no_gid(const Machine& machine, Outcome& outcome) {
  bool any = false;
  Gaps gaps("GID table");
  std::vector<Trouble> troubles;
  for (const PortRef& ref : hardware_ports(machine)) {
    const bool roce = is_active(*ref.port) && ref.port->link_layer == LinkLayer::kEthernet;
    if (!roce || machine.gpus.empty() || left_out(machine, ref)) continue;
    any = true;
    judge_table(machine, ref, troubles, gaps);
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

// ---- NCCL's own choice

namespace {

bool holds(const char* fact, const model::LibraryFile* nccl) {
  const knowledge::NcclFact* found = knowledge::find_nccl_fact(fact);
  return nccl == nullptr || (found != nullptr && knowledge::holds(*found, nccl->version));
}

// A release that is not known is taken for a current one; evidence then says so.
GidWish wish_of(const Machine& machine, const model::Process* job, const model::LibraryFile* nccl) {
  GidWish wish = model::wish_of([&](std::string_view name) {
    const model::Setting* setting = setting_of(machine, job, name);
    return setting != nullptr ? &setting->value : nullptr;
  });
  wish.scans = holds("dynamic-gid", nccl);
  wish.survives_gaps = holds("gid-gaps", nccl);
  return wish;
}

struct Judge {
  const Machine& machine;
  const model::Process* job;
  const model::LibraryFile* nccl;
  GidWish wish;

  [[nodiscard]] std::string release() const {
    return nccl != nullptr ? "NCCL " + nccl->version : "NCCL 2.21 and newer";
  }
  [[nodiscard]] std::vector<model::Evidence> evidence(const PortRef& ref, const GidChoice& choice) const;
  [[nodiscard]] std::optional<Trouble> trouble(const PortRef& ref) const;
};

std::vector<model::Evidence> Judge::evidence(const PortRef& ref, const GidChoice& choice) const {
  std::vector<model::Evidence> found{table_seen(machine, *ref.port)};
  const std::string how = release() + ": " + join(choice.steps, "; ");
  if (nccl != nullptr)
    found.push_back(seen(machine, nccl->source, how));
  else
    found.push_back({how, "NCCL's rules; its release is not known here"});
  for (const char* name : {"NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE", "NCCL_IB_ROCE_VERSION_NUM"}) {
    if (const auto* setting = setting_of(machine, job, name))
      found.push_back(seen(machine, setting->source, setting->name + "=" + setting->value));
  }
  return found;
}

// The entry that would do: routable and RoCE v2, IPv4 before IPv6.
const Gid* best_of(const RdmaPort& port) {
  const Gid* best = nullptr;
  for (const Gid& gid : port.gids) {
    if (!is_routable_v2(gid)) continue;
    const auto raw = model::parse_gid(gid.gid);
    if (raw && model::family_of(*raw) == GidFamily::kIpv4) return &gid;
    if (best == nullptr) best = &gid;
  }
  return best;
}

// Why the good entry was passed over: names the fix.
const char* reason_word(const Gid& best, const GidWish& wish) {
  const auto raw = model::parse_gid(best.gid);
  if (raw && model::family_of(*raw) != wish.family)
    return wish.family == GidFamily::kIpv4 ? "by_family" : "by_family_set";
  return wish.range ? "by_range" : "by_other";
}

bool interface_is_down(const Machine& machine, const Gid& gid) {
  const std::string* name = gid.netdev.get();
  const model::NetDevice* found = name != nullptr ? find_interface(machine, *name) : nullptr;
  return found != nullptr && (found->state.is("down") || found->state.is("lowerlayerdown"));
}

std::optional<Trouble> Judge::trouble(const PortRef& ref) const {
  const auto* slots = slots_of(machine, ref);
  const GidChoice choice = choose_gid(*ref.port, wish, slots != nullptr ? slots->value_or(0) : 0);
  Draft draft{.title = {}, .evidence = evidence(ref, choice), .cost = {"no connection beyond the link", ""}};
  draft.rank = 1;
  if (choice.fails) {
    draft.cost = {"the job ends when it connects", ""};
    draft.words["by_gaps"] = "";
    const std::string words = fmt::format("a GID whose type cannot be read: {} gives up there", release());
    return Trouble{ref, "has " + words, "have " + words, std::move(draft)};
  }
  const Gid* best = best_of(*ref.port);
  if (best == nullptr) return std::nullopt;  // rdma.roce.no-v2-gid
  const bool wanted_v1 = wish.roce_version == 1;
  if (choice.entry == nullptr || (!is_routable_v2(*choice.entry) && !wanted_v1)) {
    draft.words[reason_word(*best, wish)] = "";
    draft.words["index"] = std::to_string(best->index);
    const std::string what =
        choice.entry != nullptr ? model::meaning_of(*choice.entry) : std::string("empty");
    const std::string words = fmt::format("would be used with GID {} ({}), though {} is {}", choice.index,
                                          what, best->index, model::meaning_of(*best));
    return Trouble{ref, words, words, std::move(draft)};
  }
  if (!interface_is_down(machine, *choice.entry)) return std::nullopt;
  const model::NetDevice* netdev = find_interface(machine, *choice.entry->netdev.get());
  draft.evidence.push_back(
      seen(machine, netdev->state.source(), netdev->name + " is " + netdev->state.value_or("")));
  draft.words["by_interface"] = netdev->name;
  const std::string words = fmt::format("GID {}, whose interface is down", choice.index);
  return Trouble{ref, "would be used with " + words, "would be used with " + words, std::move(draft)};
}

bool types_collected(const RdmaPort& port) {
  return std::ranges::none_of(port.gids, [](const Gid& gid) {
    return gid.type.is_absent() ||
           (gid.type.is_unreadable() && gid.type.reason() == model::Reason::kNotCollected);
  });
}

}  // namespace

void roce_gid_choice(const Machine& machine, Outcome& outcome) {
  if (machine.gpus.empty()) return outcome.not_applicable();
  bool any = false;
  Gaps gaps("RoCE version of the GIDs");
  std::vector<Trouble> troubles;
  for (const model::Process* job :
       jobs_of(machine, {"NCCL_IB_HCA", "NCCL_IB_GID_INDEX", "NCCL_IB_ADDR_FAMILY", "NCCL_IB_ADDR_RANGE",
                         "NCCL_IB_ROCE_VERSION_NUM"})) {
    const model::LibraryFile* nccl = process::nccl_of(machine, job);
    const Judge judge{machine, job, nccl, wish_of(machine, job, nccl)};
    if (judge.wish.index || !judge.wish.scans) continue;  // process.setting.gid-index, .gid-unset
    for (const PortRef& ref : ports_in_reach(machine, job)) {
      if (ref.port->link_layer != LinkLayer::kEthernet || ref.port->gids.empty()) continue;
      any = true;
      if (!types_collected(*ref.port)) {
        gaps.note(port_label(ref), model::Reason::kNotCollected, 0);
      } else if (auto trouble = judge.trouble(ref)) {
        troubles.push_back(std::move(*trouble));
      }
    }
  }
  if (!any) return outcome.not_applicable();
  fire_grouped(troubles, outcome);
  gaps.report(outcome);
}

}  // namespace angio::diagnose::rdma
