#include "base/format.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace angio {
namespace {

// One decimal after scaling, ".0" dropped. What rounds to the next unit is written in the next unit.
std::string scaled(double value, double step, std::span<const std::string_view> units) {
  std::size_t unit = 0;
  while (std::round(std::abs(value) * 10) / 10 >= step && unit + 1 < units.size()) {
    value /= step;
    ++unit;
  }
  std::string number = fmt::format("{:.1f}", value);
  if (number.ends_with(".0")) number.erase(number.size() - 2);
  return fmt::format("{} {}", number, units[unit]);
}

}  // namespace

std::string in_words(Bytes size) {
  static constexpr std::array<std::string_view, 6> kUnits{"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  return scaled(static_cast<double>(size.value), 1024.0, kUnits);
}

std::string in_words(BytesPerSecond rate) {
  static constexpr std::array<std::string_view, 5> kUnits{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return scaled(rate.value, 1000.0, kUnits);
}

std::string in_words(BitsPerSecond rate) {
  static constexpr std::array<std::string_view, 5> kUnits{"b/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"};
  return scaled(rate.value, 1000.0, kUnits);
}

std::string in_words(TransfersPerSecond speed) {
  return fmt::format("{:g} GT/s", speed.value / 1e9);
}

std::string in_words(Nanoseconds time) {
  static constexpr std::array<std::string_view, 4> kUnits{"ns", "us", "ms", "s"};
  return scaled(time.value, 1000.0, kUnits);
}

std::string in_words(Hertz frequency) {
  if (frequency.value < 2e9) return fmt::format("{:g} MHz", std::round(frequency.value / 1e6));
  return fmt::format("{:.3g} GHz", frequency.value / 1e9);
}

std::string in_words(Watts power) {
  return fmt::format("{:g} W", std::round(power.value));
}

std::string in_words(Celsius temperature) {
  return fmt::format("{:g} C", std::round(temperature.value));
}

std::string count_of(std::size_t count, const std::string& singular) {
  const char* ending = count == 1 ? "" : singular.ends_with('s') ? "es" : "s";
  return fmt::format("{} {}{}", count, singular, ending);
}

}  // namespace angio
