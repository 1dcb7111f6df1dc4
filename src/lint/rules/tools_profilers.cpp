// Profilers and tracers: values they do not know, and lists of processes in a form they do not take.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/rules/tools_rules.hpp"

namespace angio::lint {
namespace {

// nsys profile --help, Nsight Systems 2025.
constexpr std::array<std::string_view, 40> kTraces{"cuda",
                                                   "cuda-hw",
                                                   "cuda-sw",
                                                   "nvtx",
                                                   "cublas",
                                                   "cublas-verbose",
                                                   "cusparse",
                                                   "cusparse-verbose",
                                                   "cudnn",
                                                   "cudla",
                                                   "cudla-verbose",
                                                   "cusolver",
                                                   "cusolver-verbose",
                                                   "opengl",
                                                   "opengl-annotations",
                                                   "openacc",
                                                   "openmp",
                                                   "osrt",
                                                   "mpi",
                                                   "nvvideo",
                                                   "nvmedia",
                                                   "nvsci",
                                                   "vulkan",
                                                   "vulkan-annotations",
                                                   "dx11",
                                                   "dx11-annotations",
                                                   "dx12",
                                                   "dx12-annotations",
                                                   "openxr",
                                                   "openxr-annotations",
                                                   "oshmem",
                                                   "ucx",
                                                   "wddm",
                                                   "tegra-accelerators",
                                                   "python-gil",
                                                   "gds",
                                                   "syscall",
                                                   "none",
                                                   "hip",
                                                   "memory"};
// Words that people take for domains. They are counters or libraries that other options show.
constexpr std::array<std::string_view, 9> kNoTraces{"nvml",       "nvlink", "pcie", "nccl", "ib",
                                                    "infiniband", "rdma",   "gpu",  "numa"};
constexpr std::array<std::string_view, 4> kRanges{"none", "cudaProfilerApi", "hotkey", "nvtx"};

class Profilers {
 public:
  Profilers(const Job& job, Complaints& out) : job_(job), out_(out) {}

  void check(const Line& line, const Stage& stage) {
    if (stage.program == "nsys" && stage.module == "profile") nsys(stage);
    if (stage.program == "perf") process_list(stage, "perf", "-p takes a list with commas");
    if (stage.program == "strace") strace(stage);
    static_cast<void>(line);
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void nsys(const Stage& stage) {
    trace(stage);
    capture_range(stage);
    duration(stage);
  }

  void trace(const Stage& stage) {
    const auto option = find_option(stage, {"--trace", "-t"});
    if (!option || option->dynamic) return;
    for (const auto part : split(option->value, ',')) {
      const auto name = to_lower(trim(part));
      if (name.empty() || std::ranges::find(kTraces, name) != kTraces.end()) continue;
      const bool mistaken = std::ranges::find(kNoTraces, name) != kNoTraces.end();
      const auto near = did_you_mean(name, kTraces);
      if (!mistaken && !near) continue;  // a newer release may know it
      add("tools.nsys.trace-domain", option->word->place,
          "nsys traces no \"" + name + "\": it stops with an error",
          name == "nccl" ? "NCCL marks its calls with NVTX: -t cuda,nvtx"
          : mistaken
              ? "GPU, PCIe and NVLink counters: --gpu-metrics-devices=all; adapters: --nic-metrics=true"
              : "did you mean " + *near + "?");
    }
  }

  void capture_range(const Stage& stage) {
    const auto option = find_option(stage, {"--capture-range", "-c"});
    if (!option || option->dynamic || std::ranges::find(kRanges, option->value) != kRanges.end()) return;
    auto complaint = complain(
        "tools.nsys.capture-range", *job_.script, option->word->place,
        "nsys --capture-range knows none, cudaProfilerApi, hotkey and nvtx, not \"" + option->value + "\"",
        "cudaProfilerApi; the program then calls torch.cuda.profiler.start() and stop()");
    const auto lower = to_lower(option->value);
    const auto& place = option->value_word->place;
    const auto& text = job_.script->text;
    const auto at = text.find(option->value, place.offset);
    if ((lower == "cudaprofiler" || lower == "cudaprofilerapi") && at != std::string::npos &&
        at < place.offset + place.length)
      complaint.fix = {{at, option->value.size(), "cudaProfilerApi"}};
    out_.push_back(std::move(complaint));
  }

  void duration(const Stage& stage) {
    const auto option = find_option(stage, {"--duration", "-d"});
    if (!option || option->dynamic || option->value.empty() || parse_double(option->value)) return;
    add("tools.nsys.duration-unit", option->word->place,
        "nsys --duration takes a number of seconds; \"" + option->value + "\" has more than that",
        "--duration=30");
  }

  // -p $(pgrep -f train.py): one process a line where the tool wants one word.
  void process_list(const Stage& stage, std::string_view tool, std::string_view why) {
    const auto option = find_option(stage, {"-p", "--pid"});
    if (!option || option->value_word == nullptr) return;
    const auto& word = *option->value_word;
    const auto text = std::string_view(word.text);
    const auto at = text.find("pgrep");
    if (at == std::string_view::npos || contains(text, " -d") || contains(text, "--delimiter") ||
        contains(text, " -o") || contains(text, " -n") || contains(text, "head") || contains(text, "paste") ||
        contains(text, "tr "))
      return;
    const bool quoted = word.place.length > word.text.size();
    if (tool == "strace" && quoted) return;
    auto complaint = complain(
        "tools.pgrep.list", *job_.script, word.place,
        std::string(tool) + " " + std::string(why) + ": with several ranks pgrep prints several lines",
        "pgrep -d, joins them");
    const auto raw = std::string_view(job_.script->text).substr(word.place.offset, word.place.length);
    if (const auto found = raw.find("pgrep "); found != std::string_view::npos)
      complaint.fix = {{word.place.offset + found + 5, 0, " -d,"}};
    out_.push_back(std::move(complaint));
  }

  void strace(const Stage& stage) {
    process_list(stage, "strace", "-p takes one word");
    const auto attach = find_option(stage, {"-p"});
    if (!attach || has_word(stage, "-f") || has_word(stage, "-ff") || has_word(stage, "--follow-forks"))
      return;
    for (const auto* word : stage.words)
      if (word->text.size() > 2 && word->text.starts_with("-f")) return;
    add("tools.strace.no-threads", attach->word->place,
        "strace without -f follows one thread: NCCL's proxy and PyTorch's threads stay unseen",
        "strace -f, for seconds only: it slows the job");
  }

  const Job& job_;
  Complaints& out_;
};

}  // namespace

void check_profilers(const Job& job, Complaints& out) {
  Profilers rules(job, out);
  for (const auto& line : job.lines)
    for (auto i = line.own; i < line.stages.size(); ++i)
      rules.check(line, line.stages[i]);
}

}  // namespace angio::lint
