// What changes the whole node: drivers, GPUs, kernel settings. Right in a set-up script, a surprise in a job.
#include <algorithm>

#include "base/text.hpp"
#include "lint/rules/system_rules.hpp"

namespace angio::lint {
namespace {

using model::Severity;

class HostChanges {
 public:
  HostChanges(const Job& job, Complaints& out) : job_(job), out_(out) {
    job_file_ =
        job.allocation.slurm || job.allocation.other || std::ranges::any_of(job.lines, [](const Line& line) {
          return find_group_launcher(line) != nullptr || find_stage(line, {"srun"}) != nullptr;
        });
  }

  void check() {
    for (const auto& line : job_.lines) {
      for (auto i = line.own; i < line.stages.size(); ++i) {
        openibd(line.stages[i]);
        peermem(line.stages[i]);
        acs(line.stages[i]);
        if (line.stages[i].program == "nvidia-smi") gpu(line.stages[i]);
      }
      kernel(line);
    }
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    auto complaint = complain(rule, *job_.script, place, std::move(message), std::move(advice));
    if (!job_file_) complaint.severity = Severity::kInfo;
    out_.push_back(std::move(complaint));
  }

  void openibd(const Stage& stage) {
    const bool named =
        stage.program == "openibd" || has_word(stage, "openibd") || has_word(stage, "openibd.service");
    if (!named ||
        (!has_word(stage, "restart") && !has_word(stage, "stop") && !has_word(stage, "force-restart")))
      return;
    add("system.driver.openibd-restart", stage.place(),
        "restarting openibd drops all RDMA traffic of the host, other jobs' included",
        "drain the node first; never from a job");
  }

  void peermem(const Stage& stage) {
    const bool loads = stage.program == "modprobe" || stage.program == "insmod" ||
                       stage.program == "systemctl" || stage.program == "service";
    if (!loads || contains(job_.script->text, "nvidia_peermem") ||
        contains(job_.script->text, "nvidia-peermem"))
      return;
    for (const auto* word : stage.words) {
      if (!word->text.starts_with("nv_peer_mem")) continue;
      out_.push_back(
          complain("system.driver.old-peermem", *job_.script, word->place,
                   "nv_peer_mem is the old module of MLNX_OFED; drivers from 470 on bring nvidia_peermem",
                   "modprobe nvidia_peermem; with DMA-BUF (open kernel modules) none is needed"));
      return;
    }
  }

  void acs(const Stage& stage) {
    if (stage.program != "setpci") return;
    for (const auto* word : stage.words) {
      const auto lower = to_lower(word->text);
      if (!contains(lower, "acs") || !contains(lower, "=")) continue;
      add("system.pcie.acs-write", word->place,
          word->text + " turns off the separation of PCIe devices for the whole host until it reboots",
          "at boot, on bare metal only; angio doctor tells whether ACS is in the way");
      return;
    }
  }

  void gpu(const Stage& stage) {
    if (!job_file_) return;
    if (const auto reset = find_option(stage, {"-r", "--gpu-reset"}))
      add("system.gpu.reset", reset->word->place,
          "nvidia-smi " + reset->name + " resets GPUs: it fails or ends what runs on them",
          "in an epilog, with the GPU idle");
    if (const auto mig = find_option(stage, {"-mig", "--multi-instance-gpu"}))
      add("system.gpu.reset", mig->word->place,
          "nvidia-smi -mig changes how the GPU is divided, for every later job too",
          "leave partitions to the administrator");
    for (const std::string_view name :
         {"-lgc", "--lock-gpu-clocks", "-ac", "--applications-clocks", "-pl", "--power-limit", "-lmc"})
      if (const auto clocks = find_option(stage, {name}); clocks && clocks->word->text.starts_with(name))
        add("system.gpu.clocks-in-job", clocks->word->place,
            "nvidia-smi " + std::string(name) + " needs root and stays behind for the jobs that follow",
            "reset it when the job ends (nvidia-smi -rgc, -rac), or set it for the node once");
  }

  // sysctl -w, tee /proc/sys/…, > /sys/…: in a job these need root and outlive it.
  void kernel(const Line& line) {
    if (!job_file_ || said_kernel_) return;
    const auto& stage = line.stages.back();
    const bool sysctl = stage.program == "sysctl" &&
                        (has_word(stage, "-w") || std::ranges::any_of(stage.words, [](const Word* word) {
                           return contains(word->text, "=");
                         }));
    const bool tee = stage.program == "tee" && std::ranges::any_of(stage.words, [](const Word* word) {
                       return is_kernel_file(word->text);
                     });
    if (!sysctl && !tee && !writes_kernel_file(line)) return;
    said_kernel_ = true;
    add("system.kernel.changed-in-job", stage.place(),
        "this changes a kernel setting of the whole node: it needs root and outlives the job",
        "in the node's own configuration (sysctl.d), not in a job");
  }

  static bool is_kernel_file(std::string_view path) {
    return path.starts_with("/proc/sys/") || path.starts_with("/sys/kernel/") ||
           path.starts_with("/sys/bus/") || path.starts_with("/sys/fs/cgroup/") ||
           path.starts_with("/sys/class/") || path.starts_with("/sys/module/");
  }

  // Redirections are no words: the rest of the line tells.
  bool writes_kernel_file(const Line& line) const {
    if (line.stages.back().program != "echo" && line.stages.back().program != "printf") return false;
    const std::string_view text = job_.script->text;
    const auto begin = line.command->place.offset + line.command->place.length;
    if (begin >= text.size()) return false;
    auto rest = text.substr(begin, std::min<std::size_t>(text.find('\n', begin), text.size()) - begin);
    rest = trim(rest);
    if (!rest.starts_with('>')) return false;
    while (rest.starts_with('>') || rest.starts_with(' '))
      rest.remove_prefix(1);
    return is_kernel_file(rest);
  }

  const Job& job_;
  Complaints& out_;
  bool job_file_ = false;
  bool said_kernel_ = false;
};

}  // namespace

void check_host_changes(const Job& job, Complaints& out) {
  HostChanges(job, out).check();
}

}  // namespace angio::lint
