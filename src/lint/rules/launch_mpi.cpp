// mpirun's hosts and the GPUs of a benchmark's processes; one-liners that prove nothing; broken
// continuations.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {
namespace {

bool has_hosts(const Stage& mpirun) {
  return find_option(mpirun, {"--hostfile", "-hostfile", "--machinefile", "-machinefile", "-H", "--host",
                              "-host", "-hosts", "-f", "--rankfile", "-rf", "--app"})
      .has_value();
}

void no_hosts(const Job& job, const Line& line, const Stage& mpirun, Complaints& out) {
  if (has_hosts(mpirun) || job.allocation.slurm || job.allocation.other) return;
  const auto ranks = number_option(line, mpirun, {"-np", "-n", "--np", "--n"});
  const auto each =
      find_option(mpirun, {"-npernode", "--npernode", "-N", "--map-by", "-map-by", "-ppn", "-perhost"});
  const auto local = each ? local_ranks(line, mpirun, job.allocation) : std::nullopt;
  if (!ranks || !local || *local < 1 || *ranks <= *local) return;
  out.push_back(complain(
      "launch.mpirun.no-hosts", *job.script, mpirun.place(),
      counted(*ranks, "rank") + ", " + std::to_string(*local) +
          " a node, but no hosts are named: outside a batch allocation mpirun has this host only",
      "--hostfile FILE, or -H host0:" + std::to_string(*local) + ",host1:" + std::to_string(*local)));
}

// nccl-tests: -g opens that many GPUs in each process.
void too_many_gpus(const Job& job, const Line& line, const Context& context, Complaints& out) {
  const auto& benchmark = line.stages.back();
  if (!benchmark.program.ends_with("_perf")) return;
  const auto gpus = number_option(line, benchmark, {"-g", "--ngpus"});
  const auto threads = number_option(line, benchmark, {"-t", "--nthreads"}).value_or(1);
  if (!gpus || *gpus < 2 || *gpus > 1024 || threads < 1 || threads > 1024) return;
  const auto* launcher = find_stage(line, {"mpirun", "srun"});
  if (launcher == nullptr) return;
  auto ranks = launcher->program == "mpirun" ? local_ranks(line, *launcher, job.allocation)
                                             : number_option(line, *launcher, {"--ntasks-per-node"});
  if (!ranks && launcher->program == "srun") ranks = job.allocation.tasks_per_node;
  if (!ranks || *ranks < 2) return;
  auto present = job.allocation.gpus_per_node;
  if (!present && !context.machines.empty() && !context.machines.front().gpus.empty())
    present = static_cast<long>(context.machines.front().gpus.size());
  const long needed = *ranks * *gpus * threads;
  if (present ? needed <= *present : *ranks != *gpus) return;
  out.push_back(complain("launch.nccl-tests.too-many-gpus", *job.script,
                         find_option(benchmark, {"-g", "--ngpus"})->word->place,
                         std::to_string(*ranks) + " processes a node with -g " + std::to_string(*gpus) +
                             " each: " + std::to_string(needed) + " GPUs a node",
                         "under a launcher with one process a GPU: -g 1"));
}

// The quotes around python -c are gone; line ends are in it.
bool runs_collective(std::string_view code) {
  for (const std::string_view call : {"all_reduce", "barrier", "broadcast", "all_gather", "reduce_scatter",
                                      "all_to_all", "device_id", "reduce(", "gather(", "send("})
    if (contains(code, call)) return true;
  return false;
}

void init_only(const Job& job, const Line& line, Complaints& out) {
  const auto& python = line.stages.back();
  if (python.program != "python" || python.words.size() < 3) return;
  for (std::size_t i = 1; i + 1 < python.words.size(); ++i) {
    const auto& code = python.words[i + 1]->text;
    if (python.words[i]->text != "-c" || !contains(code, "init_process_group") || runs_collective(code))
      continue;
    out.push_back(complain(
        "launch.python.init-only", *job.script, python.words[i]->place,
        "init_process_group alone makes no NCCL communicator: PyTorch creates it at the first collective, so "
        "NCCL logs nothing",
        "torchrun --nproc-per-node=N a script that runs one all_reduce on a CUDA tensor"));
  }
}

// A place inside the command, counted from its beginning.
Place place_behind(const Place& begin, std::string_view text, std::size_t offset) {
  const auto between = text.substr(begin.offset, offset - begin.offset);
  const auto lines = std::count(between.begin(), between.end(), '\n');
  const auto line_begin = between.rfind('\n');
  const auto column =
      line_begin == std::string_view::npos ? begin.column + between.size() : between.size() - line_begin;
  return {begin.line + static_cast<std::uint32_t>(lines), static_cast<std::uint32_t>(column), offset, 1};
}

// The line joined to the next; its comment goes above it, unless the line before is continued as well.
std::vector<Edit> joined(const Place& begin, std::string_view text, std::size_t backslash,
                         std::string_view rest) {
  std::vector<Edit> edits;
  const auto comment = trim(rest);
  const auto line_begin = begin.offset + 1 - begin.column;
  const auto before = line_begin == 0 ? std::string_view() : text.substr(0, line_begin - 1);
  const auto previous = before.substr(before.rfind('\n') + 1);
  if (!comment.empty() && begin.column <= begin.offset + 1 && !contains(previous, "\\")) {
    const auto line = text.substr(line_begin);
    const auto indent = line.substr(0, std::min(line.find_first_not_of(" \t"), line.size()));
    edits.push_back({line_begin, 0, std::string(indent) + std::string(comment) + "\n"});
  }
  edits.push_back({backslash + 1, rest.size(), ""});
  return edits;
}

// "\ # text": the backslash takes the blank, not the line end.
void broken_continuation(const Job& job, const Line& line, Complaints& out) {
  const auto& command = *line.command;
  if (command.comment_after_backslash.empty() || line.own != 0) return;
  const std::string_view text = job.script->text;
  const auto end = command.place.offset + command.place.length;
  const auto line_end = std::min(text.find('\n', std::min(end, text.size())), text.size());
  const auto backslash = text.rfind('\\', line_end == 0 ? 0 : line_end - 1);
  if (backslash == std::string_view::npos || backslash < command.place.offset) return;
  const auto rest = text.substr(backslash + 1, line_end - backslash - 1);
  const bool blank = trim(rest).empty();
  auto complaint = complain(
      "launch.shell.broken-continuation", *job.script, place_behind(command.place, text, backslash),
      std::string(blank ? "blanks" : "a comment") +
          " behind the backslash: the command ends here and the next line runs as one of its own",
      blank ? "the backslash must be the last character of the line" : "put the comment above the command");
  if (blank || trim(rest).starts_with('#')) complaint.fix = joined(command.place, text, backslash, rest);
  out.push_back(std::move(complaint));
}

}  // namespace

void check_mpirun(const Job& job, const Context& context, Complaints& out) {
  for (const auto& line : job.lines) {
    if (const auto* mpirun = find_stage(line, {"mpirun"})) no_hosts(job, line, *mpirun, out);
    too_many_gpus(job, line, context, out);
  }
}

void check_one_liners(const Job& job, Complaints& out) {
  for (const auto& line : job.lines) {
    init_only(job, line, out);
    broken_continuation(job, line, out);
  }
}

}  // namespace angio::lint
