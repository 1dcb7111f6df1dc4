// Ranks against each other: versions, settings, GPUs, the order of their calls, who never came up; and what
// the log itself costs.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "diagnose/rules/nccl.hpp"
#include "diagnose/rules/nccl_events.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::nccl {
namespace {

using model::Machine;
using model::NcclCommunicator;
using model::NcclEvent;
using model::NcclEventKind;
using model::NcclIndex;
using model::NcclLog;
using model::NcclProcess;
using model::NcclRank;
using model::NcclRankState;
using model::NcclSetting;

constexpr std::size_t kMostEvidence = 6;

}  // namespace

void version_mixed(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    std::map<std::string, std::vector<NcclIndex>> versions;
    for (NcclIndex i = 0; i < log->processes.size(); ++i) {
      const NcclProcess& process = log->processes[i];
      if (!process.version.empty())
        versions[(process.is_rccl ? "RCCL " : "NCCL ") + process.version].push_back(i);
    }
    const auto told = events_of(*log, {NcclEventKind::kVersionMismatch});
    if (versions.size() < 2 && told.empty()) {
      if (versions.empty() && log->processes.size() > 1)
        outcome.undecided("whether all ranks run the same NCCL: no version line is in the log",
                          "NCCL_DEBUG=VERSION");
      continue;
    }
    Draft draft;
    draft.title = "Ranks of one job run different versions of NCCL";
    draft.rank = 0.9;
    for (const auto& [version, who] : versions) {
      draft.evidence.push_back(
          seen(*log, log->processes[who.front()].version_source,
               version + " in " + processes(who.size()) + ", first " + name_of(*log, who.front())));
    }
    const std::size_t most = told.empty() ? kMostEvidence : kMostEvidence - 2;  // room for what ranks said
    if (draft.evidence.size() > most) draft.evidence.resize(most);
    cite(*log, told, draft);
    outcome.fire(std::move(draft));
  }
}

namespace {

// Variables whose value must be the same on all ranks: what is sent, in which order and in which pieces,
// follows from them. NCCL user guide, environment variables.
constexpr std::string_view kMustAgree[] = {"NCCL_ALGO",
                                           "NCCL_PROTO",
                                           "NCCL_BUFFSIZE",
                                           "NCCL_LL_BUFFSIZE",
                                           "NCCL_LL128_BUFFSIZE",
                                           "NCCL_NTHREADS",
                                           "NCCL_MIN_NCHANNELS",
                                           "NCCL_MAX_NCHANNELS",
                                           "NCCL_MIN_CTAS",
                                           "NCCL_MAX_CTAS",
                                           "NCCL_NVLS_ENABLE",
                                           "NCCL_COLLNET_ENABLE",
                                           "NCCL_CROSS_NIC",
                                           "NCCL_P2P_NET_CHUNKSIZE",
                                           "NCCL_IB_DISABLE",
                                           "NCCL_NET",
                                           "NCCL_P2P_LEVEL",
                                           "NCCL_P2P_DISABLE",
                                           "NCCL_SHM_DISABLE",
                                           "NCCL_CUMEM_ENABLE",
                                           "NCCL_LL_THRESHOLD",
                                           "NCCL_TREE_THRESHOLD",
                                           "NCCL_MNNVL_ENABLE",
                                           "NCCL_IB_QPS_PER_CONNECTION",
                                           "NCCL_IB_SPLIT_DATA_ON_QPS",
                                           "NCCL_NET_SHARED_BUFFERS"};

}  // namespace

void settings_differ(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    if (log->processes.size() < 2) continue;
    if (log->settings.empty()) {
      if (log->info_lines != 0)
        outcome.undecided("whether all ranks have the same settings: the log names none",
                          "NCCL_DEBUG_SUBSYS=INIT,ENV");
      continue;
    }
    for (const std::string_view name : kMustAgree) {
      const auto values = settings_of(*log, name);
      if (values.size() < 2) continue;
      Draft draft;
      draft.title = fmt::format("{} differs between the ranks of one job", name);
      draft.words["variable"] = name;
      draft.rank = 0.7;
      for (const NcclSetting* setting : values) {
        const std::string who = setting->processes.empty()
                                    ? std::string()
                                    : ", first " + name_of(*log, setting->processes.front());
        model::Evidence evidence = seen(*log, *setting);
        evidence.text += who;
        if (draft.evidence.size() < kMostEvidence) draft.evidence.push_back(std::move(evidence));
      }
      outcome.fire(std::move(draft));
    }
  }
}

void duplicate_gpu(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    const auto told = events_of(*log, {NcclEventKind::kDuplicateGpu});
    if (!told.empty()) {
      Draft draft;
      const NcclEvent& first = *told.front();
      draft.title = first.rank_a && first.rank_b
                        ? fmt::format("Ranks {} and {} were given the same GPU", *first.rank_a, *first.rank_b)
                        : std::string("Two ranks were given the same GPU");
      draft.rank = rank_in_time(*log, told);
      cite(*log, told, draft);
      outcome.fire(std::move(draft));
      continue;
    }
    if (log->communicators.empty() && log->warn_lines != 0 && log->info_lines == 0)
      outcome.undecided("which GPU each rank has: only warnings are in the log", "NCCL_DEBUG=INFO");
  }
}

namespace {

std::string call_words(const model::NcclCall& call) {
  return fmt::format("{} of {} elements, datatype {}, op {}, root {}", call.function, call.count,
                     call.datatype, call.op, call.root);
}

}  // namespace

void calls_mismatch(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  for (const NcclLog* log : logs) {
    bool any = false;
    for (NcclIndex i = 0; i < log->communicators.size(); ++i) {
      const NcclCommunicator& communicator = log->communicators[i];
      for (const NcclRank& rank : communicator.ranks)
        any = any || rank.calls.collectives != 0;
      const auto found = model::find_mismatch(*log, i);
      if (!found) continue;
      Draft draft;
      draft.rank = 0.95;
      const std::string where = communicator.id.empty() ? "" : " of communicator " + communicator.id;
      if (found->exact) {
        draft.title = fmt::format("Ranks {} and {} call different collectives, first at operation {}",
                                  found->rank_a, found->rank_b, found->a.op_count);
        draft.evidence.push_back(
            seen(*log, found->a.source, fmt::format("rank {}: {}", found->rank_a, call_words(found->a))));
        draft.evidence.push_back(
            seen(*log, found->b.source, fmt::format("rank {}: {}", found->rank_b, call_words(found->b))));
      } else {
        draft.title = fmt::format("Ranks {} and {} call different collectives between operations {} and {}",
                                  found->rank_a, found->rank_b, found->first_op, found->last_op);
        draft.evidence.push_back(
            seen(*log, communicator.first, "the calls" + where + " were compared by their hashes"));
      }
      outcome.fire(std::move(draft));
    }
    if (!any && !log->communicators.empty() && model::find_earliest_failure(*log) != nullptr)
      outcome.undecided(
          "whether all ranks call the same collectives: no call is in the log",
          "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,COLL NCCL_DEBUG_FILE=nccl.%h.%p.log (a line a call)");
  }
}

namespace {

struct Absent {
  std::vector<std::uint32_t> started;  // began, never finished
  std::vector<std::uint32_t> silent;   // no line of theirs
  bool any_complete = false;
  const NcclRank* first = nullptr;
};

Absent absent_of(const NcclCommunicator& communicator) {
  constexpr std::uint32_t kMostRanks = 1U << 20U;
  Absent absent;
  std::set<std::uint32_t> spoken;
  for (const NcclRank& rank : communicator.ranks) {
    if (!rank.rank) continue;
    spoken.insert(*rank.rank);
    if (rank.state == NcclRankState::kStarted) {
      absent.started.push_back(*rank.rank);
      if (absent.first == nullptr) absent.first = &rank;
    } else {
      absent.any_complete = true;
    }
  }
  for (std::uint32_t rank = 0; rank < std::min(communicator.nranks, kMostRanks); ++rank)
    if (!spoken.contains(rank)) absent.silent.push_back(rank);
  return absent;
}

bool has_failed(const NcclLog& log) {
  const NcclEvent* first = model::find_earliest_failure(log);
  return first != nullptr && first->is_warning;
}

}  // namespace

// Init is a meeting of all ranks: when it never ends, somebody did not come.
void ranks_missing(const Machine& machine, Outcome& outcome) {
  const auto evidence = evidence_of(machine);
  if (logs_of(machine).empty()) return outcome.not_applicable();
  for (const model::NcclEvidence* one : evidence) {
    if (!one->log) continue;
    const NcclLog& log = *one->log;
    for (const NcclCommunicator& communicator : log.communicators) {
      const Absent absent = absent_of(communicator);
      if (absent.started.empty()) continue;
      const std::string size = fmt::format("{} of {} ranks", absent.started.size(), communicator.nranks);
      const std::string collect =
          "the whole log of every rank: NCCL_DEBUG=INFO NCCL_DEBUG_FILE=nccl.%h.%p.log";
      const bool waited = has_failed(log) || (one->watchdog && !one->watchdog->timeouts.empty());
      if (!waited) {
        // Where most ranks spoke, those that did not are the first to look at.
        const bool few = !absent.silent.empty() && absent.silent.size() < absent.started.size();
        outcome.undecided(size + " began init" +
                              (few ? ", of " + ranks_in_words({absent.silent.begin(), absent.silent.end()}) +
                                         " there is no line,"
                                   : "") +
                              " and the log ends before it is complete: a hang, or a log that is cut",
                          collect);
        continue;
      }
      // Everybody came and something failed: the rule over that failure tells the cause.
      const NcclEvent* cause = model::find_earliest_failure(log);
      const bool explained = absent.silent.empty() && cause != nullptr && cause->is_warning;
      if (explained && !model::is_echo(*cause)) continue;
      Draft draft;
      draft.rank = 0.6;
      if (explained) draft.severity = model::Severity::kInfo;
      if (absent.silent.empty()) {
        draft.title =
            fmt::format("Init never ended for {} of {}",
                        ranks_in_words({absent.started.begin(), absent.started.end()}), communicator.nranks);
      } else {
        draft.title =
            fmt::format("Init never ended: {} of {} never spoke, the others wait for them",
                        ranks_in_words({absent.silent.begin(), absent.silent.end()}), communicator.nranks);
      }
      draft.evidence.push_back(seen(
          log, absent.first->started,
          name_of(log, absent.first->process) + ": Init START without Init COMPLETE, " + size + " alike"));
      if (cause != nullptr) draft.evidence.push_back(seen(log, *cause));
      outcome.fire(std::move(draft));
    }
  }
}

void init_slow(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  const double limit = knowledge::threshold("nccl.init.seconds");
  for (const NcclLog* log : logs) {
    const NcclRank* slowest = nullptr;
    std::uint32_t nranks = 0;
    bool any = false;
    for (const NcclCommunicator& communicator : log->communicators) {
      for (const NcclRank& rank : communicator.ranks) {
        any = any || rank.init_seconds.has_value();
        if (!rank.init_seconds || (slowest != nullptr && *rank.init_seconds <= *slowest->init_seconds))
          continue;
        slowest = &rank;
        nranks = communicator.nranks;
      }
    }
    if (!any && !log->communicators.empty())
      outcome.undecided("how long init took: this log has no line with its times",
                        "NCCL 2.22 or newer, NCCL_DEBUG=INFO");
    if (slowest == nullptr || !(*slowest->init_seconds > limit)) continue;
    Draft draft;
    draft.title = fmt::format("Init took {:.0f} s for {} ranks", *slowest->init_seconds, nranks);
    const auto part = std::ranges::max_element(slowest->init_parts, {}, &model::NcclTiming::seconds);
    if (part != slowest->init_parts.end()) {
      draft.title += fmt::format(", {:.0f} s of it in {}", part->seconds, part->name);
      draft.words["part"] = part->name;
      if (part->name == "bootstrap") draft.words["by_bootstrap"] = "";
      if (part->name == "topo" || part->name == "graphs") draft.words["by_topology"] = "";
    }
    draft.evidence.push_back(
        seen(*log, slowest->timing_source,
             fmt::format("{}: total {:.2f} s", name_of(*log, slowest->process), *slowest->init_seconds)));
    outcome.fire(std::move(draft));
  }
}

// A log at a level that costs the job time.
void debug_left_on(const Machine& machine, Outcome& outcome) {
  const auto logs = logs_of(machine);
  if (logs.empty()) return outcome.not_applicable();
  const double limit = knowledge::threshold("nccl.debug.call-lines");
  for (const NcclLog* log : logs) {
    std::uint64_t calls = 0;
    for (const NcclCommunicator& communicator : log->communicators)
      for (const NcclRank& rank : communicator.ranks)
        calls += rank.calls.collectives + rank.calls.point_to_point;
    // no undecided: the lines are there or they are not
    if (log->trace_lines == 0 && !(static_cast<double>(calls) > limit) && !log->memory_profile_lines)
      continue;
    Draft draft;
    if (log->trace_lines != 0) {
      draft.title = fmt::format("NCCL traces: {} lines of TRACE or CALL slow the job", log->trace_lines);
      draft.severity = model::Severity::kWarning;
    } else if (static_cast<double>(calls) > limit) {
      draft.title = fmt::format(
          "NCCL writes a line for every call ({} so far): for a search, not for production", calls);
    } else {
      draft.title = "NCCL writes a line for every allocation (ALLOC): for a search, not for production";
    }
    if (!log->files.empty())
      draft.evidence.push_back(
          {fmt::format("{} lines in {}", log->files.front().nccl_lines, log->files.front().name), ""});
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS"})
      for (const NcclSetting* setting : settings_of(*log, name))
        draft.evidence.push_back(seen(*log, *setting));
    outcome.fire(std::move(draft));
  }
}

std::span<const Rule> rank_rules() {
  static constexpr std::array kRules{
      Rule{"nccl.version.mixed", version_mixed},       Rule{"nccl.settings.differ", settings_differ},
      Rule{"nccl.ranks.duplicate-gpu", duplicate_gpu}, Rule{"nccl.calls.mismatch", calls_mismatch},
      Rule{"nccl.ranks.missing", ranks_missing},       Rule{"nccl.init.slow", init_slow},
      Rule{"nccl.debug.left-on", debug_left_on},
  };
  return kRules;
}

}  // namespace angio::diagnose::nccl
