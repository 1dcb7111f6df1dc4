// The one test of host that needs a disk: a small tree in the temporary directory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "host/jail.hpp"
#include "host/root.hpp"

namespace angio::host {
namespace {

namespace fs = std::filesystem;

class DirectoryRootTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "angio-root-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    outside_ = name;
    tree_ = outside_ + "/tree";
    fs::create_directories(tree_ + "/sys/real/deep");
    put("/sys/real/value", "42\n");
    std::ofstream(outside_ + "/secret") << "outside";
    fs::create_symlink("/sys/real", tree_ + "/sys/absolute");        // absolute: from the tree's top
    fs::create_symlink("../../../../../secret", tree_ + "/sys/up");  // would leave the tree
    fs::create_symlink(outside_ + "/secret", tree_ + "/sys/out");
    fs::create_symlink("loop", tree_ + "/sys/loop");
    root_ = open_directory_root(tree_).value();
  }
  void TearDown() override { fs::remove_all(outside_); }
  void put(const std::string& path, const std::string& text) const { std::ofstream(tree_ + path) << text; }

  std::string outside_;
  std::string tree_;
  std::unique_ptr<Root> root_;
};

TEST_F(DirectoryRootTest, ReadsListsAndFollowsLinksInside) {
  EXPECT_EQ(root_->read("/sys/real/value").value(), "42\n");
  EXPECT_EQ(root_->read("/sys/absolute/value").value(), "42\n");
  EXPECT_EQ(root_->list("/sys/real").value(), (Names{"deep", "value"}));
  EXPECT_EQ(root_->read_link("/sys/absolute").value(), "/sys/real");
  EXPECT_EQ(root_->read_link("/sys/real/value").error().error, EINVAL);
  EXPECT_TRUE(root_->exists("/sys/real/deep"));
  EXPECT_FALSE(root_->exists("/sys/real/none"));
  EXPECT_FALSE(root_->is_live());
}

TEST_F(DirectoryRootTest, NoLinkLeavesTheTree) {
  EXPECT_EQ(root_->read("/sys/up").error().error, ENOENT);
  EXPECT_EQ(root_->read("/sys/out").error().error, ENOENT);
  EXPECT_EQ(root_->read("/../secret").error().error, ENOENT);
  EXPECT_EQ(root_->read("/sys/loop").error().error, ELOOP);
}

TEST_F(DirectoryRootTest, RefusesWhatIsNoRegularFile) {
  ASSERT_EQ(mkfifo((tree_ + "/sys/pipe").c_str(), 0600), 0);
  EXPECT_EQ(root_->read("/sys/pipe").error().error, ENXIO);  // opening it would wait for a writer
  EXPECT_EQ(root_->read("/sys/real").error().error, EISDIR);
  EXPECT_EQ(root_->list("/sys/real/value").error().error, ENOTDIR);
  const auto live = open_directory_root("/").value();
  EXPECT_EQ(live->read("/dev/zero").error().error, ENXIO);
  EXPECT_TRUE(live->is_live());
}

TEST_F(DirectoryRootTest, SizeIsBoundedAndNulIsNoPath) {
  put("/big", "");
  fs::resize_file(tree_ + "/big", kMaxFileSize + 1);
  EXPECT_EQ(root_->read("/big").error().error, EFBIG);
  fs::resize_file(tree_ + "/big", kMaxFileSize);
  EXPECT_EQ(root_->read("/big").value().size(), kMaxFileSize);
  EXPECT_EQ(root_->read(std::string_view("/sys/real/value\0x", 17)).error().error, EINVAL);
}

// Without openat2 the walk in user space must answer the same.
TEST_F(DirectoryRootTest, WalkAgreesWithTheKernel) {
  const int directory = open(tree_.c_str(), O_PATH | O_DIRECTORY);
  ASSERT_GE(directory, 0);
  for (const char* path : {"sys/real/value", "sys/absolute/value", "sys/up", "sys/out", "sys/loop",
                           "../secret", "sys/real/", "sys/../sys/./real//value", "sys/real/value/x", "none",
                           ".", "sys/absolute", "../../sys/real/value"}) {
    for (const int flags : {O_RDONLY | O_NONBLOCK, O_PATH, O_PATH | O_NOFOLLOW, O_RDONLY | O_DIRECTORY}) {
      errno = 0;
      const int by_kernel = open_in_root(directory, path, flags);
      const int kernel_error = by_kernel < 0 ? errno : 0;
      errno = 0;
      const int by_walk = walk_in_root(directory, path, flags);
      const int walk_error = by_walk < 0 ? errno : 0;
      EXPECT_EQ(walk_error, kernel_error) << path << " flags " << flags;
      struct stat one{};
      struct stat other{};
      if (by_kernel >= 0 && by_walk >= 0) {
        fstat(by_kernel, &one);
        fstat(by_walk, &other);
        EXPECT_EQ(one.st_ino, other.st_ino) << path << " flags " << flags;
      }
      if (by_kernel >= 0) close(by_kernel);
      if (by_walk >= 0) close(by_walk);
    }
  }
  close(directory);
}

TEST_F(DirectoryRootTest, OpeningNamesTheCause) {
  const auto missing = open_directory_root(tree_ + "/nothing");
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find("ENOENT"), std::string::npos);
}

}  // namespace
}  // namespace angio::host
