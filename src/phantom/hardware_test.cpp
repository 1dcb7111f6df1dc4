#include "phantom/hardware.hpp"

#include <gtest/gtest.h>

#include <string>

namespace angio::phantom {
namespace {

Hardware two_gpus() {
  Hardware hardware;
  hardware.cuda_driver = 12040;
  hardware.driver_version = "550.54.15";
  Gpu first;
  first.bus = "0000:0f:00.0";
  first.name = "Example H100 80GB_HBM3 100%";
  first.sm = 90;
  first.memory = 85899345920;
  first.nvlinks = 18;
  first.nvlink_version = 5;
  first.pcie_generation = 6;
  first.pcie_width = 8;
  first.gdr = false;
  first.dmabuf = true;
  first.multicast = true;
  first.numa = 1;
  first.links = {{0, "ffff:ff:ff.f", 0x068000}, {7, "0000:90:00.0", 0x030200}};
  first.peers = {{"0000:90:00.0", 4}};
  Gpu second;
  second.bus = "0000:90:00.0";
  hardware.gpus = {first, second};
  Net net;
  net.name = "mlx5_3";
  net.pci_path = "/sys/devices/pci0000:80/0000:80:01.0/0000:8a:00.0";
  net.speed = 400000;
  net.port = 2;
  net.guid = 0x0123456789abcdef;
  net.latency = 1.25;
  net.gdr = false;
  net.dmabuf = true;
  net.force_flush = true;
  net.max_comms = 65536;
  net.max_receives = 1;
  hardware.nets = {net};
  return hardware;
}

std::string problem_of(const std::string& text) {
  Hardware hardware;
  return parse_hardware(text, hardware);
}

std::string after_first_line(const std::string& text) {
  return problem_of("angio-phantom 1\n" + text);
}

TEST(Hardware, WritesOneLineADevice) {
  EXPECT_EQ(
      write_hardware(two_gpus()),
      "angio-phantom 1\n"
      "driver cuda=12040 version=550.54.15\n"
      "gpu bus=0000:0f:00.0 name=Example%20H100%2080GB_HBM3%20100%25 sm=90 memory=85899345920 nvlinks=18 "
      "nvlink=5 pcie=6 width=8 gdr=0 dmabuf=1 multicast=1 numa=1\n"
      "link gpu=0000:0f:00.0 index=0 remote=ffff:ff:ff.f class=0x68000\n"
      "link gpu=0000:0f:00.0 index=7 remote=0000:90:00.0 class=0x30200\n"
      "p2p gpu=0000:0f:00.0 peer=0000:90:00.0 status=4\n"
      "gpu bus=0000:90:00.0 name= sm=80 memory=85899345920 nvlinks=0 nvlink=3 pcie=4 width=16 "
      "gdr=1 dmabuf=0 multicast=0 numa=0\n"
      "net name=mlx5_3 path=/sys/devices/pci0000:80/0000:80:01.0/0000:8a:00.0 speed=400000 port=2 "
      "guid=0x123456789abcdef latency=1.25 gdr=0 dmabuf=1 flush=1 comms=65536 receives=1\n");
}

TEST(Hardware, ReadsWhatItWrote) {
  Hardware again;
  ASSERT_EQ(parse_hardware(write_hardware(two_gpus()), again), "");
  ASSERT_EQ(again.gpus.size(), 2U);
  EXPECT_EQ(again.cuda_driver, 12040U);
  EXPECT_EQ(again.driver_version, "550.54.15");
  EXPECT_EQ(again.gpus[0].name, "Example H100 80GB_HBM3 100%");
  EXPECT_EQ(again.gpus[0].memory, 85899345920U);
  EXPECT_EQ(again.gpus[0].nvlink_version, 5U);
  EXPECT_EQ(again.gpus[0].pcie_generation, 6U);
  EXPECT_EQ(again.gpus[0].pcie_width, 8U);
  EXPECT_FALSE(again.gpus[0].gdr);
  EXPECT_TRUE(again.gpus[0].dmabuf);
  EXPECT_TRUE(again.gpus[0].multicast);
  ASSERT_EQ(again.gpus[0].links.size(), 2U);
  EXPECT_EQ(again.gpus[0].links[1].index, 7U);
  EXPECT_EQ(again.gpus[0].links[1].remote_class, 0x030200U);
  ASSERT_EQ(again.gpus[0].peers.size(), 1U);
  EXPECT_EQ(again.gpus[0].peers[0].status, 4);
  EXPECT_TRUE(again.gpus[1].links.empty());
  ASSERT_EQ(again.nets.size(), 1U);
  EXPECT_EQ(again.nets[0].name, "mlx5_3");
  EXPECT_EQ(again.nets[0].guid, 0x0123456789abcdefU);
  EXPECT_EQ(again.nets[0].latency, 1.25);
  EXPECT_TRUE(again.nets[0].force_flush);
  EXPECT_EQ(again.nets[0].max_receives, 1U);
  EXPECT_EQ(write_hardware(again), write_hardware(two_gpus()));
}

TEST(Hardware, LeavesDefaultsWhereKeysAreMissing) {
  Hardware hardware;
  ASSERT_EQ(parse_hardware("angio-phantom 1\n\ngpu bus=0000:01:00.0\nnet name=a", hardware), "");
  EXPECT_EQ(hardware.cuda_driver, 13000U);
  EXPECT_EQ(hardware.gpus.at(0).sm, 80U);
  EXPECT_TRUE(hardware.gpus.at(0).gdr);
  EXPECT_EQ(hardware.nets.at(0).max_receives, 8U);
}

TEST(Hardware, KeepsBlanksAndLineFeedsOfAName) {
  Hardware hardware;
  hardware.gpus.emplace_back();
  hardware.gpus[0].bus = "0000:01:00.0";
  hardware.gpus[0].name = " a\nb=c%20\x7f";
  Hardware again;
  ASSERT_EQ(parse_hardware(write_hardware(hardware), again), "");
  EXPECT_EQ(again.gpus.at(0).name, " a\nb=c%20\x7f");
}

TEST(Hardware, NamesTheLineThatIsWrong) {
  EXPECT_EQ(problem_of(""), "empty");
  EXPECT_EQ(problem_of("<system version=\"1\">"), "line 1: not 'angio-phantom 1'");
  EXPECT_EQ(problem_of("angio-phantom 2\n"), "line 1: not 'angio-phantom 1'");
  EXPECT_EQ(after_first_line("gpu sm=90\n"), "line 2: gpu without bus=");
  EXPECT_EQ(after_first_line("net speed=1\n"), "line 2: net without name=");
  EXPECT_EQ(after_first_line("cpu a=1\n"), "line 2: unknown line 'cpu'");
  EXPECT_EQ(after_first_line("gpu bus=1 color=red\n"), "line 2: unknown key 'color'");
  EXPECT_EQ(after_first_line("gpu bus=1 bus=2\n"), "line 2: bus= stands twice");
  EXPECT_EQ(after_first_line("gpu bus\n"), "line 2: 'bus' is not key=value");
  EXPECT_EQ(after_first_line("gpu bus=1 sm=ninety\n"), "line 2: sm=ninety is no such value");
  EXPECT_EQ(after_first_line("gpu bus=1 memory=-1\n"), "line 2: memory=-1 is no such value");
  EXPECT_EQ(after_first_line("gpu bus=1 memory=99999999999999999999\n"),
            "line 2: memory=99999999999999999999 is no such value");
  EXPECT_EQ(after_first_line("gpu bus=1 gdr=yes\n"), "line 2: gdr=yes is no such value");
  EXPECT_EQ(after_first_line("gpu bus=%4\n"), "line 2: bus=%4 is no such value");
  EXPECT_EQ(after_first_line("net name=a latency=nan\n"), "line 2: latency=nan is no such value");
  EXPECT_EQ(after_first_line("gpu bus=1\ngpu bus=1\n"), "line 3: GPU 1 stands twice");
}

TEST(Hardware, LinksFollowTheirGpu) {
  EXPECT_EQ(after_first_line("link gpu=1 remote=2\ngpu bus=1\n"), "line 2: no GPU 1 above");
  EXPECT_EQ(after_first_line("link remote=2\n"), "line 2: no gpu=");
  EXPECT_EQ(after_first_line("gpu bus=1\nlink gpu=1 index=0\n"), "line 3: link without remote=");
  EXPECT_EQ(after_first_line("gpu bus=1\np2p gpu=1 status=4\n"), "line 3: p2p without peer=");
}

TEST(Hardware, ShowsForeignTextHarmless) {
  EXPECT_EQ(after_first_line("\x1b[31mgpu\n"), "line 2: unknown line '?[31mgpu'");
  EXPECT_EQ(after_first_line(std::string(100, 'x')),
            "line 2: unknown line '" + std::string(60, 'x') + "...'");
}

TEST(Hardware, StopsAtMoreDevicesThanANodeHas) {
  std::string text;
  for (int index = 0; index <= 4096; ++index) {
    text += "gpu bus=" + std::to_string(index) + "\n";
  }
  EXPECT_EQ(after_first_line(text), "line 4098: more than 4096 GPUs in one node");
}

TEST(Hardware, UuidTellsGpusAndNodesApart) {
  const std::string uuid = gpu_uuid_text("node0", "0000:0f:00.0");
  EXPECT_EQ(uuid.size(), 40U);
  EXPECT_EQ(uuid.substr(0, 4), "GPU-");
  EXPECT_EQ(uuid[12], '-');
  EXPECT_EQ(uuid, gpu_uuid_text("node0", "0000:0f:00.0"));
  EXPECT_NE(uuid, gpu_uuid_text("node1", "0000:0f:00.0"));
  EXPECT_NE(uuid, gpu_uuid_text("node0", "0000:47:00.0"));
}

}  // namespace
}  // namespace angio::phantom
