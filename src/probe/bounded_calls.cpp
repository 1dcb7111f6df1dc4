// Threads: a vendor library may never return; only a thread of its own can be left behind then.
#include "probe/bounded_calls.hpp"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace angio::probe {
namespace {

// Shared with the thread, so that a thread that was given up still has it when it wakes.
struct Mailbox {
  std::mutex mutex;
  std::condition_variable changed;
  std::function<void()> task;
  bool busy = false;
  bool stop = false;
};

void serve(const std::shared_ptr<Mailbox>& box) {
  std::unique_lock lock(box->mutex);
  for (;;) {
    box->changed.wait(lock, [&] { return box->busy || box->stop; });
    if (box->stop) return;
    std::function<void()> task = std::exchange(box->task, {});
    lock.unlock();
    task();
    task = {};
    lock.lock();
    box->busy = false;
    box->changed.notify_all();
  }
}

}  // namespace

struct BoundedCalls::Worker {
  std::shared_ptr<Mailbox> box = std::make_shared<Mailbox>();
  std::thread thread{[shared = box] { serve(shared); }};
};

BoundedCalls::BoundedCalls(std::chrono::milliseconds patience) : patience_(patience) {}

BoundedCalls::~BoundedCalls() {
  if (worker_ == nullptr) return;
  {
    const std::scoped_lock lock(worker_->box->mutex);
    worker_->box->stop = true;
  }
  worker_->box->changed.notify_all();
  worker_->thread.join();
}

bool BoundedCalls::run(std::function<void()> task) {
  if (worker_ == nullptr) worker_ = std::make_unique<Worker>();
  Mailbox& box = *worker_->box;
  std::unique_lock lock(box.mutex);
  box.task = std::move(task);
  box.busy = true;
  box.changed.notify_all();
  if (box.changed.wait_for(lock, patience_, [&] { return !box.busy; })) return true;
  box.stop = true;  // should the call ever return, the thread ends by itself
  lock.unlock();
  worker_->thread.detach();
  worker_.reset();
  return false;
}

}  // namespace angio::probe
