#include "import/fabric/link_words.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "base/text.hpp"
#include "import/fabric/cursor.hpp"

namespace angio::import::fabric {
namespace {

using model::LaneSpeedName;

struct RateWord {
  std::string_view word;
  LaneSpeedName speed;
};

// libibmad (mad_dump_linkspeed, mad_dump_linkspeedext) and ibdiagnet (IB_LINK_SPEED_*_STR).
constexpr std::array kRateWords = {
    RateWord{"2.5", LaneSpeedName::kSdr},  RateWord{"5", LaneSpeedName::kDdr},
    RateWord{"5.0", LaneSpeedName::kDdr},  RateWord{"10", LaneSpeedName::kQdr},
    RateWord{"10.0", LaneSpeedName::kQdr}, RateWord{"FDR10", LaneSpeedName::kFdr10},
    RateWord{"14", LaneSpeedName::kFdr},   RateWord{"14.0625", LaneSpeedName::kFdr},
    RateWord{"25", LaneSpeedName::kEdr},   RateWord{"25.78125", LaneSpeedName::kEdr},
    RateWord{"50", LaneSpeedName::kHdr},   RateWord{"53.125", LaneSpeedName::kHdr},
    RateWord{"100", LaneSpeedName::kNdr},  RateWord{"106.25", LaneSpeedName::kNdr},
    RateWord{"200", LaneSpeedName::kXdr},  RateWord{"212.5", LaneSpeedName::kXdr},
};

struct SpeedBit {
  std::uint32_t bit;
  LaneSpeedName speed;
};
constexpr std::array kSpeedBits = {
    SpeedBit{1U << 24U, LaneSpeedName::kXdr}, SpeedBit{8U << 8U, LaneSpeedName::kNdr},
    SpeedBit{4U << 8U, LaneSpeedName::kHdr},  SpeedBit{2U << 8U, LaneSpeedName::kEdr},
    SpeedBit{1U << 8U, LaneSpeedName::kFdr},  SpeedBit{1U << 16U, LaneSpeedName::kFdr10},
    SpeedBit{4U, LaneSpeedName::kQdr},        SpeedBit{2U, LaneSpeedName::kDdr},
    SpeedBit{1U, LaneSpeedName::kSdr},
};

struct WidthBit {
  std::uint32_t bit;
  std::uint8_t lanes;
};
constexpr std::array kWidthBits = {WidthBit{8, 12}, WidthBit{4, 8}, WidthBit{2, 4}, WidthBit{16, 2},
                                   WidthBit{1, 1}};

// Bits of each counter of PortCounters, in the order of FabricCounter.
constexpr std::array<unsigned, model::kFabricCounters> kCounterBits = {16, 8, 8,  16, 16, 16, 16, 8, 8,
                                                                       4,  4, 16, 32, 32, 32, 32, 32};

bool is_data(model::FabricCounter counter) {
  return counter == model::FabricCounter::kTransmitBytes || counter == model::FabricCounter::kReceiveBytes;
}

}  // namespace

std::optional<LinkRate> parse_rate_word(std::string_view word) {
  LinkRate rate;
  if (word.starts_with("??")) {
    word.remove_prefix(2);
  } else {
    Cursor cursor(word);
    if (!cursor.take_number() || !cursor.eat("x")) return std::nullopt;
    rate.lanes = parse_lanes(word.substr(0, word.size() - cursor.rest().size()));
    word = cursor.rest();
  }
  rate.speed = model::find_lane_speed(word);
  const bool is_rate = rate.speed != LaneSpeedName::kUnknown || word == "???";
  return is_rate ? std::optional(rate) : std::nullopt;
}

std::uint8_t parse_lanes(std::string_view word) {
  Cursor cursor(word);
  const auto lanes = cursor.take_number();
  const bool is_width = lanes && (cursor.rest() == "x" || cursor.rest() == "X");
  if (!is_width) return 0;
  const bool known = std::ranges::find(kWidthBits, *lanes, &WidthBit::lanes) != kWidthBits.end();
  return known ? static_cast<std::uint8_t>(*lanes) : std::uint8_t{0};
}

LaneSpeedName parse_lane_rate(std::string_view word) {
  const auto* const found = std::ranges::find(kRateWords, word, &RateWord::word);
  return found != kRateWords.end() ? found->speed : LaneSpeedName::kUnknown;
}

LaneSpeedName speed_of_extended(std::uint32_t code) {
  return code < 256 ? fastest_of_bits(code << 8U) : LaneSpeedName::kUnknown;
}

LaneSpeedName fastest_of_bits(std::uint32_t bits) {
  for (const SpeedBit& candidate : kSpeedBits) {
    if ((bits & candidate.bit) != 0) return candidate.speed;
  }
  return LaneSpeedName::kUnknown;
}

std::uint8_t widest_of_bits(std::uint32_t bits) {
  for (const WidthBit& candidate : kWidthBits) {
    if ((bits & candidate.bit) != 0) return candidate.lanes;
  }
  return 0;
}

model::PortState state_of_code(std::uint32_t code) {
  return code <= 4 ? static_cast<model::PortState>(code) : model::PortState::kUnknown;
}

model::PortPhysicalState physical_state_of_code(std::uint32_t code) {
  return code <= 7 ? static_cast<model::PortPhysicalState>(code) : model::PortPhysicalState::kUnknown;
}

model::PortState parse_state(std::string_view word) {
  const std::string lower = to_lower(trim(word));
  if (lower == "down") return model::PortState::kDown;
  if (lower.starts_with("ini")) return model::PortState::kInit;
  if (lower == "armed" || lower == "arm") return model::PortState::kArmed;
  return lower == "active" || lower == "act" ? model::PortState::kActive : model::PortState::kUnknown;
}

model::PortPhysicalState parse_physical_state(std::string_view word) {
  std::string lower = to_lower(trim(word));
  std::erase_if(lower, [](char c) { return c == ' ' || c == '_' || c == '-'; });
  if (lower == "linkup") return model::PortPhysicalState::kLinkUp;
  if (lower == "polling") return model::PortPhysicalState::kPolling;
  if (lower == "disabled") return model::PortPhysicalState::kDisabled;
  if (lower == "sleep") return model::PortPhysicalState::kSleep;
  if (lower == "phytest") return model::PortPhysicalState::kPhyTest;
  if (lower.contains("training")) return model::PortPhysicalState::kTraining;
  return lower.contains("recovery") ? model::PortPhysicalState::kErrorRecovery
                                    : model::PortPhysicalState::kUnknown;
}

std::optional<std::uint32_t> mtu_of_code(std::uint32_t code) {
  return code >= 1 && code <= 5 ? std::optional(128U << code) : std::nullopt;
}

std::optional<Lid> to_lid(std::uint64_t number) {
  constexpr std::uint64_t kLastUnicast = 0xBFFF;
  if (number == 0 || number > kLastUnicast) return std::nullopt;
  return Lid{static_cast<std::uint16_t>(number)};
}

void set_counter(model::CounterSet& counters, model::FabricCounter counter, std::uint64_t value,
                 bool narrow) {
  constexpr std::uint64_t kTop = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint64_t kBytesPerWord = 4;
  const unsigned bits = kCounterBits.at(static_cast<std::size_t>(counter));
  const bool stuck = narrow ? value >= (std::uint64_t{1} << bits) - 1 : value == kTop;
  if (is_data(counter)) value = value > kTop / kBytesPerWord ? kTop : value * kBytesPerWord;
  counters.set(counter, value, stuck);
}

}  // namespace angio::import::fabric
