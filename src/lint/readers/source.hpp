// What the readers of this folder share: the text with its line table, words as they stand in it, and the
// ranges that hold shell text inside something else ("bash -c '…'", RUN, a YAML block). Not for rules.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "lint/lint.hpp"

namespace angio::lint::readers {

inline constexpr std::size_t kNone = std::string_view::npos;

// How the bytes of a range stand for characters.
enum class Escapes : std::uint8_t {
  kPlain,
  kDoubleQuoted,  // inside a shell's "…": \" \$ \` \\ are one character
  kCString,       // inside a "…" of YAML, JSON or Python: \n \t \" \\ too
  kDoubledQuote,  // inside a '…' of YAML: '' is one
};

// A part of the text that holds commands.
struct Range {
  std::size_t begin = 0;
  std::size_t end = 0;
  Escapes escapes = Escapes::kPlain;
  bool folded = false;      // a YAML ">" block: a single line end is a blank
  bool dockerfile = false;  // RUN: comment lines inside a continued line do not end it
  int depth = 0;            // how many texts it stands in
  std::string via_prefix;   // "RUN ": stands in front of Setting::via
};

// A word with what is needed to split NAME=value exactly.
struct RawWord {
  Word word;
  std::size_t name_begin = kNone;   // offset of the first character of the text
  std::size_t equals = kNone;       // offset of the first '='
  std::size_t equals_text = kNone;  // its index in word.text
  std::size_t value_end = kNone;    // end of the value, without a quote that closes behind it
  bool plain_name = true;           // nothing quoted or expanded up to the '='
  bool quoted = false;
  bool bare = false;  // of a YAML, JSON or Python string: its place is the inside of the quotes
  bool folded = false;
  Escapes escapes = Escapes::kPlain;
};

struct RawCommand {
  std::vector<RawWord> assignments;
  std::vector<RawWord> words;
  std::size_t begin = 0;
  std::size_t end = 0;
  std::size_t pipeline = 0;
  bool background = false;
  bool alone = false;  // a whole line outside every block: it can be taken away
  bool all_exported = false;
  std::string comment_after_backslash;
};

class Source {
 public:
  explicit Source(Script& script);

  std::string_view text() const { return script_.text; }
  // Behind the byte order mark that editors of Windows put in front.
  std::size_t text_begin() const { return text().starts_with("\xEF\xBB\xBF") ? 3 : 0; }
  Place place(std::size_t offset, std::size_t length) const;
  // The line of offset with its end, for removal.
  Place whole_line(std::size_t offset) const;
  std::size_t line_begin(std::size_t offset) const;
  std::size_t line_end(std::size_t offset) const;  // of the line feed or of the text

  void note(std::size_t offset, std::string_view words);
  void add(Setting setting) { script_.settings.push_back(std::move(setting)); }
  void add(Command command) { script_.commands.push_back(std::move(command)); }
  void add(Directive directive) { script_.directives.push_back(std::move(directive)); }
  void exports(std::string_view name) { exported_.emplace(name); }

  // Reads the range later as shell; too deeply nested ones are left out with a note.
  void queue(Range range);
  // Reads what waits, then orders everything by its place and settles what is exported.
  void finish();

  std::size_t next_pipeline() { return ++pipelines_; }
  std::string_view script_name() const { return script_.name; }

 private:
  Script& script_;
  std::vector<std::size_t> line_starts_;
  std::vector<Range> pending_;
  std::set<std::string, std::less<>> exported_;
  std::size_t pipelines_ = 0;
};

bool is_name(std::string_view text);  // a shell identifier
// As most variables that jobs read: capitals, digits, at least one underscore.
bool is_variable_like(std::string_view text);

// NAME=value of a word; value_place with its quotes. Call only for a word with a '='.
Setting make_setting(const Source& source, const RawWord& word, std::string_view via);

// shell.cpp: a range of shell text. commands.cpp: what a command sets, launches and contains.
void read_shell(Source& source, const Range& range);
void add_command(Source& source, RawCommand command, const Range& range);
// Words of an argument list that no shell reads (exec forms, YAML and Python lists).
void add_argument_list(Source& source, std::vector<RawWord> words, const Range& range);
// A word made of the text between begin and end, decoded as `escapes` says; quotes stand outside.
RawWord make_word(const Source& source, std::size_t begin, std::size_t end, Escapes escapes);
// "A=b,C=d": settings of a list with this separator.
void add_list(Source& source, const RawWord& word, std::size_t from, char separator, std::string_view via);

void read_env_file(Source& source, std::size_t begin, std::size_t end);
void read_nccl_conf(Source& source, std::size_t begin, std::size_t end);
void read_dockerfile(Source& source);
void read_yaml(Source& source);
void read_python(Source& source);

// The character at a place and how many bytes stand for it.
struct Decoded {
  char character = 0;
  std::size_t length = 1;
};
Decoded decode(std::string_view text, std::size_t position, std::size_t end, Escapes escapes);

}  // namespace angio::lint::readers
