// Counters with the base that they need to mean something: the time between two scans where there is one,
// else what was received since an unknown reset. A counter alone is no rate. Internal to src/fabric.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "fabric/rules.hpp"

namespace angio::fabric {

struct Count {
  std::uint64_t value = 0;        // grown since the earlier scan, or since the counter was cleared
  std::optional<double> seconds;  // between both scans; none: since an unknown reset
  bool stuck = false;             // at the top of its width: at least so many
};

// None where the scan does not have the counter.
std::optional<Count> count_at(const Case& look, model::PortRef ref, model::FabricCounter counter);
inline constexpr const char* kCounters = "angio fabric scan with counters, or ibqueryerrors beside this text";
// What is missing where no port has this counter: all of them, or this one.
std::string no_counter(const Case& look, model::FabricCounter counter);
// "in 2.5 h" or "since the counters were cleared".
std::string base_words(const Count& count);
// Growth between two sets of one port; none where one lacks it. Fallen: counted anew since a reset.
std::optional<std::uint64_t> growth(const model::CounterSet& before, const model::CounterSet& now,
                                    model::FabricCounter counter);
bool was_reset(const model::CounterSet& before, const model::CounterSet& now);

// Errors a bit: over the time between two scans the line's own bits, else the bits received, which are fewer:
// the ratio is then an upper bound.
std::optional<double> error_ratio(const Case& look, model::PortRef ref, const Count& errors);
// Share of the time that a port waited for credits; none without a time or for a chip whose tick is not
// known.
std::optional<double> wait_share(std::uint32_t device, const model::FabricPort& port, std::uint64_t ticks,
                                 double seconds);

}  // namespace angio::fabric
