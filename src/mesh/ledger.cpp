#include "mesh/ledger.hpp"

#include <algorithm>
#include <tuple>

#include "import/perftest/perftest.hpp"

namespace angio::mesh {
namespace {

using model::MeshMeasure;
using model::MeshNic;
using model::MeshState;
using model::MeshTransport;

bool is_there(const MeshNic& nic) {
  return !nic.name.empty() || !nic.address.empty();
}

// perftest's own words of what went wrong, before ours on how it ended.
std::string trouble_of(const Outcome& outcome) {
  if (outcome.trouble.empty()) return {};
  for (const model::PerftestRun& run : import::perftest::parse(outcome.text)) {
    if (!run.errors.empty()) return run.errors.back();
  }
  return outcome.trouble;
}

// The row of a perftest text that counts: the last, there is one.
std::optional<model::PerftestRow> row_of(const Outcome& outcome) {
  const auto runs = import::perftest::parse(outcome.text);
  for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
    if (!run->rows.empty()) return run->rows.back();
  }
  return std::nullopt;
}

void take_latency(const Outcome& sender, bool rdma, MeshMeasure& measure) {
  if (!rdma) {
    measure.latency_us = sender.latency_us;
    measure.latency_99_us = sender.latency_99_us;
    return;
  }
  const auto row = row_of(sender);
  if (!row) return;
  measure.latency_us = row->typical_us ? row->typical_us : row->average_us;
  measure.latency_99_us = row->percentile_99_us;
}

void take_bandwidth(const Outcome& sender, const Outcome& receiver, bool rdma, MeshMeasure& measure) {
  measure.from_cpu = sender.cpu;
  measure.to_cpu = receiver.cpu;
  if (!rdma) {
    if (receiver.bytes_per_second) measure.bandwidth = BitsPerSecond{*receiver.bytes_per_second * 8};
    return;
  }
  auto row = row_of(sender);
  if (!row || !row->average) row = row_of(receiver);
  if (!row || !row->average) return;
  measure.bandwidth = row->average;
  measure.message = row->size;
  measure.messages_per_second = row->messages_per_second;
}

}  // namespace

bool is_latency(Tool tool) {
  return tool == Tool::kTcpLatency || tool == Tool::kWriteLatency;
}

Ledger::Ledger(model::MeshResult& result, bool retry_failed) : result_(result), retry_failed_(retry_failed) {
  for (std::size_t i = 0; i < result.measures.size(); ++i) {
    const MeshMeasure& one = result.measures[i];
    places_.emplace(Key{one.transport, one.from, one.from_nic, one.to, one.to_nic}, i);
  }
}

const MeshMeasure* Ledger::find(const Key& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? nullptr : &result_.measures[found->second];
}

MeshMeasure& Ledger::at(const Key& key) {
  const auto [place, is_new] = places_.try_emplace(key, result_.measures.size());
  if (is_new) {
    MeshMeasure measure;
    std::tie(measure.transport, measure.from, measure.from_nic, measure.to, measure.to_nic) = key;
    result_.measures.push_back(std::move(measure));
  }
  return result_.measures[place->second];
}

bool Ledger::is_wanted(const Key& key) const {
  const MeshMeasure* measure = find(key);
  if (measure == nullptr || measure->state == MeshState::kMissing) return true;
  return retry_failed_ && measure->state == MeshState::kFailed;
}

// A host that never answered has no NICs: its partner's stand for what could not be tested.
std::vector<Ledger::Lane> Ledger::lanes(const HostPair& pair) const {
  std::vector<Lane> lanes;
  for (const MeshTransport transport : {MeshTransport::kTcp, MeshTransport::kRdma}) {
    const bool rdma = transport == MeshTransport::kRdma;
    if (rdma ? !result_.plan.rdma : !result_.plan.tcp) continue;
    const model::MeshHost& first = result_.hosts[pair.first];
    const model::MeshHost& second = result_.hosts[pair.second];
    const auto* a = rdma ? &first.rdma : &first.tcp;
    const auto* b = rdma ? &second.rdma : &second.tcp;
    const bool a_unknown = a->empty() && !first.tested;
    const bool b_unknown = b->empty() && !second.tested;
    if (a_unknown && b_unknown) {
      lanes.emplace_back(transport, 0, 0);
      continue;
    }
    if (a_unknown) a = b;
    if (b_unknown) b = a;
    for (std::uint32_t i = 0; i < a->size(); ++i) {
      for (std::uint32_t j = 0; j < b->size(); ++j) {
        if ((i == j || result_.plan.all_nics) && is_there((*a)[i]) && is_there((*b)[j]))
          lanes.emplace_back(transport, i, j);
      }
    }
  }
  return lanes;
}

bool Ledger::needs(const HostPair& pair) const {
  return std::ranges::any_of(lanes(pair), [&](const Lane& lane) {
    const auto [transport, i, j] = lane;
    return is_wanted({transport, pair.first, i, pair.second, j}) ||
           is_wanted({transport, pair.second, j, pair.first, i});
  });
}

std::vector<Step> Ledger::open(const HostPair& pair, std::uint32_t round) {
  std::vector<Step> steps;
  for (const Lane& lane : lanes(pair)) {
    const auto [transport, i, j] = lane;
    const Key there{transport, pair.first, i, pair.second, j};
    const Key back{transport, pair.second, j, pair.first, i};
    const bool wants_there = is_wanted(there);
    const bool wants_back = is_wanted(back);
    for (const auto& [key, wanted] : {std::pair{there, wants_there}, std::pair{back, wants_back}}) {
      if (!wanted) continue;
      MeshMeasure& measure = at(key);
      measure = {};
      std::tie(measure.transport, measure.from, measure.from_nic, measure.to, measure.to_nic) = key;
      measure.round = round;
    }
    const bool rdma = transport == MeshTransport::kRdma;
    const auto level = result_.plan.level;
    const Step step{rdma ? Tool::kWriteLatency : Tool::kTcpLatency, transport, pair.first, i, pair.second, j};
    if (level != model::MeshLevel::kBandwidth && (wants_there || wants_back)) steps.push_back(step);
    if (level == model::MeshLevel::kLatency) continue;
    const Tool tool = rdma ? Tool::kWriteBandwidth : Tool::kTcpBandwidth;
    if (wants_there) steps.push_back({tool, transport, pair.first, i, pair.second, j});
    if (wants_back) steps.push_back({tool, transport, pair.second, j, pair.first, i});
  }
  return steps;
}

std::vector<std::size_t> Ledger::touched(const Step& step) {
  const Key there{step.transport, step.from, step.from_nic, step.to, step.to_nic};
  const Key back{step.transport, step.to, step.to_nic, step.from, step.from_nic};
  (void)at(there);
  std::vector<std::size_t> list{places_.at(there)};
  // A round trip is of both directions.
  if (is_latency(step.tool)) {
    (void)at(back);
    list.push_back(places_.at(back));
  }
  return list;
}

void Ledger::record(const Step& step, const Outcome& sender, const Outcome& receiver) {
  std::string trouble = trouble_of(sender);
  const std::string other = trouble_of(receiver);
  // Which side's words say more: the one that was not merely left alone.
  if (trouble.empty() || (!other.empty() && receiver.trouble.find("connections came") == std::string::npos &&
                          trouble.find("no answer") != std::string::npos))
    trouble = other.empty() ? trouble : other;
  if (!trouble.empty()) {
    (void)record_failure(step, trouble);
    return;
  }
  const bool rdma = step.transport == MeshTransport::kRdma;
  for (const std::size_t index : touched(step)) {
    MeshMeasure& measure = result_.measures[index];
    if (is_latency(step.tool)) {
      take_latency(sender, rdma, measure);
    } else {
      take_bandwidth(sender, receiver, rdma, measure);
    }
    const bool has = is_latency(step.tool) ? measure.latency_us.has_value() : measure.bandwidth.has_value();
    if (!has) {
      measure.state = MeshState::kFailed;
      measure.trouble = std::string(program_of(step.tool)) + " printed no result";
    } else if (measure.state != MeshState::kFailed &&
               (!is_latency(step.tool) || result_.plan.level == model::MeshLevel::kLatency)) {
      measure.state = MeshState::kDone;
    }
  }
}

std::vector<std::size_t> Ledger::record_failure(const Step& step, const std::string& trouble) {
  std::vector<std::size_t> list = touched(step);
  for (const std::size_t index : list) {
    MeshMeasure& measure = result_.measures[index];
    if (measure.state == MeshState::kDone) continue;
    measure.state = MeshState::kFailed;
    if (measure.trouble.empty()) measure.trouble = trouble;
  }
  return list;
}

void Ledger::reset(const HostPair& pair) {
  for (MeshMeasure& measure : result_.measures) {
    const bool ours = (measure.from == pair.first && measure.to == pair.second) ||
                      (measure.from == pair.second && measure.to == pair.first);
    if (ours && measure.state != MeshState::kDone) measure.state = MeshState::kMissing;
  }
}

void Ledger::reset(std::size_t measure) {
  result_.measures[measure].state = MeshState::kMissing;
  result_.measures[measure].trouble.clear();
}

std::uint32_t Ledger::failed() const {
  return static_cast<std::uint32_t>(
      std::ranges::count(result_.measures, MeshState::kFailed, &MeshMeasure::state));
}

}  // namespace angio::mesh
