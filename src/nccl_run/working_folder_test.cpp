#include "nccl_run/working_folder.hpp"

#include <gtest/gtest.h>

namespace angio::nccl_run {
namespace {

TEST(WorkingFolder, MakesPathsFromTheRoot) {
  EXPECT_EQ(path_in("/home/u", "./libnccl.so.2"), "/home/u/libnccl.so.2");
  EXPECT_EQ(path_in("/home/u", "venv//lib/"), "/home/u/venv/lib");
  EXPECT_EQ(path_in("/home/u", "../x"), "/home/u/../x");
  EXPECT_EQ(path_in("/home/u", "."), "/home/u");
  EXPECT_EQ(path_in("/", "a"), "/a");
  EXPECT_EQ(path_in("/", "."), "/");
  EXPECT_EQ(path_in("/home/u", "/opt/./x"), "/opt/./x");
  EXPECT_EQ(path_in("/home/u", ""), "");
}

}  // namespace
}  // namespace angio::nccl_run
