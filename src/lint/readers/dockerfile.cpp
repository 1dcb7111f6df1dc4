// Dockerfiles: ENV in both forms, ARG, RUN and the shell and exec forms of CMD and ENTRYPOINT.
#include "base/text.hpp"
#include "lint/readers/shell_words.hpp"

namespace angio::lint::readers {
namespace {

struct Instruction {
  std::string name;       // upper case
  std::size_t begin = 0;  // of the instruction's word
  std::size_t arguments = 0;
  std::size_t end = 0;  // of the last line, without its line feed
};

class Reader {
 public:
  explicit Reader(Source& source) : source_(source), text_(source.text()) {}

  void run() {
    std::size_t position = source_.text_begin();
    while (position < text_.size())
      position = instruction(position);
  }

 private:
  std::size_t instruction(std::size_t line);
  std::size_t logical_end(std::size_t line) const;
  void handle(const Instruction& instruction);
  void environment(const Instruction& instruction, std::string_view via);
  void old_environment(const Instruction& instruction, std::size_t name, std::size_t name_end);
  void shell(const Instruction& instruction, std::string_view prefix);
  bool exec_form(const Instruction& instruction);
  std::size_t here_document_end(const Instruction& instruction);
  std::size_t skip(std::size_t position, std::size_t end) const;

  Source& source_;
  std::string_view text_;
  int endless_ = 0;
};

std::size_t Reader::skip(std::size_t position, std::size_t end) const {
  while (position < end && is_blank(text_[position]))
    ++position;
  return position;
}

// The line's end, continued lines, comments and empty lines between them included.
std::size_t Reader::logical_end(std::size_t line) const {
  std::size_t end = source_.line_end(line);
  bool continued = true;
  std::size_t begin = line;
  while (true) {
    const std::string_view words = trim(text_.substr(begin, end - begin));
    const bool between = begin != line && (words.empty() || words.starts_with('#'));
    if (!between) continued = words.ends_with('\\');
    if (!continued || end >= text_.size()) return end;
    begin = end + 1;
    end = source_.line_end(begin);
  }
}

// A word as the builder splits it: blanks end it, quotes and backslashes protect.
class EnvironmentWords : public ShellWords {
 public:
  EnvironmentWords(Source& source, const Range& range) : ShellWords(source, range) {}

  std::optional<RawWord> next() {
    skip_blanks();
    while (!at_end() && peek(position_) == '\n') {
      advance();
      skip_blanks();
    }
    if (at_end()) return std::nullopt;
    RawWord word = read_word();
    if (word.word.place.length == 0) advance();  // a character that means something to a shell only
    return word;
  }
};

void Reader::old_environment(const Instruction& instruction, std::size_t name, std::size_t name_end) {
  const std::size_t value = skip(name_end, instruction.end);
  std::size_t end = instruction.end;
  while (end > value && is_blank(text_[end - 1]))
    --end;
  Setting setting;
  setting.name = text_.substr(name, name_end - name);
  setting.value = text_.substr(value, end - value);
  setting.dynamic = setting.value.find('$') != std::string::npos;
  setting.comment_glued = setting.value.find(" #") != std::string::npos;
  setting.via = "ENV";
  setting.name_place = source_.place(name, name_end - name);
  setting.value_place = source_.place(value, end - value);
  setting.statement_place = source_.place(instruction.begin, 0);
  source_.add(std::move(setting));
}

void Reader::environment(const Instruction& instruction, std::string_view via) {
  Range range;
  range.begin = instruction.arguments;
  range.end = instruction.end;
  range.dockerfile = true;
  EnvironmentWords words(source_, range);
  bool first = true;
  bool glued = false;
  std::vector<Setting> settings;
  while (auto word = words.next()) {
    const std::string_view name =
        std::string_view(word->word.text).substr(0, std::min(word->equals_text, word->word.text.size()));
    if (first && word->equals == kNone && via == "ENV" && is_name(name)) {
      old_environment(instruction, word->word.place.offset,
                      word->word.place.offset + word->word.place.length);
      return;
    }
    first = false;
    if (word->word.text.starts_with('#')) glued = true;
    if (glued || word->equals == kNone || !is_name(name)) continue;
    Setting setting = make_setting(source_, *word, via);
    setting.exported = via == "ENV";  // an ARG is gone when the container runs
    settings.push_back(std::move(setting));
  }
  if (glued && !settings.empty()) settings.back().comment_glued = true;
  const bool one_line = source_.line_begin(instruction.end) == source_.line_begin(instruction.begin);
  for (Setting& setting : settings) {
    if (settings.size() == 1 && one_line) setting.statement_place = source_.whole_line(instruction.begin);
    source_.add(std::move(setting));
  }
}

bool Reader::exec_form(const Instruction& instruction) {
  std::size_t i = skip(instruction.arguments, instruction.end);
  if (i >= instruction.end || text_[i] != '[') return false;
  std::vector<RawWord> words;
  for (++i; i < instruction.end && text_[i] != ']'; ++i) {
    if (text_[i] != '"') continue;
    const std::size_t begin = i + 1;
    for (i = begin; i < instruction.end && text_[i] != '"'; ++i) {
      if (text_[i] == '\\') ++i;
    }
    words.push_back(make_word(source_, begin, std::min(i, instruction.end), Escapes::kCString));
  }
  add_argument_list(source_, std::move(words), {});
  return true;
}

void Reader::shell(const Instruction& instruction, std::string_view prefix) {
  if (exec_form(instruction)) return;
  Range range;
  range.begin = instruction.arguments;
  // --mount=… and --network=… are for the builder.
  while (text_.substr(range.begin, instruction.end - range.begin).starts_with("--")) {
    while (range.begin < instruction.end && !is_blank(text_[range.begin]))
      ++range.begin;
    range.begin = skip(range.begin, instruction.end);
  }
  range.end = instruction.end;
  range.dockerfile = true;
  range.via_prefix = std::string(prefix);
  source_.queue(range);
}

void Reader::handle(const Instruction& instruction) {
  if (instruction.name == "ENV" || instruction.name == "ARG") environment(instruction, instruction.name);
  if (instruction.name == "RUN") shell(instruction, "RUN ");
  if (instruction.name == "CMD" || instruction.name == "ENTRYPOINT") shell(instruction, "");
}

// RUN <<EOF: the lines up to EOF belong to it.
std::size_t Reader::here_document_end(const Instruction& instruction) {
  constexpr int kEnough = 3;  // documents that never end: looked for to the end of the text, so not often
  const std::string_view text = text_;
  const std::string_view words = text.substr(instruction.arguments, instruction.end - instruction.arguments);
  const std::size_t at = words.find("<<");
  if (instruction.name != "RUN" || at == std::string_view::npos) return instruction.end;
  std::size_t begin = at + 2;
  while (begin < words.size() && (words[begin] == '-' || words[begin] == '"' || words[begin] == '\''))
    ++begin;
  std::size_t end = begin;
  while (end < words.size() && !is_meta(words[end]) && words[end] != '"' && words[end] != '\'')
    ++end;
  const std::string_view terminator = words.substr(begin, end - begin);
  if (!is_name(terminator) || endless_ >= kEnough) return instruction.end;
  for (std::size_t line = instruction.end + 1; line < text.size();) {
    const std::size_t stop = source_.line_end(line);
    if (trim(text.substr(line, stop - line)) == terminator) return stop;
    line = stop + 1;
  }
  ++endless_;
  return instruction.end;
}

std::size_t Reader::instruction(std::size_t line) {
  const std::size_t line_end = source_.line_end(line);
  Instruction instruction;
  instruction.begin = skip(line, line_end);
  if (instruction.begin >= line_end || text_[instruction.begin] == '#') return line_end + 1;
  std::size_t word = instruction.begin;
  while (word < line_end && !is_blank(text_[word]))
    ++word;
  for (const char c : text_.substr(instruction.begin, word - instruction.begin)) {
    instruction.name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  }
  instruction.end = logical_end(line);
  instruction.arguments = skip(word, instruction.end);
  if (instruction.name == "RUN") {
    const std::size_t end = here_document_end(instruction);
    if (end != instruction.end) {
      Range body;
      body.begin = std::min(source_.line_end(instruction.begin) + 1, end);
      body.end = source_.line_begin(end);
      body.via_prefix = "RUN ";
      if (body.begin < body.end) source_.queue(body);
      return end + 1;
    }
  }
  handle(instruction);
  return instruction.end + 1;
}

}  // namespace

void read_dockerfile(Source& source) {
  Reader(source).run();
}

}  // namespace angio::lint::readers
