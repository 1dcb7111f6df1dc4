#include "import/smi_topo/header.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.hpp"
#include "import/lines.hpp"
#include "import/smi_topo/matrix.hpp"

namespace angio::import::smi_topo {
namespace {

constexpr std::array<std::string_view, 3> kColumns{"CPU Affinity", "NUMA Affinity", "GPU NUMA ID"};

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

std::string_view leading_column(std::string_view text) {
  const auto found = std::ranges::find_if(kColumns, [&](auto title) { return text.starts_with(title); });
  return found != kColumns.end() ? *found : std::string_view();
}

// The line ends inside a title: "CPU Aff", cut at the edge of a terminal.
bool is_cut_column(std::string_view text) {
  return std::ranges::any_of(kColumns, [&](auto title) { return title.starts_with(text); });
}

std::string_view leading_device(std::string_view text, bool first) {
  for (const std::string_view stem : {std::string_view("GPU"), std::string_view("NIC")}) {
    if (const auto label = leading_numbered(text, stem); !label.empty()) return label;
  }
  const std::string_view word = text.substr(0, std::min(text.find_first_of(" \t"), text.size()));
  return !first && is_device_name(word) ? word : std::string_view();
}

}  // namespace

std::string_view leading_numbered(std::string_view text, std::string_view stem) {
  if (!text.starts_with(stem)) return {};
  std::size_t end = stem.size();
  while (end < text.size() && text[end] >= '0' && text[end] <= '9')
    ++end;
  return end > stem.size() ? text.substr(0, end) : std::string_view();
}

bool is_device_name(std::string_view word) {
  if (word.empty() || std::isalpha(static_cast<unsigned char>(word[0])) == 0) return false;
  if (!std::ranges::all_of(word, is_name_character) || is_path_word(word) || is_p2p_word(word)) return false;
  return std::ranges::any_of(word, [](char c) { return c >= '0' && c <= '9'; });
}

std::optional<Header> parse_header(std::string_view line, bool continued) {
  Header header;
  if (line.size() < 4 || (!continued && line.find("GPU") == std::string_view::npos)) return std::nullopt;
  std::string_view text = trim(line);
  if (!continued && leading_numbered(text, "GPU").empty()) return std::nullopt;
  while (!text.empty()) {
    if (const auto column = leading_column(text); !column.empty()) {
      header.columns.push_back(column);
      text = trim(text.substr(column.size()));
      continue;
    }
    const bool in_columns = !header.columns.empty();
    const auto device = in_columns ? std::string_view() : leading_device(text, header.devices.empty());
    if (device.empty()) {
      if (!is_cut_column(text)) return std::nullopt;
      break;
    }
    header.devices.push_back(device);
    text = trim(text.substr(device.size()));
  }
  const std::size_t parts = header.devices.size() + header.columns.size();
  if (parts < (continued ? 1 : 2)) return std::nullopt;
  return header;
}

std::string_view without_prefix(std::string_view line) {
  std::string_view text = trim(line);
  for (int i = 0; i < 2; ++i) {
    const std::size_t end = std::min(text.find_first_of(" \t"), text.size());
    const std::string_view word = text.substr(0, end);
    const bool host = word.size() > 1 && word.ends_with(':');
    if (word != ">" && word != "|" && !host) break;
    text = trim(text.substr(end));
  }
  return text;
}

}  // namespace angio::import::smi_topo
