// Dry runs for the tests of their views: a ring over all ranks, one process a node, nothing of a real job.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "model/dryrun.hpp"

namespace angio::views::example {

inline model::DryRunOperation operation(std::string collective, std::uint64_t bytes, std::string algorithm,
                                        std::string protocol, std::optional<std::uint32_t> channels,
                                        std::optional<double> estimate_us) {
  model::DryRunOperation each;
  each.collective = std::move(collective);
  each.bytes = bytes;
  each.algorithm = std::move(algorithm);
  each.protocol = std::move(protocol);
  each.channels = channels;
  each.estimate_us = estimate_us;
  each.kernel = "ncclDevKernel_Example_RING_LL";
  each.grid = channels.value_or(1);
  each.block = 544;
  each.reached = true;
  return each;
}

inline model::NcclConnection hop(std::uint32_t from, std::uint32_t to, std::uint32_t channels, bool net,
                                 bool send, std::uint32_t adapter) {
  model::NcclConnection way;
  way.transport = net ? model::NcclTransport::kNet : model::NcclTransport::kP2pCumem;
  way.from = from;
  way.to = to;
  way.channel_mask = channels >= 64 ? ~0ULL : (1ULL << channels) - 1;
  way.count = channels;
  way.source = {0, 9, ""};
  if (!net) return way;
  way.direction = send ? model::NcclDirection::kSend : model::NcclDirection::kReceive;
  way.net = "IB";
  way.gdr = true;
  way.net_device = adapter;
  return way;
}

inline std::string bus_of(std::uint32_t gpu) {
  return std::to_string(gpu + 1) + "b000";
}

inline model::NcclRank rank_of(std::uint32_t rank, std::uint32_t nodes, std::uint32_t gpus,
                               std::uint32_t channels) {
  const std::uint32_t world = nodes * gpus;
  const std::uint32_t next = (rank + 1) % world;
  const std::uint32_t last = (rank + world - 1) % world;
  model::NcclRank one;
  one.rank = rank;
  one.process = rank / gpus;
  one.cuda_device = static_cast<int>(rank % gpus);
  one.nvml_device = one.cuda_device;
  one.bus_id = bus_of(rank % gpus);
  one.coll_channels = channels;
  if (world > 1) {
    one.connections.push_back(hop(rank, next, channels, rank / gpus != next / gpus, true, rank % gpus));
    if (rank / gpus != last / gpus)
      one.connections.push_back(hop(last, rank, channels, true, false, rank % gpus));
  }
  for (std::uint32_t channel = 0; channel < channels; ++channel)
    one.trees.push_back({channel, {-1, -1, -1}, static_cast<int>(rank), static_cast<int>(rank) - 1});
  return one;
}

inline model::NcclLog ring_log(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t channels) {
  model::NcclLog log;
  log.places.add("node 0");
  model::NcclNetwork network;
  network.plugin = "IB";
  model::NcclSystem system;
  for (std::uint32_t gpu = 0; gpu < gpus; ++gpu) {
    model::NcclNetDevice device;
    device.index = gpu;
    device.name = "mlx5_" + std::to_string(gpu);
    network.devices.push_back(device);
    model::NcclPathRow row;
    row.from = "GPU/0-" + bus_of(gpu);
    for (std::uint32_t other = 0; other < gpus; ++other)
      row.cells.push_back({"GPU/0-" + bus_of(other), 2, 370.8, gpu == other ? "LOC" : "NVL"});
    system.paths.push_back(std::move(row));
  }
  log.networks.push_back(std::move(network));
  log.systems.push_back(std::move(system));
  model::NcclCommunicator world;
  world.nranks = nodes * gpus;
  world.nodes = nodes;
  world.patterns.push_back({4, 0, channels, 48, 48, "NVL", "PIX", true, {}, {0, 5, ""}, 1});
  world.tuning = {{"AllReduce", "Tree", "LL", 15.2, 43.6}, {"AllReduce", "Ring", "Simple", 56, 205.7}};
  for (std::uint32_t node = 0; node < nodes; ++node) {
    model::NcclProcess process;
    process.host = "here";
    process.pid = 100 + node;
    process.version = "2.28.9";
    process.network = "IB";
    process.networks = {0};
    log.processes.push_back(std::move(process));
  }
  model::NcclRing ring;
  for (std::uint32_t rank = 0; rank < world.nranks; ++rank) {
    world.ranks.push_back(rank_of(rank, nodes, gpus, channels));
    ring.order.push_back(rank);
  }
  for (std::uint32_t channel = 0; channel < channels; ++channel) {
    ring.channel = channel;
    world.rings.push_back(ring);
  }
  log.communicators.push_back(std::move(world));
  return log;
}

inline model::DryRun ring_run(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t channels = 2) {
  model::DryRun run;
  run.label = "as given";
  run.nccl = "2.28.9+cuda13.0";
  run.library = "/opt/env/lib/libnccl.so.2";
  run.way = "entries redirected";
  run.topology = "node.xml";
  run.nodes = nodes;
  run.ranks_per_node.assign(nodes, gpus);
  run.net = "phantom";
  run.settings = {{"NCCL_NVLS_ENABLE", "0"}};
  run.init_seconds = 0.5;
  run.seconds = 2.5;
  run.operations = {operation("AllReduce", 1 << 10, "TREE", "LL", channels, 25),
                    operation("AllReduce", 1 << 20, "RING", "LL128", channels, 90),
                    operation("AllReduce", 1 << 30, "RING", "SIMPLE", channels, 5400),
                    operation("AllGather", 1 << 20, "RING", "LL", channels, 70)};
  for (std::uint32_t rank = 0; rank < nodes * gpus; ++rank)
    run.memory.push_back({rank, 500ULL << 20U, 600ULL << 20U, 8ULL << 20U});
  run.notes = {"GPUs were placed from the model h100-sxm"};
  run.evidence.log = ring_log(nodes, gpus, channels);
  return run;
}

}  // namespace angio::views::example
