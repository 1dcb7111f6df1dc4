// What RDMA ports counted at one moment, and what became of the counters from one moment to the next: growth,
// resets, rates. Values only: src/probe/sysfs reads, src/rdma compares and judges, views show.
// Counters are never rates: a reading has no unit of time, and RdmaPortRates has one only with `seconds`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "model/finding.hpp"
#include "model/network.hpp"

namespace angio::model {

enum class RdmaCounterPlace : std::uint8_t {
  kPort,       // ports/N/counters: what the port's link saw
  kHardware,   // ports/N/hw_counters: what the adapter's transport saw
  kInterface,  // statistics of the network interface
  kEthtool,    // ethtool -S of the network interface
};

struct RdmaCounter {
  RdmaCounterPlace place = RdmaCounterPlace::kPort;
  std::string interface;               // kInterface, kEthtool: whose
  std::string name;                    // "symbol_error"
  std::optional<std::uint64_t> value;  // none: it could not be read
  std::string why;                     // then: "Invalid argument (EINVAL)", "\"N/A (no PMA)\" is no number"
};

// When a port was read, in nanoseconds. boot: since the machine started; survives a clock that is set.
struct RdmaMoment {
  std::optional<std::int64_t> wall;
  std::optional<std::int64_t> boot;
};

struct RdmaPortReading {
  std::string device;  // "mlx5_0"
  std::uint32_t port = 1;
  std::string node_guid;  // empty: not known. Who the device is, whatever its name
  LinkLayer link_layer = LinkLayer::kUnknown;
  std::string state;           // "ACTIVE"; empty: not known
  std::string physical_state;  // "LinkUp"
  std::optional<BitsPerSecond> rate;
  std::uint32_t lanes = 0;
  std::string speed_name;               // "NDR"
  std::vector<std::string> interfaces;  // network interfaces over the port
  RdmaMoment moment;
  std::vector<RdmaCounter> counters;
};

struct RdmaReading {
  std::string host;
  std::string origin;    // "live", "snapshot node-3.snap"
  std::string captured;  // RFC 3339, UTC; empty where the source does not tell
  std::vector<RdmaPortReading> ports;
  std::string problem;                  // why there are no ports, in words
  std::vector<std::string> notes = {};  // what its source says of itself: "x.snap is cut off"
  bool complete = true;                 // false: what is not in it may have been there
  std::uint32_t files = 0;              // that were asked for
};

enum class RdmaChangeKind : std::uint8_t {
  kCounted,
  kWrapped,  // fell, and went over the end of its known width
  kStopped,  // stands at the maximum, where it stops: growth is at least what is stated
  kReset,    // fell: it was set back, growth is at least what stands there now
  kGone,     // read before, not there any more
  kNew,      // not there before
  kUnread,   // could not be read
};

struct RdmaChange {
  RdmaCounterPlace place = RdmaCounterPlace::kPort;
  std::string interface;
  std::string name;
  std::optional<std::uint64_t> before;
  std::optional<std::uint64_t> after;
  std::uint64_t growth = 0;  // of a gauge (per cent): the greatest value seen
  RdmaChangeKind kind = RdmaChangeKind::kCounted;
  std::string why;  // kUnread
};

struct RdmaTraffic {
  BitsPerSecond sent, received;            // mean over the interval
  BitsPerSecond peak_sent, peak_received;  // of the fastest part, where there are several
  std::uint64_t packets_sent = 0, packets_received = 0;
  bool packets_known = false;
  bool at_least = false;      // a counter was set back or stands still at its maximum
  bool of_interface = false;  // the interface's counters: other Ethernet traffic is in them
};

struct RdmaPortRates {
  std::string device;
  std::uint32_t port = 1;
  std::string was;  // its earlier name, where it was renamed
  std::string node_guid;
  LinkLayer link_layer = LinkLayer::kUnknown;
  std::string state, physical_state;      // at the end
  std::vector<std::string> states;        // all that were seen, in their order, neighbours alike once
  std::optional<BitsPerSecond> rate;      // at the end
  std::optional<BitsPerSecond> rate_was;  // the greatest before, where it was another
  std::uint32_t lanes = 0;
  std::string speed_name;
  std::vector<std::string> interfaces;
  std::string absent;               // "not there any more", "not there before": nothing else is known then
  std::optional<double> seconds;    // none: no rates
  std::string clock;                // what seconds come from, in words
  std::vector<RdmaChange> changes;  // by place, interface and name
  std::optional<RdmaTraffic> traffic;
  bool idle = false;  // next to nothing went through: quiet counters prove nothing
};

struct RdmaRates {
  std::string host;
  std::string from, to;  // RFC 3339, UTC; empty: not known
  std::string origin;    // of the later reading
  std::uint32_t readings = 0;
  std::uint32_t files = 0;  // of the last reading
  std::vector<RdmaPortRates> ports;
  std::string problem;
  std::vector<std::string> remarks;
};

// One step of the way from a low bandwidth to its cause.
enum class RdmaVerdict : std::uint8_t { kFine, kNarrows, kUnknown };

struct RdmaStep {
  std::string topic;  // "PCIe of the adapter"
  RdmaVerdict verdict = RdmaVerdict::kUnknown;
  std::vector<std::string> seen = {};  // values with their units
  std::vector<std::string> next = {};  // what to run or look at
};

struct RdmaPath {
  std::string port;  // "mlx5_0 port 1"
  std::vector<RdmaStep> steps;
};

}  // namespace angio::model
