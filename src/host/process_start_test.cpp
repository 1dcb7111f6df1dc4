#include "host/process_start.hpp"

#include <gtest/gtest.h>

#include <string>

namespace angio::host {
namespace {

std::optional<ProcessStart> start_in(const std::string& stat) {
  Recording files;
  files["/proc/41/stat"].content = stat;
  return read_process_start(*make_memory_root(std::move(files), Scope::kComplete), 41);
}

TEST(HostProcessStart, IsFieldTwentyTwoBehindAnyName) {
  const std::string rest = " 1 41 41 0 -1 4194560 9 8 7 6 5 4 3 2 20 0 1 0 987654 12 13";
  ASSERT_TRUE(start_in("41 (train) S" + rest).has_value());
  EXPECT_EQ(start_in("41 (train) S" + rest)->ticks, 987654U);
  EXPECT_FALSE(start_in("41 (train) S" + rest)->ended);
  EXPECT_EQ(start_in("41 (a) R 1 (b) c) S" + rest)->ticks, 987654U);
  EXPECT_TRUE(start_in("41 (train) Z" + rest)->ended);
}

TEST(HostProcessStart, WhatCannotBeReadIsNothing) {
  EXPECT_FALSE(start_in("41 (train) S 1 41").has_value());
  EXPECT_FALSE(start_in("41 train S").has_value());
  EXPECT_FALSE(start_in("").has_value());
  EXPECT_FALSE(read_process_start(*make_memory_root({}, Scope::kComplete), 41).has_value());
}

}  // namespace
}  // namespace angio::host
