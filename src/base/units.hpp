// Quantities as types, so that GB/s, Gb/s and GiB cannot be confused: the commonest bug of this field.
// Values are plain numbers in the unit the type names; format.hpp turns them into words.
#pragma once

#include <compare>
#include <cstdint>

namespace angio {

template <typename Tag, typename Number>
struct Quantity {
  Number value{};
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity other) const { return {value + other.value}; }
  constexpr Quantity operator-(Quantity other) const { return {value - other.value}; }
  constexpr Quantity operator*(double factor) const { return {static_cast<Number>(value * factor)}; }
  constexpr double operator/(Quantity other) const {
    return static_cast<double>(value) / static_cast<double>(other.value);
  }
};

using Bytes = Quantity<struct BytesTag, std::uint64_t>;
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;
using BitsPerSecond = Quantity<struct BitsPerSecondTag, double>;
using TransfersPerSecond = Quantity<struct TransfersPerSecondTag, double>;  // PCIe: 16 GT/s = 16e9
using Nanoseconds = Quantity<struct NanosecondsTag, double>;
using Hertz = Quantity<struct HertzTag, double>;
using Watts = Quantity<struct WattsTag, double>;
using Celsius = Quantity<struct CelsiusTag, double>;

constexpr BytesPerSecond to_bytes(BitsPerSecond rate) {
  return {rate.value / 8.0};
}
constexpr Bytes kibibytes(std::uint64_t count) {
  return {count << 10U};
}

}  // namespace angio
