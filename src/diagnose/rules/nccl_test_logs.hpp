// Machines with a log of NCCL for the tests of its rules: the facts that the importers would give, written
// down. Not a parser; a healthy job that a test then breaks in one thing.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "diagnose/test_machines.hpp"
#include "model/nccl_evidence.hpp"

namespace angio::test {

using model::NcclEvent;
using model::NcclEventKind;
using model::NcclEvidence;
using model::NcclLog;

// What stands in line n of rank0.log.
inline model::Source line(std::uint32_t number) {
  return {1, number, ""};
}

inline Machine with_evidence(NcclEvidence evidence, Machine machine = {}) {
  if (machine.name.empty()) machine.name = "job";
  model::JobLog log;
  log.name = "rank0.log";
  log.nccl = std::make_shared<const NcclEvidence>(std::move(evidence));
  machine.logs.push_back(std::move(log));
  return machine;
}
inline Machine with_log(NcclLog log, Machine machine = {}) {
  NcclEvidence evidence;
  evidence.places.add("rank0.log");
  evidence.log = std::move(log);
  return with_evidence(std::move(evidence), std::move(machine));
}

inline model::NcclTransportCount way(model::NcclTransport transport, std::uint32_t number,
                                     std::string net = {}, bool gdr = false,
                                     std::optional<std::uint32_t> device = {}) {
  model::NcclTransportCount count;
  count.transport = transport;
  count.net = std::move(net);
  count.gdr = gdr;
  count.net_device = device;
  count.count = 2;
  count.text = transport == model::NcclTransport::kShm ? "SHM/direct/direct"
               : count.net.empty()                     ? "P2P/CUMEM"
                                                       : "NET/" + count.net;
  count.source = line(number);
  return count;
}

// Two nodes, two GPUs and two InfiniBand adapters each, NVLink within, GPUDirect between; everything is as it
// should be.
inline NcclLog healthy_log() {
  NcclLog log;
  log.places.add("rank0.log");
  log.files.push_back({"rank0.log", 1, 9000, 120, 120, 0, 0, 0, false, false, {}});
  log.info_lines = 120;
  model::NcclCommunicator world;
  world.id = "0xabc";
  world.nranks = 4;
  world.nodes = 2;
  world.first = line(10);
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::NcclProcess process;
    process.host = rank < 2 ? "node-a" : "node-b";
    process.pid = 100 + rank;
    process.version = "2.28.9";
    process.version_source = line(2 + rank);
    process.network = "IB";
    process.network_source = line(7);
    process.bootstrap_interface = "eth0";
    process.bootstrap_address = "192.0.2.1<0>";
    process.bootstrap_source = line(1);
    process.lines = 30;
    log.processes.push_back(std::move(process));
    model::NcclRank one;
    one.rank = rank;
    one.process = rank;
    one.cuda_device = one.nvml_device = static_cast<int>(rank % 2);
    one.state = model::NcclRankState::kComplete;
    one.started = line(20 + rank);
    one.completed = line(40 + rank);
    one.connected_rings = true;
    one.init_seconds = 1.5;
    one.timing_source = line(50);
    one.init_parts = {{"bootstrap", 0.4}, {"topo", 0.2}};
    one.transports = {way(model::NcclTransport::kP2pCumem, 60),
                      way(model::NcclTransport::kNet, 61, "IB", true, rank % 2)};
    world.ranks.push_back(std::move(one));
  }
  world.patterns.push_back({4, 0, 2, 45, 45, "NVL", "PIX", true, {}, line(30), 1});
  log.communicators.push_back(std::move(world));
  for (const char* host : {"node-a", "node-b"}) {
    model::NcclNetwork network;
    network.host = host;
    network.plugin = "IB";
    network.source = line(6);
    for (std::uint32_t device = 0; device < 2; ++device) {
      model::NcclNetDevice adapter;
      adapter.index = device;
      adapter.name = "mlx5_" + std::to_string(device);
      adapter.link = "IB";
      adapter.speed_mbps = 400000;
      network.devices.push_back(std::move(adapter));
    }
    log.networks.push_back(std::move(network));
    model::NcclSystem system;
    system.host = host;
    system.nodes.push_back({1, "NVL", 370.8, "NVS/0", ""});
    system.source = line(25);
    log.systems.push_back(std::move(system));
  }
  return log;
}

inline model::NcclSetting setting(const std::string& name, const std::string& value,
                                  std::vector<model::NcclIndex> processes = {0, 1, 2, 3}) {
  model::NcclSetting one;
  one.name = name;
  one.value = value;
  one.origin = "environment";
  one.source = line(5);
  one.count = processes.size();
  one.processes = std::move(processes);
  return one;
}

inline NcclEvent& add_event(NcclLog& log, NcclEventKind kind, std::string text, std::uint32_t number = 70,
                            model::NcclIndex process = 0) {
  NcclEvent event;
  event.kind = kind;
  event.text = std::move(text);
  event.source = line(number);
  event.process = process;
  event.count = 1;
  ++log.warn_lines;
  log.events.push_back(std::move(event));
  return log.events.back();
}

inline Machine with_event(NcclEventKind kind, std::string text) {
  NcclLog log = healthy_log();
  add_event(log, kind, std::move(text));
  return with_log(std::move(log));
}

}  // namespace angio::test
