#include "mesh/estimate.hpp"

#include <gtest/gtest.h>

namespace angio::mesh {
namespace {

TEST(Estimate, IsRoundsTimesTestsOfAPair) {
  model::MeshPlan plan;
  // Round trips 0.1 + 1 s, two directions of 0.1 + 2 + 0.5 s.
  EXPECT_EQ(estimate(plan, 7, 1, 0).tests, 3U);
  EXPECT_NEAR(estimate(plan, 7, 1, 0).seconds, 7 * 6.3, 1e-9);
  EXPECT_NEAR(estimate(plan, 7, 2, 0).seconds, 7 * 12.6, 1e-9);
  plan.all_nics = true;
  EXPECT_EQ(estimate(plan, 7, 2, 0).tests, 12U);
  plan.all_nics = false;
  plan.level = model::MeshLevel::kBandwidth;
  plan.rdma = true;
  EXPECT_EQ(estimate(plan, 1, 1, 2).tests, 6U);
  EXPECT_NEAR(estimate(plan, 1, 1, 2).seconds, 5.2 + 4 * 3.2, 1e-9);
}

TEST(Estimate, LongMeshesAreToldOfASample) {
  model::MeshResult result;
  result.hosts.resize(300);
  EXPECT_EQ(
      size_line(result, full_mesh(300), 0),
      "299 rounds of at most 150 pairs at once, 3 tests a pair: about 32 min; --sample 6 takes about 38 s");
  EXPECT_EQ(size_line(result, at_most(sampled_mesh(300, 6), 75), 75),
            "11 rounds of at most 75 pairs at once, 3 tests a pair: about 70 s");
}

TEST(Estimate, WordsOfATime) {
  EXPECT_EQ(time_words(6.3), "7 s");
  EXPECT_EQ(time_words(1884), "32 min");
  EXPECT_EQ(time_words(36000), "10.0 h");
}

}  // namespace
}  // namespace angio::mesh
