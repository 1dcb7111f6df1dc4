#include "report/text_layout.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <utility>

#include "base/text.hpp"

namespace angio::report {
namespace {

// Length of the character at the front. The text went through printable(), but must not be trusted to.
std::size_t character_length(std::string_view text) {
  const auto first = static_cast<unsigned char>(text.front());
  const std::size_t length = first < 0xC0 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  return std::min(length, text.size());
}

std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character.front());
  if (character.size() == 1) return first;
  std::uint32_t value = first & (0xFFU >> (character.size() + 1));
  for (const char byte : character.substr(1))
    value = (value << 6U) | (static_cast<unsigned char>(byte) & 0x3FU);
  return value;
}

struct Range {
  std::uint32_t first;
  std::uint32_t last;
};

// Unicode 15, EastAsianWidth.txt (W and F) and general category Mn, as blocks: names in reports are rarely
// in these, so the edges of blocks do not matter.
constexpr std::array<Range, 8> kWide{{{0x1100, 0x115F},
                                      {0x2E80, 0x303E},
                                      {0x3041, 0xA4CF},
                                      {0xAC00, 0xD7A3},
                                      {0xF900, 0xFAFF},
                                      {0xFE30, 0xFE6F},
                                      {0xFF00, 0xFF60},
                                      {0x1F300, 0x3FFFD}}};
constexpr std::array<Range, 4> kNarrowMarks{
    {{0x0300, 0x036F}, {0x200B, 0x200F}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F}}};

template <std::size_t Size>
bool within(const std::array<Range, Size>& ranges, std::uint32_t value) {
  return std::ranges::any_of(ranges,
                             [value](Range range) { return value >= range.first && value <= range.last; });
}

std::size_t character_width(std::string_view character) {
  const std::uint32_t value = code_point(character);
  if (value < 0x300) return 1;
  if (within(kNarrowMarks, value)) return 0;
  return within(kWide, value) ? 2 : 1;
}

struct StandIn {
  std::string_view character;
  std::string_view ascii;
};
constexpr std::array<StandIn, 19> kStandIns{{{"→", "->"},
                                             {"←", "<-"},
                                             {"–", "-"},
                                             {"—", "-"},
                                             {"−", "-"},
                                             {"×", "x"},
                                             {"…", "..."},
                                             {"·", "-"},
                                             {"≥", ">="},
                                             {"≤", "<="},
                                             {"µ", "u"},
                                             {"μ", "u"},
                                             {"“", "\""},
                                             {"”", "\""},
                                             {"’", "'"},
                                             {"±", "+-"},
                                             {"²", "^2"},
                                             {"°", " deg"},
                                             {"↔", "<->"}}};

// One character where the words of a line may be broken.
struct Piece {
  std::string text;
  Tone tone;
  std::size_t width;
};

void append(Line& line, std::string_view text, Tone tone) {
  if (!line.empty() && line.back().tone == tone) {
    line.back().text += text;
  } else {
    line.push_back({std::string(text), tone});
  }
}

// Words that belong to the number before them.
constexpr std::array<std::string_view, 30> kUnits{
    {"B",   "KiB",  "MiB",  "GiB",  "TiB", "PiB",  "kB",   "MB",   "GB",   "TB",
     "B/s", "MB/s", "GB/s", "TB/s", "b/s", "Mb/s", "Gb/s", "Tb/s", "MT/s", "GT/s",
     "Hz",  "MHz",  "GHz",  "W",    "°C",  "ns",   "µs",   "ms",   "s",    "%"}};

bool is_digit(char character) {
  return character >= '0' && character <= '9';
}

// "400 Gb/s", "could be x16": a line must not end between the two.
bool belongs_to(std::string_view before, std::string_view word) {
  while (!word.empty() && std::string_view(",.;:)").find(word.back()) != std::string_view::npos)
    word.remove_suffix(1);
  if (word.size() > 1 && word.front() == 'x' && std::ranges::all_of(word.substr(1), is_digit)) return true;
  return !before.empty() && is_digit(before.back()) && std::ranges::find(kUnits, word) != kUnits.end();
}

// Fills lines word by word. A word may change tone inside.
class Wrapper {
 public:
  explicit Wrapper(std::size_t width) : width_(std::max<std::size_t>(width, 1)) {}

  void add(const Span& span) {
    std::string_view text = span.text;
    while (!text.empty()) {
      const std::size_t length = character_length(text);
      const std::string_view character = text.substr(0, length);
      text.remove_prefix(length);
      if (character == " " || character == "\n") {
        end_word();
        if (character == " ") ++blanks_;
        if (character == "\n") {
          set_word();
          end_line();
          blanks_ = 0;
        }
        blank_tone_ = span.tone;
      } else {
        word_.pieces.push_back({std::string(character), span.tone, character_width(character)});
        word_.width += word_.pieces.back().width;
      }
    }
  }

  std::vector<Line> finish() {
    end_word();
    set_word();
    if (lines_.empty() || !line_.empty()) end_line();
    return std::move(lines_);
  }

 private:
  struct Word {
    std::vector<Piece> pieces;
    std::size_t width = 0;
    std::size_t blanks = 0;  // before it
    Tone blank_tone = Tone::kPlain;
  };

  static std::string text_of(const Word& word, std::size_t most) {
    std::string text;
    const std::size_t count = std::min(most, word.pieces.size());
    for (std::size_t i = word.pieces.size() - count; i < word.pieces.size(); ++i)
      text += word.pieces[i].text;
    return text;
  }

  void end_line() {
    lines_.push_back(std::move(line_));
    line_.clear();
    used_ = 0;
  }

  // Holds the word back until the next one shows whether it belongs to this one.
  void end_word() {
    if (word_.pieces.empty()) return;
    word_.blanks = blanks_;
    word_.blank_tone = blank_tone_;
    blanks_ = 0;
    constexpr std::size_t kLongestUnit = 8;  // beyond that a word is none, and nothing is compared
    const bool joined = !held_.pieces.empty() && word_.blanks == 1 && word_.pieces.size() <= kLongestUnit &&
                        held_.width + 1 + word_.width <= width_ &&
                        belongs_to(text_of(held_, 1), text_of(word_, kLongestUnit));
    if (joined) {
      held_.pieces.push_back({" ", word_.blank_tone, 1});
      std::ranges::move(word_.pieces, std::back_inserter(held_.pieces));
      held_.width += 1 + word_.width;
    } else {
      set_word();
      held_ = std::move(word_);
    }
    word_ = {};
  }

  // Puts the held word on a line.
  void set_word() {
    if (held_.pieces.empty()) return;
    if (used_ > 0 && used_ + held_.blanks + held_.width > width_) end_line();
    if (lines_.empty() || used_ > 0) place_blanks();
    for (const Piece& piece : held_.pieces) {
      if (used_ + piece.width > width_) end_line();
      append(line_, piece.text, piece.tone);
      used_ += piece.width;
    }
    held_ = {};
  }

  void place_blanks() {
    const std::size_t count = std::min(held_.blanks, width_ - std::min(used_, width_));
    if (count > 0) append(line_, std::string(count, ' '), held_.blank_tone);
    used_ += count;
  }

  std::size_t width_;
  std::vector<Line> lines_;
  Line line_;
  std::size_t used_ = 0;
  std::size_t blanks_ = 0;
  Tone blank_tone_ = Tone::kPlain;
  Word word_;
  Word held_;
};

}  // namespace

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    width += character_width(text.substr(0, length));
    text.remove_prefix(length);
  }
  return width;
}

std::size_t display_width(const Line& line) {
  std::size_t width = 0;
  for (const Span& span : line)
    width += display_width(span.text);
  return width;
}

std::string shorten(std::string_view text, std::size_t width, bool ascii) {
  if (display_width(text) <= width) return std::string(text);
  if (width == 0) return {};
  std::string kept;
  std::size_t used = 0;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    const std::size_t next = character_width(text.substr(0, length));
    if (used + next + 1 > width) break;
    kept += text.substr(0, length);
    used += next;
    text.remove_prefix(length);
  }
  return kept + (ascii ? "~" : "…");
}

std::vector<Line> wrap(const Line& line, std::size_t width) {
  Wrapper wrapper(width);
  for (const Span& span : line)
    wrapper.add(span);
  return wrapper.finish();
}

std::string display_text(std::string_view text, bool ascii) {
  std::string safe = printable(text);
  if (!ascii) return safe;
  std::string plain;
  plain.reserve(safe.size());
  for (std::string_view rest = safe; !rest.empty();) {
    const std::size_t length = character_length(rest);
    const std::string_view character = rest.substr(0, length);
    const auto found = std::ranges::find(kStandIns, character, &StandIn::character);
    if (length == 1) {
      plain += character;
    } else {
      plain += found == kStandIns.end() ? "?" : found->ascii;
    }
    rest.remove_prefix(length);
  }
  return plain;
}

}  // namespace angio::report
