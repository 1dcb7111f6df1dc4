#include "lint/readers/source.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace angio::lint::readers {
namespace {

// Enough for people's scripts; a hostile file gets no deeper.
constexpr int kMaxDepth = 8;
constexpr std::size_t kMaxNotes = 20;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

Decoded decode_c(std::string_view text, std::size_t position) {
  switch (text[position + 1]) {
    case 'n':
      return {'\n', 2};
    case 't':
      return {'\t', 2};
    case '"':
    case '\'':
    case '\\':
    case '/':
      return {text[position + 1], 2};
    default:
      return {'\\', 1};
  }
}

}  // namespace

Decoded decode(std::string_view text, std::size_t position, std::size_t end, Escapes escapes) {
  const char c = text[position];
  const bool more = position + 1 < end;
  if (c == '\r' && more && text[position + 1] == '\n') return {'\n', 2};
  if (escapes == Escapes::kPlain || !more) return {c, 1};
  const char next = text[position + 1];
  if (escapes == Escapes::kDoubledQuote) return c == '\'' && next == '\'' ? Decoded{c, 2} : Decoded{c, 1};
  if (c != '\\') return {c, 1};
  if (escapes == Escapes::kCString) return decode_c(text, position);
  return next == '"' || next == '$' || next == '`' || next == '\\' ? Decoded{next, 2} : Decoded{c, 1};
}

bool is_name(std::string_view text) {
  return !text.empty() && is_letter(text[0]) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

bool is_variable_like(std::string_view text) {
  return is_name(text) && text.find('_') != std::string_view::npos &&
         std::ranges::none_of(text, [](char c) { return c >= 'a' && c <= 'z'; });
}

Source::Source(Script& script) : script_(script) {
  line_starts_.push_back(0);
  for (std::size_t i = script.text.find('\n'); i != std::string::npos; i = script.text.find('\n', i + 1)) {
    line_starts_.push_back(i + 1);
  }
}

Place Source::place(std::size_t offset, std::size_t length) const {
  offset = std::min(offset, text().size());
  length = std::min(length, text().size() - offset);
  const auto after = std::ranges::upper_bound(line_starts_, offset);
  const auto line = static_cast<std::size_t>(after - line_starts_.begin());
  return {static_cast<std::uint32_t>(line), static_cast<std::uint32_t>(offset - line_starts_[line - 1] + 1),
          offset, length};
}

std::size_t Source::line_begin(std::size_t offset) const {
  return *(std::ranges::upper_bound(line_starts_, std::min(offset, text().size())) - 1);
}

std::size_t Source::line_end(std::size_t offset) const {
  const auto after = std::ranges::upper_bound(line_starts_, std::min(offset, text().size()));
  return after == line_starts_.end() ? text().size() : *after - 1;
}

Place Source::whole_line(std::size_t offset) const {
  const std::size_t begin = line_begin(offset);
  return place(begin, std::min(line_end(offset) + 1, text().size()) - begin);
}

void Source::note(std::size_t offset, std::string_view words) {
  if (script_.notes.size() > kMaxNotes) return;
  if (script_.notes.size() == kMaxNotes) {
    script_.notes.emplace_back("and more of the kind");
    return;
  }
  script_.notes.push_back(fmt::format("line {}: {}", place(offset, 0).line, words));
}

void Source::queue(Range range) {
  if (range.begin >= range.end) return;
  if (++range.depth > kMaxDepth) {
    note(range.begin, "commands nested too deeply, not read");
    return;
  }
  pending_.push_back(std::move(range));
}

void Source::finish() {
  while (!pending_.empty()) {
    const Range range = std::move(pending_.back());
    pending_.pop_back();
    read_shell(*this, range);
  }
  for (Setting& setting : script_.settings) {
    if (!setting.exported) setting.exported = exported_.contains(setting.name);
  }
  std::ranges::stable_sort(script_.settings, {}, [](const Setting& s) { return s.name_place.offset; });
  std::ranges::stable_sort(script_.commands, {}, [](const Command& c) { return c.place.offset; });
  std::ranges::stable_sort(script_.directives, {}, [](const Directive& d) { return d.place.offset; });
}

Setting make_setting(const Source& source, const RawWord& word, std::string_view via) {
  Setting setting;
  const std::string& text = word.word.text;
  std::size_t name_length = word.equals - word.name_begin;
  setting.name = text.substr(0, word.equals_text);
  setting.value = text.substr(word.equals_text + 1);
  setting.dynamic = word.word.dynamic;
  if (setting.name.ends_with('+')) {  // NAME+=value appends to what is not known
    setting.name.pop_back();
    --name_length;
    setting.dynamic = true;
  }
  setting.via = std::string(via);
  setting.name_place = source.place(word.name_begin, name_length);
  setting.value_place = source.place(word.equals + 1, word.value_end - word.equals - 1);
  setting.statement_place = source.place(word.word.place.offset, 0);
  return setting;
}

RawWord make_word(const Source& source, std::size_t begin, std::size_t end, Escapes escapes) {
  RawWord word;
  word.word.place = source.place(begin, end - begin);
  word.name_begin = begin;
  word.value_end = end;
  word.bare = true;
  word.escapes = escapes;
  for (std::size_t i = begin; i < end;) {
    const Decoded c = decode(source.text(), i, end, escapes);
    if (c.character == '=' && word.equals == kNone) {
      word.equals = i;
      word.equals_text = word.word.text.size();
    }
    word.word.text += c.character;
    i += c.length;
  }
  return word;
}

void add_list(Source& source, const RawWord& word, std::size_t from, char separator, std::string_view via) {
  const std::size_t end = word.value_end;
  for (std::size_t begin = from; begin < end;) {
    const std::size_t stop =
        begin + std::min(source.text().substr(begin, end - begin).find(separator), end - begin);
    RawWord part = make_word(source, begin, stop, Escapes::kPlain);
    part.word.dynamic = part.word.text.find('$') != std::string::npos;
    if (part.equals != kNone && is_name(std::string_view(part.word.text).substr(0, part.equals_text))) {
      source.add(make_setting(source, part, via));
    }
    begin = stop + 1;
  }
}

}  // namespace angio::lint::readers
