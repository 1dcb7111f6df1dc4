// libibverbs from the loader to files, over a stand-in and, where it is installed, the real one.
#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "host/libraries.hpp"
#include "host/root.hpp"
#include "probe/verbs/verbs_root.hpp"

namespace angio::probe {
namespace {

using namespace std::chrono_literals;

std::unique_ptr<host::Root> verbs(const std::string& directory, std::chrono::milliseconds patience = 5000ms) {
  return make_verbs_root(*host::make_library_loader(std::string(ANGIO_PEERS) + "/" + directory), patience);
}

TEST(VerbsPeer, MtuInBytes) {
  const auto root = verbs("verbs");
  EXPECT_EQ(root->read("/init"), "0");
  EXPECT_EQ(root->list("/"), (host::Names{"mlx5_0", "mlx5_1", "mlx5_2", "mlx5_3"}));
  EXPECT_EQ(root->read("/mlx5_0/1/active_mtu"), "4096");
  EXPECT_EQ(root->read("/mlx5_1/1/active_mtu"), "1024");
  EXPECT_EQ(root->read("/mlx5_1/1/max_mtu"), "4096");
}

TEST(VerbsPeer, RefusalsKeepTheirErrno) {
  const auto root = verbs("verbs");
  EXPECT_EQ(root->read("/mlx5_2/1/active_mtu").error(), (host::ReadError{EACCES, "ibv_open_device"}));
  EXPECT_EQ(root->read("/mlx5_0/2/active_mtu").error(), (host::ReadError{EINVAL, "ibv_query_port"}));
  EXPECT_EQ(root->read("/mlx5_9/1/active_mtu").error().error, ENOENT);
  EXPECT_EQ(root->read("/mlx5_0/1/nothing").error().error, ENOENT);
  EXPECT_EQ(root->read("/mlx5_0/300/active_mtu").error().error, ENOENT);
  EXPECT_TRUE(root->exists("/mlx5_0/1/active_mtu"));
  EXPECT_FALSE(root->exists("/mlx5_9/1/active_mtu"));
}

TEST(VerbsPeer, ASilentDeviceLosesNoOther) {
  const auto root = verbs("verbs", 200ms);
  EXPECT_EQ(root->read("/mlx5_3/1/active_mtu").error(),
            (host::ReadError{ETIMEDOUT, "mlx5_3 gave no answer"}));
  EXPECT_EQ(root->read("/mlx5_3/1/max_mtu").error().error, ETIMEDOUT);
  EXPECT_EQ(root->read("/mlx5_0/1/active_mtu"), "4096");
}

TEST(VerbsPeer, WithoutLibraryNobodyWasAsked) {
  const auto root = verbs("no-such-directory");
  EXPECT_EQ(root->read("/init").error().error, ENOENT);
  EXPECT_EQ(root->read("/mlx5_0/1/active_mtu").error().error, ENOSYS);
}

// The distribution's own library with its providers: on a machine without RDMA devices it lists none.
TEST(VerbsReal, LoadsAndLists) {
  const auto root = make_verbs_root(*host::make_library_loader());
  if (!root->read("/init")) GTEST_SKIP() << "needs libibverbs.so.1: " << root->read("/init").error().detail;
  const host::Read<host::Names> devices = root->list("/");
  ASSERT_TRUE(devices.has_value()) << errno_text(devices.error().error);
  for (const std::string& device : *devices) {
    const host::Read<std::string> mtu = root->read("/" + device + "/1/max_mtu");
    EXPECT_TRUE(!mtu || *mtu == "4096" || *mtu == "2048" || *mtu == "1024" || *mtu == "512" || *mtu == "256");
  }
  EXPECT_EQ(root->read("/no_such_device/1/active_mtu").error().error, ENOENT);
}

}  // namespace
}  // namespace angio::probe
