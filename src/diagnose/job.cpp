#include "diagnose/job.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "base/text.hpp"

namespace angio::diagnose {
namespace {

using model::Machine;
using model::Process;

std::optional<std::uint32_t> number_of(const Process& process, std::string_view name) {
  const auto setting = std::ranges::find(process.settings, name, &model::Setting::name);
  if (setting == process.settings.end()) return std::nullopt;
  return parse_integer<std::uint32_t>(setting->value);
}

bool is_front(const Process& process) {
  // Programs that start another and wait: the process's own name, field 2 of stat.
  constexpr std::array<std::string_view, 13> kNames{"sh",      "bash",   "dash",     "zsh", "ksh",
                                                    "fish",    "tcsh",   "nsys",     "ncu", "perf",
                                                    "timeout", "strace", "catatonit"};
  const std::string_view program = std::string_view(process.command).substr(0, process.command.find(' '));
  const std::string_view name = program.substr(program.rfind('/') + 1);
  const std::string_view plain = name.starts_with('-') ? name.substr(1) : name;  // a login shell
  return process.gpus.empty() && process.libraries.empty() &&
         std::ranges::find(kNames, plain) != kNames.end();
}

class Family {
 public:
  explicit Family(const Machine& machine) : processes_(machine.processes) {
    members_.resize(processes_.size());
    for (std::size_t i = 0; i < processes_.size(); ++i) {
      by_id_[processes_[i].id] = i;
      members_[i].process = i;
      members_[i].rank = rank_of(processes_[i]);
      members_[i].role = members_[i].rank ? Role::kRank : Role::kProcess;
    }
  }

  std::vector<JobMember> run() {
    for (JobMember& member : members_) {
      if (is_front(processes_[member.process])) member.role = Role::kWrapper;
    }
    for (const JobMember& member : members_)
      find_launcher(member);
    for (JobMember& member : members_)
      find_worker(member);
    const auto order = [&](const JobMember& member) {
      const auto rank = member.rank ? member.rank->number : ~std::uint32_t{0};
      return std::tuple(member.role == Role::kLauncher || member.role == Role::kWrapper, rank,
                        processes_[member.process].id);
    };
    std::ranges::sort(members_, {}, order);
    return std::move(members_);
  }

 private:
  [[nodiscard]] JobMember* parent_of(const JobMember& member) {
    const std::uint32_t* id = processes_[member.process].parent.get();
    const auto found = id != nullptr ? by_id_.find(*id) : by_id_.end();
    if (found == by_id_.end() || found->second == member.process) return nullptr;
    return &members_[found->second];
  }

  // torchrun below srun has a rank of srun, and children with ranks of its own.
  void find_launcher(const JobMember& member) {
    JobMember* parent = parent_of(member);
    if (parent == nullptr || !member.rank || parent->role == Role::kWrapper) return;
    if (parent->rank != member.rank) parent->role = Role::kLauncher;
  }

  void find_worker(JobMember& member) {
    if (member.role != Role::kRank && member.role != Role::kProcess) return;
    JobMember* parent = parent_of(member);
    // Workers of workers belong to the same rank; chains of a hostile snapshot end here.
    constexpr std::size_t kMaxDepth = 16;
    for (std::size_t depth = 0; parent != nullptr && depth < kMaxDepth; ++depth) {
      if (parent->role == Role::kWrapper || parent->role == Role::kLauncher) return;
      const bool own_gpu = !member.rank && !processes_[member.process].gpus.empty();
      if (parent->rank != member.rank || own_gpu) return;
      JobMember* above = parent_of(*parent);
      const bool top = above == nullptr || above->role == Role::kWrapper || above->role == Role::kLauncher ||
                       above->rank != parent->rank;
      if (top) {
        member.role = Role::kWorker;
        parent->workers.push_back(member.process);
        return;
      }
      parent = above;
    }
  }

  const std::vector<Process>& processes_;
  std::map<std::uint32_t, std::size_t> by_id_;
  std::vector<JobMember> members_;
};

struct Purpose {
  std::string_view begin;  // of the name
  std::string_view words;
};

// Names that the libraries give their threads; the kernel keeps 15 characters. NCCL (src/proxy.cc,
// net_socket.cc, net_ib.cc: ncclSetThreadName) does so only with NCCL_SET_THREAD_NAME=1. PyTorch from 2.6
// (c10::setThreadName; torch/utils/data/_utils). cuda-EvtHandlr: the CUDA driver. The longest match counts.
constexpr std::array<Purpose, 18> kPurposes{{
    {"NCCL Progress", "NCCL proxy"},
    {"NCCL Service", "NCCL service"},
    {"NCCL UDS", "NCCL service"},
    {"NCCL Sock", "NCCL socket"},
    {"NCCL IbAsync", "NCCL InfiniBand events"},
    {"NCCL", "NCCL helper"},
    {"cuda-EvtHandlr", "CUDA events"},
    {"cuda", "CUDA driver"},
    {"pt_main_thread", "PyTorch main"},
    {"pt_data_worker", "data loader worker"},
    {"pt_data_pin", "pins memory for the data loader"},
    {"pt_autograd", "PyTorch autograd"},
    {"pt_nccl", "PyTorch NCCL watchdog"},
    {"pt_gloo", "Gloo"},
    {"pt_tcpstore", "PyTorch TCPStore"},
    {"pt_", "PyTorch helper"},
    {"gloo", "Gloo"},
    {"OMP", "OpenMP"},
}};

}  // namespace

std::optional<RankName> rank_of(const Process& process) {
  constexpr std::array<std::pair<const char*, const char*>, 4> kNames{{
      {"RANK", "LOCAL_RANK"},
      {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
      {"PMI_RANK", "MPI_LOCALRANKID"},
      {"SLURM_PROCID", "SLURM_LOCALID"},
  }};
  for (const auto& [global, local] : kNames) {
    if (const auto number = number_of(process, global))
      return RankName{*number, number_of(process, local), global};
  }
  if (const auto local = number_of(process, "LOCAL_RANK")) return RankName{*local, local, "LOCAL_RANK"};
  return std::nullopt;
}

std::vector<JobMember> job_members(const Machine& machine) {
  return Family(machine).run();
}

bool has_stray_context(const Process& process) {
  const auto rank = rank_of(process);
  if (process.gpus.size() < 2 || !rank || rank->local.value_or(rank->number) == 0) return false;
  return std::ranges::find(process.gpus, 0U) != process.gpus.end();
}

std::string_view thread_purpose(std::string_view name) {
  const Purpose* best = nullptr;
  for (const Purpose& purpose : kPurposes) {
    if (name.starts_with(purpose.begin) && (best == nullptr || purpose.begin.size() > best->begin.size()))
      best = &purpose;
  }
  return best != nullptr ? best->words : std::string_view();
}

}  // namespace angio::diagnose
