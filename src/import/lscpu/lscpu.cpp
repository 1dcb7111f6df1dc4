#include "import/lscpu/lscpu.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/json.hpp"
#include "base/text.hpp"
#include "import/lscpu/labels.hpp"
#include "import/lscpu/table.hpp"

namespace angio::import::lscpu {
namespace {

constexpr std::string_view kRunAgain = "run 'LC_ALL=C lscpu > lscpu.txt' again and send the whole file";

class TextImport {
 public:
  explicit TextImport(Draft& draft) : draft_(draft) {}

  void take(const Line& line) {
    const std::string_view text = trim(line.text);
    if (text.empty() || table_.take(draft_, {line.number, text}) || text.starts_with('#')) return;
    if (is_command(text)) return;
    const std::size_t indent = indentation(line.text);
    KeyValue pair;
    if (!split_key_value(line.text, ":", pair) || pair.key.size() > 64 || indent > kDeepest)
      return continue_value(line);
    if (indent == 0) section_ = pair.key;
    const std::string_view section = indent == 0 ? std::string_view() : section_;
    known_ = take_label(draft_, {section, pair.key, pair.value, line.number});
    if (known_) ++labels_;
    if (!known_) draft_.note_unknown_line("lscpu", line.number, line.text);
    count_total(pair, line.number);
  }

  bool finish() {
    table_.finish(draft_);
    const std::size_t online = draft_.machine.cpus.online.size();
    if (total_ && draft_.machine.cpus.offline.is_unreadable() && online > 0 && *total_ < online) {
      draft_.note(
          "lscpu.count-differs", total_line_,
          [&] { return fmt::format("CPU(s) says {}, {} are online", *total_, online); }, kRunAgain);
    }
    if (labels_ > 0 && online == 0) {
      draft_.note("lscpu.online-missing", 0, "which CPUs are online is not in the text", kRunAgain);
    }
    return labels_ > 0 || !table_.empty();
  }

 private:
  // Values wrap below their column; labels of the newest lscpu are at most six blanks deep.
  static constexpr std::size_t kDeepest = 12;

  static bool is_command(std::string_view text) {
    return text == "lscpu" || text.ends_with(" lscpu") || text.ends_with("$lscpu") ||
           contains(text, " lscpu -");
  }

  // A wrapped value (Flags) of a label that is known.
  void continue_value(const Line& line) {
    if (known_ && indentation(line.text) > kDeepest) return;
    draft_.note_unknown_line("lscpu", line.number, line.text);
  }

  void count_total(const KeyValue& pair, std::uint32_t line) {
    if (pair.key != "CPU(s)") return;
    total_ = parse_integer<std::uint32_t>(pair.value);
    total_line_ = line;
    if (!total_) draft_.note_unknown_line("lscpu", line, pair.value);
  }

  Draft& draft_;
  Table table_;
  std::string_view section_;
  bool known_ = false;
  std::size_t labels_ = 0;
  std::optional<std::uint32_t> total_;
  std::uint32_t total_line_ = 0;
};

// lscpu -J: {"lscpu": [{"field": "Architecture:", "data": "x86_64", "children": […]}]}.
std::size_t take_json(Draft& draft, const Json& list, std::string_view section, int depth) {
  constexpr int kDeepest = 8;
  std::size_t labels = 0;
  const Json::Array* items = list.as_array();
  if (items == nullptr || depth > kDeepest) return 0;
  for (const Json& item : *items) {
    const Json* field = item.find("field");
    const Json* data = item.find("data");
    if (field == nullptr || field->as_string() == nullptr) continue;
    std::string_view name = *field->as_string();
    if (name.ends_with(':')) name.remove_suffix(1);
    const std::string_view value =
        data != nullptr && data->as_string() != nullptr ? *data->as_string() : std::string_view();
    if (take_label(draft, {section, name, value, 1})) {
      ++labels;
    } else {
      draft.note_unknown_line("lscpu", 1, name);
    }
    if (const Json* children = item.find("children")) labels += take_json(draft, *children, name, depth + 1);
  }
  return labels;
}

Result<model::Machine> import_json(std::string_view text, Draft draft) {
  auto json = parse_json(text);
  if (!json) return std::unexpected(std::move(json.error()).with_context(draft.machine.name));
  const Json* list = json->find("lscpu");
  if (list == nullptr || take_json(draft, *list, {}, 0) == 0) {
    return draft.nothing_read("{\"lscpu\": [{\"field\": …, \"data\": …}]}",
                              "run 'lscpu -J > lscpu.json' again");
  }
  return std::move(draft.machine);
}

}  // namespace

bool looks_like_json(std::string_view text) {
  return text.starts_with('{') && contains(text.substr(0, 200), "\"lscpu\"");
}

bool looks_like(const std::vector<Line>& lines) {
  int signs = 0;
  for (const Line& line : lines) {
    if (is_table_header(line.text)) return true;
    KeyValue pair;
    if (!split_key_value(line.text, ":", pair) || !is_telling_label(pair.key)) continue;
    if (++signs == 2) return true;
  }
  return false;
}

Result<model::Machine> import_lscpu(const std::vector<Line>& lines, std::string_view text, Draft draft) {
  if (looks_like_json(trim(text))) return import_json(trim(text), std::move(draft));
  TextImport import_text(draft);
  for (const Line& line : lines)
    import_text.take(line);
  if (!import_text.finish()) {
    return draft.nothing_read("English labels such as 'On-line CPU(s) list: 0-63'", kRunAgain);
  }
  return std::move(draft.machine);
}

}  // namespace angio::import::lscpu
