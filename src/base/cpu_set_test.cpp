#include "base/cpu_set.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace angio {
namespace {

using Members = std::vector<std::uint32_t>;

CpuSet list(std::string_view text) {
  const auto set = parse_cpu_list(text);
  EXPECT_TRUE(set.has_value()) << text;
  return set.value_or(CpuSet());
}

TEST(CpuList, ReadsSingleNumbersAndRanges) {
  EXPECT_EQ(list("0-3,8").members(), (Members{0, 1, 2, 3, 8}));
  EXPECT_EQ(list("7").members(), (Members{7}));
  EXPECT_EQ(list(" 0-1, 4 \n").members(), (Members{0, 1, 4}));
}

TEST(CpuList, EmptyTextIsTheEmptySet) {
  EXPECT_TRUE(list("").empty());
  EXPECT_TRUE(list("\n").empty());
}

TEST(CpuList, ReadsTheKernelsDocumentedExample) {
  // Documentation/admin-guide/kernel-parameters.rst: "1,2,10-20,100-2000:2/25"
  const CpuSet set = list("1,2,10-20,100-2000:2/25");
  EXPECT_TRUE(set.contains(100) && set.contains(101) && set.contains(125) && set.contains(126));
  EXPECT_FALSE(set.contains(102) || set.contains(124) || set.contains(127));
  EXPECT_EQ(set.size(), 2U + 11U + 2U * 76U + 1U);  // 76 whole groups of 25, then CPU 2000 alone
}

TEST(CpuList, ReadsTasksetStride) {
  EXPECT_EQ(list("0-8:4").members(), (Members{0, 4, 8}));
}

TEST(CpuList, RefusesWhatIsNoList) {
  for (const char* text : {"a", "1,", ",1", "3-1", "1-", "-1", "1--2", "0-3:0", "0-3:", "0-9:3/2", "0-9:0/2",
                           "1 2", "0x3", "16-N", "65536", "0-4294967295", "99999999999999999999"}) {
    EXPECT_FALSE(parse_cpu_list(text).has_value()) << text;
  }
}

TEST(CpuList, HugeStrideDoesNotWrapAround) {
  EXPECT_FALSE(parse_cpu_list("5-10:4294967295").has_value());
  EXPECT_EQ(list("5-10:65535").members(), (Members{5}));
}

TEST(CpuList, RepeatedWholeRangesEndInsteadOfHanging) {
  std::string hostile = "0-65535";
  for (int i = 0; i < 100000; ++i)
    hostile += ",0-65535";
  EXPECT_FALSE(parse_cpu_list(hostile).has_value());
}

TEST(CpuMask, ReadsWordsMostSignificantFirst) {
  EXPECT_EQ(to_list(parse_cpu_mask("ff,0000000f").value_or(CpuSet())), "0-3,32-39");
  EXPECT_EQ(to_list(parse_cpu_mask("00000000,00000000,00000001\n").value_or(CpuSet())), "0");
  EXPECT_EQ(to_list(parse_cpu_mask("0x5").value_or(CpuSet())), "0,2");
}

TEST(CpuMask, RefusesWhatIsNoMask) {
  for (const char* text : {"", "g", "1,,1", "100000000", "-1", "ff,"}) {
    EXPECT_FALSE(parse_cpu_mask(text).has_value()) << text;
  }
  std::string longest = "1";
  for (std::uint32_t word = 0; word < 2048; ++word)
    longest += ",00000000";
  EXPECT_FALSE(parse_cpu_mask(longest).has_value());
}

TEST(CpuSet, PrintsBackWhatItRead) {
  for (const char* text : {"", "0", "0-3", "0-3,8", "0-13,112-125", "65535"}) {
    EXPECT_EQ(to_list(list(text)), text);
  }
}

TEST(CpuSet, IgnoresNumbersBeyondTheLimit) {
  CpuSet set;
  set.insert(CpuSet::kMaxCpu + 1);
  EXPECT_TRUE(set.empty());
  set.insert(CpuSet::kMaxCpu);
  EXPECT_EQ(set.first(), CpuSet::kMaxCpu);
}

TEST(CpuSet, EqualityIgnoresHowItCameAbout) {
  CpuSet set = list("0,500");
  set.erase(500);
  EXPECT_EQ(set, list("0"));
  EXPECT_EQ(list("0-127") & list("0-3"), list("0-3"));
  EXPECT_EQ(list("0-3,200") - list("200"), list("0-3"));
}

TEST(CpuSet, Algebra) {
  const CpuSet a = list("0-3");
  const CpuSet b = list("2-5,70");
  EXPECT_EQ(to_list(a | b), "0-5,70");
  EXPECT_EQ(to_list(a & b), "2-3");
  EXPECT_EQ(to_list(a - b), "0-1");
  EXPECT_TRUE(list("2-3").is_subset_of(a));
  EXPECT_FALSE(b.is_subset_of(a));
  EXPECT_TRUE(CpuSet().is_subset_of(a));
  EXPECT_TRUE(a.intersects(b));
  EXPECT_FALSE(a.intersects(list("70")));
  EXPECT_EQ(CpuSet().first(), std::nullopt);
}

}  // namespace
}  // namespace angio
