#include <gtest/gtest.h>

#include "diagnose/test_machines.hpp"

namespace angio::test {
namespace {

TEST(RdmaGdrPeermemMissing, FiresOnTheClosedModule) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.nvidia_open, false);
  const auto found = findings_of(machine, "rdma.gdr.peermem-missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title, "GPUDirect RDMA is off: nvidia_peermem is not loaded");
  EXPECT_EQ(found[0].cost.text, "8 NICs copy through host memory");
  set(machine.software.nvidia_open, true);
  set(machine.software.kernel, std::string("5.4.0-150"));
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).evidence[1].text,
            "no DMA-BUF path: kernel 5.4.0-150");
}

TEST(RdmaGdrPeermemMissing, FiresWithTheAdaptersThatJobsTake) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.nvidia_open, false);
  machine.software.settings = {{"NCCL_IB_HCA", "^=mlx5_6,mlx5_7", at("nccl.conf")}};
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).cost.text,
            "6 NICs copy through host memory");
}

TEST(RdmaGdrPeermemMissing, UndecidedOnAKernelWithFeaturesOfLaterOnes) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.kernel, std::string("4.18.0-553.el8_10.x86_64"));
  EXPECT_EQ(undecided_of(machine, "rdma.gdr.peermem-missing").size(), 1U);
  set(machine.software.nvidia_open, false);  // no DMA-BUF whatever the kernel
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").size(), 1U);
}

TEST(RdmaGdrPeermemMissing, FiresAsInformationOnSlowEthernet) {
  Machine machine = dgx_roce();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.nvidia_open, false);
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).severity, model::Severity::kCritical);
  for (auto& device : machine.rdma)
    set(device.ports[0].rate, BitsPerSecond{25e9});
  EXPECT_EQ(findings_of(machine, "rdma.gdr.peermem-missing").at(0).severity, model::Severity::kInfo);
}

TEST(RdmaGdrPeermemMissing, FiresWhenTheJobSwitchesDmabufOff) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  model::Process process;
  process.id = 7;
  process.gpus = {0};
  process.settings = {{"NCCL_DMABUF_ENABLE", "0", at("environ")}};
  machine.processes = {process};
  const auto found = findings_of(machine, "rdma.gdr.peermem-missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "no DMA-BUF path: NCCL_DMABUF_ENABLE=0 in process 7");
  EXPECT_EQ(found[0].fixes.at(1).text, "Or remove NCCL_DMABUF_ENABLE=0: driver and kernel offer DMA-BUF");
}

TEST(RdmaGdrPeermemMissing, FiresOnALibibverbsWithoutDmabuf) {
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "mlx5_ib", "nvidia"});
  set(machine.software.rdma_core, std::string("1.14.28.0"));
  const auto found = findings_of(machine, "rdma.gdr.peermem-missing");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].evidence[1].text, "no DMA-BUF path: libibverbs 1.14.28.0 cannot register one");
  EXPECT_EQ(
      found[0].evidence[2].text,
      "the rest of the way: IOMMU passes through; ACS redirects nothing; 8 of 8 GPUs have an adapter within "
      "PXB");
  set(machine.software.rdma_core, std::string("1.14.39.0"));
  EXPECT_TRUE(held(machine, "rdma.gdr.peermem-missing"));
  forget(machine.software.rdma_core);  // not known: nothing is claimed
  EXPECT_TRUE(held(machine, "rdma.gdr.peermem-missing"));
}

TEST(RdmaGdrLevelTooNear, FiresWhereTheAdapterIsTwoSwitchesAway) {
  Machine machine = dgx_h100();
  machine.software.settings = {{"NCCL_NET_GDR_LEVEL", "PIX", at("nccl.conf")}};
  machine.stated_paths = model::StatedPaths{};
  for (std::uint32_t i = 0; i < 8; ++i)
    machine.stated_paths->devices.push_back({model::DeviceKind::kGpu, i});
  for (std::uint32_t i = 0; i < 8; ++i)
    machine.stated_paths->devices.push_back({model::DeviceKind::kRdma, i});
  model::Path far;
  far.kind = model::PathClass::kPxb;
  machine.stated_paths->cells.assign(256, far);
  const auto found = findings_of(machine, "rdma.gdr.level-too-near");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].title,
            "NCCL_NET_GDR_LEVEL=PIX keeps GPUs 0-7 from GPUDirect RDMA: the nearest adapter is at PXB");
  EXPECT_EQ(found[0].cost.text, "8 of 8 GPUs copy through host memory");
}

TEST(RdmaGdrLevelTooNear, SilentWhereItReaches) {
  Machine machine = dgx_h100();
  EXPECT_TRUE(not_applicable(machine, "rdma.gdr.level-too-near"));
  machine.software.settings = {{"NCCL_NET_GDR_LEVEL", "SYS", at("nccl.conf")}};
  EXPECT_TRUE(held(machine, "rdma.gdr.level-too-near"));
  machine.software.settings[0].value = "PXB";
  EXPECT_TRUE(held(machine, "rdma.gdr.level-too-near"));
}

TEST(RdmaGdrLevelTooNear, UndecidedWithoutThePciTree) {
  Machine machine = dgx_h100();
  machine.software.settings = {{"NCCL_NET_GDR_LEVEL", "PIX", at("nccl.conf")}};
  for (auto& device : machine.rdma)
    device.pci.reset();
  EXPECT_EQ(undecided_of(machine, "rdma.gdr.level-too-near").size(), 1U);
}

TEST(RdmaGdrPeermemMissing, SilentWithPeermemOrDmabufOrGeforce) {
  EXPECT_TRUE(held(dgx_h100(), "rdma.gdr.peermem-missing"));
  Machine machine = dgx_h100();
  set(machine.software.modules, std::vector<std::string>{"mlx5_core", "nvidia"});
  EXPECT_TRUE(held(machine, "rdma.gdr.peermem-missing"));  // open module, 5.15
  for (Gpu& gpu : machine.gpus)
    set(gpu.name, std::string("NVIDIA GeForce RTX 4090"));
  EXPECT_TRUE(not_applicable(machine, "rdma.gdr.peermem-missing"));
}

TEST(RdmaGdrPeermemMissing, UndecidedWithoutTheModules) {
  Machine machine = dgx_h100();
  deny(machine.software.modules);
  EXPECT_EQ(undecided_of(machine, "rdma.gdr.peermem-missing").size(), 1U);
}

}  // namespace
}  // namespace angio::test
