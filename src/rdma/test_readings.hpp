// Readings of made-up ports for the tests of this folder. Test code only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "model/rdma_rates.hpp"
#include "rdma/judge.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma::test {

using model::RdmaCounterPlace;
using model::RdmaPortReading;
using model::RdmaReading;

inline void set(RdmaPortReading& port, RdmaCounterPlace place, const std::string& name, std::uint64_t value,
                const std::string& interface = "") {
  const auto found = std::ranges::find_if(port.counters, [&](const auto& counter) {
    return counter.name == name && counter.place == place && counter.interface == interface;
  });
  if (found != port.counters.end()) {
    found->value = value;
    found->why.clear();
    return;
  }
  port.counters.push_back({place, interface, name, value, ""});
}
inline void set_port(RdmaPortReading& port, const std::string& name, std::uint64_t value) {
  set(port, RdmaCounterPlace::kPort, name, value);
}
inline void set_hardware(RdmaPortReading& port, const std::string& name, std::uint64_t value) {
  set(port, RdmaCounterPlace::kHardware, name, value);
}
inline void set_ethtool(RdmaPortReading& port, const std::string& name, std::uint64_t value) {
  set(port, RdmaCounterPlace::kEthtool, name, value, "eth0");
}

inline constexpr std::uint64_t kSecond = 1'000'000'000;

inline RdmaPortReading port_of(const std::string& device, model::LinkLayer layer) {
  RdmaPortReading port;
  port.device = device;
  port.node_guid = "b83f:d203:0000:00" + device.substr(device.size() - 1) + "0";
  port.link_layer = layer;
  port.state = "ACTIVE";
  port.physical_state = "LinkUp";
  port.rate = BitsPerSecond{400e9};
  port.lanes = 4;
  port.speed_name = "NDR";
  port.moment = {static_cast<std::int64_t>(1000 * kSecond), static_cast<std::int64_t>(50 * kSecond)};
  for (const char* name :
       {"symbol_error", "link_downed", "link_error_recovery", "port_rcv_errors", "port_xmit_wait",
        "port_xmit_discards", "port_xmit_data", "port_rcv_data", "port_xmit_packets", "port_rcv_packets"})
    set_port(port, name, 7);
  for (const char* name :
       {"out_of_sequence", "packet_seq_err", "local_ack_timeout_err", "out_of_buffer", "rnr_nak_retry_err",
        "np_cnp_sent", "rp_cnp_handled", "np_ecn_marked_roce_packets"})
    set_hardware(port, name, 7);
  if (layer == model::LinkLayer::kEthernet) {
    port.interfaces = {"eth0"};
    for (const char* name :
         {"rx_prio3_pause_duration", "tx_prio3_pause_duration", "rx_discards_phy", "outbound_pci_stalled_wr",
          "tx_pause_storm_warning_events", "link_down_events_phy"})
      set_ethtool(port, name, 0);
  }
  return port;
}

inline RdmaReading reading_of(std::vector<RdmaPortReading> ports) {
  RdmaReading reading;
  reading.host = "gpu-a";
  reading.origin = "live";
  reading.ports = std::move(ports);
  return reading;
}

// The same port 10 s later, after 350 Gb/s out and 340 Gb/s in, packets of 4096 bytes.
inline RdmaPortReading busy(RdmaPortReading port) {
  const double seconds = 10;
  const auto words = [&](double rate) { return static_cast<std::uint64_t>(rate * seconds / 32); };
  const auto packets = [&](double rate) { return static_cast<std::uint64_t>(rate * seconds / 8 / 4096); };
  set_port(port, "port_xmit_data", 7 + words(350e9));
  set_port(port, "port_rcv_data", 7 + words(340e9));
  set_port(port, "port_xmit_packets", 7 + packets(350e9));
  set_port(port, "port_rcv_packets", 7 + packets(340e9));
  *port.moment.wall += static_cast<std::int64_t>(10 * kSecond);
  *port.moment.boot += static_cast<std::int64_t>(10 * kSecond);
  return port;
}
inline RdmaPortReading idle(RdmaPortReading port) {
  *port.moment.wall += static_cast<std::int64_t>(10 * kSecond);
  *port.moment.boot += static_cast<std::int64_t>(10 * kSecond);
  return port;
}

inline model::RdmaRates rates(const RdmaPortReading& before, const RdmaPortReading& after) {
  const std::vector<RdmaReading> readings{reading_of({before}), reading_of({after})};
  return make_rates(readings);
}

inline std::vector<model::Finding> findings_of(const model::RdmaRates& rates, std::string_view rule) {
  std::vector<model::Finding> found;
  for (const model::Finding& finding : judge(rates).findings)
    if (finding.rule == rule) found.push_back(finding);
  return found;
}
inline std::vector<std::string> gaps_of(const model::RdmaRates& rates, std::string_view rule) {
  std::vector<std::string> found;
  for (const model::Undecided& gap : judge(rates).undecided)
    if (gap.rule == rule) found.push_back(gap.missing);
  return found;
}
inline bool held(const model::RdmaRates& rates, std::string_view rule) {
  const model::Diagnosis diagnosis = judge(rates);
  return std::ranges::find(diagnosis.held, rule) != diagnosis.held.end();
}

}  // namespace angio::rdma::test
