// Launchers against what the batch system was asked for: nodes, tasks a node, the node the script runs on.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {
namespace {

class Against {
 public:
  Against(const Job& job, Complaints& out) : job_(job), out_(out) {}

  void check() {
    leaves_the_node_ = std::ranges::any_of(job_.lines, [](const Line& line) {
      return find_stage(line, {"srun", "ssh", "pdsh", "clush", "mpirun", "parallel-ssh", "pssh", "parallel",
                               "sbatch"}) != nullptr;
    });
    for (const auto& line : job_.lines) {
      if (const auto* srun = find_stage(line, {"srun"})) more_tasks_than_gpus(line, *srun);
      const auto* launcher = find_group_launcher(line);
      if (launcher == nullptr || launcher->program == "mpirun") continue;
      nodes_differ(line, *launcher);
      lone_nodes(line, *launcher);
      launcher_per_task(line, *launcher);
      only_first_node(line, *launcher);
      if (launcher->program == "accelerate") total_processes(line, *launcher);
    }
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void nodes_differ(const Line& line, const Stage& launcher) {
    const auto* srun = find_stage(line, {"srun"});
    if (srun == nullptr) return;
    const auto own = number_option(line, *srun, {"--nodes", "-N"});
    if (find_option(*srun, {"--nodes", "-N"}) && !own) return;
    const auto nodes = own ? own : job_.allocation.nodes;
    const auto count = nodes_of(line, launcher);
    const auto option = find_option(launcher, {"--nnodes", "--num_machines"});
    if (!nodes || !count || !option || *nodes == *count) return;
    if (find_option(*srun, {"-w", "--nodelist", "--relative", "-r"})) return;
    add("launch.slurm.nodes-differ", option->word->place,
        option->name + " " + option->value + ", but " + (own ? "srun" : "#SBATCH") + " starts it on " +
            counted(*nodes, "node"),
        option->name + "=$SLURM_NNODES");
  }

  // srun starts torchrun on several nodes, and torchrun without --nnodes knows one.
  void lone_nodes(const Line& line, const Stage& launcher) {
    const auto* srun = find_stage(line, {"srun"});
    if (srun == nullptr || &launcher != find_torch(line)) return;
    if (find_option(launcher, {"--nnodes", "--standalone"}) || sets("PET_NNODES")) return;
    const auto own = number_option(line, *srun, {"--nodes", "-N"});
    if (find_option(*srun, {"--nodes", "-N"}) && !own) return;
    if (find_option(*srun, {"-w", "--nodelist", "--relative", "-r"})) return;
    const auto tasks = number_option(line, *srun, {"--ntasks", "-n"});
    const auto nodes = own ? own : job_.allocation.nodes;
    if (nodes.value_or(1) < 2 || (tasks ? tasks : job_.allocation.tasks) == 1) return;
    add("launch.slurm.lone-nodes", launcher.place(),
        launcher.words.front()->text + " without --nnodes is for one node, and srun starts it on " +
            std::to_string(*nodes) + ": each trains alone",
        "--nnodes=$SLURM_NNODES --rdzv-backend=c10d --rdzv-endpoint=NODE0:29500");
  }

  [[nodiscard]] bool sets(std::string_view name) const {
    return std::ranges::any_of(job_.script->settings, [&](const Setting& s) { return s.name == name; });
  }

  // srun python: each task is a rank.
  void more_tasks_than_gpus(const Line& line, const Stage& srun) {
    const auto* python = find_stage(line, {"python"});
    if (python == nullptr || python < &srun || find_group_launcher(line) != nullptr || !concerns_nccl(job_))
      return;
    const auto own = number_option(line, srun, {"--ntasks-per-node"});
    const auto all = find_option(srun, {"--ntasks-per-node", "--ntasks", "-n", "--nodes", "-N"});
    const auto tasks = own ? own : all ? per_node(line, srun) : job_.allocation.tasks_per_node;
    const auto gpus = job_.allocation.gpus_per_node;
    if (find_option(srun, {"--gres", "--gpus", "-G", "--gpus-per-node", "--gpus-per-task"})) return;
    if (!tasks || !gpus || *gpus < 1 || *tasks <= *gpus) return;
    add("launch.ranks.more-than-gpus", srun.place(),
        counted(*tasks, "task") + " on a node, but #SBATCH asks for " + counted(*gpus, "GPU") + " a node",
        "--ntasks-per-node=" + std::to_string(*gpus) + ", or ask for more GPUs");
  }

  // srun starts the launcher once a task, and the launcher starts the ranks of the whole node.
  void launcher_per_task(const Line& line, const Stage& launcher) {
    const auto* srun = find_stage(line, {"srun"});
    if (srun == nullptr) return;
    const auto own = number_option(line, *srun, {"--ntasks-per-node"});
    const auto tasks = own ? own
                       : find_option(*srun, {"--ntasks-per-node", "--ntasks", "-n"})
                           ? per_node(line, *srun)
                           : job_.allocation.tasks_per_node;
    if (tasks.value_or(1) < 2) return;
    const auto ranks = local_ranks(line, launcher, job_.allocation);
    const auto count = find_option(launcher, {"--nproc-per-node", "--num_gpus", "--num_processes"});
    const bool many =
        ranks ? *ranks > 1 : count && (count->value == "gpu" || count->value == "auto" || count->dynamic);
    if (!many && launcher.program != "deepspeed") return;
    const std::string each = ranks ? std::to_string(*ranks) : "all";
    add("launch.slurm.launcher-per-task", launcher.place(),
        launcher.words.front()->text + " starts " + each + " ranks, and srun starts it " +
            std::to_string(*tasks) + " times on each node" +
            (ranks ? ": " + std::to_string(*ranks * *tasks) + " ranks a node" : ""),
        "one launcher a node: srun --ntasks-per-node=1; or no launcher and one task a rank");
  }

  std::optional<long> per_node(const Line& line, const Stage& srun) const {
    const auto tasks = number_option(line, srun, {"--ntasks", "-n"});
    const auto own = number_option(line, srun, {"--nodes", "-N"});
    const auto nodes = own ? own : job_.allocation.nodes;
    return tasks && nodes && *nodes > 0 && *tasks % *nodes == 0 ? std::optional(*tasks / *nodes)
                                                                : std::nullopt;
  }

  // A batch script itself runs on the first node only.
  void only_first_node(const Line& line, const Stage& launcher) {
    if (job_.allocation.nodes.value_or(1) < 2 || launcher.program == "deepspeed") return;
    if (leaves_the_node_) return;
    const auto nodes = find_option(launcher, {"--nnodes", "--num_machines"});
    const auto count = nodes ? number_of(line, nodes->value) : std::optional<long>(1);
    if (count && *count < 2) {
      add("launch.slurm.idle-nodes", launcher.place(),
          "#SBATCH asks for " + counted(*job_.allocation.nodes, "node") +
              ", but this runs on the first one only",
          "srun with --nnodes=$SLURM_NNODES, or --nodes=1");
      return;
    }
    static_cast<void>(line);
    add("launch.slurm.only-first-node", launcher.place(),
        "without srun this starts on the first of " + counted(*job_.allocation.nodes, "node") +
            " only, and waits there for the others",
        "srun --ntasks-per-node=1 " + launcher.words.front()->text + " …");
  }

  // accelerate counts the processes of all machines.
  void total_processes(const Line& line, const Stage& launcher) {
    const auto all = number_option(line, launcher, {"--num_processes", "-n"});
    const auto machines = nodes_of(line, launcher);
    const auto gpus = job_.allocation.gpus_per_node;
    if (!all || !gpus || machines.value_or(1) < 2 || *all != *gpus) return;
    const auto option = find_option(launcher, {"--num_processes", "-n"});
    add("launch.accelerate.total-processes", option->word->place,
        "--num_processes " + std::to_string(*all) + " counts all " + counted(*machines, "machine") + "; " +
            std::to_string(*gpus * *machines) + " would use every GPU asked for",
        "--num_processes=" + std::to_string(*gpus * *machines));
  }

  const Job& job_;
  Complaints& out_;
  bool leaves_the_node_ = false;  // some line starts things elsewhere
};

}  // namespace

void check_allocation(const Job& job, Complaints& out) {
  Against(job, out).check();
}

}  // namespace angio::lint
