#include "step/shape.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "step/spec.hpp"

namespace angio::step {
namespace {

constexpr Bytes kFirst{std::uint64_t{1} << 20U};
constexpr Bytes kLimit{std::uint64_t{25} << 20U};

// In the order in which backward makes them.
std::vector<std::uint64_t> gradients_of(const model::StepShape& shape) {
  std::vector<std::uint64_t> sizes;
  const auto layers = layers_of(shape);
  for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
    for (auto parameter = layer->parameters.rbegin(); parameter != layer->parameters.rend(); ++parameter)
      sizes.push_back(parameter->elements * 4);
  }
  return sizes;
}

model::StepShape shape_of(std::string_view name) {
  const auto shape = shape_by_name(name);
  EXPECT_TRUE(shape) << name;
  return shape.value_or(model::StepShape{});
}

TEST(Shape, HasTheParametersOfThePublishedModels) {
  EXPECT_EQ(shape_of("gpt2-small").parameters, 124'439'808U);
  EXPECT_EQ(shape_of("gpt2-medium").parameters, 354'823'168U);
  EXPECT_EQ(shape_of("gpt2-large").parameters, 774'030'080U);
  EXPECT_EQ(shape_of("gpt2-xl").parameters, 1'557'611'200U);
  EXPECT_EQ(shape_of("resnet50").parameters, 25'557'032U);
}

TEST(Shape, ComputesAsMuchAsThePublishedFigures) {
  double resnet = 0;
  for (const Layer& layer : layers_of(shape_of("resnet50")))
    resnet += layer.forward_flops;
  EXPECT_NEAR(resnet / 2e9, 4.09, 0.05);  // multiply-adds of one image, torchvision's table
  double gpt = 0;
  const auto small = shape_of("gpt2-small");
  for (const Layer& layer : layers_of(small))
    gpt += layer.forward_flops;
  // Two a parameter and token, and attention on top.
  EXPECT_GT(gpt, 2.0 * 124e6 * 1024);
  EXPECT_LT(gpt, 2.4 * 124e6 * 1024);
}

TEST(Buckets, AreThoseOfTorch) {
  // torch 1.13: dist._compute_bucket_assignment_by_size over the same gradients, limits 1 MiB and 25 MiB.
  const std::vector<std::uint64_t> gpt2_small{9446400,  28351488, 28351488, 28351488, 28351488,
                                              28351488, 28351488, 28351488, 28351488, 28351488,
                                              28351488, 28351488, 176446464};
  const std::vector<std::uint64_t> resnet50{8196000, 31502336, 26255360, 26550272, 9724160};
  EXPECT_EQ(buckets_of(gradients_of(shape_of("gpt2-small")), kFirst, kLimit), gpt2_small);
  EXPECT_EQ(buckets_of(gradients_of(shape_of("resnet50")), kFirst, kLimit), resnet50);
}

TEST(Buckets, CloseOnceTheyAreFull) {
  EXPECT_EQ(buckets_of(std::vector<std::uint64_t>{}, Bytes{1}, Bytes{1}), std::vector<std::uint64_t>{});
  EXPECT_EQ(buckets_of(std::vector<std::uint64_t>{3, 3, 3, 3, 3}, Bytes{5}, Bytes{9}),
            (std::vector<std::uint64_t>{6, 9}));
  EXPECT_EQ(buckets_of(std::vector<std::uint64_t>{3, 3, 3}, Bytes{5}, Bytes{9}),
            (std::vector<std::uint64_t>{6, 3}));
}

TEST(Buckets, HoldEverything) {
  for (const std::string& name : shape_names()) {
    const auto gradients = gradients_of(shape_of(name));
    const auto buckets = buckets_of(gradients, kFirst, kLimit);
    EXPECT_EQ(std::accumulate(buckets.begin(), buckets.end(), std::uint64_t{0}),
              4 * shape_of(name).parameters)
        << name;
  }
}

}  // namespace
}  // namespace angio::step
