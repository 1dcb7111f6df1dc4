#include "rdma/bandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>

#include "base/format.hpp"
#include "base/text.hpp"
#include "rdma/bandwidth_steps.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma {

using model::RdmaPortRates;

namespace {

struct Unit {
  const char* word;
  double bits;  // a second
};
// Decimal prefixes for bits and bytes, binary where the word says so (perftest prints MiB/s as "MB/sec"
// unless told --report_gbits; who copies that writes MiB/s here).
constexpr std::array kUnits = {Unit{"Gb/s", 1e9}, Unit{"Gbit/s", 1e9},         Unit{"Gbps", 1e9},
                               Unit{"Mb/s", 1e6}, Unit{"Tb/s", 1e12},          Unit{"GB/s", 8e9},
                               Unit{"MB/s", 8e6}, Unit{"GiB/s", 8589934592.0}, Unit{"MiB/s", 8388608.0}};

Error bad_bandwidth(std::string_view text) {
  return {
      ErrorCode::kInvalidInput, "\"" + printable(text) + "\" is no bandwidth",
      "Give a number and its unit: 380Gb/s, 47.5GB/s or 45300MiB/s; bits (b) and bytes (B) differ by eight"};
}

Case case_of(const model::Machine& machine, const model::RdmaRates& rates, const RdmaPortRates& port,
             const model::Diagnosis& diagnosis, const Wanted& wanted) {
  Case that{machine, rates, port, diagnosis, wanted};
  for (std::uint32_t i = 0; i < machine.rdma.size(); ++i) {
    if (machine.rdma[i].name != port.device) continue;
    that.device = &machine.rdma[i];
    that.index = i;
    const auto known = std::ranges::find(that.device->ports, port.port, &model::RdmaPort::number);
    if (known != that.device->ports.end()) that.known = &*known;
  }
  return that;
}

}  // namespace

Result<BitsPerSecond> parse_bandwidth(std::string_view text) {
  text = trim(text);
  const std::size_t end = std::min(text.find_first_not_of("0123456789."), text.size());
  const std::optional<double> number = parse_double(text.substr(0, end));
  const std::string_view word = trim(text.substr(end));
  if (!number || *number <= 0) return std::unexpected(bad_bandwidth(text));
  for (const Unit& unit : kUnits)
    if (word == unit.word) return BitsPerSecond{*number * unit.bits};
  return std::unexpected(bad_bandwidth(text));
}

Result<void> check_plausible(const std::string& port, BitsPerSecond rate, const Wanted& wanted) {
  constexpr double kSlack = 1.02;  // rounding of the figure that was given
  for (const auto& [name, value] :
       {std::pair{"measured", wanted.measured}, std::pair{"expected", wanted.expected}}) {
    if (!value || value->value <= rate.value * kSlack) continue;
    const double eighth = value->value / 8;
    std::string hint =
        "A port carries at most its data rate in one direction; a sum of both directions is halved";
    if (eighth <= rate.value)
      hint =
          "Were these bits rather than bytes, it would be " + in_words(BitsPerSecond{eighth}) + ". " + hint;
    return fail(
        ErrorCode::kInvalidInput,
        fmt::format("{} {} is more than {} can carry ({})", name, in_words(*value), port, in_words(rate)),
        hint);
  }
  return {};
}

const RdmaPortRates* slowest_busy(const model::RdmaRates& rates) {
  const RdmaPortRates* slowest = nullptr;
  double least = 0;
  for (const RdmaPortRates& port : rates.ports) {
    const std::optional<double> share = share_of_rate(port);
    if (!is_active(port) || port.idle || !share || (slowest != nullptr && *share >= least)) continue;
    slowest = &port;
    least = *share;
  }
  return slowest;
}

model::RdmaPath follow_bandwidth(const model::Machine& machine, const model::RdmaRates& rates,
                                 const RdmaPortRates& port, const model::Diagnosis& diagnosis,
                                 const Wanted& wanted) {
  const Case that = case_of(machine, rates, port, diagnosis, wanted);
  model::RdmaPath path;
  path.port = label(port);
  for (const auto step : {step_bandwidth, step_line, step_pcie, step_distance, step_mtu, step_queue_pairs,
                          step_congestion, step_errors, step_host, step_switch})
    path.steps.push_back(step(that));
  return path;
}

}  // namespace angio::rdma
