#include "import/dcgm_metrics/dcgm_metrics.hpp"

#include <gtest/gtest.h>

namespace angio::import::dcgm_metrics {
namespace {

TEST(DcgmMetrics, ReadsRatesAndTheirDeclaredType) {
  constexpr std::string_view kText =
      "# HELP DCGM_FI_PROF_PCIE_TX_BYTES The number of bytes\n"
      "# TYPE DCGM_FI_PROF_PCIE_TX_BYTES counter\n"
      "DCGM_FI_PROF_PCIE_TX_BYTES{gpu=\"0\",UUID=\"GPU-0\",modelName=\"NVIDIA L40S\",Hostname=\"a\"} 175084\n"
      "DCGM_FI_PROF_PCIE_TX_BYTES{gpu=\"1\",modelName=\"NVIDIA L40S\"} nonsense\n"
      "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 33\n"
      "DCGM_FI_PROF_PCIE_TX_BYTES{gpu=\"2\n";
  EXPECT_TRUE(looks_like(kText));
  const model::DcgmMetrics metrics = parse(kText);
  ASSERT_EQ(metrics.rates.size(), 1U);
  EXPECT_EQ(metrics.rates[0].type, "counter");
  EXPECT_EQ(metrics.rates[0].gpu, "0");
  EXPECT_EQ(metrics.rates[0].gpu_name, "NVIDIA L40S");
  EXPECT_DOUBLE_EQ(metrics.rates[0].rate.value, 175084);
  EXPECT_EQ(metrics.rates[0].line, 3U);
  EXPECT_FALSE(looks_like("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} 33\n"));
}

}  // namespace
}  // namespace angio::import::dcgm_metrics
