#include "import/nvbandwidth/nvbandwidth.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "import/lines.hpp"

namespace angio::import::nvbandwidth {
namespace {

using model::NvbandwidthRun;
using model::NvbandwidthTest;

constexpr std::size_t kLongestLine = 8192;  // 72 GPUs in a row
constexpr std::size_t kLongestText = 200;
// Hostile files hold any number of anything.
constexpr std::size_t kMostRuns = 1024;
constexpr std::size_t kMostTests = 4096;  // of all runs
constexpr std::size_t kMostGpus = 4096;
constexpr std::size_t kMostRows = 4096;      // of a matrix
constexpr std::size_t kMostCells = 1 << 22;  // of all matrices

std::string short_text(std::string_view text) {
  return printable(trim(text).substr(0, kLongestText));
}

bool after(std::string_view line, std::string_view mark, std::string& into) {
  if (!line.starts_with(mark)) return false;
  into = short_text(line.substr(mark.size()));
  return true;
}

bool is_test_name(std::string_view word) {
  return !word.empty() && contains(word, "_") && word.find_first_of("/\\ ()") == std::string_view::npos;
}

class Reader {
 public:
  void read(std::uint32_t number, std::string_view raw) {
    const std::string_view line = trim(raw);
    if (line.starts_with("nvbandwidth Version:") || line.starts_with("nvbandwidth v"))
      return begin(number, line);
    if (line.starts_with("Running ") && line.ends_with(".") && is_test_name(line.substr(8, line.size() - 9)))
      return begin_test(number, line.substr(8, line.size() - 9));
    if (!is_open_) return;
    if (after(line, "CUDA Runtime Version:", run_.cuda) || after(line, "Driver Version:", run_.driver))
      return;
    if (read_device(line) || read_end(line)) return;
    if (test_ == nullptr) return;
    if (contains(line, "(row)")) {
      // A test of both directions prints a matrix of each, and of their sum.
      if (!test_->description.empty()) begin_test(number, std::string(test_->name));
      if (test_ == nullptr) return;
      test_->description = short_text(line);
      test_->latency = contains(line, "(ns)") || contains(line, "latency");
      return;
    }
    read_row(line);
  }

  std::vector<NvbandwidthRun> take() {
    close();
    return std::move(runs_);
  }

 private:
  void begin(std::uint32_t number, std::string_view line) {
    close();
    is_open_ = true;
    run_.line = number;
    const std::size_t colon = line.find(':');
    run_.version = short_text(colon == std::string_view::npos ? line.substr(12) : line.substr(colon + 1));
  }

  void begin_test(std::uint32_t number, std::string_view name) {
    if (!is_open_) {
      is_open_ = true;
      run_.line = number;
    }
    test_ = nullptr;
    titles_ = 0;
    if (++tests_ > kMostTests) return;
    run_.tests.push_back({});
    test_ = &run_.tests.back();
    test_->name = short_text(name);
    test_->line = number;
  }

  // "Device 0: NVIDIA GH200 480GB (00000009:01:00)"
  bool read_device(std::string_view line) {
    if (!line.starts_with("Device ")) return false;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos || !is_digits(line.substr(7, colon - 7))) return false;
    const std::size_t bracket = line.rfind(" (");
    const std::size_t length = bracket == std::string_view::npos || bracket < colon ? line.size() : bracket;
    if (run_.gpus.size() < kMostGpus)
      run_.gpus.push_back(short_text(line.substr(colon + 1, length - colon - 1)));
    return true;
  }

  // "SUM host_to_device_memcpy_ce 1985.60", "Waived:", an error.
  bool read_end(std::string_view line) {
    if (line.starts_with("SUM ")) {
      const std::vector<std::string_view> words = split_words(line);
      if (test_ != nullptr && words.size() == 3 && words[1] == test_->name)
        test_->sum = parse_double(words[2]);
      test_ = nullptr;
      return true;
    }
    if (line.starts_with("Waived")) {
      ++run_.waived;
      if (test_ != nullptr && test_->matrix.empty()) test_->status = "Waived";
      return true;
    }
    const bool error = contains(line, "CUDA_ERROR") || contains(line, "ERROR:") || contains(line, "Error:");
    if (!error) return false;
    if (test_ != nullptr && test_->error.empty()) {
      test_->error = short_text(line);
      test_->status = "Error";
    } else if (test_ == nullptr && run_.error.empty()) {
      run_.error = short_text(line);
    }
    return true;
  }

  // " 0    369.36    269.33    412.11" under a line with the numbers of the columns.
  void read_row(std::string_view line) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.empty()) return;
    const bool titles = titles_ == 0 && std::ranges::all_of(words, is_digits);
    if (titles) {
      titles_ = words.size();
      return;
    }
    if (titles_ == 0 || words.size() != titles_ + 1) return;
    if (!is_digits(words[0]) || test_->matrix.size() >= kMostRows) return;
    std::vector<std::optional<double>> row;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (++cells_ > kMostCells) return;
      row.push_back(parse_double(words[i]));
    }
    test_->matrix.push_back(std::move(row));
  }

  void close() {
    const bool worth = is_open_ && (!run_.tests.empty() || !run_.gpus.empty() || !run_.error.empty());
    if (worth && runs_.size() < kMostRuns) runs_.push_back(std::move(run_));
    run_ = {};
    test_ = nullptr;
    titles_ = 0;
    is_open_ = false;
  }

  std::vector<NvbandwidthRun> runs_;
  NvbandwidthRun run_;
  NvbandwidthTest* test_ = nullptr;  // in run_, until the next is added
  std::size_t titles_ = 0;
  std::size_t tests_ = 0;
  std::size_t cells_ = 0;
  bool is_open_ = false;
};

}  // namespace

std::vector<NvbandwidthRun> parse(std::string_view bytes) {
  const std::string cleaned = clean_terminal(bytes);
  Reader reader;
  for (const Line& line : number_lines(cleaned))
    reader.read(line.number, line.text.substr(0, kLongestLine));
  return reader.take();
}

bool looks_like(std::string_view bytes) {
  constexpr std::size_t kHead = std::size_t{1} << 20U;
  const std::string_view head = bytes.substr(0, kHead);
  if (contains(head, "nvbandwidth Version:")) return true;
  return contains(head, "(row)") && contains(head, "Running ") && contains(head, "memcpy");
}

}  // namespace angio::import::nvbandwidth
