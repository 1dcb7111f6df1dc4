// From readings of counters to growth and rates: what fell was set back or wrapped, what stands at its
// maximum stopped there, what is gone is said to be gone; the time between is that of each port's own
// reading. No judgement here: judge.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/rdma_rates.hpp"

namespace angio::rdma {

// readings in the order of time, two or more. stated_seconds: from the first to the last, counts only where
// the readings do not know when they were taken.
model::RdmaRates make_rates(std::span<const model::RdmaReading> readings,
                            std::optional<double> stated_seconds = {});

// An error for two captured states that have no difference: of two machines, or in the wrong order.
Result<void> check_states(const model::RdmaReading& before, const model::RdmaReading& after);

// A port's counters by name. Priorities of a name ("rx_prio_pause") are added up, or the greatest is taken.
class Counters {
 public:
  explicit Counters(const model::RdmaPortRates& port) : port_(port) {}
  // The first of that name; null: the port does not have it.
  [[nodiscard]] const model::RdmaChange* find(std::string_view name) const;
  // Growth of the one, all its priorities and interfaces added up; 0 where it is not there.
  [[nodiscard]] std::uint64_t growth(std::string_view name) const;
  // The priority or interface that grew most; null: none grew.
  [[nodiscard]] const model::RdmaChange* greatest(std::string_view name) const;

 private:
  const model::RdmaPortRates& port_;
};

// Of the port's data rate, the busier direction; none where traffic or rate are not known for sure.
std::optional<double> share_of_rate(const model::RdmaPortRates& port);

std::string label(const model::RdmaPortRates& port);  // "mlx5_0 port 1"
bool is_active(const model::RdmaPortRates& port);     // at the end

// "/sys/class/infiniband/mlx5_0/ports/1/counters/symbol_error", "ethtool -S eth0, rx_prio3_pause".
std::string place_of(const model::RdmaPortRates& port, const model::RdmaChange& change);

}  // namespace angio::rdma
