#include "import/nccl_tests/nccl_tests.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "import/nccl_tests/check.hpp"

namespace angio::import::nccl_tests {
namespace {

using model::NcclTestsDevice;
using model::NcclTestsTable;

constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kLongestError = 400;
// Hostile files hold any number of anything; real ones far less.
constexpr std::size_t kMostTables = 4096;
constexpr std::size_t kMostRows = 100'000;  // of all tables of a file
constexpr std::size_t kMostDevices = 65'536;
constexpr std::size_t kMostErrors = 64;

std::string_view after(std::string_view line, std::string_view mark) {
  const std::size_t at = line.find(mark);
  return at == std::string_view::npos ? std::string_view() : trim(line.substr(at + mark.size()));
}

// The first word behind a mark.
std::string_view word_after(std::string_view line, std::string_view mark) {
  const std::string_view rest = after(line, mark);
  return rest.substr(0, rest.find_first_of(" \t,"));
}

template <typename Number>
std::optional<Number> number_after(std::string_view line, std::string_view mark) {
  return parse_integer<Number>(word_after(line, mark));
}

// 22907 is 2.29.7, 2804 is 2.8.4: NCCL_VERSION_CODE, nccl.h.
std::string version_of_code(std::string_view word) {
  const auto code = parse_integer<std::uint32_t>(word);
  if (!code || *code < 1000) return {};
  const std::uint32_t thousand = *code >= 10000 ? 10000 : 1000;
  return std::to_string(*code / thousand) + "." + std::to_string(*code % thousand / 100) + "." +
         std::to_string(*code % 100);
}

// "2.26.6+cuda12.8" of a line that NCCL prints at NCCL_DEBUG=VERSION.
std::string_view bare_version(std::string_view line) {
  std::string_view version = word_after(line, "NCCL version ");
  version = version.substr(0, version.find('+'));
  const bool plausible = !version.empty() && version[0] >= '0' && version[0] <= '9' && contains(version, ".");
  return plausible ? version : std::string_view();
}

// mpirun --tag-output puts its tag before every write of a rank, also in the middle of a row:
// "-1[1,0]<stdout>:   85.14".
std::string without_tags(std::string_view line) {
  std::string text;
  for (;;) {
    const std::size_t mark = line.find("]<std");
    const std::size_t end = mark == std::string_view::npos ? mark : line.find(':', mark);
    if (end == std::string_view::npos) break;
    const std::size_t open = line.rfind('[', mark);
    text += line.substr(0, open == std::string_view::npos ? mark : open);
    text += ' ';
    line.remove_prefix(end + 1);
  }
  return text += line;
}

}  // namespace

NcclTestsTable& TableReader::open(std::uint32_t number, bool fresh) {
  if (fresh && is_open_) close();
  if (!is_open_) {
    current_ = {};
    current_.source = {place_, number, ""};
    columns_ = {};
    is_open_ = true;
  }
  return current_;
}

void TableReader::close() {
  if (!is_open_) return;
  is_open_ = has_titles_ = has_footer_ = false;
  // Devices without a table are a start that was cut off: kept when an error tells why.
  const bool worth = !current_.rows.empty() || !current_.errors.empty() || current_.damaged_rows != 0 ||
                     current_.average || (!current_.devices.empty() && !current_.program.empty());
  if (!worth) return;
  if (tables_.size() >= kMostTables) {
    ++left_out_;
    return;
  }
  if (current_.program.empty()) current_.program = program_;
  if (current_.library_version.empty()) current_.library_version = library_;
  check_table(current_);
  tables_.push_back(std::move(current_));
}

std::vector<NcclTestsTable> TableReader::take() {
  close();
  return std::move(tables_);
}

// A command line before the table names the program when the table itself does not (before
// nccl-tests 2.17.1).
void TableReader::hear_program(std::string_view line) {
  const std::size_t at = line.find("_perf");
  if (at == std::string_view::npos) return;
  const std::size_t end = at + 5;
  if (end < line.size() && line[end] != ' ' && line[end] != '"' && line[end] != '\'') return;
  const std::size_t start = line.find_last_of(" /\"'=", at);
  const std::string_view word = line.substr(start == std::string_view::npos ? 0 : start + 1,
                                            end - (start == std::string_view::npos ? 0 : start + 1));
  if (collective_of(word) == model::NcclCollective::kUnknown) return;
  program_ = word;
}

void TableReader::read_configuration(std::string_view line) {
  current_.threads = number_after<std::uint32_t>(line, "nThread ");
  current_.gpus_per_thread = number_after<std::uint32_t>(line, "nGpus ");
  if (const auto bytes = number_after<std::uint64_t>(line, "minBytes ")) current_.minimum = Bytes{*bytes};
  if (const auto bytes = number_after<std::uint64_t>(line, "maxBytes ")) current_.maximum = Bytes{*bytes};
  current_.step = printable(word_after(line, "step: "));
  current_.warmup = number_after<std::uint32_t>(line, "warmup iters: ");
  const std::size_t warm = line.find("warmup iters: ");
  const std::string_view rest = warm == std::string_view::npos ? line : line.substr(warm + 14);
  current_.iterations = number_after<std::uint32_t>(rest, " iters: ");
  if (const auto valid = number_after<std::uint32_t>(line, "validation: ")) current_.validated = *valid != 0;
}

bool TableReader::read_start(std::uint32_t number, std::string_view line) {
  const bool used = has_titles_ || has_footer_;
  if (contains(line, "# nccl-tests version ")) {
    open(number, true).version = printable(word_after(line, "nccl-tests version "));
    current_.library_version = version_of_code(word_after(line, "nccl-library="));
    return true;
  }
  if (contains(line, "# Collective test starting:")) {
    open(number, used || !current_.program.empty()).program =
        printable(word_after(line, "Collective test starting:"));
    return true;
  }
  if (contains(line, "# nThread ")) {
    open(number, used || current_.threads.has_value());
    read_configuration(line);
    return true;
  }
  if (contains(line, "# Using devices")) {
    open(number, used || !current_.devices.empty());
    return true;
  }
  return false;
}

// "#  Rank  0 Group  0 Pid 1234 on  host01 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3"
bool TableReader::read_device(std::uint32_t number, std::string_view line) {
  if (!contains(line, " device ") || !contains(line, "Pid ")) return false;
  const auto rank = number_after<std::uint32_t>(line, "Rank ");
  const auto device = number_after<std::uint32_t>(line, " device ");
  if (!rank || !device) return false;
  if (*rank >= kMostDevices) return true;
  NcclTestsTable& table = open(number, has_titles_ || has_footer_);
  NcclTestsDevice one;
  one.rank = *rank;
  one.group = number_after<std::uint32_t>(line, "Group ").value_or(0);
  one.pid = number_after<std::uint64_t>(line, "Pid ").value_or(0);
  one.host = printable(word_after(line, " on "));
  one.device = *device;
  const std::size_t bracket = line.find('[', line.find(" device "));
  const std::size_t end = line.find(']', bracket == std::string_view::npos ? line.size() : bracket);
  if (end != std::string_view::npos) {
    one.address = printable(line.substr(bracket + 1, end - bracket - 1));
    one.name = printable(trim(line.substr(end + 1)));
  }
  table.devices.push_back(std::move(one));
  return true;
}

bool TableReader::read_footer(std::uint32_t number, std::string_view line) {
  if (contains(line, "# Out of bounds values")) {
    open(number, false).out_of_bounds = number_after<std::uint64_t>(line, "values : ");
    has_footer_ = true;
    return true;
  }
  if (contains(line, "# Avg bus bandwidth")) {
    const auto value = parse_double(word_after(line, "bandwidth    :"));
    NcclTestsTable& table = open(number, false);
    if (value && *value >= 0) table.average = BytesPerSecond{*value * 1e9};
    if (contains(line, "FAILED")) table.average_okay = false;
    if (line.find(" OK") != std::string_view::npos) table.average_okay = true;
    table.average_source = {place_, number, ""};
    has_footer_ = true;
    return true;
  }
  return false;
}

bool TableReader::read_comment(std::uint32_t number, std::string_view line) {
  if (const auto columns = parse_titles(line)) {
    open(number, has_titles_ || has_footer_);
    columns_ = *columns;
    current_.cpu_time = columns->cpu_time;
    has_titles_ = true;
    return true;
  }
  return read_start(number, line) || read_device(number, line) || read_footer(number, line);
}

// The line that names the failure counts; the chain of "Test failure" lines below it repeats it.
void TableReader::read_error(std::uint32_t number, std::string_view line) {
  const bool chain = contains(line, ": Test failure ");
  if (!chain && !contains(line, "Test NCCL failure") && !contains(line, "Test CUDA failure") &&
      !contains(line, "Test timeout"))
    return;
  NcclTestsTable& table = open(number, false);
  if (table.errors.size() >= kMostErrors || (chain && !table.errors.empty())) return;
  table.errors.push_back({printable(trim(line).substr(0, kLongestError)), {place_, number, ""}});
}

void TableReader::read_row(std::uint32_t number, std::string_view line) {
  auto parsed = parse_row(line, columns_);
  if (!parsed) return;
  NcclTestsTable& table = open(number, has_footer_);
  if (parsed->damaged) {
    ++table.damaged_rows;
    return;
  }
  if (table.rows.size() >= kMostRows) {
    ++left_out_;
    return;
  }
  parsed->row.source = {place_, number, ""};
  table.rows.push_back(std::move(parsed->row));
}

void TableReader::read(std::uint32_t number, std::string_view line) {
  if (line.size() > kLongestLine) line = line.substr(0, kLongestLine);
  if (contains(line, " NCCL INFO ") || contains(line, " NCCL TRACE ")) return;
  std::string untagged;
  if (contains(line, "]<std")) {
    untagged = without_tags(line);
    line = untagged;
  }
  const bool comment = line.find('#') != std::string_view::npos;
  if (comment && read_comment(number, line)) return;
  if (contains(line, "NCCL version ")) {
    library_ = printable(bare_version(line));
    if (is_open_ && current_.library_version.empty()) current_.library_version = library_;
    return;
  }
  hear_program(line);
  if (contains(line, "Test ")) return read_error(number, line);
  if (comment) return;
  read_row(number, line);
}

}  // namespace angio::import::nccl_tests
