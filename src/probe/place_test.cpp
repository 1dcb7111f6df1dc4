#include "probe/place.hpp"

#include <gtest/gtest.h>

namespace angio::probe {
namespace {

std::string cited(const std::string& directory, const char* leaf) {
  model::Machine machine;
  const auto root = host::make_memory_root({}, host::Scope::kComplete);
  const Place place(*root, machine, directory);
  return cite(machine, place.source(leaf));
}

TEST(Place, FilesKeepTheirPaths) {
  EXPECT_EQ(cited("/sys/bus/pci/devices/0000:18:00.0", "numa_node"),
            "/sys/bus/pci/devices/0000:18:00.0/numa_node");
  EXPECT_EQ(cited("", "run/.containerenv"), "/run/.containerenv");
  EXPECT_EQ(cited("/proc", ""), "/proc");
}

TEST(Place, LibrariesAnswersAreCalledByTheirFunction) {
  EXPECT_EQ(cited("/@nvml", "init"), "NVML, nvmlInit");
  EXPECT_EQ(cited("/@nvml", "driver_version"), "NVML, nvmlSystemGetDriverVersion");
  EXPECT_EQ(cited("/@nvml/gpu/3", "name"), "NVML GPU 3, nvmlDeviceGetName");
  EXPECT_EQ(cited("/@nvml/gpu/3", "clock/sm"), "NVML GPU 3, nvmlDeviceGetClockInfo");
  EXPECT_EQ(cited("/@nvml/gpu/3", ""), "NVML GPU 3");
  EXPECT_EQ(cited("/@nvml/gpu/3/link/11", "crc"), "NVML GPU 3 NVLink 11, nvmlDeviceGetNvLinkErrorCounter");
  EXPECT_EQ(cited("/@nvml/gpu/3/p2p/4", ""), "NVML GPU 3, nvmlDeviceGetP2PStatus with GPU 4");
  EXPECT_EQ(cited("/@verbs/mlx5_0/1", "active_mtu"), "ibv_query_port mlx5_0 port 1, active_mtu");
}

TEST(Place, WhatTheShellCanAskIsCalledSo) {
  EXPECT_EQ(cited("/@limits", "memlock"), "ulimit -l");
  EXPECT_EQ(cited("/@limits", "nofile"), "ulimit -n");
  EXPECT_EQ(cited("/@uname", "release"), "uname -r");
  EXPECT_EQ(cited("/@statfs", "dev/shm"), "df /dev/shm");
  EXPECT_EQ(cited("/@env", ""), "environment");
  EXPECT_EQ(cited("/@env", "container"), "environment, container");
}

TEST(Place, EveryMountHasWords) {
  EXPECT_EQ(name_of_path("/proc/1/maps"), "/proc/1/maps");
  EXPECT_EQ(name_of_path("/@limits/memlock"), "ulimit -l");
  EXPECT_EQ(name_of_path("/@nvml/gpu/0/ecc_mode"), "NVML GPU 0, nvmlDeviceGetEccMode");
  EXPECT_EQ(name_of_path("/@nvml/gpu/0/p2p/1"), "NVML GPU 0, nvmlDeviceGetP2PStatus with GPU 1");
  EXPECT_EQ(name_of_path("/@home/.nccl.conf"), "~/.nccl.conf");
  EXPECT_EQ(name_of_path("/@statfs/dev/shm"), "df /dev/shm");
  EXPECT_EQ(name_of_path("/@job/train.log"), "file of the job train.log");
  EXPECT_EQ(name_of_path("/@net/addresses"), "ip addresses");
  for (const char* mount : {"/@home", "/@env", "/@limits", "/@uname", "/@statfs", "/@libraries", "/@nvml",
                            "/@verbs", "/@net", "/@job", "/@ethtool", "/@clock"}) {
    EXPECT_EQ(name_of_path(mount).find('@'), std::string::npos) << mount;
    EXPECT_EQ(name_of_path(std::string(mount) + "/some/thing").find('@'), std::string::npos) << mount;
  }
}

}  // namespace
}  // namespace angio::probe
