#include "nccl_run/environment.hpp"

#include <gtest/gtest.h>

namespace angio::nccl_run {
namespace {

std::optional<std::string> nothing_is_here(const std::string& /*path*/) {
  return std::nullopt;
}
std::optional<std::string> all_is_here(const std::string& path) {
  return path.starts_with('/') ? path : "/home/u/" + path;
}

std::string value_in(const std::vector<std::string>& environment, const std::string& name) {
  std::string value = "(unset)";
  int found = 0;
  for (const std::string& entry : environment) {
    if (!entry.starts_with(name + "=")) continue;
    value = entry.substr(name.size() + 1);
    ++found;
  }
  return found > 1 ? "(twice)" : value;
}

TEST(HandOn, TuningGoesThrough) {
  const Settings job{{"NCCL_ALGO", "Ring"}, {"NCCL_IB_HCA", "=mlx5_0"}, {"OMP_NUM_THREADS", "4"}};
  const HandedOn result = hand_on(job, NetKind::kPhantom, nothing_is_here);
  EXPECT_EQ(result.settings, job);
  EXPECT_TRUE(result.notes.empty());
}

TEST(HandOn, WhatBreaksThePhantomStaysOutAndIsSaid) {
  const HandedOn result = hand_on({{"NCCL_SOCKET_IFNAME", "ib0"},
                                   {"NCCL_HOSTID", "x"},
                                   {"LD_PRELOAD", "/x.so"},
                                   {"CUDA_VISIBLE_DEVICES", "1"},
                                   {"ANGIO_PHANTOM_SHM", "/tmp"}},
                                  NetKind::kPhantom, all_is_here);
  EXPECT_TRUE(result.settings.empty());
  ASSERT_EQ(result.notes.size(), 5U);
  EXPECT_EQ(result.notes[0], "NCCL_SOCKET_IFNAME=ib0 is not handed on: the nodes of a dry run talk over lo");
}

TEST(HandOn, WhatTheDryRunSetsItselfIsNoNews) {
  const HandedOn result = hand_on({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "ALL"}, {"PATH", "/bin"}},
                                  NetKind::kPhantom, all_is_here);
  EXPECT_TRUE(result.settings.empty());
  EXPECT_TRUE(result.notes.empty());
}

TEST(HandOn, FilesMustBeHere) {
  const Settings job{{"NCCL_TUNER_PLUGIN", "/opt/tuner.so"}, {"NCCL_TOPO_FILE", "/etc/topo.xml"}};
  EXPECT_EQ(hand_on(job, NetKind::kPhantom, all_is_here).settings, job);
  const HandedOn missing = hand_on(job, NetKind::kPhantom, nothing_is_here);
  EXPECT_TRUE(missing.settings.empty());
  ASSERT_EQ(missing.notes.size(), 2U);
  EXPECT_EQ(missing.notes[1],
            "NCCL_TOPO_FILE=/etc/topo.xml is not handed on: no such file on this machine; the topology is "
            "--topo's");
  const Settings word{{"NCCL_TUNER_PLUGIN", "none"}};
  EXPECT_EQ(hand_on(word, NetKind::kPhantom, nothing_is_here).settings, word);
}

TEST(HandOn, FilesGoFromTheRoot) {
  const HandedOn result = hand_on(
      {{"NCCL_GRAPH_FILE", "sub/g.xml"}, {"NCCL_TOPO_FILE", "t.xml"}, {"NCCL_TUNER_PLUGIN", "./tuner.so"}},
      NetKind::kPhantom, all_is_here);
  EXPECT_EQ(result.settings, (Settings{{"NCCL_GRAPH_FILE", "/home/u/sub/g.xml"},
                                       {"NCCL_TOPO_FILE", "/home/u/t.xml"},
                                       {"NCCL_TUNER_PLUGIN", "/home/u/./tuner.so"}}));
  // A bare word is a file to NCCL, and a library that the loader looks for.
  const HandedOn missing = hand_on({{"NCCL_GRAPH_FILE", "g.xml"}, {"NCCL_TUNER_PLUGIN", "tuner.so"}},
                                   NetKind::kPhantom, nothing_is_here);
  EXPECT_EQ(missing.settings, (Settings{{"NCCL_TUNER_PLUGIN", "tuner.so"}}));
  EXPECT_EQ(missing.notes,
            std::vector<std::string>{"NCCL_GRAPH_FILE=g.xml is not handed on: no such file on this machine"});
}

TEST(HandOn, RefusesNamesThatAreNone) {
  const HandedOn result = hand_on({{"", "1"}, {"A=B", "1"}, {"NCCL_ALGO", std::string("a\0b", 3)}},
                                  NetKind::kPhantom, all_is_here);
  EXPECT_TRUE(result.settings.empty());
  EXPECT_EQ(result.notes.size(), 3U);
}

const NodeFiles kFiles{
    {"/proc/self/fd/5", "/proc/self/fd/6"}, "/proc/self/fd/7", "/proc/self/fd/8", "/dev/shm/x"};

TEST(NodeEnvironment, HoldsWhatThePhantomNeeds) {
  const auto environment = node_environment(3, NetKind::kPhantom, kFiles, {}, {});
  EXPECT_EQ(value_in(environment, "LD_PRELOAD"), "/proc/self/fd/5:/proc/self/fd/6");
  EXPECT_EQ(value_in(environment, "ANGIO_PHANTOM_HARDWARE"), "/proc/self/fd/7");
  EXPECT_EQ(value_in(environment, "ANGIO_PHANTOM_SHM"), "/dev/shm/x");
  EXPECT_EQ(value_in(environment, "NCCL_TOPO_FILE"), "/proc/self/fd/8");
  EXPECT_EQ(value_in(environment, "NCCL_HOSTID"), "node3");
  EXPECT_EQ(value_in(environment, "NCCL_DEBUG"), "INFO");
  EXPECT_EQ(value_in(environment, "NCCL_CONF_FILE"), "/dev/null");
  EXPECT_EQ(value_in(environment, "NCCL_NET"), "(unset)");
  EXPECT_EQ(value_in(environment, "LD_LIBRARY_PATH"), "(unset)");
}

TEST(NodeEnvironment, OwnSettingsTakeThePlaceOfCommonOnes) {
  const auto environment =
      node_environment(0, NetKind::kPhantom, kFiles, {{"NCCL_ALGO", "Ring"}, {"NCCL_TOPO_FILE", "/x.xml"}},
                       {{"NCCL_ALGO", "Tree"}});
  EXPECT_EQ(value_in(environment, "NCCL_ALGO"), "Tree");
  EXPECT_EQ(value_in(environment, "NCCL_TOPO_FILE"), "/x.xml");
}

// Seconds if each were compared with each.
TEST(NodeEnvironment, ManySettings) {
  Settings many;
  for (int i = 0; i < 90000; ++i)
    many.emplace_back("NAME_" + std::to_string(i % 30000), std::to_string(i));
  const auto environment = node_environment(0, NetKind::kPhantom, kFiles, many, many);
  EXPECT_EQ(value_in(environment, "NAME_0"), "60000");
  EXPECT_EQ(value_in(environment, "NAME_29999"), "89999");
  EXPECT_LT(environment.size(), 30100U);
}

TEST(NodeEnvironment, Networks) {
  const auto socket = node_environment(0, NetKind::kSocket, kFiles, {}, {});
  EXPECT_EQ(value_in(socket, "NCCL_NET"), "Socket");
  EXPECT_EQ(value_in(socket, "NCCL_IB_DISABLE"), "1");
  const auto ib = node_environment(0, NetKind::kIb, kFiles, {{"NCCL_GIN_ENABLE", "1"}}, {});
  EXPECT_EQ(value_in(ib, "NCCL_NET"), "IB");
  EXPECT_EQ(value_in(ib, "NCCL_GIN_ENABLE"), "1");
  EXPECT_EQ(value_in(ib, "NCCL_GIN_TYPE"), "2");
}

}  // namespace
}  // namespace angio::nccl_run
