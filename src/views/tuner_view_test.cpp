#include "views/tuner_view.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace angio::views {
namespace {

TunerTable table_of(const char* text) {
  return {"table.csv", std::make_shared<const tuner::Table>(tuner::parse_table(text))};
}

std::string shown(const report::Document& document) {
  return report::render_terminal(document, {.width = 80, .colour = false, .ascii = true});
}

TEST(TunerView, ARefusalNamesEveryLine) {
  const std::string text =
      shown(tuner_check_document(table_of("allreduce,0,1K,rin,ll,-1,1,8\nallreduce,0,1K,ring,ll,99,1,8\n")));
  EXPECT_NE(text.find("table.csv is refused: 2 problems."), std::string::npos) << text;
  EXPECT_NE(text.find("line 1  there is no algorithm \"rin\""), std::string::npos) << text;
  EXPECT_NE(text.find("did you mean ring?"), std::string::npos) << text;
  EXPECT_NE(text.find("line 2  channels \"99\""), std::string::npos) << text;
}

TEST(TunerView, EverySizeOfACommunicator) {
  TunerQuestion question;
  question.nodes = 2;
  question.ranks = 16;
  question.collective = tuner::Collective::kAllReduce;
  const TunerTable given = table_of("allreduce,1K,65537,tree,ll,4,2,16\n");
  const std::string text = shown(tuner_choice_document(given, question));
  EXPECT_NE(text.find("every size on 2 nodes, 16 ranks, by table.csv:"), std::string::npos) << text;
  EXPECT_NE(text.find("1K  65537  tree"), std::string::npos) << text;
  EXPECT_NE(text.find("65538      *  NCCL's own choice"), std::string::npos) << text;
  question.bytes = 1024;
  const Json json = tuner_choice_json(given, question);
  ASSERT_EQ(json.find("choices")->as_array()->size(), 1U);
  const Json& rule = *json.find("choices")->as_array()->front().find("rule");
  EXPECT_EQ(*rule.find("algorithm")->as_string(), "tree");
  EXPECT_EQ(*rule.find("channels")->as_integer(), 4);
  EXPECT_TRUE(rule.find("reg_buff")->is_null());
}

}  // namespace
}  // namespace angio::views
