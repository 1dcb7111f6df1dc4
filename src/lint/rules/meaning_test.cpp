#include <gtest/gtest.h>

#include "lint/rules/rule_testing.hpp"

namespace angio::lint {
namespace {

std::string severity(std::string_view rule, std::string text, const Context& context = nccl("2.28.9")) {
  return try_lint(std::move(text), context).severity(rule);
}

Context on(std::optional<bool> several_nodes, std::string version = "2.28.9") {
  Context context = nccl(std::move(version));
  context.several_nodes = several_nodes;
  return context;
}

model::RdmaDevice adapter(std::string name, model::LinkLayer layer, std::string state = "ACTIVE") {
  model::RdmaDevice device;
  device.name = std::move(name);
  model::RdmaPort port;
  port.link_layer = layer;
  port.state = model::Observed<std::string>::known(std::move(state), {});
  port.rate = model::Observed<BitsPerSecond>::known(BitsPerSecond{400e9}, {});
  device.ports.push_back(std::move(port));
  return device;
}

model::Gid gid(std::uint32_t index, std::string text, std::string type) {
  return {index, std::move(text), model::Observed<std::string>::known(std::move(type), {}), {}};
}

Context with(model::Machine machine, std::string version = "2.28.9") {
  Context context = nccl(std::move(version));
  machine.name = "node-a";
  context.machines.push_back(std::move(machine));
  return context;
}

model::Machine infiniband(int count) {
  model::Machine machine;
  for (int i = 0; i < count; ++i)
    machine.rdma.push_back(adapter("mlx5_" + std::to_string(i), model::LinkLayer::kInfiniBand));
  return machine;
}

model::Machine roce() {
  model::Machine machine;
  machine.rdma.push_back(adapter("mlx5_0", model::LinkLayer::kEthernet));
  machine.rdma[0].ports[0].gids = {gid(0, "fe80:0000:0000:0000:0000:0000:0000:0001", "IB/RoCE v1"),
                                   gid(1, "fe80:0000:0000:0000:0000:0000:0000:0001", "RoCE v2"),
                                   gid(3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2")};
  return machine;
}

model::Machine nvswitch() {
  model::Machine machine;
  machine.gpus.resize(1);
  model::GpuLink link;
  link.state = model::LinkState::kActive;
  link.peer_kind = model::PeerKind::kSwitch;
  machine.gpus[0].links.push_back(link);
  return machine;
}

model::NetDevice interface(std::string name, std::string state = "up", std::string address = "10.0.0.5/24") {
  model::NetDevice device;
  device.name = std::move(name);
  device.state = model::Observed<std::string>::known(std::move(state), {});
  device.addresses.push_back(std::move(address));
  return device;
}

TEST(LintSwitches, PeerAccess) {
  EXPECT_EQ(severity("nccl.p2p.disabled", "export NCCL_P2P_DISABLE=1\n"), "warning");
  EXPECT_EQ(severity("nccl.p2p.disabled", "export NCCL_P2P_DISABLE=1\n", with(nvswitch())), "error");
  EXPECT_EQ(severity("nccl.p2p.disabled", "export NCCL_P2P_LEVEL=LOC\n"), "warning");
  EXPECT_EQ(severity("nccl.p2p.disabled", "export NCCL_P2P_DISABLE=0\nexport NCCL_P2P_LEVEL=NVL\n"), "");
}

TEST(LintSwitches, InfiniBand) {
  EXPECT_EQ(severity("nccl.ib.disabled", "export NCCL_IB_DISABLE=1\n"), "warning");
  EXPECT_EQ(severity("nccl.ib.disabled", "export NCCL_IB_DISABLE=1\n", on(true)), "error");
  EXPECT_EQ(severity("nccl.ib.disabled", "#SBATCH --nodes=2\nexport NCCL_IB_DISABLE=1\n"), "error");
  EXPECT_EQ(severity("nccl.ib.disabled", "export NCCL_IB_DISABLE=1\n", on(false)), "info");
  EXPECT_EQ(severity("nccl.ib.disabled", "export NCCL_IB_DISABLE=0\nexport NCCL_IB_DISABLE=$X\n"), "");
  EXPECT_EQ(severity("nccl.ib.no-effect", "export NCCL_IB_DISABLE=1\nexport NCCL_IB_TC=106\n"), "info");
  EXPECT_EQ(severity("nccl.ib.no-effect", "export NCCL_IB_TC=106\n"), "");
}

TEST(LintSwitches, Network) {
  EXPECT_EQ(severity("nccl.net.contradiction", "export NCCL_NET=IB\nexport NCCL_IB_DISABLE=1\n"), "error");
  EXPECT_EQ(severity("nccl.net.contradiction", "export NCCL_NET=IB\n"), "");
  EXPECT_EQ(severity("nccl.net.socket", "export NCCL_NET=Socket\n"), "warning");
  EXPECT_EQ(severity("nccl.net.socket", "export NCCL_NET=Socket\n", on(false)), "");
}

TEST(LintSwitches, SingleOnes) {
  EXPECT_EQ(severity("nccl.shm.disabled", "export NCCL_SHM_DISABLE=1\n"), "warning");
  EXPECT_EQ(severity("nccl.shm.disabled", "export NCCL_SHM_DISABLE=0\n"), "");
  EXPECT_EQ(severity("nccl.affinity.ignored", "export NCCL_IGNORE_CPU_AFFINITY=1\n"), "warning");
  EXPECT_EQ(severity("nccl.affinity.ignored", "export NCCL_IGNORE_CPU_AFFINITY=0\n"), "");
  EXPECT_EQ(severity("cuda.launch.blocking", "export CUDA_LAUNCH_BLOCKING=1\n"), "warning");
  EXPECT_EQ(severity("cuda.launch.blocking", "export CUDA_LAUNCH_BLOCKING=0\n"), "");
  EXPECT_EQ(severity("nccl.gdr.off", "export NCCL_NET_GDR_LEVEL=LOC\n"), "warning");
  EXPECT_EQ(severity("nccl.gdr.off", "export NCCL_NET_GDR_LEVEL=PHB\n"), "");
  EXPECT_EQ(severity("pytorch.async.off", "export TORCH_NCCL_ASYNC_ERROR_HANDLING=0\n"), "warning");
  EXPECT_EQ(severity("pytorch.async.off", "export TORCH_NCCL_ASYNC_ERROR_HANDLING=1\n"), "");
  EXPECT_EQ(severity("nccl.hostid.constant", "export NCCL_HOSTID=a\n", on(true)), "error");
  EXPECT_EQ(severity("nccl.hostid.constant", "export NCCL_HOSTID=$(hostname)\n", on(true)), "");
  EXPECT_EQ(severity("nccl.hostid.constant", "export NCCL_HOSTID=a\n"), "");
}

TEST(LintSwitches, Nvls) {
  EXPECT_EQ(severity("nccl.nvls.no-cumem", "export NCCL_CUMEM_ENABLE=0\n", with(nvswitch())), "warning");
  EXPECT_EQ(severity("nccl.nvls.no-cumem", "export NCCL_CUMEM_ENABLE=0\nexport NCCL_NVLS_ENABLE=1\n"),
            "warning");
  EXPECT_EQ(severity("nccl.nvls.no-cumem", "export NCCL_CUMEM_ENABLE=0\n"), "");
  EXPECT_EQ(severity("nccl.mnnvl.no-cumem", "export NCCL_CUMEM_ENABLE=0\nexport NCCL_MNNVL_ENABLE=1\n"),
            "error");
  EXPECT_EQ(severity("nccl.mnnvl.no-cumem", "export NCCL_MNNVL_ENABLE=1\n"), "");
  EXPECT_EQ(severity("nccl.nvls.disabled", "export NCCL_NVLS_ENABLE=0\n"), "info");
  EXPECT_EQ(severity("nccl.nvls.disabled", "export NCCL_NVLS_ENABLE=1\n"), "");
  EXPECT_EQ(severity("nccl.nvls.no-nvswitch", "export NCCL_NVLS_ENABLE=1\n", with({})), "info");
  EXPECT_EQ(severity("nccl.nvls.no-nvswitch", "export NCCL_NVLS_ENABLE=1\n", with(nvswitch())), "");
  EXPECT_NE(try_lint("export NCCL_ALGO=Ring,Tree\n", with(nvswitch()))
                .message("nccl.algo.forced")
                .find("leaves out NVLS"),
            std::string::npos);
}

TEST(LintDebugging, LevelsAndFiles) {
  EXPECT_EQ(severity("nccl.debug.trace", "export NCCL_DEBUG=TRACE\n"), "warning");
  EXPECT_EQ(severity("nccl.debug.trace", "export NCCL_DEBUG=INFO\n"), "");
  EXPECT_EQ(severity("nccl.debug.left-on", "export NCCL_DEBUG=INFO\n"), "info");
  EXPECT_EQ(severity("nccl.debug.left-on", "export NCCL_DEBUG=INFO\nexport NCCL_DEBUG_FILE=/tmp/n.%h.%p\n"),
            "");
  EXPECT_EQ(severity("nccl.debug.file-shared", "export NCCL_DEBUG_FILE=nccl.log\n"), "warning");
  EXPECT_EQ(severity("nccl.debug.file-shared", "export NCCL_DEBUG_FILE=nccl.%h.%p\n"), "");
  EXPECT_EQ(severity("nccl.debug.subsys-alone", "export NCCL_DEBUG_SUBSYS=NET\nexport NCCL_DEBUG=WARN\n"),
            "info");
  EXPECT_EQ(severity("nccl.debug.subsys-alone", "export NCCL_DEBUG_SUBSYS=NET\nexport NCCL_DEBUG=$L\n"), "");
  EXPECT_EQ(severity("nccl.check.left-on", "export NCCL_CHECK_POINTERS=1\n"), "info");
  EXPECT_EQ(severity("nccl.check.left-on", "export NCCL_CHECK_MODE=DEBUG_LOCAL\n", nccl("2.30.3")), "info");
  EXPECT_EQ(severity("nccl.check.left-on", "export NCCL_CHECK_POINTERS=0\n"), "");
}

TEST(LintArithmetic, Timeouts) {
  const Tried tried = try_lint("export NCCL_IB_TIMEOUT=25\n", nccl("2.28.9"));
  EXPECT_EQ(tried.severity("nccl.ib.timeout-long"), "warning");
  EXPECT_EQ(
      tried.message("nccl.ib.timeout-long"),
      "NCCL_IB_TIMEOUT=25: an error shows after about 16 min, PyTorch's watchdog ends the job after 10 min");
  EXPECT_EQ(severity("nccl.ib.timeout-long", "export NCCL_IB_TIMEOUT=25\nexport NCCL_IB_RETRY_CNT=2\n"), "");
  EXPECT_EQ(severity("nccl.ib.timeout-long", "export NCCL_IB_TIMEOUT=22\n"), "");
  EXPECT_EQ(severity("nccl.ib.timeout-short", "export NCCL_IB_TIMEOUT=14\n"), "info");
  EXPECT_EQ(severity("nccl.ib.timeout-short", "export NCCL_IB_TIMEOUT=18\n"), "");
}

TEST(LintArithmetic, TrafficClassAndBuffers) {
  const Tried tried = try_lint("export NCCL_IB_TC=106\n", nccl("2.28.9"));
  EXPECT_EQ(tried.message("nccl.ib.tc-dscp"),
            "NCCL_IB_TC=106: DSCP 26, ECN bits 2; priority 3 where switches trust DSCP as shipped");
  EXPECT_EQ(try_lint("export NCCL_IB_TC=26\n").advice("nccl.ib.tc-dscp"), "if DSCP 26 is meant, write 104");
  EXPECT_EQ(severity("nccl.ib.tc-dscp", "export NCCL_IB_TC=-1\n"), "");
  EXPECT_EQ(try_lint("export NCCL_BUFFSIZE=16777216\n").message("nccl.buffsize.memory"),
            "NCCL_BUFFSIZE=16777216: 21.19 MiB of GPU memory for each channel and neighbour, 12 MiB more "
            "than by default");
  EXPECT_EQ(severity("nccl.buffsize.memory", "export NCCL_BUFFSIZE=4194304\n"), "");
  EXPECT_EQ(severity("nccl.buffsize.small", "export NCCL_BUFFSIZE=8\n"), "warning");
  EXPECT_EQ(severity("nccl.buffsize.small", "export NCCL_BUFFSIZE=1048576\n"), "");
}

TEST(LintArithmetic, CountsAgainstEachOther) {
  EXPECT_EQ(severity("nccl.ctas.min-above-max", "export NCCL_MIN_CTAS=32\nexport NCCL_MAX_CTAS=16\n"),
            "warning");
  EXPECT_EQ(severity("nccl.ctas.min-above-max", "export NCCL_MIN_NCHANNELS=8\nexport NCCL_MAX_CTAS=16\n"),
            "");
  EXPECT_EQ(severity("nccl.nthreads.multiple", "export NCCL_NTHREADS=100\n"), "warning");
  EXPECT_EQ(severity("nccl.nthreads.multiple", "export NCCL_NTHREADS=256\n"), "");
  EXPECT_EQ(
      severity("nccl.socket.too-many", "export NCCL_SOCKET_NTHREADS=16\nexport NCCL_NSOCKS_PERTHREAD=8\n"),
      "warning");
  EXPECT_EQ(
      severity("nccl.socket.too-many", "export NCCL_SOCKET_NTHREADS=4\nexport NCCL_NSOCKS_PERTHREAD=8\n"),
      "");
}

TEST(LintConflicts, PairsOfVariables) {
  EXPECT_EQ(
      severity("nccl.gid.choice-idle", "export NCCL_IB_GID_INDEX=3\nexport NCCL_IB_ADDR_FAMILY=AF_INET6\n"),
      "info");
  EXPECT_EQ(severity("nccl.gid.choice-idle", "export NCCL_IB_ADDR_FAMILY=AF_INET6\n"), "");
  EXPECT_EQ(severity("nccl.ib.qps-no-split", "export NCCL_IB_QPS_PER_CONNECTION=4\n"), "info");
  EXPECT_EQ(severity("nccl.ib.qps-no-split", "export NCCL_IB_QPS_PER_CONNECTION=4\n", nccl("2.18.3")), "");
  EXPECT_EQ(severity("nccl.ib.qps-no-split",
                     "export NCCL_IB_QPS_PER_CONNECTION=4\nexport NCCL_IB_SPLIT_DATA_ON_QPS=1\n"),
            "");
  EXPECT_EQ(severity("nccl.crossnic.rails", "export NCCL_CROSS_NIC=1\n"), "info");
  EXPECT_EQ(severity("nccl.crossnic.rails", "export NCCL_CROSS_NIC=2\n"), "");
  EXPECT_EQ(severity("nccl.env.per-rank",
                     "export NCCL_ALGO=$ALGO_OF_RANK_0\nexport NCCL_P2P_DISABLE=$((LOCAL_RANK % 2))\n"),
            "error");
  EXPECT_EQ(severity("nccl.env.per-rank", "export NCCL_DEBUG_FILE=n.$SLURM_PROCID\n"), "");
}

TEST(LintConflicts, ProcessesOfOneJob) {
  const auto process = [](std::string name, std::string algorithm) {
    return script_of_environment(std::move(name), {{"NCCL_ALGO", std::move(algorithm)}});
  };
  const auto differs = [](const std::vector<Script>& scripts) {
    const Report report = lint(scripts, nccl("2.28.9"));
    return std::ranges::count(report.complaints, "nccl.env.differs", &Complaint::rule);
  };
  EXPECT_EQ(differs({process("process 1", "Ring"), process("process 2", "Ring,Tree")}), 1);
  EXPECT_EQ(differs({process("process 1", "Ring"), process("process 2", "Ring")}), 0);
}

TEST(LintAdapters, PrefixesNeedProof) {
  const std::string text = "export NCCL_IB_HCA=mlx5_1\n";
  EXPECT_EQ(severity("nccl.ib.hca-prefix", text), "info");
  const Tried proven = try_lint(text, with(infiniband(12)));
  EXPECT_EQ(proven.severity("nccl.ib.hca-prefix"), "warning");
  EXPECT_EQ(proven.message("nccl.ib.hca-prefix"),
            "NCCL_IB_HCA=mlx5_1: mlx5_1 also matches mlx5_10, mlx5_11 (prefix)");
  EXPECT_EQ(proven.fixed(), "export NCCL_IB_HCA==mlx5_1\n");
  EXPECT_EQ(severity("nccl.ib.hca-prefix", text, with(infiniband(8))), "");
  EXPECT_EQ(severity("nccl.ib.hca-prefix", "export NCCL_IB_HCA=mlx5_0\n"), "");
  EXPECT_EQ(severity("nccl.ib.hca-prefix", "export NCCL_IB_HCA==mlx5_1\n"), "");
  EXPECT_EQ(severity("nccl.ib.hca-prefix", "export NCCL_IB_HCA=mlx5\n"), "");
}

TEST(LintAdapters, AgainstAMachine) {
  EXPECT_EQ(severity("nccl.ib.hca-missing", "export NCCL_IB_HCA=bnxt_re0\n", with(infiniband(2))), "error");
  EXPECT_EQ(severity("nccl.ib.hca-missing", "export NCCL_IB_HCA=mlx5_0:2\n", with(infiniband(2))), "error");
  EXPECT_EQ(severity("nccl.ib.hca-missing", "export NCCL_IB_HCA=mlx5_0:1\n", with(infiniband(2))), "");
  EXPECT_EQ(severity("nccl.ib.hca-few", "export NCCL_IB_HCA=mlx5_0\n", with(infiniband(2))), "warning");
  EXPECT_EQ(severity("nccl.ib.hca-few", "export NCCL_IB_HCA=mlx5\n", with(infiniband(2))), "");
  EXPECT_EQ(severity("nccl.ib.hca-one", "export NCCL_IB_HCA=mlx5_0\n"), "info");
  EXPECT_EQ(severity("nccl.ib.hca-one", "export NCCL_IB_HCA=mlx5_0,mlx5_1\n"), "");
  model::Machine machine = infiniband(1);
  machine.rdma.push_back(adapter("mlx5_1", model::LinkLayer::kInfiniBand, "DOWN"));
  EXPECT_EQ(severity("nccl.ib.hca-down", "export NCCL_IB_HCA=mlx5\n", with(machine)), "warning");
  EXPECT_EQ(severity("nccl.ib.hca-down", "export NCCL_IB_HCA=mlx5_0\n", with(machine)), "");
  machine.rdma[1] = adapter("mlx5_1", model::LinkLayer::kEthernet);
  EXPECT_EQ(severity("nccl.ib.hca-mixed", "export NCCL_IB_HCA=mlx5_0,mlx5_1\n", with(machine)), "warning");
  EXPECT_EQ(severity("nccl.ib.hca-mixed", "export NCCL_IB_HCA=mlx5_0\n", with(machine)), "");
}

TEST(LintAdapters, Gids) {
  EXPECT_EQ(severity("nccl.gid.on-infiniband", "export NCCL_IB_GID_INDEX=3\n", with(infiniband(1))),
            "warning");
  EXPECT_EQ(severity("nccl.gid.on-infiniband", "export NCCL_IB_GID_INDEX=3\n", with(roce())), "");
  EXPECT_EQ(severity("nccl.gid.wrong", "export NCCL_IB_GID_INDEX=3\n", with(roce(), "2.18.3")), "");
  EXPECT_EQ(try_lint("export NCCL_IB_GID_INDEX=2\n", with(roce())).message("nccl.gid.wrong"),
            "NCCL_IB_GID_INDEX=2: node-a mlx5_0: entry 2 is empty");
  EXPECT_EQ(severity("nccl.gid.wrong", "export NCCL_IB_GID_INDEX=0\n", with(roce())), "error");
  EXPECT_EQ(severity("nccl.gid.wrong", "export NCCL_IB_GID_INDEX=1\n", with(roce())), "error");
  EXPECT_EQ(severity("nccl.gid.fixed", "export NCCL_IB_GID_INDEX=3\n"), "warning");
  EXPECT_EQ(severity("nccl.gid.fixed", "export NCCL_IB_GID_INDEX=3\n", nccl("2.20.3")), "");
}

TEST(LintInterfaces, AgainstJobAndMachine) {
  EXPECT_EQ(severity("nccl.socket.ifname-local", "export NCCL_SOCKET_IFNAME=lo\n", on(true)), "error");
  EXPECT_EQ(severity("nccl.socket.ifname-local", "export NCCL_SOCKET_IFNAME=docker0\n"), "warning");
  EXPECT_EQ(severity("nccl.socket.ifname-local", "export NCCL_SOCKET_IFNAME=lo\n", on(false)), "info");
  EXPECT_EQ(severity("nccl.socket.ifname-local", "export NCCL_SOCKET_IFNAME=^lo,docker\n", on(true)), "");
  model::Machine machine;
  machine.networks = {interface("eth1"), interface("eth10"), interface("eno1", "down")};
  EXPECT_EQ(severity("nccl.socket.ifname-missing", "export NCCL_SOCKET_IFNAME=ens5\n", with(machine)),
            "error");
  EXPECT_EQ(severity("nccl.socket.ifname-missing", "export NCCL_SOCKET_IFNAME=eth\n", with(machine)), "");
  EXPECT_EQ(severity("nccl.socket.ifname-down", "export NCCL_SOCKET_IFNAME=eno1\n", with(machine)), "error");
  EXPECT_EQ(severity("nccl.socket.ifname-down", "export NCCL_SOCKET_IFNAME=eth1\n", with(machine)), "");
  const Tried prefix = try_lint("export NCCL_SOCKET_IFNAME=eth1\n", with(machine));
  EXPECT_EQ(prefix.severity("nccl.socket.ifname-prefix"), "warning");
  EXPECT_EQ(prefix.fixed(), "export NCCL_SOCKET_IFNAME==eth1\n");
  EXPECT_EQ(severity("nccl.socket.ifname-scope", "export NCCL_SOCKET_IFNAME=ib0\n"), "info");
  EXPECT_EQ(severity("nccl.socket.ifname-scope", "export NCCL_SOCKET_IFNAME=eth0\n"), "");
}

TEST(LintLibraries, UcxAndFiles) {
  EXPECT_EQ(severity("ucx.env.no-effect", "export UCX_NET_DEVICES=mlx5_0:1\nexport NCCL_DEBUG=WARN\n"),
            "info");
  EXPECT_EQ(
      severity("ucx.env.no-effect", "export UCX_NET_DEVICES=mlx5_0:1\nexport NCCL_DEBUG=WARN\nmpirun ./x\n"),
      "");
  EXPECT_EQ(severity("ucx.env.no-effect", "export UCX_NET_DEVICES=mlx5_0:1\n"), "");
  EXPECT_EQ(severity("ucx.tls.no-cuda", "export UCX_TLS=rc,sm,self\nexport NCCL_PLUGIN_P2P=ucx\n"),
            "warning");
  EXPECT_EQ(severity("ucx.tls.no-cuda", "export UCX_TLS=tcp\nexport NCCL_DEBUG=WARN\n"), "info");
  EXPECT_EQ(severity("ucx.tls.no-cuda", "export UCX_TLS=rc,cuda_copy\nexport NCCL_DEBUG=WARN\n"), "");
  EXPECT_EQ(severity("ucx.tls.no-cuda", "export UCX_TLS=rc,sm,self\n./mpi_program\n"), "");
  EXPECT_EQ(severity("nccl.ucx.no-plugin", "export NCCL_UCX_TLS=rc\n"), "warning");
  EXPECT_EQ(severity("nccl.ucx.no-plugin", "export NCCL_UCX_TLS=rc\nexport NCCL_PLUGIN_P2P=ucx\n"), "");
  EXPECT_EQ(severity("nccl.topo.file", "export NCCL_TOPO_FILE=/etc/t.xml\n"), "info");
  model::Machine bare;
  bare.software.virtual_machine = model::Observed<std::string>::absent({});
  EXPECT_EQ(severity("nccl.topo.file", "export NCCL_TOPO_FILE=/etc/t.xml\n", with(bare)), "warning");
  bare.software.virtual_machine = model::Observed<std::string>::known("KVM", {});
  EXPECT_EQ(severity("nccl.topo.file", "export NCCL_TOPO_FILE=/etc/t.xml\n", with(bare)), "");
  EXPECT_EQ(severity("nccl.graph.file", "export NCCL_GRAPH_FILE=/etc/g.xml\n"), "info");
  EXPECT_EQ(severity("nccl.graph.file", "export NCCL_GRAPH_DUMP_FILE=/etc/g.xml\n"), "");
}

}  // namespace
}  // namespace angio::lint
