// Writes events into one lane: lock-free, wait-free but for a compare-and-swap that is not tried again, no
// allocation, any number of threads. Works on memory that the caller maps; makes no system call, so the
// caller brings the time. An event lives in its slot from start to stop: what a killed process had open is
// in the file. A slot that is used again makes the old handle's stop a counted nothing.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>

#include "profile_ring/layout.hpp"

namespace angio::profile_ring {

class LaneWriter {
 public:
  // Changes single words of a slot, and the checksum with them.
  class Edit {
   public:
    [[nodiscard]] std::uint64_t get(std::size_t word) const {
      return at(slot_.body[word]).load(std::memory_order_relaxed);
    }
    void set(std::size_t word, std::uint64_t value) {
      sum_ += share_of_word(word, value) - share_of_word(word, get(word));
      at(slot_.body[word]).store(value, std::memory_order_relaxed);
    }

   private:
    friend class LaneWriter;
    explicit Edit(Slot& slot) : slot_(slot), sum_(at(slot.checksum).load(std::memory_order_relaxed)) {}
    Slot& slot_;
    std::uint64_t sum_;
  };

  LaneWriter() = default;
  // slots: a power of two of them, at first all zero.
  LaneWriter(Slot* slots, std::uint64_t capacity, LaneCounters* counters)
      : slots_(slots), mask_(capacity - 1), counters_(counters) {}

  // Ticket + 1; 0 when the event was dropped.
  std::uint64_t begin(const Record& record) {
    const std::uint64_t ticket = at(counters_->next).fetch_add(1, std::memory_order_relaxed);
    Slot& slot = slots_[ticket & mask_];
    std::uint64_t seen = at(slot.version).load(std::memory_order_relaxed);
    const std::uint64_t phase = seen % kPhases;
    const std::uint64_t starting = ticket * kPhases + kStarting;
    if (phase == kStarting || phase == kChanging || (seen != 0 && seen / kPhases >= ticket) ||
        !at(slot.version).compare_exchange_strong(seen, starting, std::memory_order_acquire)) {
      count(counters_->dropped);
      return 0;
    }
    if (phase == kOpen) count(counters_->overwritten);
    store(slot, std::bit_cast<Body>(record), ticket * kPhases + kOpen);
    return ticket + 1;
  }

  // change gets an Edit of the slot; close says that nothing comes after.
  template <typename Change>
  bool change(std::uint64_t ticket_plus_one, bool close, const Change& change) {
    const std::uint64_t ticket = ticket_plus_one - 1;
    Slot& slot = slots_[ticket & mask_];
    const std::uint64_t open = ticket * kPhases + kOpen;
    std::uint64_t seen = open;
    if (!at(slot.version)
             .compare_exchange_strong(seen, ticket * kPhases + kChanging, std::memory_order_acquire)) {
      if (seen / kPhases != ticket) count(counters_->late);
      return false;  // overwritten, stopped already, or another thread is at it
    }
    std::atomic_thread_fence(std::memory_order_release);
    Edit edit(slot);
    change(edit);
    const std::uint64_t after = close ? ticket * kPhases + kClosed : open;
    at(slot.checksum)
        .store(edit.sum_ + share_of_version(after) - share_of_version(open), std::memory_order_relaxed);
    at(slot.version).store(after, std::memory_order_release);
    return true;
  }

 private:
  static std::atomic_ref<std::uint64_t> at(std::uint64_t& word) {
    static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);
    return std::atomic_ref<std::uint64_t>(word);
  }
  static void count(std::uint64_t& counter) { at(counter).fetch_add(1, std::memory_order_relaxed); }

  // Readers that see the version see what stands before it.
  static void store(Slot& slot, const Body& body, std::uint64_t version) {
    std::atomic_thread_fence(std::memory_order_release);
    for (std::size_t i = 0; i < kBodyWords; ++i)
      at(slot.body[i]).store(body[i], std::memory_order_relaxed);
    at(slot.checksum).store(checksum_of(version, body), std::memory_order_relaxed);
    at(slot.version).store(version, std::memory_order_release);
  }

  Slot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
  LaneCounters* counters_ = nullptr;
};

}  // namespace angio::profile_ring
