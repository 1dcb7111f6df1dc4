// A fabric for tests: answers requests as devices would, and as bad ones do. Not a subnet manager: LIDs,
// states and counters are what the test says.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "probe/umad/mad.hpp"

namespace angio::probe::umad {

struct TestPort {
  std::optional<std::pair<std::uint32_t, std::uint8_t>> peer;
  std::uint16_t lid = 0;
  std::uint16_t sm_lid = 1;
  std::uint8_t state = 1;     // Down
  std::uint8_t physical = 2;  // Polling
  std::uint8_t width = 2;     // 4x
  std::uint8_t extended = 4;  // HDR
  std::uint8_t extended2 = 0;
  std::uint8_t base_speed = 4;  // QDR
  std::uint32_t capabilities = 1U << 14U | 1U << 15U;
  std::uint16_t capabilities2 = 1U << 11U;
  std::array<std::uint8_t, kPayloadBytes> counters{};
  std::array<std::uint8_t, kPayloadBytes> extended_counters{};
  std::array<std::uint8_t, kPayloadBytes> vendor_info{};
};

struct TestNode {
  std::uint8_t type = 1;  // adapter
  std::uint8_t stated_ports = 1;
  std::uint64_t guid = 0;
  std::string name;
  std::uint32_t vendor = 0x2c9;
  std::uint16_t counter_mask = 0;
  std::uint32_t counter_mask2 = 0;  // the upper 27 bits of the word
  bool enhanced_port0 = false;
  bool mute = false;            // answers NodeInfo and nothing else
  bool mute_agent = false;      // answers no questions about counters
  std::vector<TestPort> ports;  // by number, 0 unused in adapters
};

class TestFabric {
 public:
  std::uint32_t start = 0;  // an adapter; the scan leaves it by port 1
  std::vector<TestNode> nodes;

  std::uint32_t add(std::uint8_t type, std::uint64_t guid, std::string name, std::uint8_t ports) {
    TestNode node;
    node.type = type;
    node.stated_ports = ports;
    node.guid = guid;
    node.name = std::move(name);
    node.ports.resize(ports + 1U);
    nodes.push_back(std::move(node));
    return static_cast<std::uint32_t>(nodes.size() - 1);
  }
  std::uint32_t add_switch(std::uint64_t guid, std::string name, std::uint8_t ports, std::uint16_t lid) {
    const std::uint32_t index = add(2, guid, std::move(name), ports);
    nodes[index].ports[0].lid = lid;
    return index;
  }
  std::uint32_t add_adapter(std::uint64_t guid, std::string name, std::uint16_t lid) {
    const std::uint32_t index = add(1, guid, std::move(name), 1);
    nodes[index].ports[1].lid = lid;
    return index;
  }
  void cable(std::uint32_t a, std::uint8_t at_a, std::uint32_t b, std::uint8_t at_b) {
    for (const auto& [node, port, other, at_other] :
         {std::tuple{a, at_a, b, at_b}, std::tuple{b, at_b, a, at_a}}) {
      TestPort& own = nodes[node].ports[port];
      own.peer = {other, at_other};
      own.state = 4;
      own.physical = 5;
    }
  }

  // None: silence.
  [[nodiscard]] std::optional<MadBytes> answer(const MadBytes& request, std::uint16_t lid) const {
    std::optional<std::pair<std::uint32_t, std::uint8_t>> place = {{start, std::uint8_t{1}}};
    const bool directed = request[1] == static_cast<std::uint8_t>(MadClass::kDirected);
    place = directed ? walk(request) : find(lid);
    if (!place) return std::nullopt;
    const TestNode& node = nodes[place->first];
    const auto attribute = static_cast<std::uint16_t>(big_endian(std::span(request).subspan(16, 2)));
    if (node.mute && (!directed || attribute != 0x11)) return std::nullopt;
    if (node.mute_agent && !directed) return std::nullopt;
    MadBytes reply = request;
    reply[3] = 0x81;
    if (directed) reply[4] = 0x80;
    if (!(directed ? fill(node, place->second, attribute, reply) : fill_counters(node, attribute, reply)))
      reply[5] = 0x1c;
    return reply;
  }

 private:
  static void put(MadBytes& mad, std::size_t at, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i)
      mad.at(kPayloadAt + at + i) = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
  }

  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint8_t>> walk(const MadBytes& request) const {
    std::pair<std::uint32_t, std::uint8_t> at{start, 1};
    for (std::size_t hop = 1; hop <= request[7] && hop <= kMostHops; ++hop) {
      const TestNode& node = nodes[at.first];
      const std::uint8_t out = request.at(128 + hop);
      if (hop > 1 && node.type != 2) return std::nullopt;
      if (out >= node.ports.size() || !node.ports[out].peer || node.ports[out].physical != 5)
        return std::nullopt;
      at = *node.ports[out].peer;
    }
    return at;
  }

  [[nodiscard]] std::optional<std::pair<std::uint32_t, std::uint8_t>> find(std::uint16_t lid) const {
    for (std::uint32_t node = 0; node < nodes.size(); ++node) {
      for (std::size_t port = 0; port < nodes[node].ports.size(); ++port) {
        if (lid != 0 && nodes[node].ports[port].lid == lid) return {{node, static_cast<std::uint8_t>(port)}};
      }
    }
    return std::nullopt;
  }

  static bool fill(const TestNode& node, std::uint8_t arrival, std::uint16_t attribute, MadBytes& mad) {
    const auto number = static_cast<std::size_t>(big_endian(std::span(mad).subspan(20, 4)));
    switch (attribute) {
      case 0x10:
        std::ranges::copy(node.name.substr(0, 64), mad.begin() + kPayloadAt);
        return true;
      case 0x11:
        fill_node_info(node, arrival, mad);
        return true;
      case 0x12:
        put(mad, 16, node.enhanced_port0 ? 8 : 0, 1);
        return node.type == 2;
      case 0x15:
        if (number >= node.ports.size()) return false;
        fill_port_info(node.ports[number], mad);
        return true;
      case 0xff90:
        if (number >= node.ports.size()) return false;
        std::ranges::copy(node.ports[number].vendor_info, mad.begin() + kPayloadAt);
        return true;
      default:
        return false;
    }
  }

  static void fill_node_info(const TestNode& node, std::uint8_t arrival, MadBytes& mad) {
    put(mad, 0, 0x0101, 2);
    put(mad, 2, node.type, 1);
    put(mad, 3, node.stated_ports, 1);
    put(mad, 4, node.guid & ~std::uint64_t{0xf}, 8);
    put(mad, 12, node.guid, 8);
    put(mad, 20, node.type == 2 ? node.guid : node.guid + arrival, 8);
    put(mad, 30, 0x101b, 2);
    put(mad, 32, 0xa1, 4);
    put(mad, 36, arrival, 1);
    put(mad, 37, node.vendor, 3);
  }

  static void fill_port_info(const TestPort& port, MadBytes& mad) {
    put(mad, 16, port.lid, 2);
    put(mad, 18, port.sm_lid, 2);
    put(mad, 20, port.capabilities, 4);
    put(mad, 29, 3, 1);
    put(mad, 30, 3, 1);
    put(mad, 31, port.width, 1);
    put(mad, 32, 7U << 4U | port.state, 1);
    put(mad, 33, static_cast<std::uint64_t>(port.physical << 4U), 1);
    put(mad, 35, static_cast<std::uint64_t>(port.base_speed << 4U) | 7U, 1);
    put(mad, 36, 5U << 4U, 1);
    put(mad, 56, static_cast<std::uint64_t>(port.extended2 << 5U) | 1U << 3U | 1U, 1);
    put(mad, 60, port.capabilities2, 2);
    put(mad, 62, static_cast<std::uint64_t>(port.extended << 4U) | 7U, 1);
    put(mad, 63, 7, 1);
  }

  static bool fill_counters(const TestNode& node, std::uint16_t attribute, MadBytes& mad) {
    if (attribute == 0x01) {
      put(mad, 2, node.counter_mask, 2);
      put(mad, 4, std::uint64_t{node.counter_mask2} << 5U, 4);
      return true;
    }
    const std::uint8_t port = mad[kPayloadAt + 1];
    if (port == 255 && attribute == 0x12 && node.type == 2) {
      for (const TestPort& one : node.ports) {
        for (std::size_t i = 4; i < 44; ++i)
          mad.at(kPayloadAt + i) = std::max(mad.at(kPayloadAt + i), one.counters.at(i));
      }
      return true;
    }
    if (port >= node.ports.size()) return false;
    const auto& from = attribute == 0x12 ? node.ports[port].counters : node.ports[port].extended_counters;
    std::copy(from.begin() + 2, from.end(), mad.begin() + kPayloadAt + 2);
    return attribute == 0x12 || attribute == 0x1d;
  }
};

}  // namespace angio::probe::umad
