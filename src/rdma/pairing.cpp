#include "rdma/pairing.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/text.hpp"
#include "base/utc_time.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma {

using model::RdmaPortReading;
using model::RdmaReading;

namespace {

// ---- which port of a later reading is which of an earlier one

// A virtual function without an address has the GUID 0000:0000:0000:0000.
bool names_a_device(std::string_view guid) {
  return std::ranges::any_of(guid, [](char c) { return c != '0' && c != ':' && c != 'x'; });
}

std::string key_of(const std::string& name, std::uint32_t port) {
  return name + "/" + std::to_string(port);
}

// Ports of one reading by GUID and by name; a GUID that stands twice names nobody.
struct Ports {
  explicit Ports(const RdmaReading& reading) {
    for (const RdmaPortReading& port : reading.ports) {
      by_name.emplace(key_of(port.device, port.port), &port);
      if (!names_a_device(port.node_guid)) continue;
      const auto [place, is_new] = by_guid.emplace(key_of(port.node_guid, port.port), &port);
      if (!is_new) place->second = nullptr;
    }
  }
  // The same port, be it renamed; null: not there.
  [[nodiscard]] const RdmaPortReading* find(const RdmaPortReading& earlier) const {
    if (names_a_device(earlier.node_guid)) {
      const auto same = by_guid.find(key_of(earlier.node_guid, earlier.port));
      if (same != by_guid.end() && same->second != nullptr) return same->second;
    }
    const auto named = by_name.find(key_of(earlier.device, earlier.port));
    if (named == by_name.end()) return nullptr;
    // Another device under the same name: names were given anew.
    const bool other = names_a_device(earlier.node_guid) && names_a_device(named->second->node_guid) &&
                       earlier.node_guid != named->second->node_guid;
    return other ? nullptr : named->second;
  }
  std::map<std::string, const RdmaPortReading*> by_guid;
  std::map<std::string, const RdmaPortReading*> by_name;
};

}  // namespace

std::vector<Series> series_of(std::span<const RdmaReading> readings) {
  std::vector<Series> all;
  for (std::size_t at = 0; at < readings.size(); ++at) {
    const Ports ports(readings[at]);
    std::set<const RdmaPortReading*> taken;
    for (Series& series : all) {
      const auto last =
          std::ranges::find_if(series.rbegin(), series.rend(), [](const auto* p) { return p != nullptr; });
      const RdmaPortReading* now = ports.find(**last);  // each series has one at least
      if (now != nullptr && !taken.insert(now).second) now = nullptr;
      series.push_back(now);
    }
    for (const RdmaPortReading& port : readings[at].ports) {
      if (taken.contains(&port)) continue;
      Series& series = all.emplace_back(at, nullptr);
      series.push_back(&port);
    }
  }
  return all;
}

namespace {

constexpr double kNanoseconds = 1e-9;

// The clocks of the readings: BOOTTIME where both agree that the machine ran through.
Interval by_moments(const model::RdmaMoment& before, const model::RdmaMoment& after) {
  if (!before.wall || !after.wall) return {};
  const double wall = static_cast<double>(*after.wall - *before.wall) * kNanoseconds;
  if (before.boot && after.boot) {
    const double boot = static_cast<double>(*after.boot - *before.boot) * kNanoseconds;
    const bool agree = std::abs(boot - wall) <= 1 + 0.01 * std::abs(wall);
    if (boot > 0 && agree) return {boot, "the clock at each port's own reading"};
    // It has been up for longer than the wall clock says has passed: it ran through, and the clock was set.
    const double up = static_cast<double>(*after.boot) * kNanoseconds;
    if (boot > 0 && up > wall + 1) return {boot, "time since start; the wall clock was set meanwhile"};
  }
  if (wall <= 0) return {};
  return {wall, "the wall clock; the machine restarted meanwhile, or the clock was set"};
}

}  // namespace

Interval between(const RdmaReading& first, const RdmaPortReading& before, const RdmaReading& second,
                 const RdmaPortReading& after) {
  if (const Interval own = by_moments(before.moment, after.moment); own.seconds) return own;
  const auto from = parse_utc(first.captured);
  const auto to = parse_utc(second.captured);
  if (from && to && *to > *from)
    return {static_cast<double>(*to - *from), "the times of capture, exact to a second"};
  return {};
}

namespace {

enum class Order : std::uint8_t { kForward, kBackward, kUnknown };

// A machine that ran through tells by the time since its start, whatever was done to its clock.
Order order_of(const model::RdmaMoment& before, const model::RdmaMoment& after) {
  if (!before.wall || !after.wall) return Order::kUnknown;
  if (*after.wall >= *before.wall) return Order::kForward;
  if (before.boot && after.boot) return *after.boot < *before.boot ? Order::kBackward : Order::kForward;
  return Order::kUnknown;
}

bool is_backward(const RdmaReading& before, const RdmaReading& after) {
  const Ports later(after);
  for (const RdmaPortReading& port : before.ports) {
    const RdmaPortReading* same = later.find(port);
    const Order order = same == nullptr ? Order::kUnknown : order_of(port.moment, same->moment);
    if (order != Order::kUnknown) return order == Order::kBackward;
  }
  const auto from = parse_utc(before.captured);
  const auto to = parse_utc(after.captured);
  return from && to && *to < *from;
}

bool have_a_guid_in_common(const RdmaReading& before, const RdmaReading& after) {
  std::set<std::string_view> known;
  for (const RdmaPortReading& port : before.ports)
    if (names_a_device(port.node_guid)) known.insert(port.node_guid);
  return std::ranges::any_of(after.ports,
                             [&](const RdmaPortReading& port) { return known.contains(port.node_guid); });
}

}  // namespace

Result<void> check_states(const RdmaReading& before, const RdmaReading& after) {
  const bool two_names = !before.host.empty() && !after.host.empty() && before.host != after.host;
  if (two_names && !before.ports.empty() && !after.ports.empty() && !have_a_guid_in_common(before, after))
    return fail(ErrorCode::kInvalidInput,
                "the states are of two hosts, " + printable(before.host) + " and " + printable(after.host) +
                    ": no adapter is in both, and counters of two machines have no difference",
                "Two states of one host are compared; angio doctor A B holds hosts against each other");
  if (is_backward(before, after))
    return fail(ErrorCode::kInvalidInput,
                "the second state was captured before the first" +
                    (before.captured.empty() || after.captured.empty()
                         ? std::string()
                         : " (" + printable(after.captured) + ", " + printable(before.captured) + ")"),
                "Swap them: angio rdma BEFORE AFTER");
  return {};
}

}  // namespace angio::rdma
