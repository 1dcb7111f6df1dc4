#include "profile/links.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>

#include "knowledge/knowledge.hpp"
#include "profile/rank_events.hpp"
#include "profile/statistics.hpp"

namespace angio::profile {
namespace {

using profile_ring::EventKind;
using profile_ring::Record;

constexpr double kSecond = 1e9;  // nanoseconds

struct Samples {
  Link link;
  std::vector<double> sizes;
  std::vector<double> rates;
  std::vector<double> most_sizes;  // of steps whose bytes are not told: no more than these
  std::vector<double> most_rates;
};

struct Amount {
  double bytes = 0;
  bool told = false;  // else no more than these
};
using Key = std::tuple<std::int32_t, std::int32_t, std::uint8_t, bool>;  // rank, peer, channel, send
using Connections = std::map<Key, Samples>;

double between(std::uint64_t from, std::uint64_t to) {
  return from != 0 && to > from ? static_cast<double>(to - from) : 0;
}

std::uint64_t first_known(std::initializer_list<std::uint64_t> times) {
  for (const std::uint64_t time : times)
    if (time != 0) return time;
  return 0;
}

void add_sample(const Amount& amount, double ns, Samples& samples) {
  ++samples.link.count;
  samples.link.bytes += static_cast<std::uint64_t>(amount.bytes);
  samples.link.bytes_at_most = samples.link.bytes_at_most || !amount.told;
  (amount.told ? samples.sizes : samples.most_sizes).push_back(amount.bytes);
  if (amount.bytes > 0 && ns > 0)
    (amount.told ? samples.rates : samples.most_rates).push_back(amount.bytes * kSecond / ns);
}

// NCCL's states of a step in their order. A send: GPU, credit of the peer (interface 4 and newer), network. A
// receive: network, flush into the GPU's memory where it is needed, GPU.
void add_step(const Record& step, const Amount& amount, Samples& samples) {
  const auto& [first, second, third] = step.times;
  double network = 0;
  if (samples.link.send) {
    samples.link.gpu_ns += between(first, first_known({second, third}));
    samples.link.peer_ns += between(second, third);
    network = between(third, step.stop_ns);
  } else {
    network = between(first, first_known({second, third, step.stop_ns}));
    samples.link.flush_ns += between(second, first_known({third, step.stop_ns}));
    samples.link.gpu_ns += between(third, step.stop_ns);
  }
  samples.link.network_ns += network;
  add_sample(amount, network, samples);
}

Samples& connection_of(const Record& op, std::int32_t rank, Connections& connections) {
  const bool send = (op.flags & profile_ring::kIsSend) != 0;
  if (op.rank >= 0) rank = op.rank;
  Samples& samples = connections[{rank, op.peer, op.channel, send}];
  samples.link.rank = rank;
  samples.link.peer = op.peer;
  samples.link.channel = op.channel;
  samples.link.send = send;
  return samples;
}

// A proxy operation and how many of its steps have stopped.
struct Operation {
  const Record* record = nullptr;
  std::uint64_t steps = 0;
};
using Operations = std::unordered_map<std::uint64_t, Operation>;

Operations operations_of(const profile_ring::RingFile& file) {
  Operations operations;
  for (const profile_ring::Event& event : file.events)
    if (event.record.kind == EventKind::kProxyOp) operations[event.reference].record = &event.record;
  for (const profile_ring::Event& event : file.events) {
    if (event.record.kind != EventKind::kProxyStep || event.record.stop_ns == 0) continue;
    if (const auto op = operations.find(event.record.parent); op != operations.end()) ++op->second.steps;
  }
  return operations;
}

// What a step moved. Interface 4 and newer tell it when the step is handed to the network, or has come from
// it; nothing is a size too. Interfaces 1 to 3 tell it of the operation, so of its steps only the mean is
// known, and only while none of them is lost. Otherwise a chunk is the most.
Amount amount_of(const Record& step, const Operation& op, const profile_ring::RingFile& file) {
  constexpr std::uint32_t kTellsSteps = 4;
  const double chunk = op.record->chunk;
  if (file.header.abi >= kTellsSteps) {
    const bool send = (op.record->flags & profile_ring::kIsSend) != 0;
    const bool told = step.size != 0 || step.times[send ? 2 : 1] != 0;
    return {told ? static_cast<double>(step.size) : chunk, told};
  }
  const profile_ring::LaneState& lane = file.lanes[static_cast<std::size_t>(profile_ring::Lane::kSteps)];
  const bool whole = lane.dropped + lane.overwritten + lane.torn + lane.damaged + lane.missing == 0;
  const bool told = whole && op.record->stop_ns != 0 && op.record->size != 0 && op.steps != 0;
  if (!told) return {chunk, false};
  return {std::min(chunk, static_cast<double>(op.record->size) / static_cast<double>(op.steps)), true};
}

void add_file(const profile_ring::RingFile& file, std::int32_t rank, Connections& steps, Connections& ops) {
  const Operations operations = operations_of(file);
  for (const profile_ring::Event& event : file.events) {
    const Record& record = event.record;
    if (record.stop_ns == 0) continue;
    if (record.kind == EventKind::kProxyStep) {
      const auto op = operations.find(record.parent);
      if (op == operations.end()) continue;
      add_step(record, amount_of(record, op->second, file), connection_of(*op->second.record, rank, steps));
    } else if (record.kind == EventKind::kProxyOp) {
      Samples& samples = connection_of(record, rank, ops);
      samples.link.from_steps = false;
      const bool told = record.size != 0;  // interfaces 1 to 3
      const double most = static_cast<double>(record.steps) * record.chunk;
      add_sample({told ? static_cast<double>(record.size) : most, told},
                 between(record.start_ns, record.stop_ns), samples);
    }
  }
}

Link finish(Samples samples) {
  Link link = samples.link;
  link.told = samples.rates.size();
  const bool none_told = samples.sizes.empty();
  link.step_bytes = median(std::move(none_told ? samples.most_sizes : samples.sizes));
  link.rate = median(std::move(none_told ? samples.most_rates : samples.rates));
  return link;
}

// Links are alike when their steps are of the same power of two.
int class_of(const Link& link) {
  return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(link.step_bytes)));
}

// By the connection alone; whether there are others to judge it by is another matter.
Unjudged why_not(const Link& link) {
  if (!link.send) return Unjudged::kReceive;
  if (!link.from_steps) return Unjudged::kOperations;
  if (link.told == 0 && link.bytes_at_most) return Unjudged::kBytesUnknown;
  if (link.step_bytes < knowledge::threshold("profile.slow-link-bytes")) return Unjudged::kSmallSteps;
  if (static_cast<double>(link.told) < knowledge::threshold("profile.slow-link-steps"))
    return Unjudged::kFewSteps;
  return Unjudged::kJudged;
}

// Links of one class, each with enough to be judged.
void judge_class(const std::vector<Link*>& links) {
  std::vector<double> rates;
  for (const Link* link : links)
    rates.push_back(link->rate);
  const double middle = median(rates);
  const double slow = std::min(knowledge::threshold("profile.slow-link-share") * middle,
                               middle - knowledge::threshold("profile.slow-link-certainty") * spread(rates));
  std::erase_if(rates, [slow](double rate) { return rate < slow; });
  const double least = rates.empty() ? 0 : std::ranges::min(rates);
  for (Link* link : links) {
    link->verdict = link->rate < slow ? Verdict::kSlow : Verdict::kAlike;
    link->alike = rates.size();
    link->alike_least = least;
  }
  const double alike_median = median(std::move(rates));
  for (Link* link : links)
    link->alike_median = alike_median;
}

void judge(std::vector<Link>& links) {
  std::map<int, std::vector<Link*>> classes;
  for (Link& link : links) {
    link.why = why_not(link);
    if (link.why == Unjudged::kJudged) classes[class_of(link)].push_back(&link);
  }
  for (const auto& [size, alike] : classes) {
    if (static_cast<double>(alike.size()) >= knowledge::threshold("profile.slow-link-peers")) {
      judge_class(alike);
      continue;
    }
    for (Link* link : alike)
      link->why = Unjudged::kFewAlike;
  }
}

using Pairs = std::map<std::tuple<std::int32_t, std::int32_t, std::uint8_t>, Pair>;

void add_pairs(const profile_ring::RingFile& file, std::int32_t rank, Pairs& pairs) {
  const auto kernels = kernel_spans(file);
  for (const profile_ring::Event& event : file.events) {
    if (event.record.kind != EventKind::kPointToPoint) continue;
    Pair& pair = pairs[{rank, event.record.peer, event.record.function}];
    pair.rank = rank;
    pair.peer = event.record.peer;
    pair.function = function_name(event.record);
    ++pair.count;
    const std::uint64_t bytes = operation_bytes(event.record);
    pair.bytes += bytes;
    const auto kernel = kernels.find(event.reference);
    if (kernel == kernels.end()) continue;
    const KernelSpan& span = kernel->second;
    const double time = span.gpu_ns > 0 ? span.gpu_ns : between(span.start_ns, span.stop_ns);
    if (time <= 0 || bytes == 0) continue;
    ++pair.timed;
    pair.timed_bytes += bytes;
    pair.kernel_ns += time;
  }
}

}  // namespace

std::vector<Link> find_links(const std::vector<Input>& inputs, const Communicator& communicator) {
  Connections steps;
  Connections ops;
  for (const Member& member : communicator.members)
    add_file(inputs[member.input].file, member.rank, steps, ops);
  std::vector<Link> links;
  for (auto& [key, samples] : steps)
    links.push_back(finish(std::move(samples)));
  for (auto& [key, samples] : ops)
    if (!steps.contains(key)) links.push_back(finish(std::move(samples)));
  judge(links);
  const auto order = [](const Link& link) {
    return std::tuple(link.verdict != Verdict::kSlow, !link.send, link.rate <= 0, link.rate);
  };
  std::ranges::stable_sort(links, {}, order);
  return links;
}

std::vector<Pair> find_pairs(const std::vector<Input>& inputs, const Communicator& communicator) {
  Pairs pairs;
  for (const Member& member : communicator.members)
    add_pairs(inputs[member.input].file, member.rank, pairs);
  std::vector<Pair> found;
  for (auto& [key, pair] : pairs) {
    if (pair.kernel_ns > 0) pair.rate = static_cast<double>(pair.timed_bytes) * kSecond / pair.kernel_ns;
    found.push_back(std::move(pair));
  }
  std::ranges::stable_sort(found, {}, [](const Pair& pair) { return std::tuple(pair.rate <= 0, pair.rate); });
  return found;
}

}  // namespace angio::profile
