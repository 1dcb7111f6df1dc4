#include "collective/pattern.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace angio::collective {
namespace {

using model::NcclCollective;

// The data repeats after so many elements: a prime, so that no chunk of a library (powers of two) moved to
// another place looks right.
constexpr std::uint64_t kPeriod = 10007;

std::uint64_t mixed(std::uint64_t value) {  // splitmix64
  value += 0x9e3779b97f4a7c15U;
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9U;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebU;
  return value ^ (value >> 31U);
}

// Whole numbers up to here are exact in the type: significand of IEEE 754 binary16, binary32 and binary64,
// and of bfloat16 (8 bits); the largest value of integers.
std::int64_t most_exact(Element element) {
  switch (element) {
    case Element::kInt8:
      return 127;
    case Element::kUint8:
      return 255;
    case Element::kHalf:
      return 2048;
    case Element::kBfloat16:
      return 256;
    case Element::kFloat:
      return std::int64_t{1} << 24U;
    case Element::kInt32:
    case Element::kUint32:
      return std::numeric_limits<std::int32_t>::max();
    case Element::kDouble:
    case Element::kInt64:
    case Element::kUint64:
      break;
  }
  return std::int64_t{1} << 52U;
}

bool is_floating(Element element) {
  return element == Element::kHalf || element == Element::kFloat || element == Element::kDouble ||
         element == Element::kBfloat16;
}

// Of one rank at one place (below kPeriod).
class Values {
 public:
  explicit Values(const Pattern& pattern) : pattern_(pattern), most_(most_exact(pattern.element)) {
    const std::int64_t unit = is_average() ? pattern.ranks : 1;  // averages are whole numbers, too
    // With many ranks and a small type only some of the ranks add something to each place.
    const std::int64_t adders = std::clamp<std::int64_t>(most_ / (2 * unit), 1, pattern.ranks);
    stride_ = (static_cast<std::uint64_t>(pattern.ranks) + static_cast<std::uint64_t>(adders) - 1) /
              static_cast<std::uint64_t>(adders);
    const std::int64_t together =
        (pattern.ranks + static_cast<std::int64_t>(stride_) - 1) / static_cast<std::int64_t>(stride_);
    // Where the type does not hold the number of ranks, only 0 has an average without overflow.
    scale_ = is_floating(pattern.element) || unit <= most_ ? unit : 0;
    range_ = static_cast<std::uint64_t>(std::max<std::int64_t>(most_ / (together * unit), 1));
  }

  [[nodiscard]] std::int64_t at(std::uint32_t rank, std::uint64_t place) const {
    const std::uint64_t here = mixed(pattern_.run * kPeriod + place);
    const std::uint64_t own = mixed(here ^ (std::uint64_t{rank} + 1) * 0x2545f4914f6cdd1dU);
    if (!pattern_.reduction) return static_cast<std::int64_t>(own % static_cast<std::uint64_t>(most_));
    switch (*pattern_.reduction) {
      case Reduction::kProduct:  // one rank has another factor than 1
        return here % pattern_.ranks == rank ? static_cast<std::int64_t>(own % 100) : 1;
      case Reduction::kMinimum:
      case Reduction::kMaximum:
        return static_cast<std::int64_t>(own % static_cast<std::uint64_t>(most_));
      case Reduction::kSum:
      case Reduction::kAverage:
        break;
    }
    if ((rank + here) % stride_ != 0) return 0;
    return static_cast<std::int64_t>(1 + own % range_) * scale_;
  }

  [[nodiscard]] std::int64_t reduced(std::uint64_t place) const {
    std::int64_t result = at(0, place);
    for (std::uint32_t rank = 1; rank < pattern_.ranks; ++rank) {
      const std::int64_t value = at(rank, place);
      switch (*pattern_.reduction) {
        case Reduction::kProduct:
          result *= value;
          break;
        case Reduction::kMinimum:
          result = std::min(result, value);
          break;
        case Reduction::kMaximum:
          result = std::max(result, value);
          break;
        case Reduction::kSum:
        case Reduction::kAverage:
          result += value;
          break;
      }
    }
    return is_average() ? result / pattern_.ranks : result;
  }

 private:
  [[nodiscard]] bool is_average() const { return pattern_.reduction == Reduction::kAverage; }

  const Pattern& pattern_;
  std::int64_t most_;
  std::uint64_t stride_ = 1;
  std::int64_t scale_ = 1;
  std::uint64_t range_ = 1;
};

// Exact for whole numbers up to 2048 (half) and 256 (bfloat16), all that is asked of them.
std::uint16_t half_of(std::int64_t value) {
  if (value == 0) return 0;
  const auto bits = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(value))) - 1;
  constexpr std::uint32_t kBias = 15;
  constexpr std::uint32_t kFraction = 10;
  const auto whole = static_cast<std::uint32_t>(value);
  const std::uint32_t fraction =
      bits <= kFraction ? whole << (kFraction - bits) : whole >> (bits - kFraction);
  return static_cast<std::uint16_t>(((bits + kBias) << kFraction) | (fraction & 0x3ffU));
}

std::uint16_t bfloat16_of(std::int64_t value) {
  return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(static_cast<float>(value)) >> 16U);
}

double value_of_half(std::uint16_t bits) {
  const int exponent = (bits >> 10U) & 0x1fU;
  const double fraction = bits & 0x3ffU;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  if (exponent == 31) return fraction == 0 ? sign * HUGE_VAL : std::nan("");
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

template <typename Number>
void put_as(Number value, std::byte* to) {
  std::memcpy(to, &value, sizeof value);
}

void put(Element element, std::int64_t value, std::byte* to) {
  switch (element) {
    case Element::kInt8:
    case Element::kUint8:
      return put_as(static_cast<std::uint8_t>(value), to);
    case Element::kInt32:
    case Element::kUint32:
      return put_as(static_cast<std::uint32_t>(value), to);
    case Element::kInt64:
    case Element::kUint64:
      return put_as(value, to);
    case Element::kHalf:
      return put_as(half_of(value), to);
    case Element::kBfloat16:
      return put_as(bfloat16_of(value), to);
    case Element::kFloat:
      return put_as(static_cast<float>(value), to);
    case Element::kDouble:
      return put_as(static_cast<double>(value), to);
  }
}

template <typename Number>
Number get_as(const std::byte* from) {
  Number value{};
  std::memcpy(&value, from, sizeof value);
  return value;
}

double floating_at(Element element, const std::byte* from) {
  switch (element) {
    case Element::kHalf:
      return value_of_half(get_as<std::uint16_t>(from));
    case Element::kBfloat16:
      return std::bit_cast<float>(static_cast<std::uint32_t>(get_as<std::uint16_t>(from)) << 16U);
    case Element::kFloat:
      return get_as<float>(from);
    default:
      return get_as<double>(from);
  }
}

// Of one rounding, relative.
double precision_of(Element element) {
  switch (element) {
    case Element::kHalf:
      return 0x1p-11;
    case Element::kBfloat16:
      return 0x1p-8;
    case Element::kFloat:
      return 0x1p-24;
    default:
      return 0x1p-53;
  }
}

// One period of the data, beginning at its start.
template <typename Value>
std::vector<std::byte> one_period(Element element, std::uint64_t count, const Value& value) {
  const std::size_t width = size_of(element);
  std::vector<std::byte> bytes(count * width);
  for (std::uint64_t i = 0; i < count; ++i)
    put(element, value(i), bytes.data() + i * width);
  return bytes;
}

// Elements [first, first + count) of data that repeats. Few elements cost few values.
template <typename Value>
std::vector<std::byte> repeated(Element element, std::uint64_t first, std::uint64_t count,
                                const Value& value) {
  const std::size_t width = size_of(element);
  if (count < kPeriod)
    return one_period(element, count, [&](std::uint64_t i) { return value((first + i) % kPeriod); });
  const std::vector<std::byte> period = one_period(element, kPeriod, value);
  std::vector<std::byte> bytes(count * width);
  std::uint64_t done = 0;
  while (done < count) {
    const std::uint64_t place = (first + done) % kPeriod;
    const std::uint64_t piece = std::min(kPeriod - place, count - done);
    std::memcpy(bytes.data() + done * width, period.data() + place * width, piece * width);
    done += piece;
  }
  return bytes;
}

bool is_near(const Pattern& pattern, const std::byte* got, const std::byte* wanted) {
  // Each of the ranks' parts is rounded after the division, and each sum.
  const double expected = floating_at(pattern.element, wanted);
  const double slack =
      precision_of(pattern.element) * (pattern.ranks + 2) * std::max(1.0, std::abs(expected));
  return std::abs(floating_at(pattern.element, got) - expected) <= slack;
}

}  // namespace

std::vector<std::byte> sent_by(const Pattern& pattern, std::uint32_t rank, std::uint64_t first,
                               std::uint64_t count) {
  const Values values(pattern);
  return repeated(pattern.element, first, count, [&](std::uint64_t place) { return values.at(rank, place); });
}

std::vector<std::byte> reduced(const Pattern& pattern, std::uint64_t first, std::uint64_t count) {
  const Values values(pattern);
  return repeated(pattern.element, first, count, [&](std::uint64_t place) { return values.reduced(place); });
}

std::vector<Piece> expected_pieces(const Call& call, std::uint32_t rank, std::uint32_t ranks) {
  std::vector<Piece> pieces;
  const std::uint64_t count = call.count;
  switch (call.collective) {
    case NcclCollective::kAllReduce:
      return {{0, count, 0, std::nullopt}};
    case NcclCollective::kReduceScatter:
      return {{0, count, rank * count, std::nullopt}};
    case NcclCollective::kReduce:
      if (rank == call.root) pieces.push_back({0, count, 0, std::nullopt});
      return pieces;
    case NcclCollective::kBroadcast:
      return {{0, count, 0, call.root}};
    case NcclCollective::kScatter:
      return {{0, count, rank * count, call.root}};
    case NcclCollective::kSendRecv:
      if (call.source != Call::kNobody) pieces.push_back({0, count, 0, call.source});
      return pieces;
    case NcclCollective::kGather:
      if (rank != call.root) return pieces;
      [[fallthrough]];
    case NcclCollective::kAllGather:
      for (std::uint32_t from = 0; from < ranks; ++from)
        pieces.push_back({from * count, count, 0, from});
      return pieces;
    case NcclCollective::kAllToAll:
      for (std::uint32_t from = 0; from < ranks; ++from)
        pieces.push_back({from * count, count, rank * count, from});
      return pieces;
    default:
      return pieces;
  }
}

std::uint64_t count_wrong(const Pattern& pattern, std::span<const std::byte> got, const Piece& piece,
                          std::uint64_t first, std::optional<std::uint64_t>& where) {
  const std::size_t width = size_of(pattern.element);
  const std::uint64_t count = got.size() / width;
  const std::uint64_t place = piece.first + first;
  const std::vector<std::byte> wanted =
      piece.from ? sent_by(pattern, *piece.from, place, count) : reduced(pattern, place, count);
  if (std::memcmp(got.data(), wanted.data(), count * width) == 0) return 0;
  const bool rounds = !piece.from && pattern.reduction == Reduction::kAverage && is_floating(pattern.element);
  std::uint64_t wrong = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::byte* here = got.data() + i * width;
    const std::byte* there = wanted.data() + i * width;
    if (std::memcmp(here, there, width) == 0) continue;
    if (rounds && is_near(pattern, here, there)) continue;
    if (wrong == 0) where = piece.at + first + i;
    ++wrong;
  }
  return wrong;
}

}  // namespace angio::collective
