// The settings of a campaign and how each is started: environment, launcher, binding and arguments. Pure.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiment/tune_spec.hpp"

namespace angio::experiment {

struct Start {
  std::vector<std::string> command;
  std::vector<std::pair<std::string, std::optional<std::string>>> environment;  // none: unset it
};

// The baseline first; then one factor at a time, or the combinations that are given.
std::vector<ArmSetting> arms_of(const TuneSpec& spec);

// own_program: what stands for angio in front of "run".
Start build_start(const TuneSpec& spec, const ArmSetting& arm, const std::string& own_program);

// A word for a shell, quoted where it needs to be.
std::string shell_word(std::string_view word);

// What sets a person's shell to this arm: export and unset lines, and the command as a comment.
std::string settings_file(const TuneSpec& spec, const ArmSetting& arm, const std::string& why);

}  // namespace angio::experiment
