// What a popular tuning article claims, by the numbers of a fact check of it: the snippet that a reader
// pastes, and the rule that must speak. Both halves of the linter answer here, as angio lint runs them.
#include <gtest/gtest.h>

#include <algorithm>

#include "lint/lint.hpp"
#include "model/synthetic.hpp"

namespace angio::lint {
namespace {

struct Row {
  int number;
  std::string_view rule;
  std::string_view text;
  FileKind kind = FileKind::kShell;
};

constexpr std::string_view kHalves =
    "numactl --cpunodebind=0 --membind=0 python -m torch.distributed.launch --nproc_per_node=4 --nnodes=1 "
    "--node_rank=0 "
    "--master_addr=127.0.0.1 --master_port=29500 train.py --gpus 0,1,2,3 &\n"
    "numactl --cpunodebind=1 --membind=1 python -m torch.distributed.launch --nproc_per_node=4 --nnodes=1 "
    "--node_rank=0 "
    "--master_addr=127.0.0.1 --master_port=29501 train.py --gpus 4,5,6,7 &\nwait\n";

constexpr Row kRows[] = {
    {11, "placement.numactl.group-of-ranks", kHalves},
    {12, "placement.numactl.several-nodes", "numactl --cpunodebind=0,1 --membind=0,1 python train.py\n"},
    {12, "placement.numactl.strict-memory", "numactl --cpunodebind=0 --membind=0 python train.py\n"},
    {18, "nccl.topo.file", "export NCCL_TOPO_FILE=/etc/nccl/topo.xml\n"},
    {19, "nccl.algo.unknown-token", "export NCCL_ALGO=Ring,Tree,Coll\n"},
    {20, "nccl.proto.ll128-forced", "export NCCL_PROTO=Simple,LL,LL128\n"},
    {21, "tools.command.unknown", "nccl-topo -v > nccl_topo_raw.xml\n"},
    {23, "nccl.ib.disabled", "export NCCL_IB_DISABLE=1\n"},
    {24, "nccl.p2p.disabled", "export NCCL_P2P_DISABLE=1\n"},
    {25, "nccl.p2p.disabled", "export NCCL_P2P_DISABLE=1  # fine on A100\n"},
    {29, "env.value.default", "export NCCL_IB_DISABLE=0  # switch InfiniBand on\n"},
    {30, "env.value.default", "export NCCL_IB_DISABLE=0\n"},
    {31, "nccl.ib.hca-one", "export NCCL_IB_HCA=mlx5_0:1\n"},
    {31, "nccl.ib.hca-prefix", "export NCCL_IB_HCA=mlx5_1\n"},
    {32, "nccl.gid.fixed", "export NCCL_IB_GID_INDEX=3\n"},
    {33, "nccl.socket.ifname-scope", "export NCCL_SOCKET_IFNAME=ib0\n"},
    {36, "tools.ibstat.not-printed", "ibstat | grep MTU\n"},
    {37, "tools.ibdev2netdev.sudo", "sudo ibdev2netdev\n"},
    {38, "system.mtu.ipoib", "sudo ip link set dev ib0 mtu 4096\n"},
    {44, "launch.torch.split-group", kHalves},
    {45, "launch.torch.deprecated-launch",
     "python -m torch.distributed.launch --nproc_per_node=8 train.py\n"},
    {50, "placement.cpus.hard-coded", "import os\nos.sched_setaffinity(0, [0, 1, 2, 3])\n",
     FileKind::kPython},
    {52, "tools.apt.nccl-tools", "# install nccl-tools\nsudo apt-get install libnccl-dev\n"},
    {55, "launch.python.init-only",
     "python -c 'import torch; torch.distributed.init_process_group(\"nccl\")'\n"},
    {56, "tools.log.no-such-line", "# the log shows Using topology file\n"},
    {56, "tools.log.no-such-line", "grep 'Ring algorithm selected' nccl.log\n"},
    {58, "nccl.algo.no-ring", "export NCCL_ALGO=Tree\n"},
    {59, "nccl.algo.unknown-token", "export NCCL_ALGO=Coll\n"},
    {65, "tools.mlnxofed.unknown-option",
     "sudo ./mlnxofedinstall --upstream-libs --dpdk --enable-ethernet --with-ucx\n"},
    {66, "system.driver.openibd-restart", "sudo /etc/init.d/openibd restart\n"},
    {68, "ucx.tls.no-cuda", "export NCCL_DEBUG=WARN\nexport UCX_TLS=rc,sm,self\n"},
    {69, "ucx.env.no-effect", "export NCCL_DEBUG=WARN\nexport UCX_NET_DEVICES=mlx5_0:1\n"},
    {72, "nccl.ucx.no-plugin", "export NCCL_UCX_TLS=rc,sm,self\nexport NCCL_UCX_NET_DEVICES=mlx5_0:1\n"},
    {73, "launch.shell.broken-continuation",
     "torchrun --nnodes=2 --node_rank=0 --master_addr=192.168.10.10 \\ # address of node 0\n  "
     "--master_port=29500 train.py\n"},
    {73, "launch.torch.master-differs",
     "torchrun --nnodes=2 --node_rank=0 --master_addr=10.0.0.10 train.py\ntorchrun --nnodes=2 --node_rank=1 "
     "--master_addr=10.0.0.11 train.py\n"},
    {77, "tools.nccl-tests.average",
     "./build/all_reduce_perf -b 8 -e 1G -f 2 -g 8\n# Avg bus bandwidth : 12.3, theoretical 15.7\n"},
    {79, "tools.repository.no-such-path",
     "git clone https://github.com/NVIDIA/DeepLearningExamples\ncd "
     "PyTorch/benchmarks/distributed_benchmark\n"},
    {80, "tools.nsys.trace-domain", "nsys profile -t nvtx,cuda,nvml,osrt python train.py\n"},
    {81, "tools.nsys.capture-range", "nsys profile --capture-range=cudaProfiler python train.py\n"},
    {82, "tools.nsys.duration-unit", "nsys profile --duration=30s python train.py\n"},
    {87, "tools.iblinkinfo.no-counters", "iblinkinfo -p | grep Port\n"},
    {88, "placement.numactl.strict-memory", "numactl --membind=0 --cpunodebind=0 python train.py\n"},
    {91, "tools.python.unknown-function", "if torch.cuda.memory._get_current_device() == 0:\n    pass\n",
     FileKind::kPython},
    {92, "placement.affinity.worker-pins",
     "loader = DataLoader(data, pin_memory=True, worker_init_fn=lambda _: os.sched_setaffinity(0, [0, 1]))\n",
     FileKind::kPython},
    {93, "tools.python.async-without-pinned",
     "loader = DataLoader(data, pin_memory=False)\ndata = data.to(device, non_blocking=True)\n",
     FileKind::kPython},
    {98, "tools.ibstat.not-printed", "ibstat -v | grep -A 10 GID\n"},
    {100, "nccl.gid.fixed", "export NCCL_IB_GID_INDEX=0\n"},
    {101, "tools.ibping.not-a-lid", "ibping -G 3 192.168.10.11\n"},
    {103, "tools.ibswitches.no-buffers", "ibswitches -v | grep Buffer\n"},
    {104, "system.switch.buffer-profile", "configure buffer-profile create high_perf\n"},
    {105, "tools.perftest.impossible-rate", "# 100G port: from 32 GB/s to 92 GB/s\nib_write_bw gpu-b\n"},
    {107, "env.value.unknown-word", "export UCX_RNDV_SCHEME=get_am\n"},
    {109, "nccl.proto.unknown-token", "export NCCL_PROTO=LLColl\n"},
    {110, "nccl.proto.ll128-forced", "export NCCL_PROTO=LL128\n"},
    {111, "nccl.proto.forced", "export NCCL_PROTO=Simple\n"},
    {112, "placement.numactl.several-nodes",
     "numactl --cpunodebind=0,1 --membind=0,1 torchrun --nproc_per_node=8 train.py\n"},
    {113, "placement.numactl.all-ranks-one-node",
     "numactl --cpunodebind=0 --membind=0 torchrun --nproc_per_node=8 train.py\n"},
    {114, "nccl.proto.forced", "export NCCL_PROTO=LL\n"},
    {117, "system.version.driver-too-old", "# CUDA 12.1, driver 515.65.01, NCCL 2.12.12: the most stable\n"},
    {117, "system.version.nccl-too-old", "# CUDA 12.1, driver 515.65.01, NCCL 2.12.12: the most stable\n"},
    {118, "system.version.nccl-too-old", "# CUDA 12.2, driver 525.60.13, NCCL 2.14.3: supports Hopper\n"},
    {124, "tools.nvidia-smi.nvlink-counters", "nvidia-smi nvlink -gt  # NVLink bandwidth, GB/s\n"},
    {125, "tools.dcgm.wrong-field",
     "dcgmi dmon -e 1001,1002,1003  # 1001=PCIe Rx/Tx, 1002=NVLink Rx/Tx, 1003=SM Utilization\n"},
    {126, "tools.pgrep.list", "perf record -e cycles,instructions,cache-misses -g -p $(pgrep -f train.py)\n"},
    {128, "tools.preload.ibverbs", "export LD_PRELOAD=/usr/lib/libibverbs.so.1\n"},
    {129, "tools.htop.numa-view", "# htop: press 1 for the NUMA view\n"},
    {130, "tools.pgrep.list", "strace -p $(pgrep -f train.py) -e trace=connect,sendto,recvfrom\n"},
    {130, "tools.strace.no-threads", "strace -p $(pgrep -f train.py) -e trace=connect,sendto,recvfrom\n"},
    {132, "pytorch.env.old-name", "import os\nos.environ['NCCL_ASYNC_ERROR_HANDLING'] = '1'\n",
     FileKind::kPython},
};

TEST(Factcheck, EachClaimThatALinterCanSeeHasARule) {
  for (const auto& row : kRows) {
    const std::vector<Script> scripts{read_script("article", std::string(row.text), row.kind)};
    Context context;
    context.nccl_version = "2.28.9";
    const auto report = lint(scripts, context);
    std::string said;
    for (const auto& complaint : report.complaints)
      said += complaint.rule + ": " + complaint.message + "\n";
    EXPECT_TRUE(
        std::ranges::any_of(report.complaints, [&](const Complaint& one) { return one.rule == row.rule; }))
        << "claim " << row.number << ": " << row.rule << " is silent on\n"
        << row.text << "said:\n"
        << said;
  }
}

// Claims of the article that are right: nothing above information.
TEST(Factcheck, TrueClaimsAreLeftAlone) {
  constexpr std::string_view kTrue[] = {
      "numactl --hardware\n",                            // 7
      "lscpu | grep NUMA\nnvidia-smi topo -m\n",         // 39
      "./build/all_reduce_perf -b 8 -e 1G -f 2 -g 8\n",  // 76
      "ibstat | grep -A 5 Port\n",                       // 86
      "mpirun -np 8 --report-bindings ./train\n",        // 122
      "nvidia-smi dmon -s t  # PCIe, not NVLink\n",      // 127
  };
  for (const auto text : kTrue) {
    const auto report = lint({read_script("article", std::string(text), FileKind::kShell)}, {});
    for (const auto& complaint : report.complaints)
      EXPECT_EQ(complaint.severity, model::Severity::kInfo)
          << text << complaint.rule << ": " << complaint.message;
  }
}

}  // namespace
}  // namespace angio::lint
