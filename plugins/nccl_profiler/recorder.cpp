#include "recorder.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <exception>
#include <mutex>
#include <new>
#include <string>

#include "profile_ring/lane_writer.hpp"
#include "ring_file.hpp"
#include "settings.hpp"

namespace angio::profiler::recorder {
namespace {

using profile_ring::EventKind;
using profile_ring::FileState;
using profile_ring::Header;
using profile_ring::kLanes;
using profile_ring::kTicketBits;
using profile_ring::Lane;
using profile_ring::LaneWriter;
using profile_ring::Record;
using profile_ring::Slot;

// A handle: 8 bits of context, 8 bits of its generation, then the reference of the event in its file.
// Contexts are never freed, and their files stay mapped until the context serves again: a handle that NCCL
// kept too long meets memory that is still there.
constexpr std::size_t kContexts = 256;
constexpr unsigned kReferenceBits = kTicketBits + 2;
constexpr std::uint64_t kReferenceMask = (std::uint64_t{1} << kReferenceBits) - 1;
static_assert(kReferenceBits + 16 == 64);
constexpr std::uint64_t kNotRecorded = std::uint64_t{kLanes} << kTicketBits;  // of a lane that is not there

struct Context {
  std::atomic<bool> active{false};
  std::atomic<std::uint32_t> generation{0};
  std::uint32_t fork_epoch = 0;
  std::array<LaneWriter, kLanes> lanes;
  Header* header = nullptr;
  Mapping mapping;
};

std::array<Context, kContexts> contexts;
std::mutex opening;                        // open and close only
std::size_t next_context = 0;              // under opening
std::uint32_t files_made = 0;              // under opening
bool fork_watched = false;                 // under opening
std::atomic<bool> complained{false};       // one line of a process
std::atomic<std::uint32_t> fork_epoch{0};  // forked children see another one than their contexts

std::atomic<std::int32_t> process{0};

std::uint64_t now() {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * kSecond + static_cast<std::uint64_t>(time.tv_nsec);
}

// NCCL's levels and subsystems (nccl_common.h): WARN 2, INFO 3; INIT 1. Allocates nothing.
void say(const Communicator& communicator, bool problem, const char* text, const char* more = "") {
  constexpr int kWarn = 2;
  constexpr int kInfo = 3;
  constexpr unsigned long kInit = 1;
  if (communicator.logger != nullptr) {
    communicator.logger(problem ? kWarn : kInfo, kInit, "angio", 0, "PROFILER/Angio: %s%s", text, more);
  } else if (problem) {
    std::fprintf(stderr, "PROFILER/Angio: %s%s\n", text, more);
  }
}

void* give_up(const Communicator& communicator, const char* why) {
  if (!complained.exchange(true)) say(communicator, true, "off: ", why);
  return nullptr;
}

void* give_up(const Communicator& communicator, const std::string& why) {
  return give_up(communicator, why.c_str());
}

// What an interface can tell; other bits mean nothing to that NCCL.
std::uint64_t known_events(int abi) {
  constexpr std::array<std::uint64_t, 8> kMasks = {0, 0x3F, 0x3F, 0xFF, 0xFF, 0xFFF, 0x7FFF, 0xFFFF};
  return abi < static_cast<int>(kMasks.size()) ? kMasks[static_cast<std::size_t>(abi)] : 0;
}

// A context that serves nobody, the longest closed first; null when all are in use.
Context* find_context() {
  for (std::size_t i = 0; i < kContexts; ++i) {
    Context& context = contexts[next_context];
    next_context = (next_context + 1) % kContexts;
    if (!context.active.load(std::memory_order_relaxed) || context.fork_epoch != fork_epoch) return &context;
  }
  return nullptr;
}

void describe(const Communicator& communicator, Header& header) {
  header.abi = static_cast<std::uint32_t>(communicator.abi);
  header.communicator = communicator.communicator;
  header.rank = communicator.rank;
  header.ranks = static_cast<std::uint32_t>(std::max(communicator.ranks, 0));
  header.nodes = static_cast<std::uint32_t>(std::max(communicator.nodes, 0));
  if (communicator.name != nullptr)
    std::strncpy(header.name.data(), communicator.name, header.name.size() - 1);
}

void prepare(Context& context, const Mapping& mapping) {
  if (context.mapping.bytes != nullptr) munmap(context.mapping.bytes, context.mapping.size);
  context.mapping = mapping;
  context.header = std::launder(reinterpret_cast<Header*>(mapping.bytes));
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    const profile_ring::LaneHeader& place = context.header->lanes[lane];
    auto* slots = reinterpret_cast<Slot*>(mapping.bytes + place.offset);
    context.lanes[lane] = LaneWriter(slots, place.capacity, &context.header->counters[lane]);
  }
  context.fork_epoch = fork_epoch;
  context.generation.fetch_add(1, std::memory_order_relaxed);
  reinterpret_cast<std::atomic<std::uint32_t>&>(context.header->state)
      .store(static_cast<std::uint32_t>(FileState::kRecording), std::memory_order_release);
  context.active.store(true, std::memory_order_release);
}

void watch_forks() {
  if (fork_watched) return;
  fork_watched = pthread_atfork(nullptr, nullptr, [] {
                   fork_epoch.fetch_add(1, std::memory_order_relaxed);
                   new (&opening) std::mutex;  // another thread may have held it
                 }) == 0;
}

bool serves(const Context& context) {
  return context.active.load(std::memory_order_acquire) &&
         context.fork_epoch == fork_epoch.load(std::memory_order_relaxed);
}

std::uint64_t handle_of(const Context& context, std::uint64_t reference) {
  const auto index = static_cast<std::uint64_t>(&context - contexts.data());
  const std::uint64_t generation = context.generation.load(std::memory_order_relaxed) & 0xFFU;
  return (index << 56U) | (generation << 48U) | reference;
}

// Null when the handle is not of a communicator that is open.
Context* context_of(std::uint64_t handle) {
  Context& context = contexts[handle >> 56U];
  const bool same = ((handle >> 48U) & 0xFFU) == (context.generation.load(std::memory_order_relaxed) & 0xFFU);
  return handle != 0 && same && serves(context) ? &context : nullptr;
}

void* to_pointer(std::uint64_t handle) {
  return reinterpret_cast<void*>(handle);  // NOLINT(performance-no-int-to-ptr): NCCL only hands it back
}

void take_parent(const Context& context, void* parent, Record& record) {
  const auto above = reinterpret_cast<std::uint64_t>(parent);
  if (above == 0 || (record.flags & profile_ring::kForeign) != 0) return;
  if (context_of(above) != &context) {
    record.flags |= profile_ring::kForOtherParent;
  } else if ((above & kReferenceMask) != kNotRecorded) {
    record.parent = above & kReferenceMask;
  }
}

template <typename Change>
void change(void* handle, bool close, const Change& change) {
  const auto number = reinterpret_cast<std::uint64_t>(handle);
  Context* context = context_of(number);
  if (context == nullptr) return;
  const std::uint64_t lane = (number & kReferenceMask) >> kTicketBits;
  const std::uint64_t ticket = number & profile_ring::kTicketMask;
  if (lane >= kLanes || ticket == 0 || context->header->lanes[lane].capacity == 0) return;
  context->lanes[lane].change(ticket, close, change);
}

// NCCL's ncclProfilerEventState_t to the place of its time in Record::times; 3: it has none.
std::size_t time_of_state(int state) {
  switch (state) {
    case 8:   // SendGPUWait
    case 10:  // RecvWait
    case 23:  // GroupStartApiStop
      return 0;
    case 20:  // SendPeerWait
    case 11:  // RecvFlushWait
    case 24:  // GroupEndApiStart
      return 1;
    case 9:   // SendWait
    case 12:  // RecvGPUWait
      return 2;
    default:
      return 3;
  }
}

// Under opening. May throw for want of memory, but only before anything is changed.
void* open_communicator(const Communicator& communicator, int* mask) {
  Settings settings;
  if (const std::string wrong = read_settings(settings); !wrong.empty()) return give_up(communicator, wrong);
  settings.mask &= known_events(communicator.abi);
  if (settings.mask == 0)
    return give_up(communicator, "ANGIO_PROFILER_EVENTS asks for nothing this NCCL has");
  Context* context = find_context();
  if (context == nullptr)
    return give_up(communicator, "more than " + std::to_string(kContexts) + " communicators in this process");
  process.store(getpid(), std::memory_order_relaxed);
  watch_forks();
  if (!fork_watched) return give_up(communicator, "pthread_atfork failed");
  const std::string news = "records up to " + std::to_string(settings.events) +
                           " events of this communicator in " + settings.directory;
  Mapping mapping;
  if (const std::string wrong = make_ring_file(settings, files_made, mapping); !wrong.empty())
    return give_up(communicator, wrong);
  ++files_made;
  describe(communicator, *std::launder(reinterpret_cast<Header*>(mapping.bytes)));
  prepare(*context, mapping);
  __atomic_store_n(mask, static_cast<int>(settings.mask), __ATOMIC_RELAXED);
  say(communicator, false, news.c_str());
  return context;
}

void finish(Context& context) {
  context.active.store(false, std::memory_order_release);
  context.header->finished_ns = now();
  reinterpret_cast<std::atomic<std::uint32_t>&>(context.header->state)
      .store(static_cast<std::uint32_t>(FileState::kFinished), std::memory_order_release);
}

}  // namespace

void* open(const Communicator& communicator, int* mask) noexcept {
  try {
    const std::lock_guard lock(opening);
    return open_communicator(communicator, mask);
  } catch (const std::exception& error) {
    return give_up(communicator, error.what());
  }
}

void close(void* handle) noexcept {
  auto* context = static_cast<Context*>(handle);
  if (context == nullptr) return;
  try {
    const std::lock_guard lock(opening);
    if (serves(*context)) finish(*context);
  } catch (const std::exception&) {  // of the lock: the file reads as that of an ended process
  }
}

void* start(void* handle, Record& record, void* parent) noexcept {
  auto* context = static_cast<Context*>(handle);
  if (context == nullptr || !serves(*context)) return nullptr;
  // NCCL starts the parents of what was asked for, and up to 2.27 no child whose parent is null.
  if ((context->header->mask >> static_cast<unsigned>(record.kind) & 1U) == 0)
    return to_pointer(handle_of(*context, kNotRecorded));
  const auto lane = static_cast<std::uint64_t>(profile_ring::lane_of(record.kind));
  if (context->header->lanes[lane].capacity == 0) return nullptr;
  take_parent(*context, parent, record);
  record.start_ns = now();
  const std::uint64_t ticket = context->lanes[lane].begin(record);
  if (ticket == 0) return nullptr;
  const std::uint64_t reference = (lane << kTicketBits) | (ticket & profile_ring::kTicketMask);
  return to_pointer(handle_of(*context, reference));
}

void stop(void* handle) noexcept {
  if (handle == nullptr) return;
  const std::uint64_t time = now();
  change(handle, true, [time](LaneWriter::Edit& event) { event.set(profile_ring::kStopWord, time); });
}

void state(void* handle, int state, std::uint64_t size, std::uint32_t steps) noexcept {
  const std::size_t place = time_of_state(state);
  if (handle == nullptr || (place == 3 && size == 0 && steps == 0)) return;
  const std::uint64_t time = place < 3 ? now() : 0;
  change(handle, false, [=](LaneWriter::Edit& event) {
    const std::size_t word = profile_ring::kTimesWord + place;
    if (place < 3 && event.get(word) == 0) event.set(word, time);
    if (size != 0) event.set(profile_ring::kSizeWord, size);
    if (steps == 0) return;
    const std::uint64_t other_half = event.get(profile_ring::kStepsWord) & ~std::uint64_t{0xFFFFFFFFU};
    event.set(profile_ring::kStepsWord, other_half | steps);
  });
}

void gpu_stop(void* handle, std::uint64_t gpu_time) noexcept {
  change(handle, false, [gpu_time](LaneWriter::Edit& event) {
    const auto kind = static_cast<EventKind>(event.get(profile_ring::kKindWord) & 0xFFU);
    if (kind == EventKind::kKernel || kind == EventKind::kKernelPhase)
      event.set(profile_ring::kTimesWord + 1, gpu_time);
  });
}

std::int32_t own_process() noexcept {
  return process.load(std::memory_order_relaxed);
}

void learn(void* handle, std::uint64_t communicator, int rank, const char* name) noexcept {
  auto* context = static_cast<Context*>(handle);
  if (context == nullptr || !serves(*context) || context->header->communicator != 0) return;
  Header& header = *context->header;
  if (name != nullptr) std::strncpy(header.name.data(), name, header.name.size() - 1);
  header.rank = rank;
  __atomic_store_n(&header.communicator, communicator, __ATOMIC_RELEASE);
}

}  // namespace angio::profiler::recorder
