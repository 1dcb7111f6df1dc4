// The door for everything that a job leaves about NCCL: each file is read once, whatever mixture it is, and
// feeds the readers of NCCL's log, of nccl-tests, of RAS answers, of Inspector records and of PyTorch's
// process groups. Several files are one job. Facts only.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/job.hpp"
#include "model/nccl_evidence.hpp"

namespace angio::import::job_evidence {

// What one file held.
struct FileSummary {
  std::string name;
  std::uint64_t bytes = 0;  // as stored, compressed or not
  bool gzip = false;
  std::uint64_t lines = 0;      // filled by take(), as the next
  std::uint64_t log_lines = 0;  // NCCL's own
  std::uint32_t tables = 0;
  std::uint32_t reports = 0;  // of RAS
  std::uint64_t records = 0;  // of the Inspector
  std::uint64_t watchdog_lines = 0;
  std::string trouble;  // why its JSON or its compression could not be read; empty: it could
  [[nodiscard]] bool holds_nothing() const {
    return log_lines == 0 && tables == 0 && reports == 0 && records == 0 && watchdog_lines == 0;
  }
};

struct Evidence {
  model::NcclEvidence facts;
  std::vector<FileSummary> files;
  std::vector<model::JobLog> memory;  // of each file that tells of memory; their places are those of facts
  [[nodiscard]] bool empty() const;   // nothing of NCCL's
};

class Reader {
 public:
  Reader();
  ~Reader();
  Reader(Reader&&) noexcept;
  Reader& operator=(Reader&&) noexcept;

  void begin(const std::string& name);
  // The next bytes of the file, cut anywhere. Text is never kept; JSON is, up to its end.
  void feed(std::string_view bytes);
  void end();
  // A whole file: begin, feed, end.
  void add(std::string_view bytes, const std::string& name);
  Evidence take();  // the reader is empty afterwards

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace angio::import::job_evidence
