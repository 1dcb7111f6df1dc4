#include "import/smi_query/smi_query.hpp"

#include <gtest/gtest.h>

#include "support/samples.hpp"

namespace angio::import {
namespace {

using test::import_sample;
using test::note_count;

TEST(SmiQuery, ReadsDriverAndGpus) {
  const model::Machine machine = import_sample("smi_query/whole.txt");
  EXPECT_TRUE(machine.software.nvml_driver.is("570.86.15"));
  EXPECT_TRUE(machine.software.cuda_driver.is(12080));
  ASSERT_EQ(machine.gpus.size(), 2U);
  const model::Gpu& gpu = machine.gpus[1];
  EXPECT_TRUE(gpu.address.is(PciAddress{0, 0x43, 0, 0}));
  EXPECT_TRUE(gpu.name.is("NVIDIA Sample 1"));
  EXPECT_TRUE(gpu.uuid.is("GPU-00000001-1111-2222-3333-444444444444"));
  EXPECT_TRUE(gpu.pcie_generation.is(1));
  EXPECT_TRUE(gpu.pcie_generation_max.is(5));
  EXPECT_TRUE(gpu.pcie_width.is(8));
  EXPECT_TRUE(gpu.pcie_width_max.is(16));
  EXPECT_TRUE(gpu.pcie_replays.is(7));
  EXPECT_EQ(cite(machine, gpu.pcie_width.source()), "whole.txt:98");
  EXPECT_TRUE(machine.notes.empty());
}

TEST(SmiQuery, ReadsHealthAndLoad) {
  const model::Machine machine = import_sample("smi_query/whole.txt");
  const model::Gpu& gpu = machine.gpus.at(1);
  EXPECT_TRUE(gpu.memory.is(Bytes{81559ULL << 20U}));
  EXPECT_TRUE(gpu.ecc.is(true));
  EXPECT_TRUE(gpu.ecc_uncorrected.is(3));  // parity 1 + SEC-DED 2; aggregate left out
  EXPECT_TRUE(gpu.remapped_rows.is(4));
  EXPECT_TRUE(gpu.remap_pending.is(true));
  EXPECT_TRUE(gpu.remap_failed.is(false));
  EXPECT_TRUE(gpu.throttle_reasons.is(0x4 | 0x8 | 0x40));
  EXPECT_TRUE(machine.gpus[0].throttle_reasons.is(0));
  EXPECT_TRUE(gpu.sm_clock.is(Hertz{1755e6}));
  EXPECT_TRUE(gpu.sm_clock_max.is(Hertz{1980e6}));
  EXPECT_TRUE(gpu.power.is(Watts{71.97}));
  EXPECT_TRUE(gpu.power_limit.is(Watts{700}));
  EXPECT_TRUE(gpu.temperature.is(Celsius{41}));
  EXPECT_TRUE(gpu.utilization.is(97));
  EXPECT_TRUE(gpu.compute_mode.is("exclusive process"));
  EXPECT_TRUE(gpu.persistence.is(true));
  EXPECT_EQ(gpu.mig.reason(), model::Reason::kUnsupported);
  EXPECT_EQ(gpu.fabric.value_or({}).state, "completed");
}

TEST(SmiQuery, OneProcessOnTwoGpusWithoutItsArguments) {
  const model::Machine machine = import_sample("smi_query/whole.txt");
  ASSERT_EQ(machine.processes.size(), 1U);
  EXPECT_EQ(machine.processes[0].id, 4242U);
  EXPECT_EQ(machine.processes[0].command, "python");
  EXPECT_EQ(machine.processes[0].gpus, (std::vector<std::uint32_t>{0, 1}));
}

TEST(SmiQuery, OldNamesMeanTheSame) {
  const model::Machine machine = import_sample("smi_query/old_names.txt");
  EXPECT_TRUE(machine.gpus.at(1).throttle_reasons.is(0x4 | 0x8 | 0x40));
  EXPECT_TRUE(machine.gpus.at(1).power.is(Watts{71.97}));
  EXPECT_TRUE(machine.gpus.at(1).power_limit.is(Watts{700}));
  EXPECT_TRUE(machine.notes.empty());
}

TEST(SmiQuery, CutTextKeepsWhatItHas) {
  const model::Machine machine = import_sample("smi_query/truncated.txt");
  ASSERT_EQ(machine.gpus.size(), 1U);
  EXPECT_TRUE(machine.gpus[0].pcie_width.is(16));
  EXPECT_FALSE(machine.gpus[0].memory.is_known());
  EXPECT_EQ(note_count(machine, "smi-query.gpus-missing"), 1U);
}

TEST(SmiQuery, HalfAThrottleMaskIsNoMask) {
  const model::Machine machine = import_sample("smi_query/broken.txt");
  EXPECT_TRUE(machine.gpus.at(0).throttle_reasons.is_unreadable());
  EXPECT_EQ(machine.gpus[0].performance_state.reason(), model::Reason::kFailed);
  EXPECT_EQ(machine.gpus[0].memory.reason(), model::Reason::kUnparsable);
  EXPECT_EQ(note_count(machine, "smi-query.value-unreadable"), 2U);
  EXPECT_EQ(note_count(machine, "smi-query.unknown-throttle-reason"), 1U);
  EXPECT_EQ(note_count(machine, "smi-query.unknown-field"), 1U);
}

}  // namespace
}  // namespace angio::import
