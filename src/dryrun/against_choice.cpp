// NVLS, and the algorithm and protocol that NCCL chose for the same size.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/against_rules.hpp"

namespace angio::dryrun {

using diagnose::Draft;
using diagnose::Outcome;
using model::DryRunOperation;
using model::NcclChoice;
using model::NcclRank;

namespace {

const NcclRank* without_multicast(const Shown& side) {
  const auto& ranks = side.world->ranks;
  const auto found = std::ranges::find_if(ranks, [](const NcclRank& rank) { return rank.nvls == false; });
  return found == ranks.end() ? nullptr : &*found;
}

const NcclRank* without_channels(const Shown& side) {
  const auto& ranks = side.world->ranks;
  const auto found = std::ranges::find_if(
      ranks, [](const NcclRank& rank) { return rank.nvls_channels && *rank.nvls_channels == 0; });
  return found == ranks.end() ? nullptr : &*found;
}

}  // namespace

void nvls_absent(const Both& both, Outcome& outcome) {
  const auto healthy = most(*both.healthy.world, &NcclRank::nvls_channels);
  if (healthy.value_or(0) == 0) return outcome.not_applicable();
  const NcclRank* refused = without_multicast(both.job);
  const NcclRank* empty = without_channels(both.job);
  if (refused == nullptr && empty == nullptr) {
    if (!most(*both.job.world, &NcclRank::nvls_channels))
      outcome.undecided("NVLS of the job: its log names neither multicast nor channels for it", kLogAll);
    return;
  }
  Draft draft;
  draft.title =
      fmt::format("NVLS is off in the job; healthy hardware gives it {}", count_of(*healthy, "channel"));
  draft.rank = 0.5;  // what it is worth depends on sizes
  if (refused != nullptr)
    draft.evidence.push_back(seen(both.job, refused->nvls_source, "NVLS multicast support is not available"));
  if (empty != nullptr) draft.evidence.push_back(seen(both.job, empty->channels_source, "0 nvls channels"));
  for (const model::NcclEvent& event : both.job.log->events)
    if (event.kind == model::NcclEventKind::kNvls)
      draft.evidence.push_back(seen(both.job, event.source, printable(event.text)));
  draft.evidence.push_back(in_dry_run(fmt::format("{} nvls channels", *healthy)));
  outcome.fire(std::move(draft));
}

// ---- choices

namespace {

using Key = std::pair<std::string, std::uint64_t>;  // collective in lower case, bytes

struct Other {
  const DryRunOperation* healthy = nullptr;
  const NcclChoice* job = nullptr;
};

std::string in_words(const std::string& algorithm, const std::string& protocol) {
  std::string text = algorithm;
  if (!protocol.empty()) text += " " + protocol;
  std::ranges::transform(text, text.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
  return printable(text);
}

bool same_choice(const DryRunOperation& healthy, const NcclChoice& job) {
  return to_lower(healthy.algorithm) == to_lower(job.algorithm) &&
         to_lower(healthy.protocol) == to_lower(job.protocol);
}

// A size may have several choices in a job (types, operators): any that agrees is enough.
std::map<Key, std::vector<const NcclChoice*>> choices_of(const Shown& side) {
  std::map<Key, std::vector<const NcclChoice*>> found;
  for (const NcclChoice& choice : side.world->choices)
    if (!choice.function.empty() && !choice.algorithm.empty())
      found[{to_lower(choice.function), choice.bytes}].push_back(&choice);
  return found;
}

void name_tuner(const Both& both, Draft& draft) {
  for (const model::NcclPlugin& plugin : both.job.log->plugins) {
    using enum model::NcclPluginOutcome;
    if (plugin.kind != model::NcclPluginKind::kTuner) continue;
    if (plugin.outcome != kLoaded && plugin.outcome != kInitialized && plugin.outcome != kAssigned) continue;
    draft.evidence.push_back(
        seen(both.job, plugin.source, printable(fmt::format("tuner plugin {} may decide", plugin.name))));
    return;
  }
}

void fire_choices(const Both& both, const std::vector<Other>& others, std::size_t shared, Outcome& outcome) {
  constexpr std::size_t kShown = 4;
  Draft draft;
  const Other& first = others.front();
  draft.title = fmt::format("{} of {}: {}, on healthy hardware {}", first.healthy->collective,
                            angio::in_words(Bytes{first.healthy->bytes}),
                            in_words(first.job->algorithm, first.job->protocol),
                            in_words(first.healthy->algorithm, first.healthy->protocol));
  if (others.size() > 1) draft.title += fmt::format(", and {}", count_of(others.size() - 1, "other size"));
  draft.rank = static_cast<double>(others.size()) / static_cast<double>(shared);
  for (std::size_t at = 0; at < others.size() && at < kShown; ++at) {
    const Other& other = others[at];
    draft.evidence.push_back(seen(both.job, other.job->source,
                                  fmt::format("{} of {}: {}, {} in the dry run", other.healthy->collective,
                                              angio::in_words(Bytes{other.healthy->bytes}),
                                              in_words(other.job->algorithm, other.job->protocol),
                                              in_words(other.healthy->algorithm, other.healthy->protocol))));
  }
  name_tuner(both, draft);
  if (is_weaker(both, GraphKind::kRing) || is_weaker(both, GraphKind::kTree))
    draft.evidence.push_back(
        {"the job's graphs are weaker too: this may follow from it", "dryrun.graph.weaker"});
  outcome.fire(std::move(draft));
}

}  // namespace

void choice_other(const Both& both, Outcome& outcome) {
  std::vector<const DryRunOperation*> tried;
  for (const DryRunOperation& operation : both.run.operations)
    if (operation.reached && !operation.algorithm.empty()) tried.push_back(&operation);
  if (tried.empty()) return outcome.not_applicable();
  const auto choices = choices_of(both.job);
  if (choices.empty())
    return outcome.undecided("the job's choices: its log names no collective with its algorithm", kLogAll);
  std::vector<Other> others;
  std::size_t shared = 0;
  for (const DryRunOperation* operation : tried) {
    const auto there = choices.find({to_lower(operation->collective), operation->bytes});
    if (there == choices.end()) continue;
    ++shared;
    const bool agrees = std::ranges::any_of(
        there->second, [&](const NcclChoice* choice) { return same_choice(*operation, *choice); });
    if (!agrees) others.push_back({operation, there->second.front()});
  }
  if (shared == 0) {
    const auto& [key, first] = *choices.begin();
    return outcome.undecided(
        "choices: no size of the job was tried in the dry run",
        fmt::format("a dry run with the job's sizes: --sizes {} and others", key.second));
  }
  if (!others.empty()) fire_choices(both, others, shared, outcome);
}

}  // namespace angio::dryrun
