#include <algorithm>

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/iblinkinfo.hpp"

namespace angio::import::fabric {
namespace {

constexpr std::string_view kOpen = "==(";
constexpr std::string_view kArrow = "==>";

std::string_view trim_gaps(std::string_view text) {
  while (!text.empty() && is_gap(text.back()))
    text.remove_suffix(1);
  return text;
}

// The number at the end, which text loses with the blanks around it.
std::optional<std::uint64_t> take_number_from_end(std::string_view& text) {
  text = trim_gaps(text);
  std::size_t start = text.size();
  while (start > 0 && is_digit(text[start - 1]))
    --start;
  const auto value = parse_integer<std::uint64_t>(text.substr(start));
  if (value) text = trim_gaps(text.substr(0, start));
  return value;
}

std::optional<std::uint64_t> guid_at_end(std::string_view text) {
  text = trim_gaps(text);
  const std::size_t start = text.rfind("0x");
  if (start == std::string_view::npos) return std::nullopt;
  return parse_integer<std::uint64_t>(text.substr(start), 16);
}

// "…  0x0002c9…" "name"   10   21[  ]": read from its end, so that what stands before does not matter.
bool read_here(std::string_view left, LinkEnd& here) {
  const std::size_t label = left.rfind('[');
  if (label == std::string_view::npos) return false;
  left = left.substr(0, label);
  const auto number = take_number_from_end(left);
  const auto lid = take_number_from_end(left);
  if (!number || *number > ~std::uint32_t{0} || !lid) return false;
  here.number = static_cast<std::uint32_t>(*number);
  here.lid = *lid;
  if (left.ends_with('"')) {
    const std::size_t open = left.find('"');
    if (open + 1 >= left.size()) return false;
    here.name = trim(left.substr(open + 1, left.size() - open - 2));
    left = left.substr(0, open);
  }
  here.guid = guid_at_end(left).value_or(0);
  return true;
}

// " 4X      25.78125 Gbps Active/  LinkUp) (HOQ:14 VL_Stall:7)", "                Down/ Polling)"
void read_state(std::string_view middle, LinkLine& line) {
  const std::size_t slash = middle.find('/');
  if (slash == std::string_view::npos) return;
  const std::string_view before = trim_gaps(middle.substr(0, slash));
  const std::size_t word = before.find_last_of(" \t(");
  line.state = parse_state(word == std::string_view::npos ? before : before.substr(word + 1));
  const std::string_view after = middle.substr(slash + 1);
  line.physical_state = parse_physical_state(after.substr(0, after.find(')')));
  if (line.state == model::PortState::kDown) return;
  Cursor cursor(before);
  cursor.skip_gaps();
  line.rate.lanes = parse_lanes(cursor.take_word());
  cursor.skip_gaps();
  line.rate.speed =
      contains(before, "FDR10") ? model::LaneSpeedName::kFdr10 : parse_lane_rate(cursor.take_word());
}

// "Could be 4X Could be 53.125 Gbps", "Could be FDR10 (Found link at QDR …)"
void read_remark(std::string_view remark, LinkRate& could_be) {
  constexpr std::string_view kWords = "Could be ";
  Cursor cursor(remark);
  while (cursor.skip_past(kWords)) {
    const std::string_view word = cursor.take_word();
    if (const std::uint8_t lanes = parse_lanes(word); lanes != 0) {
      could_be.lanes = lanes;
    } else {
      could_be.speed = parse_lane_rate(word.substr(0, word.find(')')));
    }
  }
}

// "  0x0002c9…     40    1[  ] "gpu-a HCA-1" ( Could be 53.125 Gbps)"
void read_there(std::string_view right, LinkLine& line) {
  if (contains(right, "\"Port not available\"")) {
    line.no_answer = true;
    return;
  }
  LinkEnd there;
  Cursor cursor(right);
  cursor.skip_gaps();
  if (cursor.rest().starts_with("0x")) there.guid = cursor.take_hex().value_or(0);
  cursor.skip_gaps();
  const auto lid = cursor.take_number();
  cursor.skip_gaps();
  const auto number = cursor.take_number();
  if (!lid || !number || !cursor.eat("[")) return;
  there.lid = *lid;
  there.number = *number;
  const std::string_view rest = cursor.rest();
  const std::size_t open = rest.find('"');
  const std::size_t close = rest.rfind('"');
  if (open != std::string_view::npos && close > open) {
    there.name = trim(rest.substr(open + 1, close - open - 1));
    read_remark(rest.substr(close + 1), line.could_be);
  } else if (open != std::string_view::npos) {
    there.name = trim(rest.substr(open + 1));  // the line is cut in the name
  }
  line.there = there;
}

}  // namespace

std::optional<LinkLine> parse_link_line(std::string_view text) {
  const std::size_t open = text.find(kOpen);
  const std::size_t arrow = text.find(kArrow, open == std::string_view::npos ? text.size() : open);
  if (arrow == std::string_view::npos) return std::nullopt;
  LinkLine line;
  if (!read_here(text.substr(0, open), line.here)) return std::nullopt;
  std::string_view middle = text.substr(open + kOpen.size(), arrow - open - kOpen.size());
  if (middle.starts_with('(')) middle.remove_prefix(1);
  read_state(middle, line);
  read_there(text.substr(arrow + kArrow.size()), line);
  return line;
}

void set_link_state(const LinkLine& line, model::FabricPort& port) {
  if (line.state != model::PortState::kUnknown) port.state = line.state;
  if (line.physical_state != model::PortPhysicalState::kUnknown) port.physical_state = line.physical_state;
  if (line.rate.lanes != 0) port.lanes = line.rate.lanes;
  if (line.rate.speed != model::LaneSpeedName::kUnknown) port.speed = line.rate.speed;
  // "Could be": both ends can do that; what runs at its best already is not repeated there.
  const bool below = line.could_be.lanes != 0 || line.could_be.speed != model::LaneSpeedName::kUnknown;
  if (below) {
    port.most_lanes = std::max(line.could_be.lanes, line.rate.lanes);
    port.most_speed = std::max(line.could_be.speed, line.rate.speed);
  }
  if (line.no_answer) port.trouble = "the port at the other end did not answer";
}

}  // namespace angio::import::fabric
