// Why NVLS is there or not, by its conditions in NCCL's order, and whether it was chosen.
#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/reasons_case.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/variables.hpp"

namespace angio::dryrun {
namespace {

using model::DryRunOperation;
using model::NcclRank;
using model::NcclTuningCell;
using nccl::NodeKind;

// Multicast needs Hopper and a switch (src/transport/nvls.cc, src/graph/search.cc).
constexpr int kMulticastSm = 90;
constexpr std::string_view kNvls = "NVLS";
constexpr std::string_view kNvlsTree = "NVLSTree";

bool is_zero(const std::string* value) {
  return value != nullptr && parse_integer<std::int64_t>(trim(*value)) == 0;
}

bool is_nvls(std::string_view algorithm) {
  return same_word(algorithm, kNvls) || same_word(algorithm, kNvlsTree);
}

// The ranks of one node, the least of all nodes. NCCL counts fewer where nothing but the network joins them.
std::uint32_t ranks_of_node(const Case& one) {
  const std::uint32_t counted = one.world->local_ranks.value_or(0);
  if (one.run.ranks_per_node.empty()) return counted;
  const std::uint32_t asked = *std::ranges::min_element(one.run.ranks_per_node);
  return counted > 0 ? std::min(asked, counted) : asked;
}

std::string capability(int sm) {
  return fmt::format("{}.{}", sm / 10, sm % 10);
}

// What rules NVLS out before the driver is asked.
std::optional<Answer> nvls_ruled_out(const Case& one, const Answers& answers) {
  const knowledge::Variable* enable = knowledge::find_variable("NCCL_NVLS_ENABLE");
  if (enable != nullptr && !one.release.empty() &&
      knowledge::life_at(*enable, one.release) == knowledge::VariableLife::kNotYet)
    return Answer{fmt::format("NCCL {} does not have it: NVLS came with {}.", one.release, enable->since),
                  {printable(one.run.nccl)}};
  if (is_zero(value_of(one, "NCCL_NVLS_ENABLE")))
    return Answer{"NCCL_NVLS_ENABLE=0 switches it off.", {answers.cite_setting("NCCL_NVLS_ENABLE")}};
  if (is_zero(value_of(one, "NCCL_CUMEM_ENABLE")))
    return Answer{"It needs cuMem memory, and NCCL_CUMEM_ENABLE=0 switches that off.",
                  {answers.cite_setting("NCCL_CUMEM_ENABLE")}};
  if (ranks_of_node(one) == 1)
    return Answer{fmt::format("{} one rank on a node: NVLS reduces among the GPUs of one NVSwitch.",
                              one.world->local_ranks == 1U ? "NCCL counts" : "There is"),
                  {one.world->local_ranks == 1U ? answers.cite(one.world->nodes_source, "localRanks 1")
                                                : std::string("1 rank on a node")}};
  if (!one.system) return std::nullopt;
  if (const int sm = capabilities(one).first; sm > 0 && sm < kMulticastSm)
    return Answer{fmt::format("The GPUs have compute capability {}; NVLS needs 9.0.", capability(sm)),
                  {fmt::format("topology: <gpu sm=\"{}\">", sm)}};
  if (one.system->all(NodeKind::kSwitch).empty())
    return Answer{"The topology has no NVSwitch: the switch does the reduction.",
                  {"topology: no <nvlink> with tclass 0x068000"}};
  return std::nullopt;
}

const NcclRank* rank_with_nvls(const Case& one, bool available) {
  const auto& ranks = one.world->ranks;
  const auto found =
      std::ranges::find_if(ranks, [&](const NcclRank& rank) { return rank.nvls == available; });
  return found == ranks.end() ? nullptr : &*found;
}

// Each condition that can be seen to hold, with what shows it.
struct Conditions {
  std::vector<std::string> met;
  std::vector<std::string> evidence;
  void add(std::string condition, std::string seen) {
    met.push_back(std::move(condition));
    evidence.push_back(std::move(seen));
  }
};

void add_settings(const Case& one, const Answers& answers, Conditions& conditions) {
  bool any = false;
  for (const char* name : {"NCCL_NVLS_ENABLE", "NCCL_CUMEM_ENABLE"}) {
    if (value_of(one, name) == nullptr) continue;
    any = true;
    conditions.evidence.push_back(answers.cite_setting(name));
  }
  if (!any) conditions.evidence.emplace_back("settings: neither NCCL_NVLS_ENABLE nor NCCL_CUMEM_ENABLE");
  conditions.met.emplace_back("no setting switches it off");
}

Conditions conditions_of(const Case& one, const Answers& answers) {
  Conditions conditions;
  const knowledge::Variable* enable = knowledge::find_variable("NCCL_NVLS_ENABLE");
  if (enable != nullptr && !one.release.empty())
    conditions.add(fmt::format("the release has it (from {} on)", enable->since),
                   "NCCL " + printable(one.run.nccl));
  add_settings(one, answers, conditions);
  if (const int sm = capabilities(one).first; sm >= kMulticastSm)
    conditions.add("the GPUs have compute capability " + capability(sm),
                   fmt::format("topology: <gpu sm=\"{}\">", sm));
  if (one.system && !one.system->all(NodeKind::kSwitch).empty())
    conditions.add("there is an NVSwitch", "topology: <nvlink> with tclass 0x068000");
  if (const std::uint32_t ranks = ranks_of_node(one); ranks > 1)
    conditions.add(fmt::format("a node has {} ranks", ranks), fmt::format("{} ranks on a node", ranks));
  if (const NcclRank* rank = rank_with_nvls(one, true))
    conditions.add("the driver offers multicast",
                   answers.cite(rank->nvls_source, "NVLS multicast support is available"));
  return conditions;
}

// ---- chosen or not

// Operations whose algorithm the log names.
std::vector<const DryRunOperation*> named_operations(const Case& one) {
  std::vector<const DryRunOperation*> named;
  for (const DryRunOperation& operation : one.run.operations)
    if (!operation.algorithm.empty() && !model::is_point_to_point(operation.collective))
      named.push_back(&operation);
  return named;
}

std::string why_unnamed(const Case& one) {
  if (one.run.operations.empty()) return "No operation was tried.";
  const bool all_pairs = std::ranges::all_of(one.run.operations, [](const DryRunOperation& operation) {
    return model::is_point_to_point(operation.collective);
  });
  if (all_pairs) return "The operations tried are sends and receives, which have no algorithm.";
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("choice-line");
  if (fact != nullptr && !one.release.empty() && !knowledge::holds(*fact, one.release))
    return fmt::format("Whether it was chosen is not told: NCCL prints its choices from {} on.", fact->since);
  return "Whether it was chosen is not told: the log names no choice.";
}

const NcclTuningCell* cell_of(const Case& one, const DryRunOperation& operation, bool nvls) {
  const NcclTuningCell* best = nullptr;
  for (const NcclTuningCell& cell : one.world->tuning) {
    if (!same_word(cell.function, operation.collective) || cell.bandwidth <= 0) continue;
    const bool wanted =
        nvls ? is_nvls(cell.algorithm)
             : same_word(cell.algorithm, operation.algorithm) && same_word(cell.protocol, operation.protocol);
    if (wanted && (best == nullptr || cell.bandwidth > best->bandwidth)) best = &cell;
  }
  return best;
}

// What NCCL's table has for the largest operation; empty where that does not speak against NVLS.
std::string beside_the_chosen(const Case& one, const DryRunOperation& largest) {
  const NcclTuningCell* nvls = cell_of(one, largest, true);
  const NcclTuningCell* chosen = cell_of(one, largest, false);
  if (nvls == nullptr || chosen == nullptr || nvls->bandwidth >= chosen->bandwidth) return {};
  return printable(fmt::format(" For {} of {} its table has {} {} {:.1f} GB/s, {} {:.1f}.",
                               largest.collective, in_words(Bytes{largest.bytes}), chosen->algorithm,
                               chosen->protocol, chosen->bandwidth, nvls->algorithm, nvls->bandwidth));
}

std::string use_of(const Case& one, const Answers& answers, std::vector<std::string>& evidence) {
  const auto named = named_operations(one);
  if (named.empty()) return why_unnamed(one);
  const auto chosen = std::ranges::count_if(
      named, [](const DryRunOperation* operation) { return is_nvls(operation->algorithm); });
  const std::string all = count_of(named.size(), "operation");
  if (chosen > 0) return fmt::format("NCCL chose it for {} of {}.", chosen, all);
  const std::string* list = value_of(one, "NCCL_ALGO");
  if (list != nullptr && excludes(*list, kNvls) && excludes(*list, kNvlsTree)) {
    evidence.push_back(answers.cite_setting("NCCL_ALGO"));
    return fmt::format("It was chosen for none of {}: NCCL_ALGO leaves it out.", all);
  }
  const std::string* protocols = value_of(one, "NCCL_PROTO");
  if (protocols != nullptr && excludes(*protocols, "Simple")) {
    evidence.push_back(answers.cite_setting("NCCL_PROTO"));
    return fmt::format("It was chosen for none of {}: NCCL_PROTO leaves out Simple, its only protocol.", all);
  }
  const DryRunOperation* largest = *std::ranges::max_element(named, {}, &DryRunOperation::bytes);
  const std::string beside = beside_the_chosen(one, *largest);
  if (!beside.empty()) evidence.push_back(answers.cite(one.world->tuning_source, "tuning table"));
  return fmt::format("NCCL chose another algorithm for {}.{}",
                     named.size() == 1 ? "the one operation" : "all " + all, beside);
}

void explain_nvls_use(const Case& one, std::uint32_t channels, Answers& answers) {
  Conditions conditions = conditions_of(one, answers);
  const std::string use = use_of(one, answers, conditions.evidence);
  answers.add("Why NVLS?",
              fmt::format("Its conditions hold: {}. It has {}. {}", join(conditions.met, ", "),
                          count_of(channels, "channel"), use),
              std::move(conditions.evidence));
}

}  // namespace

void explain_nvls(const Case& one, Answers& answers) {
  if (one.world == nullptr) return;
  const auto channels = most(*one.world, &NcclRank::nvls_channels);
  if (channels.value_or(0) > 0) return explain_nvls_use(one, *channels, answers);
  if (const auto out = nvls_ruled_out(one, answers))
    return answers.add("Why no NVLS?", out->text, out->evidence);
  if (const NcclRank* rank = rank_with_nvls(one, false))
    return answers.add("Why no NVLS?",
                       "The driver offers no multicast for these GPUs; on a real node that is the fabric "
                       "manager's matter, or a driver older than CUDA 12.1.",
                       {answers.cite(rank->nvls_source, "NVLS multicast support is not available")});
  if (one.world->ranks.empty() || !channels) return;
  std::string why =
      "version, settings and topology allow it, and the log does not say what the driver answered";
  if (ranks_of_node(one) == 2)
    why = "some releases leave it out with two GPUs on a node; which do is not known here";
  answers.add("Why no NVLS?", fmt::format("{}{}.", kCannotTell, why));
}

}  // namespace angio::dryrun
