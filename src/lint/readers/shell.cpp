#include <algorithm>
#include <array>

#include "lint/readers/shell_words.hpp"

namespace angio::lint::readers {
namespace {

constexpr std::array<std::string_view, 4> kDirectives{"#SBATCH", "#PBS", "#BSUB", "#PJM"};
constexpr std::array<std::string_view, 5> kOpening{"if", "while", "until", "do", "{"};
constexpr std::array<std::string_view, 3> kClosing{"fi", "done", "}"};
constexpr std::array<std::string_view, 6> kBetween{"then", "elif", "else", "!", "time", "coproc"};

bool is_one_of(std::string_view word, auto words) {
  return std::ranges::find(words, word) != words.end();
}

struct HereDocument {
  std::string terminator;
  bool strip_tabs = false;
};

class ShellReader : ShellWords {
 public:
  ShellReader(Source& source, const Range& range) : ShellWords(source, range) { start_command(); }

  void run() {
    while (!at_end())
      step();
    end_command(false);
  }

 private:
  void step();
  void step_operator(char c);
  void step_word();
  void step_case_pattern();
  bool keyword(const RawWord& word);
  void comment();
  void directive(std::string_view line);
  void new_line();
  void here_document_bodies();
  void redirection();
  void opening_bracket();
  void closing_bracket();
  void start_command();
  void end_command(bool piped);
  void ended_by_backslash();
  bool stands_alone(std::size_t end) const;
  bool empty() const { return command_.words.empty() && command_.assignments.empty(); }
  void set_options();

  RawCommand command_;
  std::vector<HereDocument> documents_;
  bool documents_are_commands_ = false;
  std::vector<bool> in_pattern_;  // one a case: between "in" or ";;" and ")"
  std::size_t depth_ = 0;
  bool piped_ = false;
  bool joined_ = false;  // && or || or ; in front: not alone on its line
  bool all_exported_ = false;
  bool begun_ = false;  // something other than comments and empty lines has been read
};

void ShellReader::start_command() {
  command_ = {};
  command_.begin = position_;
  command_.pipeline = source_.next_pipeline();
}

// Removable with its line: nothing else on the line, outside every block, not joined to another.
bool ShellReader::stands_alone(std::size_t end) const {
  if (depth_ > 0 || joined_ || range_.depth > 0 || !in_pattern_.empty()) return false;
  const std::size_t begin = source_.line_begin(command_.begin);
  const auto blank = [&](std::size_t from, std::size_t to) {
    return text_.substr(from, to - from).find_first_not_of(" \t\r") == std::string_view::npos;
  };
  const bool ends = end >= text_.size() || text_[end] == '\n' || text_[end] == '#' || text_[end] == '\r';
  return ends && blank(begin, command_.begin) && source_.line_begin(end) == begin;
}

void ShellReader::set_options() {
  if (command_.words.size() < 2 || command_.words[0].word.text != "set") return;
  const std::string& option = command_.words[1].word.text;
  const bool long_form = command_.words.size() > 2 && command_.words[2].word.text == "allexport";
  if (option == "-a" || (option == "-o" && long_form)) all_exported_ = true;
  if (option == "+a" || (option == "+o" && long_form)) all_exported_ = false;
}

void ShellReader::end_command(bool piped) {
  static const std::array<std::string_view, 7> kRunners{"bash", "sh", "zsh", "dash", "ssh", "sbatch", "ksh"};
  if (!empty()) {
    command_.end = position_;
    command_.alone = stands_alone(position_);
    command_.all_exported = all_exported_;
    documents_are_commands_ = !documents_.empty() && !command_.words.empty() &&
                              is_one_of(std::string_view(command_.words[0].word.text), kRunners);
    set_options();
    const bool loop = !command_.words.empty() && !command_.words[0].quoted &&
                      (command_.words[0].word.text == "for" || command_.words[0].word.text == "select" ||
                       command_.words[0].word.text == "case" || command_.words[0].word.text == "function");
    const std::size_t pipeline = command_.pipeline;
    if (!loop) add_command(source_, std::move(command_), range_);
    start_command();
    if (piped) command_.pipeline = pipeline;
    piped_ = piped;
  } else if (!piped_) {  // a line end behind "|" does not end the pipeline
    start_command();
  }
}

void ShellReader::comment() {
  const std::size_t begin = position_;
  skip_to_line_end();
  if (source_.line_begin(begin) == begin) directive(text_.substr(begin, position_ - begin));
}

void ShellReader::directive(std::string_view line) {
  const std::size_t word = std::min(line.find_first_of(" \t"), line.size());
  if (!is_one_of(line.substr(0, word), kDirectives)) return;
  const std::size_t begin = static_cast<std::size_t>(line.data() - text_.data());
  const bool late = begun_ && line.starts_with("#SBATCH");
  source_.add(Directive{std::string(line), source_.place(begin, line.size()), late});
  if (late) return;
  constexpr std::string_view kExport = "--export=";
  if (const std::size_t at = line.find(kExport); at != std::string_view::npos) {
    const std::size_t from = begin + at + kExport.size();
    const std::size_t stop = std::min(text_.find_first_of(" \t\r\n", from), begin + line.size());
    add_list(source_, make_word(source_, from, stop, Escapes::kPlain), from, ',', "#SBATCH --export");
  }
}

void ShellReader::here_document_bodies() {
  for (const HereDocument& document : documents_) {
    const std::size_t body = position_;
    std::size_t end = range_.end;
    while (!at_end()) {
      const std::size_t line = position_;
      const std::size_t stop = std::min(source_.line_end(line), range_.end);
      std::string_view words = text_.substr(line, stop - line);
      if (words.ends_with('\r')) words.remove_suffix(1);
      // Inside another text (YAML, RUN) the terminator is indented with everything else.
      if (document.strip_tabs || range_.depth > 0)
        words.remove_prefix(std::min(words.find_first_not_of("\t "), words.size()));
      position_ = std::min(stop + 1, range_.end);
      if (words == document.terminator) {
        end = line;
        break;
      }
    }
    if (end == range_.end) source_.note(body > 0 ? body - 1 : 0, "here-document never ends");
    if (documents_are_commands_) {
      Range inner = range_;
      inner.begin = body;
      inner.end = end;
      source_.queue(inner);
    }
  }
  documents_.clear();
  documents_are_commands_ = false;
}

void ShellReader::new_line() {
  end_command(false);
  advance();
  joined_ = false;
  if (!documents_.empty()) here_document_bodies();
  command_.begin = position_;
}

void ShellReader::redirection() {
  if (!command_.words.empty()) {  // "2>": the digit is no word
    const Word& last = command_.words.back().word;
    const bool touches = last.place.offset + last.place.length == position_;
    if (touches && !last.text.empty() &&
        std::ranges::all_of(last.text, [](char c) { return c >= '0' && c <= '9'; })) {
      command_.words.pop_back();
    }
  }
  const char first = peek(position_);
  advance();
  if (peek(position_) == '(') {  // <(…)
    Range inner = range_;
    inner.begin = after(position_);
    skip_group('(', 1);
    inner.end = position_ > inner.begin ? position_ - 1 : inner.begin;
    source_.queue(inner);
    return;
  }
  const bool document = first == '<' && peek(position_) == '<' && peek(after(position_)) != '<';
  while (!at_end() && (peek(position_) == '<' || peek(position_) == '>' || peek(position_) == '&' ||
                       peek(position_) == '|'))
    advance();
  const bool strip = document && peek(position_) == '-';
  if (strip) advance();
  skip_blanks();
  const RawWord target = read_word();
  if (document && !target.word.text.empty()) documents_.push_back({target.word.text, strip});
}

void ShellReader::opening_bracket() {
  const bool loop = !command_.words.empty() && command_.words[0].word.text == "for";
  if ((empty() || loop) && peek(after(position_)) == '(') {  // (( … )) and for (( … ))
    skip_group('(', 1);
    return;
  }
  if (!empty()) {  // name() { … }
    skip_group('(', 1);
    const std::string first = command_.words.empty() ? "" : command_.words[0].word.text;
    if (command_.words.size() == 1 || first == "function") start_command();
    return;
  }
  ++depth_;
  advance();
  start_command();
}

void ShellReader::closing_bracket() {
  end_command(false);
  if (depth_ > 0) --depth_;
  advance();
  joined_ = true;
  command_.begin = position_;
}

void ShellReader::step_case_pattern() {
  const char c = peek(position_);
  if (c == '#') {
    skip_to_line_end();
  } else if (c == ')') {
    advance();
    in_pattern_.back() = false;
    joined_ = true;
    start_command();
  } else if (is_meta(c)) {
    advance();
  } else {
    const std::size_t begin = position_;
    if (read_word().word.text == "esac") in_pattern_.pop_back();
    if (position_ == begin) advance();
    backslash_blank_ = false;
    start_command();
  }
}

bool ShellReader::keyword(const RawWord& word) {
  if (word.quoted || word.word.dynamic) return false;
  const std::string_view text = word.word.text;
  if (!command_.words.empty()) {
    if (command_.words[0].word.text == "function" && text == "{") {
      ++depth_;
      start_command();
      return true;
    }
    if (text == "in" && command_.words[0].word.text == "case" && command_.words.size() == 2) {
      in_pattern_.push_back(true);
      start_command();
      return true;
    }
    return false;
  }
  if (!command_.assignments.empty()) return false;
  if (is_one_of(text, kOpening)) {
    ++depth_;
  } else if (is_one_of(text, kClosing)) {
    if (depth_ > 0) --depth_;
  } else if (text == "esac") {
    if (!in_pattern_.empty()) in_pattern_.pop_back();
  } else if (!is_one_of(text, kBetween)) {
    return false;
  }
  // A loop's "while … do" opens once.
  if ((text == "while" || text == "until") && depth_ > 0) --depth_;
  joined_ = true;
  start_command();
  return true;
}

void ShellReader::ended_by_backslash() {
  backslash_blank_ = false;
  const std::size_t backslash = position_;
  advance();
  while (!at_end() && is_blank(peek(position_)))
    advance();
  const std::size_t words = position_;
  skip_to_line_end();
  // " " alone says: only blanks stand behind the backslash.
  command_.comment_after_backslash =
      words < position_ ? std::string(text_.substr(words, position_ - words)) : " ";
  const std::size_t end = position_;
  position_ = backslash;
  end_command(false);
  position_ = end;
}

void ShellReader::step_word() {
  const std::size_t begin = position_;
  if (empty()) command_.begin = begin;
  RawWord word = read_word();
  if (position_ == begin && backslash_blank_) {
    ended_by_backslash();
    return;
  }
  if (position_ == begin) {  // cannot be, but never stand still
    advance();
    return;
  }
  if (!keyword(word)) {
    if (word.word.text == "[[" && command_.words.empty()) {
      const std::size_t line_end = std::min(source_.line_end(position_), range_.end);
      const std::size_t close = text_.substr(position_, line_end - position_).find("]]");
      position_ = close == kNone ? line_end : position_ + close + 2;
    }
    const std::string_view text = word.word.text;
    std::string_view name = word.equals == kNone ? std::string_view() : text.substr(0, word.equals_text);
    if (name.ends_with('+')) name.remove_suffix(1);
    const bool assignment = command_.words.empty() && word.plain_name && is_name(name);
    (assignment ? command_.assignments : command_.words).push_back(std::move(word));
  }
  if (backslash_blank_) ended_by_backslash();
}

void ShellReader::step_operator(char c) {
  const char next = peek(after(position_));
  const bool twice = next == c;
  if (c == ';') {
    end_command(false);
    if ((twice || next == '&') && !in_pattern_.empty()) in_pattern_.back() = true;
  } else if (c == '&' && next == '>') {
    advance();
    redirection();
    return;
  } else if (c == '&') {
    command_.background = !twice;
    end_command(false);
  } else {
    end_command(!twice);
    if (!twice && next == '&') advance();
  }
  advance();
  if (twice) advance();
  joined_ = true;
  command_.begin = position_;
}

void ShellReader::step() {
  const char c = peek(position_);
  begun_ = begun_ || !(c == '\n' || c == '#' || is_blank(c));
  if (c == '\n') {
    new_line();
  } else if (is_blank(c) || at_continuation()) {
    skip_blanks();
  } else if (!in_pattern_.empty() && in_pattern_.back()) {
    step_case_pattern();
  } else if (c == '#') {
    comment();
  } else if (c == ';' || c == '&' || c == '|') {
    step_operator(c);
  } else if (c == '<' || c == '>') {
    redirection();
  } else if (c == '(') {
    opening_bracket();
  } else if (c == ')') {
    closing_bracket();
  } else {
    step_word();
  }
}

}  // namespace

void read_shell(Source& source, const Range& range) {
  ShellReader(source, range).run();
}

}  // namespace angio::lint::readers
