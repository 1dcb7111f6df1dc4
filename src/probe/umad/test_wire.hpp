// A wire and a clock for tests: what is sent comes back as a TestFabric answers it, or as the test bends it.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "host/clock.hpp"
#include "probe/umad/exchange.hpp"
#include "probe/umad/test_fabric.hpp"

namespace angio::probe::umad {

class TestClock final : public host::Clock {
 public:
  mutable std::chrono::steady_clock::time_point time{std::chrono::seconds(1)};
  [[nodiscard]] std::chrono::system_clock::time_point now() const override { return {}; }
  [[nodiscard]] std::chrono::steady_clock::time_point steady_now() const override {
    time += std::chrono::microseconds(1);
    return time;
  }
};

class TestWire final : public MadWire {
 public:
  TestWire(const TestFabric& fabric, const TestClock& clock) : fabric_(fabric), clock_(clock) {}

  std::function<bool(const MadBytes&)> drop;                   // the answer is lost
  std::function<void(MadBytes&, std::deque<Incoming>&)> bend;  // changes an answer, adds others
  std::function<bool()> refuse;                                // the device takes nothing
  bool returns_lost = false;  // a kernel that hands the request back when its time is over
  std::uint64_t sent = 0;
  std::uint64_t most_under_way = 0;

  Result<void> send(const Outgoing& outgoing) override {
    if (refuse && refuse()) return fail(ErrorCode::kIo, "umad_send failed: Input/output error (EIO)");
    ++sent;
    std::optional<MadBytes> reply = fabric_.answer(*outgoing.mad, outgoing.lid);
    if (reply && drop && drop(*outgoing.mad)) reply.reset();
    if (!reply) {
      if (returns_lost) arrivals_.push_back({Arrival::kReturned, *outgoing.mad, {}});
      return {};
    }
    if (bend) bend(*reply, arrivals_);
    arrivals_.push_back({Arrival::kMad, *reply, {}});
    most_under_way = std::max<std::uint64_t>(most_under_way, arrivals_.size());
    return {};
  }

  void receive(std::chrono::milliseconds patience, Incoming& incoming) override {
    incoming = {};
    if (arrivals_.empty()) {
      clock_.time += patience;
      return;
    }
    incoming = arrivals_.front();
    arrivals_.pop_front();
  }

 private:
  const TestFabric& fabric_;
  const TestClock& clock_;
  std::deque<Incoming> arrivals_;
};

}  // namespace angio::probe::umad
