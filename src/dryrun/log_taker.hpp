// Inside of LogTaker, for log_taker.cpp and result.cpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dryrun/result.hpp"
#include "import/job_evidence/job_evidence.hpp"

namespace angio::dryrun {

// Where the line of an operation's mark stands; its choices follow, up to the next mark.
struct Mark {
  std::uint32_t operation = 0;
  std::uint64_t line = 0;  // from 1
};

struct LogTaker::State {
  explicit State(const std::string& name);
  void find_marks(std::string_view lines);

  import::job_evidence::Reader reader;
  std::vector<Mark> marks;  // of node 0, whose first rank prints the choices
  std::uint64_t lines = 0;  // taken so far
};

}  // namespace angio::dryrun
