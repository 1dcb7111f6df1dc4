#include "dryrun/result.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "dryrun/log_taker.hpp"
#include "knowledge/knowledge.hpp"
#include "model/nccl_world.hpp"

namespace angio::dryrun {
namespace {

using model::DryRun;
using model::DryRunOperation;
using model::NcclChoice;
using nccl_run::ClusterOutcome;
using nccl_run::ClusterRequest;
using nccl_run::NodeOutcome;

constexpr std::size_t kNamed = 8;  // of a list in a note

std::string_view words(nccl_run::NetKind net) {
  switch (net) {
    case nccl_run::NetKind::kPhantom:
      return "phantom";
    case nccl_run::NetKind::kIb:
      return "ib";
    case nccl_run::NetKind::kSocket:
      return "socket";
  }
  return "";
}

// 22809 is 2.28.9: NCCL_VERSION of nccl.h, from 2.9 on.
std::string version_text(int code) {
  return fmt::format("{}.{}.{}", code / 10000, code / 100 % 100, code % 100);
}

std::string listed(const std::set<std::string>& names) {
  std::string text;
  std::size_t shown = 0;
  for (const std::string& name : names) {
    if (shown++ == kNamed) return text + fmt::format(" and {} more", names.size() - kNamed);
    text += (text.empty() ? "" : ", ") + printable(name);
  }
  return text;
}

void fill_request(const ClusterRequest& request, DryRun& run) {
  run.library = request.library.path;
  run.nccl = request.library.version;
  run.way = request.library.runtime == nccl_run::Runtime::kDynamic ? "runtime linked dynamically"
                                                                   : "entries redirected";
  run.nodes = static_cast<std::uint32_t>(request.nodes.size());
  run.net = words(request.net);
  run.settings = request.environment;
  for (std::size_t node = 0; node < request.nodes.size(); ++node) {
    run.ranks_per_node.push_back(static_cast<std::uint32_t>(request.nodes[node].devices.size()));
    for (const auto& [name, value] : request.nodes[node].environment)
      run.notes.push_back(fmt::format("node {} alone has {}={}", node, printable(name), printable(value)));
  }
}

void fill_end(const ClusterOutcome& outcome, DryRun& run) {
  run.end = outcome.end;
  run.problem = outcome.problem;
  run.seconds = outcome.seconds;
  run.peak_memory = outcome.peak_memory;
  for (const NodeOutcome& node : outcome.nodes) {
    if (node.reports.init) run.init_seconds = std::max(run.init_seconds, node.reports.init->seconds);
    if (!node.reports.loaded) continue;
    run.redirect_ms = std::max(run.redirect_ms, node.reports.loaded->redirect_ms);
    if (run.nccl.empty()) run.nccl = version_text(node.reports.loaded->version);
  }
  if (run.end == model::DryRunEnd::kComplete || outcome.culprit >= outcome.nodes.size()) return;
  const NodeOutcome& culprit = outcome.nodes[outcome.culprit];
  run.culprit = outcome.culprit;
  run.last_lines = culprit.last_lines;
  if (!culprit.reports.failed) return;
  run.result = culprit.reports.failed->result;
  run.failed_call = culprit.reports.failed->call;
}

// Proxies move data after NCCL's calls have returned: what fails then stands in the log alone.
void take_failed_transfers(DryRun& run) {
  if (run.end != model::DryRunEnd::kComplete || !run.evidence.log) return;
  const auto& events = run.evidence.log->events;
  const auto failed = std::ranges::find_if(events, [](const model::NcclEvent& event) {
    return event.kind == model::NcclEventKind::kCompletionError && !event.handled;
  });
  if (failed == events.end()) return;
  run.end = model::DryRunEnd::kFailed;
  run.problem = "a transfer between nodes failed after NCCL's calls had returned: " + failed->text;
}

// Ranks are counted through the nodes; a rank has its place among the devices of its node.
void fill_memory(const ClusterRequest& request, const ClusterOutcome& outcome, DryRun& run) {
  std::uint32_t first = 0;
  for (std::size_t node = 0; node < std::min(request.nodes.size(), outcome.nodes.size()); ++node) {
    const auto& devices = request.nodes[node].devices;
    for (const nccl_run::MemoryReport& report : outcome.nodes[node].reports.memory) {
      const auto at = std::ranges::find(devices, report.device);
      if (at == devices.end()) continue;
      run.memory.push_back({first + static_cast<std::uint32_t>(at - devices.begin()), report.after_init,
                            report.peak, report.host});
    }
    first += static_cast<std::uint32_t>(devices.size());
  }
  std::ranges::sort(run.memory, {}, &model::DryRunMemory::rank);
}

// ---- operations

// The communicator of all ranks.
const model::NcclCommunicator* world_of(const DryRun& run) {
  if (!run.evidence.log) return nullptr;
  std::uint32_t ranks = 0;
  for (const std::uint32_t each : run.ranks_per_node)
    ranks += each;
  return model::world_of(*run.evidence.log, ranks);
}

class ChoiceFinder {
 public:
  ChoiceFinder(const model::NcclCommunicator& world, const std::vector<Mark>& marks)
      : choices_(world.choices) {
    for (const NcclChoice& choice : choices_)
      by_line_.emplace(choice.source.line, &choice);
    for (std::size_t index = 0; index < marks.size(); ++index) {
      const std::uint64_t end = index + 1 < marks.size() ? marks[index + 1].line : ~std::uint64_t{0};
      spans_.try_emplace(marks[index].operation, marks[index].line, end);
    }
  }

  // The line behind the operation's mark. Equal lines are one fact at the place of the first: then by
  // collective and size, which is all that NCCL decides by. A nameless choice (2.21 and older) may be of any
  // collective of that size, and counts only behind the mark of one of the same kind.
  const NcclChoice* find(std::uint32_t operation, const DryRunOperation& wanted) {
    const NcclChoice* found = behind_mark(operation, wanted);
    const auto key = std::pair(wanted.collective, wanted.bytes);
    if (found != nullptr) {
      seen_.try_emplace(key, found);
      return found;
    }
    if (const auto before = seen_.find(key); before != seen_.end()) return before->second;
    const auto named = std::ranges::find_if(choices_, [&](const NcclChoice& choice) {
      return choice.function == wanted.collective && choice.bytes == wanted.bytes;
    });
    return named == choices_.end() ? nullptr : &*named;
  }

 private:
  [[nodiscard]] const NcclChoice* behind_mark(std::uint32_t operation, const DryRunOperation& wanted) const {
    const auto span = spans_.find(operation);
    if (span == spans_.end()) return nullptr;
    for (auto at = by_line_.upper_bound(span->second.first);
         at != by_line_.end() && at->first < span->second.second; ++at) {
      if (at->second->function.empty() || at->second->function == wanted.collective) return at->second;
    }
    return nullptr;
  }

  const std::vector<NcclChoice>& choices_;
  std::multimap<std::uint64_t, const NcclChoice*> by_line_;
  std::map<std::uint32_t, std::pair<std::uint64_t, std::uint64_t>> spans_;  // lines of an operation
  std::map<std::pair<std::string, std::uint64_t>, const NcclChoice*> seen_;
};

void take_choice(const NcclChoice& choice, DryRunOperation& operation) {
  operation.algorithm = choice.algorithm;
  operation.protocol = choice.protocol;
  if (choice.symmetric) operation.algorithm = "SYMMETRIC";
  if (choice.copy_engine) operation.algorithm = "COPY_ENGINE";
  if (operation.kernel.empty()) operation.kernel = choice.kernel;
  if (choice.channel_low && choice.channel_high && *choice.channel_low <= *choice.channel_high)
    operation.channels = *choice.channel_high - *choice.channel_low + 1;
}

void take_report(const nccl_run::OperationReport& report, DryRunOperation& operation) {
  operation.reached = true;
  // A tuner that decides sets the cost to nothing, which is no estimate.
  if (report.estimate_us.value_or(0) > 0) operation.estimate_us = report.estimate_us;
  operation.enqueue_ms = report.enqueue_ms;
  operation.kernel = report.kernel;
  operation.grid = report.grid;
  operation.block = report.block;
}

// A collective's kernel runs one block a channel (src/enqueue.cc): where the log does not tell channels (up
// to 2.23), its grid does.
void take_grid(DryRunOperation& operation) {
  if (!operation.channels && operation.grid > 0 && !model::is_point_to_point(operation.collective))
    operation.channels = operation.grid;
}

void fill_operations(const ClusterRequest& request, const ClusterOutcome& outcome,
                     const std::vector<Mark>& marks, DryRun& run) {
  for (const nccl_run::Operation& each : request.operations) {
    DryRunOperation operation;
    operation.collective = label(each.collective);
    operation.bytes = each.bytes;
    run.operations.push_back(std::move(operation));
  }
  if (!outcome.nodes.empty()) {
    for (const nccl_run::OperationReport& report : outcome.nodes.front().reports.operations)
      if (report.index < run.operations.size()) take_report(report, run.operations[report.index]);
  }
  const model::NcclCommunicator* world = world_of(run);
  if (world == nullptr) return;
  ChoiceFinder finder(*world, marks);
  for (std::uint32_t index = 0; index < run.operations.size(); ++index) {
    DryRunOperation& operation = run.operations[index];
    if (!operation.reached) continue;
    if (const NcclChoice* choice = finder.find(index, operation)) take_choice(*choice, operation);
    take_grid(operation);
  }
}

// ---- notes

void note_refused(const ClusterOutcome& outcome, DryRun& run) {
  std::set<std::string> calls;
  for (const NodeOutcome& node : outcome.nodes)
    calls.insert(node.reports.refused_calls.begin(), node.reports.refused_calls.end());
  if (!calls.empty()) run.notes.push_back("NCCL made CUDA calls that phantom GPUs refuse: " + listed(calls));
}

// Device numbers of the NET nodes in the graphs that a node printed, "NET/0-3" or "NET/3" before 2.21.
std::set<std::uint32_t> nets_in_graphs(const model::NcclLog& log, std::string_view host) {
  std::set<std::uint32_t> numbers;
  for (const model::NcclSystem& system : log.systems) {
    if (system.host != host) continue;
    for (const model::NcclSystemNode& node : system.nodes) {
      if (!node.name.starts_with("NET/")) continue;
      const std::string_view id = std::string_view(node.name).substr(node.name.find_last_of("/-") + 1);
      if (const auto number = parse_integer<std::uint32_t>(id, 16)) numbers.insert(*number);
    }
  }
  return numbers;
}

// NICs of a node that the graph it printed lacks. A node that printed none says nothing.
std::set<std::string> dropped_nets(const ClusterRequest& request, const model::NcclLog& log,
                                   std::size_t node) {
  std::set<std::string> dropped;
  const std::set<std::uint32_t> kept = nets_in_graphs(log, fmt::format("node{}", node));
  if (kept.empty()) return dropped;
  const auto& nets = request.nodes[node].hardware.nets;
  for (std::uint32_t index = 0; index < nets.size(); ++index)
    if (!kept.contains(index)) dropped.insert(nets[index].name);
  return dropped;
}

// On one node NCCL drops all NICs. Nodes alike are one note.
void note_dropped(const ClusterRequest& request, DryRun& run) {
  if (!run.evidence.log || run.nodes < 2 || request.net != nccl_run::NetKind::kPhantom) return;
  std::map<std::set<std::string>, std::vector<std::size_t>> nodes;
  for (std::size_t node = 0; node < request.nodes.size(); ++node)
    nodes[dropped_nets(request, *run.evidence.log, node)].push_back(node);
  for (const auto& [dropped, alike] : nodes) {
    if (dropped.empty()) continue;
    const std::string others =
        alike.size() > 1 ? fmt::format(" and {}", count_of(alike.size() - 1, "other node")) : std::string();
    run.notes.push_back(fmt::format("NCCL's graph of node {}{} lacks NICs that the node has: {}",
                                    alike.front(), others, listed(dropped)));
  }
}

void note_unclaimed(DryRun& run) {
  const auto count = std::ranges::count_if(run.operations, [](const DryRunOperation& each) {
    return each.reached && each.algorithm.empty() && !model::is_point_to_point(each.collective);
  });
  const model::NcclCommunicator* world = world_of(run);
  if (count == 0 || world == nullptr || world->nranks == 1) return;  // one rank alone only copies
  const knowledge::NcclFact* fact = knowledge::find_nccl_fact("choice-line");
  const std::string_view release = std::string_view(run.nccl).substr(0, run.nccl.find('+'));
  const bool silent = fact != nullptr && !release.empty() && !knowledge::holds(*fact, release);
  run.notes.push_back(
      fmt::format("NCCL {} printed no choice of an algorithm for {} of {} operations: {}", release, count,
                  run.operations.size(),
                  silent ? fmt::format("only releases from {} on do", fact->since)
                         : std::string("a size that NCCL rounds, or a tuner that it does not log")));
}

}  // namespace

DryRun make_result(const ClusterRequest& request, const ClusterOutcome& outcome, LogTaker log) {
  DryRun run;
  fill_request(request, run);
  fill_end(outcome, run);
  fill_memory(request, outcome, run);
  run.evidence = log.state_->reader.take().facts;
  take_failed_transfers(run);
  fill_operations(request, outcome, log.state_->marks, run);
  note_refused(outcome, run);
  note_dropped(request, run);
  note_unclaimed(run);
  run.notes.insert(run.notes.end(), outcome.notes.begin(), outcome.notes.end());
  return run;
}

}  // namespace angio::dryrun
