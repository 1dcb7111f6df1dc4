// The lexical half of the shell reader: characters of a range, words with quotes and expansions, groups that
// nest. Linear: a group that never closes is looked for once, later ones only to the end of their line.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "lint/readers/source.hpp"

namespace angio::lint::readers {

class ShellWords {
 public:
  ShellWords(Source& source, const Range& range)
      : source_(source), text_(source.text()), range_(range), position_(range.begin) {}

 protected:
  bool at_end() const { return position_ >= range_.end; }
  Decoded at(std::size_t position) const;
  char peek(std::size_t position) const { return position < range_.end ? at(position).character : '\0'; }
  std::size_t after(std::size_t position) const { return position + at(position).length; }
  void advance() { position_ = after(position_); }
  void skip_blanks();
  void skip_to_line_end();       // leaves the line feed
  bool at_continuation() const;  // backslash and line end

  RawWord read_word();
  // position stands behind the opening of `kind`: ( { " ' `; the end of the text inside, or none.
  std::optional<std::size_t> group_end(std::size_t position, char kind);
  // Over the group that opens at the position; to the end of the line when it never closes.
  void skip_group(char kind, std::size_t opening_length);

  Source& source_;
  std::string_view text_;
  const Range& range_;
  std::size_t position_;
  bool backslash_blank_ = false;  // the word stopped at a backslash with a blank behind

 private:
  void append(RawWord& word, bool plain);
  void append_raw(RawWord& word, std::size_t begin, std::size_t end);
  void read_quoted(RawWord& word, char quote);
  void read_ansi(RawWord& word);
  void read_dollar(RawWord& word);
  void read_backslash(RawWord& word);
  bool stops_at_backslash() const;
  void step_group(std::vector<char>& open, std::size_t& position);

  bool unclosed_ = false;
};

bool is_blank(char c);
bool is_meta(char c);  // ends a word

}  // namespace angio::lint::readers
