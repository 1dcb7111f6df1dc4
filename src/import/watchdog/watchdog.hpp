// Lines of PyTorch's NCCL process groups in a job's log, whatever launcher prefixed them: the watchdog's
// timeouts with their collective, the progress of each rank, desynchronisation reports, errors that NCCL
// returned. Line by line.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "model/nccl_watchdog.hpp"

namespace angio::import::watchdog {

class LineReader {
 public:
  // Lines of several files, each with its own place.
  void read(std::uint32_t place, std::uint32_t number, std::string_view line);
  [[nodiscard]] bool empty() const { return report_.lines == 0; }
  [[nodiscard]] std::uint64_t lines() const { return report_.lines; }
  [[nodiscard]] model::WatchdogReport take() { return std::move(report_); }

 private:
  bool read_timeout(const model::Source& source, std::string_view line);
  bool read_progress(const model::Source& source, std::string_view line);
  bool read_error(const model::Source& source, std::string_view line);
  bool read_result(const model::Source& source, std::string_view line);
  bool read_launcher(const model::Source& source, std::string_view line);
  void read_exception(const model::Source& source, std::string_view line);
  void add_error(model::WatchdogError error);

  model::WatchdogReport report_;
  std::set<std::pair<std::string, std::string>>
      seen_;                             // what was kept: kind and rank, so that echoes are not
  std::uint32_t expect_last_error_ = 0;  // the line after "Last error:"
  std::uint32_t place_ = 0;
  bool ended_ = false;  // a task of Slurm has ended, or the step is being cancelled: later deaths follow
};

}  // namespace angio::import::watchdog
