// Dry runs for the tests of this library: the facts that NCCL's log would give, written down. A healthy run
// that a test then changes in one thing, and the topology it stands for. Not a parser.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "model/dryrun.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::dryrun::test {

using model::DryRun;
using model::NcclLog;

inline model::Source line(std::uint32_t number) {
  return {1, number, ""};
}

inline model::NcclConnection p2p(std::uint32_t from, std::uint32_t to) {
  model::NcclConnection one;
  one.transport = model::NcclTransport::kP2pCumem;
  one.from = from;
  one.to = to;
  one.text = "P2P/CUMEM";
  one.count = 4;
  one.source = line(60 + from);
  return one;
}
inline model::NcclConnection shm(std::uint32_t from, std::uint32_t to) {
  model::NcclConnection one = p2p(from, to);
  one.transport = model::NcclTransport::kShm;
  one.text = "SHM/direct/direct";
  return one;
}
inline model::NcclConnection net(std::uint32_t from, std::uint32_t to, std::uint32_t device, bool gdr = true,
                                 std::string network = "IB") {
  model::NcclConnection one = p2p(from, to);
  one.transport = model::NcclTransport::kNet;
  one.net = std::move(network);
  one.gdr = gdr;
  one.net_device = device;
  one.text = "NET/" + one.net + "/" + std::to_string(device) + (gdr ? "/GDRDMA" : "");
  return one;
}

inline void connect(model::NcclRank& rank, model::NcclConnection connection) {
  rank.transports.push_back({connection.transport, connection.gdr, false, connection.proxy_rank.has_value(),
                             connection.net, connection.net_device, connection.count, connection.text,
                             connection.source});
  rank.connections.push_back(std::move(connection));
}

inline model::NcclSystem healthy_system() {
  model::NcclSystem system;
  system.host = "node-a";
  system.max_bw = 48;
  system.total_bw = 370.8;
  system.nodes = {{0, "", 0, "CPU/0-0", "(1/1/3)"},
                  {2, "PCI", 48, "GPU/0-1b000", "(0)"},
                  {4, "NVL", 370.8, "NVS/0-0", ""},
                  {2, "PCI", 48, "GPU/0-43000", "(1)"},
                  {4, "NVL", 370.8, "NVS/0-0", ""}};
  system.paths = {{"GPU/0-1b000", {{"GPU/0-1b000", 0, 5000, "LOC"}, {"GPU/0-43000", 2, 370.8, "NVL"}}},
                  {"GPU/0-43000", {{"GPU/0-1b000", 2, 370.8, "NVL"}, {"GPU/0-43000", 0, 5000, "LOC"}}}};
  system.source = line(20);
  return system;
}

// Rank 0 and 1 on node-a, 2 and 3 on node-b, each with the NIC of its own number.
inline NcclLog healthy_log() {
  NcclLog log;
  log.places.add("node0.log");
  log.systems.push_back(healthy_system());
  log.versions.push_back({"2.28.9", "cuda13.0", false, 0, line(2), 4});
  model::NcclCommunicator world;
  world.id = "0xabc";
  world.nranks = 4;
  world.nodes = 2;
  world.patterns = {{4, 0, 8, 40, 40, "NVL", "PIX", true, {}, line(30), 4},
                    {1, 0, 8, 40, 40, "NVL", "PIX", true, {}, line(40), 4},
                    {5, 0, 8, 40, 40, "NVL", "PIX", false, {}, line(50), 4}};
  world.rings = {{0, {0, 1, 2, 3}, line(55)}, {1, {0, 3, 2, 1}, line(56)}};
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    model::NcclProcess process;
    process.host = rank < 2 ? "node-a" : "node-b";
    process.pid = 100 + rank;
    process.network = "IB";
    process.network_source = line(8);
    log.processes.push_back(std::move(process));
    model::NcclRank one;
    one.rank = rank;
    one.process = rank;
    one.bus_id = rank % 2 == 0 ? "1b000" : "43000";
    one.coll_channels = 16;
    one.nvls_channels = 16;
    one.p2p_channels = 16;
    one.channels_source = line(58);
    one.nvls = true;
    one.nvls_source = line(12);
    one.connected_rings = true;
    one.trees = {{0,
                  {static_cast<int>(rank) + 1 < 4 ? static_cast<int>(rank) + 1 : -1, -1, -1},
                  static_cast<int>(rank),
                  static_cast<int>(rank) - 1}};
    connect(one, p2p(rank, rank ^ 1U));
    connect(one, net(rank, (rank + 2) % 4, rank % 2));
    connect(one, net((rank + 2) % 4, rank, rank % 2));
    world.ranks.push_back(std::move(one));
  }
  world.tuning = {{"AllReduce", "Tree", "LL", 25.2, 16.6},
                  {"AllReduce", "Tree", "LL128", 48.5, 124.8},
                  {"AllReduce", "Ring", "LL", 40.0, 20.8},
                  {"AllReduce", "Ring", "LL128", 75.2, 156.6},
                  {"AllReduce", "Ring", "Simple", 131.6, 204.8}};
  world.tuning_source = line(70);
  log.communicators.push_back(std::move(world));
  for (const char* host : {"node-a", "node-b"}) {
    model::NcclNetwork network;
    network.host = host;
    network.plugin = "IB";
    network.source = line(7);
    for (std::uint32_t device = 0; device < 2; ++device) {
      model::NcclNetDevice adapter;
      adapter.index = device;
      adapter.name = "mlx5_" + std::to_string(device);
      network.devices.push_back(std::move(adapter));
    }
    log.networks.push_back(std::move(network));
  }
  return log;
}

inline model::DryRunOperation operation(std::uint64_t bytes, std::string algorithm, std::string protocol,
                                        std::uint32_t channels, double estimate_us) {
  model::DryRunOperation one;
  one.collective = "AllReduce";
  one.bytes = bytes;
  one.algorithm = std::move(algorithm);
  one.protocol = std::move(protocol);
  one.channels = channels;
  one.estimate_us = estimate_us;
  one.kernel = "ncclDevKernel_AllReduce_Sum_f32_" + one.algorithm + "_" + one.protocol;
  one.reached = true;
  return one;
}

inline DryRun healthy_run() {
  DryRun run;
  run.label = "A";
  run.nccl = "2.28.9+cuda13.0";
  run.nodes = 2;
  run.ranks_per_node = {2, 2};
  run.net = "phantom";
  run.evidence.log = healthy_log();
  run.operations = {operation(1024, "TREE", "LL", 8, 30),
                    operation(std::uint64_t{1} << 20U, "RING", "LL128", 16, 90),
                    operation(std::uint64_t{1} << 30U, "RING", "SIMPLE", 16, 6000)};
  for (std::uint32_t rank = 0; rank < 4; ++rank)
    run.memory.push_back({rank, 256ULL << 20U, 512ULL << 20U, 4ULL << 20U});
  return run;
}

inline NcclLog& log_of(DryRun& run) {
  return *run.evidence.log;
}
inline model::NcclCommunicator& world_in(DryRun& run) {
  return log_of(run).communicators.front();
}

inline void set(DryRun& run, const std::string& name, const std::string& value) {
  run.settings.emplace_back(name, value);
  model::NcclSetting read;
  read.name = name;
  read.value = value;
  read.origin = "environment";
  read.source = line(5);
  read.processes = {0, 1, 2, 3};
  log_of(run).settings.push_back(std::move(read));
}

// Two GPUs below one switch each with a NIC beside them; sm and nvlink as asked.
inline nccl::Element topology(const std::string& sm = "90", bool nvswitch = true,
                              const std::string& gdr = "1") {
  std::string text =
      "<system version=\"1\">\n  <cpu numaid=\"0\" affinity=\"ffff\" arch=\"x86_64\" "
      "vendor=\"GenuineIntel\" familyid=\"6\" modelid=\"143\">\n";
  for (int gpu = 0; gpu < 2; ++gpu) {
    const std::string bus = gpu == 0 ? "1" : "4";
    text += "    <pci busid=\"0000:" + bus +
            "8:00.0\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n";
    text += "      <pci busid=\"0000:" + std::string(gpu == 0 ? "1b" : "43") +
            ":00.0\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n";
    text += "        <gpu dev=\"" + std::to_string(gpu) + "\" sm=\"" + sm + "\" rank=\"" +
            std::to_string(gpu) + "\" gdr=\"" + gdr + "\">\n";
    if (nvswitch) text += "          <nvlink target=\"0000:05:00.0\" count=\"18\" tclass=\"0x068000\"/>\n";
    text += "        </gpu>\n      </pci>\n";
    text += "      <pci busid=\"0000:" + bus +
            "a:00.0\" class=\"0x020700\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n";
    text += "        <nic>\n          <net name=\"mlx5_" + std::to_string(gpu) + "\" dev=\"" +
            std::to_string(gpu) + "\" speed=\"400000\" port=\"1\" guid=\"0x" + std::to_string(gpu + 1) +
            "\" gdr=\"" + gdr + "\"/>\n        </nic>\n      </pci>\n    </pci>\n";
  }
  text += "  </cpu>\n</system>\n";
  nccl::Remarks remarks;
  nccl::XmlText read = nccl::read_topology_xml(text, remarks);
  return read.roots.empty() ? nccl::Element{} : std::move(read.roots.front());
}

}  // namespace angio::dryrun::test
