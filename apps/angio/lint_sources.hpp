// What `angio lint` reads: files, folders, this environment, processes, settings of snapshots. Reading only.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "lint/lint.hpp"

namespace angio::app {

struct LintSources {
  std::vector<std::string> files;  // "-" is standard input; folders are walked
  bool environment = false;
  std::vector<std::uint32_t> processes;
  std::vector<std::string> snapshots;
};

struct LintInput {
  std::vector<lint::Script> scripts;
  std::vector<model::Machine> machines;
  std::string nccl_version;  // of a process or snapshot; empty: not seen, or several
  std::string nccl_version_source;
};

Result<LintInput> read_lint_sources(const LintSources& sources);

}  // namespace angio::app
