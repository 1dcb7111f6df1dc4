#include "rdma/rates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <compare>
#include <map>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/rdma_counters.hpp"
#include "rdma/pairing.hpp"

namespace angio::rdma {

using model::RdmaChange;
using model::RdmaChangeKind;
using model::RdmaCounter;
using model::RdmaCounterPlace;
using model::RdmaPortRates;
using model::RdmaPortReading;
using model::RdmaRates;
using model::RdmaReading;
using model::RdmaTraffic;

namespace {

// ---- growth

struct Key {
  RdmaCounterPlace place;
  std::string interface;
  std::string name;
  auto operator<=>(const Key&) const = default;
};

using Table = std::map<Key, const RdmaCounter*>;

Table table_of(const RdmaPortReading& port) {
  Table table;
  for (const RdmaCounter& counter : port.counters)
    table.emplace(Key{counter.place, counter.interface, counter.name}, &counter);
  return table;
}

bool is_gauge(const knowledge::RdmaCounterFact* fact) {
  return fact != nullptr && fact->unit == "percent";
}

// Over its end only if it was in the upper half and is in the lower one now; else it was set back.
bool wrapped(std::uint64_t before, std::uint64_t after, std::uint32_t bits) {
  if (bits == 0 || bits >= 64) return false;
  const std::uint64_t half = std::uint64_t{1} << (bits - 1U);
  return before >= half && before < half * 2 && after < half;
}

void count(RdmaChange& change, std::uint64_t before, std::uint64_t after,
           const knowledge::RdmaCounterFact* fact) {
  const std::uint32_t bits = fact != nullptr ? fact->wraps_at_bits : 0;
  const std::uint64_t maximum = fact != nullptr ? fact->maximum : 0;
  if (is_gauge(fact)) {
    change.growth = std::max({change.growth, before, after});
  } else if (after >= before) {
    change.growth += after - before;
    // A 64-bit counter may pass the 32-bit maximum; exactly there it can only be a full 32-bit one.
    if (maximum != 0 && after == maximum) change.kind = RdmaChangeKind::kStopped;
  } else if (wrapped(before, after, bits)) {
    change.growth += (std::uint64_t{1} << bits) - before + after;
    if (change.kind == RdmaChangeKind::kCounted) change.kind = RdmaChangeKind::kWrapped;
  } else {
    change.growth += after;
    change.kind = RdmaChangeKind::kReset;
  }
}

// One port over all its readings.
class Fold {
 public:
  void step(const RdmaPortReading& before, const RdmaPortReading& after, const Interval& time) {
    const Table earlier = table_of(before);
    const Table later = table_of(after);
    for (const auto& [key, counter] : later) {
      const auto old = earlier.find(key);
      take(key, old == earlier.end() ? nullptr : old->second, counter);
    }
    for (const auto& [key, counter] : earlier)
      if (!later.contains(key)) take(key, counter, nullptr);
    peak(earlier, later, time);
    if (time.seconds) seconds_ += *time.seconds;
    if (!time.seconds) timed_ = false;
    if (*time.clock != '\0') clock_ = time.clock;
    ++steps_;
  }

  [[nodiscard]] std::optional<double> seconds() const {
    return timed_ && steps_ > 0 && seconds_ > 0 ? std::optional(seconds_) : std::nullopt;
  }
  [[nodiscard]] const char* clock() const { return clock_; }
  [[nodiscard]] double peak_sent() const { return peak_sent_; }
  [[nodiscard]] double peak_received() const { return peak_received_; }
  std::vector<RdmaChange> changes() {
    std::vector<RdmaChange> list;
    list.reserve(changes_.size());
    for (auto& [key, change] : changes_)
      list.push_back(std::move(change));
    return list;
  }

 private:
  void take(const Key& key, const RdmaCounter* before, const RdmaCounter* after) {
    const auto [place, is_new] = changes_.try_emplace(key);
    RdmaChange& change = place->second;
    if (is_new) {
      change.place = key.place;
      change.interface = key.interface;
      change.name = key.name;
      if (before != nullptr) change.before = before->value;
      if (change.before) known_[key] = *change.before;
    }
    change.after = after != nullptr ? after->value : std::nullopt;
    if (after == nullptr) {
      change.kind = RdmaChangeKind::kGone;
    } else if (!after->value) {
      change.kind = RdmaChangeKind::kUnread;
      change.why = after->why;
    } else {
      take_value(change, key, before, *after->value);
    }
  }

  // Held against the last value that was read, be it some readings ago.
  void take_value(RdmaChange& change, const Key& key, const RdmaCounter* before, std::uint64_t value) {
    const auto [last, is_first] = known_.try_emplace(key, value);
    if (is_first) {
      change.kind = before == nullptr ? RdmaChangeKind::kNew : RdmaChangeKind::kUnread;
      if (before != nullptr) change.why = before->why;
      return;
    }
    if (change.kind == RdmaChangeKind::kGone || change.kind == RdmaChangeKind::kUnread) {
      change.kind = RdmaChangeKind::kCounted;
      change.why.clear();
    }
    count(change, last->second, value, knowledge::find_rdma_counter(key.name));
    last->second = value;
  }

  void peak(const Table& earlier, const Table& later, const Interval& time) {
    if (!time.seconds || *time.seconds <= 0) return;
    const auto rate = [&](const char* name) {
      const auto was = earlier.find(Key{RdmaCounterPlace::kPort, "", name});
      const auto is = later.find(Key{RdmaCounterPlace::kPort, "", name});
      const bool known = was != earlier.end() && is != later.end() && was->second->value &&
                         is->second->value && *is->second->value >= *was->second->value;
      constexpr double kBitsOfAWord = 32;
      return known ? static_cast<double>(*is->second->value - *was->second->value) * kBitsOfAWord /
                         *time.seconds
                   : 0.0;
    };
    peak_sent_ = std::max(peak_sent_, rate("port_xmit_data"));
    peak_received_ = std::max(peak_received_, rate("port_rcv_data"));
  }

  std::map<Key, RdmaChange> changes_;
  std::map<Key, std::uint64_t> known_;  // last value of each
  double seconds_ = 0;
  bool timed_ = true;
  std::uint32_t steps_ = 0;
  const char* clock_ = "";
  double peak_sent_ = 0;
  double peak_received_ = 0;
};

// ---- traffic

bool has_growth(const RdmaChange* change) {
  return change != nullptr && change->before && change->after && change->kind != RdmaChangeKind::kUnread &&
         change->kind != RdmaChangeKind::kGone && change->kind != RdmaChangeKind::kNew;
}

const RdmaChange* find_in(const RdmaPortRates& port, RdmaCounterPlace place, std::string_view name) {
  const auto found = std::ranges::find_if(
      port.changes, [&](const RdmaChange& c) { return c.place == place && c.name == name; });
  return found == port.changes.end() ? nullptr : &*found;
}

bool is_lower_bound(const RdmaChange& change) {
  return change.kind == RdmaChangeKind::kReset || change.kind == RdmaChangeKind::kStopped;
}

void add_packets(const RdmaPortRates& port, RdmaTraffic& traffic) {
  struct Pair {
    RdmaCounterPlace place;
    const char* sent;
    const char* received;
  };
  constexpr Pair kPairs[] = {{RdmaCounterPlace::kPort, "port_xmit_packets", "port_rcv_packets"},
                             {RdmaCounterPlace::kHardware, "tx_pkts", "rx_pkts"},       // EFA, bnxt_re
                             {RdmaCounterPlace::kHardware, "sent_pkts", "rcvd_pkts"}};  // soft-RoCE
  for (const Pair& pair : kPairs) {
    const RdmaChange* sent = find_in(port, pair.place, pair.sent);
    const RdmaChange* received = find_in(port, pair.place, pair.received);
    if (!has_growth(sent) || !has_growth(received)) continue;
    if (is_lower_bound(*sent) || is_lower_bound(*received)) return;
    traffic.packets_sent = sent->growth;
    traffic.packets_received = received->growth;
    traffic.packets_known = true;
    return;
  }
}

// An adapter moves RDMA past the network interface; only soft-RoCE sends it through.
bool sends_through_interface(const RdmaPortRates& port) {
  return find_in(port, RdmaCounterPlace::kHardware, "sent_pkts") != nullptr;
}

std::optional<RdmaTraffic> traffic_of(const RdmaPortRates& port, const Fold& fold) {
  if (!port.seconds) return std::nullopt;
  const auto rates = [&](RdmaCounterPlace place, const char* sent, const char* received,
                         double bits) -> std::optional<RdmaTraffic> {
    const RdmaChange* out = find_in(port, place, sent);
    const RdmaChange* in = find_in(port, place, received);
    if (!has_growth(out) || !has_growth(in)) return std::nullopt;
    RdmaTraffic traffic;
    traffic.sent = BitsPerSecond{static_cast<double>(out->growth) * bits / *port.seconds};
    traffic.received = BitsPerSecond{static_cast<double>(in->growth) * bits / *port.seconds};
    traffic.at_least = is_lower_bound(*out) || is_lower_bound(*in);
    return traffic;
  };
  constexpr double kBitsOfAWord = 32;  // port_xmit_data counts 4-byte words
  constexpr double kBitsOfAByte = 8;
  auto traffic = rates(RdmaCounterPlace::kPort, "port_xmit_data", "port_rcv_data", kBitsOfAWord);
  if (traffic) {
    traffic->peak_sent = BitsPerSecond{std::max(fold.peak_sent(), traffic->sent.value)};
    traffic->peak_received = BitsPerSecond{std::max(fold.peak_received(), traffic->received.value)};
  } else {
    traffic = rates(RdmaCounterPlace::kHardware, "tx_bytes", "rx_bytes", kBitsOfAByte);  // EFA, bnxt_re
    if (traffic) traffic->peak_sent = traffic->sent, traffic->peak_received = traffic->received;
  }
  if (!traffic && sends_through_interface(port)) {
    traffic = rates(RdmaCounterPlace::kInterface, "tx_bytes", "rx_bytes", kBitsOfAByte);
    if (traffic) traffic->of_interface = true;
  }
  if (traffic) add_packets(port, *traffic);
  return traffic;
}

bool is_idle(const RdmaPortRates& port) {
  if (!port.traffic || port.traffic->at_least) return false;
  const double limit = port.rate ? port.rate->value * knowledge::threshold("rdma.rate.idle-share") : 0.0;
  return port.traffic->sent.value <= limit && port.traffic->received.value <= limit;
}

// ---- one port

void describe(const RdmaPortReading& reading, RdmaPortRates& out) {
  out.device = reading.device;
  out.port = reading.port;
  out.node_guid = reading.node_guid;
  out.link_layer = reading.link_layer;
  out.state = reading.state;
  out.physical_state = reading.physical_state;
  out.rate = reading.rate;
  out.lanes = reading.lanes;
  out.speed_name = reading.speed_name;
  out.interfaces = reading.interfaces;
}

std::vector<std::string> states_of(const Series& series) {
  std::vector<std::string> states;
  for (const RdmaPortReading* reading : series) {
    std::string state = reading == nullptr ? "not there" : reading->state;
    if (!state.empty() && (states.empty() || states.back() != state)) states.push_back(std::move(state));
  }
  return states;
}

// What is not in a reading that is cut off is not gone.
void excuse_missing(RdmaPortRates& port) {
  for (RdmaChange& change : port.changes) {
    if (change.kind != RdmaChangeKind::kGone) continue;
    change.kind = RdmaChangeKind::kUnread;
    change.why = "not in the second state";
  }
}

RdmaPortRates rates_of(std::span<const RdmaReading> readings, const Series& series,
                       std::optional<double> stated_seconds) {
  RdmaPortRates out;
  Fold fold;
  std::size_t last = series.size();
  std::size_t first = series.size();
  for (std::size_t at = 0; at < series.size(); ++at) {
    if (series[at] == nullptr) continue;
    if (last == series.size()) {
      first = at;
    } else {
      fold.step(*series[last], *series[at],
                between(readings[last], *series[last], readings[at], *series[at]));
    }
    last = at;
  }
  describe(*series[last], out);
  out.states = states_of(series);
  if (series.back() == nullptr)
    out.absent = readings.back().complete ? "not there any more" : "not in the second state";
  if (series.front() == nullptr)
    out.absent = readings.front().complete ? "not there at the start" : "not in the first state";
  if (series[first]->device != out.device) out.was = series[first]->device;
  for (const RdmaPortReading* reading : series) {
    if (reading == nullptr || !reading->rate || !out.rate || *reading->rate == *out.rate) continue;
    if (!out.rate_was || *reading->rate > *out.rate_was) out.rate_was = reading->rate;
  }
  if (!out.absent.empty()) return out;
  out.seconds = fold.seconds();
  out.clock = fold.clock();
  if (!out.seconds && stated_seconds) {
    out.seconds = stated_seconds;
    out.clock = "as stated";
  }
  out.changes = fold.changes();
  if (!readings.back().complete) excuse_missing(out);
  out.traffic = traffic_of(out, fold);
  out.idle = is_idle(out);
  return out;
}

// What a port does not count is no sign of health.
void add_blindness(const RdmaPortRates& port, RdmaRates& rates) {
  if (port.seconds && !port.traffic)
    rates.remarks.push_back(label(port) +
                            ": it has no counters of its data that are known here; those of a network "
                            "interface do not see RDMA");
  const bool judged = std::ranges::any_of(port.changes, [](const RdmaChange& change) {
    const knowledge::RdmaCounterFact* fact = knowledge::find_rdma_counter(change.name);
    return fact != nullptr && change.place != RdmaCounterPlace::kInterface && change.after &&
           fact->kind != knowledge::RdmaCounterKind::kTraffic;
  });
  if (!judged)
    rates.remarks.push_back(label(port) +
                            ": no counter of errors, loss or congestion that is known here could be read: "
                            "of these nothing can be said");
}

void add_remarks(RdmaRates& rates) {
  for (const RdmaPortRates& port : rates.ports) {
    if (!port.was.empty())
      rates.remarks.push_back(fmt::format("{} was called {} before: the same node GUID {}", label(port),
                                          port.was, port.node_guid));
    if (port.rate && port.rate_was)
      rates.remarks.push_back(fmt::format("{}: its data rate changed from {} to {}", label(port),
                                          in_words(*port.rate_was), in_words(*port.rate)));
    if (port.absent.empty() && !port.seconds)
      rates.remarks.push_back(label(port) +
                              ": the time between the readings is not known, so there are no rates");
    if (port.absent.empty()) add_blindness(port, rates);
    const auto reset = std::ranges::count(port.changes, RdmaChangeKind::kReset, &RdmaChange::kind);
    if (reset > 0)
      rates.remarks.push_back(
          fmt::format("{}: {} counter{} fell: set back meanwhile (by a tool, the driver or a restart); "
                      "growth since then counts",
                      label(port), reset, reset == 1 ? "" : "s"));
  }
}

}  // namespace

const RdmaChange* Counters::find(std::string_view name) const {
  const auto found = std::ranges::find_if(port_.changes, [&](const RdmaChange& change) {
    return knowledge::without_priority(change.name) == name;
  });
  return found == port_.changes.end() ? nullptr : &*found;
}

std::uint64_t Counters::growth(std::string_view name) const {
  std::uint64_t sum = 0;
  for (const RdmaChange& change : port_.changes)
    if (knowledge::without_priority(change.name) == name) sum += change.growth;
  return sum;
}

const RdmaChange* Counters::greatest(std::string_view name) const {
  const RdmaChange* most = nullptr;
  for (const RdmaChange& change : port_.changes) {
    if (change.growth == 0 || knowledge::without_priority(change.name) != name) continue;
    if (most == nullptr || change.growth > most->growth) most = &change;
  }
  return most;
}

std::optional<double> share_of_rate(const RdmaPortRates& port) {
  if (!port.traffic || port.traffic->at_least || !port.rate) return std::nullopt;
  const double rate = std::max(port.rate->value, port.rate_was.value_or(BitsPerSecond{}).value);
  return std::max(port.traffic->sent.value, port.traffic->received.value) / rate;
}

std::string label(const RdmaPortRates& port) {
  return port.device + " port " + std::to_string(port.port);
}

bool is_active(const RdmaPortRates& port) {
  return port.absent.empty() && port.state == "ACTIVE";
}

std::string place_of(const RdmaPortRates& port, const RdmaChange& change) {
  const std::string ports = "/sys/class/infiniband/" + port.device + "/ports/" + std::to_string(port.port);
  switch (change.place) {
    case RdmaCounterPlace::kPort:
      return ports + "/counters/" + change.name;
    case RdmaCounterPlace::kHardware:
      return ports + "/hw_counters/" + change.name;
    case RdmaCounterPlace::kInterface:
      return "/sys/class/net/" + change.interface + "/statistics/" + change.name;
    case RdmaCounterPlace::kEthtool:
      return "ethtool -S " + change.interface + ", " + change.name;
  }
  return change.name;
}

RdmaRates make_rates(std::span<const RdmaReading> readings, std::optional<double> stated_seconds) {
  RdmaRates rates;
  if (readings.empty()) return rates;
  rates.host = readings.back().host;
  rates.origin = readings.back().origin;
  rates.from = readings.front().captured;
  rates.to = readings.back().captured;
  rates.readings = static_cast<std::uint32_t>(readings.size());
  rates.files = readings.back().files;
  for (const Series& series : series_of(readings))
    rates.ports.push_back(rates_of(readings, series, stated_seconds));
  if (rates.ports.empty()) rates.problem = readings.back().problem;
  for (const RdmaReading* reading : {&readings.front(), &readings.back()})
    rates.remarks.insert(rates.remarks.end(), reading->notes.begin(), reading->notes.end());
  if (readings.front().host != readings.back().host && !readings.front().host.empty() &&
      !readings.back().host.empty())
    rates.remarks.push_back("the readings are of two hosts: " + readings.front().host + " and " +
                            readings.back().host);
  add_remarks(rates);
  return rates;
}

}  // namespace angio::rdma
