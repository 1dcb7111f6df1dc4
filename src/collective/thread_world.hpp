// Ranks that are threads of one process, whose data moves through its memory: for tests of what measures, and
// for the cost of measuring itself. No library for users. A test can damage what moves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/error.hpp"
#include "collective/meeting.hpp"
#include "collective/transport.hpp"

namespace angio::collective {

// What all ranks share.
class ThreadWorld {
 public:
  explicit ThreadWorld(std::uint32_t ranks);
  ThreadWorld(const ThreadWorld&) = delete;
  ThreadWorld& operator=(const ThreadWorld&) = delete;
  ~ThreadWorld();

  // Called on each rank after each call with what it received: may change it.
  using Damage = std::function<void(std::uint32_t rank, const Call& call, std::uint64_t number)>;
  void damage_by(Damage damage);

  [[nodiscard]] std::unique_ptr<Transport> transport(std::uint32_t rank);
  [[nodiscard]] std::unique_ptr<Meeting> meeting(std::uint32_t rank);

  struct State;

 private:
  std::unique_ptr<State> state_;
};

// A lone rank whose calls do nothing.
std::unique_ptr<Transport> make_idle_transport();

}  // namespace angio::collective
