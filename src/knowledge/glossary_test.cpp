#include "knowledge/glossary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "base/text.hpp"

namespace angio::knowledge {
namespace {

std::vector<std::string> headings(std::string_view word) {
  std::vector<std::string> names;
  for (const GlossaryTerm* term : look_up(word).terms)
    names.emplace_back(term->names.front());
  return names;
}

std::string pattern_of(std::string_view line) {
  const Meanings meanings = look_up(line);
  return meanings.log_lines.empty() ? "" : std::string(meanings.log_lines.front()->pattern);
}

using Names = std::vector<std::string>;

TEST(Glossary, EveryNameFindsItsTerm) {
  for (const GlossaryTerm& term : glossary()) {
    for (const std::string_view name : term.names) {
      const Meanings meanings = look_up(name);
      EXPECT_NE(std::ranges::find(meanings.terms, &term), meanings.terms.end()) << name;
    }
  }
}

TEST(Glossary, WhatAnEntryPointsToIsThere) {
  for (const GlossaryTerm& term : glossary()) {
    for (const std::string_view other : term.see)
      EXPECT_FALSE(look_up(other).empty()) << term.names.front() << " see " << other;
  }
  for (const LogLine& line : log_lines()) {
    for (const std::string_view other : line.see)
      EXPECT_FALSE(look_up(other).empty()) << line.pattern << " see " << other;
  }
}

TEST(LookUp, CaseDoesNotMatter) {
  EXPECT_EQ(headings("phb"), Names{"PHB"});
  EXPECT_EQ(headings("ll128"), Names{"LL128"});
  EXPECT_EQ(look_up("nccl_ib_timeout").variables.front()->name, "NCCL_IB_TIMEOUT");
  EXPECT_EQ(look_up("  Physical   STATE: polling ").terms.front()->names.front(), "Physical state: Polling");
}

TEST(LookUp, AWordMayBeSeveralThings) {
  EXPECT_EQ(headings("2"), (Names{"IBV_WC_LOC_QP_OP_ERR", "ncclSystemError"}));
  EXPECT_EQ(headings("12"), Names{"IBV_WC_RETRY_EXC_ERR"});
}

TEST(LookUp, TheUnitAsWrittenComesFirst) {
  EXPECT_EQ(headings("Gb/s"), (Names{"Gb/s", "GB/s"}));
  EXPECT_EQ(headings("GB/s"), (Names{"GB/s", "Gb/s"}));
}

TEST(LookUp, AVariableGoesWithoutItsPrefixAndWithAValue) {
  EXPECT_EQ(look_up("ib_timeout").variables.front()->name, "NCCL_IB_TIMEOUT");
  const Meanings meanings = look_up("export NCCL_ALGO=Ring");
  EXPECT_EQ(meanings.variables.front()->name, "NCCL_ALGO");
  EXPECT_EQ(meanings.value, "Ring");
  EXPECT_TRUE(look_up("NCCL_NO_SUCH_THING=1").empty());
  EXPECT_TRUE(look_up("=1").empty());
}

TEST(LookUp, RulesOfBothKinds) {
  EXPECT_EQ(look_up("pcie.link.width-reduced").rules.front()->id, "pcie.link.width-reduced");
  if (!lint_rules().empty()) {
    EXPECT_EQ(look_up(lint_rules().front().id).lint_rules.front(), &lint_rules().front());
  }
}

TEST(LookUp, AFieldOfIbstat) {
  EXPECT_EQ(headings("Rate: 400"), Names{"Rate"});
  EXPECT_EQ(headings("State: Active"), Names{"State: Active"});
  EXPECT_EQ(headings("phys_state: 5: LinkUp"), Names{"Physical state: LinkUp"});
  EXPECT_EQ(headings("SM lid: 1"), Names{"SM lid"});
}

TEST(LookUp, LinesOfALog) {
  EXPECT_EQ(pattern_of("node7:812:900 [3] NCCL INFO NET/IB : No device found."), "NET/IB : No device found.");
  EXPECT_EQ(pattern_of("node7:812:900 [3] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3/GDRDMA"),
            "Channel * -> * via NET/IB/*GDRDMA*");
  EXPECT_EQ(pattern_of("Channel 00/0 : 7[7] -> 8[0] [send] via NET/IB/3"), "Channel * -> * via NET/IB/*");
  EXPECT_EQ(pattern_of("Channel 00/16 : 0 1 2 3 4 5 6 7"), "Channel */* : *");
  EXPECT_EQ(
      pattern_of(
          "NET/IB : Got completion from peer 10.1.2.3<4711> with status=12 opcode=0 len=0 vendor err 129"),
      "Got completion *status=12*");
  EXPECT_EQ(pattern_of("NET/IB : Got completion from peer 10.1.2.3<4711> with status=4 opcode=0"),
            "Got completion *");
  EXPECT_EQ(pattern_of("nccl warn duplicate gpu detected : rank 0 and rank 1 both on cuda device 1b000"),
            "Duplicate GPU detected : rank * and rank * both on CUDA device *");
  EXPECT_EQ(pattern_of("the quick brown fox"), "");
}

TEST(LookUp, PiecesOfALine) {
  EXPECT_EQ(headings("via P2P/CUMEM"), Names{"P2P/CUMEM"});
  EXPECT_EQ(headings("via P2P/CUMEM/read"), Names{"P2P/CUMEM"});
  EXPECT_EQ(headings("via NET/IB/3"), Names{"NET/IB"});
  EXPECT_EQ(headings("status=12"), Names{"IBV_WC_RETRY_EXC_ERR"});
  EXPECT_EQ(headings("error 12"), Names{"IBV_WC_RETRY_EXC_ERR"});
  EXPECT_EQ(headings("error 2"), Names{"IBV_WC_LOC_QP_OP_ERR"});
  EXPECT_EQ(headings("error 12 of 13"), Names{});
  EXPECT_EQ(headings("NVRM: Xid (PCI:0000:1b:00): 79, pid='<unknown>', GPU has fallen off the bus."),
            Names{"Xid 79"});
  EXPECT_EQ(headings("kernel: NVRM: Xid (PCI:0000:4f:00.0): 31, pid=4711"), Names{"Xid 31"});
  EXPECT_EQ(headings("Xid: 79"), Names{"Xid 79"});
  EXPECT_EQ(headings("NVRM: Xid (PCI:0000:1b:00"), Names{});
  EXPECT_EQ(headings("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgs)"), Names{"ncclDevKernel"});
  EXPECT_EQ(pattern_of("socketStartConnect: Connect to 192.0.2.7<50012> failed : Connection refused"),
            "socketStartConnect: Connect to * failed : Connection refused*");
  EXPECT_EQ(pattern_of("socketStartConnect: Connect to 192.0.2.7<50012> failed : No route to host"),
            "socketStartConnect: Connect to * failed : *");
  EXPECT_EQ(pattern_of("[PG 0 Rank 3] Heartbeat monitor timed out! Process will be terminated"),
            "Heartbeat monitor timed out*");
  EXPECT_EQ(pattern_of("write: No space left on device"), "No space left on device");
}

TEST(LookUp, AWordThatAVariableTakes) {
  const Meanings meanings = look_up("INIT");
  ASSERT_EQ(meanings.variables.size(), 1U);
  EXPECT_EQ(meanings.variables.front()->name, "NCCL_DEBUG_SUBSYS");
  EXPECT_EQ(meanings.value, "INIT");
}

TEST(LookUp, HardwareWords) {
  EXPECT_EQ(headings("LnkCap"), Names{"LnkSta"});
  EXPECT_EQ(headings("x8"), Names{"x16"});
  EXPECT_EQ(headings("nps4"), Names{"NPS4"});
  EXPECT_EQ(headings("SNC"), Names{"SNC"});
  EXPECT_EQ(headings("SLIT"), Names{"SLIT"});
  EXPECT_EQ(headings("ibv_reg_mr"), Names{"ibv_reg_mr"});
}

TEST(LookUp, HostileTextMeansNothing) {
  EXPECT_TRUE(look_up("").empty());
  EXPECT_TRUE(look_up("   ").empty());
  EXPECT_TRUE(look_up(std::string(1U << 20U, '*')).empty());
  EXPECT_TRUE(look_up(std::string("\x1b[31m\xff\x00 x", 8)).empty());
}

TEST(Suggestions, NamesThatHoldTheWordElseTheNearest) {
  EXPECT_EQ(suggestions("pcie.link.width").front(), "pcie.link.width-reduced");
  EXPECT_EQ(suggestions("NCCL_IB_GIDINDEX"), Names{"NCCL_IB_GID_INDEX"});
  EXPECT_EQ(suggestions("IB_TIMOUT"), Names{"NCCL_IB_TIMEOUT"});
  EXPECT_EQ(suggestions("NCCL_IB_GIDINDEX=3"), Names{"NCCL_IB_GID_INDEX"});
  EXPECT_TRUE(suggestions("NCCL_FOO").empty());
  EXPECT_EQ(suggestions("busbv"), Names{"busbw"});
  for (const char* word : {"x9", "3X", "0x", "17x", "4711", "q"})
    EXPECT_TRUE(suggestions(word).empty()) << word;
  EXPECT_TRUE(suggestions("qqqqqqqqq").empty());
  EXPECT_TRUE(suggestions(std::string(5000, 'a')).empty());
}

TEST(LogLines, ThePatternMayBeginAnywhere) {
  const LogLine line{"Using network *", "", "", "", {}, ""};
  EXPECT_TRUE(matches(line, "h:1:2 [0] NCCL INFO Using network Socket"));
  EXPECT_TRUE(matches(line, "USING   NETWORK IB"));
  EXPECT_FALSE(matches(line, "network Using"));
}

}  // namespace
}  // namespace angio::knowledge
