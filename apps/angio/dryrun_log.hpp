// --log: NCCL's own log of each run, written while it comes. A log that cannot be written costs the log,
// never the result of the run.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "output_file.hpp"

namespace angio::app::dryrun {

class RunLogs {
 public:
  // path: empty for none. Of several runs the logs are path.1, path.2 …; a device or pipe takes them all.
  RunLogs(std::string path, std::size_t runs);
  // Whether all of them could be written, before the first run.
  [[nodiscard]] Result<void> check() const;
  void begin(std::size_t run);  // from 0
  void feed(std::string_view lines);
  void finish();
  // What went wrong first.
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  [[nodiscard]] std::string name(std::size_t run) const;
  void note(Result<void> result);

  std::string path_;
  std::size_t runs_;
  bool numbered_ = false;
  std::optional<OutputFile> file_;
  std::optional<Error> problem_;
};

}  // namespace angio::app::dryrun
