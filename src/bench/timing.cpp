#include "bench/timing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <ctime>
#include <numeric>
#include <optional>
#include <system_error>
#include <thread>

#include "bench/numa_calls.hpp"

namespace angio::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

// Time that this thread ran: a wait for memory counts, a turn given to another process does not.
double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The slices of one buffer, a thread each.
class Team {
 public:
  Team(Transfer transfer, const Kernels& kernels, std::span<std::byte> buffer,
       std::span<const std::uint32_t> cpus)
      : transfer_(transfer),
        kernels_(kernels),
        cpus_(cpus),
        buffer_(buffer),
        line_up_(static_cast<long>(cpus.size())) {
    begin_.resize(cpus.size());
    end_.resize(cpus.size());
    errors_.resize(cpus.size());
  }

  Result<std::vector<double>> work(const Duration& duration, const Interrupts& interrupts) {
    std::vector<std::thread> threads;
    std::string not_started;
    for (std::size_t index = 1; index < cpus_.size(); ++index) {
      try {
        threads.emplace_back([this, index] { follow(index); });
      } catch (const std::system_error& error) {
        not_started = fmt::format("thread {} of {} cannot start: {}", index + 1, cpus_.size(), error.what());
        break;
      }
    }
    if (!not_started.empty()) {
      give_up_for(cpus_.size() - 1 - threads.size());
    } else {
      lead(duration, interrupts);
    }
    for (std::thread& thread : threads)
      thread.join();
    if (!not_started.empty()) return fail(ErrorCode::kIo, not_started);
    for (std::optional<Error>& error : errors_) {
      if (error) return std::unexpected(std::move(*error));
    }
    return std::move(rates_);
  }

 private:
  // The leader and those that never started leave the line.
  void give_up_for(std::size_t missing) {
    over_ = true;
    for (std::size_t each = 0; each < missing; ++each)
      line_up_.arrive_and_drop();
    line_up_.arrive_and_wait();  // all bound
    line_up_.arrive_and_wait();  // all see the end
  }

  void bind(std::size_t index) {
    if (auto bound = bind_this_thread(cpus_[index]); !bound) {
      errors_[index] = std::move(bound.error());
      failed_ = true;
    }
    line_up_.arrive_and_wait();
  }

  void follow(std::size_t index) {
    bind(index);
    for (;;) {
      line_up_.arrive_and_wait();
      if (over_) return;
      one_turn(index);
      line_up_.arrive_and_wait();
    }
  }

  void lead(const Duration& duration, const Interrupts& interrupts) {
    const KeptAffinity kept;
    bind(0);
    const Clock::time_point start = Clock::now();
    for (std::uint32_t turn = 0; !over_; ++turn) {
      // The first turn warms caches and TLBs and counts for nothing.
      const bool enough =
          turn > duration.least_repeats && seconds_between(start, Clock::now()) >= duration.seconds;
      if (enough || failed_ || interrupts.pending() != 0) over_ = true;
      line_up_.arrive_and_wait();
      if (over_) break;
      one_turn(0);
      line_up_.arrive_and_wait();
      if (turn > 0) rates_.push_back(rate());
    }
  }

  [[nodiscard]] std::span<std::byte> slice(std::size_t index) const {
    const std::size_t size = buffer_.size() / cpus_.size() / (2 * kStride) * (2 * kStride);
    return buffer_.subspan(index * size, size);
  }

  void one_turn(std::size_t index) {
    const std::span<std::byte> mine = slice(index);
    begin_[index] = Clock::now();
    if (transfer_ == Transfer::kRead) {
      sink_.fetch_xor(kernels_.read(mine.data(), mine.size()), std::memory_order_relaxed);
    } else if (transfer_ == Transfer::kCopy) {
      const std::size_t half = mine.size() / 2;
      kernels_.copy(mine.data() + half, mine.data(), half);
    } else {
      kernels_.write(mine.data(), mine.size());
    }
    end_[index] = Clock::now();
  }

  [[nodiscard]] double rate() const {
    const double took = seconds_between(*std::ranges::min_element(begin_), *std::ranges::max_element(end_));
    const auto bytes = static_cast<double>(slice(0).size() * cpus_.size());
    return took > 0 ? bytes / took : 0;
  }

  Transfer transfer_;
  const Kernels& kernels_;
  std::span<const std::uint32_t> cpus_;
  std::span<std::byte> buffer_;
  std::barrier<> line_up_;
  std::atomic<bool> over_ = false;
  std::atomic<bool> failed_ = false;
  std::atomic<std::uint64_t> sink_ = 0;
  std::vector<Clock::time_point> begin_;
  std::vector<Clock::time_point> end_;
  std::vector<std::optional<Error>> errors_;
  std::vector<double> rates_;
};

}  // namespace

model::BenchFigure figure_of(std::vector<double> samples) {
  model::BenchFigure figure;
  if (samples.empty()) {
    figure.missing = "interrupted";
    return figure;
  }
  std::ranges::sort(samples);
  const std::size_t middle = samples.size() / 2;
  const double median =
      samples.size() % 2 == 1 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
  figure.value =
      model::Spread{median, samples.front(), samples.back(), static_cast<std::uint32_t>(samples.size())};
  return figure;
}

Result<std::vector<double>> time_transfer(Transfer transfer, const Kernels& kernels,
                                          std::span<std::byte> buffer, std::span<const std::uint32_t> cpus,
                                          const Duration& duration, const Interrupts& interrupts) {
  if (cpus.empty() || buffer.size() / cpus.size() < 2 * kStride) {
    return fail(ErrorCode::kInvalidInput, "the buffer is too small for that many threads",
                "use a larger --size");
  }
  return Team(transfer, kernels, buffer, cpus).work(duration, interrupts);
}

Result<std::vector<double>> time_chain(std::span<const ChainLine> lines, std::uint32_t cpu,
                                       const Duration& duration, const Interrupts& interrupts) {
  constexpr std::size_t kFirst = 20000;
  constexpr double kPart = 0.1;  // of the time, for one repeat
  const KeptAffinity kept;
  if (auto bound = bind_this_thread(cpu); !bound) return std::unexpected(std::move(bound.error()));
  const ChainLine* at = lines.data();
  std::size_t steps = kFirst;
  std::vector<double> samples;
  const Clock::time_point start = Clock::now();
  for (std::uint32_t turn = 0; interrupts.pending() == 0; ++turn) {
    const double begin = processor_seconds();
    at = follow_chain(at, steps);
    const double each = std::max(processor_seconds() - begin, 1e-9) / static_cast<double>(steps);
    if (at == nullptr) return fail(ErrorCode::kBug, "the chain of loads is no ring");
    if (turn > 0) samples.push_back(each * 1e9);
    if (turn == 0)
      steps = std::max<std::size_t>(kFirst, static_cast<std::size_t>(duration.seconds * kPart / each));
    if (turn >= duration.least_repeats && seconds_between(start, Clock::now()) >= duration.seconds) break;
  }
  return samples;
}

}  // namespace angio::bench
