// Carries a rank's placement out: the CPU mask and the memory policy of the calling thread, which exec and
// every later thread and child inherit. Then asks the kernel what it made of them. Call it while the process
// has one thread; other threads keep what they had. Nothing is planned here and nothing is printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/cpu_set.hpp"
#include "base/error.hpp"
#include "launch/affinity.hpp"
#include "model/placement.hpp"

namespace angio::launch {

enum class BindState : std::uint8_t {
  kNotWanted,  // the placement leaves this part as it is
  kDone,       // the kernel confirms what was asked for
  kReduced,    // the kernel made less of it
  kRefused,    // nothing changed
};

struct BindPart {
  BindState state = BindState::kNotWanted;
  std::string problem;  // a whole sentence unless done: what, errno, the likely cause, what holds now
};

struct BindOutcome {
  BindPart cpus;
  BindPart memory;
  [[nodiscard]] bool complete() const;  // nothing was reduced or refused
};

// Order: CPUs, then memory, so that a refused policy still leaves the rank on the right node.
BindOutcome apply_placement(const model::RankPlacement& placement);

// What the kernel holds for the calling thread, as set_mempolicy(2) numbers it.
struct MemoryBinding {
  int mode = 0;  // MPOL_DEFAULT 0, PREFERRED 1, BIND 2, INTERLEAVE 3, LOCAL 4, PREFERRED_MANY 5
  CpuSet nodes;
};
Result<MemoryBinding> read_memory_policy();
// The nodes whose memory the cpuset allows.
Result<CpuSet> read_allowed_memory();

}  // namespace angio::launch
