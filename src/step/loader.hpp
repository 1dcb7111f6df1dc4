// A loader of batches that takes its time: workers that load ahead, as those of PyTorch's DataLoader, or the
// step itself where there are none.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#include "step/spec.hpp"

namespace angio::step {

class BatchLoader {
 public:
  explicit BatchLoader(const Loader& wish);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  ~BatchLoader();
  // Returns once a batch is there.
  void next();

 private:
  void load_ahead();
  Loader wish_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::uint64_t ready_ = 0;
  std::uint64_t room_ = 0;
  bool over_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace angio::step
