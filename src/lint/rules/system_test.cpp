#include "lint/rules/launch_test_support.hpp"

namespace angio::lint {
namespace {

using testing::Case;
using testing::expect_cases;
using testing::find;
using testing::judged;
using testing::on;
using testing::told;

TEST(System, Limits) {
  static constexpr Case kCases[] = {
      {"system.memlock.finite", "ulimit -l 65536\n", "ulimit -l unlimited\n"},
      {"system.memlock.finite", "docker run --ulimit memlock=67108864 image python train.py\n",
       "docker run --ulimit memlock=-1 image python train.py\n"},
      {"system.memlock.missing", "docker run --device=/dev/infiniband --gpus all image python train.py\n",
       "docker run --device=/dev/infiniband --cap-add=IPC_LOCK --gpus all image python train.py\n"},
      {"system.shm.docker-default", "docker run --gpus all image torchrun --nproc-per-node=8 train.py\n",
       "docker run --gpus all --ipc=host image torchrun --nproc-per-node=8 train.py\n"},
      {"system.shm.docker-default", "docker run --gpus all image ./all_reduce_perf -g 8\n",
       "docker run --gpus all image nvidia-smi\n"},
      {"system.shm.kubernetes-default",
       "kind: Pod\nspec:\n  containers:\n  - image: train\n    resources:\n      limits:\n        "
       "nvidia.com/gpu: 8\n",
       "kind: Pod\nspec:\n  containers:\n  - image: train\n    resources:\n      limits:\n        "
       "nvidia.com/gpu: 8\n"
       "    volumeMounts:\n    - mountPath: /dev/shm\n      name: shm\n  volumes:\n  - name: shm\n    "
       "emptyDir:\n      medium: Memory\n",
       FileKind::kYaml},
      {"system.shm.kubernetes-default",
       "kind: Pod\nspec:\n  containers:\n  - image: train\n    resources:\n      limits:\n        "
       "nvidia.com/gpu: '4'\n",
       "kind: ResourceQuota\nspec:\n  hard:\n    requests.nvidia.com/gpu: 8\n---\nkind: Pod\nspec:\n  "
       "containers:\n  - image: one\n"
       "    resources:\n      limits:\n        nvidia.com/gpu: 1\n",
       FileKind::kYaml},
  };
  expect_cases(kCases);
}

TEST(System, Network) {
  static constexpr Case kCases[] = {
      {"system.mtu.ipoib", "sudo ip link set dev ib0 mtu 4096\n", "sudo ip link set dev eth0 mtu 9000\n"},
      {"system.mtu.ipoib", "ifconfig ibp65s0 mtu 9000\n", "ip link show ib0\n"},
      {"system.mtu.ipoib", "ip link set ib0 mtu 65520\n",
       "echo connected > /sys/class/net/ib0/mode\nip link set ib0 mtu 65520\n"},
      {"system.network.tcp-buffers", "# RDMA tuning\nsysctl -w net.core.rmem_max=268435456\n",
       "# TCP tuning\nsysctl -w net.core.rmem_max=268435456\n"},
      {"system.qos.rdma-cm", "cma_roce_tos -d mlx5_0 -t 106\n",
       "cma_roce_tos -d mlx5_0 -t 106\nexport NCCL_IB_TC=106\n"},
      {"system.qos.lossy-priority", "mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0\nexport NCCL_IB_TC=160\n",
       "mlnx_qos -i eth0 --pfc 0,0,0,1,0,0,0,0\nexport NCCL_IB_TC=106\n"},
      {"system.switch.buffer-profile", "configure buffer-profile create high_perf\n", "configure terminal\n"},
  };
  expect_cases(kCases);
  const auto small = judged("ip link set ib0 mtu 2044\n");
  ASSERT_NE(find(small, "system.mtu.ipoib"), nullptr);
  EXPECT_EQ(find(small, "system.mtu.ipoib")->severity, model::Severity::kInfo);
  const auto large = judged("ip link set ib0 mtu 4096\n");
  EXPECT_EQ(find(large, "system.mtu.ipoib")->message,
            "mtu 4096 of ib0 is IPoIB's, not RDMA's; in datagram mode the kernel refuses more than 4092");
}

TEST(System, Host) {
  static constexpr Case kCases[] = {
      {"system.driver.openibd-restart", "sudo /etc/init.d/openibd restart\n", "systemctl status openibd\n"},
      {"system.driver.openibd-restart", "systemctl restart openibd\n", "/etc/init.d/openibd status\n"},
      {"system.driver.old-peermem", "sudo modprobe nv_peer_mem\n",
       "sudo modprobe nvidia_peermem || sudo modprobe nv_peer_mem\n"},
      {"system.pcie.acs-write", "setpci -v -s 0000:00:01.0 ECAP_ACS+0x6.w=0000\n",
       "setpci -s 0000:00:01.0 ECAP_ACS+0x6.w\n"},
      {"system.gpu.reset", "sudo nvidia-smi -r -i 0\ntorchrun --nproc-per-node=8 train.py\n",
       "sudo nvidia-smi -r -i 0\n"},
      {"system.gpu.reset", "#!/bin/bash\n#SBATCH -N 1\nnvidia-smi -mig 1\n",
       "#!/bin/bash\n#SBATCH -N 1\nnvidia-smi mig -lgip\n"},
      {"system.gpu.clocks-in-job", "#!/bin/bash\n#SBATCH -N 1\nnvidia-smi -lgc 1410\n",
       "nvidia-smi -lgc 1410\n"},
      {"system.kernel.changed-in-job",
       "#!/bin/bash\n#SBATCH -N 1\necho 0 > /proc/sys/kernel/numa_balancing\n",
       "echo 0 > /proc/sys/kernel/numa_balancing\n"},
      {"system.kernel.changed-in-job",
       "sudo sysctl -w kernel.numa_balancing=0\ntorchrun --nproc-per-node=8 train.py\n",
       "sysctl kernel.numa_balancing\ntorchrun --nproc-per-node=8 train.py\n"},
  };
  expect_cases(kCases);
  EXPECT_EQ(find(judged("systemctl restart openibd\n"), "system.driver.openibd-restart")->severity,
            model::Severity::kInfo);
  EXPECT_EQ(find(judged("systemctl restart openibd\nsrun python a.py\n"), "system.driver.openibd-restart")
                ->severity,
            model::Severity::kWarning);
}

TEST(System, StatedVersions) {
  static constexpr Case kCases[] = {
      {"system.version.driver-too-old", "# CUDA 12.1 with driver 515.65.01\n",
       "# CUDA 12.1 with driver 535.54.03\n"},
      {"system.version.nccl-too-old", "# CUDA 12.1 and NCCL 2.12.12\n", "# CUDA 12.1 and NCCL 2.18.3\n"},
      {"system.version.nccl-too-old", "# NCCL 2.14.3 knows Hopper\n", "# NCCL 2.18.3 knows Hopper\n"},
      {"system.version.driver-too-old", "true # CUDA 12 / driver 470\n", "echo 'CUDA 12, driver 470'\n"},
  };
  expect_cases(kCases);
}

}  // namespace
}  // namespace angio::lint
