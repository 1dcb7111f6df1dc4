#include "elements.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

namespace angio::backend {
namespace {

using collective::Element;
using collective::Reduction;

// IEEE 754 binary16 with 10 bits of mantissa, to nearest even.
struct Half {
  std::uint16_t bits = 0;

  explicit operator float() const {
    const bool negative = (bits & 0x8000U) != 0;
    const int exponent = (bits >> 10U) & 0x1fU;
    const int mantissa = bits & 0x3ffU;
    float value = 0;
    if (exponent == 0x1f)
      value = mantissa != 0 ? NAN : INFINITY;
    else
      value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -24)
                            : std::ldexp(static_cast<float>(mantissa + 0x400), exponent - 25);
    return negative ? -value : value;
  }

  static Half of(float value) {
    const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
    if (std::isnan(value)) return {static_cast<std::uint16_t>(sign | 0x7e00U)};
    const float size = std::fabs(value);
    if (size >= 65520.0F) return {static_cast<std::uint16_t>(sign | 0x7c00U)};
    int exponent = 0;
    (void)std::frexp(size, &exponent);
    // Units of the last place: 2^(exponent - 11), not below 2^-24. Rounding up carries into the exponent by
    // itself.
    const int place = std::max(exponent - 11, -24);
    const auto units = static_cast<std::uint32_t>(std::nearbyint(std::ldexp(size, -place)));
    const auto above = static_cast<std::uint32_t>(place + 24);
    return {static_cast<std::uint16_t>(sign | (units + (above << 10U)))};
  }
};

struct Bfloat16 {
  std::uint16_t bits = 0;

  explicit operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16U); }

  static Bfloat16 of(float value) {
    if (std::isnan(value)) return {0x7fc0U};
    const auto whole = std::bit_cast<std::uint32_t>(value);
    return {static_cast<std::uint16_t>((whole + 0x7fffU + ((whole >> 16U) & 1U)) >> 16U)};
  }
};

template <typename T>
constexpr bool kIsShort = std::is_same_v<T, Half> || std::is_same_v<T, Bfloat16>;

template <typename T, Reduction kOp, typename V>
V apply(V a, V b) {
  if constexpr (kOp == Reduction::kProduct)
    return static_cast<V>(a * b);
  else if constexpr (kOp == Reduction::kMinimum)
    return std::min(a, b);
  else if constexpr (kOp == Reduction::kMaximum)
    return std::max(a, b);
  else
    return static_cast<V>(a + b);
}

// Signed overflow is no accident here but what a sum of bytes does: computed without sign.
template <typename T, Reduction kOp>
T combined(T a, T b) {
  if constexpr (kIsShort<T>) {
    return T::of(apply<T, kOp>(static_cast<float>(a), static_cast<float>(b)));
  } else if constexpr (std::is_integral_v<T> && (kOp == Reduction::kSum || kOp == Reduction::kProduct)) {
    return static_cast<T>(apply<T, kOp>(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
  } else {
    return apply<T, kOp>(a, b);
  }
}

template <typename T, Reduction kOp>
void combine(void* out, const void* a, const void* b, std::size_t count) {
  T* to = static_cast<T*>(out);
  const T* left = static_cast<const T*>(a);
  const T* right = static_cast<const T*>(b);
  for (std::size_t i = 0; i < count; ++i)
    to[i] = combined<T, kOp>(left[i], right[i]);
}

template <typename T>
Combine combine_for(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return combine<T, Reduction::kProduct>;
    case Reduction::kMinimum:
      return combine<T, Reduction::kMinimum>;
    case Reduction::kMaximum:
      return combine<T, Reduction::kMaximum>;
    case Reduction::kSum:
    case Reduction::kAverage:
      break;
  }
  return combine<T, Reduction::kSum>;
}

template <typename T>
void divide_all(T* data, std::size_t count, std::uint32_t by) {
  for (std::size_t i = 0; i < count; ++i) {
    if constexpr (kIsShort<T>)
      data[i] = T::of(static_cast<float>(data[i]) / static_cast<float>(by));
    else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>)
      data[i] = static_cast<T>(static_cast<std::int64_t>(data[i]) / static_cast<std::int64_t>(by));
    else
      data[i] = static_cast<T>(data[i] / static_cast<T>(by));
  }
}

// visit(T{}) with the type of the element.
template <typename Visit>
auto with_type(Element element, Visit visit) {
  switch (element) {
    case Element::kInt8:
      return visit(std::int8_t{});
    case Element::kUint8:
      return visit(std::uint8_t{});
    case Element::kInt32:
      return visit(std::int32_t{});
    case Element::kUint32:
      return visit(std::uint32_t{});
    case Element::kInt64:
      return visit(std::int64_t{});
    case Element::kUint64:
      return visit(std::uint64_t{});
    case Element::kHalf:
      return visit(Half{});
    case Element::kDouble:
      return visit(double{});
    case Element::kBfloat16:
      return visit(Bfloat16{});
    case Element::kFloat:
      break;
  }
  return visit(float{});
}

}  // namespace

Combine combine_of(Element element, Reduction reduction) {
  return with_type(element, [&](auto sample) { return combine_for<decltype(sample)>(reduction); });
}

void divide(Element element, void* data, std::size_t count, std::uint32_t by) {
  with_type(element, [&](auto sample) { divide_all(static_cast<decltype(sample)*>(data), count, by); });
}

double load(Element element, const void* at) {
  return with_type(element, [&](auto sample) {
    std::memcpy(&sample, at, sizeof sample);
    if constexpr (kIsShort<decltype(sample)>)
      return static_cast<double>(static_cast<float>(sample));
    else
      return static_cast<double>(sample);
  });
}

void store(Element element, void* at, double value) {
  with_type(element, [&](auto sample) {
    if constexpr (kIsShort<decltype(sample)>)
      sample = decltype(sample)::of(static_cast<float>(value));
    else
      sample = static_cast<decltype(sample)>(value);
    std::memcpy(at, &sample, sizeof sample);
  });
}

}  // namespace angio::backend
