// What is known of each counter of an RDMA port: unit, where it stops or wraps, what kind of thing its growth
// is. Table [[rdma_counter]] of data/; what it means in words is the glossary's. Lookups only.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace angio::knowledge {

enum class RdmaCounterKind : std::uint8_t {
  kTraffic,
  kLink,         // damage on this port's own cable
  kElsewhere,    // damage on another link, seen here
  kLoss,         // packets lost or sent again
  kTimeout,      // waited for an answer that did not come
  kCongestion,   // the fabric holds this port back
  kHost,         // the host holds the fabric back: PCIe, buffers of the adapter
  kReceiver,     // no receive buffer was posted
  kConsequence,  // follows from another fault
  kOther,        // worth showing, no evidence by itself
};

struct RdmaCounterFact {
  std::string_view name;  // "rx_prio_pause" is any priority's
  RdmaCounterKind kind;
  std::string_view unit;
  std::uint64_t maximum;        // where it stops; 0: 64 bits
  std::uint32_t wraps_at_bits;  // 0: it does not
  std::string_view source;
};

std::span<const RdmaCounterFact> rdma_counters();  // by name
// "rx_prio3_pause" finds "rx_prio_pause". Null: nothing is known of it.
const RdmaCounterFact* find_rdma_counter(std::string_view name);
// What it means, from the glossary; empty: not known.
std::string_view meaning_of_rdma_counter(std::string_view name);
// "rx_prio3_pause" without its number.
std::string without_priority(std::string_view name);

}  // namespace angio::knowledge
