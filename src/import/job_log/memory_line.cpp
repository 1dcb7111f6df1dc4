#include "import/job_log/memory_line.hpp"

#include <algorithm>
#include <array>

#include "base/cpu_set.hpp"
#include "base/text.hpp"

namespace angio::import::job_log {
namespace {

using model::MemoryEvent;
using model::MemoryTrouble;
using model::OomConstraint;

struct Signature {
  std::string_view words;
  MemoryTrouble kind;
};

// The programs' own words, lower case; the first that fits counts, so the precise ones come first.
constexpr std::array kSignatures{
    // NCCL 2.x, src/include/alloc.h
    Signature{"failed to cuda host alloc", MemoryTrouble::kPinned},
    Signature{"failed to cuda calloc", MemoryTrouble::kDevice},
    // PyTorch, c10/cuda/CUDACachingAllocator.cpp; with HIP the same sentence
    Signature{"cuda out of memory. tried to allocate", MemoryTrouble::kDevice},
    Signature{"hip out of memory. tried to allocate", MemoryTrouble::kDevice},
    // the driver API's and runtime's calls by name, in front of their error
    Signature{"cudahostalloc", MemoryTrouble::kPinned},
    Signature{"cudamallochost", MemoryTrouble::kPinned},
    Signature{"cudahostregister", MemoryTrouble::kPinned},
    Signature{"cumemhostalloc", MemoryTrouble::kPinned},
    Signature{"cumemallochost", MemoryTrouble::kPinned},
    Signature{"hiphostmalloc", MemoryTrouble::kPinned},
    // PyTorch, torch/utils/data/_utils/signal_handling.py and torch/utils/data/dataloader.py
    Signature{"insufficient shared memory (shm)", MemoryTrouble::kShared},
    Signature{"workers are out of shared memory", MemoryTrouble::kShared},
    // PyTorch, c10/core/impl/alloc_cpu.cpp
    Signature{"defaultcpuallocator: can't allocate memory", MemoryTrouble::kHost},
    Signature{"defaultcpuallocator: not enough memory", MemoryTrouble::kHost},
    Signature{"std::bad_alloc", MemoryTrouble::kHost},
    Signature{"numpy.core._exceptions._arraymemoryerror", MemoryTrouble::kHost},
    // bare driver words, PyTorch c10/cuda/CUDAException and NCCL's "Cuda failure 2 'out of memory'"
    Signature{"cuda error: out of memory", MemoryTrouble::kCudaEither},
    Signature{"hip error: out of memory", MemoryTrouble::kCudaEither},
    Signature{"cuda failure 2 'out of memory'", MemoryTrouble::kCudaEither},
    Signature{"cuda failure 'out of memory'", MemoryTrouble::kCudaEither},
    // PyTorch's loader and torchelastic: SIGKILL, the sender unknown
    Signature{"is killed by signal: killed", MemoryTrouble::kKilled},
    Signature{"signal 9 (sigkill) received by pid", MemoryTrouble::kKilled},
    // errno 12, last: many lines above hold it too
    Signature{"cannot allocate memory", MemoryTrouble::kHost},
};

// A call by name is trouble only together with an error: tracebacks and profiles name it as well.
bool names_trouble(std::string_view line) {
  return contains(line, "out of memory") || contains(line, "memoryallocation") || contains(line, "fail") ||
         contains(line, "error");
}

bool is_call(std::string_view words) {
  return words.starts_with("cuda") ? !contains(words, " ")
                                   : words.starts_with("cumem") || words.starts_with("hiph");
}

// The text after `key` up to the next comma: kernel lines are "key=value,key=value".
std::string_view field(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + key.size());
  return rest.substr(0, rest.find_first_of(", )"));
}

// nodemask=0-1,cpuset=…: a list may itself hold commas, so it ends where letters begin.
std::optional<CpuSet> node_field(std::string_view line, std::string_view key) {
  const std::size_t at = line.find(key);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + key.size());
  rest = rest.substr(0, rest.find_first_not_of("0123456789-,"));
  while (rest.ends_with(','))
    rest.remove_suffix(1);
  if (rest.empty()) return std::nullopt;  // "(null)"
  return parse_cpu_list(rest);
}

OomConstraint parse_constraint(std::string_view word) {
  if (word == "CONSTRAINT_NONE") return OomConstraint::kNone;
  if (word == "CONSTRAINT_CPUSET") return OomConstraint::kCpuset;
  if (word == "CONSTRAINT_MEMORY_POLICY") return OomConstraint::kMemoryPolicy;
  return word == "CONSTRAINT_MEMCG" ? OomConstraint::kCgroup : OomConstraint::kUnknown;
}

MemoryEvent kernel_event(OomConstraint constraint) {
  MemoryEvent event;
  event.kind = MemoryTrouble::kKernel;
  event.constraint = constraint;
  return event;
}

// Linux mm/oom_kill.c, dump_oom_summary() since 4.19.
std::optional<MemoryEvent> parse_summary(std::string_view line) {
  if (!contains(line, "oom-kill:constraint=")) return std::nullopt;
  MemoryEvent event = kernel_event(parse_constraint(field(line, "constraint=")));
  event.policy_nodes = node_field(line, "nodemask=");
  event.cpuset_nodes = node_field(line, "mems_allowed=");
  event.process = field(line, ",task=");
  event.pid = parse_integer<std::uint32_t>(field(line, ",pid="));
  return event;
}

// "Out of memory: Killed process 1234 (python) total-vm:…"; before 5.3 "Kill process". Linux mm/oom_kill.c.
std::optional<MemoryEvent> parse_victim(std::string_view line) {
  const bool cgroup = contains(line, "Memory cgroup out of memory: Kill");
  if (!cgroup && !contains(line, "Out of memory: Kill")) return std::nullopt;
  MemoryEvent event = kernel_event(cgroup ? OomConstraint::kCgroup : OomConstraint::kUnknown);
  event.pid = parse_integer<std::uint32_t>(field(line, " process "));
  const std::size_t open = line.find('(');
  const std::size_t close = line.find(')', open);
  if (open != std::string_view::npos && close != std::string_view::npos)
    event.process = line.substr(open + 1, close - open - 1);
  return event;
}

// slurmd's "Detected 1 oom-kill event(s) in StepId=…" and "oom_kill event"; kubelet's and Docker's
// "OOMKilled".
bool is_cgroup_report(std::string_view lower) {
  return (contains(lower, "detected") &&
          (contains(lower, "oom-kill event") || contains(lower, "oom_kill event"))) ||
         contains(lower, "oomkilled");
}

std::optional<MemoryEvent> parse_program_line(std::string_view lower) {
  for (const Signature& signature : kSignatures) {
    if (!contains(lower, signature.words)) continue;
    if (is_call(signature.words) && !names_trouble(lower)) continue;
    MemoryEvent event;
    event.kind = signature.kind;
    event.pid = parse_integer<std::uint32_t>(field(lower, "(pid "));
    return event;
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryEvent> parse_memory_line(std::string_view line) {
  if (auto event = parse_summary(line)) return event;
  if (auto event = parse_victim(line)) return event;
  const std::string lower = to_lower(line);
  if (is_cgroup_report(lower)) return kernel_event(OomConstraint::kCgroup);
  // ibv_reg_mr and its kin say "Cannot allocate memory" of the limit of locked memory: the host has plenty.
  if (contains(lower, "ibv_")) return std::nullopt;
  return parse_program_line(lower);
}

bool speaks_of_pinning(std::string_view line) {
  static constexpr std::array<std::string_view, 6> kWords{
      "pin_memory", "CachingHostAllocator", "PinnedMemory", "cudaHost", "cudaMallocHost", "cuMemHost"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return contains(line, word); });
}

}  // namespace angio::import::job_log
