// Counters of real machines: an H100 node as gpud captured it, and procfs's fixtures.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/text.hpp"
#include "host/root.hpp"
#include "probe/sysfs/rdma_counters.hpp"
#include "rdma/judge.hpp"
#include "rdma/metrics.hpp"
#include "rdma/rates.hpp"
#include "support/recorded_trees.hpp"
#include "support/shared_corpus.hpp"

namespace angio::rdma {
namespace {

std::uint64_t value_of(const model::RdmaPortReading& port, std::string_view name) {
  const auto found = std::ranges::find(port.counters, name, &model::RdmaCounter::name);
  return found == port.counters.end() ? 0 : found->value.value_or(0);
}

TEST(RdmaShared, AnH100Node) {
  ANGIO_SHARED_OR_SKIP(archive, "ib/gpud-sys-class-infiniband-h100.tar.gz");
  const test::TemporaryDirectory folder;
  ASSERT_EQ(std::system(("tar xzf '" + archive + "' -C '" + folder.path() + "'").c_str()), 0);
  const auto root = host::open_directory_root(folder.path());
  ASSERT_TRUE(root.has_value());
  const model::RdmaReading reading = probe::read_rdma_counters(**root);
  ASSERT_EQ(reading.ports.size(), 9U);
  for (const model::RdmaPortReading& port : reading.ports) {
    EXPECT_EQ(port.state, "ACTIVE");
    EXPECT_GE(port.counters.size(), 40U) << port.device;
    EXPECT_TRUE(
        std::ranges::all_of(port.counters, [](const auto& counter) { return counter.value.has_value(); }));
  }
  // Nothing happens between a state and itself; the one counter that stands at its maximum hides what would.
  const model::RdmaRates rates = make_rates(std::vector{reading, reading}, 10.0);
  const model::Diagnosis diagnosis = judge(rates);
  EXPECT_TRUE(diagnosis.findings.empty());
  ASSERT_EQ(diagnosis.undecided.size(), 1U);
  EXPECT_EQ(
      diagnosis.undecided[0].missing,
      "link_downed of mlx5_1 port 1 stands at its maximum 255, where it stops: what was added is not known");
  EXPECT_TRUE(std::ranges::all_of(rates.ports, &model::RdmaPortRates::idle));
  EXPECT_GE(metrics_of(rates, false).size(), 18U);
}

// "Path: p", "Lines: n", then n lines.
host::Recording read_ttar(const std::string& text, const std::string& prefix) {
  host::Recording recording;
  const std::vector<std::string_view> lines = split_lines(text);
  std::string path;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].starts_with("Path: ")) path = lines[i].substr(6);
    if (!lines[i].starts_with("Lines: ")) continue;
    const auto count = parse_integer<std::size_t>(lines[i].substr(7)).value_or(0);
    std::string content;
    for (std::size_t line = 0; line < count && i + 1 < lines.size(); ++line)
      content.append(lines[++i]).append("\n");
    if (path.starts_with(prefix)) recording[path.substr(prefix.size())].content = content;
  }
  return recording;
}

TEST(RdmaShared, FixturesOfProcfs) {
  ANGIO_SHARED_OR_SKIP(path, "ib/procfs-fixtures.ttar");
  const auto root =
      host::make_memory_root(read_ttar(test::read_whole_file(path), "fixtures"), host::Scope::kComplete);
  const model::RdmaReading reading = probe::read_rdma_counters(*root);
  ASSERT_GE(reading.ports.size(), 4U);
  std::vector<std::string> names;
  for (const model::RdmaPortReading& port : reading.ports)
    names.push_back(port.device + ":" + std::to_string(port.port));
  EXPECT_EQ(names, (std::vector<std::string>{"hfi1_0:1", "mlx4_0:1", "mlx4_0:2", "mlx5_0:1"}));
  EXPECT_GT(value_of(reading.ports[1], "port_rcv_data"), 0U);
  EXPECT_GT(value_of(reading.ports[2], "port_rcv_data"), 0U);
  EXPECT_NE(value_of(reading.ports[1], "port_rcv_data"), value_of(reading.ports[2], "port_rcv_data"));
  EXPECT_GT(value_of(reading.ports[0], "port_rcv_packets"), 0U);
  EXPECT_TRUE(judge(make_rates(std::vector{reading, reading}, 1.0)).findings.empty());
}

}  // namespace
}  // namespace angio::rdma
