#include "views/fabric_metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <utility>

#include "views/fabric_words.hpp"

namespace angio::views {
namespace {

using model::FabricCounter;
using model::MetricKind;

struct Kept {
  FabricCounter counter;
  const char* unit;
};
// What none of them should do is grow. Waiting and traffic are no errors.
constexpr std::array kKept = {
    Kept{FabricCounter::kSymbolErrors, "errors"},
    Kept{FabricCounter::kLinkErrorRecoveries, "recoveries"},
    Kept{FabricCounter::kLinkDowned, "times"},
    Kept{FabricCounter::kReceiveErrors, "packets"},
    Kept{FabricCounter::kReceiveRemotePhysicalErrors, "packets"},
    Kept{FabricCounter::kReceiveSwitchRelayErrors, "packets"},
    Kept{FabricCounter::kTransmitDiscards, "packets"},
    Kept{FabricCounter::kTransmitConstraintErrors, "packets"},
    Kept{FabricCounter::kReceiveConstraintErrors, "packets"},
    Kept{FabricCounter::kLocalLinkIntegrityErrors, "errors"},
    Kept{FabricCounter::kExcessiveBufferOverruns, "errors"},
    Kept{FabricCounter::kVl15Dropped, "packets"},
};

model::Metric count_metric(const model::Fabric& fabric, const char* name, std::size_t count) {
  return {fabric.name, name, static_cast<double>(count), {}, name, MetricKind::kHigherIsBetter};
}

std::string state_words(const model::FabricPort& port) {
  std::string words = rate_words(port);
  if (port.state != model::PortState::kUnknown)
    words += (words.empty() ? "" : " ") + std::string(model::name_of(port.state));
  return words;
}

void add_counters(const model::FabricPort& port, const std::string& where,
                  std::vector<model::Metric>& metrics) {
  for (const Kept& kept : kKept) {
    const auto value = port.counters.get(kept.counter);
    if (!value || *value == 0) continue;
    metrics.push_back({where,
                       std::string(model::name_of(kept.counter)),
                       static_cast<double>(*value),
                       {},
                       kept.unit,
                       MetricKind::kCounterOfErrors});
  }
}

}  // namespace

std::vector<model::Metric> fabric_metrics(const model::Fabric& fabric) {
  std::size_t adapters = 0;
  std::size_t switches = 0;
  std::size_t links = 0;
  std::vector<model::Metric> ports;
  for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
    const model::FabricNode& node = fabric.nodes[n];
    if (node.kind == model::FabricNodeKind::kAdapter) ++adapters;
    if (node.kind == model::FabricNodeKind::kSwitch) ++switches;
    for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
      const model::FabricPort& port = node.ports[p];
      const model::PortRef here{n, p};
      const bool first_end = port.peer && here < *port.peer;
      links += first_end ? 1 : 0;
      if (!first_end && port.counters.empty()) continue;
      const std::string where = model::describe(fabric, here);
      if (const std::string state = state_words(port); first_end && !state.empty())
        ports.push_back({where, "link", 0, state, {}, MetricKind::kState});
      add_counters(port, where, ports);
    }
  }
  std::vector<model::Metric> metrics{count_metric(fabric, "adapters", adapters),
                                     count_metric(fabric, "switches", switches),
                                     count_metric(fabric, "links", links)};
  metrics.insert(metrics.end(), std::make_move_iterator(ports.begin()), std::make_move_iterator(ports.end()));
  return metrics;
}

}  // namespace angio::views
