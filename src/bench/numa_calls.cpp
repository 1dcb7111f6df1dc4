#include "bench/numa_calls.hpp"

#include <fmt/format.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace angio::bench {
namespace {

// include/uapi/linux/mempolicy.h
constexpr int kMpolBind = 2;

std::unexpected<Error> refused(const char* call, int error) {
  const ErrorCode code = error == EPERM || error == EACCES ? ErrorCode::kDenied : ErrorCode::kIo;
  const char* hint = error == EPERM    ? "a container's seccomp profile refuses it; CAP_SYS_NICE allows it"
                     : error == ENOSYS ? "the kernel was built without NUMA"
                                       : "";
  return fail(code, fmt::format("{}: {}", call, errno_text(error)), hint);
}

std::vector<unsigned long> mask_of(const CpuSet& set) {
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> words(CpuSet::kMaxCpu / kBits + 1);
  for (const std::uint32_t each : set.members())
    words[each / kBits] |= 1UL << (each % kBits);
  return words;
}

}  // namespace

Result<void> bind_range(std::byte* start, std::size_t size, NumaId node) {
  // The kernel takes masks of at most a page: 1024 nodes are more than it can have (NODES_SHIFT is 10).
  constexpr std::size_t kNodes = 1024;
  constexpr std::size_t kBits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(kNodes / kBits);
  if (node.value >= kNodes) return refused("mbind", EINVAL);
  mask[node.value / kBits] |= 1UL << (node.value % kBits);
  if (syscall(SYS_mbind, start, size, kMpolBind, mask.data(), kNodes + 1, 0) == 0) return {};
  if (errno == EINVAL) {
    return fail(ErrorCode::kDenied,
                fmt::format("mbind: node {} is not among the memory nodes that this process may use (EINVAL)",
                            node.value),
                "see Mems_allowed_list in /proc/self/status");
  }
  return refused("mbind", errno);
}

Result<std::vector<int>> nodes_of_pages(std::span<const std::byte* const> pages) {
  std::vector<int> nodes(pages.size(), -ENOENT);
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    return refused("move_pages", errno);
  }
  return nodes;
}

Result<void> bind_this_thread(const CpuSet& cpus) {
  const std::vector<unsigned long> mask = mask_of(cpus);
  if (syscall(SYS_sched_setaffinity, 0, mask.size() * sizeof mask[0], mask.data()) == 0) return {};
  if (errno == EINVAL) {
    return fail(ErrorCode::kDenied, fmt::format("CPU {} is not allowed for this process", to_list(cpus)),
                "see Cpus_allowed_list in /proc/self/status");
  }
  return refused("sched_setaffinity", errno);
}

Result<void> bind_this_thread(std::uint32_t cpu) {
  CpuSet one;
  one.insert(cpu);
  return bind_this_thread(one);
}

Result<CpuSet> affinity_of_this_thread() {
  std::vector<unsigned long> mask = mask_of({});
  const long bytes = syscall(SYS_sched_getaffinity, 0, mask.size() * sizeof mask[0], mask.data());
  if (bytes < 0) return refused("sched_getaffinity", errno);
  constexpr std::uint32_t kBits = 8 * sizeof(unsigned long);
  CpuSet cpus;
  for (std::uint32_t cpu = 0; cpu < static_cast<std::uint32_t>(bytes) * 8; ++cpu) {
    if ((mask[cpu / kBits] >> (cpu % kBits) & 1U) != 0) cpus.insert(cpu);
  }
  return cpus;
}

KeptAffinity::KeptAffinity() {
  if (auto now = affinity_of_this_thread()) before_ = *now;
}

KeptAffinity::~KeptAffinity() {
  if (before_) (void)bind_this_thread(*before_);
}

}  // namespace angio::bench
