#include "step/spec.hpp"

#include <gtest/gtest.h>

namespace angio::step {
namespace {

StepSpec tiny() {
  StepSpec spec;
  spec.shape = *shape_by_name("tiny");
  return spec;
}

std::string error_of(const StepSpec& spec) {
  const auto good = check_spec(spec);
  return good ? "" : good.error().message;
}

TEST(Spec, ComesBackAsItWas) {
  StepSpec spec = tiny();
  spec.layout = {4, 2, 1, 2, false, 2};
  spec.compute_ms = 2.5;
  spec.compute = Compute::kIdle;
  spec.slow_rank = 3;
  spec.slow_factor = 1.5;
  spec.folder = "/tmp/a \"b\"";
  spec.loader = {7.5, 2, 3};
  spec.shared = false;
  const auto again = parse_spec(spec_text(spec));
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(spec_text(*again), spec_text(spec));
  EXPECT_EQ(again->shape.parameters, spec.shape.parameters);
  EXPECT_EQ(again->loader.ms, 7.5);
  EXPECT_EQ(again->slow_rank, 3U);
}

TEST(Spec, OfATextThatIsNoneIsRefused) {
  EXPECT_FALSE(parse_spec(""));
  EXPECT_FALSE(parse_spec("{"));
  EXPECT_FALSE(parse_spec("[]"));
  const auto part = parse_spec(R"({"shape": {"name": "x"}})");
  ASSERT_FALSE(part);
  EXPECT_EQ(part.error().message, "the steps asked for: \"transformer\" is missing or no such value");
  std::string cut = spec_text(tiny());
  for (std::size_t i = 0; i < cut.size(); ++i)
    EXPECT_FALSE(parse_spec(cut.substr(0, i)));
}

TEST(Spec, SaysWhatDoesNotFit) {
  StepSpec spec = tiny();
  EXPECT_EQ(error_of(spec), "");
  spec.layout.tensor = 3;
  EXPECT_EQ(error_of(spec),
            "4 heads and a hidden state of 128 do not divide among 3 ranks of a tensor group");
  spec = tiny();
  spec.layout.pipeline = 5;
  EXPECT_EQ(error_of(spec), "2 layers for 5 stages of a pipeline");
  spec = tiny();
  spec.layout = {3, 1, 1, 2, false, 1};
  EXPECT_EQ(error_of(spec), "expert groups of 2 do not divide data groups of 3");
  spec = tiny();
  spec.layout.micro_batches = 3;
  EXPECT_EQ(error_of(spec), "a batch of 8 does not divide into 3 micro-batches");
  spec = tiny();
  spec.slow_rank = 1;
  EXPECT_EQ(error_of(spec), "rank 1 is to be slow, and there are 1");
  spec = tiny();
  spec.shape = *shape_by_name("resnet50");
  spec.layout.tensor = 2;
  EXPECT_EQ(error_of(spec), "ResNet-50 is trained data-parallel here: no tensor, pipeline or expert groups");
  spec = tiny();
  spec.layout = {2, 1, 2, 1, true, 1};
  EXPECT_EQ(error_of(spec), "fsdp is not combined with tensor, pipeline or expert groups here");
  const auto nobody = shape_by_name("gpt2");
  ASSERT_FALSE(nobody);
  EXPECT_EQ(nobody.error().message, "\"gpt2\" is no model known here");
}

}  // namespace
}  // namespace angio::step
