// Who is behind, who is lost: answers of the RAS service, records of the Inspector. A list of ranks is read
// for what it says: the ones that RAS names are the few, not necessarily the late.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclEvidence;
using model::RasCommunicator;
using model::RasMismatch;
using model::RasRank;
using model::RasReport;
using model::Severity;

constexpr std::size_t kMostEvidence = 8;

template <typename Check>
void each_report(const Machine& machine, Outcome& outcome, const Check& check) {
  bool any = false;
  for (const NcclEvidence* evidence : evidence_of(machine)) {
    for (const RasReport& report : evidence->ras) {
      any = true;
      check(*evidence, report);
    }
  }
  if (!any) outcome.not_applicable();
}

std::string where(const RasRank& rank, bool with_rank) {
  std::string text = with_rank ? fmt::format("rank {}", rank.rank) : fmt::format("process {}", rank.pid);
  if (!rank.gpus.empty()) text += ", GPU " + rank.gpus;
  if (with_rank && rank.pid != 0) text += fmt::format(", process {}", rank.pid);
  if (!rank.host.empty()) text += " on " + rank.host;
  return text;
}

std::string name_of(const RasCommunicator& communicator) {
  if (communicator.name.empty()) return "communicator " + communicator.hash;
  return fmt::format("communicator {} ({})", communicator.name, communicator.hash);
}

// The same counts again in a later answer about the same communicator: nothing moved in between.
struct Counts {
  std::string collective;
  std::uint64_t least = 0;
  std::uint64_t most = 0;
  std::set<std::uint32_t> behind;  // empty: they are those that the answer does not list
  std::uint32_t behind_count = 0;
  std::set<std::uint32_t> ahead;
  bool operator==(const Counts&) const = default;
};

// The groups of one kind of collective; none when all ranks have the same count.
std::optional<Counts> counts_of(const RasCommunicator& communicator) {
  Counts counts;
  bool any = false;
  for (const RasMismatch& group : communicator.mismatches) {
    if (!group.operation) continue;
    if (!any) counts.collective = group.collective;
    if (group.collective != counts.collective) continue;  // the first kind that differs is enough
    counts.least = any ? std::min(counts.least, *group.operation) : *group.operation;
    counts.most = any ? std::max(counts.most, *group.operation) : *group.operation;
    any = true;
  }
  if (!any || counts.least == counts.most) return std::nullopt;
  for (const RasMismatch& group : communicator.mismatches) {
    if (!group.operation || group.collective != counts.collective) continue;
    std::set<std::uint32_t>& side = *group.operation == counts.most ? counts.ahead : counts.behind;
    if (*group.operation != counts.most) counts.behind_count += group.ranks;
    for (const RasRank& rank : group.listed)
      side.insert(rank.rank);
  }
  return counts;
}

// JSON lists every rank with its counts.
std::optional<Counts> counts_of_ranks(const RasCommunicator& communicator) {
  std::set<std::string> collectives;
  for (const RasRank& rank : communicator.ranks)
    for (const auto& [name, count] : rank.launched)
      collectives.insert(name);
  for (const std::string& name : collectives) {
    Counts counts;
    counts.collective = name;
    bool any = false;
    const auto launched = [&](const RasRank& rank) {
      const auto found = rank.launched.find(name);
      return found == rank.launched.end() ? std::uint64_t{0} : found->second;
    };
    for (const RasRank& rank : communicator.ranks) {
      counts.least = any ? std::min(counts.least, launched(rank)) : launched(rank);
      counts.most = std::max(counts.most, launched(rank));
      any = true;
    }
    if (!any || counts.least == counts.most) continue;
    for (const RasRank& rank : communicator.ranks)
      (launched(rank) == counts.most ? counts.ahead : counts.behind).insert(rank.rank);
    counts.behind_count = static_cast<std::uint32_t>(counts.behind.size());
    return counts;
  }
  return std::nullopt;
}

std::string behind_in_words(const Counts& counts) {
  if (!counts.behind.empty() && counts.behind.size() == counts.behind_count)
    return ranks_in_words(counts.behind);
  return fmt::format("the {} ranks that the answer does not list", counts.behind_count);
}

struct Sighting {
  const NcclEvidence* evidence;
  const RasCommunicator* communicator;
  Counts counts;
};

std::map<std::string, std::vector<Sighting>> sightings_of(const Machine& machine) {
  std::map<std::string, std::vector<Sighting>> found;
  for (const NcclEvidence* evidence : evidence_of(machine)) {
    for (const RasReport& report : evidence->ras) {
      for (const RasCommunicator& communicator : report.communicators) {
        auto counts = counts_of(communicator);
        if (!counts) counts = counts_of_ranks(communicator);
        if (counts) found[communicator.hash].push_back({evidence, &communicator, *std::move(counts)});
      }
    }
  }
  return found;
}

void cite_counts(const Sighting& sighting, Draft& draft) {
  for (const RasMismatch& group : sighting.communicator->mismatches) {
    if (!group.operation || draft.evidence.size() >= kMostEvidence) continue;
    std::set<std::uint32_t> listed;
    for (const RasRank& rank : group.listed)
      listed.insert(rank.rank);
    std::string text =
        fmt::format("{} launched up to operation {}", count_of(group.ranks, "rank"), *group.operation);
    if (!listed.empty()) text += ": " + ranks_in_words(listed);
    draft.evidence.push_back(seen(*sighting.evidence, group.source, std::move(text)));
  }
  if (!draft.evidence.empty()) return;
  draft.evidence.push_back(
      seen(*sighting.evidence, sighting.communicator->source,
           fmt::format("collective_counts of {}: {} of {} to {} of the others", sighting.counts.collective,
                       sighting.counts.least, behind_in_words(sighting.counts), sighting.counts.most)));
}

}  // namespace

void ras_mismatch(const Machine& machine, Outcome& outcome) {
  bool any = false;
  each_report(machine, outcome, [&](const NcclEvidence& evidence, const RasReport& report) {
    any = true;
    for (const model::RasGroup& group : report.groups) {
      if (contains(group.errors, "MISMATCH") && report.communicators.empty())
        outcome.undecided(
            evidence.places.text(group.source) + " says MISMATCH, the lines that name the ranks are missing",
            "the whole answer: ncclras -v");
    }
  });
  if (!any) return;
  for (const auto& [hash, sightings] : sightings_of(machine)) {
    const Sighting& last = sightings.back();
    const Counts& counts = last.counts;
    const bool stuck = sightings.size() > 1 && sightings[sightings.size() - 2].counts == counts;
    const bool moved = sightings.size() > 1 && !stuck;
    Draft draft;
    const std::string what = counts.collective.empty() ? "collectives" : counts.collective;
    draft.title = fmt::format("{} {} behind: {} {} launched, others {}", behind_in_words(counts),
                              counts.behind_count == 1 ? "is" : "are", counts.least, what, counts.most);
    draft.title[0] = static_cast<char>(
        draft.title[0] >= 'a' && draft.title[0] <= 'z' ? draft.title[0] - 'a' + 'A' : draft.title[0]);
    if (!counts.ahead.empty() && counts.behind.empty())
      draft.title +=
          fmt::format("; {} {} ahead", ranks_in_words(counts.ahead), counts.ahead.size() == 1 ? "is" : "are");
    // A running job is a step apart at any moment; NCCL's guide says to ask again.
    draft.severity = stuck                                      ? Severity::kCritical
                     : moved || counts.most - counts.least <= 1 ? Severity::kInfo
                                                                : Severity::kWarning;
    draft.rank = 0.8;
    cite_counts(last, draft);
    if (stuck)
      draft.evidence.push_back(seen(*sightings[sightings.size() - 2].evidence,
                                    sightings[sightings.size() - 2].communicator->source,
                                    "an earlier answer has the same counts: nothing moves"));
    draft.words["behind"] = behind_in_words(counts);
    if (!stuck) draft.words["by_single"] = "";
    outcome.fire(std::move(draft));
  }
}

void ras_missing(const Machine& machine, Outcome& outcome) {
  each_report(machine, outcome, [&](const NcclEvidence& evidence, const RasReport& report) {
    Draft draft;
    bool dead = false;
    std::set<std::uint32_t> ranks;
    std::vector<std::string> who;
    for (const model::RasProblem& problem : report.problems) {
      const bool is_dead = contains(problem.kind, "DEAD");
      if (!is_dead && problem.kind != "INCOMPLETE" && problem.kind != "TIMEOUT") continue;
      dead = dead || is_dead;
      draft.evidence.push_back(seen(evidence, problem.source, problem.kind + ": " + problem.text));
      for (const RasRank& process : problem.processes) {
        if (who.size() < 3) who.push_back(where(process, false));
        draft.evidence.push_back(seen(evidence, process.source, where(process, false)));
      }
    }
    for (const RasCommunicator& communicator : report.communicators) {
      for (const RasRank& rank : communicator.missing) {
        ranks.insert(rank.rank);
        dead = dead || rank.dead;
        draft.evidence.push_back(
            seen(evidence, rank.source, where(rank, true) + " is missing in " + name_of(communicator)));
      }
      if (communicator.missing.empty() && communicator.missing_count.value_or(0) != 0) {
        std::set<std::uint32_t> spoken;
        for (const RasRank& rank : communicator.ranks)
          spoken.insert(rank.rank);
        for (std::uint32_t rank = 0; rank < std::min(communicator.size.value_or(0), 65536U); ++rank)
          if (!spoken.empty() && !spoken.contains(rank)) ranks.insert(rank);
        draft.evidence.push_back(seen(evidence, communicator.source,
                                      fmt::format("{} of {} missing in {}", *communicator.missing_count,
                                                  communicator.size.value_or(0), name_of(communicator))));
      }
    }
    const bool only_timeouts = ranks.empty() && who.empty();
    if (draft.evidence.empty()) {
      for (const model::RasGroup& group : report.groups)
        if (contains(group.errors, "INCOMPLETE") && !report.saw_errors)
          outcome.undecided(
              evidence.places.text(group.source) + " says INCOMPLETE, the lines that name whom are missing",
              "the whole answer: ncclras -v");
      return;
    }
    if (draft.evidence.size() > kMostEvidence) draft.evidence.resize(kMostEvidence);
    const std::string subject = !ranks.empty() ? ranks_in_words(ranks)
                                : who.empty()  ? "some processes"
                                               : join(who, "; ");
    draft.title = only_timeouts ? "The RAS service waited for answers in vain"
                  : dead        ? subject + " died or lost its network: the job cannot go on"
                         : subject + " did not answer the RAS service: stopped, stuck in the kernel, or dead";
    draft.title[0] = static_cast<char>(
        draft.title[0] >= 'a' && draft.title[0] <= 'z' ? draft.title[0] - 'a' + 'A' : draft.title[0]);
    draft.severity = only_timeouts ? Severity::kInfo : dead ? Severity::kCritical : Severity::kWarning;
    draft.rank = 0.9;
    draft.words["who"] = who.empty() ? subject : who.front();
    outcome.fire(std::move(draft));
  });
}

void ras_error(const Machine& machine, Outcome& outcome) {
  each_report(machine, outcome, [&](const NcclEvidence& evidence, const RasReport& report) {
    Draft draft;
    std::set<std::uint32_t> ranks;
    constexpr int kInProgress = 7;  // ncclResult_t: no error
    if (!report.json) {
      // no undecided: the text form has no such fields, so nothing is missing in it
      return;
    }
    for (const RasCommunicator& communicator : report.communicators) {
      for (const RasRank& rank : communicator.ranks) {
        const int error = rank.async_error.value_or(0);
        const bool failed = error != 0 && error != kInProgress;
        if (!failed && !rank.aborted) continue;
        ranks.insert(rank.rank);
        if (draft.evidence.size() < kMostEvidence)
          draft.evidence.push_back(
              seen(evidence, rank.source,
                   fmt::format("{}: async_error {}, abort_flag {}", where(rank, true), error, rank.aborted)));
      }
    }
    if (ranks.empty()) return;
    draft.title = fmt::format("NCCL reported an error to {}, or was told to abort", ranks_in_words(ranks));
    draft.rank = 0.85;
    outcome.fire(std::move(draft));
  });
}

void inspector_straggler(const Machine& machine, Outcome& outcome) {
  const double factor = knowledge::threshold("nccl.inspector.slowest");
  const double fewest = knowledge::threshold("nccl.inspector.records");
  bool any = false;
  for (const NcclEvidence* evidence : evidence_of(machine)) {
    if (!evidence->inspector) continue;
    any = true;
    bool enough = false;
    for (const model::InspectorAggregate& sum : evidence->inspector->aggregates) {
      if (static_cast<double>(sum.records) < fewest) continue;
      enough = true;
      const double others = (sum.time_us - sum.slowest_us) / static_cast<double>(sum.records - 1);
      if (!(others > 0) || !(sum.slowest_us > factor * others)) continue;
      Draft draft;
      draft.title =
          fmt::format("One {} of {} took {:.0f} times as long as the others, seen by rank {}", sum.operation,
                      in_words(sum.bucket), sum.slowest_us / others, sum.slowest_rank);
      draft.rank = 0.3;
      draft.evidence.push_back(seen(*evidence, sum.slowest,
                                    fmt::format("{:.0f} us; the other {} records take {:.0f} us on average",
                                                sum.slowest_us, sum.records - 1, others)));
      outcome.fire(std::move(draft));
    }
    if (!enough && evidence->inspector->records != 0)
      outcome.undecided("whether operations straggle: too few records of each size",
                        "a longer run with the Inspector");
  }
  if (!any) outcome.not_applicable();
}

}  // namespace angio::diagnose::nccl
