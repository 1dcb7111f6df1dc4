#include "probe/umad/mad.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace angio::probe::umad {
namespace {

TEST(UmadMad, ADirectedRequestHasItsRouteAndNoSet) {
  Route route;
  route.hops = 2;
  route.ports[1] = 1;
  route.ports[2] = 17;
  const MadBytes mad = make_request({Question::kPortInfo, 0xabcd1234, 9, &route});
  EXPECT_EQ(mad[0], 1);
  EXPECT_EQ(mad[1], 0x81);
  EXPECT_EQ(mad[2], 1);
  EXPECT_EQ(mad[3], 0x01);  // Get
  EXPECT_EQ(mad[6], 0);     // hop pointer
  EXPECT_EQ(mad[7], 2);
  EXPECT_EQ(transaction_of(mad), 0xabcd1234);
  EXPECT_EQ(mad[16], 0x00);
  EXPECT_EQ(mad[17], 0x15);
  EXPECT_EQ(mad[23], 9);
  EXPECT_TRUE(
      std::all_of(mad.begin() + 32, mad.begin() + 36, [](std::uint8_t byte) { return byte == 0xff; }));
  EXPECT_EQ(mad[128], 0);
  EXPECT_EQ(mad[129], 1);
  EXPECT_EQ(mad[130], 17);
}

TEST(UmadMad, EveryQuestionIsAGet) {
  for (const Question question : {Question::kNodeInfo, Question::kNodeDescription, Question::kSwitchInfo,
                                  Question::kPortInfo, Question::kVendorPortInfo, Question::kClassPortInfo,
                                  Question::kPortCounters, Question::kPortCountersExtended}) {
    EXPECT_EQ(make_request({question, 1, 1, nullptr})[3], 0x01) << name_of(question);
    EXPECT_FALSE(name_of(question).empty());
  }
}

TEST(UmadMad, CountersNameTheirPortInThePayload) {
  const MadBytes mad = make_request({Question::kPortCountersExtended, 7, 33, nullptr});
  EXPECT_EQ(mad[1], 0x04);
  EXPECT_EQ(mad[17], 0x1d);
  EXPECT_EQ(mad[23], 0);
  EXPECT_EQ(mad[65], 33);
  EXPECT_EQ(mad[32], 0);
  EXPECT_EQ(make_request({Question::kVendorPortInfo, 7, 3, nullptr})[16], 0xff);
  EXPECT_EQ(make_request({Question::kVendorPortInfo, 7, 3, nullptr})[17], 0x90);
}

TEST(UmadMad, AnAnswerFitsItsQuestionOrNot) {
  Route route;
  MadBytes mad = make_request({Question::kPortInfo, 5, 2, &route});
  EXPECT_FALSE(read_head(mad, Question::kPortInfo, 2).fits);  // still a request
  mad[3] = 0x81;
  mad[4] = 0x80;
  EXPECT_TRUE(read_head(mad, Question::kPortInfo, 2).fits);
  EXPECT_EQ(read_head(mad, Question::kPortInfo, 2).status, 0);
  EXPECT_EQ(read_head(mad, Question::kPortInfo, 2).transaction, 5U);
  EXPECT_FALSE(read_head(mad, Question::kPortInfo, 3).fits);  // another port
  EXPECT_FALSE(read_head(mad, Question::kSwitchInfo, 2).fits);
  mad[5] = 0x1c;
  EXPECT_EQ(read_head(mad, Question::kPortInfo, 2).status, 0x1c);
  mad[1] = 0x04;
  EXPECT_FALSE(read_head(mad, Question::kPortInfo, 2).fits);
  MadBytes counters = make_request({Question::kPortCounters, 5, 2, nullptr});
  counters[3] = 0x81;
  EXPECT_TRUE(read_head(counters, Question::kPortCounters, 2).fits);
  counters[65] = 3;  // of another port
  EXPECT_FALSE(read_head(counters, Question::kPortCounters, 2).fits);
}

TEST(UmadMad, StatusInWords) {
  EXPECT_EQ(status_words(0x001c), "invalid attribute or modifier (0x001c)");
  EXPECT_EQ(status_words(0x000c), "attribute not supported (0x000c)");
  EXPECT_EQ(status_words(0x0001), "busy (0x0001)");
  EXPECT_EQ(status_words(0x0002), "answers at another address (redirection) (0x0002)");
  EXPECT_EQ(status_words(0x4000), "unknown status (0x4000)");
}

}  // namespace
}  // namespace angio::probe::umad
