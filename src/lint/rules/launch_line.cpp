#include "lint/rules/launch_line.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <memory>
#include <set>
#include <tuple>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "lint/rules/launch_wrappers.hpp"

namespace angio::lint {
namespace {

// "$NAME" and "${NAME}", nothing else.
std::string_view variable_in(std::string_view text) {
  if (!text.starts_with('$')) return {};
  text.remove_prefix(1);
  if (text.starts_with('{') && text.ends_with('}')) text = text.substr(1, text.size() - 2);
  const auto letter = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
  };
  return !text.empty() && std::all_of(text.begin(), text.end(), letter) ? text : std::string_view();
}

const std::vector<const Setting*>* settings_of(const Line& line, std::string_view name) {
  const auto found = line.settings->find(name);
  return found == line.settings->end() ? nullptr : &found->second;
}

SettingIndex index_of(const Script& script) {
  SettingIndex index;
  for (const auto& setting : script.settings)
    index[setting.name].push_back(&setting);
  for (auto& [name, settings] : index)
    std::stable_sort(settings.begin(), settings.end(), [](const Setting* a, const Setting* b) {
      return a->name_place.offset < b->name_place.offset;
    });
  return index;
}

bool stands_in(const Command& inner, const Command& outer) {
  return inner.place.offset > outer.place.offset &&
         inner.place.offset + inner.place.length <= outer.place.offset + outer.place.length;
}

// Its last word is a command line that another shell runs.
bool runs_its_text(const Line& line) {
  static constexpr std::string_view kShells = "bash sh zsh dash ksh ssh pdsh clush";
  constexpr std::size_t kReasonable = 64;  // stages and words of hostile nesting are not copied on and on
  if (line.stages.size() > kReasonable || line.command->words.size() > kReasonable) return false;
  return std::any_of(line.stages.begin() + static_cast<std::ptrdiff_t>(line.own), line.stages.end(),
                     [](const Stage& stage) { return listed(kShells, stage.program); });
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

}  // namespace

std::vector<Line> lines_of(const Script& script) {
  std::vector<Line> lines;
  lines.reserve(script.commands.size());
  const auto settings = std::make_shared<const SettingIndex>(index_of(script));
  std::vector<std::size_t> open;  // lines whose text the next command may stand in: srun bash -c '…'
  for (const auto& command : script.commands) {
    if (command.words.empty()) continue;
    Line line{&script, settings, &command, {}, 0};
    while (!open.empty() && !stands_in(command, *lines[open.back()].command))
      open.pop_back();
    if (!open.empty() && runs_its_text(lines[open.back()])) line.stages = lines[open.back()].stages;
    line.own = line.stages.size();
    auto stages = stages_of(command.words);
    line.stages.insert(line.stages.end(), std::make_move_iterator(stages.begin()),
                       std::make_move_iterator(stages.end()));
    open.push_back(lines.size());
    lines.push_back(std::move(line));
  }
  return lines;
}

Job job_of(const Script& script) {
  return {&script, lines_of(script), allocation_of(script)};
}

bool concerns_nccl(const Job& job) {
  for (const std::string_view word :
       {"NCCL", "nccl", "torch", "MASTER_ADDR", "deepspeed", "accelerate", "horovod", "lightning"})
    if (contains(job.script->text, word)) return true;
  return false;
}

bool concerns_gpus(const Job& job) {
  if (job.allocation.gpus_per_node.value_or(0) > 0 || concerns_nccl(job)) return true;
  for (const std::string_view word : {"GPU", "gpu", "CUDA", "cuda", "nvidia", "NVIDIA"})
    if (contains(job.script->text, word)) return true;
  return false;
}

std::vector<const Line*> pipeline_of(const Job& job, const Line& line) {
  std::vector<const Line*> found;
  constexpr std::ptrdiff_t kReach = 16;  // commands of a pipeline stand beside each other
  const auto at = &line - job.lines.data();
  const auto end = std::min(at + kReach, std::ssize(job.lines));
  for (auto i = std::max<std::ptrdiff_t>(at - kReach, 0); i < end; ++i) {
    const auto& other = job.lines[static_cast<std::size_t>(i)];
    if (other.command->pipeline == line.command->pipeline) found.push_back(&other);
  }
  return found;
}

void drop_repeats(Complaints& complaints, std::size_t from) {
  std::set<std::tuple<std::string, std::string, std::size_t>> seen;
  std::size_t kept = from;
  for (auto i = from; i < complaints.size(); ++i) {
    if (!seen.emplace(complaints[i].rule, complaints[i].file, complaints[i].place.offset).second) continue;
    if (kept != i) complaints[kept] = std::move(complaints[i]);
    ++kept;
  }
  complaints.resize(kept);
}

std::string counted(long count, std::string_view noun) {
  return std::to_string(count) + " " + std::string(noun) + (count == 1 ? "" : "s");
}

const Stage* find_stage(const Line& line, std::initializer_list<std::string_view> programs) {
  for (const auto& stage : line.stages)
    for (const auto program : programs)
      if (stage.program == program) return &stage;
  return nullptr;
}

const Stage* find_torch(const Line& line) {
  for (const auto& stage : line.stages)
    if (stage.program == "torchrun" || stage.module == "torch.distributed.run" ||
        stage.module == "torch.distributed.launch")
      return &stage;
  return nullptr;
}

const Stage* find_group_launcher(const Line& line) {
  if (const auto* torch = find_torch(line)) return torch;
  const auto* stage = find_stage(line, {"accelerate", "deepspeed", "mpirun", "horovodrun"});
  if (stage != nullptr && stage->program == "accelerate" && stage->module != "launch") return nullptr;
  return stage;
}

std::optional<Option> find_option(const Stage& stage, std::initializer_list<std::string_view> names) {
  std::optional<Option> found;
  for (std::size_t i = 1; i < stage.words.size(); ++i) {
    const auto& word = *stage.words[i];
    if (!word.text.starts_with('-')) continue;
    const auto equals = word.text.find('=');
    const auto name = spelled(word.text.substr(0, equals));
    const auto same =
        std::find_if(names.begin(), names.end(), [&](auto wanted) { return name == spelled(wanted); });
    if (same != names.end()) {
      const bool here = equals != std::string::npos;
      const Word* value = here ? &word : i + 1 < stage.words.size() ? stage.words[i + 1] : nullptr;
      if (!here && value != nullptr && value->text.size() > 1 && value->text.starts_with('-'))
        value = nullptr;
      found = Option{&word, value, std::string(*same),
                     value == nullptr ? std::string()
                     : here           ? word.text.substr(equals + 1)
                                      : value->text,
                     value != nullptr && value->dynamic};
      continue;
    }
    for (const auto wanted : names)  // -N2, -c0-3: a letter and its value in one word
      if (wanted.size() == 2 && word.text.size() > 2 && word.text.starts_with(wanted) &&
          word.text[1] != '-' && !is_letter(word.text[2]))
        found = Option{&word, &word, std::string(wanted), word.text.substr(2), word.dynamic};
  }
  return found;
}

bool has_word(const Stage& stage, std::string_view text) {
  return std::any_of(stage.words.begin(), stage.words.end(),
                     [&](const Word* word) { return word->text == text; });
}

std::optional<long> number_of(const Line& line, std::string_view text) {
  if (const auto number = parse_integer<long>(text)) return number;
  const auto name = variable_in(text);
  if (name.empty()) return std::nullopt;
  const auto* settings = settings_of(line, name);
  if (settings == nullptr || settings->size() != 1) return std::nullopt;
  const auto& setting = *settings->front();
  if (setting.dynamic || setting.unset) return std::nullopt;
  return parse_integer<long>(setting.value);
}

std::optional<long> number_option(const Line& line, const Stage& stage,
                                  std::initializer_list<std::string_view> names) {
  const auto option = find_option(stage, names);
  return option ? number_of(line, option->value) : std::nullopt;
}

std::optional<long> local_ranks(const Line& line, const Stage& launcher, const Allocation& allocation) {
  if (launcher.program == "deepspeed") return number_option(line, launcher, {"--num_gpus"});
  if (launcher.program == "accelerate") {
    const auto all = number_option(line, launcher, {"--num_processes", "-n"});
    const auto machines = find_option(launcher, {"--num_machines"});
    if (!machines) return all;
    const auto count = number_of(line, machines->value);
    return all && count && *count > 0 && *all % *count == 0 ? std::optional(*all / *count) : std::nullopt;
  }
  if (launcher.program == "mpirun") {
    if (const auto each =
            number_option(line, launcher, {"-npernode", "--npernode", "-N", "-ppn", "-perhost"}))
      return each;
    if (const auto map = find_option(launcher, {"--map-by", "-map-by"});
        map && map->value.starts_with("ppr:")) {
      const auto parts = split(map->value, ':');
      return parts.size() > 2 && parts[2] == "node" ? number_of(line, parts[1]) : std::nullopt;
    }
    const bool hosts = find_option(launcher, {"--hostfile", "-hostfile", "--machinefile", "-machinefile",
                                              "-H", "-host", "--host", "-hosts", "-f"})
                           .has_value();
    if (hosts || allocation.slurm || allocation.other) return std::nullopt;
    return number_option(line, launcher, {"-np", "-n", "--np", "--n"});
  }
  if (launcher.program == "horovodrun") return std::nullopt;
  if (!find_option(launcher, {"--nproc-per-node"})) return 1;
  return number_option(line, launcher, {"--nproc-per-node"});
}

bool holds_for_later_lines(const Setting& setting) {
  const std::string_view via = setting.via;
  return via.ends_with("export") || via.ends_with("assignment") || via.ends_with("setenv") || via == "ENV" ||
         via == "declare" || via == "typeset";
}

std::optional<std::string> variable_at(const Line& line, std::string_view name) {
  for (const auto& setting : line.command->environment)
    if (setting.name == name) return setting.dynamic ? std::nullopt : std::optional(setting.value);
  const auto* settings = settings_of(line, name);
  if (settings == nullptr) return std::nullopt;
  auto after = std::lower_bound(
      settings->begin(), settings->end(), line.command->place.offset,
      [](const Setting* setting, std::size_t offset) { return setting->name_place.offset < offset; });
  while (after != settings->begin()) {
    const auto& setting = **--after;
    if (!holds_for_later_lines(setting)) continue;
    return setting.dynamic || setting.unset ? std::nullopt : std::optional(setting.value);
  }
  return std::nullopt;
}

std::optional<std::vector<std::uint32_t>> numbers_of(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const auto set = parse_cpu_list(text);
  if (!set || set->empty()) return std::nullopt;
  return set->members();
}

}  // namespace angio::lint
