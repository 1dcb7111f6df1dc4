// Locked memory and /dev/shm: the two limits that containers and login shells set too low.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/system_rules.hpp"

namespace angio::lint {
namespace {

// All values of an option that may stand several times.
std::vector<Option> all_options(const Stage& stage, std::string_view name) {
  std::vector<Option> found;
  for (std::size_t i = 1; i < stage.words.size(); ++i) {
    const auto& word = *stage.words[i];
    if (word.text == name && i + 1 < stage.words.size()) {
      found.push_back({&word, stage.words[i + 1], std::string(name), stage.words[i + 1]->text,
                       stage.words[i + 1]->dynamic});
    } else if (word.text.starts_with(name) && word.text.substr(name.size()).starts_with("=")) {
      found.push_back({&word, &word, std::string(name), word.text.substr(name.size() + 1), word.dynamic});
    }
  }
  return found;
}

class Limits {
 public:
  Limits(const Job& job, Complaints& out) : job_(job), out_(out) {}

  void check() {
    for (const auto& line : job_.lines) {
      for (auto i = line.own; i < line.stages.size(); ++i) {
        const auto& stage = line.stages[i];
        if (stage.program == "ulimit") ulimit(stage);
        if (stage.program == "docker" && stage.module == "run") docker(line, stage);
      }
    }
    if (job_.script->kind == FileKind::kYaml) yaml();
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void ulimit(const Stage& stage) {
    for (std::size_t i = 1; i + 1 < stage.words.size(); ++i) {
      const auto& word = *stage.words[i];
      if (word.text != "-l" && word.text != "-Hl" && word.text != "-Sl") continue;
      if (!parse_integer<long>(stage.words[i + 1]->text)) return;
      add("system.memlock.finite", word.place,
          "ulimit -l " + stage.words[i + 1]->text +
              " (KiB) caps the memory that RDMA may lock: ibv_create_qp and ibv_reg_mr fail beyond it",
          "ulimit -l unlimited, with LimitMEMLOCK=infinity for slurmd or containerd");
    }
  }

  void docker(const Line& line, const Stage& stage) {
    const auto limits = all_options(stage, "--ulimit");
    const auto memlock =
        std::ranges::find_if(limits, [](const Option& o) { return o.value.starts_with("memlock"); });
    if (memlock != limits.end()) {
      const auto value =
          std::string_view(memlock->value).substr(std::min<std::size_t>(8, memlock->value.size()));
      const auto number = parse_integer<long>(value.substr(0, value.find(':')));
      if (number && *number > 0)
        add("system.memlock.finite", memlock->word->place,
            "--ulimit " + memlock->value +
                " caps the memory that RDMA may lock: ibv_create_qp and ibv_reg_mr fail beyond it",
            "--ulimit memlock=-1");
    } else if (passes_infiniband(stage) && !may_lock(stage)) {
      add("system.memlock.missing", stage.place(),
          "the container gets /dev/infiniband, but no --ulimit memlock=-1: RDMA may lock the daemon's "
          "default only",
          "--ulimit memlock=-1, or --cap-add=IPC_LOCK");
    }
    shared_memory(line, stage);
  }

  static bool passes_infiniband(const Stage& stage) {
    return std::ranges::any_of(stage.words,
                               [](const Word* word) { return contains(word->text, "/dev/infiniband"); });
  }
  static bool may_lock(const Stage& stage) {
    return find_option(stage, {"--privileged"}) ||
           std::ranges::any_of(all_options(stage, "--cap-add"), [](const Option& o) {
             return o.value == "IPC_LOCK" || o.value == "CAP_IPC_LOCK" || o.value == "ALL" ||
                    o.value == "all";
           });
  }

  // Several ranks in a container with Docker's 64 MB of /dev/shm (docker-run(1), --shm-size).
  void shared_memory(const Line& line, const Stage& stage) {
    const bool gpus =
        find_option(stage, {"--gpus"}) || has_word(stage, "--runtime=nvidia") || has_word(stage, "nvidia");
    const auto ipc = find_option(stage, {"--ipc"});
    const bool own_shm =
        find_option(stage, {"--shm-size"}).has_value() || (ipc && ipc->value == "host") ||
        std::ranges::any_of(stage.words, [](const Word* word) { return contains(word->text, "/dev/shm"); });
    if (!gpus || own_shm || !starts_several(line)) return;
    add("system.shm.docker-default", stage.place(),
        "several ranks in a container with Docker's default /dev/shm of 64 MB: NCCL's shared memory and "
        "DataLoader workers fail in it",
        "--ipc=host, or --shm-size=1g and more");
  }

  bool starts_several(const Line& line) const {
    const auto* launcher = find_group_launcher(line);
    if (launcher != nullptr) {
      const auto count = find_option(*launcher, {"--nproc-per-node"});
      const bool all =
          launcher->program == "deepspeed" || (count && (count->value == "gpu" || count->value == "auto"));
      return all || local_ranks(line, *launcher, job_.allocation).value_or(1) > 1;
    }
    const auto& last = line.stages.back();
    return last.program.ends_with("_perf") && number_option(line, last, {"-g", "--ngpus"}).value_or(1) > 1;
  }

  // Kubernetes and compose, document by document: several GPUs and nothing said about /dev/shm.
  void yaml() {
    const TextLines lines(job_.script->text);
    std::size_t first = 0;
    for (std::size_t i = 0; i <= lines.count(); ++i) {
      if (i < lines.count() && !lines.line(i).starts_with("---")) continue;
      document(lines, first, i);
      first = i + 1;
    }
  }

  void document(const TextLines& lines, std::size_t first, std::size_t end) {
    const std::string_view whole = job_.script->text;
    if (first >= end || first >= lines.count()) return;
    const auto stop = end < lines.count() ? lines.start(end) : whole.size();
    const auto text = whole.substr(lines.start(first), stop - lines.start(first));
    const bool shm = contains(text, "/dev/shm") || contains(text, "hostIPC: true") ||
                     contains(text, "ipc: host") || contains(text, "shm_size") ||
                     contains(text, "medium: Memory") || contains(text, "ipc: \"host\"");
    if (shm || !contains(text, "image:")) return;  // quotas and queues count GPUs too, and run nothing
    for (auto i = first; i < end; ++i) {
      const auto line = trim(lines.line(i));
      if (line.starts_with('#')) continue;
      if (const auto count = gpu_limit(line); count.value_or(0) > 1) {
        add("system.shm.kubernetes-default",
            lines.place(lines.start(i) + lines.line(i).find("nvidia.com/gpu"), 14),
            std::to_string(*count) +
                " GPUs in a container with the runtime's default /dev/shm of 64 MB: NCCL and DataLoader "
                "workers fail in it",
            "an emptyDir volume with medium: Memory, mounted at /dev/shm");
        return;
      }
    }
  }

  // "nvidia.com/gpu: 8"
  static std::optional<long> gpu_limit(std::string_view line) {
    const auto at = line.find("nvidia.com/gpu");
    if (at == std::string_view::npos) return std::nullopt;
    auto value = line.substr(at + 14);
    while (!value.empty() && std::string_view("\"': ").find(value.front()) != std::string_view::npos)
      value.remove_prefix(1);
    return parse_integer<long>(value.substr(0, value.find_first_not_of("0123456789")));
  }

  const Job& job_;
  Complaints& out_;
};

}  // namespace

void check_limits(const Job& job, Complaints& out) {
  Limits(job, out).check();
}

}  // namespace angio::lint
