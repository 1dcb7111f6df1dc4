#include "net/messages.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <mutex>

#include "net/hub.hpp"

namespace angio::phantom::net {
namespace {

// The hub of this process and how many use it. Never destroyed: NCCL's threads outlive static destructors.
struct Current {
  std::mutex mutex;
  Hub* hub = nullptr;
  std::size_t users = 0;
};
Current& current() {
  static Current& current = *new Current;
  return current;
}

// The word that threads rest on: it changes with every completion.
constinit std::atomic<std::uint32_t> g_completions = 0;
constinit std::atomic<std::uint32_t> g_resting = 0;

Hub* use(std::string& problem) {
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  if (now.hub == nullptr) {
    now.hub = Hub::make(problem);
  }
  if (now.hub != nullptr) {
    ++now.users;
  }
  return now.hub;
}

// The last one ends the hub.
void leave(Hub& hub) {
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  if (--now.users == 0) {
    now.hub = nullptr;
    const std::lock_guard hub_lock(hub.mutex());
    hub.end();
  }
}

// There is one while anything of it is open.
Hub& hub() {
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  return *now.hub;
}

template <typename R>
R& find_free(std::deque<R>& requests) {
  for (R& request : requests) {
    if (request.state.load(std::memory_order_acquire) == State::kFree) {
      return request;
    }
  }
  return requests.emplace_back();
}

template <typename T>
void close(T* what) {
  Hub& users_hub = hub();
  {
    const std::lock_guard lock(users_hub.mutex());
    users_hub.remove(*what);
  }
  leave(users_hub);
}

}  // namespace

std::uint32_t& Counts::of(int tag) {
  for (Entry& entry : entries_) {
    if (entry.tag == tag) {
      return entry.count;
    }
  }
  return entries_.emplace_back(tag, 0U).count;
}

void completed() {
  g_completions.fetch_add(1);
  if (g_resting.load() > 0) {
    ::syscall(SYS_futex, &g_completions, FUTEX_WAKE_PRIVATE, 1 << 20, nullptr, nullptr, 0);
  }
}

void rest() {
  struct Patience {
    std::uint32_t seen = 0;
    std::uint32_t asked = 0;
  };
  thread_local Patience patience;
  // NCCL's proxy asks for everything that is under way in turn; a rest only every so often keeps its round
  // short when much is.
  constexpr std::uint32_t kAsks = 64;
  constexpr long kRest = 100000;  // ns
  const std::uint32_t now = g_completions.load();
  if (now != patience.seen) {
    patience = {.seen = now, .asked = 0};
    return;
  }
  if (++patience.asked % kAsks == 0) {
    const timespec time{.tv_sec = 0, .tv_nsec = kRest};
    g_resting.fetch_add(1);
    ::syscall(SYS_futex, &g_completions, FUTEX_WAIT_PRIVATE, now, &time, nullptr, 0);
    g_resting.fetch_sub(1);
  }
}

Listener* make_listener(Handle& handle, std::string& problem) {
  Hub* const mine = use(problem);
  if (mine == nullptr) {
    return nullptr;
  }
  const std::lock_guard lock(mine->mutex());
  Listener* const listener = mine->add_listener();
  mine->fill(handle);
  handle.listener = listener->id;
  return listener;
}

Sender* connect_to(const Handle& handle, std::string& problem) {
  Hub* const mine = use(problem);
  if (mine == nullptr) {
    return nullptr;
  }
  Sender* sender = nullptr;
  {
    const std::lock_guard lock(mine->mutex());
    sender = mine->add_sender(handle, problem);
  }
  if (sender == nullptr) {
    leave(*mine);
  }
  return sender;
}

Receiver* accept_from(Listener& listener) {
  Hub& mine = hub();
  {
    const std::lock_guard lock(mine.mutex());
    if (listener.arrived.empty()) {
      return nullptr;
    }
  }
  std::string problem;
  use(problem);  // there is one: the listener's
  const std::lock_guard lock(mine.mutex());
  Receiver* const receiver = listener.arrived.front();
  listener.arrived.pop_front();
  return receiver;
}

SendRequest* send_message(Sender& sender, const void* data, std::size_t size, int tag) {
  Hub& mine = hub();
  const std::lock_guard lock(mine.mutex());
  if (!sender.ended) {
    const Frame frame{.kind = FrameKind::kData, .tag = tag, .stream = sender.stream, .size = size};
    std::uint32_t& waiting = sender.waiting.of(tag);
    if (waiting >= kWindow || !mine.send(*sender.link, frame, data)) {
      return nullptr;
    }
    ++waiting;
  }
  SendRequest& request = find_free(sender.requests);
  request.size = size;
  request.state.store(State::kDone, std::memory_order_release);
  return &request;
}

Request* post_receive(Receiver& receiver, const Part* parts, int count) {
  Hub& mine = hub();
  const std::lock_guard lock(mine.mutex());
  Request& request = find_free(receiver.requests);
  request.count = count;
  for (int index = 0; index < count; ++index) {
    request.parts[index] = parts[index];
  }
  request.state.store(State::kBusy, std::memory_order_release);
  receiver.posted.push_back(&request);
  mine.match(receiver);
  if (receiver.ended) {
    mine.end(receiver);
  }
  return &request;
}

void close_sender(Sender* sender) {
  close(sender);
}
void close_receiver(Receiver* receiver) {
  close(receiver);
}
void close_listener(Listener* listener) {
  close(listener);
}

std::size_t link_count() {
  Current& now = current();
  const std::lock_guard lock(now.mutex);
  if (now.hub == nullptr) {
    return 0;
  }
  const std::lock_guard hub_lock(now.hub->mutex());
  return now.hub->links();
}

}  // namespace angio::phantom::net
