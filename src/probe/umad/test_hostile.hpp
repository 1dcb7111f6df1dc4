// Hostile answers for tests: every question gets what the input says, from a plausible answer to random
// bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <span>
#include <string>

#include "probe/umad/exchange.hpp"
#include "probe/umad/test_wire.hpp"
#include "probe/umad/walk.hpp"

namespace angio::probe::umad {

class HostileWire final : public MadWire {
 public:
  HostileWire(std::span<const std::uint8_t> input, const TestClock& clock) : input_(input), clock_(clock) {}
  std::uint64_t sent = 0;

  Result<void> send(const Outgoing& outgoing) override {
    ++sent;
    MadBytes reply = *outgoing.mad;
    const std::uint8_t how = next();
    if (how % 16 == 15) return fail(ErrorCode::kIo, "no");
    if (how % 16 == 14) return {};
    if (how % 16 == 13) arrivals_.push_back({Arrival::kReturned, reply, {}});
    if (how % 16 == 12) arrivals_.push_back({Arrival::kShort, {}, {}});
    reply[3] = 0x81;
    const std::size_t changes = how % 16 < 8 ? 12U : how % 16 == 11 ? 200U : 4U;
    for (std::size_t i = 0; i < changes; ++i) {
      const std::size_t at = how % 16 == 11 ? next() : kPayloadAt + next() % 64;
      reply.at(at) = next();
    }
    if (how % 16 < 8) plausible(reply);
    arrivals_.push_back({Arrival::kMad, reply, {}});
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
  std::uint8_t next() {
    if (input_.empty()) return 0;
    const std::uint8_t byte = input_[at_ % input_.size()];
    // The input goes round; a round later it means something else.
    return static_cast<std::uint8_t>(byte + 31 * (at_++ / input_.size()));
  }

  // Few GUIDs, so that nodes meet; links that are up.
  void plausible(MadBytes& reply) {
    if (reply[17] == 0x11) {
      for (std::size_t i = 12; i < 19; ++i)
        reply.at(kPayloadAt + i) = 0;
      reply[kPayloadAt + 19] = next() % 16;
      reply[kPayloadAt + 2] = static_cast<std::uint8_t>(1 + next() % 3);
      reply[kPayloadAt + 36] = static_cast<std::uint8_t>(next() % 8);
    }
    if (reply[17] == 0x15) {
      reply[kPayloadAt + 32] = 0x74;
      reply[kPayloadAt + 33] = 0x50;
    }
  }

  std::span<const std::uint8_t> input_;
  const TestClock& clock_;
  std::size_t at_ = 0;
  std::deque<Incoming> arrivals_;
};

// Empty when it holds: ports are in order, every cable has two ends.
inline std::string broken_promise(const model::Fabric& fabric) {
  for (std::uint32_t node = 0; node < fabric.nodes.size(); ++node) {
    const auto& ports = fabric.nodes[node].ports;
    if (!std::ranges::is_sorted(ports, std::ranges::less{}, &model::FabricPort::number))
      return "order of ports";
    for (std::uint32_t port = 0; port < ports.size(); ++port) {
      if (!ports[port].peer) continue;
      const model::PortRef there = *ports[port].peer;
      if (there.node >= fabric.nodes.size() || there.port >= fabric.nodes[there.node].ports.size())
        return "a cable into nowhere";
      const auto& back = fabric.nodes[there.node].ports[there.port].peer;
      if (!back || *back != model::PortRef{node, port}) return "a cable with one end";
    }
  }
  return {};
}

// What is wrong with a scan over this input; empty: nothing.
inline std::string scan_hostile(std::span<const std::uint8_t> input) {
  constexpr std::uint32_t kNodes = 24;
  constexpr std::uint32_t kPorts = 1000;
  const TestClock clock;
  HostileWire wire(input, clock);
  FabricWalk walk({.most_nodes = kNodes, .most_ports = kPorts});
  ScanOptions options;
  options.in_flight = 8;
  Exchange(walk, wire, options, clock).run();
  // A node: description, SwitchInfo, ClassPortInfo, sums. A port: PortInfo, the vendor's, NodeInfo, counters
  // twice.
  if (wire.sent > std::uint64_t{options.tries} * (1 + 4 * kNodes + 5 * kPorts))
    return "more questions than there are";
  const model::Fabric fabric = walk.take();
  if (fabric.nodes.size() > kNodes) return "more nodes than the limit";
  return broken_promise(fabric);
}

}  // namespace angio::probe::umad
