// A scan from the loader to a Fabric, over a stand-in for libibumad and, where it is installed, the real one.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "host/libraries.hpp"
#include "probe/umad/scan.hpp"

namespace angio::probe {
namespace {

class UmadPeer : public testing::Test {
 protected:
  void TearDown() override { unsetenv("UMAD_STANDIN"); }
  static void mood(const char* word) { setenv("UMAD_STANDIN", word, 1); }

  std::unique_ptr<host::LibraryLoader> loader_ =
      host::make_library_loader(std::string(ANGIO_PEERS) + "/umad");
};

TEST_F(UmadPeer, ListsActiveInfiniBandPortsOnly) {
  const Result<std::vector<ScanPort>> ports = list_scan_ports(*loader_);
  ASSERT_TRUE(ports.has_value()) << ports.error().message;
  ASSERT_EQ(ports->size(), 1U);
  EXPECT_EQ(ports->front().device, "mlx5_0");
  EXPECT_EQ(ports->front().port, 1U);
}

TEST_F(UmadPeer, ScansToAFabric) {
  const Result<Scan> scan = scan_fabric(*loader_, {"mlx5_0", 1}, {});
  ASSERT_TRUE(scan.has_value()) << scan.error().message;
  ASSERT_EQ(scan->fabric.nodes.size(), 3U);
  EXPECT_EQ(scan->fabric.name, "mlx5_0 port 1");
  EXPECT_EQ(scan->fabric.origin, "scan from mlx5_0 port 1");
  EXPECT_EQ(scan->fabric.seen_from, std::vector<std::string>{"gpu-a mlx5_0 port 1"});
  EXPECT_TRUE(scan->fabric.captured.has_value());
  EXPECT_TRUE(scan->fabric.notes.empty());
  EXPECT_EQ(scan->work.sent, scan->work.answered);
  const auto other = std::ranges::find(scan->fabric.nodes, model::NodeGuid{0x200}, &model::FabricNode::guid);
  ASSERT_NE(other, scan->fabric.nodes.end());
  EXPECT_EQ(other->ports[0].counters.get(model::FabricCounter::kSymbolErrors), 42U);
}

TEST_F(UmadPeer, ALiarChangesNothing) {
  mood("liar");
  const Result<Scan> scan = scan_fabric(*loader_, {"mlx5_0", 1}, {});
  ASSERT_TRUE(scan.has_value()) << scan.error().message;
  ASSERT_EQ(scan->fabric.nodes.size(), 3U);
  EXPECT_EQ(scan->work.given_up, 0U);
  for (const std::string id : {"scan.stray-answer", "scan.short-answer", "scan.misfit"})
    EXPECT_NE(std::ranges::find(scan->fabric.notes, id, &model::Note::id), scan->fabric.notes.end()) << id;
}

TEST_F(UmadPeer, ADeviceThatDiesLeavesWhatIsThere) {
  mood("dead");
  const Result<Scan> scan = scan_fabric(*loader_, {"mlx5_0", 1}, {.tries = 30});
  ASSERT_TRUE(scan.has_value()) << scan.error().message;
  EXPECT_GE(scan->fabric.nodes.size(), 1U);
  const auto note = std::ranges::find(scan->fabric.notes, "scan.send", &model::Note::id);
  ASSERT_NE(note, scan->fabric.notes.end());
  EXPECT_EQ(note->text, "mlx5_0 port 1: umad_send failed: No such device (ENODEV)");
}

TEST_F(UmadPeer, ARefusalSaysWhatToDo) {
  mood("denied");
  const Result<Scan> scan = scan_fabric(*loader_, {"mlx5_0", 1}, {});
  ASSERT_FALSE(scan.has_value());
  EXPECT_EQ(scan.error().code, ErrorCode::kDenied);
  EXPECT_EQ(scan.error().message,
            "mlx5_0 port 1: its device /dev/infiniband/umadN cannot be opened: Permission denied (EACCES)");
  EXPECT_NE(scan.error().hint.find("rdma"), std::string::npos);
  EXPECT_NE(scan.error().hint.find("ibnetdiscover"), std::string::npos);
  mood("unregistered");
  EXPECT_EQ(scan_fabric(*loader_, {"mlx5_0", 1}, {}).error().code, ErrorCode::kDenied);
}

TEST_F(UmadPeer, OtherPortsAreRefusedByName) {
  EXPECT_EQ(scan_fabric(*loader_, {"mlx5_1", 1}, {}).error().message,
            "mlx5_1 port 1 is Ethernet: RoCE has no subnet to scan");
  EXPECT_EQ(scan_fabric(*loader_, {"mlx5_2", 1}, {}).error().message,
            "mlx5_2 port 1 is Down: nothing can be reached through it");
  const Result<Scan> none = scan_fabric(*loader_, {"mlx5_9", 2}, {});
  ASSERT_FALSE(none.has_value());
  EXPECT_EQ(none.error().message, "there is no mlx5_9 port 2");
  EXPECT_EQ(none.error().hint,
            "There are: mlx5_0 port 1 is Active, mlx5_1 port 1 is Ethernet, mlx5_2 port 1 is Down");
}

TEST_F(UmadPeer, APhantomAdapterIsNone) {
  mood("phantom");
  const Result<std::vector<ScanPort>> ports = list_scan_ports(*loader_);
  ASSERT_FALSE(ports.has_value());
  EXPECT_EQ(ports.error().message, "no InfiniBand port is active: this host has no InfiniBand adapter");
}

TEST_F(UmadPeer, WithoutTheLibrary) {
  const auto nowhere = host::make_library_loader(std::string(ANGIO_PEERS) + "/no-such-directory");
  const Result<std::vector<ScanPort>> ports = list_scan_ports(*nowhere);
  ASSERT_FALSE(ports.has_value());
  EXPECT_EQ(ports.error().message.substr(0, 22), "libibumad is not here:");
  EXPECT_EQ(scan_fabric(*nowhere, {"mlx5_0", 1}, {}).error().code, ErrorCode::kNotFound);
}

// The distribution's own library: on a machine without InfiniBand it names an adapter that is none.
TEST(UmadReal, LoadsAndLists) {
  const auto loader = host::make_library_loader();
  const Result<std::vector<ScanPort>> ports = list_scan_ports(*loader);
  if (!ports && ports.error().message.starts_with("libibumad is not here"))
    GTEST_SKIP() << "needs libibumad.so.3: " << ports.error().message;
  if (!ports) {
    EXPECT_EQ(ports.error().message.substr(0, 30), "no InfiniBand port is active: ");
    EXPECT_EQ(scan_fabric(*loader, {"mthca0", 1}, {}).error().message, "there is no mthca0 port 1");
  }
}

}  // namespace
}  // namespace angio::probe
