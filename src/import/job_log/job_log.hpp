// Logs of jobs and of the kernel to the facts about memory in them: dmesg, PyTorch, NCCL, Slurm, containers.
// Line by line, so a cut or mixed file gives what it holds. Not a reader of NCCL's decisions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "import/draft.hpp"
#include "import/lines.hpp"
#include "model/machine.hpp"

namespace angio::import::job_log {

// True when at least one line speaks of memory that could not be had.
bool looks_like(const std::vector<Line>& lines);

model::Machine import_log(const std::vector<Line>& lines, const std::string& name, Draft draft);

// Line by line, for a log that other readers read too. Lines are without escapes of a terminal.
class MemoryReader {
 public:
  explicit MemoryReader(std::uint32_t place) : place_(place) {}

  void read(std::uint32_t number, std::string_view line);
  // By kind and constraint, in the order of their first line; the reader is empty afterwards.
  std::vector<model::MemoryEvent> take() { return std::move(events_); }

 private:
  void add(model::MemoryEvent event);

  std::uint32_t place_;
  std::uint32_t pinning_ = 0;  // the last line that named page-locked memory; 0: none yet
  std::vector<model::MemoryEvent> events_;
};

}  // namespace angio::import::job_log
