#include "scaling/read.hpp"

#include <gtest/gtest.h>

#include "base/text.hpp"
#include "scaling/columns.hpp"

namespace angio::scaling {
namespace {

Reading read(std::string_view text, const ReadWish& wish = {}) {
  auto reading = read_results(text, wish);
  EXPECT_TRUE(reading.has_value()) << (reading ? "" : reading.error().message);
  return reading ? std::move(*reading) : Reading{};
}

const Point* at(const Series& series, std::uint32_t count) {
  for (const Point& point : series.points)
    if (point.count == count) return &point;
  return nullptr;
}

TEST(ScalingNumbers, WhatIsOneAndWhatIsNot) {
  const auto value = [](std::string_view cell, bool comma = false) {
    const auto number = parse_number(cell, comma);
    return number ? number->value : -1;
  };
  EXPECT_DOUBLE_EQ(value("5,762"), 5762);
  EXPECT_DOUBLE_EQ(value("1,234.5"), 1234.5);
  EXPECT_DOUBLE_EQ(value("85 %"), 85);
  EXPECT_DOUBLE_EQ(value("1.8x"), 1.8);
  EXPECT_DOUBLE_EQ(value("**100**"), 100);
  EXPECT_DOUBLE_EQ(value("1.2k"), 1200);
  EXPECT_DOUBLE_EQ(value("100 ± 3"), 100);
  EXPECT_DOUBLE_EQ(value("1e3"), 1000);
  EXPECT_DOUBLE_EQ(value("12 ms"), 12);
  EXPECT_DOUBLE_EQ(value("1,5", true), 1.5);
  for (const char* cell :
       {"", "n/a", "-", "47-48", "482 (369 without)", "1,5", "1,23,4", "nan", "inf", "0x10", "1.2.3"})
    EXPECT_FALSE(parse_number(cell, false).has_value()) << cell;
  EXPECT_FALSE(parse_number("1,234", true).has_value());  // one and a bit, or a thousand: nobody can tell
  EXPECT_EQ(parse_count("8 GPUs"), 8U);
  EXPECT_EQ(parse_count("2x8"), 16U);
  EXPECT_EQ(parse_count("1,024"), 1024U);
  for (const char* cell : {"0", "-8", "1.5", "h100", "99999999999", "4000000000x2", "0x8"})
    EXPECT_FALSE(parse_count(cell).has_value()) << cell;
}

TEST(ScalingColumns, Names) {
  const auto role = [](const char* name) { return recognise_name(name).role; };
  for (const char* name : {"gpus", "# GPUs", "#-GPUs", "num_gpus", "World Size", "NUM_NODES", "N", "ranks"})
    EXPECT_EQ(role(name), Role::kCount) << name;
  for (const char* name : {"throughput", "Throughput (T/s/GPU)", "TPS/GPU", "samples/s", "images per sec",
                           "MFU", "Tokens / sec / GPU", "Model TFLOP / sec / GPU", "img/s"})
    EXPECT_EQ(role(name), Role::kThroughput) << name;
  for (const char* name :
       {"step_time_ms", "time (s)", "ms/step", "s/it", "elapsed", "it/s", "Iteration time [ms]"})
    EXPECT_EQ(role(name), Role::kTime) << name;
  for (const char* name : {"Memory(GiB)", "source", "Model TFLOP", "loss", "timestamp"})
    EXPECT_EQ(role(name), Role::kIgnored) << name;
  EXPECT_EQ(role("SeqLen (T)"), Role::kSetting);
  EXPECT_EQ(role("GlobalBatchSize (T)"), Role::kGlobalBatch);
  EXPECT_EQ(role("busbw GB/s"), Role::kSetting);
  EXPECT_TRUE(recognise_name("TPS/GPU").per_device);
  EXPECT_FALSE(recognise_name("tokens/s").per_device);
  EXPECT_DOUBLE_EQ(recognise_name("step_time_ms").to_seconds, 1e-3);
  EXPECT_DOUBLE_EQ(recognise_name("epoch time (min)").to_seconds, 60);
  EXPECT_DOUBLE_EQ(recognise_name("time").to_seconds, 0);
}

TEST(ScalingRead, TheSameResultsInEveryForm) {
  for (const char* text : {
           "gpus,samples/s\n1,100\n8,720\n",
           "\xef\xbb\xbfgpus;samples/s\r\n1;100,0\r\n8;720,0\r\n",
           "gpus\tsamples/s\n1\t100\n8\t720\n",
           "# of last week\ngpus samples/s\n1 100\n8 720\n",
           "Results:\n\n| gpus | samples/s |\n|---|---:|\n| 1 | **100** |\n| 8 | 720 |\n",
           R"([{"gpus": 1, "samples/s": 100}, {"gpus": 8, "samples/s": 720}])",
           R"({"runs": {"points": [{"gpus": 1, "samples/s": [100]}, {"gpus": 8, "samples/s": [720]}]}})",
           R"({"gpus": [1, 8], "samples/s": [100, 720.0]})",
           "{\"gpus\": 1, \"samples/s\": 100}\n{\"gpus\": 8, \"samples/s\": 720}\n",
       }) {
    const Reading reading = read(text);
    ASSERT_EQ(reading.series.size(), 1U) << text;
    const Series& series = reading.series[0].series;
    ASSERT_NE(at(series, 8), nullptr) << text;
    EXPECT_DOUBLE_EQ(at(series, 8)->values[0], 720) << text;
    EXPECT_DOUBLE_EQ(at(series, 1)->values[0], 100) << text;
    EXPECT_EQ(series.device, "GPU");
    EXPECT_TRUE(reading.notes.empty()) << text;
    EXPECT_FALSE(reading.series[0].said.has_value());
  }
}

TEST(ScalingRead, TimesAndTheirUnits) {
  const Reading mixed = read("ranks,time\n1,2 s\n2,1100 ms\n");
  EXPECT_DOUBLE_EQ(at(mixed.series[0].series, 2)->values[0], 1.1);
  EXPECT_EQ(mixed.series[0].series.unit, "s");
  const Reading bare = read("ranks,time\n1,2\n2,1.1\n");
  EXPECT_EQ(bare.series[0].series.unit, "");
  const Reading steps = read("ranks,it/s\n1,2\n2,4\n");
  EXPECT_EQ(steps.series[0].series.measure, Measure::kTime);
  EXPECT_DOUBLE_EQ(at(steps.series[0].series, 2)->values[0], 0.25);
}

TEST(ScalingRead, RepeatsAndSeries) {
  const Reading reading = read(
      "model,gpus,tokens/s,note\n7b,8,100,a\n7b,8,102,b\n7b,16,190,c\n70b,8,10,d\n70b,16,19,e\n3b,8,300,f\n");
  ASSERT_EQ(reading.series.size(), 2U);
  EXPECT_EQ(reading.series[0].series.name, "model 7b");
  EXPECT_EQ(at(reading.series[0].series, 8)->values.size(), 2U);
  EXPECT_EQ(reading.series[1].series.name, "model 70b");
  EXPECT_EQ(reading.single, 1U);
  const Reading one =
      read("model,gpus,tokens/s\n7b,8,100\n7b,16,190\n70b,8,10\n70b,16,19\n", {"", {{"Model", "70b"}}, {}});
  ASSERT_EQ(one.series.size(), 1U);
  EXPECT_DOUBLE_EQ(at(one.series[0].series, 8)->values[0], 10);
}

TEST(ScalingRead, WhatTheTableSaysOfTheMode) {
  const auto said = [](std::string_view text) { return read(text).series[0].said; };
  EXPECT_EQ(said("gpus,gbs,tokens/s\n8,1024,100\n16,1024,190\n")->mode, Mode::kStrong);
  EXPECT_EQ(said("gpus,GlobalBatchSize,tokens/s\n8,64,100\n16,128,190\n")->mode, Mode::kWeak);
  EXPECT_EQ(said("gpus,local_batch_size,tokens/s\n8,4,100\n16,4,190\n")->mode, Mode::kWeak);
  EXPECT_EQ(said("# strong scaling of last week\ngpus,tokens/s\n8,100\n16,190\n")->mode, Mode::kStrong);
  EXPECT_EQ(said("gpus,samples/s,step_time_ms\n1,100,100\n2,190,52.6\n")->mode, Mode::kStrong);
  EXPECT_EQ(said("gpus,samples/s,step_time_ms\n1,100,100\n2,190,105\n")->mode, Mode::kWeak);
  EXPECT_FALSE(said("gpus,batch_size,tokens/s\n8,64,100\n16,64,190\n").has_value());  // of all, or of one?
  EXPECT_FALSE(said("gpus,gbs,tokens/s\n8,64,100\n16,100,190\n").has_value());
  EXPECT_FALSE(
      said("# strong scaling\ngpus,gbs,tokens/s\n8,64,100\n16,128,190\n").has_value());  // contradicts itself
  const Reading both = read("mode,gpus,samples/s\nstrong,1,10\nstrong,2,18\nweak,1,10\nweak,2,19\n");
  ASSERT_EQ(both.series.size(), 2U);
  EXPECT_EQ(both.series[0].said->mode, Mode::kStrong);
  EXPECT_EQ(both.series[1].said->mode, Mode::kWeak);
}

TEST(ScalingRead, NodesAndTheirGpus) {
  EXPECT_NE(at(read("nodes,gpus_per_node,tps\n1,8,100\n4,8,380\n").series[0].series, 32), nullptr);
  const Reading constant = read("nodes,gpus,tps\n1,8,100\n4,8,380\n");
  EXPECT_NE(at(constant.series[0].series, 4), nullptr);
  EXPECT_EQ(constant.series[0].series.device, "node");
  EXPECT_EQ(constant.notes.size(), 1U);
  EXPECT_NE(at(read("nodes,gpus,tps\n1,8,100\n4,32,380\n").series[0].series, 32), nullptr);
}

TEST(ScalingRead, PackedCells) {
  const Reading reading = read(
      "system\tscale\tmetric\tvalue\nA\t1 / 4 / 8 GPUs\timages/s\t23.3 / 73.4 / 111.7\nB\t96 -> 4608 "
      "GPUs\tMFU %\t47 -> 42\n"
      "C\tsmall -> large\tMFU %\t41 -> 47-48\nD\t1 / 2\tbusbw GB/s\t482 / 469\n");
  ASSERT_EQ(reading.series.size(), 2U);
  EXPECT_DOUBLE_EQ(at(reading.series[0].series, 8)->values[0], 111.7);
  EXPECT_TRUE(reading.series[1].series.per_device);
  EXPECT_EQ(reading.notes.size(), 2U);
}

TEST(ScalingRead, ContradictionsWithWhatIsStated) {
  const Reading reading = read("gpus,tokens/s,efficiency\n8,100,100%\n16,190,95%\n32,300,90%\n");
  const auto scaling = analyse(reading.series[0], Mode::kStrong, std::nullopt);
  ASSERT_TRUE(scaling.has_value());
  std::uint32_t contradictions = 0;
  for (const Remark& remark : scaling->remarks)
    if (remark.kind == RemarkKind::kContradictory) {
      ++contradictions;
      EXPECT_TRUE(contains(remark.words, "line 4"));
    }
  EXPECT_EQ(contradictions, 1U);
  const Reading two = read("gpus,micro,tokens/s\n8,1,100\n8,4,300\n16,4,590\n");
  const auto mixed = analyse(two.series[0], Mode::kWeak, std::nullopt);
  EXPECT_TRUE(contains(mixed->remarks[0].words, "They differ in micro"));
}

TEST(ScalingRead, WordsThatSayNothingOfTheMode) {
  const auto said = [](const std::string& text) {
    const Reading reading = read(text);
    return reading.series.at(0).said ? std::string(word_of(reading.series[0].said->mode)) : std::string();
  };
  const std::string rows = "gpus,samples/s\n8,100\n16,190\n";
  EXPECT_EQ(said("# Strong-scaling, 7B\n" + rows), "strong");
  EXPECT_EQ(said("# weak scaling\n" + rows), "weak");
  for (const char* heading : {"this is not strong scaling", "strong scaling?", "strong or weak scaling",
                              "it isn't weak scaling", "scaling with tweaked settings", "Armstrong scaling"})
    EXPECT_EQ(said("# " + std::string(heading) + "\n" + rows), "") << heading;
  // A micro batch without the number of them says nothing of the work of a step; a batch of each GPU does.
  EXPECT_EQ(said("gpus,mbs,samples/s\n8,4,100\n16,4,190\n"), "");
  EXPECT_EQ(said("gpus,mbs,ga,samples/s\n8,4,2,100\n16,4,2,190\n"), "weak");
  EXPECT_EQ(said("gpus,batch_per_gpu,samples/s\n8,4,100\n16,4,190\n"), "weak");
}

TEST(ScalingRead, TimesWithoutUnitBesideTimesWithOne) {
  const Reading mixed = read("gpus,step_time\n8,1.2 s\n16,650 ms\n32,400\n");
  ASSERT_EQ(mixed.series.size(), 1U);
  EXPECT_EQ(at(mixed.series[0].series, 32), nullptr);
  EXPECT_DOUBLE_EQ(at(mixed.series[0].series, 16)->values.at(0), 0.65);
  ASSERT_EQ(mixed.notes.size(), 1U);
  EXPECT_EQ(mixed.notes[0].line, 4U);
  EXPECT_EQ(read("gpus,step_time\n8,1.2\n16,0.65\n").series.at(0).series.unit, "");
  EXPECT_EQ(recognise_name("time_min").to_seconds, 0);  // the least, or minutes
  EXPECT_EQ(recognise_name("time (min)").to_seconds, 60);
}

TEST(ScalingRead, RefusesWithReasons) {
  const auto why = [](std::string_view text, const ReadWish& wish = {}) {
    const auto reading = read_results(text, wish);
    return reading ? std::string("read") : reading.error().message;
  };
  EXPECT_TRUE(contains(why(""), "no table of results found"));
  EXPECT_TRUE(contains(why("1,2\n3,4\n"), "no names of columns"));
  EXPECT_TRUE(contains(why("| Techniques | TPS/GPU |\n|---|---|\n| FSDP | 5,762 |\n"),
                       "no column says how many GPUs"));
  EXPECT_TRUE(contains(why("gpus,loss\n1,2\n2,3\n"), "no column is a throughput"));
  EXPECT_TRUE(contains(why("gpus,tokens/s\n8,100\n8,102\n"), "one N only"));
  EXPECT_TRUE(contains(why("gpus,tokens/s\n8,100\n16,190\n", {"time", {}, {}}), "no column is a time"));
  EXPECT_TRUE(
      contains(why("gpus,tokens/s\n8,100\n16,190\n", {"", {}, {"modell"}}), "no table has a column modell"));
  EXPECT_TRUE(contains(why("{\"gpus\": [1, 2"), "is no JSON"));
  EXPECT_TRUE(contains(why("some log\nof a run\n"), "no "));
}

TEST(ScalingRead, WhatCannotBeReadIsCounted) {
  const Reading reading = read("gpus,tokens/s\n1,100\n2,OOM\n4,n/a\n8,\n16,1500\n1,2,3\nx,5\n");
  ASSERT_EQ(reading.series.size(), 1U);
  EXPECT_EQ(reading.series[0].series.points.size(), 2U);
  EXPECT_EQ(reading.notes.size(), 5U);
}

}  // namespace
}  // namespace angio::scaling
