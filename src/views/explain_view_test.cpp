#include "views/explain_view.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "views/explain_words.hpp"

namespace angio::views {
namespace {

using knowledge::find_variable;
using knowledge::look_up;

std::string shown(std::string_view word, std::string_view version = {}) {
  const knowledge::Meanings meanings = look_up(word);
  return render_terminal(explain_document(std::span(&meanings, 1), version), {.width = 200});
}

TEST(ExplainView, AVariableTellsItsHistory) {
  const std::string text = shown("NCCL_IB_TIMEOUT");
  EXPECT_TRUE(contains(text, "variable of NCCL, NET/IB"));
  EXPECT_TRUE(contains(text, "20 since 2.23.4, 18 since 2.14.3, 14 before"));
  EXPECT_TRUE(contains(text, "NCCL_IB_RETRY_CNT: time to the error"));
}

TEST(ExplainView, OneReleaseTellsItsOwnDefault) {
  const std::string text = shown("NCCL_IB_TIMEOUT", "2.18.3");
  EXPECT_TRUE(contains(text, "default  18\n"));
  EXPECT_TRUE(contains(text, "read by  NCCL 2.18.3\n"));
  EXPECT_FALSE(contains(text, "2.23.4"));
  EXPECT_TRUE(contains(shown("NCCL_RAS_ENABLE", "2.18.3"), "not by NCCL 2.18.3: since 2.24.3"));
  EXPECT_TRUE(contains(shown("NCCL_WORK_FIFO_DEPTH", "2.28.9"), "not by NCCL 2.28.9: 2.21.5 was the last"));
}

TEST(ExplainView, TheReleaseOfNcclSaysNothingOfOthers) {
  EXPECT_EQ(shown("UCX_TLS", "2.18.3"), shown("UCX_TLS"));
}

TEST(ExplainView, AWordThatTheReleaseLacksSaysSo) {
  EXPECT_TRUE(contains(shown("NCCL_ALGO", "2.18.3"), "PAT (not in 2.18.3: since 2.23.4)"));
  EXPECT_TRUE(contains(shown("NCCL_ALGO", "2.18.3"), "CollNet (not in 2.18.3: up to 2.13.4)"));
  EXPECT_TRUE(contains(shown("NCCL_ALGO", "2.23.4"), "PAT: "));
}

TEST(ExplainView, AValueIsExplainedToo) {
  EXPECT_TRUE(contains(shown("NCCL_CROSS_NIC=1"), "set to   1: any NIC"));
  EXPECT_TRUE(contains(shown("NCCL_BUFFSIZE=8M"), "8M: NCCL reads the number at its beginning"));
  EXPECT_TRUE(contains(shown("NCCL_IB_TIMEOUT=022"), "022: the 0 in front makes it octal"));
  EXPECT_TRUE(contains(shown("NCCL_IB_TIMEOUT=22"), "set to   22\n"));
  const std::string list = shown("NCCL_ALGO=^tree,Coll");
  EXPECT_TRUE(contains(
      list, "set to   ^tree,Coll\n         Tree: AllReduce only\n         Coll: none of the words below\n"));
}

TEST(ExplainView, CollectivesInAListAreNoWords) {
  const std::string text = shown("NCCL_ALGO=ring;allreduce:tree,nvls");
  EXPECT_FALSE(contains(text, "none of the words"));
  EXPECT_TRUE(contains(text, "\n         NVLS (since 2.17.1): "));
}

TEST(ExplainView, WhatNobodyReadsSaysSo) {
  const std::string text = shown("NCCL_MAX_P2P_PEERS");
  EXPECT_TRUE(contains(text, "not read"));
  EXPECT_FALSE(contains(text, "read by"));
}

TEST(ExplainView, SeveralMeaningsAreAllShown) {
  const std::string text = shown("2");
  EXPECT_TRUE(contains(text, "ncclSystemError"));
  EXPECT_TRUE(contains(text, "IBV_WC_LOC_QP_OP_ERR"));
}

TEST(ExplainView, EveryExampleOfTheListMeansSomething) {
  for (const ExplainKind& kind : explain_kinds()) {
    EXPECT_GT(kind.count, 0U) << kind.name;
    for (std::string example : kind.examples) {
      std::erase(example, '"');
      EXPECT_FALSE(look_up(example).empty()) << example;
    }
  }
}

TEST(ExplainView, EveryKindOfTheGlossaryIsListed) {
  const auto kinds = explain_kinds();
  for (const knowledge::GlossaryTerm& term : knowledge::glossary())
    EXPECT_NE(std::ranges::find(kinds, term.kind, &ExplainKind::name), kinds.end()) << term.kind;
}

TEST(ExplainView, EveryKindCanBeListedBothWays) {
  for (const ExplainKind& kind : explain_kinds()) {
    EXPECT_FALSE(kind_document(kind.name).blocks.empty()) << kind.name;
    const Json json = kind_json(kind.name);
    ASSERT_NE(json.find("entries"), nullptr) << kind.name;
    EXPECT_EQ(json.find("entries")->as_array()->size(), kind.count) << kind.name;
  }
  EXPECT_TRUE(kind_document("no-kind").blocks.empty());
  EXPECT_TRUE(kind_json("no-kind").is_null());
}

TEST(ExplainJson, AVariableOfOneRelease) {
  const std::vector<knowledge::Meanings> words = {look_up("NCCL_IB_SPLIT_DATA_ON_QPS"), look_up("LL")};
  const Json json = explain_json(words, "2.18.3");
  EXPECT_EQ(json.find("meanings")->as_array()->size(), 2U);
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.explain/1");
  const Json& meaning = json.find("meanings")->as_array()->front();
  EXPECT_EQ(*meaning.find("kind")->as_string(), "variable");
  EXPECT_EQ(*meaning.find("at")->find("default")->as_string(), "1");
  EXPECT_EQ(*meaning.find("at")->find("life")->as_string(), "read");
  EXPECT_EQ(meaning.find("defaults")->as_array()->size(), 2U);
  EXPECT_TRUE(meaning.find("until")->is_null());
}

TEST(ExplainWords, WhatAVariableTakes) {
  EXPECT_EQ(takes_words(*find_variable("NCCL_IB_RETRY_CNT")), "0 to 7");
  EXPECT_EQ(takes_words(*find_variable("NCCL_SOCKET_RETRY_CNT")), "1 and more");
  EXPECT_EQ(takes_words(*find_variable("NCCL_IB_DISABLE")), "0 or 1");
  EXPECT_EQ(takes_words(*find_variable("NCCL_IB_GID_INDEX")), "-1 or an index, as show_gids lists them");
}

}  // namespace
}  // namespace angio::views
