#include "history/environment.hpp"

#include <gtest/gtest.h>

#include "history/samples.hpp"

namespace angio::history {
namespace {

model::Machine machine_of(const std::string& driver) {
  model::Machine machine;
  machine.cpus.model.name = model::Observed<std::string>::known("Xeon", {});
  machine.cpus.packages.resize(2);
  machine.cpus.cores.resize(112);
  machine.gpus.resize(8);
  for (model::Gpu& gpu : machine.gpus)
    gpu.name = model::Observed<std::string>::known("H100", {});
  machine.software.nvml_driver = model::Observed<std::string>::known(driver, {});
  machine.software.settings = {
      {"NCCL_ALGO", "Ring", {}}, {"NCCL_DEBUG_FILE", "/tmp/x", {}}, {"HOME", "/root", {}}};
  return machine;
}

TEST(HistoryEnvironment, FactsOfAMachine) {
  const Environment environment = environment_of(machine_of("550.90"), {{"nccl", "2.28.9"}, {"angio", ""}});
  const std::vector<Fact> expected{{"hardware", "CPUs", "2 x Xeon, 112 cores"},
                                   {"hardware", "GPUs", "8 x H100"},
                                   {"settings", "NCCL_ALGO", "Ring"},
                                   {"versions", "driver", "550.90"},
                                   {"versions", "nccl", "2.28.9"}};
  EXPECT_EQ(environment.facts, expected);
  EXPECT_EQ(fingerprint_of(environment).size(), 16U);
  EXPECT_EQ(fingerprint_of({}), "");
}

TEST(HistoryEnvironment, WhatDiffersIsNamed) {
  const Environment before = environment_of(machine_of("550.90"), {});
  model::Machine machine = machine_of("570.86");
  machine.software.settings.clear();
  const Environment after = environment_of(machine, {{"nccl", "2.28.9"}});
  EXPECT_NE(fingerprint_of(before), fingerprint_of(after));
  const auto changes = changes_between(before, after);
  ASSERT_EQ(changes.size(), 3U);
  EXPECT_EQ(in_words(changes[0]), "NCCL_ALGO Ring -> unset");
  EXPECT_EQ(in_words(changes[1]), "driver 550.90 -> 570.86");
  EXPECT_EQ(in_words(changes[2]), "nccl not known -> 2.28.9");
  EXPECT_TRUE(changes_between(before, before).empty());
}

TEST(HistoryEnvironment, JsonThereAndBack) {
  const Environment environment = environment_of(machine_of("550.90"), {});
  const auto back = parse_environment(environment_json(environment));
  ASSERT_TRUE(back.has_value());
  EXPECT_EQ(*back, environment);
  EXPECT_TRUE(environment_json({}).is_null());
  EXPECT_FALSE(parse_environment(Json{}).value().is_known());
  for (const char* wrong :
       {R"("text")", R"({"hardware": 3})", R"({"versions": {"driver": 550}})", R"({"versions": {"": "x"}})"})
    EXPECT_FALSE(parse_environment(parse_json(wrong).value()).has_value()) << wrong;
}

TEST(HistoryEnvironment, SettingsOfSpeed) {
  for (const char* name :
       {"NCCL_ALGO", "UCX_TLS", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "OMP_NUM_THREADS", "NCCL_IB_HCA"})
    EXPECT_TRUE(is_setting_of_speed(name)) << name;
  for (const char* name :
       {"NCCL_DEBUG", "UCX_LOG_LEVEL", "NCCL_COMM_ID", "HOME", "SLURM_JOB_ID", "NCCL_TOPO_DUMP_FILE"})
    EXPECT_FALSE(is_setting_of_speed(name)) << name;
}

// By hand: of 252 orders of 5 and 5 one has no win at all, of 70 orders of 4 and 4 one.
TEST(HistorySamples, ExactChances) {
  const std::vector<double> a{1, 2, 3, 4, 5};
  const std::vector<double> b{11, 12, 13, 14, 15};
  EXPECT_NEAR(compare_samples(a, b).chance, 2.0 / 252, 1e-12);
  EXPECT_NEAR(compare_samples(b, a).chance, 2.0 / 252, 1e-12);
  EXPECT_NEAR(compare_samples(std::vector<double>{1, 2, 3, 4}, std::vector<double>{5, 6, 7, 8}).chance,
              2.0 / 70, 1e-12);
  // 1, 3 against 2, 4: U = 1 or less has 2 of 6 orders (0 and 1), twice.
  EXPECT_NEAR(compare_samples(std::vector<double>{1, 3}, std::vector<double>{2, 4}).chance, 4.0 / 6, 1e-12);
  EXPECT_NEAR(compare_samples(std::vector<double>{100, 100, 100}, std::vector<double>{110, 110, 110}).ratio,
              1.1, 1e-12);
  EXPECT_DOUBLE_EQ(compare_samples(std::vector<double>{7, 7, 7}, std::vector<double>{7, 7, 7}).chance, 1);
  EXPECT_DOUBLE_EQ(compare_samples({}, b).chance, 1);
}

TEST(HistorySamples, ManyValuesByTheNormalDistribution) {
  std::vector<double> a;
  std::vector<double> b;
  for (int at = 0; at < 40; ++at) {
    a.push_back(at);
    b.push_back(at + 0.5);
  }
  EXPECT_GT(compare_samples(a, b).chance, 0.5);
  for (double& value : b)
    value += 20;
  EXPECT_LT(compare_samples(a, b).chance, 1e-4);
}

}  // namespace
}  // namespace angio::history
