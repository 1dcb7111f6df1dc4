#include "probe/snapshot/scrub.hpp"

#include <gtest/gtest.h>

#include "probe/snapshot/identifiers.hpp"

namespace angio::probe {
namespace {

using namespace std::string_literals;

constexpr std::uint64_t kSeed = 0x1234567890ABCDEF;

std::string content(const Snapshot& snapshot, const std::string& path) {
  const auto found = snapshot.recording.find(path);
  return found != snapshot.recording.end() && found->second.content && *found->second.content
             ? **found->second.content
             : "<none>";
}

// text, scrubbed as a job's log on host gpu-017.
std::string scrubbed_log(const std::string& text) {
  Snapshot snapshot;
  snapshot.host = "gpu-017";
  snapshot.recording["/@job/log"].content = text;
  return content(scrub(std::move(snapshot), kSeed), "/@job/log");
}

Snapshot planted() {
  Snapshot snapshot;
  snapshot.host = "gpu-017";
  host::Recording& all = snapshot.recording;
  const auto file = [&](const std::string& path, const std::string& text) { all[path].content = text; };
  file("/proc/sys/kernel/hostname", "gpu-017\n");
  file("/sys/class/infiniband/mlx5_0/node_guid", "b83f:d203:00a1:b2c4\n");
  file("/sys/class/infiniband/mlx5_0/sys_image_guid", "b83f:d203:00a1:b2c4\n");
  file("/sys/class/infiniband/mlx5_0/node_desc", "gpu-017 HCA-1\n");
  file("/sys/class/infiniband/mlx5_0/ports/1/gids/0", "fe80:0000:0000:0000:b83f:d203:00a1:b2c4\n");
  file("/sys/class/infiniband/mlx5_0/ports/1/gids/1", "0000:0000:0000:0000:0000:ffff:0a2b:1505\n");
  file("/sys/class/infiniband/mlx5_0/ports/1/gids/2", "fd5a:1111:2222:3333:5a7c:1d2e:9b40:66f1\n");
  file("/sys/class/net/eth0/address", "b8:3f:d2:a1:b2:c4\n");
  file("/sys/class/net/eth1/address", "b8:3f:d2:a1:b2:c5\n");
  file("/sys/class/net/ib0/address", "00:00:10:29:fe:80:00:00:00:00:00:00:b8:3f:d2:03:00:a1:b2:c4\n");
  file("/sys/class/net/enxb83fd2a1b2c4/mtu", "1500\n");
  all["/sys/class/net"].names = host::Names{"enxb83fd2a1b2c4", "eth0", "eth1", "ib0"};
  file("/proc/sys/net/ipv4/conf/enxb83fd2a1b2c4/arp_ignore", "1\n");
  file("/proc/self/mountinfo",
       "0 0 0:0 / /... rw - nfs4 10.43.21.77 rw,proto=rdma,clientaddr=10.43.21.5,addr=10.43.21.77\n");
  file("/@nvml/gpu/0/uuid", "GPU-5a3f0c11-7d2e-4b6a-9c1d-0123456789ab");
  file("/@nvml/gpu/0/serial", "1652922010333");
  file("/@nvml/gpu/0/pci", "00000000:1B:00.0");
  file("/@nvml/driver_version", "570.86.15");
  file("/@net/addresses",
       "eth0 10.43.21.5/24\neth0 fe80::ba3f:d2ff:fea1:b2c4/64\neth1 10.43.21.9/24\neth2 8.8.4.77/24\n");
  file("/@env/SLURM_JOB_USER", "alicebo");
  file("/@env/SLURM_JOB_NODELIST", "gpu-[016-018],login7");
  file("/@env/MASTER_ADDR", "gpu-016.cluster.secretcorp.com");
  file("/@env/LD_LIBRARY_PATH", "/home/bobby/lib:/usr/lib");
  file("/proc/9/environ", "NCCL_SOCKET_IFNAME=eth0\0MASTER_ADDR=10.43.21.5\0"s);
  file("/proc/9/cmdline", "/home/bobby/env/bin/python\0train.py\0"s);
  file("/proc/9/cgroup", "0::/docker/9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08\n");
  file(
      "/@job/nccl.log",
      "gpu-017:4711:4720 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE ; OOB eth0:10.43.21.5<0>\n"
      "gpu-031:99:100 [1] NCCL INFO comm from 10.43.21.9, guid 0xb83fd20300a1b2c4, busId 1b000\n"
      "gpu-018.cluster.secretcorp.com: Serial Number : 1652922010333, alicebo@login7, "
      "GPU-5A3F0C11-7D2E-4B6A-9C1D-0123456789AB\n"
      "NCCL version 2.21.5+cuda12.4, fw version 28.39.1002.0, libibverbs.so.1.14.44.0, job on gpu-[016-018]\n"
      "0000:1b:00.0 b8:3f:d2:03:00:a1:b2:c4 255.255.255.0 127.0.0.1 ::1\n");
  all["/etc/hosts"].content = std::unexpected(host::ReadError{EACCES, "alicebo may not"});
  return snapshot;
}

TEST(Scrub, NothingPlantedLeaks) {
  const std::string scrubbed = render_snapshot(scrub(planted(), kSeed));
  for (const char* secret :
       {"gpu-017",    "gpu-016",  "gpu-018",      "gpu-031",       "gpu-[",     "login7",
        "secretcorp", "alicebo",  "bobby",        "1652922010333", "10.43.21",  "8.8.4.77",
        "0a2b:1505",  "a1:b2:c4", "a1:b2:c5",     "00a1:b2c4",     "fea1:b2c4", "a1b2c4",
        "5a3f0c11",   "5A3F0C11", "0123456789ab", "fd5a:1111",     "9b40:66f1", "9f86d081"}) {
    EXPECT_EQ(scrubbed.find(secret), std::string::npos) << secret << "\n" << scrubbed;
  }
}

TEST(Scrub, WhatIsNoIdentifierStays) {
  const Snapshot scrubbed = scrub(planted(), kSeed);
  EXPECT_TRUE(scrubbed.scrubbed);
  EXPECT_EQ(content(scrubbed, "/@nvml/gpu/0/pci"), "00000000:1B:00.0");
  EXPECT_EQ(content(scrubbed, "/@nvml/driver_version"), "570.86.15");
  const std::string log = content(scrubbed, "/@job/nccl.log");
  for (const char* kept :
       {"NCCL version 2.21.5+cuda12.4", "28.39.1002.0", "libibverbs.so.1.14.44.0", "mlx5_0:1/RoCE",
        "busId 1b000", "0000:1b:00.0", "255.255.255.0 127.0.0.1 ::1", ":4711:4720 [0] NCCL"}) {
    EXPECT_NE(log.find(kept), std::string::npos) << kept << "\n" << log;
  }
}

TEST(Scrub, EqualThingsStayEqualAcrossForms) {
  const Snapshot scrubbed = scrub(planted(), kSeed);
  const std::string guid = content(scrubbed, "/sys/class/infiniband/mlx5_0/node_guid").substr(0, 19);
  EXPECT_EQ(guid.substr(0, 9), "b83f:d203");  // the maker stays
  EXPECT_EQ(content(scrubbed, "/sys/class/infiniband/mlx5_0/sys_image_guid"), guid + "\n");
  EXPECT_EQ(content(scrubbed, "/sys/class/infiniband/mlx5_0/ports/1/gids/0"),
            "fe80:0000:0000:0000:" + guid + "\n");
  std::string octets;
  for (const char c : guid) {
    if (c != ':') octets += c;
  }
  EXPECT_NE(content(scrubbed, "/@job/nccl.log").find("guid 0x" + octets), std::string::npos);
  const std::string mac = content(scrubbed, "/sys/class/net/eth0/address").substr(0, 17);
  EXPECT_EQ(mac.substr(9), octets.substr(10, 2) + ":" + octets.substr(12, 2) + ":" + octets.substr(14, 2));
  // The port beside it is still the next number; the interface named by its MAC still is.
  EXPECT_EQ(snapshot::digits_of(content(scrubbed, "/sys/class/net/eth1/address").substr(0, 17)),
            snapshot::digits_of(mac) + 1);
  const std::string name = (*scrubbed.recording.at("/sys/class/net").names)->at(0);
  EXPECT_EQ(snapshot::digits_of(name.substr(3)), snapshot::digits_of(mac));
  EXPECT_EQ(content(scrubbed, "/sys/class/net/" + name + "/mtu"), "1500\n");
}

TEST(Scrub, AddressesKeepKindAndSubnet) {
  const Snapshot scrubbed = scrub(planted(), kSeed);
  const std::string net = content(scrubbed, "/@net/addresses");
  const auto address = [&](const std::string& interface) {
    const std::size_t at = net.find(interface + " ") + interface.size() + 1;
    return snapshot::parse_ipv4(net.substr(at, net.find('/', at) - at)).value_or(0);
  };
  EXPECT_EQ(address("eth0") >> 24U, 10U);
  EXPECT_EQ(address("eth0") >> 8U, address("eth1") >> 8U);
  EXPECT_NE(address("eth0"), address("eth1"));
  EXPECT_GE(address("eth2") >> 28U, 15U);  // a public one goes to 240/4
  EXPECT_NE(
      content(scrubbed, "/proc/9/environ").find("MASTER_ADDR=" + snapshot::format_ipv4(address("eth0"))),
      std::string::npos);
  const std::string mapped = content(scrubbed, "/sys/class/infiniband/mlx5_0/ports/1/gids/1");
  EXPECT_EQ(mapped.substr(0, 30), "0000:0000:0000:0000:0000:ffff:");
  EXPECT_EQ(snapshot::digits_of(mapped.substr(30, 9)), address("eth0"));
  EXPECT_EQ(content(scrubbed, "/sys/class/infiniband/mlx5_0/ports/1/gids/2").substr(0, 5), "fd00:");
}

TEST(Scrub, NamesAreTheSameInEveryPlace) {
  const Snapshot scrubbed = scrub(planted(), kSeed);
  EXPECT_EQ(scrubbed.host, "node-abcdef");
  EXPECT_EQ(content(scrubbed, "/proc/sys/kernel/hostname"), "node-abcdef\n");
  EXPECT_EQ(content(scrubbed, "/sys/class/infiniband/mlx5_0/node_desc"), "node-abcdef HCA-1\n");
  const std::string master = content(scrubbed, "/@env/MASTER_ADDR");
  EXPECT_NE(content(scrubbed, "/@env/SLURM_JOB_NODELIST").find(master.substr(0, master.find('.'))),
            std::string::npos);
  EXPECT_TRUE(content(scrubbed, "/@job/nccl.log").starts_with("node-abcdef:4711"));
  EXPECT_TRUE(content(scrubbed, "/proc/9/cmdline").starts_with("/home/user-2/env/bin/python"));
  EXPECT_TRUE(content(scrubbed, "/@env/LD_LIBRARY_PATH").starts_with("/home/user-2/lib:"));
}

TEST(Scrub, ADifferentSeedGivesDifferentAddresses) {
  EXPECT_NE(content(scrub(planted(), 1), "/@net/addresses"), content(scrub(planted(), 2), "/@net/addresses"));
  EXPECT_EQ(render_snapshot(scrub(planted(), 1)), render_snapshot(scrub(planted(), 1)));
}

TEST(Scrub, AHostWithACommonNameLeavesTheKernelsFilesAlone) {
  Snapshot snapshot;
  snapshot.host = "vm";
  snapshot.recording["/proc/sys/vm/zone_reclaim_mode"].content = "0\n";
  snapshot.recording["/proc/modules"].content = "vm 1 0 - Live 0x0\n";
  const Snapshot scrubbed = scrub(std::move(snapshot), kSeed);
  EXPECT_EQ(content(scrubbed, "/proc/sys/vm/zone_reclaim_mode"), "0\n");
  EXPECT_EQ(content(scrubbed, "/proc/modules"), "vm 1 0 - Live 0x0\n");
  EXPECT_EQ(scrubbed.host, "node-abcdef");
}

TEST(Scrub, PciSerialNumbersAreErasedFromConfigurationSpace) {
  std::string config(512, '\0');
  config[0x100] = 1;     // AER
  config[0x103] = 0x15;  // next: 0x150
  config[0x150] = 3;     // device serial number, last
  for (std::size_t i = 0; i < 8; ++i)
    config[0x154 + i] = static_cast<char>(0xB8 + i);
  config[0x1F0] = '\x7E';
  Snapshot snapshot;
  snapshot.recording["/sys/bus/pci/devices/0000:1b:00.0/config"].content = config;
  const std::string scrubbed =
      content(scrub(std::move(snapshot), kSeed), "/sys/bus/pci/devices/0000:1b:00.0/config");
  EXPECT_EQ(scrubbed.substr(0x154, 8), std::string(8, '\0'));
  EXPECT_EQ(scrubbed[0x1F0], '\x7E');
  EXPECT_EQ(scrubbed.size(), config.size());
}

TEST(Scrub, ACgroupPathIsNoAddress) {
  Snapshot snapshot;
  snapshot.recording["/proc/self/cgroup"].content = "0::/user.slice/user-1000.slice\n";
  const Snapshot scrubbed = scrub(std::move(snapshot), kSeed);
  EXPECT_EQ(scrubbed.recording.at("/proc/self/cgroup").content->value(), "0::/user.slice/user-1000.slice\n");
}

TEST(Scrub, VersionsAndTimesAreNoAddresses) {
  const std::string text =
      "driver 570.86.15 fw 16.35.3.502 OFED 5.8-1.0.1.1 12:34:56 v1.2.3.4 lib-2.1.0.4+x std::vector "
      "0x00007f2b3c4d5e6f ffff,ffffffff\n";
  EXPECT_EQ(scrubbed_log(text), text);
}

TEST(Scrub, HostileTextIsQuick) {
  std::string text;
  for (int i = 0; i < 200000; ++i)
    text += "a-";
  for (int i = 0; i < 200000; ++i)
    text += "1:";
  for (int i = 0; i < 100000; ++i)
    text += "x[";
  EXPECT_EQ(scrubbed_log(text).size(), text.size());
}

TEST(Identifiers, Ipv6FormsRoundTrip) {
  for (const char* text :
       {"fe80::1", "::", "::1", "2001:db8::5:0:0:1", "fe80:0000:0000:0000:b83f:d203:00a1:b2c4",
        "::ffff:10.0.0.5", "1:2:3:4:5:6:7:8", "fd00:1::"}) {
    const auto address = snapshot::parse_ipv6(text);
    ASSERT_TRUE(address.has_value()) << text;
    EXPECT_EQ(snapshot::format_ipv6(*address, text), text);
  }
  for (const char* text : {"", ":", "1:2:3", "1::2::3", "12345::", "::1.2.3", "1:2:3:4:5:6:7:8:9", "g::1"}) {
    EXPECT_FALSE(snapshot::parse_ipv6(text).has_value()) << text;
  }
}

}  // namespace
}  // namespace angio::probe
