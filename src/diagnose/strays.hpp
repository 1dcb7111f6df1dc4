// What jobs leave lying about: contexts on a GPU that is not theirs, ranks without a launcher, the dead that
// nobody reaps, shared segments and ports. Each with a command that cures it and the command's risk. Pure;
// nothing is ever done.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "model/process_survey.hpp"

namespace angio::diagnose {

struct Stray {
  std::string kind;  // "gpu-0-context", "shared-gpu", "orphan", "zombie", "segment"
  std::string text;  // one line
  std::string command;
  std::string risk;
  std::vector<std::uint32_t> processes;
};

std::vector<Stray> find_strays(const model::Machine& machine, const model::ProcessSurvey& survey);

}  // namespace angio::diagnose
