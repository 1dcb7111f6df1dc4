#include "import/nvbandwidth/nvbandwidth.hpp"

#include <gtest/gtest.h>

namespace angio::import::nvbandwidth {
namespace {

// Written after the form of nvbandwidth 0.6; the figures are made up.
constexpr std::string_view kText =
    "nvbandwidth Version: v0.6\n"
    "Built from Git version: v0.6\n"
    "\n"
    "CUDA Runtime Version: 12040\n"
    "CUDA Driver Version: 12040\n"
    "Driver Version: 550.54.15\n"
    "\n"
    "Device 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)\n"
    "Device 1: NVIDIA H100 80GB HBM3 (00000000:43:00)\n"
    "\n"
    "Running host_to_device_memcpy_ce.\n"
    "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0     55.31     26.10\n"
    "\n"
    "SUM host_to_device_memcpy_ce 81.41\n"
    "\n"
    "Waived:\n"
    "Running device_to_device_bidirectional_memcpy_read_ce.\n"
    "memcpy CE GPU(row) <-> GPU(column) Read1 bandwidth (GB/s)\n"
    "           0         1\n"
    " 0       N/A    360.10\n"
    " 1    361.20       N/A\n"
    "memcpy CE GPU(row) <-> GPU(column) Total bandwidth (GB/s)\n"
    "           0         1\n"
    " 0       N/A    720.10\n"
    " 1    721.20       N/A\n"
    "\n"
    "SUM device_to_device_bidirectional_memcpy_read_ce 1441.30\n";

TEST(Nvbandwidth, ReadsItsText) {
  EXPECT_TRUE(looks_like(kText));
  const auto runs = parse(kText);
  ASSERT_EQ(runs.size(), 1U);
  const model::NvbandwidthRun& run = runs[0];
  EXPECT_EQ(run.version, "v0.6");
  EXPECT_EQ(run.driver, "550.54.15");
  EXPECT_EQ(run.gpus, (std::vector<std::string>{"NVIDIA H100 80GB HBM3", "NVIDIA H100 80GB HBM3"}));
  ASSERT_EQ(run.tests.size(), 3U);
  EXPECT_EQ(run.tests[0].name, "host_to_device_memcpy_ce");
  ASSERT_EQ(run.tests[0].matrix.size(), 1U);
  EXPECT_DOUBLE_EQ(run.tests[0].matrix[0][1].value_or(0), 26.10);
  EXPECT_DOUBLE_EQ(run.tests[0].sum.value_or(0), 81.41);
  EXPECT_FALSE(run.tests[1].matrix[0][0]);
  EXPECT_DOUBLE_EQ(run.tests[2].matrix[1][0].value_or(0), 721.20);  // a matrix of its own
  EXPECT_EQ(run.waived, 1U);
}

TEST(Nvbandwidth, ReadsItsJson) {
  const std::string json =
      R"x({"nvbandwidth": {"version": "v0.8", "Driver Version": "570.1", "CUDA Runtime Version": 12080,
      "GPU Device list": ["0: NVIDIA H100 80GB HBM3 (PCI:0000:07:00.0): (host-a)"],
      "testcases": [{"name": "host_to_device_memcpy_ce", "status": "Passed",
        "bandwidth_description": "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)",
        "bandwidth_matrix": [["55.10"]], "sum": 55.10},
       {"name": "device_to_device_latency_sm", "status": "Waived"},
       {"name": "device_local_copy", "status": "Error", "error": "CUDA_ERROR_OUT_OF_MEMORY"}]}})x";
  EXPECT_TRUE(looks_like_json(json));
  const auto run = parse_json_run(json, "x.json");
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->gpus, std::vector<std::string>{"NVIDIA H100 80GB HBM3"});
  ASSERT_EQ(run->tests.size(), 3U);
  EXPECT_DOUBLE_EQ(run->tests[0].matrix[0][0].value_or(0), 55.10);
  EXPECT_EQ(run->tests[1].status, "Waived");
  EXPECT_TRUE(run->tests[1].latency);
  EXPECT_EQ(run->tests[2].error, "CUDA_ERROR_OUT_OF_MEMORY");
}

TEST(Nvbandwidth, KeepsWhatIsReadableOfDamagedText) {
  const auto runs = parse(
      "Running host_to_device_memcpy_ce.\nmemcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n   0   1\n 0   "
      "55.1   x\n"
      " 1   7\nRunning device_local_copy.\nERROR: CUDA_ERROR_ILLEGAL_ADDRESS\n");
  ASSERT_EQ(runs.size(), 1U);
  ASSERT_EQ(runs[0].tests.size(), 2U);
  ASSERT_EQ(runs[0].tests[0].matrix.size(), 1U);
  EXPECT_FALSE(runs[0].tests[0].matrix[0][1]);
  EXPECT_EQ(runs[0].tests[1].status, "Error");
  EXPECT_FALSE(parse_json_run("{\"nvbandwidth\": 3}", "x"));
  EXPECT_FALSE(parse_json_run("{\"nvbandwidth\": {", "x"));
  EXPECT_TRUE(parse("").empty());
}

}  // namespace
}  // namespace angio::import::nvbandwidth
