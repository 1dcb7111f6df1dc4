#include "lint/ignore.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.hpp"
#include "knowledge/variables.hpp"
#include "lint/rule.hpp"

namespace angio::lint {
namespace {

constexpr std::string_view kMarker = "angio: ignore";

struct Ignore {
  std::uint32_t first = 0;  // lines, from 1
  std::uint32_t last = 0;
};

// What one file silences: a rule on ranges of lines, or everywhere.
struct Silenced {
  std::map<std::string, std::vector<Ignore>, std::less<>> lines;  // in the order of the file
  std::set<std::string, std::less<>> everywhere;
};

bool is_separator(char c) {
  return c == ' ' || c == ',' || c == '\t' || c == '\r';
}

bool is_rule_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

class Reader {
 public:
  Reader(const Script& script, std::vector<Complaint>& complaints)
      : script_(script), complaints_(complaints) {}

  Silenced read() {
    if (!contains(script_.text, kMarker)) return {};
    lines_ = split(script_.text, '\n');
    for (std::size_t i = 0; i < lines_.size(); ++i) {
      const auto line = lines_[i];
      const auto hash = marker_of(line);
      if (hash != std::string_view::npos) comment(i, hash);
      offset_ += line.size() + 1;
    }
    return std::move(silenced_);
  }

 private:
  // The # whose comment begins with the marker.
  static std::size_t marker_of(std::string_view line) {
    const auto at = line.find(kMarker);
    if (at == std::string_view::npos || at == 0) return std::string_view::npos;
    const auto hash = line.find_last_not_of(" \t", at - 1);
    return hash != std::string_view::npos && line[hash] == '#' ? at : std::string_view::npos;
  }

  void comment(std::size_t index, std::size_t at) {
    const auto line = lines_[index];
    auto rest = line.substr(at + kMarker.size());
    const bool whole_file = rest.starts_with("-file");
    if (whole_file) rest.remove_prefix(5);
    if (!rest.empty() && !is_separator(rest.front())) return;
    auto column = static_cast<std::size_t>(rest.data() - line.data());
    while (column < line.size()) {
      if (is_separator(line[column])) {
        ++column;
        continue;
      }
      auto end = column;
      while (end < line.size() && is_rule_letter(line[end]))
        ++end;
      if (end == column || !contains(line.substr(column, end - column), "."))
        return;  // a remark behind the names
      rule(line.substr(column, end - column), index, column, whole_file);
      column = end;
    }
  }

  void rule(std::string_view name, std::size_t index, std::size_t column, bool whole_file) {
    if (knowledge::find_lint_rule(name) == nullptr) return unknown(name, index, column);
    if (whole_file) {
      silenced_.everywhere.emplace(name);
    } else {
      silenced_.lines[std::string(name)].push_back(range_of(index));
    }
  }

  void unknown(std::string_view name, std::size_t index, std::size_t column) {
    constexpr std::size_t kSuggestions = 16;  // a file of nothing else is not worth the time
    std::vector<std::string_view> names;
    if (complaints_.size() < kSuggestions)
      for (const auto& known : knowledge::lint_rules())
        names.push_back(known.id);
    const auto near = did_you_mean(name, names);
    const Place place{static_cast<std::uint32_t>(index + 1), static_cast<std::uint32_t>(column + 1),
                      offset_ + column, name.size()};
    complaints_.push_back(complain("lint.ignore.unknown-rule", script_, place,
                                   "no rule is called " + printable(name) + ": nothing is silenced",
                                   near ? "did you mean " + *near + "?" : "angio lint --rules lists them"));
  }

  static bool continues(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line.ends_with('\\');
  }

  // The line of the comment with those it is continued by; for a comment alone, the next line that is none.
  [[nodiscard]] Ignore range_of(std::size_t index) const {
    auto first = index;
    if (trim(lines_[index]).starts_with('#')) {
      while (first + 1 < lines_.size() &&
             (trim(lines_[first]).starts_with('#') || trim(lines_[first]).empty()))
        ++first;
    }
    auto last = first;
    while (first > 0 && first <= index && continues(lines_[first - 1]))
      --first;
    while (last + 1 < lines_.size() && continues(lines_[last]))
      ++last;
    return {static_cast<std::uint32_t>(first + 1), static_cast<std::uint32_t>(last + 1)};
  }

  const Script& script_;
  std::vector<Complaint>& complaints_;
  std::vector<std::string_view> lines_;
  std::size_t offset_ = 0;
  Silenced silenced_;
};

bool is_silenced(const Silenced& silenced, const Complaint& complaint) {
  if (silenced.everywhere.contains(complaint.rule)) return true;
  const auto found = silenced.lines.find(complaint.rule);
  if (found == silenced.lines.end()) return false;
  // The last range that begins at or before the line; ranges of one file do not overlap but in repeats.
  const auto& ranges = found->second;
  const auto after = std::ranges::upper_bound(ranges, complaint.place.line, {}, &Ignore::first);
  return after != ranges.begin() && std::prev(after)->last >= complaint.place.line;
}

}  // namespace

void apply_ignores(const std::vector<Script>& scripts, std::vector<Complaint>& complaints) {
  std::map<std::string, Silenced, std::less<>> files;
  std::vector<Complaint> unknown;
  for (const auto& script : scripts)
    files[script.name] = Reader(script, unknown).read();
  std::erase_if(complaints, [&](const Complaint& complaint) {
    const auto file = files.find(complaint.file);
    return file != files.end() && is_silenced(file->second, complaint);
  });
  complaints.insert(complaints.end(), std::make_move_iterator(unknown.begin()),
                    std::make_move_iterator(unknown.end()));
}

}  // namespace angio::lint
