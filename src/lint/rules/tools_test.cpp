#include "lint/rules/launch_test_support.hpp"

namespace angio::lint {
namespace {

using testing::Case;
using testing::expect_cases;
using testing::find;
using testing::judged;
using testing::on;
using testing::told;

TEST(Tools, Fabric) {
  static constexpr Case kCases[] = {
      {"tools.command.unknown", "nccl-topo -v > topo.xml\n", "echo nccl-topo\n"},
      {"tools.ibstat.not-printed", "ibstat | grep MTU\n", "ibv_devinfo | grep -i mtu\n"},
      {"tools.ibstat.not-printed", "ibstat -v | grep -A 10 GID\n", "ibstat | grep -E 'State|GUID'\n"},
      {"tools.iblinkinfo.no-counters", "iblinkinfo -p | grep Port\n", "iblinkinfo | grep Down\n"},
      {"tools.ibswitches.no-buffers", "ibswitches -v | grep Buffer\n", "ibswitches | wc -l\n"},
      {"tools.ibping.not-a-lid", "ibping -G 3 192.168.10.11\n", "ibping -G 0x506b4b03005c2740\n"},
      {"tools.ibping.not-a-lid", "ibping 10.0.0.2\n", "ibping -c 5 17\n"},
      {"tools.ibdev2netdev.sudo", "sudo ibdev2netdev\n", "ibdev2netdev\n"},
      {"tools.mlnxofed.unknown-option", "sudo ./mlnxofedinstall --upstream-libs --enable-ethernet\n",
       "sudo ./mlnxofedinstall --upstream-libs --dpdk\n"},
      {"tools.perftest.impossible-rate", "# a 100G port goes from 32 to 92 GB/s\nib_write_bw gpu-b\n",
       "# a 100G port: 11.5 GB/s\nib_write_bw gpu-b\n"},
  };
  expect_cases(kCases);
}

TEST(Tools, InfiniBandToolsOnEthernetPorts) {
  const auto roce = on("2 numa cores:8 { 4 gpu nvlink:full; 2 hca roce }");
  const auto infiniband = on("2 numa cores:8 { 4 gpu nvlink:full; 2 hca ndr }");
  const auto said = judged("ibping 4\n", FileKind::kShell, roce);
  ASSERT_NE(find(said, "tools.ib.no-fabric"), nullptr) << told(said);
  EXPECT_EQ(find(said, "tools.ib.no-fabric")->message,
            "ibping works on InfiniBand; all RDMA ports of gpu-a are Ethernet (RoCE)");
  EXPECT_EQ(find(judged("ibping 4\n", FileKind::kShell, infiniband), "tools.ib.no-fabric"), nullptr);
  EXPECT_EQ(find(judged("ibping 4\n"), "tools.ib.no-fabric"), nullptr);
}

TEST(Tools, Gpu) {
  static constexpr Case kCases[] = {
      {"tools.dcgm.wrong-field",
       "dcgmi dmon -e 1001,1002,1003  # 1001=PCIe Rx/Tx, 1002=NVLink Rx/Tx, 1003=SM Utilization\n",
       "dcgmi dmon -e 1002,1009,1011  # 1002=SM active, 1009=PCIe sent, 1011=NVLink sent\n"},
      {"tools.dcgm.wrong-field", "# PCIe, NVLink, SM utilization\ndcgmi dmon -e 1001,1002,1003\n",
       "dcgmi dmon -e 1001,1002,1003\n"},
      {"tools.nvidia-smi.nvlink-counters", "nvidia-smi nvlink -gt\n", "nvidia-smi nvlink -gt d\n"},
      {"tools.nvidia-smi.nvlink-counters", "watch -n 1 nvidia-smi nvlink -gt d  # live bandwidth in GB/s\n",
       "nvidia-smi nvlink -s  # bandwidth in GB/s\n"},
      {"tools.nvidia-smi.dmon-pcie", "# NVLink traffic\nnvidia-smi dmon -s t\n",
       "# PCIe, not NVLink\nnvidia-smi dmon -s t\n"},
      {"tools.nvidia-smi.dmon-pcie", "nvidia-smi dmon -s t | grep -i nvlink\n",
       "nvidia-smi dmon --gpm-metrics=60,61 | grep -i nvlink\n"},
  };
  expect_cases(kCases);
  const auto said = judged("dcgmi dmon -e 1001,1002  # 1001=PCIe Rx/Tx, 1002=SM active\n");
  ASSERT_NE(find(said, "tools.dcgm.wrong-field"), nullptr) << told(said);
  EXPECT_EQ(find(said, "tools.dcgm.wrong-field")->message,
            "DCGM field 1001 is graphics and compute engine active (not PCIe Rx/Tx)");
  EXPECT_EQ(find(judged("nvidia-smi nvlink -gt\n"), "tools.nvidia-smi.nvlink-counters")->severity,
            model::Severity::kCritical);
}

TEST(Tools, Profilers) {
  static constexpr Case kCases[] = {
      {"tools.nsys.trace-domain", "nsys profile -t nvtx,cuda,nvml,osrt python train.py\n",
       "nsys profile -t nvtx,cuda,osrt python train.py\n"},
      {"tools.nsys.trace-domain", "nsys profile --trace=cuda,nvtxx python train.py\n",
       "nsys profile --trace=cuda,something-new python train.py\n"},
      {"tools.nsys.capture-range", "nsys profile --capture-range=cudaProfiler python train.py\n",
       "nsys profile --capture-range=cudaProfilerApi python train.py\n"},
      {"tools.nsys.duration-unit", "nsys profile --duration=30s python train.py\n",
       "nsys profile --duration=30 python train.py\n"},
      {"tools.pgrep.list", "perf record -e cycles -g -p $(pgrep -f train.py)\n",
       "perf record -e cycles -g -p $(pgrep -d, -f train.py)\n"},
      {"tools.pgrep.list", "strace -f -p $(pgrep -f train.py)\n", "strace -f -p \"$(pgrep -f train.py)\"\n"},
      {"tools.strace.no-threads", "strace -e trace=connect -p 4711\n",
       "strace -f -e trace=connect -p 4711\n"},
  };
  expect_cases(kCases);
}

TEST(Tools, Phrases) {
  static constexpr Case kCases[] = {
      {"tools.apt.nccl-tools", "sudo apt-get install nccl-tools\n",
       "sudo apt-get install libnccl2 libnccl-dev\n"},
      {"tools.apt.nccl-tools", "# nccl-tools\nsudo apt-get install -y libnccl-dev\n",
       "# headers\nsudo apt-get install -y libnccl-dev\n"},
      {"tools.log.no-such-line", "grep 'Ring algorithm selected' log\n", "grep 'Algo RING' log\n"},
      {"tools.log.no-such-line", "# the log must show Using topology file\n",
       "# the log must show Loading topology file\n"},
      {"tools.nccl-tests.average",
       "./all_reduce_perf -b 8 -e 1G -f 2 -g 8\n# Avg bus bandwidth : 12.3, theoretical 15.7\n",
       "./all_reduce_perf -b 8 -e 1G -f 2 -g 8 | grep 'Avg bus bandwidth'\n"},
      {"tools.repository.no-such-path",
       "git clone https://github.com/NVIDIA/DeepLearningExamples\ncd "
       "PyTorch/benchmarks/distributed_benchmark\n",
       "git clone https://github.com/NVIDIA/DeepLearningExamples\ncd DeepLearningExamples/PyTorch\n"},
      {"tools.preload.ibverbs", "export LD_PRELOAD=/usr/lib/libibverbs.so.1\n",
       "export LD_PRELOAD=/usr/lib/libjemalloc.so.2\n"},
      {"tools.htop.numa-view", "# in htop press 1 for the NUMA view\n", "# htop shows the load\n"},
      {"tools.python.unknown-function", "torch.cuda.memory._get_current_device()\n",
       "torch.cuda.current_device()\n", FileKind::kPython},
      {"tools.python.async-without-pinned",
       "loader = DataLoader(data, pin_memory=False)\nbatch = batch.to(device, non_blocking=True)\n",
       "loader = DataLoader(data, pin_memory=True)\nbatch = batch.to(device, non_blocking=True)\n",
       FileKind::kPython},
  };
  expect_cases(kCases);
}

}  // namespace
}  // namespace angio::lint
