#include "collective/transport.hpp"

#include <array>

namespace angio::collective {
namespace {

using Clock = std::chrono::steady_clock;

struct ElementFacts {
  std::string_view name;  // as nccl-tests prints it
  std::size_t size;
};
constexpr std::array<ElementFacts, 10> kElements = {{{"int8", 1},
                                                     {"uint8", 1},
                                                     {"int32", 4},
                                                     {"uint32", 4},
                                                     {"int64", 8},
                                                     {"uint64", 8},
                                                     {"half", 2},
                                                     {"float", 4},
                                                     {"double", 8},
                                                     {"bfloat16", 2}}};
constexpr std::array<std::string_view, 5> kReductions = {"sum", "prod", "min", "max", "avg"};

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

std::size_t size_of(Element element) {
  return kElements[static_cast<std::size_t>(element)].size;
}

std::string_view label(Element element) {
  return kElements[static_cast<std::size_t>(element)].name;
}

std::string_view label(Reduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}

std::optional<Element> parse_element(std::string_view word) {
  for (std::size_t i = 0; i < kElements.size(); ++i) {
    if (kElements[i].name == word) return static_cast<Element>(i);
  }
  return std::nullopt;
}

std::optional<Reduction> parse_reduction(std::string_view word) {
  for (std::size_t i = 0; i < kReductions.size(); ++i) {
    if (kReductions[i] == word) return static_cast<Reduction>(i);
  }
  return std::nullopt;
}

Result<void> Transport::finish_group([[maybe_unused]] Group group) {
  return finish();
}

Result<std::vector<double>> Transport::time_each(const Call& call, std::uint32_t times) {
  std::vector<double> taken;
  taken.reserve(times);
  for (std::uint32_t i = 0; i < times; ++i) {
    const Clock::time_point begin = Clock::now();
    if (auto started = start(call); !started) return std::unexpected(std::move(started.error()));
    if (auto done = finish(); !done) return std::unexpected(std::move(done.error()));
    taken.push_back(microseconds(Clock::now() - begin));
  }
  return taken;
}

Result<double> Transport::time_batch(const Call& call, std::uint32_t times) {
  const Clock::time_point begin = Clock::now();
  for (std::uint32_t i = 0; i < times; ++i) {
    if (auto started = start(call); !started) return std::unexpected(std::move(started.error()));
  }
  if (auto done = finish(); !done) return std::unexpected(std::move(done.error()));
  return microseconds(Clock::now() - begin);
}

}  // namespace angio::collective
