// Between two ends over the network: perftest and OSU's point-to-point programs.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "judge/case.hpp"
#include "knowledge/knowledge.hpp"
#include "mesh/expectation.hpp"
#include "mesh/facts.hpp"

namespace angio::judge {
namespace {

// Its port of this name, else the only kind of port it has.
const model::MeshNic* find_port(const model::MeshHost& host, const std::string& device) {
  for (const model::MeshNic& nic : host.rdma)
    if (!device.empty() && nic.name == device) return &nic;
  if (!device.empty() || host.rdma.empty()) return nullptr;
  const bool alike = std::ranges::all_of(
      host.rdma, [&host](const model::MeshNic& nic) { return nic.rate == host.rdma.front().rate; });
  return alike ? &host.rdma.front() : nullptr;
}

struct Link {
  std::optional<mesh::Expectation> expected;
  double ports = 1;
  std::string missing;
};

Link link_of(const Topology& topology, const std::string& device, std::optional<Bytes> mtu) {
  if (topology.machine == nullptr)
    return {{}, 1, "the port's rate is not known (--topo SNAP of one of the hosts says)"};
  model::MeshHost host = mesh::nics_of(*topology.machine);
  host.name = topology.machine->name;
  const model::MeshNic* found = find_port(host, device);
  if (found == nullptr)
    return {{},
            1,
            fmt::format("{} has no active RDMA port {}", topology.machine->name,
                        device.empty() ? "that stands for all" : device)};
  model::MeshNic nic = *found;
  if (mtu) nic.path_mtu = mtu;
  return {mesh::expect(host, nic, host, nic, model::MeshTransport::kRdma),
          static_cast<double>(host.rdma.size()), "the rate of " + nic.name + " is not known"};
}

// For which rates of ports the figure would be normal, where none is known.
std::string rates_words(BitsPerSecond rate) {
  constexpr std::array kRates{10e9, 25e9, 40e9, 50e9, 100e9, 200e9, 400e9, 800e9};
  const auto* const above = std::ranges::find_if(kRates, [rate](double one) { return rate.value <= one; });
  if (rate.value <= 0 || above == kRates.end()) return {};
  const double share = rate.value / *above;
  return fmt::format(
      "The best figure is {} of a port of {}{}.", percent(share), in_words(BitsPerSecond{*above}),
      share < knowledge::threshold("mesh.low-share") ? ", low if it is one" : ", normal if it is one");
}

void add_undecided_rates(const Case& facts, Judgement& judgement) {
  BitsPerSecond best;
  for (const Flow& flow : facts.flows)
    if (flow.counts && flow.payload.value <= 0) best = std::max(best, flow.rate * (1 / flow.directions));
  if (std::string words = rates_words(best); !words.empty())
    judgement.assumptions.push_back(std::move(words));
}

void expect_flow(const Link& link, double ports, Flow& flow) {
  flow.counts = !mesh::is_small(flow.size);
  if (!link.expected) return;
  flow.payload = link.expected->payload;
  flow.line = link.expected->line * ports;
  flow.limit = link.expected->limit;
}

void add_time(const std::string& what, Bytes size, double time_us, Judgement& judgement) {
  JudgedRow row;
  row.what = what;
  row.measured = row.time_us = time_us;
  row.unit = "us";
  row.higher_is_better = false;
  row.size = size;
  row.why = "switches and cables on the way are not known: no expectation of a latency";
  judgement.rows.push_back(std::move(row));
}

}  // namespace

Judgement judge(const model::PerftestRun& run, const Topology& topology) {
  Judgement judgement;
  judgement.input = "perftest " + (run.program.empty() ? std::string("table") : run.program);
  judgement.source = topology.source;
  const Link link = link_of(topology, run.device, run.mtu);
  Case facts;
  facts.subject = run.program + (run.device.empty() ? "" : " on " + run.device);
  facts.source = topology.source;
  if (run.binary_megabytes)
    judgement.assumptions.emplace_back(
        "MB/sec of perftest is 2^20 bytes a second: converted to Gb/s of 10^9 bits.");
  for (const model::PerftestRow& row : run.rows) {
    if (run.latency) {
      if (const auto time = row.typical_us ? row.typical_us : row.average_us)
        add_time(fmt::format("{} {}", run.program, in_words(row.size)), row.size, *time, judgement);
      continue;
    }
    if (!row.average) continue;
    Flow flow;
    flow.what = fmt::format("{} {}", run.program, in_words(row.size));
    flow.size = row.size;
    flow.rate = *row.average;
    flow.directions = run.bidirectional ? 2 : 1;
    flow.doubt = row.doubt;
    expect_flow(link, 1, flow);
    facts.flows.push_back(std::move(flow));
  }
  for (const std::string& error : run.errors)
    facts.failed.push_back({run.program.empty() ? "perftest" : run.program, error, false});
  facts.has_tests = !facts.failed.empty();
  if (!link.expected && !facts.flows.empty())
    judgement.assumptions.push_back("No verdict: " + link.missing + ".");
  add_undecided_rates(facts, judgement);
  return conclude(std::move(facts), std::move(judgement));
}

Judgement judge(const model::OsuTable& table, const Topology& topology) {
  if (table.measure == model::OsuMeasure::kCollective) return judge_osu_collective(table, topology);
  Judgement judgement;
  judgement.input = "OSU " + table.program;
  judgement.source = topology.source;
  const bool one_node = topology.nodes.value_or(0) == 1 || (table.ranks && table.per_node == table.ranks);
  Link link = link_of(topology, {}, {});
  if (one_node)
    link = {{}, 1, "both ranks are on one host: what its memory and links give to MPI is not known"};
  Case facts;
  facts.subject = table.program;
  facts.source = topology.source;
  for (const model::OsuRow& row : table.rows) {
    const std::string what = fmt::format("{} {}", table.program, in_words(row.size));
    if (!row.rate) {
      if (row.average_us) add_time(what, row.size, *row.average_us, judgement);
      continue;
    }
    Flow flow;
    flow.what = what;
    flow.size = row.size;
    flow.rate = BitsPerSecond{row.rate->value * 8};
    flow.directions = table.measure == model::OsuMeasure::kBidirectional ? 2 : 1;
    expect_flow(link, link.ports, flow);
    if (row.valid == false) flow.doubt = "the data was wrong (Validation: Fail)";
    facts.flows.push_back(std::move(flow));
  }
  if (!facts.flows.empty()) {
    judgement.assumptions.emplace_back("MB/s of OSU is 10^6 bytes a second: converted to Gb/s.");
    judgement.assumptions.push_back(link.expected ? "The two ranks are on two hosts, over one port."
                                                  : "No verdict: " + link.missing + ".");
  }
  if (!one_node) add_undecided_rates(facts, judgement);
  return conclude(std::move(facts), std::move(judgement));
}

}  // namespace angio::judge
