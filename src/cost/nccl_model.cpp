#include "cost/nccl_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "cost/nccl_figures.hpp"
#include "cost/nccl_settings.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::cost {
namespace {

using nccl::PathType;
using tuner::Algorithm;
using tuner::Collective;
using tuner::Protocol;

constexpr std::size_t kNvlink = 0, kPci = 1, kNet = 2;  // of NcclFigures::step
constexpr int kHopper = 90;

std::size_t index(Algorithm value) {
  return static_cast<std::size_t>(value);
}
std::size_t index(Protocol value) {
  return static_cast<std::size_t>(value);
}

bool gathers(Collective collective) {
  return collective == Collective::kAllGather || collective == Collective::kReduceScatter;
}

int steps_of(Collective collective, int ranks) {
  if (collective == Collective::kAllReduce) return 2 * (ranks - 1);
  return gathers(collective) ? ranks - 1 : ranks;
}

int log2_of(int value) {
  return std::bit_width(static_cast<unsigned>(value)) - 1;
}

// Fills the cells of one communicator.
class Tuner {
 public:
  Tuner(const NcclJob& job, const NcclFigures& figures, NcclTable& table)
      : job_(job),
        figures_(figures),
        table_(table),
        generation_(generation_of(job.capability_least)),
        ppn_(static_cast<float>(job.ranks) / static_cast<float>(job.nodes)) {}

  Result<void> run() {
    auto enabled = nccl_enabled(job_.settings, figures_, table_.notes);
    if (!enabled) return std::unexpected(std::move(enabled.error()));
    enabled_ = *enabled;
    if (figures_.old_lists) not_only_collnet();
    read_settings();
    if (job_.ranks <= 1) return {};
    for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective)
      for (std::size_t algorithm = 0; algorithm < static_cast<std::size_t>(figures_.algorithms); ++algorithm)
        for (std::size_t protocol = 0; protocol < kNcclProtocols; ++protocol)
          fill(static_cast<Collective>(collective), static_cast<Algorithm>(algorithm),
               static_cast<Protocol>(protocol));
    if (figures_.old_lists) ring_at_least();
    return {};
  }

 private:
  void read_settings() {
    auto& notes = table_.notes;
    overhead_ = job_.cpu == NcclCpu::kAmd ? figures_.overhead_amd_us : figures_.overhead_us;
    if (const auto given = number_setting(job_.settings, "NCCL_NET_OVERHEAD", notes); given && *given != -2)
      overhead_ = static_cast<double>(*given) * 0.001;
    pat_ = number_setting(job_.settings, "NCCL_PAT_ENABLE", notes).value_or(2);
    c2c_ = number_setting(job_.settings, "NCCL_LL128_C2C", notes).value_or(1) != 0;
  }

  const NcclGraph& graph_of(Algorithm algorithm) const {
    static constexpr NcclGraph kNoGraph;
    switch (algorithm) {
      case Algorithm::kTree:
      case Algorithm::kPat:
        return job_.tree;
      case Algorithm::kRing:
        return job_.ring;
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        return job_.nvls;
      default:
        return kNoGraph;  // CollNet
    }
  }

  // Whether NCCL computes anything for it.
  [[nodiscard]] bool is_considered(Collective collective, Algorithm algorithm, Protocol protocol) const {
    const bool nvls = algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree;
    if (nvls && (protocol != Protocol::kSimple || graph_of(algorithm).channels < 2) &&
        figures_.nvls_form == NvlsForm::kEfficiency)
      return false;
    if (nvls && protocol != Protocol::kSimple) return false;
    switch (algorithm) {
      case Algorithm::kRing:
        return true;
      case Algorithm::kNvls:
        return collective == Collective::kAllReduce || (gathers(collective) && figures_.nvls_gathers);
      case Algorithm::kCollNetDirect:
        return collective == Collective::kAllReduce || (gathers(collective) && figures_.collnet_gathers);
      case Algorithm::kPat:
        return gathers(collective) && protocol == Protocol::kSimple && pat_enabled();
      default:
        return collective == Collective::kAllReduce;
    }
  }

  [[nodiscard]] bool pat_enabled() const {
    if (job_.capability_least < 60) return false;
    if (pat_ != 2) return pat_ != 0;
    if (job_.nodes == job_.ranks) return true;
    // By NVLS within the node, each GPU a head; on demand only.
    return figures_.apart && job_.nodes > 1 && job_.nvls.channels >= 2 &&
           job_.nvls.channels * job_.nodes == job_.ranks;
  }

  void fill(Collective collective, Algorithm algorithm, Protocol protocol) {
    NcclCell& cell = table_.cells[static_cast<std::size_t>(collective)][index(algorithm)][index(protocol)];
    if (!is_considered(collective, algorithm, protocol)) return;
    const bool allowed = is_possible(algorithm) && is_enabled(collective, algorithm, protocol);
    if (!figures_.apart || is_possible(algorithm)) {
      cell.latency_us = static_cast<float>(latency(collective, algorithm, protocol));
      cell.bandwidth = static_cast<float>(bandwidth(collective, algorithm, protocol));
    }
    if (!allowed && !figures_.apart) cell.bandwidth = 0;
    cell.enabled = allowed && cell.bandwidth > 0;
  }

  // ---------------------------------------------------------------- what is allowed

  [[nodiscard]] bool is_possible(Algorithm algorithm) const {
    switch (algorithm) {
      case Algorithm::kCollNetDirect:
      case Algorithm::kCollNetChain:
        return false;  // no CollNet here
      case Algorithm::kNvls:
        return job_.nodes == 1 && job_.nvls.channels > 0;
      case Algorithm::kNvlsTree:
        return job_.nodes > 1 && job_.nvls.channels > 0;
      default:
        return true;
    }
  }

  [[nodiscard]] bool is_enabled(Collective collective, Algorithm algorithm, Protocol protocol) const {
    const auto at = static_cast<std::size_t>(collective);
    const std::uint8_t by_protocol = enabled_.protocols[at][index(protocol)];
    const bool protocol_on = by_protocol == 2 ? ll128_allowed(algorithm) : by_protocol != 0;
    return protocol_on && enabled_.algorithms[at][index(algorithm)] != 0;
  }

  [[nodiscard]] bool ll128_allowed(Algorithm algorithm) const {
    const NcclGraph& graph = graph_of(algorithm);
    const bool hopper = job_.capability_least >= kHopper;
    const PathType farthest = hopper && c2c_ ? PathType::kPxn : PathType::kPxb;
    if (graph.type_inter > farthest || graph.type_intra > PathType::kNvb) return false;
    if (job_.capability_least != job_.capability_most &&
        (figures_.ll128_mixed == 0 || job_.capability_least < figures_.ll128_mixed))
      return false;
    if (figures_.ll128_listed.empty()) return job_.capability_least >= 70;
    return std::ranges::find(figures_.ll128_listed, job_.capability_least) != figures_.ll128_listed.end();
  }

  // Up to 2.23 a list that leaves CollNet alone, or nothing, is passed over where there is no CollNet.
  void not_only_collnet() {
    constexpr std::array kOthers{Algorithm::kRing, Algorithm::kTree, Algorithm::kNvls, Algorithm::kNvlsTree};
    for (auto& row : enabled_.algorithms) {
      const bool any = std::ranges::any_of(
          kOthers, [&](Algorithm each) { return row[index(each)] != 0 && is_possible(each); });
      if (!any) row[index(Algorithm::kRing)] = row[index(Algorithm::kTree)] = 1;
    }
  }

  // Up to 2.23 a function that is left without any algorithm gets its ring back.
  void ring_at_least() {
    for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective) {
      bool any = false;
      for (const auto& algorithm : table_.cells[collective])
        any = any || std::ranges::any_of(algorithm, [](const NcclCell& cell) { return cell.bandwidth > 0; });
      if (any) continue;
      for (std::size_t protocol = 0; protocol < kNcclProtocols; ++protocol) {
        NcclCell& cell = table_.cells[collective][index(Algorithm::kRing)][protocol];
        const std::uint8_t by_protocol = enabled_.protocols[collective][protocol];
        if (by_protocol == 0 || (by_protocol == 2 && !ll128_allowed(Algorithm::kRing))) continue;
        cell.bandwidth = static_cast<float>(bandwidth(static_cast<Collective>(collective), Algorithm::kRing,
                                                      static_cast<Protocol>(protocol)));
        cell.enabled = cell.bandwidth > 0;
      }
    }
  }

  // ---------------------------------------------------------------- bandwidth

  [[nodiscard]] double ll_most() const {
    if (job_.nodes == 1) return figures_.ll[generation_];
    return figures_.ll[job_.cpu == NcclCpu::kAmd ? 1 : 0];
  }

  // GB/s of all channels, before the algorithm's own corrections.
  [[nodiscard]] double graph_bandwidth(Algorithm algorithm) const {
    const NcclGraph& graph = graph_of(algorithm);
    const float each = job_.nodes <= 2 ? graph.intra : graph.inter;
    return static_cast<double>(static_cast<float>(graph.channels) * each);
  }

  [[nodiscard]] double nvls_bandwidth(Collective collective, Algorithm algorithm) const {
    const NcclGraph& graph = job_.nvls;
    if (graph.channels == 0) return 0;
    const double channels = graph.channels;
    const double intra = static_cast<double>(graph.intra), inter = static_cast<double>(graph.inter);
    if (figures_.nvls_form == NvlsForm::kLikeAny) return graph_bandwidth(algorithm);
    if (figures_.nvls_form == NvlsForm::kSlower) {
      const bool halved = algorithm == Algorithm::kNvlsTree && job_.nodes > 2;
      return channels * std::min(intra, halved ? inter / 2 : inter);
    }
    double within = intra * figures_.nvls_efficiency[generation_] * (channels - 1) / channels;
    within *= collective == Collective::kAllReduce
                  ? 2
                  : (static_cast<double>(ppn_) - 1) / static_cast<double>(ppn_);
    const double across = inter * (job_.nodes <= 2 && algorithm == Algorithm::kNvlsTree ? 2 : 1);
    double each = std::min(within, across);
    if (algorithm == Algorithm::kNvlsTree) each = std::min(each, figures_.nvlstree[generation_]);
    return channels * each;
  }

  [[nodiscard]] double ring_bandwidth(Collective collective, Protocol protocol) const {
    const double all = graph_bandwidth(Algorithm::kRing);
    if (protocol == Protocol::kLl) {
      const bool across =
          job_.nodes > 1 || collective == Collective::kAllReduce || collective == Collective::kReduce;
      return std::min(ll_most(), all * (across ? figures_.ring_ll_across : figures_.ring_ll_within));
    }
    if (protocol == Protocol::kLl128)
      return std::min(all * (ppn_ < 2 ? figures_.ring_ll128_alone : figures_.ring_ll128_part),
                      job_.ring.channels * figures_.ring_ll128[generation_]);
    return all;
  }

  [[nodiscard]] double tree_bandwidth(Protocol protocol) const {
    const double channels = job_.tree.channels;
    double all = std::min(graph_bandwidth(Algorithm::kTree) * figures_.tree_part,
                          channels * figures_.tree[generation_]);
    if (protocol == Protocol::kLl) all = std::min(all / figures_.tree_ll_part, ll_most());
    if (protocol == Protocol::kLl128)
      all = std::min(all * (job_.nodes == 1 ? figures_.tree_ll128_within : figures_.tree_ll128_across),
                     channels * figures_.tree_ll128[generation_]);
    if (job_.tree.chain) all *= figures_.tree_chain_part;
    return all;
  }

  // What the ring moves for each byte of the call, inverted.
  [[nodiscard]] double ring_ratio(Collective collective) const {
    return static_cast<double>(job_.ranks) / steps_of(collective, job_.ranks);
  }

  [[nodiscard]] double nvls_ratio(Collective collective, Algorithm algorithm) const {
    if (gathers(collective) && figures_.nvls_share)
      return (static_cast<double>(ppn_) - 1) / static_cast<double>(ppn_);
    if (gathers(collective) && figures_.gathers_unscaled) return 1;
    if (algorithm == Algorithm::kNvlsTree && figures_.nvlstree_part > 0 && job_.nodes > 1)
      return figures_.nvlstree_part * job_.nodes / (2 * (job_.nodes - 1));
    return figures_.nvls_part > 0 ? figures_.nvls_part : ring_ratio(collective);
  }

  [[nodiscard]] double pat_bandwidth() const {
    if (!figures_.apart) return graph_bandwidth(Algorithm::kPat);
    return static_cast<double>(static_cast<float>(job_.tree.channels) *
                               std::min(job_.tree.intra, job_.tree.inter));
  }

  // GB/s of the algorithm.
  [[nodiscard]] double bandwidth(Collective collective, Algorithm algorithm, Protocol protocol) const {
    switch (algorithm) {
      case Algorithm::kRing:
        return ring_bandwidth(collective, protocol) * ring_ratio(collective);
      case Algorithm::kTree:
        return tree_bandwidth(protocol) * 0.5;
      case Algorithm::kNvls:
      case Algorithm::kNvlsTree:
        return nvls_bandwidth(collective, algorithm) * nvls_ratio(collective, algorithm);
      case Algorithm::kPat:
        return pat_bandwidth() * figures_.pat_part;
      default:
        return 0;
    }
  }

  // ---------------------------------------------------------------- latency

  [[nodiscard]] double step(std::size_t hardware, Algorithm algorithm, Protocol protocol) const {
    // A tree over PCIe is not held against Power systems.
    if (job_.cpu == NcclCpu::kPower && hardware == kPci && algorithm == Algorithm::kTree &&
        protocol == Protocol::kSimple)
      algorithm = Algorithm::kRing;
    return static_cast<double>(figures_.step[hardware][index(algorithm)][index(protocol)]);
  }

  [[nodiscard]] std::size_t hardware_within(Algorithm algorithm) const {
    return graph_of(algorithm).type_intra == PathType::kNvl ? kNvlink : kPci;
  }

  [[nodiscard]] double across(Algorithm algorithm, Protocol protocol) const {
    const double nic = static_cast<double>(graph_of(algorithm).latency);
    const bool exposed = figures_.lone_rank_exposed && job_.ranks == job_.nodes &&
                         !(figures_.apart && algorithm != Algorithm::kRing);
    if (figures_.apart && job_.nodes == 1)
      return step(hardware_within(algorithm), algorithm, protocol) +
             nic * (protocol == Protocol::kSimple ? 2 : 1);
    // Simple flushes after it has received.
    return step(kNet, exposed ? Algorithm::kTree : algorithm, protocol) +
           nic * (protocol == Protocol::kSimple ? 2 : 1);
  }

  [[nodiscard]] double ring_latency(Collective collective, Protocol protocol) const {
    const int steps = steps_of(collective, job_.ranks);
    const std::size_t hardware = job_.nodes == 1 ? hardware_within(Algorithm::kRing) : kNet;
    if (!gathers(collective) && collective != Collective::kAllReduce) {
      if (job_.ring.same_channels) return step(hardware, Algorithm::kRing, protocol);
      return steps *
             step(hardware, protocol == Protocol::kSimple ? Algorithm::kTree : Algorithm::kRing, protocol);
    }
    double within = step(hardware_within(Algorithm::kRing), Algorithm::kRing, protocol);
    if (job_.nodes > 1) within = std::max(within, overhead_ * (protocol == Protocol::kSimple ? 3 : 1));
    int over_net = 0;
    if (job_.nodes > 1)
      over_net = collective != Collective::kAllReduce ? job_.nodes - 1
                 : figures_.net_step_of_all           ? 2 * job_.nodes
                                                      : 2 * (job_.nodes - 1);
    return (steps - over_net) * within + over_net * across(Algorithm::kRing, protocol);
  }

  [[nodiscard]] double latency(Collective collective, Algorithm algorithm, Protocol protocol) const {
    const double base = static_cast<double>(figures_.base[index(algorithm)][index(protocol)]);
    const double within = step(hardware_within(algorithm), algorithm, protocol);
    const double net = across(algorithm, protocol);
    const int others = job_.ranks / job_.nodes - 1;
    switch (algorithm) {
      case Algorithm::kRing:
        return base + ring_latency(collective, protocol);
      case Algorithm::kTree:
        return base + 2 * (others * within + log2_of(job_.nodes) * net);
      case Algorithm::kCollNetDirect:
        return base + 2 * (std::min(1, others) * within + others * figures_.collnet_gpu_us) + net;
      case Algorithm::kCollNetChain:
        return base + 2 * others * within + net;
      case Algorithm::kNvls:
        return base + within + (job_.nodes > 1 ? net : 0);
      case Algorithm::kNvlsTree:
        if (figures_.nvls_form == NvlsForm::kLikeAny)
          return base + 2 * (job_.nodes - 1) * step(kNet, algorithm, protocol);
        return base + within + 2 * log2_of(job_.nodes) * net;
      case Algorithm::kPat:
        return base + log2_of(job_.nodes) * (net * figures_.pat_step_part) +
               job_.ranks * figures_.pat_rank_us;
    }
    return base;
  }

  const NcclJob& job_;
  const NcclFigures& figures_;
  NcclTable& table_;
  std::size_t generation_;
  float ppn_;
  NcclEnabled enabled_;
  double overhead_ = 0;
  std::int64_t pat_ = 2;
  bool c2c_ = true;
};

// A release that was not compared has its neighbours' figures.
void note_release(const NcclJob& job, std::vector<std::string>& notes) {
  const knowledge::NcclTopologyFigure* figure = knowledge::find_nccl_topology("tuner-compared", "");
  if (figure == nullptr) return;
  const auto compared = split_words(figure->text);
  if (compared.empty() || std::ranges::find(compared, job.version) != compared.end()) return;
  std::string before, after;
  for (const std::string_view each : compared) {
    const bool older = knowledge::compare_versions(each, job.version).value_or(0) < 0;
    if (older) before = each;
    if (!older && after.empty()) after = each;
  }
  const std::string both = before.empty() ? after : after.empty() ? before : before + " and " + after;
  notes.push_back("the tuner of NCCL " + printable(job.version) +
                  " was not compared with a run of its own: its figures are those of " + both +
                  (after.empty() ? ", the newest known" : ", by what is known of when they changed"));
}

Result<void> check(const NcclJob& job) {
  if (job.nodes < 1 || job.ranks < job.nodes)
    return fail(ErrorCode::kInvalidInput, fmt::format("{} ranks on {} nodes", job.ranks, job.nodes),
                "Each node has one rank at least");
  if (job.ranks > 1 && (job.ring.channels < 1 || job.channels < 1))
    return fail(ErrorCode::kInvalidInput, "no ring: NCCL has no channel",
                "Graphs come from a search, a dump or a log");
  return {};
}

}  // namespace

Result<NcclTable> nccl_table(const NcclJob& job) {
  auto figures = nccl_figures(job.version, job.nodes);
  if (!figures) return std::unexpected(std::move(figures.error()));
  if (auto checked = check(job); !checked) return std::unexpected(std::move(checked.error()));
  NcclTable table;
  table.job = job;
  table.notes = job.assumptions;
  note_release(job, table.notes);
  table.algorithms = figures->algorithms;
  table.times = nccl_times(job.version, job);
  if (auto filled = Tuner(job, *figures, table).run(); !filled)
    return std::unexpected(std::move(filled.error()));
  set_nccl_kernels(*figures, table);
  return table;
}

}  // namespace angio::cost
