#include "experiment/tune_arms.hpp"

#include <fmt/format.h>

#include "base/text.hpp"

namespace angio::experiment {
namespace {

// "{name}" for each argument factor; "${name}" is the shell's own.
std::string filled(const TuneSpec& spec, const ArmSetting& arm, const std::string& word) {
  std::string made;
  for (std::size_t at = 0; at < word.size();) {
    bool replaced = false;
    for (std::size_t each = 0; each < spec.factors.size() && !replaced; ++each) {
      const Factor& factor = spec.factors[each];
      if (factor.kind != FactorKind::kArgument) continue;
      const std::string mark = "{" + factor.target + "}";
      if (!std::string_view(word).substr(at).starts_with(mark) || (at > 0 && word[at - 1] == '$')) continue;
      const Level& level = factor.levels[arm.levels[each]];
      if (level.given) made += spec.shell ? shell_word(level.value) : level.value;
      at += mark.size();
      replaced = true;
    }
    if (!replaced) made += word[at++];
  }
  return made;
}

void add_options(const TuneSpec& spec, const ArmSetting& arm, FactorKind kind,
                 std::vector<std::string>& words) {
  for (std::size_t each = 0; each < spec.factors.size(); ++each) {
    const Factor& factor = spec.factors[each];
    const Level& level = factor.levels[arm.levels[each]];
    if (factor.kind != kind || !level.given) continue;
    words.push_back(factor.target);
    if (!level.bare) words.push_back(level.value);
  }
}

// An argument that is left out and was a word of its own is no empty word.
void add_command(const TuneSpec& spec, const ArmSetting& arm, std::vector<std::string>& words) {
  if (spec.shell) words.insert(words.end(), {"/bin/sh", "-c"});
  for (const std::string& word : spec.command) {
    std::string made = filled(spec, arm, word);
    if (!made.empty() || word.empty()) words.push_back(std::move(made));
  }
}

}  // namespace

std::string in_words(const Level& level) {
  if (!level.given) return "not set";
  if (level.bare) return "on";
  return level.value.empty() ? "\"\"" : printable(level.value);
}

std::vector<ArmSetting> arms_of(const TuneSpec& spec) {
  ArmSetting baseline{"baseline", {}};
  for (const Factor& factor : spec.factors)
    baseline.levels.push_back(factor.baseline);
  std::vector<ArmSetting> arms{baseline};
  if (!spec.combinations.empty()) {
    arms.insert(arms.end(), spec.combinations.begin(), spec.combinations.end());
    return arms;
  }
  for (std::size_t each = 0; each < spec.factors.size(); ++each) {
    const Factor& factor = spec.factors[each];
    for (std::size_t level = 0; level < factor.levels.size(); ++level) {
      if (level == factor.baseline) continue;
      ArmSetting arm = baseline;
      arm.levels[each] = level;
      arm.name = fmt::format("{}={}", factor.name, in_words(factor.levels[level]));
      arms.push_back(std::move(arm));
    }
  }
  return arms;
}

Start build_start(const TuneSpec& spec, const ArmSetting& arm, const std::string& own_program) {
  Start start;
  for (std::size_t each = 0; each < spec.factors.size(); ++each) {
    const Factor& factor = spec.factors[each];
    if (factor.kind != FactorKind::kEnvironment) continue;
    const Level& level = factor.levels[arm.levels[each]];
    start.environment.emplace_back(factor.target,
                                   level.given ? std::optional<std::string>(level.value) : std::nullopt);
  }
  start.command = spec.launcher;
  add_options(spec, arm, FactorKind::kLauncherOption, start.command);
  if (spec.behind_run) {
    start.command.insert(start.command.end(), {own_program, "run"});
    start.command.insert(start.command.end(), spec.run_options.begin(), spec.run_options.end());
    add_options(spec, arm, FactorKind::kRunOption, start.command);
    start.command.emplace_back("--");
  }
  add_command(spec, arm, start.command);
  return start;
}

std::string shell_word(std::string_view word) {
  const auto plain = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           std::string_view("_-+./:,=@%^").contains(c);
  };
  bool bare = !word.empty();
  std::string quoted = "'";
  for (const char c : word) {
    bare = bare && plain(c);
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  }
  return bare ? std::string(word) : quoted + "'";
}

std::string settings_file(const TuneSpec& spec, const ArmSetting& arm, const std::string& why) {
  const Start start = build_start(spec, arm, "angio");
  std::string text;
  for (const std::string_view line : split_lines(why))
    text += "# " + printable(line) + "\n";
  for (const auto& [name, value] : start.environment)
    text += value ? fmt::format("export {}={}\n", name, shell_word(*value)) : fmt::format("unset {}\n", name);
  std::string command;
  for (const std::string& word : start.command)
    command += (command.empty() ? "" : " ") + shell_word(word);
  std::string commented;
  for (const char c : command)
    commented += c == '\n' ? std::string("\n#   ") : std::string(1, c);
  return text + "# then:\n#   " + commented + "\n";
}

}  // namespace angio::experiment
