#include "dryrun/against.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/doctor.hpp"
#include "diagnose/wording.hpp"
#include "dryrun/against_rules.hpp"
#include "knowledge/knowledge.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {

using diagnose::Draft;
using diagnose::Outcome;
using model::Diagnosis;
using model::DryRun;
using model::NcclCommunicator;
using model::NcclLog;
using model::NcclRank;
using model::NcclSetting;

namespace {

constexpr const char* kSubject = "job";  // the node of a finding that is about all of it

// ---- which ranks share a node

using Nodes = std::map<std::uint32_t, std::size_t>;

// Any labels to numbers in the order of ranks; empty unless there are exactly so many.
template <typename Label>
Nodes numbered(const std::map<std::uint32_t, Label>& labels, std::size_t wanted) {
  std::map<Label, std::size_t> numbers;
  Nodes nodes;
  for (const auto& [rank, label] : labels)
    nodes[rank] = numbers.try_emplace(label, numbers.size()).first->second;
  return numbers.size() == wanted ? nodes : Nodes{};
}

Nodes by_host(const NcclLog& log, const NcclCommunicator& world, std::size_t wanted) {
  std::map<std::uint32_t, std::string> hosts;
  for (const NcclRank& rank : world.ranks) {
    const std::string& host = model::host_of(log, rank);
    if (!rank.rank || host.empty()) return {};
    hosts[*rank.rank] = host;
  }
  return hosts.size() == world.nranks ? numbered(hosts, wanted) : Nodes{};
}

// Pairs that talk without a network are on one node.
Nodes by_pairs(const NcclCommunicator& world, const Ways& ways, std::size_t wanted) {
  constexpr std::uint32_t kMostRanks = 1U << 20U;  // a damaged line may state any number
  if (world.nranks == 0 || world.nranks > kMostRanks) return {};
  std::vector<std::uint32_t> root(world.nranks);
  std::iota(root.begin(), root.end(), 0U);
  const auto find = [&](std::uint32_t rank) {
    while (root[rank] != rank)
      rank = root[rank] = root[root[rank]];
    return rank;
  };
  for (const Pairs* pairs : {&ways.p2p, &ways.shm})
    for (const auto& [from, to] : *pairs)
      if (from < world.nranks && to < world.nranks) root[find(from)] = find(to);
  std::map<std::uint32_t, std::uint32_t> labels;
  for (std::uint32_t rank = 0; rank < world.nranks; ++rank)
    labels[rank] = find(rank);
  return numbered(labels, wanted);
}

// Ranks by host and GPU: a GPU that stands twice on a host name is one of several machines of that name.
std::optional<JobShape> shape_of(const NcclLog& log, const NcclCommunicator& world) {
  std::map<std::string, std::map<std::string, std::uint32_t>> hosts;
  for (const NcclRank& rank : world.ranks) {
    const std::string& host = model::host_of(log, rank);
    if (!rank.rank || host.empty() || rank.bus_id.empty()) return std::nullopt;
    ++hosts[host][rank.bus_id];
  }
  if (world.nranks == 0 || world.ranks.size() != world.nranks) return std::nullopt;
  JobShape shape{.nodes = 0, .ranks = 0};
  for (const auto& [host, gpus] : hosts)
    shape.nodes += std::ranges::max_element(gpus, {}, [](const auto& gpu) { return gpu.second; })->second;
  if (world.nranks % shape.nodes == 0) shape.ranks = world.nranks / shape.nodes;
  return shape;
}

Shown show(const NcclLog* log, const NcclCommunicator* world, std::size_t nodes) {
  Shown shown;
  shown.log = log;
  shown.world = world;
  if (log == nullptr || world == nullptr) return shown;
  shown.ways = ways_of(*world);
  shown.has_graphs = weakest_graph(*world, GraphKind::kRing) != nullptr;
  const auto all = [&](bool NcclRank::* connected) {
    return world->ranks.size() == world->nranks && std::ranges::all_of(world->ranks, connected);
  };
  shown.rings = all(&NcclRank::connected_rings);
  shown.trees = all(&NcclRank::connected_trees);
  shown.nvls = all(&NcclRank::connected_nvls);
  shown.nodes = by_host(*log, *world, nodes);
  if (shown.nodes.empty()) shown.nodes = by_pairs(*world, shown.ways, nodes);
  return shown;
}

// ---- settings of the job

// Nearer than what NCCL allows by itself, so that it can switch something off; PIX and below, or 0 and 1.
bool is_tight_level(std::string_view value) {
  nccl::PathType type{};
  if (nccl::parse_path_type(value, type)) return type < nccl::PathType::kPxb;
  const auto number = parse_integer<std::int64_t>(value);
  return number && *number <= 1;
}

bool can_reduce(const Both& both, std::string_view name, std::string_view value) {
  value = trim(value);
  if (name.starts_with("NCCL_MAX_")) {
    const auto limit = parse_integer<std::uint32_t>(value);
    const auto channels = most(*both.healthy.world, &NcclRank::coll_channels);
    return limit && channels && *limit < *channels;
  }
  if (name.ends_with("_DISABLE")) return is_on(value);
  if (name.ends_with("_ENABLE") || name.ends_with("_C2C") || name.ends_with("_GDR_READ") ||
      name == "NCCL_CROSS_NIC")
    return !is_on(value);
  if (name.ends_with("_LEVEL")) return is_tight_level(value);
  if (name == "NCCL_NET") return to_lower(value) == "socket";
  return true;
}

std::vector<const NcclSetting*> explaining(const AgainstRule& rule, const Both& both) {
  std::vector<const NcclSetting*> found;
  for (const char* name : rule.settings) {
    const NcclSetting* setting = read_setting(*both.job.log, name);
    if (setting == nullptr || !can_reduce(both, name, setting->value)) continue;
    const std::string* ours = find_setting(both.run.settings, name);
    if (ours == nullptr || trim(*ours) != trim(setting->value)) found.push_back(setting);
  }
  return found;
}

// A difference that the job's own settings can make is no fault.
void name_settings(const AgainstRule& rule, const Both& both, Draft& draft) {
  const auto settings = explaining(rule, both);
  if (settings.empty()) {
    draft.words["by_hardware"] = "";
    return;
  }
  std::vector<std::string> names;
  for (const NcclSetting* setting : settings) {
    names.push_back(setting->name);
    draft.evidence.push_back(
        seen(both.job, setting->source,
             printable(fmt::format("the job sets {}={}, the dry run does not: it can do this "
                                   "by itself",
                                   setting->name, setting->value))));
  }
  draft.words["by_setting"] = "";
  draft.words["setting"] = join(names, ", ");
  draft.title += fmt::format("; {} of the job can do this", join(names, ", "));
  draft.severity = model::Severity::kInfo;
}

// ---- versions

// Empty: the same release; else why the two cannot be compared.
std::string other_release(const Both& both) {
  const std::string ours = release_of(both.run.nccl);
  std::set<std::string> theirs;
  for (const model::NcclVersion& version : both.job.log->versions)
    theirs.insert((version.is_rccl ? "RCCL " : "") + release_of(version.version));
  if (theirs.empty()) return fmt::format("the job's log does not name its NCCL, the dry run has {}", ours);
  if (theirs.size() == 1 && *theirs.begin() == ours) return {};
  const std::vector<std::string> names(theirs.begin(), theirs.end());
  return fmt::format("the job ran NCCL {}, the dry run {}", printable(join(names, " and ")), printable(ours));
}

void run_rule(const AgainstRule& rule, const Both& both, const std::string& other, Diagnosis& diagnosis) {
  const knowledge::RuleText* text = knowledge::find_rule(rule.id);
  if (text == nullptr) return;  // a test and tools/check_data.py forbid it
  Outcome outcome;
  rule.check(both, outcome);
  for (Draft& draft : outcome.drafts) {
    if (!other.empty()) {
      diagnosis.undecided.push_back({rule.id, kSubject, draft.title + "; but " + other,
                                     "run the dry run with the job's own libnccl: --nccl"});
      continue;
    }
    name_settings(rule, both, draft);
    const auto node = draft.words.find("node");
    const std::string subject = node == draft.words.end() ? std::string(kSubject) : node->second;
    diagnosis.findings.push_back(diagnose::make_finding(*text, subject, std::move(draft)));
  }
  for (Outcome::Gap& gap : outcome.gaps)
    diagnosis.undecided.push_back({rule.id, kSubject, std::move(gap.missing), std::move(gap.collect)});
  if (!outcome.drafts.empty() || !outcome.gaps.empty()) return;
  (outcome.applicable ? diagnosis.held : diagnosis.not_applicable).emplace_back(rule.id);
}

// What stands in the way of any comparison; empty: nothing.
model::Undecided obstacle(const DryRun& healthy, const Both& both) {
  const auto undecided = [](std::string missing, std::string collect) {
    return model::Undecided{"dryrun", kSubject, std::move(missing), std::move(collect)};
  };
  if (both.healthy.world == nullptr)
    return undecided("the dry run itself made no communicator", "angio dryrun without --against shows why");
  if (both.job.log == nullptr) return undecided("the job's file has no lines of NCCL's debug log", kLogAll);
  const std::uint32_t ranks = both.healthy.world->nranks;
  if (both.job.world == nullptr) {
    const NcclCommunicator* largest = world_of(*both.job.log);
    return undecided(largest == nullptr || largest->nranks == 0
                         ? std::string("the job's log names no communicator")
                         : fmt::format("the job's largest communicator has {}, the dry run {}",
                                       count_of(largest->nranks, "rank"), ranks),
                     largest == nullptr ? kLogAll : "give the dry run the job's shape: --nodes and --ranks");
  }
  const auto shape = shape_of(*both.job.log, *both.job.world);
  const auto nodes = shape ? std::optional(shape->nodes) : both.job.world->nodes;
  if (nodes && *nodes != healthy.nodes)
    return undecided(fmt::format("the job's {} are on {}, the dry run's on {}", count_of(ranks, "rank"),
                                 count_of(*nodes, "node"), count_of(healthy.nodes, "node")),
                     "give the dry run the job's shape: --nodes and --ranks");
  return {};
}

}  // namespace

model::Evidence seen(const Shown& side, const model::Source& source, std::string text) {
  return {std::move(text), source.line == 0 ? std::string("the job's log") : side.log->places.text(source)};
}

model::Evidence in_dry_run(std::string text) {
  return {std::move(text), "the dry run"};
}

std::string ranks_of(const Pairs& pairs) {
  if (pairs.empty()) return {};
  const auto& [from, to] = *pairs.begin();
  return fmt::format(
      "rank {} to rank {}{}", from, to,
      pairs.size() > 1 ? fmt::format(" and {}", count_of(pairs.size() - 1, "other pair")) : "");
}

std::span<const AgainstRule> against_rules() {
  static const std::vector<AgainstRule> rules = {
      AgainstRule{"dryrun.channels.fewer",
                  channels_fewer,
                  {"NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_HCA",
                   "NCCL_CROSS_NIC", "NCCL_GRAPH_FILE"}},
      AgainstRule{"dryrun.choice.other",
                  choice_other,
                  {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NVLS_ENABLE", "NCCL_TUNER_PLUGIN", "NCCL_MAX_NCHANNELS",
                   "NCCL_MAX_CTAS", "NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_HCA"}},
      AgainstRule{"dryrun.gdr.off",
                  gdr_off,
                  {"NCCL_NET_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_NET_GDR_C2C", "NCCL_DMABUF_ENABLE"}},
      AgainstRule{"dryrun.graph.weaker",
                  graph_weaker,
                  {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_IB_HCA", "NCCL_IB_DISABLE", "NCCL_NET",
                   "NCCL_CROSS_NIC", "NCCL_GRAPH_FILE", "NCCL_NVB_DISABLE", "NCCL_PXN_DISABLE",
                   "NCCL_NET_GDR_LEVEL"}},
      AgainstRule{"dryrun.network.socket", network_socket, {"NCCL_IB_DISABLE", "NCCL_NET", "NCCL_IB_HCA"}},
      AgainstRule{"dryrun.nic.idle",
                  nic_idle,
                  {"NCCL_IB_HCA", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_CROSS_NIC", "NCCL_PXN_DISABLE",
                   "NCCL_NETDEVS_POLICY"}},
      AgainstRule{"dryrun.nvlink.missing", nvlink_missing, {}},
      AgainstRule{"dryrun.nvls.absent", nvls_absent, {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE"}},
      AgainstRule{"dryrun.ring.crossings", ring_crossings, {"NCCL_GRAPH_FILE"}},
      AgainstRule{"dryrun.transport.shm", transport_shm, {"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL"}},
  };
  return rules;
}

Diagnosis judge_against(const DryRun& healthy, const model::NcclEvidence& job) {
  const NcclLog* ours = healthy.evidence.log ? &*healthy.evidence.log : nullptr;
  const NcclLog* theirs = job.log ? &*job.log : nullptr;
  const NcclCommunicator* world = ours == nullptr ? nullptr : world_of(*ours);
  const NcclCommunicator* same =
      world == nullptr || theirs == nullptr ? nullptr : world_of(*theirs, world->nranks);
  const Both both{healthy, show(ours, world, healthy.nodes), show(theirs, same, healthy.nodes)};
  Diagnosis diagnosis;
  if (model::Undecided gap = obstacle(healthy, both); !gap.missing.empty()) {
    diagnosis.undecided.push_back(std::move(gap));
    return diagnosis;
  }
  const std::string other = other_release(both);
  for (const AgainstRule& rule : against_rules())
    run_rule(rule, both, other, diagnosis);
  diagnose::rank(diagnosis.findings);
  return diagnosis;
}

std::optional<JobShape> shape_of(const NcclLog& log) {
  const NcclCommunicator* world = world_of(log);
  return world == nullptr ? std::nullopt : shape_of(log, *world);
}

}  // namespace angio::dryrun
