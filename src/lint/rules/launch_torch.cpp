// torchrun and its older name: options that are missing, ignored, or do not fit the GPUs that are visible.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/rules/launch_rules.hpp"

namespace angio::lint {
namespace {

std::size_t visible_count(std::string_view list) {
  if (list.empty() || list == "-1") return 0;
  return split(list, ',').size();
}

class Torch {
 public:
  Torch(const Job& job, Complaints& out) : job_(job), out_(out) {}

  void check(const Line& line, const Stage& torch) {
    deprecated(torch);
    numa_binding(torch);
    more_ranks_than_gpus(line, torch);
    renumbered(line, torch);
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void deprecated(const Stage& torch) {
    if (torch.module != "torch.distributed.launch") return;
    const auto word = std::ranges::find_if(
        torch.words, [](const Word* w) { return w->text == "torch.distributed.launch"; });
    const auto own_env = find_option(torch, {"--use-env"});
    auto complaint = complain(
        "launch.torch.deprecated-launch", *job_.script, (*word)->place,
        own_env
            ? "torch.distributed.launch is deprecated; with --use-env it is torchrun"
            : "torch.distributed.launch is deprecated; it hands the script --local-rank (--local_rank before "
              "PyTorch 2.0) where torchrun sets LOCAL_RANK",
        own_env ? "torchrun with the same options"
                : "torchrun with the same options; the script then reads LOCAL_RANK");
    if (own_env) complaint.fix = renamed(**word, *own_env->word);
    out_.push_back(std::move(complaint));
  }

  // The module of the same interpreter, without the option that has become the default.
  std::vector<Edit> renamed(const Word& module, const Word& own_env) const {
    std::vector<Edit> edits;
    edits.push_back({module.place.offset, module.place.length, "torch.distributed.run"});
    auto begin = own_env.place.offset;
    const auto& text = job_.script->text;
    if (begin > 0 && begin <= text.size() && text[begin - 1] == ' ') --begin;
    edits.push_back({begin, own_env.place.offset + own_env.place.length - begin, ""});
    return edits;
  }

  void numa_binding(const Stage& torch) {
    static constexpr std::array<std::string_view, 4> kModes{"node", "socket", "exclusive", "core-complex"};
    const auto option = find_option(torch, {"--numa-binding"});
    if (!option || option->dynamic) return;
    if (std::ranges::find(kModes, option->value) == kModes.end()) {
      const auto near = did_you_mean(option->value, kModes);
      add("launch.torch.numa-binding-value", option->word->place,
          shown_option(*option) + " is no mode: node, socket, exclusive or core-complex",
          near ? "did you mean " + *near + "?" : "node fits most jobs");
    }
  }

  static std::string shown_option(const Option& option) { return option.name + "=" + option.value; }

  void more_ranks_than_gpus(const Line& line, const Stage& torch) {
    const auto ranks = number_option(line, torch, {"--nproc-per-node"});
    if (!ranks) return;
    const auto option = find_option(torch, {"--nproc-per-node"});
    if (const auto visible = variable_at(line, "CUDA_VISIBLE_DEVICES")) {
      const auto count = visible_count(*visible);
      if (count == 0 || static_cast<long>(count) >= *ranks || *ranks < 1) return;  // none: it runs on CPUs
      add("launch.ranks.more-than-gpus", option->word->place,
          counted(*ranks, "rank") + " on a host, but CUDA_VISIBLE_DEVICES=" + *visible + " shows " +
              counted(static_cast<long>(count), "GPU"),
          "one rank per visible GPU");
      return;
    }
    const auto gpus = job_.allocation.gpus_per_node;
    if (!gpus || *gpus >= *ranks || *gpus < 1) return;
    add("launch.ranks.more-than-gpus", option->word->place,
        counted(*ranks, "rank") + " on a host, but #SBATCH asks for " + counted(*gpus, "GPU") + " a node",
        "--nproc-per-node=" + std::to_string(*gpus) + ", or ask for more GPUs");
  }

  // CUDA_VISIBLE_DEVICES=4,5,6,7 … train.py --gpus 4,5,6,7: inside they are 0 to 3.
  void renumbered(const Line& line, const Stage& torch) {
    const auto visible = variable_at(line, "CUDA_VISIBLE_DEVICES");
    if (!visible || numbers_of(*visible) == std::nullopt) return;
    const auto count = visible_count(*visible);
    for (const auto& stage : line.stages) {
      if (&stage <= &torch) continue;
      const auto gpus = find_option(stage, {"--gpus", "--gpu-ids", "--gpu_ids", "--devices", "--device-ids"});
      const auto numbers =
          gpus && !gpus->dynamic && contains(gpus->value, ",") ? numbers_of(gpus->value) : std::nullopt;
      if (!numbers || numbers->back() < count) continue;
      add("launch.torch.renumbered-gpus", gpus->word->place,
          gpus->name + " " + gpus->value + ": with CUDA_VISIBLE_DEVICES=" + *visible +
              " the process sees GPUs 0 to " + std::to_string(count - 1) + " only",
          "choose the GPU by LOCAL_RANK, and leave the option out");
    }
  }

  const Job& job_;
  Complaints& out_;
};

}  // namespace

std::optional<long> nodes_of(const Line& line, const Stage& launcher) {
  if (launcher.program == "accelerate") return number_option(line, launcher, {"--num_machines"});
  if (launcher.program == "deepspeed") return number_option(line, launcher, {"--num_nodes"});
  if (launcher.program == "mpirun") return std::nullopt;
  if (!find_option(launcher, {"--nnodes"})) return 1;
  return number_option(line, launcher, {"--nnodes"});
}

bool is_this_host(std::string_view address) {
  if (address.starts_with("[::1]") || address == "::1") return true;
  const auto host = address.substr(0, address.find(':'));
  return host == "localhost" || host == "localhost.localdomain" || host.starts_with("127.");
}

void check_torch(const Job& job, Complaints& out) {
  Torch rules(job, out);
  for (const auto& line : job.lines)
    if (const auto* torch = find_torch(line)) rules.check(line, *torch);
}

}  // namespace angio::lint
