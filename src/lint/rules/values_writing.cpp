// How things are typed: blanks around '=' in a shell, typographic characters from a web page, a byte order
// mark.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

// As they are encoded in UTF-8 (Unicode 15, General Punctuation and Latin-1 Supplement).
constexpr std::array<std::string_view, 4> kQuotes{"\xE2\x80\x9C", "\xE2\x80\x9D", "\xE2\x80\x98",
                                                  "\xE2\x80\x99"};
constexpr std::array<std::string_view, 4> kDashes{"\xE2\x80\x93", "\xE2\x80\x94", "\xE2\x80\x95",
                                                  "\xE2\x88\x92"};
constexpr std::string_view kHardBlank = "\xC2\xA0";
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_name(std::string_view text) {
  const auto fits = [](char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; };
  return text.size() > 1 && (text[0] < '0' || text[0] > '9') && std::ranges::all_of(text, fits);
}

// Commands of their own are rarely called like this; a lone word such as MAKE may be one.
bool is_variable(std::string_view text) {
  return is_name(text) &&
         (text.find('_') != std::string_view::npos || knowledge::find_variable(text) != nullptr);
}

std::size_t end_of(const Word& word) {
  return word.place.offset + word.place.length;
}

// NAME = value, NAME =value: the word at i is the name, the next one begins with '='.
void blanks_around(const Script& script, const Command& command, std::size_t i, bool exporting,
                   Complaints& out) {
  const Word& name = command.words[i];
  const Word& sign = command.words[i + 1];
  const Word* value = sign.text != "="               ? nullptr
                      : i + 2 < command.words.size() ? &command.words[i + 2]
                                                     : nullptr;
  const std::string written = value != nullptr ? "= " + value->text : sign.text;
  const std::string bare = value != nullptr ? value->text : sign.text.substr(1);
  auto complaint = complain(
      "env.shell.blank-around-equals", script, name.place,
      exporting ? fmt::format("export {} {}: a shell takes no blanks around '='; the value is not set",
                              name.text, shown(written))
                : fmt::format("{} {}: a blank in front of '=' makes the shell run a command called {}",
                              name.text, shown(written), name.text),
      fmt::format("{}{}={}", exporting ? "export " : "", name.text, shown(bare)));
  const std::size_t stop = value != nullptr ? value->place.offset : sign.place.offset;
  complaint.fix.push_back({end_of(name), stop - end_of(name), value != nullptr ? "=" : ""});
  out.push_back(std::move(complaint));
}

// export NCCL_DEBUG= INFO: an empty value, and INFO is the next name.
void value_cut(const Script& script, const Command& command, std::size_t i, Complaints& out) {
  const std::string name = command.words[i].text.substr(0, command.words[i].text.size() - 1);
  const Word& next = command.words[i + 1];
  if (!is_variable(name) || next.text.empty() || next.text.find('=') != std::string::npos) return;
  const bool meant =
      is_variable(next.text) ||
      std::ranges::any_of(script.settings, [&](const Setting& setting) { return setting.name == next.text; });
  if (meant) return;
  out.push_back(
      complain("env.shell.blank-around-equals", script, command.words[i].place,
               fmt::format("export {}= {}: the blank ends the value; {} is empty, and {} is taken for "
                           "another name",
                           name, shown(next.text), name, shown(next.text)),
               fmt::format("export {}={}", name, shown(next.text))));
}

void check_blanks(const Script& script, const Command& command, Complaints& out) {
  constexpr std::size_t kMostNames = 64;  // words of one export; a hostile line may have a million
  const auto& words = command.words;
  const bool exporting = words.front().text == "export";
  if (!exporting) {
    if (words.size() > 1 && words[1].text.starts_with('=') && !words[1].text.starts_with("==") &&
        is_variable(words[0].text) && words[0].place.length == words[0].text.size())
      blanks_around(script, command, 0, false, out);
    return;
  }
  for (std::size_t i = 1; i + 1 < std::min(words.size(), kMostNames); ++i) {
    if (is_name(words[i].text) && words[i + 1].text.starts_with('=')) {
      blanks_around(script, command, i, true, out);
    } else if (words[i].text.ends_with('=') && words[i].place.length == words[i].text.size()) {
      value_cut(script, command, i, out);
    }
  }
}

// Where a quote would open or close: at the ends of the word and behind '='.
bool quotes_with(std::string_view text, std::string_view quote) {
  if (text.starts_with(quote) || text.ends_with(quote)) return true;
  const std::size_t equals = text.find('=');
  return equals != std::string_view::npos && text.substr(equals + 1).starts_with(quote);
}

// What of the text a keyboard would not have typed; empty when nothing.
std::string_view odd_character(std::string_view text, bool option) {
  for (const std::string_view quote : kQuotes)
    if (quotes_with(text, quote)) return "typographic quotes";
  if (text.find(kHardBlank) != std::string_view::npos) return "a no-break space";
  const std::string_view start = text.starts_with('-') ? text.substr(1) : text;
  for (const std::string_view dash : kDashes)
    if (option && start.starts_with(dash) && start.size() > dash.size()) return "a typographic dash";
  return {};
}

void complain_of_character(const Script& script, const Place& place, std::string_view text,
                           std::string_view what, Complaints& out) {
  const std::string_view effect = what == "a typographic dash" ? "it begins no option"
                                  : what == "a no-break space"
                                      ? "it separates nothing and belongs to the word"
                                      : "they quote nothing and belong to the word";
  out.push_back(complain("text.characters.typographic", script, place,
                         fmt::format("{}: {}; {}", shown(text), what, effect),
                         "type it again by hand; it comes from a web page or a word processor"));
}

void check_characters(const Script& script, const Command& command, Complaints& out) {
  constexpr std::array<std::string_view, 8> kSpeaking{"echo", "printf", "cat", "logger",
                                                      "git",  "read",   "say", "sed"};
  if (std::ranges::find(kSpeaking, command.words.front().text) != kSpeaking.end()) return;
  for (const Word& word : command.words) {
    if (word.place.length != word.text.size()) continue;  // quoted by real quotes
    const bool assigns = word.text.find('=') != std::string::npos && command.words.front().text == "export";
    const std::string_view what = assigns ? std::string_view() : odd_character(word.text, true);
    if (what.empty()) continue;
    complain_of_character(script, word.place, word.text, what, out);
    return;
  }
}

void check_value_characters(const Script& script, const Setting& setting, Complaints& out) {
  const bool known = knowledge::find_variable(setting.name) != nullptr;
  if (setting.unset || script.kind == FileKind::kProcess || (!known && script.kind != FileKind::kShell))
    return;
  const std::string_view what = odd_character(setting.value, false);
  if (what.empty() || (!known && setting.value_place.length != setting.value.size())) return;
  complain_of_character(script, setting.value_place, setting.name + "=" + setting.value, what, out);
}

void check_mark(const Script& script, Complaints& out) {
  const bool bare = script.kind == FileKind::kShell || script.kind == FileKind::kNcclConf ||
                    script.kind == FileKind::kEnvFile;
  if (!bare || !script.text.starts_with(kByteOrderMark)) return;
  auto complaint = complain("text.file.byte-order-mark", script, Place{1, 1, 0, kByteOrderMark.size()},
                            script.kind == FileKind::kShell
                                ? "a byte order mark stands in front: the shell takes it as part of line 1"
                                : "a byte order mark stands in front: it becomes part of the first name",
                            "save the file as UTF-8 without BOM");
  complaint.fix.push_back({0, kByteOrderMark.size(), ""});
  out.push_back(std::move(complaint));
}

}  // namespace

void check_writing(const Script& script, Complaints& out) {
  check_mark(script, out);
  for (const Command& command : script.commands) {
    check_blanks(script, command, out);
    check_characters(script, command, out);
  }
  for (const Setting& setting : script.settings)
    check_value_characters(script, setting, out);
}

}  // namespace angio::lint
