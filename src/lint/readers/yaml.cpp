// A tolerant reader of YAML lines: enough for name/value lists, KEY: value maps, KEY=value lists, argument
// lists and blocks of shell text. No anchors, no tags, no full grammar; templates ({{ }}) are not known
// values.
#include <algorithm>
#include <array>
#include <optional>

#include "base/text.hpp"
#include "lint/readers/source.hpp"

namespace angio::lint::readers {
namespace {

constexpr std::size_t kDeepest = 100;  // brackets; people stay below ten

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

constexpr std::array<std::string_view, 9> kScriptKeys{"run",          "script",         "entrypoint",
                                                      "setup",        "before_script",  "command",
                                                      "after_script", "startup_script", "args"};
constexpr std::array<std::string_view, 4> kArgumentKeys{"command", "args", "entrypoint", "cmd"};

bool is_one_of(std::string_view word, auto& words) {
  return std::ranges::find(words, word) != std::end(words);
}

bool is_template(std::string_view text) {
  return text.find("{{") != std::string_view::npos || text.find('$') != std::string_view::npos;
}

// A scalar with its raw place (quotes included) and decoded text.
struct Scalar {
  RawWord word;           // the inside of the quotes
  std::size_t begin = 0;  // with quotes
  std::size_t end = 0;
  bool quoted = false;
  bool alias = false;
};

// One "- name: … value: …" or {name: …, value: …}.
struct Pair {
  std::size_t column = 0;
  std::optional<Scalar> name;
  std::optional<Scalar> value;
  bool from_elsewhere = false;  // valueFrom
  bool done = false;
};

struct Parent {
  std::size_t column = 0;
  std::string key;
};

struct Arguments {
  std::size_t column = 0;
  std::vector<RawWord> words;
};

// An open bracket of a flow collection.
struct Flow {
  char opening = '[';
  std::string key;  // what the collection belongs to
  std::optional<Scalar> pending;
  Pair pair;
};

class Reader {
 public:
  explicit Reader(Source& source) : source_(source), text_(source.text()) {}
  void run();

 private:
  std::size_t line(std::size_t begin);
  std::size_t entry(std::size_t position, std::size_t column, std::size_t line_end, bool listed);
  std::size_t keyed(const Scalar& key, std::size_t position, std::size_t column, std::size_t line_end);
  std::size_t listed_scalar(std::size_t position, std::size_t dash, std::size_t line_end);
  std::size_t block(std::string_view key, std::size_t position, std::size_t column, bool listed);
  std::size_t flow(std::size_t position, std::string_view key);
  void flow_scalar(std::vector<Flow>& open, const Scalar& scalar, bool is_key);
  void close_flow(std::vector<Flow>& open);
  std::optional<Scalar> scalar(std::size_t position, std::size_t line_end, std::string_view stops);
  std::size_t quote_end(std::size_t position);
  std::size_t key_colon(std::size_t position, std::size_t line_end) const;
  void value_of(const Scalar& key, const Scalar& value, std::size_t column);
  void pair_member(Pair& pair, std::string_view key, const Scalar& value);
  void add_pair(Pair& pair);
  void add_key_value(const Scalar& key, const Scalar& value, bool whole_line);
  void add_assignment(const Scalar& scalar);
  void argument(RawWord word, std::size_t column, bool fresh);
  void flush_arguments();
  void leave(std::size_t column, bool new_item);
  std::string parent_key(std::size_t column) const;
  std::size_t skip(std::size_t position, std::size_t end) const;

  Source& source_;
  std::string_view text_;
  std::vector<Parent> parents_;
  Pair pair_;
  Arguments arguments_;
  bool unclosed_ = false;
};

std::size_t Reader::skip(std::size_t position, std::size_t end) const {
  while (position < end && is_space(text_[position]))
    ++position;
  return position;
}

// The closing quote, or the end of the line when the quote never closes.
std::size_t Reader::quote_end(std::size_t position) {
  const char quote = text_[position];
  const std::size_t line_end = source_.line_end(position);
  const std::size_t limit = unclosed_ ? line_end : text_.size();
  for (std::size_t i = position + 1; i < limit; ++i) {
    if (quote == '"' && text_[i] == '\\') {
      ++i;
    } else if (text_[i] == quote) {
      if (quote == '\'' && i + 1 < limit && text_[i + 1] == quote) {
        ++i;
      } else {
        return i;
      }
    }
  }
  if (!unclosed_) source_.note(position, "quote never closed");
  unclosed_ = true;
  return line_end;
}

// stops: characters that end a plain scalar besides " #" and the line end.
std::optional<Scalar> Reader::scalar(std::size_t position, std::size_t line_end, std::string_view stops) {
  if (position >= line_end) return std::nullopt;
  Scalar result;
  result.begin = position;
  const char first = text_[position];
  if (first == '"' || first == '\'') {
    const std::size_t close = quote_end(position);
    const bool closed = close < text_.size() && text_[close] == first;
    result.word = make_word(source_, position + 1, std::max(close, position + 1),
                            first == '"' ? Escapes::kCString : Escapes::kDoubledQuote);
    result.end = closed ? close + 1 : close;
    result.quoted = true;
  } else {
    std::size_t end = position;
    while (end < line_end && stops.find(text_[end]) == std::string_view::npos) {
      if (text_[end] == '#' && end > position && is_space(text_[end - 1])) break;
      ++end;
    }
    while (end > position && is_space(text_[end - 1]))
      --end;
    result.word = make_word(source_, position, end, Escapes::kPlain);
    result.end = end;
    result.alias = first == '*';
  }
  result.word.word.dynamic = result.alias || is_template(result.word.word.text);
  return result;
}

// The colon of "key: value" or "key:"; npos when the line is no such thing.
std::size_t Reader::key_colon(std::size_t position, std::size_t line_end) const {
  for (std::size_t i = position; i < line_end; ++i) {
    if (text_[i] == ':' && (i + 1 >= line_end || is_space(text_[i + 1]))) return i;
    if (text_[i] == '#' && i > position && is_space(text_[i - 1])) break;
    if (text_[i] == '"' || text_[i] == '{' || text_[i] == '[') break;
  }
  return kNone;
}

std::string Reader::parent_key(std::size_t column) const {
  for (auto parent = parents_.rbegin(); parent != parents_.rend(); ++parent) {
    if (parent->column <= column) return parent->key;
  }
  return {};
}

void Reader::leave(std::size_t column, bool new_item) {
  while (!parents_.empty() && (new_item ? parents_.back().column > column : parents_.back().column >= column))
    parents_.pop_back();
  if (pair_.column > column || new_item) pair_ = {};
  if (arguments_.column > column) flush_arguments();
}

void Reader::flush_arguments() {
  std::vector<RawWord> words = std::move(arguments_.words);
  arguments_ = {};
  if (words.empty()) return;
  const auto is_script = [](const RawWord& word) { return word.word.text.find('\n') != std::string::npos; };
  // Arguments of an image whose own entry point is a shell.
  const std::size_t script = words[0].word.text.starts_with('-') && words.size() > 1 ? 1 : 0;
  if (script == 1 || is_script(words[0])) {
    const RawWord& word = words[script];
    Range range;
    range.begin = word.word.place.offset;
    range.end = range.begin + word.word.place.length;
    range.escapes = word.escapes;
    range.folded = word.folded;
    if (is_script(word) || words[0].word.text.ends_with('c')) source_.queue(range);
    return;
  }
  add_argument_list(source_, std::move(words), {});
}

void Reader::argument(RawWord word, std::size_t column, bool fresh) {
  if (fresh && column != arguments_.column) flush_arguments();
  arguments_.column = column;
  arguments_.words.push_back(std::move(word));
}

Setting setting_of(const Source& source, const Scalar& name, const Scalar& value, std::string_view via) {
  Setting setting;
  setting.name = name.word.word.text;
  setting.value = value.word.word.text;
  setting.dynamic = value.word.word.dynamic;
  setting.via = std::string(via);
  setting.name_place = name.word.word.place;
  setting.value_place = source.place(value.begin, value.end - value.begin);
  setting.statement_place = source.place(name.begin, 0);
  return setting;
}

void Reader::add_pair(Pair& pair) {
  if (pair.done || !pair.name || (!pair.value && !pair.from_elsewhere)) return;
  pair.done = true;
  if (!is_name(pair.name->word.word.text)) return;
  Scalar value = pair.value.value_or(Scalar{});
  if (!pair.value) value.begin = value.end = pair.name->end;
  Setting setting = setting_of(source_, *pair.name, value, "env");
  setting.dynamic = setting.dynamic || pair.from_elsewhere;
  source_.add(std::move(setting));
}

void Reader::pair_member(Pair& pair, std::string_view key, const Scalar& value) {
  if (key == "name") {
    pair.name = value;
  } else if (key == "value") {
    pair.value = value;
  } else {
    return;
  }
  add_pair(pair);
}

void Reader::add_key_value(const Scalar& key, const Scalar& value, bool whole_line) {
  if (!is_variable_like(key.word.word.text)) return;
  Setting setting = setting_of(source_, key, value, "KEY: value");
  const bool one_line = source_.line_begin(key.begin) == source_.line_begin(value.end);
  if (whole_line && one_line) setting.statement_place = source_.whole_line(key.begin);
  source_.add(std::move(setting));
}

// "- KEY=value" in a list.
void Reader::add_assignment(const Scalar& scalar) {
  const RawWord& word = scalar.word;
  if (word.equals == kNone || !is_variable_like(std::string_view(word.word.text).substr(0, word.equals_text)))
    return;
  source_.add(make_setting(source_, word, "KEY=value"));
}

void Reader::value_of(const Scalar& key, const Scalar& value, std::size_t column) {
  const std::string_view name = key.word.word.text;
  if (name == "name" || name == "value") {
    if (pair_.column != column) pair_ = {};
    pair_.column = column;
    pair_member(pair_, name, value);
  } else if (is_one_of(name, kScriptKeys)) {
    Range range;
    range.begin = value.word.word.place.offset;
    range.end = range.begin + value.word.word.place.length;
    range.escapes = value.word.escapes;
    source_.queue(range);
  } else {
    const std::size_t begin = source_.line_begin(key.begin);
    add_key_value(key, value, skip(begin, key.begin) == key.begin);
  }
}

std::size_t Reader::block(std::string_view key, std::size_t position, std::size_t column, bool listed) {
  const bool folded = text_[position] == '>';
  std::size_t line = source_.line_end(position) + 1;
  const std::size_t begin = std::min(line, text_.size());
  std::size_t end = begin;
  while (line < text_.size()) {
    const std::size_t stop = source_.line_end(line);
    const std::size_t first = skip(line, stop);
    if (first < stop && first - line <= column) break;
    line = stop + 1;
    if (first < stop) end = std::min(line, text_.size());
  }
  if (begin >= end) return line;
  const std::string_view body = text_.substr(begin, end - begin);
  RawWord word = make_word(source_, begin, end, Escapes::kPlain);
  word.folded = folded;
  const std::string lower = to_lower(key);
  if (is_one_of(std::string_view(lower), kArgumentKeys)) {
    argument(std::move(word), listed ? arguments_.column : column, !listed);
  } else if (lower.ends_with(".conf")) {
    read_nccl_conf(source_, begin, end);
  } else if (lower.ends_with(".env")) {
    read_env_file(source_, begin, end);
  } else if (lower.ends_with(".sh") || is_one_of(std::string_view(lower), kScriptKeys) ||
             trim(body).starts_with("#!") || body.find("export ") != std::string_view::npos) {
    Range range;
    range.begin = begin;
    range.end = end;
    range.folded = folded;
    source_.queue(range);
  }
  return line;
}

void Reader::flow_scalar(std::vector<Flow>& open, const Scalar& scalar, bool is_key) {
  Flow& top = open.back();
  if (is_key) {
    top.pending = scalar;
    return;
  }
  if (top.opening == '[') {
    if (is_one_of(std::string_view(top.key), kArgumentKeys)) {
      argument(scalar.word, arguments_.column, false);
    } else {
      add_assignment(scalar);
    }
  } else if (top.pending) {
    const std::string_view key = top.pending->word.word.text;
    if (key == "name" || key == "value") {
      pair_member(top.pair, key, scalar);
    } else {
      add_key_value(*top.pending, scalar, false);
    }
    top.pending.reset();
  }
}

void Reader::close_flow(std::vector<Flow>& open) {
  open.pop_back();
  if (!open.empty()) open.back().pending.reset();
}

// From an opening bracket to behind its closing one.
std::size_t Reader::flow(std::size_t position, std::string_view key) {
  std::vector<Flow> open;
  while (position < text_.size()) {
    const char c = text_[position];
    if (c == '[' || c == '{') {
      if (open.size() > kDeepest) {
        source_.note(position, "brackets nested too deeply, not read");
        return source_.line_end(position);
      }
      std::string owner = open.empty()          ? std::string(key)
                          : open.back().pending ? open.back().pending->word.word.text
                                                : open.back().key;
      if (!open.empty() && open.back().pending && owner == "valueFrom") {
        open.back().pair.from_elsewhere = true;
        add_pair(open.back().pair);
      }
      open.push_back({c, std::move(owner), {}, {}});
      ++position;
    } else if (c == ']' || c == '}') {
      close_flow(open);
      ++position;
      if (open.empty()) return position;
    } else if (c == ',' || c == ':' || c == '\n' || is_space(c)) {
      ++position;
    } else if (c == '#' && position > 0 && (is_space(text_[position - 1]) || text_[position - 1] == '\n')) {
      position = source_.line_end(position);
    } else {
      const std::size_t line_end = source_.line_end(position);
      // A ':' inside a plain scalar ends it only in front of a blank: 10.0.0.1:29500.
      std::size_t limit = position;
      if (c != '"' && c != '\'') {
        while (limit < line_end &&
               !(text_[limit] == ':' && (limit + 1 >= line_end || is_space(text_[limit + 1])))) {
          if (std::string_view(",]}").find(text_[limit]) != std::string_view::npos) break;
          ++limit;
        }
      }
      const auto value =
          scalar(position, c == '"' || c == '\'' ? line_end : std::max(limit, position + 1), ",]}");
      const std::size_t end = value ? std::max(value->end, position + 1) : position + 1;
      const std::size_t next = skip(end, text_.size());
      const bool is_key =
          open.back().opening == '{' && !open.back().pending && next < text_.size() && text_[next] == ':';
      if (value) flow_scalar(open, *value, is_key);
      position = end;
    }
  }
  return position;
}

std::size_t Reader::listed_scalar(std::size_t position, std::size_t dash, std::size_t line_end) {
  const std::string key = parent_key(dash);
  const char c = text_[position];
  if (c == '|' || c == '>') return block(key, position, dash, true);
  if (c == '[' || c == '{') return flow(position, key);
  const auto value = scalar(position, line_end, "");
  if (!value) return line_end;
  if (is_one_of(std::string_view(key), kArgumentKeys)) {
    argument(value->word, arguments_.column, false);
  } else if (is_one_of(std::string_view(key), kScriptKeys)) {
    Range range;
    range.begin = value->word.word.place.offset;
    range.end = range.begin + value->word.word.place.length;
    range.escapes = value->word.escapes;
    source_.queue(range);
  } else {
    add_assignment(*value);
  }
  return std::max(value->end, position + 1);
}

std::size_t Reader::keyed(const Scalar& key, std::size_t position, std::size_t column, std::size_t line_end) {
  const std::string& name = key.word.word.text;
  if (is_one_of(std::string_view(name), kArgumentKeys)) {
    if (name != "args" || arguments_.column != column) flush_arguments();
    arguments_.column = column;
  }
  while (position < line_end && (text_[position] == '&' || text_[position] == '!')) {  // anchors and tags
    while (position < line_end && !is_space(text_[position]))
      ++position;
    position = skip(position, line_end);
  }
  if (position >= line_end || text_[position] == '#') {
    if (name == "valueFrom" && pair_.column == column) {
      pair_.from_elsewhere = true;
      add_pair(pair_);
    }
    parents_.push_back({column, name});
    return line_end;
  }
  const char c = text_[position];
  if (c == '|' || c == '>') return block(name, position, column, false);
  if (text_.substr(position, 2) != "{{" && (c == '[' || c == '{')) {
    if (name == "valueFrom" && pair_.column == column) {
      pair_.from_elsewhere = true;
      add_pair(pair_);
    }
    return flow(position, name);
  }
  const auto value = scalar(position, line_end, "");
  if (!value) return line_end;
  value_of(key, *value, column);
  return std::max(value->end, position + 1);
}

std::size_t Reader::entry(std::size_t position, std::size_t column, std::size_t line_end, bool listed) {
  const char first = text_[position];
  if (first == '"' || first == '\'') {
    const auto key = scalar(position, line_end, "");
    const std::size_t colon = key ? skip(key->end, line_end) : line_end;
    if (key && colon < line_end && text_[colon] == ':' &&
        (colon + 1 == line_end || is_space(text_[colon + 1]))) {
      leave(column, false);
      return keyed(*key, skip(colon + 1, line_end), column, line_end);
    }
  } else if (const std::size_t colon = key_colon(position, line_end); colon != kNone) {
    Scalar key;
    key.begin = position;
    key.end = colon;
    key.word = make_word(source_, position, colon, Escapes::kPlain);
    leave(column, false);
    return keyed(key, skip(colon + 1, line_end), column, line_end);
  }
  if (listed) return listed_scalar(position, column, line_end);
  if (first == '{' || first == '[') return flow(position, parent_key(column));
  return line_end;
}

std::size_t Reader::line(std::size_t begin) {
  const std::size_t line_end = source_.line_end(begin);
  std::size_t position = skip(begin, line_end);
  if (position >= line_end || text_[position] == '#' || text_.substr(position, 2) == "{{")
    return line_end + 1;
  if (text_.substr(begin, 3) == "---") {
    leave(0, false);
    pair_ = {};
    flush_arguments();
    return line_end + 1;
  }
  bool listed = false;
  std::size_t dash = 0;
  while (position < line_end && text_[position] == '-' &&
         (position + 1 == line_end || is_space(text_[position + 1]))) {
    dash = position - begin;
    leave(dash, true);
    listed = true;
    position = skip(position + 1, line_end);
  }
  if (position >= line_end || text_[position] == '#') return line_end + 1;
  const bool keyed_line =
      key_colon(position, line_end) != kNone || text_[position] == '"' || text_[position] == '\'';
  const std::size_t column = listed && !keyed_line ? dash : position - begin;
  const std::size_t end = entry(position, column, line_end, listed);
  if (end <= line_end) return line_end + 1;
  // A block ends where the next line begins; a quoted or flow value may end inside a line.
  return end == source_.line_begin(end) ? end : source_.line_end(end) + 1;
}

void Reader::run() {
  for (std::size_t position = source_.text_begin(); position < text_.size();)
    position = std::max(line(position), position + 1);
  flush_arguments();
}

}  // namespace

void read_yaml(Source& source) {
  Reader(source).run();
}

}  // namespace angio::lint::readers
