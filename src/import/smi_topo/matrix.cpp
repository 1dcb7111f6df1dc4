#include "import/smi_topo/matrix.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <unordered_set>
#include <utility>

#include "base/text.hpp"
#include "import/smi_topo/header.hpp"

namespace angio::import::smi_topo {
namespace {

// Bounds for hostile text; the largest nodes list about 40 devices, and people paste a few tables.
constexpr std::size_t kMaxMatrices = 16;

constexpr std::array<std::string_view, 8> kPathWords{"X", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS", "SOC"};
constexpr std::array<std::string_view, 7> kP2pWords{"OK", "CNS", "GNS", "TNS", "NS", "DR", "U"};

bool is_numbered(std::string_view word, std::string_view stem) {
  return word.starts_with(stem) && is_digits(word.substr(stem.size()));
}

// What stands behind the cells: CPU lists, node numbers, N/A. Damaged ones ("-31,64-95") too.
bool is_affinity_word(std::string_view word) {
  return word == "N/A" || word == "None" || (word[0] >= '0' && word[0] <= '9') || word[0] == '-';
}

bool is_cell_word(std::string_view word) {
  return is_path_word(word) || is_p2p_word(word);
}

std::string_view take_word(std::string_view& text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) {
    text = {};
    return {};
  }
  const std::size_t end = std::min(text.find_first_of(" \t\r", begin), text.size());
  const std::string_view word = text.substr(begin, end - begin);
  text.remove_prefix(end);
  return word;
}

std::string_view peek_word(std::string_view text) {
  return take_word(text);
}

// "SYS  = Connection …", "NV#  = …", "OK   = Status Ok".
bool is_legend(std::string_view text) {
  const std::string_view word = take_word(text);
  const std::string_view equals = take_word(text);
  return equals == "=" && (is_cell_word(word) || word == "NV#");
}

bool is_heading(std::string_view text) {
  text = trim(text);
  return text == "Legend:" || text == "NIC Legend:";
}

class Reader {
 public:
  MatrixText read(const std::vector<Line>& lines) {
    for (const Line& line : lines)
      take(line);
    return std::move(text_);
  }

 private:
  void take(const Line& line) {
    if (is_blank(line.text)) {
      open_ = false;
    } else if (!take_command(line) && !take_table_line(line, line.text) &&
               !take_table_line(line, without_prefix(line.text)) && !take_legend(line.text) &&
               !take_legend(without_prefix(line.text)) && !take_continuation(line)) {
      open_ = false;
      text_.not_understood.push_back(line);
    }
  }

  bool take_command(const Line& line) {
    const std::size_t start = line.text.find("nvidia-smi");
    if (start == std::string_view::npos || !contains(line.text.substr(start), "topo")) return false;
    command_ = line.text.substr(start);
    open_ = false;
    return true;
  }

  bool take_table_line(const Line& line, std::string_view text) {
    return take_header(line, text) || take_row(line, text);
  }

  bool take_header(const Line& line, std::string_view text) {
    const auto header = parse_header(text, false);
    if (!header) return false;
    if (open_ && current_ != nullptr && current_->rows.empty() && !known_.contains(header->devices[0])) {
      return continue_header(line, *header);
    }
    open_matrix(line, *header);
    return true;
  }

  void open_matrix(const Line& line, const Header& header) {
    open_ = true;
    known_.clear();
    if (text_.matrices.size() == kMaxMatrices) {
      text_.further.push_back(line.number);
      overflow_ = Matrix{};
      current_ = &overflow_;
    } else {
      current_ = &text_.matrices.emplace_back();
    }
    current_->line = line.number;
    current_->command = std::exchange(command_, {});
    add_to_header(header);
  }

  void add_to_header(const Header& header) {
    for (const std::string_view device : header.devices) {
      if (current_->devices.size() == kMaxDevices) {
        ++current_->too_many_devices;
      } else if (known_.insert(device).second) {
        current_->devices.push_back(device);
      }
    }
    current_->columns.insert(current_->columns.end(), header.columns.begin(), header.columns.end());
    if (current_->columns.size() > 3) current_->columns.resize(3);
  }

  bool continue_header(const Line& line, const Header& header) {
    add_to_header(header);
    text_.joined.push_back(line.number);
    return true;
  }

  bool take_row(const Line& line, std::string_view text) {
    if (current_ == nullptr) return false;
    std::string_view rest = text;
    const std::string_view label = take_word(rest);
    const bool device = known_.contains(label) || is_gpu_label(label) || is_nic_label(label) ||
                        (is_device_name(label) && is_cell_word(peek_word(rest)));
    const std::string_view second = peek_word(rest);
    if (!device || (!second.empty() && !is_cell_word(second) && !known_.contains(label))) return false;
    if (label.ends_with(':')) return false;
    MatrixRow row{label, line.number, {}, {}};
    take_cells(row, rest);
    if (current_ == &overflow_) return true;
    current_->rows.push_back(std::move(row));
    open_ = true;
    return true;
  }

  void take_cells(MatrixRow& row, std::string_view rest) const {
    while (row.cells.size() < current_->devices.size()) {
      std::string_view after = rest;
      const std::string_view word = take_word(after);
      if (word.empty() || is_affinity_word(word)) break;
      row.cells.push_back(word);
      rest = after;
    }
    row.rest = rest;
  }

  bool take_legend(std::string_view text) {
    if (is_heading(text) || is_legend(text)) {
      open_ = false;
      return true;
    }
    KeyValue pair;
    if (!split_key_value(text, ":", pair) || !is_nic_label(pair.key) || !is_device_name(pair.value))
      return false;
    text_.nic_names.emplace(pair.key, pair.value);
    return true;
  }

  // The rest of a line that a terminal wrapped.
  bool take_continuation(const Line& line) {
    if (!open_ || current_ == nullptr) return false;
    if (current_->rows.empty()) {
      const auto header = current_->columns.empty() ? parse_header(line.text, true) : std::nullopt;
      return header && continue_header(line, *header);
    }
    MatrixRow& row = current_->rows.back();
    const bool wants_cells = row.cells.size() < current_->devices.size();
    const std::string_view word = peek_word(line.text);
    if (!is_blank(row.rest) || (!is_affinity_word(word) && !(wants_cells && is_cell_word(word))))
      return false;
    take_cells(row, line.text);
    text_.joined.push_back(line.number);
    return true;
  }

  MatrixText text_;
  Matrix overflow_;
  Matrix* current_ = nullptr;
  std::unordered_set<std::string_view> known_;
  std::string_view command_;
  bool open_ = false;  // the line above belongs to the table
};

}  // namespace

bool is_gpu_label(std::string_view word) {
  return is_numbered(word, "GPU");
}

bool is_nic_label(std::string_view word) {
  return is_numbered(word, "NIC");
}

bool is_path_word(std::string_view word) {
  return std::ranges::find(kPathWords, word) != kPathWords.end() || is_numbered(word, "NV");
}

bool is_p2p_word(std::string_view word) {
  return std::ranges::find(kP2pWords, word) != kP2pWords.end();
}

bool is_header(std::string_view line) {
  return parse_header(line, false).has_value() || parse_header(without_prefix(line), false).has_value();
}

MatrixText read_matrices(const std::vector<Line>& lines) {
  return Reader().read(lines);
}

}  // namespace angio::import::smi_topo
