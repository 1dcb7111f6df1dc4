#include "lint/rules/launch_wrappers.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::lint {
namespace {

// How many words of a wrapper come before the program that it starts. From the manuals of the programs:
// numactl(8), taskset(1), srun(1), mpirun(1) of Open MPI 4 and 5 and of Hydra, torchrun --help,
// docker-run(1).
struct Wrapper {
  std::string_view program;
  std::string_view subcommand;  // "" none; words separated by blanks: any of them
  bool values_listed;           // true: `options` take a value, others none; false: `options` are the flags
  std::string_view options;
  std::size_t operands;  // words of its own before the program: docker's image, timeout's duration
};

constexpr std::array kWrappers{
    Wrapper{"numactl", "", false,
            "-l --localalloc --local -s --show -H --hardware -a --all -b --balancing --no-balancing -V "
            "--verbose --version "
            "--touch -t --huge -d --dump -D --dump-nodes --strict",
            0},
    Wrapper{"taskset", "", true, "", 1},
    Wrapper{"chrt", "", true, "-T -P -D", 1},
    Wrapper{"nice", "", true, "-n", 0},
    Wrapper{"ionice", "", true, "-c -n -p", 0},
    Wrapper{"timeout", "", true, "-k -s", 1},
    Wrapper{"stdbuf", "", true, "-i -o -e", 0},
    Wrapper{"nohup", "", true, "", 0},
    Wrapper{"setsid", "", true, "", 0},
    Wrapper{"exec", "", true, "-a", 0},
    Wrapper{"time", "", true, "-f -o", 0},
    Wrapper{"env", "", true, "-u -C -S", 0},
    Wrapper{"watch", "", true, "-n --interval", 0},
    Wrapper{"sudo", "", true, "-u -g -C -h -p", 0},
    Wrapper{
        "srun", "", false,
        "-l --label -u --unbuffered --exact --overlap -s --oversubscribe --exclusive -k --no-kill -K "
        "--kill-on-bad-exit -Q --quiet -v --verbose --pty --multi-prog --contiguous -X --disable-status "
        "--spread-job --use-min-nodes -E --preserve-env --container-writable --container-readonly "
        "--container-remap-root --no-container-remap-root --no-container-mount-home --container-mount-home "
        "--no-container-entrypoint --container-entrypoint -I --immediate -H --hold --propagate --whole -O "
        "--overcommit --external-launcher --interactive --wait-all-nodes --reboot",
        0},
    Wrapper{
        "mpirun", "", true,
        "-np -n -c -N -npernode --npernode -npersocket --npersocket --map-by -map-by --bind-to -bind-to "
        "--rank-by "
        "-rank-by -x --mca -mca --gmca -gmca --pmixmca --prtemca -H -host --host -hosts --hostfile -hostfile "
        "--machinefile -machinefile -f -ppn -perhost -wdir --wdir -wd --output-filename -output-filename "
        "--output "
        "--prefix --timeout -env -genv -genvlist -envlist --tune --app --display --cpu-set --cpu-list "
        "--rankfile "
        "-rf --xterm --dvm --pset -iface -bootstrap --np --n --personality",
        0},
    Wrapper{"accelerate", "launch", false,
            "--multi_gpu --cpu --use_deepspeed --use_fsdp --use_megatron_lm --debug --no_python -m --module "
            "--quiet -q "
            "--use_xpu --tpu --same_network --enable_cpu_affinity --ipex --dynamo_use_fullgraph "
            "--dynamo_use_dynamic",
            0},
    Wrapper{"deepspeed", "", false,
            "--no_python --module --no_local_rank --no_ssh --no_ssh_check --force_multi --save_pid "
            "--enable_each_rank_log --bind_cores_to_rank --elastic_training --autotuning",
            0},
    Wrapper{"docker", "run exec", true,
            "-e --env --env-file -v --volume --mount --name --gpus --runtime --network --net --shm-size "
            "--ulimit --ipc "
            "--device --cap-add --security-opt -w --workdir -u --user --cpuset-cpus --cpuset-mems --cpus -m "
            "--memory "
            "-p --publish --entrypoint --hostname -h --label --add-host --platform --pull --restart --tmpfs "
            "--sysctl "
            "--group-add --pid --userns --log-driver --log-opt --cidfile --dns --memory-swap --annotation "
            "--expose",
            1},
    Wrapper{"singularity", "exec run", true,
            "-B --bind --bind-path --env --env-file --home -H --pwd -W --workdir --mount --overlay -o --app "
            "--network",
            1},
    Wrapper{"nsys", "profile launch", false, "-h --help --ftrace-keep-user-config", 0},
    Wrapper{"ncu", "", true, "-o -k -c -s --set --section --metrics --target-processes --kernel-name", 0},
    Wrapper{"perf", "record stat", true, "-e -F -c -o -p -t -C --call-graph -m -D", 0},
    Wrapper{"strace", "", true, "-e -o -p -s -u -E -a -O -S -P -X", 0},
    Wrapper{"ssh", "", true, "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", 1},
    Wrapper{"pdsh", "", true, "-w -x -R -l -t -u -f -g", 0},
    Wrapper{"clush", "", true, "-w -x -g -f -l -t -u -o", 0},
    Wrapper{"conda", "run", true, "-n -p --name --prefix", 0},
    Wrapper{"uv", "run", true, "--with --python --extra --project", 0},
};

// What is one program under several names.
std::string_view canonical(std::string_view name) {
  if (name == "mpiexec" || name == "orterun" || name == "prterun" || name == "mpiexec.hydra" ||
      name == "prun")
    return "mpirun";
  if (name == "podman" || name == "nerdctl" || name == "nvidia-docker") return "docker";
  if (name == "apptainer") return "singularity";
  if (name.starts_with("python") && name.find_first_not_of("0123456789.", 6) == std::string_view::npos)
    return "python";
  return name;
}

std::string base_name(std::string_view path) {
  const auto slash = path.find_last_of('/');
  return std::string(canonical(slash == std::string_view::npos ? path : path.substr(slash + 1)));
}

// Words that an option takes from the line after its own.
std::size_t values_of(const Wrapper& wrapper, std::string_view word) {
  if (word.starts_with("--") && word.find('=') != std::string_view::npos) return 0;
  const bool in_list = listed(wrapper.options, word);
  if (wrapper.values_listed) {
    if (word == "--mca" || word == "-mca" || word == "--gmca" || word == "-gmca" || word == "--pmixmca" ||
        word == "--prtemca" || word == "-genv" || word == "-env")
      return 2;
    return in_list ? 1 : 0;
  }
  if (in_list || listed(wrapper.options, spelled(word))) return 0;
  if (word.starts_with("--")) return 1;
  return word.size() > 2 ? 0 : 1;  // -N2 carries its value
}

// A word that no program is called by: what an option unknown to us left behind.
bool no_program(std::string_view word) {
  return word.empty() || word.find_first_not_of("0123456789") == std::string_view::npos ||
         word.find_first_of("=,") != std::string_view::npos;
}

bool starts_others(std::string_view program) {
  return program == "env" || program == "srun" || program == "mpirun" || program == "docker" ||
         program == "singularity";
}

const Wrapper* find_wrapper(std::string_view program, std::string_view next) {
  for (const auto& wrapper : kWrappers)
    if (wrapper.program == program && (wrapper.subcommand.empty() || listed(wrapper.subcommand, next)))
      return &wrapper;
  return nullptr;
}

class Splitter {
 public:
  explicit Splitter(const std::vector<Word>& words) : words_(words) {}

  std::vector<Stage> split() {
    while (at_ < words_.size() && stages_.size() < kMaxStages)
      take_stage();
    return std::move(stages_);
  }

 private:
  static constexpr std::size_t kMaxStages = 16;  // of hostile input; real lines have five at most

  void take_stage() {
    Stage stage;
    stage.program = base_name(words_[at_].text);
    stage.words.push_back(&words_[at_++]);
    if (stage.program == "python") {
      take_python(stage);
    } else if (stage.program == "torchrun") {
      take_torch(stage);
    } else if (const auto* wrapper = find_wrapper(stage.program, next())) {
      if (!wrapper->subcommand.empty()) take_subcommand(stage);
      take_options(stage, *wrapper);
    } else {
      take_rest(stage);
    }
    stages_.push_back(std::move(stage));
  }

  [[nodiscard]] std::string_view next() const {
    return at_ < words_.size() ? std::string_view(words_[at_].text) : std::string_view();
  }
  void take(Stage& stage) { stage.words.push_back(&words_[at_++]); }
  void take_rest(Stage& stage) {
    while (at_ < words_.size())
      take(stage);
  }
  void take_subcommand(Stage& stage) {
    stage.module = words_[at_].text;
    take(stage);
  }

  void take_options(Stage& stage, const Wrapper& wrapper) {
    auto operands = wrapper.operands;
    if (wrapper.program == "taskset" && lists_a_process(stage)) return take_rest(stage);
    while (at_ < words_.size()) {
      const std::string_view word = words_[at_].text;
      if (word == "--") {
        ++at_;
        if (operands == 0) return;
      } else if (word.size() > 1 && word.front() == '-') {
        take_option(stage, wrapper);
      } else if (operands > 0) {
        --operands;
        take(stage);
      } else if (starts_others(wrapper.program) && no_program(word)) {
        take(stage);
      } else {
        return;
      }
    }
  }

  void take_option(Stage& stage, const Wrapper& wrapper) {
    auto values = values_of(wrapper, words_[at_].text);
    take(stage);
    for (; values > 0 && at_ < words_.size(); --values)
      take(stage);
  }

  // taskset -p looks at a running process and starts none.
  [[nodiscard]] bool lists_a_process(const Stage& stage) const {
    if (stage.program != "taskset") return false;
    for (auto i = at_; i < words_.size() && words_[i].text.starts_with('-'); ++i)
      if (words_[i].text == "--pid" || (!words_[i].text.starts_with("--") && contains(words_[i].text, "p")))
        return true;
    return false;
  }

  void take_python(Stage& stage) {
    while (next().starts_with('-') && next() != "-m" && next() != "-c" && next() != "-") {
      const bool value = next() == "-X" || next() == "-W";
      take(stage);
      if (value && at_ < words_.size()) take(stage);
    }
    if (next() != "-m") return take_rest(stage);
    take(stage);
    if (at_ == words_.size()) return;
    stage.module = words_[at_].text;
    take(stage);
    if (stage.module == "torch.distributed.launch" || stage.module == "torch.distributed.run")
      return take_torch(stage);
    if (stage.module == "accelerate.commands.launch" || stage.module == "deepspeed.launcher.runner")
      return take_module(stage);
    take_rest(stage);
  }

  // The same launchers without their console scripts.
  void take_module(Stage& stage) {
    const bool accelerate = stage.module.starts_with("accelerate");
    stage.program = accelerate ? "accelerate" : "deepspeed";
    stage.module = accelerate ? "launch" : "";
    if (const auto* wrapper = find_wrapper(stage.program, stage.module)) take_options(stage, *wrapper);
  }

  // The launcher's own options; the training script and its arguments are a stage of their own.
  void take_torch(Stage& stage) {
    static constexpr Wrapper kTorch{"torchrun", "", false,
                                    "--standalone --no-python -m --module --run-path --use-env --no-use-env "
                                    "--virtual-local-rank -h --help",
                                    0};
    take_options(stage, kTorch);
  }

  const std::vector<Word>& words_;
  std::size_t at_ = 0;
  std::vector<Stage> stages_;
};

}  // namespace

bool listed(std::string_view list, std::string_view word) {
  for (const auto item : split_words(list))
    if (item == word) return true;
  return false;
}

std::string spelled(std::string_view name) {
  std::string text(name);
  if (text.starts_with("--")) std::replace(text.begin(), text.end(), '_', '-');
  return text;
}

std::vector<Stage> stages_of(const std::vector<Word>& words) {
  return Splitter(words).split();
}

}  // namespace angio::lint
