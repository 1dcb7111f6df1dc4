// What follows of the table for a size: time, choice, channels and threads.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "base/text.hpp"
#include "cost/nccl_figures.hpp"
#include "cost/nccl_model.hpp"
#include "cost/nccl_settings.hpp"

namespace angio::cost {
namespace {

using tuner::Algorithm;
using tuner::Collective;
using tuner::Protocol;

constexpr int kWarp = 32;

std::size_t at(Algorithm value) {
  return static_cast<std::size_t>(value);
}
std::size_t at(Protocol value) {
  return static_cast<std::size_t>(value);
}

// NCCL_NTHREADS and NCCL_LL128_NTHREADS: what is out of range is replaced.
int threads_of(const NcclJob& job, std::string_view name, int least, int most, int otherwise,
               std::vector<std::string>& notes) {
  const auto given = number_setting(job.settings, name, notes);
  if (!given || *given <= 0) return otherwise;
  if (*given % kWarp != 0 || *given > most) return most;
  return std::max(least, static_cast<int>(*given));
}

void set_thresholds(const NcclFigures& figures, NcclTable& table) {
  for (auto& row : table.thresholds)
    row = {figures.thresholds[0], figures.thresholds[1], figures.thresholds[2]};
  table.thresholds[at(Algorithm::kRing)][at(Protocol::kLl)] *= table.job.ranks;
  table.thresholds[at(Algorithm::kCollNetDirect)][at(Protocol::kSimple)] = figures.thresholds[3];
  table.thresholds[at(Algorithm::kCollNetChain)][at(Protocol::kSimple)] = figures.thresholds[3];
  const std::string* text = find_setting(table.job.settings, "NCCL_THREAD_THRESHOLDS");
  if (text == nullptr) return;
  // "treeLL treeLL128 treeSimple ringLL ringLL128 ringSimple", as far as numbers go.
  std::size_t index = 0;
  for (const std::string_view word : split_words(*text)) {
    const auto number = parse_integer<int>(word);
    if (!number || index >= 2 * kNcclProtocols) break;
    if (*number >= 0) table.thresholds[index / kNcclProtocols][index % kNcclProtocols] = *number;
    ++index;
  }
}

std::size_t power_of(std::uint64_t bytes) {  // log2 of bytes / 64; only for 64 and more
  return static_cast<std::size_t>(std::bit_width(bytes >> 6U)) - 1;
}

bool is_tree_corrected(const NcclTable& table, Collective collective, Algorithm algorithm,
                       std::uint64_t bytes) {
  if (collective != Collective::kAllReduce || bytes < 64) return false;
  if (algorithm == Algorithm::kTree) return power_of(bytes) < table.times.tree_sizes;
  return algorithm == Algorithm::kNvlsTree && table.times.tree_for_nvlstree &&
         power_of(bytes) < table.times.tree.front().size();
}

// 1: no plateau. What of a ring's latency counts for Simple.
float plateau_of(const NcclTable& table, Collective collective, std::uint64_t bytes) {
  const NcclJob& job = table.job;
  const auto shares = static_cast<std::uint64_t>(job.channels) * static_cast<std::uint64_t>(job.ranks);
  const std::uint64_t share = bytes / shares;
  const bool reduces = collective == Collective::kAllReduce;
  const bool spreads = collective != Collective::kBroadcast && collective != Collective::kReduce;
  const bool within = table.times.plateau_within != 0 && spreads;
  if (share < 64 || !((job.nodes > 1 && reduces) || within)) return 1;
  if (table.times.plateau_within < 2) return table.times.plateau;
  // 2.32: nearer to 1 for rings of few steps, and between 256 and 512 KiB of a share down by a tenth.
  constexpr float kTenth = 0.1F;
  constexpr float kHalf = 256 * 1024;
  const int steps = reduces ? 2 * (job.ranks - 1) : job.ranks - 1;
  const float most = table.times.plateau - 1;
  const float part = 1 - std::pow(kTenth / most, static_cast<float>(std::max(0, steps - 1)));
  const float beyond = std::clamp((static_cast<float>(share) - kHalf) / kHalf, 0.0F, 1.0F);
  return 1 + part * (most - kTenth * beyond);
}

// So few that each has something to do: the call is dealt out in cells.
int by_traffic(const NcclTable& table, Collective collective, std::uint64_t bytes, int channels) {
  const std::uint64_t cell = table.times.channel_traffic;
  if (cell == 0 || channels < 1) return channels;
  const std::uint64_t times = collective == Collective::kAllReduce ? 2 : 1;
  const std::uint64_t cells =
      std::max<std::uint64_t>(bytes / cell * times + (bytes % cell * times + cell - 1) / cell, 1);
  const auto count = static_cast<std::uint64_t>(channels);
  const std::uint64_t each = (cells + count - 1) / count;
  return static_cast<int>((cells + each - 1) / each);
}

// How many channels and threads a kernel gets: fewer for small messages.
void set_shape(const NcclTable& table, Collective collective, std::uint64_t bytes, NcclPick& pick) {
  const std::size_t algorithm = at(pick.algorithm), protocol = at(pick.protocol);
  const auto threshold = static_cast<std::uint64_t>(table.thresholds[algorithm][protocol]);
  int channels = table.job.channels;
  int threads = table.threads[algorithm][protocol];
  const bool nvls = pick.algorithm == Algorithm::kNvls || pick.algorithm == Algorithm::kNvlsTree;
  const auto too_many = [&] {
    return bytes < static_cast<std::uint64_t>(channels) * static_cast<std::uint64_t>(threads) * threshold;
  };
  if (nvls) {
    channels = table.job.nvls_channels;
  } else {
    while (channels >= 2 && too_many())
      --channels;
    while (threads % 128 == 0 && too_many())
      threads /= 2;
  }
  channels = by_traffic(table, collective, bytes, channels);
  if (pick.protocol == Protocol::kSimple && pick.algorithm == Algorithm::kRing) threads += kWarp;
  if (pick.protocol == Protocol::kSimple && pick.algorithm == Algorithm::kTree) threads += 4 * kWarp;
  const bool all = pick.algorithm == Algorithm::kTree || pick.algorithm == Algorithm::kPat;
  if (all && table.times.tree_threads > 0) threads = table.times.tree_threads;
  threads = std::max(threads, table.times.least_threads);
  pick.channels = channels;
  pick.threads = threads;
}

bool is_same(const std::optional<NcclPick>& a, const std::optional<NcclPick>& b) {
  if (a.has_value() != b.has_value()) return false;
  return !a || (a->algorithm == b->algorithm && a->protocol == b->protocol);
}

// The last size from `first` (whose choice is `pick`) up to `last` before it changes; it changes at most
// once.
std::uint64_t last_of(const NcclTable& table, Collective collective, std::uint64_t first, std::uint64_t last,
                      const std::optional<NcclPick>& pick) {
  while (first < last) {
    const std::uint64_t middle = first + (last - first + 1) / 2;
    if (is_same(nccl_pick(table, collective, {middle}), pick))
      first = middle;
    else
      last = middle - 1;
  }
  return first;
}

void add_span(std::vector<NcclSpan>& spans, std::uint64_t first, std::uint64_t last,
              const std::optional<NcclPick>& pick) {
  if (!pick) return;
  if (!spans.empty() && is_same(spans.back().pick, pick) && spans.back().last.value + 1 == first) {
    spans.back().last = {last};
    spans.back().pick = *pick;
  } else {
    spans.push_back({{first}, {last}, *pick});
  }
}

}  // namespace

void set_nccl_kernels(const NcclFigures& figures, NcclTable& table) {
  const NcclJob& job = table.job;
  const double ring = static_cast<double>(job.ring.intra) * job.ring.channels;
  const int usual = ring <= figures.narrow_ring ? figures.narrow_threads : figures.simple_threads;
  const auto simple = at(Protocol::kSimple);
  std::vector<std::string> once;  // the same setting is read several times
  for (std::size_t algorithm = 0; algorithm < kNcclAlgorithms; ++algorithm)
    table.threads[algorithm][simple] = figures.most_threads;
  for (const Algorithm each : {Algorithm::kRing, Algorithm::kTree}) {
    auto& row = table.threads[at(each)];
    const int otherwise = each == Algorithm::kRing ? usual : figures.simple_threads;
    row[simple] = threads_of(job, "NCCL_NTHREADS", 2 * kWarp, figures.simple_threads, otherwise, table.notes);
    row[at(Protocol::kLl)] =
        threads_of(job, "NCCL_NTHREADS", 2 * kWarp, figures.ll_threads, figures.ll_threads, once);
    row[at(Protocol::kLl128)] = threads_of(job, "NCCL_LL128_NTHREADS", figures.ll128_threads / 4,
                                           figures.ll128_threads, figures.ll128_threads, once);
  }
  set_thresholds(figures, table);
}

std::optional<float> nccl_time(const NcclTable& table, Collective collective, Algorithm algorithm,
                               Protocol protocol, Bytes bytes) {
  const NcclCell& cell = table.at(collective, algorithm, protocol);
  if (!cell.enabled) return std::nullopt;
  float bandwidth = cell.bandwidth;
  float latency = cell.latency_us;
  if (is_tree_corrected(table, collective, algorithm, bytes.value))
    bandwidth *= table.times.tree[at(protocol)][power_of(bytes.value)];
  if (algorithm == Algorithm::kRing && protocol == Protocol::kSimple)
    latency *= plateau_of(table, collective, bytes.value);
  return latency + static_cast<float>(bytes.value) / (1000 * bandwidth);
}

std::optional<NcclPick> nccl_pick(const NcclTable& table, Collective collective, Bytes bytes) {
  std::optional<NcclPick> best;
  if (table.job.ranks <= 1) return NcclPick{};
  for (std::size_t algorithm = 0; algorithm < kNcclAlgorithms; ++algorithm)
    for (std::size_t protocol = 0; protocol < kNcclProtocols; ++protocol) {
      NcclPick pick{static_cast<Algorithm>(algorithm), static_cast<Protocol>(protocol), 0, 0, 0};
      const auto time = nccl_time(table, collective, pick.algorithm, pick.protocol, bytes);
      if (!time || (best && best->time_us <= *time)) continue;
      if (pick.algorithm == Algorithm::kNvls && collective == Collective::kAllGather &&
          !table.times.allgather_nvls)
        continue;
      // PAT of several ranks of a node is there for NCCL_ALGO alone.
      if (pick.algorithm == Algorithm::kPat && table.job.ranks != table.job.nodes) continue;
      pick.time_us = *time;
      best = pick;
    }
  if (best) set_shape(table, collective, bytes.value, *best);
  return best;
}

std::vector<NcclSpan> nccl_spans(const NcclTable& table, Collective collective, Bytes least, Bytes most) {
  std::vector<NcclSpan> spans;
  std::uint64_t first = std::max<std::uint64_t>(least.value, 1);
  while (first <= most.value) {
    // Within a power of two all times are straight lines.
    const std::uint64_t next = std::bit_floor(first) * 2;
    std::uint64_t last = next == 0 ? most.value : std::min(most.value, next - 1);
    const auto pick = nccl_pick(table, collective, {first});
    last = last_of(table, collective, first, last, pick);
    add_span(spans, first, last, pick ? nccl_pick(table, collective, {last}) : pick);
    if (last == std::numeric_limits<std::uint64_t>::max()) break;
    first = last + 1;
  }
  return spans;
}

double nccl_bus(Collective collective, int ranks, Bytes bytes, double time_us) {
  if (time_us <= 0 || ranks < 1) return 0;
  const double algorithm = static_cast<double>(bytes.value) / (1000 * time_us);
  const double n = ranks;
  if (collective == Collective::kAllReduce) return algorithm * 2 * (n - 1) / n;
  if (collective == Collective::kAllGather || collective == Collective::kReduceScatter)
    return algorithm * (n - 1) / n;
  return algorithm;
}

}  // namespace angio::cost
