#include "launch/bind.hpp"

#include <fmt/format.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <bit>
#include <cerrno>
#include <climits>

namespace angio::launch {
namespace {

// include/uapi/linux/mempolicy.h, since Linux 5.15; older headers lack it.
constexpr int kPreferredMany = 5;
// Above the kernel's MAX_NUMNODES (1024 on x86), and small enough that get_mempolicy clears the rest.
constexpr std::size_t kNodeBits = 4096;
constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
using NodeMask = std::array<unsigned long, kNodeBits / kWordBits>;

NodeMask mask_of(const CpuSet& nodes) {
  NodeMask mask{};
  for (const std::uint32_t node : nodes.members()) {
    if (node < kNodeBits) mask[node / kWordBits] |= 1UL << (node % kWordBits);
  }
  return mask;
}

CpuSet set_of(const NodeMask& mask) {
  CpuSet nodes;
  for (std::size_t word = 0; word < mask.size(); ++word) {
    for (unsigned long rest = mask[word]; rest != 0; rest &= rest - 1)
      nodes.insert(
          static_cast<std::uint32_t>(word * kWordBits + static_cast<std::size_t>(std::countr_zero(rest))));
  }
  return nodes;
}

// 0 or errno. Raw: libnuma is no dependency, and glibc has no wrapper.
int set_policy(int mode, const CpuSet& nodes) {
  const NodeMask mask = mask_of(nodes);
  // The kernel takes one bit less than it is told.
  const long result = nodes.empty() ? syscall(SYS_set_mempolicy, mode, nullptr, 0UL)
                                    : syscall(SYS_set_mempolicy, mode, mask.data(), kNodeBits + 1);
  return result == 0 ? 0 : errno;
}

std::string holds_now() {
  const auto cpus = read_affinity();
  return cpus ? "it may run on CPUs " + to_list(*cpus) : "its CPUs cannot be read";
}

std::string cpu_refusal(const CpuSet& wanted, int error) {
  std::string cause;
  if (error == EINVAL) cause = ": its cpuset or the online CPUs hold none of them";
  if (error == EPERM || error == ENOSYS) cause = ": the container's seccomp profile";
  return fmt::format("sched_setaffinity to CPUs {} refused ({}){}; {}", to_list(wanted), errno_name(error),
                     cause, holds_now());
}

BindPart bind_cpus(const CpuSet& wanted) {
  if (wanted.empty()) return {};
  if (const int error = set_affinity(0, wanted); error != 0)
    return {BindState::kRefused, cpu_refusal(wanted, error)};
  const auto made = read_affinity();
  if (!made) return {BindState::kReduced, made.error().message};
  if (*made == wanted) return {BindState::kDone, {}};
  return {BindState::kReduced,
          fmt::format("CPUs {} were asked for, the kernel allows {}: the cpuset is smaller", to_list(wanted),
                      to_list(*made))};
}

struct Policy {
  int mode = MPOL_DEFAULT;
  CpuSet nodes;
};

Policy policy_of(const model::RankPlacement& placement) {
  const CpuSet& nodes = placement.memory_nodes;
  switch (placement.memory) {
    case model::MemoryPolicy::kPreferred:
      return {nodes.size() > 1 ? kPreferredMany : MPOL_PREFERRED, nodes};
    case model::MemoryPolicy::kBind:
      return {MPOL_BIND, nodes};
    case model::MemoryPolicy::kInterleave:
      return {MPOL_INTERLEAVE, nodes};
    case model::MemoryPolicy::kLocal:
      return {MPOL_LOCAL, {}};
    case model::MemoryPolicy::kNone:
      break;
  }
  return {};
}

std::string policy_refusal(const Policy& policy, int error, bool cpus_bound) {
  std::string cause;
  if (error == EPERM || error == ENOSYS)
    cause = ": the container's seccomp profile";
  else if (error == EINVAL)
    cause = fmt::format(": the cpuset allows no memory of node {}", to_list(policy.nodes));
  return fmt::format("set_mempolicy refused ({}){}; {}memory follows first touch", errno_name(error), cause,
                     cpus_bound ? "CPUs are bound, " : "");
}

// Before Linux 5.15 one node only can be preferred: the first.
bool is_too_old(const Policy& policy, int error) {
  return policy.mode == kPreferredMany && error == EINVAL;
}

BindPart confirm_memory(const Policy& policy) {
  const auto made = read_memory_policy();
  if (!made) return {BindState::kReduced, made.error().message};
  // Before Linux 5.14 "local" is kept as "preferred" without a node.
  const bool local = policy.mode == MPOL_LOCAL && made->mode == MPOL_PREFERRED;
  if ((local || made->mode == policy.mode) && made->nodes == policy.nodes) return {BindState::kDone, {}};
  return {BindState::kReduced,
          fmt::format("memory of nodes {} was asked for, the kernel made it policy {} on nodes {}",
                      to_list(policy.nodes), made->mode, to_list(made->nodes))};
}

BindPart bind_memory(const model::RankPlacement& placement, bool cpus_bound) {
  Policy policy = policy_of(placement);
  const bool needs_nodes = policy.mode != MPOL_DEFAULT && policy.mode != MPOL_LOCAL;
  if (policy.mode == MPOL_DEFAULT || (needs_nodes && policy.nodes.empty())) return {};
  int error = set_policy(policy.mode, policy.nodes);
  if (is_too_old(policy, error)) {
    CpuSet first;
    first.insert(*policy.nodes.first());
    const CpuSet all = policy.nodes;
    policy = {MPOL_PREFERRED, std::move(first)};
    error = set_policy(policy.mode, policy.nodes);
    if (error == 0) {
      return {BindState::kReduced, fmt::format("this kernel can prefer one node only: {} of {}",
                                               to_list(policy.nodes), to_list(all))};
    }
  }
  if (error != 0) return {BindState::kRefused, policy_refusal(policy, error, cpus_bound)};
  return confirm_memory(policy);
}

bool is_short(const BindPart& part) {
  return part.state == BindState::kReduced || part.state == BindState::kRefused;
}

}  // namespace

bool BindOutcome::complete() const {
  return !is_short(cpus) && !is_short(memory);
}

BindOutcome apply_placement(const model::RankPlacement& placement) {
  BindOutcome outcome;
  outcome.cpus = bind_cpus(placement.cpus);
  outcome.memory = bind_memory(placement, outcome.cpus.state == BindState::kDone);
  return outcome;
}

Result<MemoryBinding> read_memory_policy() {
  MemoryBinding binding;
  NodeMask mask{};
  if (syscall(SYS_get_mempolicy, &binding.mode, mask.data(), kNodeBits, nullptr, 0UL) != 0) {
    return fail(ErrorCode::kDenied,
                "get_mempolicy refused (" + errno_name(errno) + "): the memory policy cannot be confirmed");
  }
  binding.nodes = set_of(mask);
  return binding;
}

Result<CpuSet> read_allowed_memory() {
  NodeMask mask{};
  if (syscall(SYS_get_mempolicy, nullptr, mask.data(), kNodeBits, nullptr, MPOL_F_MEMS_ALLOWED) != 0)
    return fail(ErrorCode::kDenied, "get_mempolicy refused (" + errno_name(errno) + ")");
  return set_of(mask);
}

}  // namespace angio::launch
