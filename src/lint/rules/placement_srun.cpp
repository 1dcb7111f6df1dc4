// srun's and mpirun's own binding: what hides GPUs, what ties many threads to one core, what binds twice.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/placement_rules.hpp"

namespace angio::lint {

std::optional<long> tasks_per_node(const Job& job, const Line* line, const Stage* srun) {
  if (srun != nullptr) {
    if (const auto tasks = number_option(*line, *srun, {"--ntasks-per-node"})) return tasks;
    const auto tasks = number_option(*line, *srun, {"--ntasks", "-n"});
    const auto nodes = number_option(*line, *srun, {"--nodes", "-N"});
    const auto count = nodes ? nodes : job.allocation.nodes;
    if (tasks && count && *count > 0 && *tasks % *count == 0) return *tasks / *count;
    if (tasks || nodes) return std::nullopt;
  }
  return job.allocation.tasks_per_node;
}

namespace {

// A program that computes: not hostname, mkdir, nvidia-smi.
bool is_work(const Line& line) {
  if (find_stage(line, {"python", "torchrun", "accelerate", "deepspeed", "numactl", "singularity"}) !=
      nullptr)
    return true;
  return line.stages.back().program.ends_with("_perf");
}

bool hides_gpus(std::string_view bind) {
  for (auto part : split(bind, ',')) {
    if (part == "verbose" || part == "v") continue;
    for (const std::string_view kind :
         {"closest", "single:", "per_task:", "map_gpu:", "mask_gpu:", "map:", "mask:"})
      if (part.starts_with(kind)) return true;
  }
  return false;
}

class Srun {
 public:
  Srun(const Job& job, Complaints& out) : job_(job), out_(out) {}

  void check() {
    for (const auto& line : job_.lines) {
      const auto* srun = find_stage(line, {"srun"});
      if (srun == nullptr || !is_work(line)) continue;
      isolated(line, *srun);
      not_inherited(line, *srun);
    }
    one_cpu();
  }

 private:
  void isolated(const Line& line, const Stage& srun) {
    if (tasks_per_node(job_, &line, &srun).value_or(1) < 2) return;
    const auto per_task = find_option(srun, {"--gpus-per-task"});
    const auto own_bind = find_option(srun, {"--gpu-bind"});
    const std::string bind = own_bind ? own_bind->value : job_.allocation.gpu_bind;
    if (contains(bind, "none") || (per_task && per_task->value == "0")) return;
    const auto* directive = job_.allocation.gpus_per_task_directive;
    if (hides_gpus(bind)) {
      const auto& place = own_bind ? own_bind->word->place : job_.allocation.gpu_bind_directive->place;
      add_isolated(place, "--gpu-bind=" + bind);
    } else if (per_task) {
      add_isolated(per_task->word->place, shown(*per_task));
    } else if (directive != nullptr) {
      add_isolated(directive->place, "--gpus-per-task");
    }
  }

  void add_isolated(const Place& place, const std::string& words) {
    auto complaint = complain(
        "placement.srun.gpus-per-task", *job_.script, place,
        words +
            " gives each task its own GPU: where Slurm constrains devices the ranks of a node "
            "cannot see each other's GPU and lose NVLink and PCIe P2P",
        "ask with --gpus-per-node or --gres=gpu:N, or add --gpu-bind=none, and choose by local rank");
    if (!concerns_nccl(job_)) complaint.severity = model::Severity::kInfo;
    out_.push_back(std::move(complaint));
  }

  void not_inherited(const Line& line, const Stage& srun) {
    if (said_ || !job_.allocation.cpus_per_task || *job_.allocation.cpus_per_task < 2) return;
    if (find_option(srun, {"--cpus-per-task", "-c"})) return;
    // Each task is given its CPUs by name.
    const auto bind = find_option(srun, {"--cpu-bind"});
    if (bind && (contains(bind->value, "mask_") || contains(bind->value, "map_"))) return;
    for (const auto& setting : job_.script->settings)
      if (setting.name == "SRUN_CPUS_PER_TASK" && !setting.unset) return;
    said_ = true;
    static_cast<void>(line);
    out_.push_back(complain("placement.srun.cpus-per-task", *job_.script, srun.place(),
                            "--cpus-per-task=" + std::to_string(*job_.allocation.cpus_per_task) +
                                " of #SBATCH does not reach srun from Slurm 22.05 on",
                            "srun --cpus-per-task=$SLURM_CPUS_PER_TASK, or export SRUN_CPUS_PER_TASK"));
  }

  void one_cpu() {
    const auto& allocation = job_.allocation;
    if (!allocation.slurm || allocation.heterogeneous || allocation.exclusive || allocation.cpus_per_task)
      return;
    if (allocation.gpus_per_node.value_or(0) < 1) return;
    for (const auto& directive : job_.script->directives)
      if (contains(directive.text, "cpus-per-gpu") || contains(directive.text, "cores-per-socket") ||
          contains(directive.text, "--exclusive"))
        return;
    for (const auto& line : job_.lines) {
      if (find_stage(line, {"python", "torchrun", "accelerate", "deepspeed"}) == nullptr) continue;
      if (find_stage(line, {"mpirun"}) != nullptr) continue;  // it starts its ranks by one task a node
      const auto* srun = find_stage(line, {"srun"});
      if (srun != nullptr && find_option(*srun, {"--cpus-per-task", "-c", "--cpus-per-gpu", "--exclusive"}))
        continue;
      out_.push_back(
          complain("placement.srun.one-cpu", *job_.script, line.command->place,
                   "no --cpus-per-task: unless the site has a default per GPU, each task gets one CPU for "
                   "the rank, its DataLoader workers and NCCL",
                   "#SBATCH --cpus-per-task=N with the node's CPUs divided by its tasks"));
      return;
    }
  }

  const Job& job_;
  Complaints& out_;
  bool said_ = false;
};

bool binds(std::string_view cpu_bind) {
  for (const auto part : split(cpu_bind, ','))
    if (part == "none" || part == "no") return false;
  for (const auto part : split(cpu_bind, ','))
    if (part != "verbose" && part != "v" && part != "quiet" && part != "q" && !part.empty()) return true;
  return false;
}

std::optional<Option> bind_to(const Stage& mpirun) {
  return find_option(mpirun, {"--bind-to", "-bind-to"});
}

void twice(const Job& job, const Line& line, Complaints& out) {
  const auto* inner = find_stage(line, {"numactl", "taskset"});
  if (inner == nullptr) return;
  if (inner->program == "numactl" &&
      !find_option(*inner, {"--cpunodebind", "--cpubind", "-N", "--physcpubind", "-C"}))
    return;
  const auto* outer = find_stage(line, {"srun", "mpirun"});
  if (outer == nullptr || outer > inner) return;
  const auto option = outer->program == "srun" ? find_option(*outer, {"--cpu-bind"}) : bind_to(*outer);
  if (!option || option->dynamic || !binds(option->value)) return;
  out.push_back(complain("placement.binding.twice", *job.script, inner->place(),
                         inner->program + " binds again what " + outer->program + " " + shown(*option) +
                             " has bound: the inner one wins, or fails when its CPUs are not allowed",
                         "bind in one place: " + outer->program +
                             (outer->program == "srun" ? " --cpu-bind=none" : " --bind-to none") +
                             ", or drop " + inner->program));
}

bool several_elements(const Option& map) {
  const auto at = to_lower(map.value).find("pe=");
  if (at == std::string::npos) return false;
  const auto digits = std::string_view(map.value).substr(at + 3);
  return digits != "1" && !digits.starts_with("1:");
}

std::string without_modifiers(std::string_view value) {
  return to_lower(value.substr(0, value.find(':')));
}

void mpirun_line(const Job& job, const Line& line, const Stage& mpirun, Complaints& out) {
  const auto bind = bind_to(mpirun);
  const auto map = find_option(mpirun, {"--map-by", "-map-by"});
  const bool elements = map && several_elements(*map);
  if (!bind || bind->dynamic) return;
  const auto target = without_modifiers(bind->value);
  if (elements && target != "core" && target != "hwthread" && target != "hwthread-cpus" && target != "none") {
    out.push_back(complain("placement.mpirun.pe-conflict", *job.script, bind->word->place,
                           shown(*map) + " asks for several cores a rank, " + shown(*bind) +
                               " for another unit: "
                               "Open MPI 4 refuses the pair",
                           "with PE=N write --bind-to core"));
  }
  const auto threads = variable_at(line, "OMP_NUM_THREADS");
  const bool python = find_stage(line, {"python"}) != nullptr && threads != "1" && concerns_gpus(job);
  const bool threaded = python || (threads && number_of(line, *threads).value_or(0) > 1);
  if (target == "core" && !elements && threaded &&
      !find_option(mpirun, {"--cpus-per-proc", "-cpus-per-proc", "--cpus-per-rank"})) {
    out.push_back(
        complain("placement.mpirun.one-core", *job.script, bind->word->place,
                 shown(*bind) + " leaves each rank one core for " +
                     (python ? "Python, its DataLoader workers and NCCL's threads" : "all of its threads"),
                 "--map-by ppr:N:numa:PE=CORES --bind-to core"));
  }
  const auto ranks = local_ranks(line, mpirun, job.allocation);
  if (target == "none" && python && ranks.value_or(2) > 1 &&
      find_stage(line, {"numactl", "taskset"}) == nullptr) {
    out.push_back(complain(
        "placement.mpirun.unbound", *job.script, bind->word->place,
        shown(*bind) + ": ranks and their memory may settle on any NUMA node",
        "--map-by ppr:N:numa --bind-to numa when the GPUs are spread like that; angio plan shows it"));
  }
}

}  // namespace

void check_srun_binding(const Job& job, const Context& context, Complaints& out) {
  static_cast<void>(context);
  Srun(job, out).check();
  for (const auto& line : job.lines)
    twice(job, line, out);
}

void check_mpirun_binding(const Job& job, Complaints& out) {
  for (const auto& line : job.lines)
    if (const auto* mpirun = find_stage(line, {"mpirun"})) mpirun_line(job, line, *mpirun, out);
}

}  // namespace angio::lint
