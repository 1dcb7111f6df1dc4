// Calls into vendor libraries that may never come back (a GPU that fell off the bus blocks in the driver).
// Each call runs on a helper thread; one that outlasts the patience is given up together with its thread,
// so the others still answer. Used by the NVML and verbs roots; not a thread pool.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

namespace angio::probe {

class BoundedCalls {
 public:
  explicit BoundedCalls(std::chrono::milliseconds patience);
  BoundedCalls(const BoundedCalls&) = delete;
  BoundedCalls& operator=(const BoundedCalls&) = delete;
  ~BoundedCalls();

  // False when task did not finish in time. Task must own all it touches (shared_ptr): it may run on after
  // that.
  [[nodiscard]] bool run(std::function<void()> task);
  [[nodiscard]] std::chrono::milliseconds patience() const { return patience_; }

 private:
  struct Worker;
  std::chrono::milliseconds patience_;
  std::unique_ptr<Worker> worker_;
};

}  // namespace angio::probe
