#include "import/smi_p2p/smi_p2p.hpp"

#include <gtest/gtest.h>

#include "support/samples.hpp"

namespace angio::import {
namespace {

using model::P2pStatus;
using test::import_sample;
using test::import_text;
using test::note_count;

TEST(SmiP2p, ReadsEveryCell) {
  const model::Machine machine = import_sample("smi_p2p/whole.txt");
  ASSERT_EQ(machine.gpus.size(), 3U);
  EXPECT_TRUE(machine.gpus[0].p2p.at(1).is(P2pStatus::kOk));
  EXPECT_TRUE(machine.gpus[0].p2p.at(2).is(P2pStatus::kChipsetNotSupported));
  EXPECT_TRUE(machine.gpus[2].p2p.at(1).is(P2pStatus::kDisabledByRegkey));
  EXPECT_EQ(cite(machine, machine.gpus[2].p2p[1].source()), "whole.txt:5");
  EXPECT_FALSE(machine.stated_paths.has_value());
  EXPECT_TRUE(machine.notes.empty());
}

TEST(SmiP2p, ATableAboutNvLinkSaysNothingAboutAccess) {
  const model::Machine machine = import_sample("smi_p2p/nvlink.txt");
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.gpus[0].p2p.empty());
  EXPECT_EQ(note_count(machine, "smi-p2p.other-capability"), 1U);
}

TEST(SmiP2p, MissingCellsStayUnknown) {
  const model::Machine machine = import_sample("smi_p2p/truncated.txt");
  EXPECT_TRUE(machine.gpus[0].p2p.at(2).is(P2pStatus::kOk));
  EXPECT_TRUE(machine.gpus[1].p2p.at(2).is_unreadable());
  EXPECT_TRUE(machine.gpus[2].p2p.at(0).is_unreadable());
  EXPECT_EQ(note_count(machine, "smi-p2p.row-short"), 1U);
  EXPECT_EQ(note_count(machine, "smi-p2p.row-missing"), 1U);
}

TEST(SmiP2p, UnknownWordsAndSecondRows) {
  const model::Machine machine = import_sample("smi_p2p/broken.txt");
  EXPECT_EQ(machine.gpus[0].p2p.at(1).reason(), model::Reason::kUnparsable);
  EXPECT_TRUE(machine.gpus[1].p2p.at(0).is(P2pStatus::kTopologyNotSupported));  // the first row counts
  EXPECT_EQ(note_count(machine, "smi-p2p.unknown-status"), 1U);
  EXPECT_EQ(note_count(machine, "smi-p2p.row-unexpected"), 1U);
}

TEST(SmiP2p, BothTablesOfOneTextFillOneMachine) {
  const model::Machine machine = import_text(
      "GPU0 GPU1 CPU Affinity\nGPU0 X PIX 0-3\nGPU1 PIX X 0-3\n\n"
      "$ nvidia-smi topo -p2p r\nGPU0 GPU1\nGPU0 X NS\nGPU1 NS X\n");
  EXPECT_EQ(machine.gpus.size(), 2U);
  EXPECT_TRUE(machine.stated_paths.has_value());
  EXPECT_TRUE(machine.gpus[0].p2p.at(1).is(P2pStatus::kNotSupported));
  EXPECT_TRUE(machine.notes.empty());
}

}  // namespace
}  // namespace angio::import
