// What files expect to read: lines that no program prints, packages and folders that do not exist, averages
// taken for peaks, functions that PyTorch does not have.
#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "lint/rules/tools_rules.hpp"

namespace angio::lint {
namespace {

class Phrases {
 public:
  Phrases(const Job& job, Complaints& out) : job_(job), out_(out), text_(job.script->text), lines_(text_) {}

  void check() {
    no_such_lines();
    packages();
    average();
    no_such_folder();
    preload();
    htop();
    if (job_.script->kind == FileKind::kPython) python();
  }

 private:
  void add(std::string_view rule, const Place& place, std::string message, std::string advice) {
    out_.push_back(complain(rule, *job_.script, place, std::move(message), std::move(advice)));
  }

  void no_such_lines() {
    struct Phrase {
      std::string_view text;
      std::string_view real;
    };
    static constexpr std::array<Phrase, 2> kPhrases{
        {{"Using topology file",
          "\"NCCL_TOPO_FILE set by environment\" with NCCL_DEBUG_SUBSYS=ENV, \"Loading topology file\" with "
          "GRAPH"},
         {"Ring algorithm selected",
          "\"-> Algo RING proto …\" with NCCL_DEBUG_SUBSYS=TUNING, from NCCL 2.24 on"}}};
    for (const auto& phrase : kPhrases) {
      const auto at = text_.find(phrase.text);
      if (at == std::string_view::npos) continue;
      add("tools.log.no-such-line", lines_.place(at, phrase.text.size()),
          "no NCCL prints \"" + std::string(phrase.text) + "\"", "look for " + std::string(phrase.real));
    }
  }

  void packages() {
    for (const auto& line : job_.lines) {
      const auto& stage = line.stages.back();
      const bool installs = (stage.program == "apt" || stage.program == "apt-get" || stage.program == "yum" ||
                             stage.program == "dnf") &&
                            has_word(stage, "install");
      if (!installs) continue;
      for (const auto* word : stage.words)
        if (word->text == "nccl-tools" || word->text == "nccl-topo")
          add("tools.apt.nccl-tools", word->place, "NVIDIA's repositories have no package " + word->text,
              "libnccl2 and libnccl-dev; nccl-tests is built from its sources");
      const auto* dev = find_word(stage, "libnccl-dev");
      if (dev != nullptr && contains(to_lower(comment_near(*job_.script, line.command->place)), "nccl-t"))
        add("tools.apt.nccl-tools", dev->place,
            "libnccl-dev holds headers and libraries; no nccl-tools, nccl-topo or nccl-tests",
            "nccl-tests is built from its sources; angio nccl-topo makes topology files");
    }
  }

  static const Word* find_word(const Stage& stage, std::string_view start) {
    for (const auto* word : stage.words)
      if (word->text.starts_with(start)) return word;
    return nullptr;
  }

  // The mean over all sizes of the sweep, held against a peak.
  void average() {
    constexpr std::string_view kAverage = "vg bus bandwidth";
    bool said = false;
    for (auto at = text_.find(kAverage); at != std::string_view::npos && !said;
         at = text_.find(kAverage, at + 1)) {
      const auto comment = to_lower(around(at));
      for (const std::string_view peak : {"peak", "theor", "line rate", "maximum", "峰", "理论"})
        if (contains(comment, peak)) said = true;
      if (!said) continue;
      add("tools.nccl-tests.average", lines_.place(at - 1, kAverage.size() + 1),
          "\"Avg bus bandwidth\" is the mean over all sizes of the sweep, small ones included: no peak to "
          "compare with",
          "the busbw column at the largest sizes");
    }
  }

  // The line, when it is a comment or prints, and the comments beside it.
  [[nodiscard]] std::string around(std::size_t at) const {
    std::string text(lines_.line_of(at));
    text += comment_near(*job_.script, lines_.place(at, 1));
    const auto next = lines_.begin_of(at) + lines_.line_of(at).size() + 1;
    if (next < text_.size())
      if (const auto below = trim(lines_.line_of(next)); below.starts_with('#')) text += below;
    return text;
  }

  void no_such_folder() {
    if (!contains(text_, "DeepLearningExamples")) return;
    const auto at = text_.find("benchmarks/distributed_benchmark");
    if (at == std::string_view::npos) return;
    add("tools.repository.no-such-path", lines_.place(at, 32),
        "DeepLearningExamples has no benchmarks/distributed_benchmark, today or in its history",
        "nccl-tests for the network, the model itself for step times");
  }

  void preload() {
    for (const auto& setting : job_.script->settings) {
      if (setting.name != "LD_PRELOAD" || !contains(setting.value, "libibverbs")) continue;
      add("tools.preload.ibverbs", setting.name_place,
          "LD_PRELOAD of libibverbs changes nothing: NCCL opens the library itself, and it reads no NCCL "
          "variable",
          "NCCL_NET=IB makes NCCL fail with the reason instead of falling back to sockets");
      return;
    }
  }

  void htop() {
    for (auto at = text_.find("htop"); at != std::string_view::npos; at = text_.find("htop", at + 1)) {
      const auto line = to_lower(lines_.line_of(at));
      const bool comment = trim(line).starts_with('#') || contains(line, "echo") || contains(line, "# ");
      if (!comment || !contains(line, "numa")) continue;
      add("tools.htop.numa-view", lines_.place(at, 4),
          "htop has no NUMA view; a digit there begins a search by process number",
          "top has one under 2; angio ps shows each thread's CPUs and node");
      return;
    }
  }

  void python() {
    for (const auto at : find_in_code(text_, lines_, "torch.cuda.memory._get_current_device")) {
      add("tools.python.unknown-function", lines_.place(at, 37),
          "torch.cuda.memory has no _get_current_device", "torch.cuda.current_device()");
      break;
    }
    const auto copies = find_in_code(text_, lines_, "non_blocking=True");
    const auto unpinned = find_in_code(text_, lines_, "pin_memory=False");
    if (copies.empty() || unpinned.empty() || contains(text_, ".pin_memory()") ||
        contains(text_, "pin_memory=True"))
      return;
    add("tools.python.async-without-pinned", lines_.place(unpinned.front(), 16),
        "pin_memory=False with non_blocking=True: a copy from pageable memory waits in spite of it",
        "pin_memory=True, or batch.pin_memory() before .to(device, non_blocking=True)");
  }

  const Job& job_;
  Complaints& out_;
  std::string_view text_;
  TextLines lines_;
};

}  // namespace

void check_phrases(const Job& job, Complaints& out) {
  Phrases(job, out).check();
}

}  // namespace angio::lint
