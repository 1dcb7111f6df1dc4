// The versions of one software stack, from whatever was at hand: a machine, words, pasted output. Each value
// with where it was seen; a part that is not here is unknown. No judgement: check.hpp does that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"

namespace angio::compat {

enum class Part : std::uint8_t {
  kDriver,      // NVIDIA kernel driver in memory
  kUserDriver,  // libcuda, NVML or nvidia-smi beside it
  kDiskDriver,  // kernel module on disk, or the package of the driver
  kFabricManager,
  kModule,         // "open", "closed"
  kPeermem,        // "yes", "no"
  kCudaDriver,     // CUDA that the driver offers
  kCuda,           // toolkit or runtime of the program
  kCudaCompat,     // cuda-compat-<version>
  kGpu,            // lowest compute capability; follows from Stack::gpus
  kNccl,           // that runs
  kNcclInstalled,  // as a package or a file
  kNcclCuda,       // CUDA that NCCL was built for
  kPytorch,
  kPytorchCuda,
  kUcx,
  kOfi,  // aws-ofi-nccl
  kOfed,
  kDoca,
  kRdmaCore,
  kKernel,
  kAdapter,    // "mlx5", "efa", "rxe" …, "none"
  kCpu,        // "amd", "intel", …
  kNetPlugin,  // interface number of the plugin
  kTunerPlugin,
  kProfilerPlugin,
};

struct PartName {
  Part part;
  std::string_view word;   // on the command line and in JSON
  std::string_view title;  // in sentences
};
std::span<const PartName> part_names();
std::string_view word_of(Part part);
std::string_view title_of(Part part);
std::optional<Part> find_part(std::string_view word);

struct Value {
  std::string text;
  std::string where;  // "line 3", "/proc/driver/nvidia/version"; empty: given by hand
};
struct StackGpu {
  std::string name;        // as seen; may be empty
  std::string capability;  // "9.0"; empty: unknown
  std::string where;
};
struct Firmware {
  std::string device;  // "mlx5_0"; may be empty
  std::string version;
  std::string where;
};
// Two sources of one part that disagree; the first one counts.
struct Conflict {
  Part part;
  Value kept;
  Value other;
};

struct Stack {
  std::map<Part, Value> values;
  std::vector<StackGpu> gpus;
  std::vector<Firmware> firmware;
  std::vector<Conflict> conflicts;
  bool mismatch = false;  // NVML refused: driver and library differ

  [[nodiscard]] const std::string* get(Part part) const;
  void set(Part part, std::string text, std::string where);
  void add_gpu(StackGpu gpu);
  [[nodiscard]] bool empty() const { return values.empty() && gpus.empty() && firmware.empty(); }
};

Stack stack_of(const model::Machine& machine);

// "driver=535.54.03", one word each. Errors name the word.
Result<Stack> parse_words(std::span<const std::string> words);

// Output of pip, conda, poetry, dpkg, rpm, ldconfig, nvidia-smi, nvcc, ofed_info, ucx_info, uname, ethtool,
// ibv_devinfo, collect_env, torch.__config__, NCCL's version line, and key=value words. Other lines are
// counted, not judged.
struct ParsedStack {
  Stack stack;
  std::size_t lines = 0;
  std::size_t understood = 0;
};
ParsedStack parse_stack(std::string_view text);

// The second's values where the first has none; contradictions become conflicts.
void merge(Stack& into, const Stack& more);

// One value as a user or a tool writes it: splits "2.20.5+cuda12.4", "sm90", "v8", "2.3.0+cu121".
Result<void> put(Stack& stack, Part part, std::string_view text, std::string where);

}  // namespace angio::compat
