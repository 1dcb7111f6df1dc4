#include "step/compute.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <thread>

namespace angio::step {
namespace {

constexpr std::size_t kSide = 32;  // three matrices of floats fit into 16 KiB
using Matrix = std::array<float, kSide * kSide>;

// One product; values stay near 1 whatever the number of rounds.
float multiply(Matrix& a, const Matrix& b) {
  Matrix product{};
  for (std::size_t i = 0; i < kSide; ++i) {
    for (std::size_t k = 0; k < kSide; ++k) {
      const float factor = a[i * kSide + k];
      for (std::size_t j = 0; j < kSide; ++j)
        product[i * kSide + j] += factor * b[k * kSide + j];
    }
  }
  a = product;
  return a[0];
}

float rounds(std::size_t count) {
  Matrix a;
  Matrix b;
  a.fill(1.0F);
  b.fill(1.0F / kSide);
  float sink = 0;
  for (std::size_t i = 0; i < count; ++i)
    sink += multiply(a, b);
  return sink;
}

double thread_milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
}

}  // namespace

Computer::Computer(Compute kind) : kind_(kind) {
  if (kind == Compute::kIdle) return;
  constexpr std::size_t kRounds = 200;
  constexpr int kRepeats = 5;
  double best = 0;
  for (int i = 0; i < kRepeats; ++i) {
    const double begin = thread_milliseconds();
    sink_ += rounds(kRounds);
    const double taken = std::max(thread_milliseconds() - begin, 1e-3);
    best = std::max(best, kRounds / taken);
  }
  rounds_a_ms_ = best;
}

void Computer::work(double ms) {
  if (ms <= 0) return;
  if (kind_ == Compute::kIdle) {
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(ms));
    return;
  }
  const volatile float result =
      rounds(std::max<std::size_t>(1, static_cast<std::size_t>(ms * rounds_a_ms_ + 0.5)));
  sink_ += result;
}

}  // namespace angio::step
