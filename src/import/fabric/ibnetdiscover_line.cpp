#include "import/fabric/ibnetdiscover_line.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"

namespace angio::import::fabric {
namespace {

constexpr std::string_view kNone{};

std::string_view trim_end(std::string_view text) {
  while (!text.empty() && is_gap(text.back()))
    text.remove_suffix(1);
  return text;
}

// The digits at the end of text, which loses them.
std::string_view take_digits_from_end(std::string_view& text, bool (*is_one)(char)) {
  std::size_t start = text.size();
  while (start > 0 && is_one(text[start - 1]))
    --start;
  const std::string_view digits = text.substr(start);
  text = text.substr(0, start);
  return digits;
}

// "…(8f10403961355)" → the hexadecimal number in it; text loses it and the blanks before it.
bool take_guid_from_end(std::string_view& text, std::uint64_t& guid) {
  if (!text.ends_with(')')) return false;
  std::string_view before = text.substr(0, text.size() - 1);
  const auto value = parse_integer<std::uint64_t>(take_digits_from_end(before, is_hex_digit), 16);
  if (before.ends_with("0x")) before.remove_suffix(2);
  if (!value || !before.ends_with('(')) return false;
  guid = *value;
  text = trim_end(before.substr(0, before.size() - 1));
  return true;
}

// "…[12]" → 12; text loses it.
std::optional<std::uint32_t> take_number_from_end(std::string_view& text) {
  if (!text.ends_with(']')) return std::nullopt;
  std::string_view before = text.substr(0, text.size() - 1);
  const auto value = parse_integer<std::uint32_t>(take_digits_from_end(before, is_digit));
  if (!value || !before.ends_with('[')) return std::nullopt;
  text = before.substr(0, before.size() - 1);
  return value;
}

// "…[ext 5]": how a chassis labels the port; it is not kept.
void drop_label_from_end(std::string_view& text) {
  if (!text.ends_with(']')) return;
  const std::size_t open = text.rfind('[');
  if (open != std::string_view::npos && text.substr(open).starts_with("[ext ")) text = text.substr(0, open);
}

struct Quoted {
  std::string_view before;
  std::string_view inside;
  std::string_view after;
};
std::optional<Quoted> split_first_quoted(std::string_view text) {
  const std::size_t open = text.find('"');
  if (open == std::string_view::npos) return std::nullopt;
  const std::size_t close = text.find('"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return Quoted{trim_end(text.substr(0, open)), text.substr(open + 1, close - open - 1),
                text.substr(close + 1)};
}

// Between the first and the last quote behind '#': a name may hold quotes itself.
std::optional<Quoted> split_remark(std::string_view after) {
  const std::size_t hash = after.find('#');
  if (hash == std::string_view::npos) return std::nullopt;
  const std::string_view remark = after.substr(hash + 1);
  const std::size_t open = remark.find('"');
  const std::size_t close = remark.rfind('"');
  if (open == std::string_view::npos || close == open) return Quoted{remark, kNone, kNone};
  return Quoted{remark.substr(0, open), remark.substr(open + 1, close - open - 1), remark.substr(close + 1)};
}

std::optional<Lid> lid_in(std::string_view text) {
  Cursor cursor(text);
  if (!cursor.skip_past("lid ")) return std::nullopt;
  const auto number = cursor.take_number();
  return number ? to_lid(*number) : std::nullopt;
}

// " lid 73 4xNDR s=4 w=2 v=4 e=8"
void read_tail(std::string_view tail, PortLine& line) {
  line.other_lid = lid_in(tail);
  Cursor cursor(tail);
  std::optional<std::uint32_t> extended;
  while (!cursor.done()) {
    cursor.skip_gaps();
    const std::string_view word = cursor.take_word();
    if (const auto rate = parse_rate_word(word)) {
      line.rate = *rate;
      line.has_unknown_speed = rate->speed == model::LaneSpeedName::kUnknown;
    } else if (word.starts_with("e=")) {
      extended = parse_integer<std::uint32_t>(word.substr(2));
    }
  }
  if (!line.has_unknown_speed || !extended) return;
  line.rate.speed = speed_of_extended(*extended);
  line.has_unknown_speed = line.rate.speed == model::LaneSpeedName::kUnknown;
}

struct KindWord {
  std::string_view word;
  model::FabricNodeKind kind;
};
constexpr std::array kKindWords = {
    KindWord{"switch", model::FabricNodeKind::kSwitch}, KindWord{"ca", model::FabricNodeKind::kAdapter},
    KindWord{"hca", model::FabricNodeKind::kAdapter},   KindWord{"rt", model::FabricNodeKind::kRouter},
    KindWord{"router", model::FabricNodeKind::kRouter}, KindWord{"vendt", model::FabricNodeKind::kUnknown},
    KindWord{"???", model::FabricNodeKind::kUnknown},
};

// The word at the end of text, with nothing that belongs to a word before it.
std::optional<model::FabricNodeKind> kind_at_end(std::string_view text) {
  std::size_t start = text.size();
  while (start > 0 && (is_letter(text[start - 1]) || text[start - 1] == '?'))
    --start;
  const std::string word = to_lower(text.substr(start));
  const auto* const found = std::ranges::find(kKindWords, word, &KindWord::word);
  return found != kKindWords.end() ? std::optional(found->kind) : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> guid_of_id(std::string_view id) {
  constexpr std::size_t kLength = 18;  // "S-" and 16 digits
  if (id.size() != kLength || id[1] != '-' || !(is_letter(id[0]) || id[0] == '?')) return std::nullopt;
  return parse_integer<std::uint64_t>(id.substr(2), 16);
}

model::FabricNodeKind kind_of_id(std::string_view id) {
  if (!guid_of_id(id)) return model::FabricNodeKind::kUnknown;
  if (id[0] == 'S') return model::FabricNodeKind::kSwitch;
  if (id[0] == 'H') return model::FabricNodeKind::kAdapter;
  return id[0] == 'R' ? model::FabricNodeKind::kRouter : model::FabricNodeKind::kUnknown;
}

std::optional<NodeLine> parse_node_line(std::string_view text) {
  const auto quoted = split_first_quoted(text);
  if (!quoted) return std::nullopt;
  NodeLine line;
  std::string_view before = quoted->before;
  const auto ports = parse_integer<std::uint32_t>(take_digits_from_end(before, is_digit));
  if (!ports || before.empty() || !is_gap(before.back())) return std::nullopt;
  const auto kind = kind_at_end(trim_end(before));
  if (!kind) return std::nullopt;
  line.kind = *kind;
  line.ports = *ports;
  line.id = quoted->inside;
  if (const auto remark = split_remark(quoted->after)) {
    line.description = remark->inside;
    line.lid = lid_in(remark->after);
  }
  return line;
}

std::optional<PortLine> parse_port_line(std::string_view text) {
  const auto quoted = split_first_quoted(text);
  if (!quoted) return std::nullopt;
  PortLine line;
  std::string_view before = quoted->before;
  take_guid_from_end(before, line.guid);
  drop_label_from_end(before);
  const auto number = take_number_from_end(before);
  if (!number || before.ends_with('@')) return std::nullopt;  // @[1] "name": an alias of ibsim
  line.number = *number;
  line.id = quoted->inside;
  Cursor cursor(quoted->after);
  if (cursor.eat("[")) {
    const auto other = cursor.take_number();
    if (!other || !cursor.eat("]")) return std::nullopt;
    line.other_number = *other;
    if (cursor.eat("[ext ")) cursor.skip_past("]");
    cursor.skip_gaps();
    if (cursor.eat("(")) line.other_guid = cursor.take_hex().value_or(0);
  } else if (guid_of_id(line.id)) {
    return std::nullopt;  // ibnetdiscover always gives the port; without it the line is cut
  }
  if (const auto remark = split_remark(quoted->after)) {
    line.lid = lid_in(remark->before);
    line.other_description = remark->inside;
    read_tail(remark->after, line);
  }
  return line;
}

std::optional<Assignment> parse_assignment(std::string_view text) {
  constexpr std::array kNames = {"vendid",      "devid",  "sysimgguid", "switchguid",
                                 "switchguids", "caguid", "caguids",    "hcaguid",
                                 "hcaguids",    "rtguid", "rtguids",    "routerguid"};
  const std::size_t sign = text.find('=');
  if (sign == std::string_view::npos) return std::nullopt;
  std::size_t start = sign;
  while (start > 0 && is_letter(text[start - 1]))
    --start;
  Assignment assignment;
  assignment.name = text.substr(start, sign - start);
  if (std::ranges::find(kNames, assignment.name) == kNames.end()) return std::nullopt;
  Cursor cursor(text.substr(sign + 1));
  assignment.value = cursor.take_hex().value_or(0);
  if (cursor.eat("(")) assignment.in_brackets = cursor.take_hex().value_or(0);
  return assignment;
}

}  // namespace angio::import::fabric
