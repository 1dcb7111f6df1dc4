// A pasted text as numbered lines without the traces of terminals: colour and underline codes (also
// those whose escape character got lost), overstrikes, byte order mark, hard blanks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace angio::import {

struct Line {
  std::uint32_t number = 0;  // from 1
  std::string_view text;     // into the cleaned text
};

// Keeps every line break, so that line numbers stay those of the file.
std::string clean_terminal(std::string_view bytes);
std::vector<Line> number_lines(std::string_view cleaned);

// "key : value" or "key: value" at the first colon; false when there is none.
struct KeyValue {
  std::string_view key;    // trimmed
  std::string_view value;  // trimmed
};
bool split_key_value(std::string_view text, std::string_view separator, KeyValue& result);

bool is_blank(std::string_view text);
std::size_t indentation(std::string_view text);  // a tab counts as one
bool is_digits(std::string_view text);           // at least one, nothing else

}  // namespace angio::import
