#include "model/fabric_words.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::model {
namespace {

constexpr std::array<std::string_view, 2> kKinds = {"infiniband", "ethernet"};
constexpr std::array<std::string_view, 5> kNodeKinds = {"unknown", "adapter", "switch", "router", "subnet"};
constexpr std::array<std::string_view, kFabricCounters> kCounters = {"symbol_errors",
                                                                     "link_error_recoveries",
                                                                     "link_downed",
                                                                     "receive_errors",
                                                                     "receive_remote_physical_errors",
                                                                     "receive_switch_relay_errors",
                                                                     "transmit_discards",
                                                                     "transmit_constraint_errors",
                                                                     "receive_constraint_errors",
                                                                     "local_link_integrity_errors",
                                                                     "excessive_buffer_overruns",
                                                                     "vl15_dropped",
                                                                     "transmit_wait_ticks",
                                                                     "transmit_bytes",
                                                                     "receive_bytes",
                                                                     "transmit_packets",
                                                                     "receive_packets"};
constexpr std::size_t kPortStates = 5;
constexpr std::size_t kPhysicalStates = 8;

template <typename Enum, std::size_t kSize>
std::optional<Enum> find(const std::array<std::string_view, kSize>& words, std::string_view word) {
  const auto found = std::ranges::find(words, word);
  if (found == words.end()) return std::nullopt;
  return static_cast<Enum>(found - words.begin());
}

template <typename Enum>
std::optional<Enum> find_named(std::string_view name, std::size_t count) {
  const std::string wanted = to_lower(name);
  for (std::size_t i = 0; i < count; ++i) {
    const auto candidate = static_cast<Enum>(i);
    if (to_lower(name_of(candidate)) == wanted) return candidate;
  }
  return std::nullopt;
}

}  // namespace

std::string_view word_of(FabricKind kind) {
  return kKinds.at(static_cast<std::size_t>(kind));
}

std::string_view word_of(FabricNodeKind kind) {
  return kNodeKinds.at(static_cast<std::size_t>(kind));
}

std::string_view word_of(FabricCounter counter) {
  return kCounters.at(static_cast<std::size_t>(counter));
}

std::optional<FabricKind> find_fabric_kind(std::string_view word) {
  return find<FabricKind>(kKinds, word);
}

std::optional<FabricNodeKind> find_fabric_node_kind(std::string_view word) {
  return find<FabricNodeKind>(kNodeKinds, word);
}

std::optional<FabricCounter> find_counter_word(std::string_view word) {
  return find<FabricCounter>(kCounters, word);
}

std::optional<PortState> find_port_state(std::string_view name) {
  return find_named<PortState>(name, kPortStates);
}

std::optional<PortPhysicalState> find_physical_state(std::string_view name) {
  return find_named<PortPhysicalState>(name, kPhysicalStates);
}

}  // namespace angio::model
