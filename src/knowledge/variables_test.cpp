#include "knowledge/variables.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

namespace angio::knowledge {
namespace {

const Variable& variable(std::string_view name) {
  const Variable* found = find_variable(name);
  EXPECT_NE(found, nullptr) << name;
  return found != nullptr ? *found : variables().front();
}

std::size_t count_of(std::string_view component) {
  return static_cast<std::size_t>(std::ranges::count(variables(), component, &Variable::component));
}

TEST(Variables, TheCatalogueIsSortedAndWhole) {
  EXPECT_TRUE(std::ranges::is_sorted(variables(), {}, &Variable::name));
  EXPECT_EQ(count_of("nccl"), 281U);  // 272 of the tagged sources, 6 of the newest guide, 3 that nobody reads
  EXPECT_EQ(count_of("inspector"), 15U);
  EXPECT_EQ(count_of("nccl-tests"), 8U);
  EXPECT_EQ(count_of("ucx"), 27U);
  EXPECT_EQ(count_of("aws-ofi-plugin"), 15U);
  EXPECT_GE(count_of("pytorch"), 45U);
}

TEST(Variables, LookUpIsExact) {
  EXPECT_EQ(variable("NCCL_IB_TIMEOUT").kind, VariableKind::kInteger);
  EXPECT_EQ(find_variable("nccl_ib_timeout"), nullptr);
  EXPECT_EQ(find_variable("NCCL_IB_GIDINDEX"), nullptr);
  EXPECT_EQ(find_variable(""), nullptr);
  EXPECT_EQ(find_variable("ZZZ"), nullptr);
}

TEST(Variables, DefaultsFollowTheRelease) {
  const Variable& timeout = variable("NCCL_IB_TIMEOUT");
  EXPECT_EQ(default_at(timeout, "2.12.12"), "14");
  EXPECT_EQ(default_at(timeout, "2.14.3"), "18");
  EXPECT_EQ(default_at(timeout, "2.22.3"), "18");
  EXPECT_EQ(default_at(timeout, "2.23.4"), "20");
  EXPECT_EQ(default_at(timeout, "2.30.7"), "20");
  const Variable& split = variable("NCCL_IB_SPLIT_DATA_ON_QPS");
  EXPECT_EQ(default_at(split, "2.18.3"), "1");
  EXPECT_EQ(default_at(split, "2.19.4"), "1");
  EXPECT_EQ(default_at(split, "2.20.3"), "0");
  EXPECT_EQ(default_at(variable("NCCL_CUMEM_ENABLE"), "2.18.1"), "0");
  EXPECT_EQ(default_at(variable("NCCL_CUMEM_ENABLE"), "2.19.1"), "-2");
  EXPECT_EQ(default_at(variable("NCCL_IB_GID_INDEX"), "2.20.5"), "0");
  EXPECT_EQ(default_at(variable("NCCL_IB_GID_INDEX"), "2.21.5"), "-1");
  EXPECT_EQ(default_at(variable("NCCL_IB_TC"), "2.26.2"), "-1");
  EXPECT_EQ(default_at(variable("NCCL_PXN_C2C"), "2.27.7"), "0");
  EXPECT_EQ(default_at(variable("NCCL_DEBUG_SUBSYS"), "2.21.5"), "INIT,ENV");
}

TEST(Variables, WithoutAReleaseTheNewestDefaultCounts) {
  EXPECT_EQ(default_at(variable("NCCL_IB_TIMEOUT"), ""), "20");
  EXPECT_EQ(default_at(variable("NCCL_IB_TIMEOUT"), "latest"), "20");
}

TEST(Variables, AnUnknownDefaultIsNone) {
  EXPECT_EQ(default_at(variable("NCCL_GIN_NCONTEXTS"), "2.28.9"),
            std::nullopt);  // a constant's name in the source
  EXPECT_EQ(default_at(variable("NCCL_GIN_NCONTEXTS"), "2.29.7"), "-1");
  EXPECT_EQ(default_at(variable("NCCL_GROUP_CUDA_STREAM"), "2.30.7"), std::nullopt);
}

TEST(Variables, LifeFollowsTheRelease) {
  const Variable& depth = variable("NCCL_WORK_FIFO_DEPTH");
  EXPECT_EQ(life_at(depth, "2.12.12"), VariableLife::kNotYet);
  EXPECT_EQ(life_at(depth, "2.21.5"), VariableLife::kRead);
  EXPECT_EQ(life_at(depth, "2.22.3"), VariableLife::kRemoved);
  EXPECT_EQ(life_at(variable("NCCL_RAS_ENABLE"), "2.23.4"), VariableLife::kNotYet);
  EXPECT_EQ(life_at(variable("NCCL_RAS_ENABLE"), "2.24.3"), VariableLife::kRead);
  EXPECT_EQ(life_at(variable("NCCL_RINGS"), "2.30.7"), VariableLife::kRemoved);
  EXPECT_EQ(life_at(variable("NCCL_RAS_ENABLE"), ""), VariableLife::kRead);
  EXPECT_EQ(life_at(variable("NCCL_RAS_ENABLE"), "2.23rc1"), VariableLife::kRead);
}

TEST(Variables, WordsHaveReleases) {
  const Variable& algo = variable("NCCL_ALGO");
  EXPECT_EQ(find_word(algo, "nvlstree")->since, "2.18.1");
  EXPECT_EQ(find_word(algo, "CollNet")->until, "2.13.4");
  EXPECT_EQ(find_word(algo, "PAT")->since, "2.23.4");
  EXPECT_EQ(find_word(algo, "Coll"), nullptr);
  EXPECT_EQ(find_word(variable("NCCL_PROTO"), "ll128")->word, "LL128");
  EXPECT_EQ(find_word(variable("NCCL_P2P_LEVEL"), "P2C")->since, "2.27.3");
  EXPECT_EQ(find_word(variable("NCCL_NET_MERGE_LEVEL"), "PORT")->since, "2.24.3");
  EXPECT_EQ(find_word(variable("NCCL_IB_TIMEOUT"), "20"), nullptr);
}

TEST(Variables, RangesAndSpecialValues) {
  const Variable& gid = variable("NCCL_IB_GID_INDEX");
  EXPECT_FALSE(gid.has_range);
  ASSERT_EQ(gid.special_values.size(), 1U);
  EXPECT_EQ(gid.special_values[0], "-1");
  const Variable& qps = variable("NCCL_IB_QPS_PER_CONNECTION");
  EXPECT_TRUE(qps.has_range);
  EXPECT_EQ(qps.minimum, 1);
  EXPECT_EQ(qps.maximum, 128);
}

TEST(Variables, NamesThatNobodyReadSayWhy) {
  EXPECT_FALSE(variable("NCCL_MAX_P2P_PEERS").not_read.empty());
  EXPECT_EQ(variable("NCCL_MAX_P2P_PEERS").replaced_by, "NCCL_P2P_MAX_PEERS");
  EXPECT_FALSE(variable("NCCL_HOME").not_read.empty());
  EXPECT_TRUE(variable("NCCL_ALGO").not_read.empty());
}

TEST(Variables, OldPyTorchNamesAreNotNcclS) {
  const Variable& old = variable("NCCL_ASYNC_ERROR_HANDLING");
  EXPECT_EQ(old.component, "pytorch");
  EXPECT_EQ(old.replaced_by, "TORCH_NCCL_ASYNC_ERROR_HANDLING");
  EXPECT_EQ(old.deprecated_since, "?");
}

TEST(Variables, WhatMustBeEqualOnAllRanks) {
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_MIN_CTAS", "NCCL_MAX_CTAS", "NCCL_BUFFSIZE",
                           "NCCL_NTHREADS", "NCCL_CROSS_NIC", "NCCL_P2P_LEVEL", "NCCL_GRAPH_FILE"})
    EXPECT_TRUE(variable(name).uniform) << name;
  EXPECT_FALSE(variable("NCCL_IB_HCA").uniform);
  EXPECT_FALSE(variable("NCCL_DEBUG").uniform);
}

TEST(Variables, WhatTheGuideNames) {
  for (const char* name :
       {"NCCL_NET_GDR_LEVEL", "NCCL_ALGO", "NCCL_IB_TIMEOUT", "NCCL_GDRCOPY_ENABLE", "UCX_TLS"})
    EXPECT_TRUE(variable(name).documented) << name;
  for (const char* name : {"NCCL_CHUNK_SIZE", "NCCL_HOSTID", "NCCL_PROXY_CPUSET", "NCCL_IB_USE_INLINE"})
    EXPECT_FALSE(variable(name).documented) << name;
}

TEST(Variables, EachSaysWhatItDoesAndWhereThatIsFrom) {
  for (const Variable& row : variables()) {
    EXPECT_FALSE(row.effect.empty()) << row.name;
    EXPECT_FALSE(row.source.empty()) << row.name;
    for (const VariableInteraction& other : row.interactions)
      EXPECT_NE(find_variable(other.with), nullptr) << row.name << " with " << other.with;
  }
}

TEST(LintRules, AreSortedAndFound) {
  EXPECT_TRUE(std::ranges::is_sorted(lint_rules(), {}, &LintRule::id));
  for (const LintRule& rule : lint_rules())
    EXPECT_EQ(find_lint_rule(rule.id), &rule);
  EXPECT_EQ(find_lint_rule("no.such.rule"), nullptr);
}

}  // namespace
}  // namespace angio::knowledge
