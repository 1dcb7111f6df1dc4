#include "cudart/progress.hpp"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <exception>
#include <map>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "cudart/progress_layout_profile.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

// Slots of a connection's FIFO (NCCL_STEPS, the same in all versions known here).
constexpr std::uint64_t kSlots = 8;
// A mebibyte is far beyond any communicator of NCCL's, and keeps a wild word from being a loop.
constexpr int kMostRanks = 1 << 20;

using Byte = unsigned char;

// Foreign memory is read as bytes: nothing of ours lives there.
template <typename T>
T read(const void* base, std::size_t offset) {
  T value;
  std::memcpy(&value, static_cast<const Byte*>(base) + offset, sizeof value);
  return value;
}
template <typename T>
void write(void* base, std::size_t offset, T value) {
  std::memcpy(static_cast<Byte*>(base) + offset, &value, sizeof value);
}

// Words that NCCL's proxy threads read and write at the same time.
std::uint64_t load(const std::uint64_t* word) {
  return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}
void store(std::uint64_t* word, std::uint64_t value) {
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

struct Connection {
  bool sends = false;
  bool used = false;
  std::uint64_t* tail = nullptr;
  std::uint64_t* head = nullptr;
  Byte* fifo = nullptr;
};

class Pump {
 public:
  bool start(const Layout& layout);
  void stop();
  void launched(const Launch& launch);
  void forget(const void* begin, std::size_t size);
  void settle();

 private:
  void run();
  bool move_all();
  bool move(const Connection& connection) const;
  void add_channels(const Byte* comm, std::uint64_t channels);
  void add_peer(const Byte* peer);
  void add(const Byte* end, bool sends);
  bool is_right(const Byte* comm);
  void tell_profiler(const Launch& launch, const Byte* arguments, std::size_t size);

  std::mutex mutex_;
  std::condition_variable wake_;
  std::thread thread_;
  std::atomic<const Layout*> layout_ = nullptr;  // set while it runs
  std::atomic<std::uint64_t> launches_ = 0;
  std::atomic<std::uint64_t> settled_ = 0;  // of them
  std::atomic<std::uint64_t> moves_ = 0;
  bool stopping_ = false;
  bool launched_ = false;
  bool wrong_ = false;
  std::vector<Connection> connections_;
  std::vector<std::size_t> unused_;
  // Every address of a connection, to its index.
  std::multimap<std::uintptr_t, std::size_t> addresses_;
};

// Never destroyed: NCCL's threads outlive static destructors.
Pump& pump() {
  static Pump& pump = *new Pump;
  return pump;
}

std::uintptr_t address(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

bool Pump::start(const Layout& layout) {
  const std::lock_guard lock(mutex_);
  if (layout_.load() != nullptr) {
    return layout_.load() == &layout;
  }
  stopping_ = false;
  wrong_ = false;
  layout_.store(&layout);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::exception&) {  // no thread, no memory: C is above us
    layout_.store(nullptr);
    return false;
  }
  return true;
}

void Pump::stop() {
  std::thread thread;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    layout_.store(nullptr);
    thread.swap(thread_);
    wake_.notify_all();
  }
  if (thread.joinable()) {
    thread.join();
  }
  const std::lock_guard lock(mutex_);
  connections_.clear();
  unused_.clear();
  addresses_.clear();
}

void Pump::run() {
  pthread_setname_np(pthread_self(), "angio pump");
  using std::chrono::microseconds;
  constexpr microseconds kShortest{20};
  constexpr microseconds kLongest{10000};
  microseconds pause = kShortest;
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool moved = move_all();
    moves_.fetch_add(moved ? 1 : 0);
    pause = moved || launched_ ? kShortest : std::min(pause * 2, kLongest);
    launched_ = false;
    // Gives the lock up in any case: launches and frees wait for it.
    wake_.wait_for(lock, pause, [this] { return stopping_ || launched_; });
  }
}

bool Pump::move_all() {
  bool moved = false;
  if (layout_.load(std::memory_order_relaxed) != nullptr) {
    for (const Connection& connection : connections_) {
      moved = (connection.used && move(connection)) || moved;
    }
  }
  return moved;
}

// To send: hands out slices of 0 bytes as far as there are slots. To receive: takes all that arrived.
bool Pump::move(const Connection& connection) const {
  std::uint64_t tail = load(connection.tail);
  const std::uint64_t head = load(connection.head);
  if (!connection.sends) {
    // A head in front of the tail is the debt that NCCL starts shared buffers with.
    if (static_cast<std::int64_t>(tail - head) <= 0) {
      return false;
    }
    store(connection.head, tail);
    return true;
  }
  bool moved = false;
  const Layout& layout = *layout_.load(std::memory_order_relaxed);
  while (static_cast<std::int64_t>(head + kSlots - tail) > 0) {
    const std::size_t at = tail % kSlots * layout.slot_size + layout.slot_bytes;
    if (layout.wide_bytes) {
      __atomic_store_n(reinterpret_cast<std::int64_t*>(connection.fifo + at), 0, __ATOMIC_RELAXED);
    } else {
      __atomic_store_n(reinterpret_cast<std::int32_t*>(connection.fifo + at), 0, __ATOMIC_RELAXED);
    }
    store(connection.tail, ++tail);
    moved = true;
  }
  return moved;
}

void Pump::add(const Byte* end, bool sends) {
  const Layout& layout = *layout_.load(std::memory_order_relaxed);
  Connection connection{.sends = sends,
                        .used = true,
                        .tail = read<std::uint64_t*>(end, layout.tail),
                        .head = read<std::uint64_t*>(end, layout.head),
                        .fifo = read<Byte*>(end, layout.fifo)};
  if (connection.tail == nullptr || connection.head == nullptr || connection.fifo == nullptr) {
    return;  // not connected, or no proxy between
  }
  // What this end writes tells it from all others.
  const std::uintptr_t key = address(sends ? connection.tail : connection.head);
  if (addresses_.contains(key)) {
    return;
  }
  std::size_t index = connections_.size();
  if (unused_.empty()) {
    connections_.push_back(connection);
  } else {
    index = unused_.back();
    unused_.pop_back();
    connections_[index] = connection;
  }
  addresses_.emplace(address(connection.tail), index);
  addresses_.emplace(address(connection.head), index);
  addresses_.emplace(address(connection.fifo), index);
}

// Two ends to send, then two to receive.
void Pump::add_peer(const Byte* peer) {
  const Layout& layout = *layout_.load(std::memory_order_relaxed);
  for (std::size_t end = 0; end < 4; ++end) {
    add(peer + end * layout.connection_size, end < 2);
  }
}

// The communicator lies right before its channels: if the pointer says otherwise, the structure is not the
// one of the table, and nothing of it may be touched.
bool Pump::is_right(const Byte* comm) {
  const Layout& layout = *layout_.load(std::memory_order_relaxed);
  const int rank = read<int>(comm, 0);
  const int ranks = read<int>(comm, sizeof rank);
  const bool right = ranks > 0 && ranks < kMostRanks && rank >= 0 && rank < ranks &&
                     read<const Byte*>(comm, layout.comm_channels) == comm + layout.channels;
  if (!right && !wrong_) {
    constexpr std::string_view kWords =
        "angio phantom CUDA: the structures of this NCCL are not those of its version; network connections "
        "will not finish\n";
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kWords.data(), kWords.size());
    wrong_ = true;
  }
  return right;
}

// What a launch says of its communicator; null where its arguments have another shape.
struct LaunchedWork {
  const Byte* comm = nullptr;
  std::uint64_t channels = 0;  // one bit each
  const Byte* arguments = nullptr;
  std::size_t size = 0;  // bytes of them
};

LaunchedWork read_argument_block(const Launch& launch) {
  constexpr std::size_t kBlockSize = 4096;  // of the one argument, at most
  LaunchedWork work{.arguments = static_cast<const Byte*>(launch.buffer), .size = launch.buffer_size};
  if (work.arguments == nullptr && launch.parameters != nullptr) {
    work.arguments = static_cast<const Byte*>(launch.parameters[0]);
    work.size = kBlockSize;
  }
  if (work.arguments != nullptr && work.size >= sizeof(layouts::Arguments)) {
    work.comm = read<const Byte*>(work.arguments, offsetof(layouts::Arguments, comm));
    work.channels = read<std::uint64_t>(work.arguments, offsetof(layouts::Arguments, channels));
  }
  return work;
}

LaunchedWork read_two_arguments(const Launch& launch) {
  LaunchedWork work{.arguments = static_cast<const Byte*>(launch.buffer), .size = launch.buffer_size};
  if (launch.parameters != nullptr) {
    work.comm = read<const Byte*>(launch.parameters[0], 0);
    work.channels = read<std::uint64_t>(launch.parameters[1], 0);
  } else if (work.arguments != nullptr && work.size >= 2 * sizeof(void*)) {
    work.comm = read<const Byte*>(work.arguments, 0);
    work.channels = read<std::uint64_t>(work.arguments, sizeof work.comm);
  }
  return work;
}

// ncclKernel_ up to 2.18. Symmetric kernels have other arguments and no proxies.
bool has_proxies(const Launch& launch) {
  const std::string_view kernel = launch.kernel == nullptr ? "" : launch.kernel;
  return kernel.starts_with("ncclDevKernel") || kernel.starts_with("ncclKernel_");
}

void Pump::add_channels(const Byte* comm, std::uint64_t channels) {
  const Layout& layout = *layout_.load(std::memory_order_relaxed);
  const int ranks = read<int>(comm, sizeof(int));
  for (std::size_t index = 0; index < layout.channel_count; ++index) {
    if ((channels >> index & 1U) == 0) {
      continue;
    }
    const Byte* const* const peers =
        read<const Byte* const*>(comm, layout.channels + index * layout.channel_size);
    for (int rank = 0; peers != nullptr && rank < ranks; ++rank) {
      if (peers[rank] != nullptr) {
        add_peer(peers[rank]);
      }
    }
  }
}

void Pump::launched(const Launch& launch) {
  const Layout* const layout = layout_.load();
  if (layout == nullptr || !has_proxies(launch)) {
    return;
  }
  const LaunchedWork work =
      layout->one_argument_block ? read_argument_block(launch) : read_two_arguments(launch);
  const std::lock_guard lock(mutex_);
  if (work.comm == nullptr || layout_.load() != layout || !is_right(work.comm)) {
    return;
  }
  add_channels(work.comm, work.channels);
  if (layout->clock != KernelClock::kNone) {
    tell_profiler(launch, work.arguments, work.size);
  }
  launches_.fetch_add(1);
  launched_ = true;
  wake_.notify_one();
}

void Pump::settle() {
  // Counted in sleeps and not in time: where this thread waits for a processor, so do NCCL's.
  constexpr int kQuiet = 20;
  constexpr int kMost = 2000;
  constexpr std::chrono::milliseconds kSleep{1};
  const std::uint64_t launches = launches_.load();
  std::uint64_t seen = 0;
  int quiet = 0;
  for (int count = 0; settled_.load() < launches && quiet < kQuiet && count < kMost; ++count) {
    const std::uint64_t now = moves_.load() + launches_.load();
    quiet = now == seen ? quiet + 1 : 0;
    seen = now;
    std::this_thread::sleep_for(kSleep);
  }
  std::uint64_t before = settled_.load();
  while (before < launches && !settled_.compare_exchange_weak(before, launches)) {
  }
}

void Pump::forget(const void* begin, std::size_t size) {
  if (layout_.load() == nullptr) {
    return;
  }
  const std::lock_guard lock(mutex_);
  const std::uintptr_t from = address(begin);
  auto found = addresses_.lower_bound(from);
  while (found != addresses_.end() && found->first - from < size) {
    const std::size_t index = found->second;
    const Connection gone = connections_[index];
    connections_[index] = {};
    unused_.push_back(index);
    for (const void* const pointer :
         {static_cast<const void*>(gone.tail), static_cast<const void*>(gone.head),
          static_cast<const void*>(gone.fifo)}) {
      const auto [first, last] = addresses_.equal_range(address(pointer));
      const auto entry = std::find_if(first, last, [&](const auto& pair) { return pair.second == index; });
      if (entry != last) {
        addresses_.erase(entry);
      }
    }
    found = addresses_.lower_bound(from);
  }
}

std::uint64_t now_ns() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000U + static_cast<std::uint64_t>(time.tv_nsec);
}

// The works of one launch, as a block of the kernel walks them.
class Works {
 public:
  Works(const Layout& layout, const Byte* arguments, std::size_t size)
      : layout_(layout), arguments_(arguments), size_(size) {}

  // Calls visit(is wanted by a profiler) for each work of the channel whose first batch this is.
  template <typename Visit>
  void visit(std::size_t batch, Visit visit) const {
    using layouts::Batch;
    while (true) {
      const std::size_t at = sizeof(layouts::Arguments) + batch * sizeof(Batch);
      if (at + sizeof(Batch) > size_) {
        return;
      }
      const Batch found = read<Batch>(arguments_, at);
      for (std::uint32_t bit = 0; bit < 64; ++bit) {
        if ((found.works >> bit & 1U) != 0) {
          visit(is_profiled(found, found.base + bit * work_size(found.type)));
        }
      }
      if (found.next == 0) {
        return;
      }
      batch += found.next;
    }
  }

 private:
  std::uint32_t work_size(std::uint32_t type) const {
    switch (type) {
      case 0:
        return layouts::kPointToPointSize;
      case 1:
        return layout_.collective_size;
      case 2:
        return layout_.collective_size + layouts::kRegisteredExtra;
      default:
        return layouts::kBroadcastSize;
    }
  }

  bool is_profiled(const layouts::Batch& batch, std::uint32_t offset) const {
    const auto header = read<layouts::Arguments>(arguments_, 0);
    const Byte* base = arguments_;
    if (header.storage != 0) {
      base = static_cast<const Byte*>(header.works);
      offset &= header.mask;
    } else if (std::size_t{offset} + layouts::kPointToPointSize > size_) {
      return false;
    }
    if (batch.type == 0) {
      return (read<std::uint8_t>(base, offset + offsetof(layouts::PointToPoint, flags)) >> 6U & 1U) != 0;
    }
    return batch.type < 3 && read<std::uint32_t>(base, offset) >> 31U != 0;
  }

  const Layout& layout_;
  const Byte* arguments_;
  std::size_t size_;
};

void write_event(layouts::Event* events, std::size_t channel, std::uint64_t number, std::uint64_t time) {
  layouts::Event& event = events[channel * layouts::kEvents + number % layouts::kEvents];
  event.time = time;
  store(&event.counter, number);
}

void write_phases(layouts::Phases* phases, std::size_t channel, std::uint64_t number, std::uint64_t time) {
  layouts::Phases& event = phases[channel * layouts::kEvents + number % layouts::kEvents];
  std::fill(std::begin(event.times), std::end(event.times), time);
  store(&event.counter, number);
}

// A kernel's block is one channel, in the order of the mask's bits; its first batch is that of its block.
void Pump::tell_profiler(const Launch& /*launch*/, const Byte* arguments, std::size_t size) {
  const Layout& layout = *layout_.load(std::memory_order_relaxed);
  const auto header = read<layouts::Arguments>(arguments, 0);
  auto* const comm = static_cast<Byte*>(header.comm);
  const Works works(layout, arguments, size);
  const std::uint64_t time = now_ns();
  std::size_t block = 0;
  for (std::size_t channel = 0; channel < layout.channel_count; ++channel) {
    if ((header.channels >> channel & 1U) == 0) {
      continue;
    }
    const std::size_t counter_at = layout.channels + channel * layout.channel_size + layout.work_counter;
    auto number = read<std::uint64_t>(comm, counter_at);
    works.visit(block++, [&](bool wanted) {
      ++number;
      if (!wanted || layout.clock != KernelClock::kEvents) {
        return;
      }
      // Phases first: the completed event is what NCCL waits for.
      if (auto* const phases = layout.phases == 0 ? nullptr : read<layouts::Phases*>(comm, layout.phases);
          phases != nullptr) {
        write_phases(phases, channel, number, time);
      }
      write_event(read<layouts::Event*>(comm, layout.started), channel, number, time);
      write_event(read<layouts::Event*>(comm, layout.completed), channel, number, time);
    });
    write(comm, counter_at, number);
    if (layout.clock == KernelClock::kCounters) {
      store(read<std::uint64_t*>(comm, layout.started) + channel, number);
      store(read<std::uint64_t*>(comm, layout.completed) + channel, number);
    }
  }
}

}  // namespace

void progress_launched(const Launch& launch) {
  pump().launched(launch);
}

void progress_forget(const void* begin, std::size_t size) {
  pump().forget(begin, size);
}

void progress_settle() {
  pump().settle();
}

}  // namespace angio::phantom

// For a program that is about to destroy its communicators.
ANGIO_STAND_IN void angio_phantom_settle() {
  angio::phantom::progress_settle();
}

// 1: the layouts of this NCCL are known and the pump runs; 0: nothing was started. Version 0 ends it.
ANGIO_STAND_IN int angio_phantom_progress(int nccl_version) {
  using namespace angio::phantom;
  if (nccl_version == 0) {
    pump().stop();
    return 0;
  }
  const Layout* const layout = find_layout(nccl_version);
  return layout != nullptr && pump().start(*layout) ? 1 : 0;
}
