#include "base/error.hpp"

#include <gtest/gtest.h>

#include <cerrno>

namespace angio {
namespace {

TEST(Error, ContextGoesInFront) {
  Error error{ErrorCode::kIo, "line 3: cut off", "collect again"};
  const Error whole = std::move(error).with_context("node-3.snap");
  EXPECT_EQ(whole.message, "node-3.snap: line 3: cut off");
  EXPECT_EQ(whole.hint, "collect again");
  EXPECT_EQ(whole.code, ErrorCode::kIo);
}

TEST(Errno, NamesAndWords) {
  EXPECT_EQ(errno_name(ENOENT), "ENOENT");
  EXPECT_EQ(errno_text(EACCES), "Permission denied (EACCES)");
  EXPECT_EQ(errno_name(4000), "E4000");
  EXPECT_EQ(errno_text(4000), "unknown error (E4000)");
}

TEST(Errno, NamesReadBack) {
  for (const int value : {ENOENT, EACCES, EINVAL, EIO, EHWPOISON, 4000}) {
    EXPECT_EQ(errno_value(errno_name(value)), value);
  }
  EXPECT_EQ(errno_value("EBANANA"), 0);
  EXPECT_EQ(errno_value(""), 0);
}

}  // namespace
}  // namespace angio
