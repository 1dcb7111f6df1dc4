// Where ranks meet outside the data path: a small all-gather of texts and with it a barrier. NCCL's unique
// id, gloo's addresses and the reports of all ranks go through it. Over TCP (MASTER_ADDR, MASTER_PORT), or
// MPI itself.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace angio::collective {

class Meeting {
 public:
  Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  virtual ~Meeting() = default;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;
  // Every rank's text, by rank. Returns when all have come; errors name the ranks that did not.
  virtual Result<std::vector<std::string>> exchange(const std::string& own) = 0;
  // This rank cannot go on, and the others are told at once, even those that wait for its data. False: this
  // meeting cannot; then only exchange() tells.
  virtual bool give_up(const std::string&) { return false; }
  // What this rank does from now on: told to the others when it does not come ("AllReduce 8 MiB").
  virtual void working_on(const std::string&) {}
  // Called once, from another thread, when a rank has gone while others may wait for its data in a library
  // that does not notice; the words name it. Without one of these only exchange() tells.
  virtual void when_lost(std::function<void(const std::string&)>) {}
};

struct MeetingPlace {
  std::string address;  // MASTER_ADDR
  std::uint16_t port = 0;
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::chrono::milliseconds patience{120000};  // for ranks that do not come
};
// Rank 0 listens, the others connect. Errors name address, port and who is missing.
Result<std::unique_ptr<Meeting>> meet_over_tcp(const MeetingPlace& place);

}  // namespace angio::collective
