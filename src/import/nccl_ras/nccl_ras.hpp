// Answers of NCCL's RAS service as ncclras prints them: the text of STATUS and VERBOSE STATUS (2.24 and
// newer), the JSON of 2.28.7 and newer, events of the monitor in both forms. Several answers in one file are
// several reports.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/nccl_ras.hpp"

namespace angio::import::nccl_ras {

class RasReader {
 public:
  explicit RasReader(std::uint32_t place) : place_(place) {}

  void read(std::uint32_t number, std::string_view line);
  std::vector<model::RasReport> take();

 private:
  enum class Section : std::uint8_t { kNone, kSummary, kGroups, kErrors, kWarnings };

  void read_line(std::uint32_t number, std::string_view line);
  bool read_version(std::uint32_t number, std::string_view line);
  bool read_heading(std::uint32_t number, std::string_view line);
  bool read_event(std::uint32_t number, std::string_view line);
  void read_counts(std::string_view line);
  void read_group(std::uint32_t number, std::string_view line);
  void read_trouble(std::uint32_t number, std::string_view line);
  void read_communicator_line(std::uint32_t number, std::string_view line);
  void read_mismatch(std::uint32_t number, std::string_view line, std::string_view words);
  void close();

  std::uint32_t place_;
  std::vector<model::RasReport> reports_;
  std::optional<model::RasReport> current_;
  Section section_ = Section::kNone;
  bool in_communicator_ = false;  // the lines belong to the last communicator, not to the last problem
  bool mismatch_ = false;         // of that communicator: its ranks are listed under a count
  std::string collective_;        // "AllReduce" of "different AllReduce operation counts"
};

bool looks_like_json(std::string_view bytes);
// One answer, or a stream of events.
Result<std::vector<model::RasReport>> parse_json_report(std::string_view bytes, const std::string& name,
                                                        std::uint32_t place);

}  // namespace angio::import::nccl_ras
