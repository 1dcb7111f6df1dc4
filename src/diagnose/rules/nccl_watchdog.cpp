// What PyTorch's process groups and the launcher say of a hang: which ranks wait, which one the others wait
// for, which one died. A waiting rank is a victim; it is named as a suspect only where the lines show that it
// is behind.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclEvidence;
using model::WatchdogError;
using model::WatchdogErrorKind;
using model::WatchdogProgress;
using model::WatchdogReport;
using model::WatchdogTimeout;
using Ranks = std::set<std::uint32_t>;

constexpr std::size_t kMostEvidence = 8;

std::string capital(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

template <typename Check>
void each_watchdog(const Machine& machine, Outcome& outcome, const Check& check) {
  bool any = false;
  for (const NcclEvidence* evidence : evidence_of(machine)) {
    if (!evidence->watchdog) continue;
    any = true;
    check(*evidence, *evidence->watchdog);
  }
  if (!any) outcome.not_applicable();
}

std::string rank_name(const std::optional<std::uint32_t>& rank) {
  return rank ? fmt::format("rank {}", *rank) : std::string("a rank");
}

// One end of a transfer: its partner runs the other operation, and its numbers are counted apart.
bool is_point_to_point(const std::string& operation) {
  return operation == "SEND" || operation == "RECV" || operation == "COALESCED";
}

// The group of all ranks is number 0; old versions of PyTorch name none.
bool is_default_group(const std::string& group, const std::string& guid) {
  return group.empty() || group == "0" || contains(group, "default_pg") || contains(guid, "default_pg");
}

template <typename A, typename B>
bool same_group(const A& a, const B& b) {
  const bool whole = is_default_group(a.group, a.guid);
  return whole ? is_default_group(b.group, b.guid) : a.group == b.group && a.guid == b.guid;
}

// Sequence numbers are counted per process group: only ranks of one group are compared.
struct Key {
  std::string group;
  std::string guid;
  bool point_to_point = false;
  auto operator<=>(const Key&) const = default;
};

Key key_of(const WatchdogTimeout& timeout) {
  const bool whole = is_default_group(timeout.group, timeout.guid);
  return {whole ? "" : timeout.group, whole ? "" : timeout.guid, is_point_to_point(timeout.operation)};
}

struct Hang {
  std::vector<const WatchdogTimeout*> timeouts;
  const WatchdogTimeout* early = nullptr;
  const WatchdogTimeout* late = nullptr;
  bool point_to_point = false;
  bool mixed = false;       // operations or sizes differ at one number: nccl.watchdog.mismatch
  std::uint32_t world = 0;  // ranks of the default group; 0: not known, or another group
  Ranks spoken;
  Ranks behind;                                           // timed out earlier than the others
  std::map<std::uint32_t, const WatchdogProgress*> idle;  // have not even enqueued what the others wait for
  Ranks silent;                                           // said nothing, when most of the others did
  std::vector<const WatchdogError*> deaths;               // of ranks that did not time out
};

std::uint32_t world_size(const NcclEvidence& evidence) {
  std::uint32_t size = 0;
  if (evidence.log)
    for (const model::NcclCommunicator& communicator : evidence.log->communicators)
      size = std::max(size, communicator.nranks);
  return size;
}

// Init that did not end: nccl.ranks.missing tells who did not come.
bool init_unfinished(const NcclEvidence& evidence) {
  if (!evidence.log) return false;
  return std::ranges::any_of(evidence.log->communicators, [](const model::NcclCommunicator& communicator) {
    return std::ranges::any_of(communicator.ranks, [](const model::NcclRank& rank) {
      return rank.state == model::NcclRankState::kStarted;
    });
  });
}

// Ranks of which no line is there. Where few spoke, the silent ones are no suspects: their logs are missing.
Ranks silent_ranks(const Hang& hang) {
  constexpr std::uint32_t kMostRanks = 65536;
  Ranks silent;
  if (hang.spoken.empty()) return silent;
  const std::uint32_t end = std::max(hang.world, *hang.spoken.rbegin() + 1);
  if (end > kMostRanks || 2 * hang.spoken.size() <= end) return silent;
  for (std::uint32_t rank = 0; rank < end; ++rank)
    if (!hang.spoken.contains(rank)) silent.insert(rank);
  return silent;
}

void add_progress(const WatchdogReport& report, Hang& hang) {
  const auto waited = static_cast<std::int64_t>(hang.early->sequence);
  for (const WatchdogProgress& progress : report.progress) {
    if (!progress.rank || !same_group(progress, *hang.early)) continue;
    const bool timed_out = hang.spoken.contains(*progress.rank);
    hang.spoken.insert(*progress.rank);
    if (!timed_out && progress.enqueued.value_or(waited) < waited)
      hang.idle.emplace(*progress.rank, &progress);
  }
}

bool differ(const WatchdogTimeout& a, const WatchdogTimeout& b) {
  if (a.sequence != b.sequence) return false;
  return a.operation != b.operation || (a.operation == "ALLREDUCE" && a.elements_in != b.elements_in);
}

Hang read_hang(const NcclEvidence& evidence, const WatchdogReport& report,
               const std::vector<const WatchdogTimeout*>& timeouts) {
  Hang hang;
  hang.timeouts = timeouts;
  hang.early = *std::ranges::min_element(timeouts, {}, [](const auto* one) { return one->sequence; });
  hang.late = *std::ranges::max_element(timeouts, {}, [](const auto* one) { return one->sequence; });
  hang.point_to_point = is_point_to_point(hang.early->operation);
  hang.mixed = std::ranges::any_of(timeouts, [&](const auto* one) { return differ(*one, *hang.early); });
  const bool whole = is_default_group(hang.early->group, hang.early->guid);
  if (whole) hang.world = world_size(evidence);
  for (const WatchdogTimeout* one : timeouts) {
    if (!one->rank) continue;
    hang.spoken.insert(*one->rank);
    if (one->sequence == hang.early->sequence) hang.behind.insert(*one->rank);
  }
  if (hang.early->sequence == hang.late->sequence || hang.point_to_point) hang.behind.clear();
  if (!hang.point_to_point) add_progress(report, hang);
  if (whole && !hang.point_to_point) hang.silent = silent_ranks(hang);
  for (const WatchdogError& error : report.errors) {
    const bool death = error.kind == WatchdogErrorKind::kNoMemory ||
                       error.kind == WatchdogErrorKind::kException ||
                       error.kind == WatchdogErrorKind::kKilled;
    const bool timed_out = std::ranges::any_of(
        report.timeouts, [&](const WatchdogTimeout& timeout) { return timeout.rank == error.rank; });
    if (death && error.rank && !timed_out) hang.deaths.push_back(&error);
  }
  return hang;
}

std::string death_in_words(const WatchdogError& error) {
  if (error.kind == WatchdogErrorKind::kNoMemory) return rank_name(error.rank) + " ran out of memory";
  if (error.kind == WatchdogErrorKind::kException) return rank_name(error.rank) + " raised " + error.result;
  return fmt::format("task {} on {} ended: {}", error.rank.value_or(0), error.host, error.result);
}

std::string limit_in_words(const WatchdogTimeout& timeout) {
  return timeout.limit_ms ? fmt::format(" after {:.0f} s", static_cast<double>(*timeout.limit_ms) / 1000)
                          : "";
}

Ranks ranks_of(const std::map<std::uint32_t, const WatchdogProgress*>& idle) {
  Ranks ranks;
  for (const auto& [rank, progress] : idle)
    ranks.insert(rank);
  return ranks;
}

bool all_came(const Hang& hang) {
  return !hang.mixed && hang.world != 0 && hang.spoken.size() >= hang.world && hang.idle.empty() &&
         hang.behind.empty();
}

std::string operations_of(const Hang& hang) {
  std::set<std::string> operations;
  for (const WatchdogTimeout* timeout : hang.timeouts)
    operations.insert(timeout->operation);
  return join(std::vector<std::string>(operations.rbegin(), operations.rend()), ", ");
}

// " of group 1(tp)"; nothing for the group of all ranks.
std::string group_in_words(const WatchdogTimeout& timeout) {
  if (is_default_group(timeout.group, timeout.guid)) return "";
  return " of group " + (timeout.guid.empty() ? timeout.group : timeout.guid);
}

std::string title_of(const Hang& hang) {
  const WatchdogTimeout& early = *hang.early;
  const std::string limit = limit_in_words(early);
  if (hang.point_to_point)
    return fmt::format("Point-to-point operation{} ({}) of {} did not end{}",
                       hang.late->sequence == early.sequence ? fmt::format(" {}", early.sequence) : "s",
                       operations_of(hang), ranks_in_words(hang.spoken), limit);
  if (!hang.idle.empty()) {
    const std::int64_t last = hang.idle.begin()->second->enqueued.value_or(0);
    return capital(fmt::format("{} stopped at collective {}, the others wait in {} ({}){}",
                               ranks_in_words(ranks_of(hang.idle)), last, early.sequence, early.operation,
                               limit));
  }
  if (!hang.behind.empty())
    return capital(fmt::format("{} hung in collective {} ({}){}, the others wait in {} ({})",
                               ranks_in_words(hang.behind), early.sequence, early.operation, limit,
                               hang.late->sequence, hang.late->operation));
  std::string title = fmt::format("Collective {} ({}){} did not end{}", early.sequence, early.operation,
                                  group_in_words(early), limit);
  const bool died = !hang.deaths.empty() && hang.deaths.front()->rank && hang.silent.size() == 1 &&
                    hang.silent.contains(*hang.deaths.front()->rank);
  if (died) return title;  // how it died is said behind
  if (!hang.silent.empty()) {
    title += fmt::format("; {} never reported", ranks_in_words(hang.silent));
  } else if (all_came(hang)) {
    title += fmt::format("; all {} ranks wait in it", hang.world);
  } else if (hang.mixed) {
    title += "; its ranks call different operations or sizes";
  } else if (hang.world != 0) {
    title += fmt::format("; {} of {} ranks reported", hang.spoken.size(), hang.world);
  }
  return title;
}

std::string suspects_of(const Hang& hang) {
  // A rank that is behind may itself wait for one that says nothing.
  Ranks named = hang.idle.empty() ? hang.behind : ranks_of(hang.idle);
  named.insert(hang.silent.begin(), hang.silent.end());
  if (!named.empty()) return ranks_in_words(named);
  if (hang.point_to_point) return "the ranks at the other end";
  if (hang.mixed) return "the ranks that call another operation or size";
  if (!hang.deaths.empty() && hang.deaths.front()->kind != WatchdogErrorKind::kKilled)
    return rank_name(hang.deaths.front()->rank);
  return is_default_group(hang.early->group, hang.early->guid)
             ? "the ranks that did not report"
             : "the ranks of that group that did not report";
}

void cite_progress(const NcclEvidence& evidence, const WatchdogProgress& progress, Draft& draft) {
  draft.evidence.push_back(
      seen(evidence, progress.source,
           fmt::format("{}: last enqueued {}, last completed {}", rank_name(progress.rank),
                       progress.enqueued.value_or(-1), progress.completed.value_or(-1))));
}

void cite_hang(const NcclEvidence& evidence, const WatchdogReport& report, const Hang& hang, Draft& draft) {
  draft.evidence.push_back(seen(evidence, hang.early->source, hang.early->text));
  if (hang.late->sequence != hang.early->sequence)
    draft.evidence.push_back(seen(evidence, hang.late->source, hang.late->text));
  if (!hang.silent.empty())
    draft.evidence.push_back(
        {fmt::format("no timeout of {} is in these files", ranks_in_words(hang.silent)), ""});
  for (const WatchdogError* death : hang.deaths)
    if (draft.evidence.size() < kMostEvidence)
      draft.evidence.push_back(seen(evidence, death->source, death->text));
  for (const auto& [rank, progress] : hang.idle)
    if (draft.evidence.size() < kMostEvidence) cite_progress(evidence, *progress, draft);
  // One that waits, for comparison; of those that are behind, each.
  for (const WatchdogProgress& progress : report.progress) {
    if (draft.evidence.size() >= kMostEvidence || hang.point_to_point) break;
    if (!same_group(progress, *hang.early) || !progress.rank) continue;
    if (hang.idle.contains(*progress.rank)) continue;
    if (!hang.behind.empty() && !hang.behind.contains(*progress.rank)) continue;
    cite_progress(evidence, progress, draft);
    if (hang.behind.empty()) break;
  }
}

void fire_hang(const NcclEvidence& evidence, const WatchdogReport& report, const Hang& hang,
               Outcome& outcome) {
  Draft draft;
  draft.title = title_of(hang);
  if (!hang.deaths.empty()) draft.title += "; " + death_in_words(*hang.deaths.front());
  // nccl.ranks.missing has 0.6: where init never ended, it names the rank.
  draft.rank = init_unfinished(evidence) && hang.idle.empty() ? 0.5 : 0.7;
  cite_hang(evidence, report, hang, draft);
  const double standard = knowledge::threshold("pytorch.watchdog.default");
  if (hang.early->limit_ms && static_cast<double>(*hang.early->limit_ms) == standard)
    draft.words["by_default"] = "";
  draft.words[all_came(hang) ? "by_all" : "by_some"] = "";
  draft.words["suspects"] = suspects_of(hang);
  outcome.fire(std::move(draft));
}

}  // namespace

void watchdog_timeout(const Machine& machine, Outcome& outcome) {
  each_watchdog(machine, outcome, [&](const NcclEvidence& evidence, const WatchdogReport& report) {
    if (report.timeouts.empty()) {
      for (const WatchdogError& error : report.errors)
        if (error.kind == WatchdogErrorKind::kHeartbeat)
          return outcome.undecided(
              evidence.places.text(error.source) +
                  " says that the watchdog itself was stuck, not in which collective",
              "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1; py-spy dump of that process");
      return;
    }
    std::map<Key, std::vector<const WatchdogTimeout*>> groups;
    for (const WatchdogTimeout& timeout : report.timeouts)
      groups[key_of(timeout)].push_back(&timeout);
    for (const auto& [group, timeouts] : groups)
      fire_hang(evidence, report, read_hang(evidence, report, timeouts), outcome);
  });
}

void watchdog_mismatch(const Machine& machine, Outcome& outcome) {
  each_watchdog(machine, outcome, [&](const NcclEvidence& evidence, const WatchdogReport& report) {
    Draft draft;
    for (const WatchdogError& error : report.errors) {
      if (error.kind != WatchdogErrorKind::kDesync || draft.evidence.size() >= kMostEvidence) continue;
      draft.evidence.push_back(seen(evidence, error.source, error.text));
    }
    if (!draft.evidence.empty())
      draft.title = "Ranks call different collectives, or not all of them call one";
    std::map<std::pair<Key, std::uint64_t>, const WatchdogTimeout*> first;
    for (const WatchdogTimeout& timeout : report.timeouts) {
      // SEND against RECV is what a pair of ranks should run.
      if (is_point_to_point(timeout.operation)) continue;
      const auto [place, fresh] = first.emplace(std::pair(key_of(timeout), timeout.sequence), &timeout);
      const WatchdogTimeout& other = *place->second;
      const bool sizes = timeout.elements_in && other.elements_in && timeout.operation == other.operation &&
                         timeout.elements_in != other.elements_in && timeout.operation == "ALLREDUCE";
      if (fresh || (timeout.operation == other.operation && !sizes)) continue;
      draft.title = fmt::format(
          "At collective {} {} calls {}{} and {} calls {}{}", timeout.sequence, rank_name(other.rank),
          other.operation, sizes ? fmt::format(" of {}", *other.elements_in) : "", rank_name(timeout.rank),
          timeout.operation, sizes ? fmt::format(" of {} elements", *timeout.elements_in) : "");
      if (draft.evidence.size() + 2 <= kMostEvidence) {
        draft.evidence.push_back(seen(evidence, other.source, other.text));
        draft.evidence.push_back(seen(evidence, timeout.source, timeout.text));
      }
    }
    if (draft.evidence.empty()) {
      if (report.timeouts.size() == 1)
        outcome.undecided(
            "whether all ranks called the same collective: only one of them spoke",
            "the logs of all ranks; TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1");
      return;
    }
    draft.rank = 0.95;
    outcome.fire(std::move(draft));
  });
}

void watchdog_error(const Machine& machine, Outcome& outcome) {
  each_watchdog(machine, outcome, [&](const NcclEvidence& evidence, const WatchdogReport& report) {
    const WatchdogError* best = nullptr;
    std::size_t count = 0;
    for (const WatchdogError& error : report.errors) {
      if (error.kind != WatchdogErrorKind::kNccl && error.kind != WatchdogErrorKind::kAsync) continue;
      ++count;
      if (best == nullptr || (best->last_error.empty() && !error.last_error.empty())) best = &error;
    }
    if (best == nullptr) return;
    // What NCCL itself said is told by the rules over its log.
    const bool told =
        evidence.log && std::ranges::any_of(evidence.log->events, [](const model::NcclEvent& event) {
          return event.kind != model::NcclEventKind::kErrorChain &&
                 event.kind != model::NcclEventKind::kRemoteError;
        });
    if (told) return;
    if (best->last_error.empty() && best->result.empty()) {
      outcome.undecided(evidence.places.text(best->source) + " says that NCCL failed, not why",
                        "NCCL_DEBUG=INFO NCCL_DEBUG_FILE=nccl.%h.%p.log, and the lines around it");
      return;
    }
    Draft draft;
    draft.title = fmt::format("NCCL failed in {}: {}", rank_name(best->rank),
                              best->last_error.empty() ? best->result : best->last_error.substr(0, 100));
    draft.rank = 0.6;
    draft.evidence.push_back(seen(evidence, best->source, best->text));
    if (!best->last_error.empty())
      draft.evidence.push_back(
          seen(evidence, best->last_error_source, best->result + ": " + best->last_error));
    if (count > 1) draft.evidence.push_back({fmt::format("{} such exceptions", count), ""});
    outcome.fire(std::move(draft));
  });
}

namespace {

std::vector<const WatchdogError*> errors_of(const WatchdogReport& report, WatchdogErrorKind kind) {
  std::vector<const WatchdogError*> found;
  for (const WatchdogError& error : report.errors)
    if (error.kind == kind) found.push_back(&error);
  return found;
}

void cite_errors(const NcclEvidence& evidence, const std::vector<const WatchdogError*>& errors,
                 Draft& draft) {
  for (const WatchdogError* error : errors)
    if (draft.evidence.size() < kMostEvidence)
      draft.evidence.push_back(seen(evidence, error->source, error->text));
}

}  // namespace

// The thread that watches was itself blocked, mostly within a call of CUDA: what it would have reported is
// lost.
void watchdog_stuck(const Machine& machine, Outcome& outcome) {
  each_watchdog(machine, outcome, [&](const NcclEvidence& evidence, const WatchdogReport& report) {
    const auto errors = errors_of(report, WatchdogErrorKind::kHeartbeat);
    // no undecided: the line is there or it is not
    if (errors.empty()) return;
    Ranks ranks;
    for (const WatchdogError* error : errors)
      if (error->rank) ranks.insert(*error->rank);
    Draft draft;
    const std::string who = ranks.empty() ? "a rank" : ranks_in_words(ranks);
    draft.title =
        fmt::format("PyTorch's watchdog of {} was itself stuck: a call of CUDA or NCCL does not return", who);
    draft.rank = 0.55;  // a timeout of the same job says more
    draft.words["who"] = who;
    cite_errors(evidence, errors, draft);
    outcome.fire(std::move(draft));
  });
}

// Fewer processes came to the rendezvous than the job has ranks.
void ranks_unjoined(const Machine& machine, Outcome& outcome) {
  each_watchdog(machine, outcome, [&](const NcclEvidence& evidence, const WatchdogReport& report) {
    const auto errors = errors_of(report, WatchdogErrorKind::kUnjoined);
    // no undecided: the line is there or it is not
    const WatchdogError* best = nullptr;
    for (const WatchdogError* error : errors) {
      const std::size_t slash = error->result.find('/');
      const auto joined = parse_integer<std::uint64_t>(error->result.substr(0, slash));
      const auto wanted = parse_integer<std::uint64_t>(error->result.substr(slash + 1));
      if (joined && wanted && *joined < *wanted) best = error;
    }
    if (best == nullptr) return;
    Draft draft;
    draft.title =
        fmt::format("The job never started: {} processes came to PyTorch's rendezvous", best->result);
    draft.rank = 0.8;
    cite_errors(evidence, errors, draft);
    outcome.fire(std::move(draft));
  });
}

// What Slurm says of the first task that ended by a signal.
void ranks_killed(const Machine& machine, Outcome& outcome) {
  each_watchdog(machine, outcome, [&](const NcclEvidence& evidence, const WatchdogReport& report) {
    const auto errors = errors_of(report, WatchdogErrorKind::kKilled);
    // no undecided: the line is there or it is not
    if (errors.empty()) return;
    const WatchdogError& first = *errors.front();
    Draft draft;
    draft.title =
        fmt::format("Task {} on {} ended first: {}", first.rank.value_or(0), first.host, first.result);
    draft.devices = {first.host};
    draft.rank = 0.9;
    draft.words["host"] = first.host;
    if (first.result == "Killed" || first.result == "Out Of Memory") draft.words["by_kill"] = "";
    cite_errors(evidence, errors, draft);
    outcome.fire(std::move(draft));
  });
}

}  // namespace angio::diagnose::nccl
