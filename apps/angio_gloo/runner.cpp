#include "runner.hpp"

#include <system_error>
#include <utility>

namespace angio::gloo_backend {

Runner::~Runner() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    jobs_.clear();
  }
  news_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<void> Runner::add(Job job) {
  const std::lock_guard lock(mutex_);
  if (!thread_.joinable()) {
    try {
      thread_ = std::thread([this] { work(); });
    } catch (const std::system_error& error) {
      return fail(ErrorCode::kIo, std::string("no thread for gloo: ") + error.what());
    }
  }
  if (!result_) return {};  // finish() tells it
  jobs_.push_back(std::move(job));
  news_.notify_all();
  return {};
}

Result<void> Runner::finish() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [this] { return jobs_.empty() && !busy_; });
  return std::exchange(result_, Result<void>());
}

void Runner::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    busy_ = true;
    lock.unlock();
    Result<void> done = job();
    lock.lock();
    busy_ = false;
    if (!done) {
      result_ = std::move(done);
      jobs_.clear();
    }
    news_.notify_all();
  }
}

}  // namespace angio::gloo_backend
