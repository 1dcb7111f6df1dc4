#include "cost/hardware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "cost/hardware_shapes.hpp"
#include "knowledge/hardware_cost.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::cost {
namespace {

using knowledge::HardwareCost;
using model::CollectiveCase;
using model::Expectation;
using model::ExpectationBasis;

constexpr double kNoRate = 0;
// Nothing that starts ranks and waits for them takes less.
constexpr double kLeastLatencyUs = 0.3;
// What measurements may go beyond a wire's nominal rate: clocks of links are not exact to the last percent.
constexpr double kWireTolerance = 1.02;
// Parts of the machine that are only assumed may be twice what they are taken for, or half.
constexpr double kAssumedFactor = 2;

double microseconds(double bytes, BytesPerSecond rate) {
  return rate.value <= kNoRate ? 0 : bytes / rate.value * 1e6;
}

// Everything that estimates of one question share.
struct Case {
  const Platform& platform;
  const CollectiveCase& question;
  Layout at;
  NetworkWire wire;
  BytesPerSecond node_wire;
  double size = 0;
};

struct Estimate {
  Shape shape;
  const HardwareCost* node = nullptr;     // null: no link of the node is used
  const HardwareCost* network = nullptr;  // null: one node
  double latency_us = 0;
  double node_us = 0;
  double network_us = 0;
  double time_us = 0;
  bool small_way = false;  // of the protocols that latency chooses

  [[nodiscard]] const HardwareCost& main() const { return network != nullptr ? *network : *node; }
  [[nodiscard]] double transfer_us() const;
};

// 24 channels of DDR5-6400, the most that a server of two sockets has: a bound where the host's memory is
// unknown.
constexpr BytesPerSecond kHostMemory{1229e9};

BytesPerSecond node_wire_of(const Platform& platform) {
  if (platform.fabric == Fabric::kHost)
    return platform.host_link.value > 0 ? platform.host_link : kHostMemory;
  const bool linked = platform.fabric != Fabric::kPcie && platform.link.value > 0;
  return linked ? platform.link : platform.host_link;
}

// Two links in series of nearly equal speed slow each other: exponent of the sum, OVERLAP in
// tools/fit_cost.py.
constexpr double kOverlap = 8;

double in_series(double node_us, double network_us) {
  if (node_us <= 0 || network_us <= 0) return std::max(node_us, network_us);
  const double most = std::max(node_us, network_us);
  return most * std::pow(1 + std::pow(std::min(node_us, network_us) / most, kOverlap), 1 / kOverlap);
}

double Estimate::transfer_us() const {
  return in_series(node_us, network_us);
}

// The way for small messages or the one for large ones; see hardware_cost.hpp.
void finish(Estimate& made) {
  const HardwareCost& row = made.main();
  const double transfer = made.transfer_us();
  const double late = made.latency_us * row.extra;
  const double small = made.latency_us + transfer / row.low;
  const double large = late + transfer + 2 * row.fill * std::sqrt(late * transfer);
  made.small_way = small < large;
  made.time_us = std::min(small, large);
}

// Rows of a collective between more than two nodes end in "+".
const HardwareCost* row_for(std::string_view link, const Shape& shape, const Case& of) {
  if (link.empty()) return nullptr;
  const std::string collective = name_of(of.question.collective);
  if (of.at.nodes > 2)
    if (const auto* many = knowledge::find_hardware_cost(link, shape.algorithm, collective + "+");
        many != nullptr && !many->collective.empty())
      return many;
  return knowledge::find_hardware_cost(link, shape.algorithm, collective);
}

std::optional<Estimate> estimate(const Case& of, const Shape& shape) {
  Estimate made{shape};
  const bool over_network = shape.network + shape.one_nic > 0;
  if (shape.node > 0 && of.at.gpus > 1) {
    made.node = row_for(node_link_of(of.platform), shape, of);
    if (made.node == nullptr || of.node_wire.value <= kNoRate) return std::nullopt;
    made.node_us = microseconds(of.size * shape.node, of.node_wire) / made.node->efficiency;
    made.latency_us = shape.node_steps * made.node->step_us;
  }
  if (over_network) {
    made.network = row_for(network_link_of(of.platform), shape, of);
    if (made.network == nullptr || of.wire.all.value <= kNoRate) return std::nullopt;
    const double all = microseconds(of.size * shape.network, of.wire.all);
    const double one = microseconds(of.size * shape.one_nic, of.wire.one);
    made.network_us = std::max(all, one) / made.network->efficiency;
    made.latency_us += shape.network_steps * made.network->step_us;
  }
  if (made.node == nullptr && made.network == nullptr) return std::nullopt;
  made.latency_us += made.main().base_us;
  finish(made);
  return made;
}

// GPUs behind switches, and those of which each has a link to each other, are built in one way: their name
// tells their links. Those of another mesh or a bridge may have others.
bool links_are_sure(const Platform& platform) {
  return platform.links_known || platform.fabric == Fabric::kNvSwitch || platform.fabric == Fabric::kXgmi;
}

// How much more than the links that are taken there may be. Up to four cards may be joined by a bridge that
// their name does not tell: NVLink 4, 450 GB/s in one direction, is the most that one moves.
double most_of_links(const Platform& platform) {
  if (links_are_sure(platform)) return 1;
  constexpr double kBridge = 450e9;
  constexpr std::uint32_t kMostBridged = 4;
  const auto* built = knowledge::find_gpu(platform.name);
  const bool bridged = platform.fabric == Fabric::kPcie && platform.gpus <= kMostBridged &&
                       platform.host_link.value > 0 && (built == nullptr || built->nvlink_optional);
  return bridged ? std::max(kBridge / platform.host_link.value, kAssumedFactor) : kAssumedFactor;
}

// The wire's own time: no algorithm, no latency. Over NVLink switches that reduce, and over switches of the
// network that might, a message passes once.
double wire_us(const Case& of, const Shape& shape) {
  const double node = of.at.gpus > 1 ? microseconds(of.size * shape.node, of.node_wire) : 0;
  const double all = microseconds(of.size * shape.network, of.wire.all);
  const double one = microseconds(of.size * shape.one_nic, of.wire.one);
  const double network = std::max(all, one) / (of.platform.nics_known ? 1 : kAssumedFactor);
  return std::max(node / most_of_links(of.platform), network) / kWireTolerance;
}

double least_us(const Case& of, const std::vector<Shape>& shapes) {
  double least = wire_us(of, shapes.front());
  for (const Shape& shape : shapes)
    least = std::min(least, wire_us(of, shape));
  return std::max(least, kLeastLatencyUs);
}

std::string step_words(const Estimate& made) {
  const auto steps = static_cast<long>(std::lround(made.shape.node_steps + made.shape.network_steps));
  if (steps <= 2) return "latency of the start and of the answer";
  return fmt::format("latency of {} {} steps", steps, made.shape.algorithm);
}

std::string node_words(const Platform& platform) {
  if (platform.fabric == Fabric::kHost)
    return fmt::format("memory of the host: at most {}", in_words(node_wire_of(platform)));
  if (platform.fabric == Fabric::kPcie || platform.link.value <= 0)
    return fmt::format("PCIe of each GPU: {}", in_words(platform.host_link));
  const char* link = platform.fabric == Fabric::kXgmi ? "xGMI" : "NVLink";
  if (platform.links == 0) return fmt::format("{} of each GPU: {}", link, in_words(platform.link));
  return fmt::format("{} of each GPU: {} x {}", link, count_of(platform.links, "link"),
                     in_words(platform.link_each));
}

std::string limit_of(const Case& of, const Estimate& made) {
  if (made.latency_us > made.transfer_us()) return step_words(made);
  if (made.network_us >= made.node_us) return of.wire.part;
  return node_words(of.platform);
}

// Shares of latency at which the rows state how far healthy runs scatter; between them on a scale of ratios.
constexpr double kWireShare = 0.02;
constexpr double kMiddleShare = 0.1;

double between(double from, double to, double part) {
  return std::exp(std::log(from) * (1 - part) + std::log(to) * part);
}

// The wire scatters by a few per cent, latency and the change of protocols by far more.
double slower_of(const HardwareCost& row, const Estimate& made) {
  const double share = made.latency_us / std::max(made.latency_us + made.transfer_us(), 1e-9);
  if (share >= kMiddleShare)
    return between(row.slower_middle, row.slower_small, (share - kMiddleShare) / (1 - kMiddleShare));
  const double part = std::max(share - kWireShare, 0.0) / (kMiddleShare - kWireShare);
  return between(row.slower, row.slower_middle, part);
}

// The slowest that is healthy: where the NICs are only assumed, with half of them and twice their latency.
double most_us(const Platform& platform, const Estimate& made) {
  if (made.network == nullptr)
    return made.time_us * slower_of(made.main(), made) * (links_are_sure(platform) ? 1 : kAssumedFactor);
  if (platform.nics_known) return made.time_us * slower_of(made.main(), made);
  Estimate half = made;
  half.network_us *= kAssumedFactor;
  half.latency_us *= kAssumedFactor;
  finish(half);
  return half.time_us * slower_of(half.main(), half);
}

BytesPerSecond bus_of(const Case& of, double time_us) {
  const auto factor = bus_factor(of.question.collective, of.question.ranks);
  return {of.size / (time_us * 1e-6) * factor.value_or(1)};
}

bool is_fitted(const Estimate& made) {
  return made.main().fitted && (made.node == nullptr || made.node->fitted);
}

Expectation expectation_of(const Case& of, const Estimate& made, double least) {
  Expectation made_of;
  made_of.of = of.question;
  made_of.basis = is_fitted(made) ? ExpectationBasis::kFitted : ExpectationBasis::kDerived;
  made_of.time_us = made.time_us;
  made_of.least_us = std::min(least, made.time_us);
  made_of.most_us = most_us(of.platform, made);
  made_of.bus = bus_of(of, made_of.time_us);
  made_of.bus_low = bus_of(of, made_of.most_us);
  made_of.bus_high = bus_of(of, made_of.least_us);
  made_of.algorithm = made.shape.algorithm;
  made_of.protocol = made.small_way ? "LL or LL128" : "Simple";
  made_of.limit = limit_of(of, made);
  made_of.assumptions = of.platform.assumptions;
  if (made.shape.assumes_switch_reduction)
    made_of.assumptions.emplace_back(
        "The switches of the network are taken to reduce (SHARP): nothing here says that they can.");
  return made_of;
}

// No constants for these links: the wire is all that is known.
Expectation bound_of(const Case& of, const Shape& shape, double least) {
  Expectation bound;
  bound.of = of.question;
  bound.basis = ExpectationBasis::kBound;
  bound.least_us = least;
  bound.time_us = std::max(least, wire_us(of, shape));
  bound.most_us = HUGE_VAL;
  bound.bus = bus_of(of, bound.time_us);
  bound.bus_high = bus_of(of, bound.least_us);
  const bool network = shape.network + shape.one_nic > 0 && of.wire.all.value > 0;
  bound.limit = network ? of.wire.part : node_words(of.platform);
  bound.assumptions = of.platform.assumptions;
  bound.assumptions.emplace_back(
      "Nothing was measured on links like these: only what the wire allows is known.");
  return bound;
}

std::optional<Error> refuse(const Platform& platform, const CollectiveCase& question,
                            const std::vector<Shape>& shapes) {
  const auto error = [](std::string message, std::string hint = {}) {
    return std::optional<Error>(Error{ErrorCode::kInvalidInput, std::move(message), std::move(hint)});
  };
  if (question.ranks < 2)
    return error(fmt::format("{} on {}: nothing to expect, no data leaves a single rank",
                             name_of(question.collective), count_of(question.ranks, "rank")));
  if (question.size.value == 0)
    return error("a message of 0 bytes has no bandwidth", "ask for the smallest size that was measured");
  if (question.nodes > question.ranks)
    return error(fmt::format("{} on {}: a node has at least one rank", count_of(question.ranks, "rank"),
                             count_of(question.nodes, "node")));
  if (shapes.empty())
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: no model of this collective", name_of(question.collective)),
                 "AllReduce, AllGather, ReduceScatter, Broadcast, Reduce, AllToAll, SendRecv, Gather and "
                 "Scatter have one"};
  if (question.nodes > 1 && platform.nics == 0 && platform.domain < question.ranks)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("{}: no NIC is known that joins them", count_of(question.nodes, "node")),
                 "take the snapshot on a node whose adapters are up"};
  return std::nullopt;
}

}  // namespace

Result<std::vector<Expectation>> expect_each(const Platform& platform, const CollectiveCase& question) {
  std::vector<Shape> shapes;
  if (question.ranks > 1 && question.nodes <= question.ranks) shapes = shapes_of(platform, question);
  if (auto error = refuse(platform, question, shapes)) return std::unexpected(std::move(*error));
  Case of{platform,
          question,
          layout_of(platform, question),
          {},
          node_wire_of(platform),
          static_cast<double>(question.size.value)};
  if (of.at.nodes > 1) of.wire = network_wire(platform, of.at);
  const double least = least_us(of, shapes);
  std::vector<Estimate> estimates;
  for (const Shape& shape : shapes)
    if (const auto made = estimate(of, shape)) estimates.push_back(*made);
  const auto before = [](const Estimate& a, const Estimate& b) { return a.time_us < b.time_us; };
  std::ranges::stable_sort(estimates, before);
  std::vector<Expectation> all;
  for (const Estimate& made : estimates)
    all.push_back(expectation_of(of, made, least));
  if (!all.empty()) return all;
  if (of.wire.all.value <= kNoRate && of.node_wire.value <= kNoRate)
    return fail(ErrorCode::kUnsupported,
                "nothing is known of the links between these GPUs, not even their names",
                "name the GPUs, or take a snapshot with angio collect on a node of the job");
  all.push_back(bound_of(of, shapes.front(), least));
  return all;
}

Result<Expectation> expect(const Platform& platform, const CollectiveCase& question) {
  auto all = expect_each(platform, question);
  if (!all) return std::unexpected(std::move(all.error()));
  const auto told = [](const Expectation& each) { return each.algorithm != "CollNet"; };
  const auto first = std::ranges::find_if(*all, told);
  return std::move(first == all->end() ? all->front() : *first);
}

}  // namespace angio::cost
