// A thread that runs what it is given, in order: how calls of gloo, which block, are begun without waiting
// for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

#include "base/error.hpp"

namespace angio::gloo_backend {

class Runner {
 public:
  using Job = std::function<Result<void>()>;

  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  ~Runner();  // waits for the job that runs; those behind it are dropped
  // The thread begins with the first job. Error: there can be none.
  Result<void> add(Job job);
  // Waits for all. The first error, once; what was behind it did not run.
  Result<void> finish();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable news_;
  std::deque<Job> jobs_;
  Result<void> result_;
  bool busy_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace angio::gloo_backend
