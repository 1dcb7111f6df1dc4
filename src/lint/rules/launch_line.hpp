// A command line taken apart into the programs that start each other: "srun -N2 numactl --membind=0 torchrun
// train.py" is srun, numactl, torchrun. Reads words only; what a script stands for when it runs is not known
// here. Used by the rules about placement, launching, tools and the system.
#pragma once

#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lint/rule.hpp"

namespace angio::lint {

// One program of a command line with the words up to the program that it starts.
struct Stage {
  std::string program;             // base name: "numactl", "python"
  std::string module;              // python -m MODULE; nsys profile, docker run: the subcommand
  std::vector<const Word*> words;  // the program's own word first; its options and operands
  [[nodiscard]] const Place& place() const { return words.front()->place; }
};

// An option as it stands on the line.
struct Option {
  const Word* word = nullptr;        // the word that carries its name
  const Word* value_word = nullptr;  // the word that carries the value; may be the same
  std::string name;
  std::string value;
  bool dynamic = false;
};

// Where each variable of a file is set, in the order of the file.
using SettingIndex = std::map<std::string, std::vector<const Setting*>, std::less<>>;

struct Line {
  const Script* script = nullptr;
  std::shared_ptr<const SettingIndex> settings;
  const Command* command = nullptr;
  std::vector<Stage> stages;  // outermost first; never empty
  std::size_t own = 0;        // the first stage of this command; before it: what runs "bash -c '…'" around it
};

// What the batch system was asked for, by #SBATCH lines with literal numbers.
struct Allocation {
  bool slurm = false;
  bool other = false;  // PBS, LSF, Grid Engine
  bool exclusive = false;
  bool heterogeneous = false;  // several components: nothing below holds for all
  std::optional<long> nodes;
  std::optional<long> tasks;
  std::optional<long> tasks_per_node;
  std::optional<long> cpus_per_task;
  std::optional<long> gpus_per_node;
  const Directive* nodes_directive = nullptr;
  const Directive* gpus_per_task_directive = nullptr;
  const Directive* gpu_bind_directive = nullptr;
  const Directive* export_directive = nullptr;
  std::string gpu_bind;
  std::string exported;
};

// A script with what the rules ask of it again and again.
struct Job {
  const Script* script = nullptr;
  std::vector<Line> lines;
  Allocation allocation;
};
Job job_of(const Script& script);
// The file speaks of GPUs, or of NCCL and its frameworks: much advice is wrong for MPI programs on CPUs.
bool concerns_gpus(const Job& job);
bool concerns_nccl(const Job& job);
// The lines that stand in one pipeline with this one, itself included.
std::vector<const Line*> pipeline_of(const Job& job, const Line& line);

std::vector<Line> lines_of(const Script& script);
Allocation allocation_of(const Script& script);

// The first program of these names; null when the line has none.
const Stage* find_stage(const Line& line, std::initializer_list<std::string_view> programs);
// torchrun, python -m torch.distributed.run and .launch.
const Stage* find_torch(const Line& line);
// A program that starts several ranks of one host itself: torch launchers, accelerate, deepspeed, mpirun.
const Stage* find_group_launcher(const Line& line);

// The last of these options ("--nnodes", "-N"), with - and _ taken as equal in long names.
std::optional<Option> find_option(const Stage& stage, std::initializer_list<std::string_view> names);
bool has_word(const Stage& stage, std::string_view text);

// A number written on the line, or by the only assignment of the variable that stands there.
std::optional<long> number_of(const Line& line, std::string_view text);
std::optional<long> number_option(const Line& line, const Stage& stage,
                                  std::initializer_list<std::string_view> names);
// Ranks that this launcher starts on one host; none when it is not written ("gpu", $N).
std::optional<long> local_ranks(const Line& line, const Stage& launcher, const Allocation& allocation);
// Set by export or assignment, not for one command or by a launcher's option.
bool holds_for_later_lines(const Setting& setting);
// The last literal value of a variable on the line or set before it in the file.
std::optional<std::string> variable_at(const Line& line, std::string_view name);
// As many numbers as a list such as "0,1,3-5" has; none when it is no list of numbers.
std::optional<std::vector<std::uint32_t>> numbers_of(std::string_view text);

// Drops complaints of one rule at one place that came twice: a line and the lines inside it share programs.
void drop_repeats(Complaints& complaints, std::size_t from);
// "2 ranks", "1 node".
std::string counted(long count, std::string_view noun);

// The lines of a text, found once: places of what rules find in the text itself.
class TextLines {
 public:
  explicit TextLines(std::string_view text);
  [[nodiscard]] Place place(std::size_t offset, std::size_t length) const;
  [[nodiscard]] std::string_view line_of(std::size_t offset) const;  // without its end
  [[nodiscard]] std::size_t begin_of(std::size_t offset) const;
  [[nodiscard]] std::size_t count() const { return starts_.size(); }
  [[nodiscard]] std::string_view line(std::size_t index) const;  // from 0
  [[nodiscard]] std::size_t start(std::size_t index) const { return starts_[index]; }

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;
};

// Offsets of `wanted` in code: not behind a # that begins a comment.
std::vector<std::size_t> find_in_code(std::string_view text, const TextLines& lines, std::string_view wanted);
std::string_view comment_of(std::string_view line);  // with its #; empty when there is none
// The comment on the line of `place` or on the lines of comments directly above it.
std::string comment_near(const Script& script, const Place& place);

}  // namespace angio::lint
