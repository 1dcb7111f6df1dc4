// Threads: the workers of a loader load while the step computes.
#include "step/loader.hpp"

#include <algorithm>
#include <chrono>

namespace angio::step {
namespace {

std::chrono::duration<double, std::milli> time_of(const Loader& wish) {
  return std::chrono::duration<double, std::milli>(wish.ms);
}

}  // namespace

BatchLoader::BatchLoader(const Loader& wish)
    : wish_(wish), room_(std::uint64_t{wish.workers} * std::max<std::uint32_t>(wish.prefetch, 1)) {
  if (wish.ms <= 0) return;
  for (std::uint32_t i = 0; i < wish.workers; ++i)
    workers_.emplace_back([this] { load_ahead(); });
}

BatchLoader::~BatchLoader() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  for (std::thread& worker : workers_)
    worker.join();
}

void BatchLoader::load_ahead() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    changed_.wait(lock, [this] { return over_ || room_ > 0; });
    if (over_) return;
    --room_;
    changed_.wait_for(lock, time_of(wish_), [this] { return over_; });
    ++ready_;
    changed_.notify_all();
  }
}

void BatchLoader::next() {
  if (wish_.ms <= 0) return;
  if (workers_.empty()) {
    std::this_thread::sleep_for(time_of(wish_));
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ready_ > 0; });
  --ready_;
  ++room_;
  changed_.notify_all();
}

}  // namespace angio::step
