#include "fabric/counts.hpp"

#include <fmt/format.h>

#include "knowledge/fabric_limits.hpp"

namespace angio::fabric {

using model::CounterSet;
using model::FabricCounter;
using model::FabricPort;
using model::PortRef;

namespace {

// The same port in the earlier scan; null where there is none.
const FabricPort* earlier_port(const Case& look, PortRef ref) {
  if (look.earlier == nullptr || !look.earlier->seconds) return nullptr;
  const std::uint32_t node = look.earlier->delta.before_of[ref.node];
  if (node == kNone || look.earlier->delta.replaced[ref.node] != 0) return nullptr;
  return model::find_port(look.earlier->layout.node(node), look.layout.port(ref).number);
}

}  // namespace

std::optional<std::uint64_t> growth(const CounterSet& before, const CounterSet& now, FabricCounter counter) {
  const auto old = before.get(counter);
  const auto value = now.get(counter);
  if (!old || !value) return std::nullopt;
  return *value >= *old ? *value - *old : *value;
}

bool was_reset(const CounterSet& before, const CounterSet& now) {
  for (std::size_t i = 0; i < model::kFabricCounters; ++i) {
    const auto counter = static_cast<FabricCounter>(i);
    const auto old = before.get(counter);
    const auto value = now.get(counter);
    if (old && value && *value < *old) return true;
  }
  return false;
}

std::optional<Count> count_at(const Case& look, PortRef ref, FabricCounter counter) {
  const CounterSet& now = look.layout.port(ref).counters;
  const auto value = now.get(counter);
  if (!value) return std::nullopt;
  const FabricPort* before = earlier_port(look, ref);
  if (before != nullptr && !was_reset(before->counters, now) && !now.is_stuck(counter))
    if (const auto grown = growth(before->counters, now, counter))
      return Count{*grown, look.earlier->seconds, false};
  return Count{*value, std::nullopt, now.is_stuck(counter)};
}

std::string no_counter(const Case& look, FabricCounter counter) {
  if (!look.facts.has_counters) return "counters of any port";
  return fmt::format("{} of any port", model::name_of(counter));
}

std::string base_words(const Count& count) {
  return count.seconds ? "in " + duration_words(*count.seconds)
                       : std::string("since the counters were cleared");
}

std::optional<double> error_ratio(const Case& look, PortRef ref, const Count& errors) {
  const FabricPort& port = look.layout.port(ref);
  if (errors.seconds) {
    const auto rate = running_rate(port);
    if (!rate || rate->value <= 0) return std::nullopt;
    return static_cast<double>(errors.value) / (rate->value * *errors.seconds);
  }
  const auto bytes = port.counters.get(FabricCounter::kReceiveBytes);
  if (!bytes || *bytes == 0) return std::nullopt;
  return static_cast<double>(errors.value) / (8.0 * static_cast<double>(*bytes));
}

std::optional<double> wait_share(std::uint32_t device, const FabricPort& port, std::uint64_t ticks,
                                 double seconds) {
  const knowledge::WaitTick* tick = knowledge::find_wait_tick(device);
  const auto rate = running_rate(port);
  if (tick == nullptr || !rate || rate->value <= 0 || seconds <= 0 || (tick->per_lane && port.lanes == 0))
    return std::nullopt;
  const double lost = static_cast<double>(ticks) * tick->bytes * (tick->per_lane ? port.lanes : 1);
  return lost / (to_bytes(*rate).value * seconds);
}

}  // namespace angio::fabric
