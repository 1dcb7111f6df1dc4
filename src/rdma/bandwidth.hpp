// The way from a low bandwidth to its cause, step by step with the evidence at hand: what each step saw, and
// whether that is fine, narrows the bandwidth, or is not known and how to find out. Also words of bandwidth
// as people write them, with their unit or not at all.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/finding.hpp"
#include "model/machine.hpp"
#include "model/rdma_rates.hpp"

namespace angio::rdma {

// "380Gb/s", "47.5 GB/s", "45300MiB/s". A number without a unit is an error: bits and bytes differ by eight.
Result<BitsPerSecond> parse_bandwidth(std::string_view text);

struct Wanted {
  std::optional<BitsPerSecond> measured;  // by another tool; none: the interval's own rate
  std::optional<BitsPerSecond> expected;
};

// What measured or expected has to do with reality: an error where it is more than the port can carry.
Result<void> check_plausible(const std::string& port, BitsPerSecond rate, const Wanted& wanted);

model::RdmaPath follow_bandwidth(const model::Machine& machine, const model::RdmaRates& rates,
                                 const model::RdmaPortRates& port, const model::Diagnosis& diagnosis,
                                 const Wanted& wanted);

// The port whose low bandwidth is worth following: the busy one with the lowest share of its rate. Null: none
// is busy.
const model::RdmaPortRates* slowest_busy(const model::RdmaRates& rates);

}  // namespace angio::rdma
