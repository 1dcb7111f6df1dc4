// What the logs of a job and of the kernel tell about memory that could not be had. Values; import fills
// them. Which of the kinds it is decides the cure: GPU memory, pinned host memory, a strict policy, a
// cgroup's limit and the whole machine running full are five faults with one word, "out of memory".
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

enum class MemoryTrouble : std::uint8_t {
  kDevice,      // the GPU's own memory
  kPinned,      // page-locked host memory, asked for by the CUDA or HIP driver
  kCudaEither,  // "CUDA error: out of memory": the line alone does not tell which of the two
  kHost,        // ordinary host memory: malloc, the CPU allocator
  kShared,      // /dev/shm
  kKernel,      // the kernel's out-of-memory killer
  kKilled,      // SIGKILL, by whom is not said
};

// Why the kernel's killer ran: enum oom_constraint of Linux include/linux/oom.h.
enum class OomConstraint : std::uint8_t { kUnknown, kNone, kCpuset, kMemoryPolicy, kCgroup };

struct MemoryEvent {
  MemoryTrouble kind = MemoryTrouble::kHost;
  OomConstraint constraint = OomConstraint::kUnknown;  // kKernel only
  std::string text;                                    // the line, printable, cut to a readable length
  Source source;
  std::string process;                 // name of the one that was killed
  std::optional<std::uint32_t> pid;    // of that one, or of the one the line speaks of
  std::optional<CpuSet> policy_nodes;  // the strict policy's nodes, as the kernel prints them
  std::optional<CpuSet> cpuset_nodes;  // mems_allowed
  std::uint32_t count = 1;             // later lines of the same kind
};

struct NcclEvidence;  // nccl_evidence.hpp

struct JobLog {
  std::string name;
  std::vector<MemoryEvent> memory;  // by kind and constraint, in the order of their first line
  std::shared_ptr<const NcclEvidence> nccl = nullptr;  // null: nothing of NCCL's in it
};

}  // namespace angio::model
