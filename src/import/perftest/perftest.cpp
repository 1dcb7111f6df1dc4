#include "import/perftest/perftest.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/lines.hpp"
#include "import/perftest/columns.hpp"

namespace angio::import::perftest {
namespace {

using model::PerftestRun;
using model::PerftestSide;

constexpr std::size_t kLongestLine = 1000;
constexpr std::size_t kLongestError = 300;
// Hostile files hold any number of anything.
constexpr std::size_t kMostRuns = 65536;
constexpr std::size_t kMostRows = 1'000'000;  // of all runs
constexpr std::size_t kMostErrors = 16;       // of a run

struct Verb {
  std::string_view title;
  std::string_view program;
};
constexpr std::array kVerbs{Verb{"RDMA_Write", "ib_write"}, Verb{"RDMA_Read", "ib_read"},
                            Verb{"Send", "ib_send"}, Verb{"Atomic", "ib_atomic"},
                            Verb{"Raw_Ethernet", "raw_ethernet"}};

// "RDMA_Write Bidirectional BW Test", "Send Latency Test", "Send Post List BW Test": a line of its own.
bool read_title(std::string_view line, PerftestRun& run) {
  const std::string_view title = trim(line);
  if (!title.ends_with(" Test")) return false;
  const bool bandwidth = contains(title, " BW Test") || contains(title, " BW ");
  const bool latency = contains(title, " Latency");
  if (!bandwidth && !latency) return false;
  for (const Verb& verb : kVerbs) {
    if (!title.starts_with(verb.title)) continue;
    run.title = printable(title);
    run.latency = latency;
    run.bidirectional = contains(title, "Bidirectional");
    run.program = std::string(verb.program) + (latency ? "_lat" : "_bw");
    return true;
  }
  return false;
}

// Lines by which its programs say that something went wrong, by what is unmistakable in them.
bool is_error(std::string_view line) {
  static constexpr std::array<std::string_view, 37> kWords{"Couldn't ",
                                                           "Unable to ",
                                                           "Failed to ",
                                                           "Failed status",
                                                           "Completion with error",
                                                           "completion with error",
                                                           " not found",
                                                           "Did not detect devices",
                                                           "Cannot ",
                                                           "Can't ",
                                                           "state is Down",
                                                           "Port number ",
                                                           "ERRNO:",
                                                           "Error, ",
                                                           "ERROR",
                                                           "Invalid ",
                                                           "invalid ",
                                                           "is not supported",
                                                           "not supported",
                                                           "Unsupported",
                                                           "Problems with warm up",
                                                           "Socket connection",
                                                           "Connection refused",
                                                           "Connection timed out",
                                                           "No route to host",
                                                           "Address already in use",
                                                           "Unexpected CM event",
                                                           "rdma_resolve_addr",
                                                           "rdma_connect",
                                                           "bigger than",
                                                           "smaller than",
                                                           "should be ",
                                                           "Requested ",
                                                           "doesn't support",
                                                           "out of range",
                                                           "Segmentation fault",
                                                           "Cannot allocate memory"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return contains(line, word); });
}

// Words of perftest that only sound like trouble.
bool is_warning(std::string_view line) {
  return contains(line, "CPU Frequency is not max") || contains(line, "inline size set to") ||
         contains(line, "Conflicting CPU frequency");
}

// "Failed status 12: wr_id 0 syndrom 0x81": enum ibv_wc_status of infiniband/verbs.h.
std::string with_meaning(std::string_view line) {
  static constexpr std::array<std::string_view, 23> kStatus{
      "success",
      "local length error",
      "local QP operation error",
      "local EE context error",
      "local protection error",
      "work request flushed",
      "memory window bind error",
      "bad response",
      "local access error",
      "remote invalid request",
      "remote access error",
      "remote operation error",
      "transport retry counter exceeded: the other side did not answer",
      "receiver not ready, retries exceeded",
      "local RDD violation",
      "remote invalid RD request",
      "remote aborted",
      "invalid EE context number",
      "invalid EE context state",
      "fatal error",
      "response timeout",
      "general error",
      "tag matching error"};
  std::string text = printable(line.substr(0, kLongestError));
  constexpr std::string_view kMark = "Failed status ";
  const std::size_t at = line.find(kMark);
  if (at == std::string_view::npos) return text;
  const std::string_view rest = line.substr(at + kMark.size());
  const auto number = parse_integer<std::uint32_t>(rest.substr(0, rest.find_first_not_of("0123456789")));
  if (number && *number < kStatus.size()) text += " (" + std::string(kStatus[*number]) + ")";
  return text;
}

class Reader {
 public:
  void read(std::uint32_t number, std::string_view line) {
    if (contains(line, "Waiting for client to connect")) {
      next_side_ = PerftestSide::kServer;
      return;
    }
    PerftestRun fresh;
    if (read_title(line, fresh)) {
      begin(number, std::move(fresh));
      return;
    }
    Columns columns = parse_columns(line);
    if (!columns.list.empty()) {
      if (!is_open_) begin(number, {});
      columns_ = std::move(columns);
      current_.latency = std::ranges::find(columns_.list, Column::kMean) != columns_.list.end();
      current_.binary_megabytes = !current_.latency && columns_.unit == RateUnit::kMebibytes;
      return;
    }
    if (read_setting(line) || read_address(line) || read_table_row(number, line)) return;
    read_error(number, line);
  }

  std::vector<PerftestRun> take() {
    close();
    return std::move(runs_);
  }

 private:
  void begin(std::uint32_t number, PerftestRun fresh) {
    // Server and client of one host in one terminal: the second title comes before the first table.
    if (is_open_ && current_.rows.empty() && current_.errors.empty() && columns_.list.empty() &&
        current_.title == fresh.title) {
      current_.two_sides = true;
      return;
    }
    close();
    current_ = std::move(fresh);
    last_ = nullptr;
    current_.line = number;
    current_.side = next_side_ == PerftestSide::kUnknown ? PerftestSide::kClient : next_side_;
    next_side_ = PerftestSide::kUnknown;
    is_open_ = true;
  }

  void close() {
    if (is_open_ && runs_.size() < kMostRuns) runs_.push_back(std::move(current_));
    current_ = {};
    last_ = nullptr;
    columns_ = {};
    is_open_ = false;
  }

  // "Dual-port       : OFF          Device         : mlx5_0": two settings a line.
  bool read_setting(std::string_view line) {
    if (!is_open_ || !contains(line, " : ")) return false;
    bool known = false;
    const auto value_of = [&](std::string_view key) -> std::string {
      const std::size_t at = line.find(key);
      if (at == std::string_view::npos) return {};
      std::string_view rest = line.substr(at + key.size());
      const std::size_t colon = rest.find(':');
      if (colon == std::string_view::npos || !is_blank(rest.substr(0, colon))) return {};
      known = true;
      rest = trim(rest.substr(colon + 1));
      return printable(rest.substr(0, rest.find_first_of(" \t")));
    };
    const auto take = [](std::string& into, std::string value) {
      if (!value.empty() && into.empty()) into = std::move(value);
    };
    take(current_.device, value_of("Device"));
    take(current_.transport, value_of("Transport type"));
    take(current_.connection, value_of("Connection type"));
    take(current_.link_layer, value_of("Link type"));
    if (const auto count = parse_integer<std::uint32_t>(value_of("Number of qps")))
      current_.queue_pairs = count;
    if (const auto index = parse_integer<std::uint32_t>(value_of("GID index"))) current_.gid_index = index;
    const std::string mtu = value_of("Mtu");
    if (const auto bytes = parse_integer<std::uint64_t>(mtu.substr(0, mtu.find('['))))
      current_.mtu = Bytes{*bytes};
    for (const char* key :
         {"Dual-port", "TX depth", "RX depth", "CQ Moderation", "Max inline data", "rdma_cm QPs",
          "Data ex. method", "PCIe relax order", "ibv_wr* API", "Using SRQ", "CQE Poll Batch"})
      (void)value_of(key);
    return known;
  }

  bool read_address(std::string_view line) {
    const std::string_view text = trim(line);
    const bool local = text.starts_with("local address:");
    if (local || text.starts_with("remote address:")) {
      std::string& side = local ? current_.local : current_.remote;
      last_ = local ? &current_.local : &current_.remote;
      if (side.empty()) side = printable(trim(text.substr(text.find(':') + 1)));
      return true;
    }
    if (!text.starts_with("GID:")) return false;
    if (last_ != nullptr && !contains(*last_, "GID")) *last_ += " " + printable(text.substr(0, 80));
    return true;
  }

  bool read_table_row(std::uint32_t number, std::string_view line) {
    if (columns_.list.empty()) return false;
    model::PerftestRow row;
    const RowKind kind = parse_row(line, columns_, row);
    if (kind == RowKind::kNone) return false;
    if (kind == RowKind::kDamaged) {
      ++current_.damaged_rows;
      return true;
    }
    row.line = number;
    // Both sides print the same table at its end.
    if (!current_.rows.empty() && current_.rows.back().size == row.size &&
        current_.rows.back().average == row.average && current_.rows.back().average_us == row.average_us) {
      current_.two_sides = true;
      return true;
    }
    if (++rows_ <= kMostRows) current_.rows.push_back(std::move(row));
    return true;
  }

  void read_error(std::uint32_t number, std::string_view line) {
    if (is_warning(line) || !is_error(line)) return;
    if (!is_open_) begin(number, {});
    const std::string text = with_meaning(trim(line));
    if (current_.errors.size() < kMostErrors &&
        std::ranges::find(current_.errors, text) == current_.errors.end())
      current_.errors.push_back(text);
  }

  std::vector<PerftestRun> runs_;
  PerftestRun current_;
  Columns columns_;
  std::string* last_ = nullptr;  // in current_
  bool is_open_ = false;
  PerftestSide next_side_ = PerftestSide::kUnknown;
  std::size_t rows_ = 0;
};

}  // namespace

std::vector<PerftestRun> parse(std::string_view bytes) {
  const std::string cleaned = clean_terminal(bytes);
  Reader reader;
  for (const Line& line : number_lines(cleaned))
    reader.read(line.number, line.text.substr(0, kLongestLine));
  return reader.take();
}

bool looks_like(std::string_view bytes) {
  constexpr std::size_t kHead = 1U << 16U;
  for (const std::string_view line : split_lines(bytes.substr(0, kHead))) {
    PerftestRun run;
    if (read_title(line, run) || !parse_columns(line).list.empty()) return true;
  }
  return false;
}

}  // namespace angio::import::perftest
