#include "base/utc_time.hpp"

#include <gtest/gtest.h>

namespace angio {
namespace {

TEST(UtcTime, CountsSecondsSince1970) {
  EXPECT_EQ(parse_utc("1970-01-02T00:00:01Z"), 86401);
  EXPECT_EQ(parse_utc("2024-02-29T12:00:00Z").value() % 86400, 43200);
  EXPECT_EQ(parse_utc("2026-03-01T00:01:00Z").value() - parse_utc("2026-02-28T23:59:00Z").value(), 120);
  EXPECT_EQ(parse_utc("1969-12-31T23:59:59Z"), -1);
}

TEST(UtcTime, AnotherFormIsNone) {
  for (const char* text : {"", "2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00+01:00",
                           "2026-01-01 00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T00:-1:00Z",
                           "2026-00-01T00:00:00Z", "2026-01-01T00:00:61Z", "+026-01-01T00:00:00Z"})
    EXPECT_FALSE(parse_utc(text).has_value()) << text;
}

}  // namespace
}  // namespace angio
