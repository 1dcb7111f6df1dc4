// The hand-over of a cache line: two threads write the same line in turn.
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <system_error>
#include <thread>

#include "bench/numa_calls.hpp"
#include "bench/timing.hpp"

namespace angio::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kOver = ~std::uint64_t{0};
// A thread that others keep from its CPU must not make the other spin for ever.
constexpr std::chrono::seconds kPatience{2};
constexpr std::uint32_t kSpinsPerLook = 1U << 14U;

// Alone on its line and on the neighbour that prefetchers fetch with it.
struct alignas(256) Ball {
  std::atomic<std::uint64_t> value = 0;
};

// Waits for the value or the end; false: the end, or patience ran out.
bool await(const Ball& ball, std::uint64_t wanted) {
  std::optional<Clock::time_point> begin;
  for (std::uint32_t spins = 1;; ++spins) {
    const std::uint64_t value = ball.value.load(std::memory_order_acquire);
    if (value == wanted) return true;
    if (value == kOver) return false;
    if (spins % kSpinsPerLook != 0) continue;
    if (!begin) begin = Clock::now();
    if (Clock::now() - *begin > kPatience) return false;
  }
}

// Answers odd values with the next even one.
void answer(Ball& ball) {
  for (std::uint64_t turn = 1; await(ball, turn); turn += 2)
    ball.value.store(turn + 1, std::memory_order_release);
}

class Rally {
 public:
  Result<std::vector<double>> play(const Duration& duration, const Interrupts& interrupts) {
    constexpr std::uint32_t kRounds = 200;
    std::vector<double> samples;
    const Clock::time_point start = Clock::now();
    for (std::uint32_t turn = 0; interrupts.pending() == 0; ++turn) {
      const Clock::time_point begin = Clock::now();
      for (std::uint32_t round = 0; round < kRounds; ++round) {
        ball_.value.store(next_, std::memory_order_release);
        if (!await(ball_, next_ + 1)) return fail(ErrorCode::kIo, "one of the two CPUs did not come to run");
        next_ += 2;
      }
      const Clock::time_point end = Clock::now();
      const double one_way = std::chrono::duration<double, std::nano>(end - begin).count() / kRounds / 2;
      if (turn > 0) samples.push_back(one_way);
      if (turn >= duration.least_repeats &&
          std::chrono::duration<double>(end - start).count() >= duration.seconds) {
        break;
      }
    }
    return samples;
  }

  Ball& ball() { return ball_; }

 private:
  Ball ball_;
  std::uint64_t next_ = 1;
};

}  // namespace

Result<std::vector<double>> time_cache_line(std::uint32_t first, std::uint32_t second,
                                            const Duration& duration, const Interrupts& interrupts) {
  const KeptAffinity kept;
  if (auto bound = bind_this_thread(first); !bound) return std::unexpected(std::move(bound.error()));
  Rally rally;
  std::optional<Error> other_error;
  std::thread other;
  try {
    other = std::thread([&] {
      if (auto bound = bind_this_thread(second); !bound) {
        other_error = std::move(bound.error());
        rally.ball().value.store(kOver, std::memory_order_release);
        return;
      }
      answer(rally.ball());
    });
  } catch (const std::system_error& error) {
    return fail(ErrorCode::kIo, fmt::format("no second thread: {}", error.what()));
  }
  auto samples = rally.play(duration, interrupts);
  rally.ball().value.store(kOver, std::memory_order_release);
  other.join();
  if (other_error) return std::unexpected(std::move(*other_error));
  return samples;
}

}  // namespace angio::bench
