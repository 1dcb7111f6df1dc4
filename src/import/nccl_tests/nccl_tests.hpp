// Results of nccl-tests and rccl-tests, from the text they print (with whatever launchers, NCCL's log and
// people put around it, several tables in one file) and from the file of their option -J. Rows as printed;
// see check.hpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "import/nccl_tests/row.hpp"
#include "model/nccl_tests.hpp"

namespace angio::import::nccl_tests {

// Line by line, so that one pass over a log feeds all of its readers.
class TableReader {
 public:
  explicit TableReader(std::uint32_t place) : place_(place) {}

  void read(std::uint32_t number, std::string_view line);
  std::vector<model::NcclTestsTable> take();
  // Rows and tables beyond what one file is expected to hold.
  [[nodiscard]] std::uint64_t left_out() const { return left_out_; }

 private:
  bool read_comment(std::uint32_t number, std::string_view line);
  bool read_start(std::uint32_t number, std::string_view line);
  bool read_device(std::uint32_t number, std::string_view line);
  bool read_footer(std::uint32_t number, std::string_view line);
  void read_configuration(std::string_view line);
  void read_error(std::uint32_t number, std::string_view line);
  void read_row(std::uint32_t number, std::string_view line);
  void hear_program(std::string_view line);
  model::NcclTestsTable& open(std::uint32_t number, bool fresh);
  void close();

  std::uint32_t place_;
  std::vector<model::NcclTestsTable> tables_;
  model::NcclTestsTable current_;
  Columns columns_;
  bool is_open_ = false;
  bool has_titles_ = false;
  bool has_footer_ = false;
  std::string program_;  // the last program a command line named
  std::string library_;  // "NCCL version 2.26.6+cuda12.8" among the lines of the table
  std::uint64_t left_out_ = 0;
};

// The file of -J, schema versions 1 to 3.
bool looks_like_json(std::string_view bytes);
Result<model::NcclTestsTable> parse_json_table(std::string_view bytes, const std::string& name,
                                               std::uint32_t place);

}  // namespace angio::import::nccl_tests
