// The logs of one job on their way to the facts in them: read once, piece by piece, whatever their size. Used
// by `angio log`, by `doctor --log` and for the logs inside a snapshot.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "import/job_evidence/job_evidence.hpp"
#include "model/machine.hpp"

namespace angio::app {

class JobLogs {
 public:
  void add(std::string_view bytes, const std::string& name);
  Result<void> add_file(const std::string& path);  // "-": standard input

  struct Read {
    std::vector<import::job_evidence::FileSummary> files;
    std::shared_ptr<const model::NcclEvidence> evidence;  // null: nothing of NCCL's
  };
  // Puts into the machine what the files tell: of memory, file by file, and of NCCL, all together.
  Read finish(model::Machine& machine);

 private:
  import::job_evidence::Reader reader_;
};

}  // namespace angio::app
