#include "knowledge/rdma_counters.hpp"

#include <gtest/gtest.h>

namespace angio::knowledge {
namespace {

TEST(RdmaCounters, KnowWhereTheyStop) {
  ASSERT_NE(find_rdma_counter("symbol_error"), nullptr);
  EXPECT_EQ(find_rdma_counter("symbol_error")->maximum, 65535U);
  EXPECT_EQ(find_rdma_counter("symbol_error")->kind, RdmaCounterKind::kLink);
  EXPECT_EQ(find_rdma_counter("link_downed")->maximum, 255U);
  EXPECT_EQ(find_rdma_counter("out_of_sequence")->maximum, 0U);
  EXPECT_EQ(find_rdma_counter("tx_pci_signal_integrity")->wraps_at_bits, 32U);
  EXPECT_EQ(find_rdma_counter("port_xmit_data")->unit, "4-byte words");
}

TEST(RdmaCounters, APriorityIsOneOfEight) {
  const RdmaCounterFact* fact = find_rdma_counter("rx_prio3_pause_duration");
  ASSERT_NE(fact, nullptr);
  EXPECT_EQ(fact->name, "rx_prio_pause_duration");
  EXPECT_EQ(fact->unit, "microseconds");
  EXPECT_EQ(find_rdma_counter("rx_prio9_pause"), nullptr);
  EXPECT_EQ(find_rdma_counter("rx_prio"), nullptr);
  EXPECT_EQ(find_rdma_counter(""), nullptr);
  EXPECT_EQ(find_rdma_counter("no_such_counter"), nullptr);
}

TEST(RdmaCounters, EachHasAMeaningInTheGlossary) {
  for (const RdmaCounterFact& fact : rdma_counters())
    EXPECT_FALSE(meaning_of_rdma_counter(fact.name).empty()) << fact.name;
  EXPECT_TRUE(meaning_of_rdma_counter("no_such_counter").empty());
}

}  // namespace
}  // namespace angio::knowledge
