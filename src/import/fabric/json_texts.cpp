#include "import/fabric/json_texts.hpp"

#include <algorithm>

#include "import/fabric/cursor.hpp"

namespace angio::import::fabric {
namespace {

// Follows brackets and strings from the start of a value.
struct Walk {
  std::string open;           // the closing brackets that are due
  std::size_t end = 0;        // behind the value; the size of the text when it is cut
  std::size_t last_part = 0;  // behind its last complete part
};

Walk walk(std::string_view text, std::size_t limit) {
  constexpr std::size_t kDeepest = 256;  // base/json reads no deeper
  Walk state;
  bool in_string = false;
  std::size_t i = 0;
  for (; i < limit; ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') ++i;
      if (c == '"') in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if ((c == '{' || c == '[') && state.open.size() < kDeepest) {
      state.open += c == '{' ? '}' : ']';
    } else if (c == '}' || c == ']') {
      if (!state.open.empty()) state.open.pop_back();
      if (state.open.empty()) break;
    } else if (c == ',') {
      state.last_part = i;
    }
  }
  state.end = std::min(i + 1, limit);
  return state;
}

std::string mended(std::string_view text, std::size_t last_part) {
  const Walk state = walk(text, last_part);
  std::string whole(text.substr(0, last_part));
  whole.append(state.open.rbegin(), state.open.rend());
  return whole;
}

// A bracket that starts a value: "[root@gpu-a ~]# " and "[0]" do not.
bool starts_value(std::string_view text) {
  const std::size_t next = text.find_first_not_of(" \t\r\n", 1);
  if (next == std::string_view::npos) return false;
  const char c = text[next];
  return text[0] == '{' ? c == '"' || c == '}' : c == '{' || c == '[' || c == ']' || c == '"';
}

std::size_t find_start(std::string_view text, std::size_t from) {
  for (std::size_t at = text.find_first_of("{[", from); at != std::string_view::npos;
       at = text.find_first_of("{[", at + 1)) {
    if (starts_value(text.substr(at))) return at;
  }
  return std::string_view::npos;
}

}  // namespace

std::vector<JsonText> find_json(std::string_view text) {
  constexpr std::size_t kMostValues = 100000;
  std::vector<JsonText> found;
  std::uint32_t line = 1;
  std::size_t counted = 0;
  std::size_t from = 0;
  while (found.size() < kMostValues) {
    const std::size_t start = find_start(text, from);
    if (start == std::string_view::npos) break;
    line += static_cast<std::uint32_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(counted),
                                                  text.begin() + static_cast<std::ptrdiff_t>(start), '\n'));
    counted = start;
    const std::string_view rest = text.substr(start);
    const Walk state = walk(rest, rest.size());
    JsonText next;
    next.before = text.substr(from, start - from);
    next.line = line;
    next.is_cut = !state.open.empty();
    auto value =
        next.is_cut ? parse_json(mended(rest, state.last_part)) : parse_json(rest.substr(0, state.end));
    if (value) {
      next.value = std::move(*value);
    } else {
      next.problem = value.error().message;
    }
    found.push_back(std::move(next));
    from = start + state.end;
  }
  return found;
}

}  // namespace angio::import::fabric
