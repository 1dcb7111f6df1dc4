#include "step/shape.hpp"

#include <fmt/format.h>

#include <array>

namespace angio::step {
namespace {

constexpr std::uint64_t kFeedForward = 4;  // its width over that of the hidden state, as GPT-2

// GPT-2's block in the order of its definition: norm, attention, norm, feed-forward.
Layer block_of(const model::StepShape& shape, std::uint32_t number) {
  const std::uint64_t h = shape.hidden;
  const std::uint64_t f = kFeedForward * h;
  Layer layer;
  layer.name = fmt::format("block {}", number);
  layer.block = true;
  layer.parameters = {{h, Split::kWhole},      {h, Split::kWhole},      {3 * h * h, Split::kTensor},
                      {3 * h, Split::kTensor}, {h * h, Split::kTensor}, {h, Split::kWhole},
                      {h, Split::kWhole},      {h, Split::kWhole},      {f * h, Split::kExpert},
                      {f, Split::kExpert},     {f * h, Split::kExpert}, {h, Split::kExpert}};
  const auto tokens = static_cast<double>(shape.sequence);
  const auto width = static_cast<double>(h);
  // Two operations a weight and token; scores and their sum over values are two products of s x s x h.
  layer.forward_flops = tokens * (2 * 12 * width * width + 4 * tokens * width);
  layer.handed_on = std::uint64_t{shape.sequence} * h;
  return layer;
}

std::vector<Layer> transformer_layers(const model::StepShape& shape) {
  const std::uint64_t h = shape.hidden;
  std::vector<Layer> layers;
  Layer embedding;
  embedding.name = "embedding";
  embedding.parameters = {{shape.vocabulary * h, Split::kTensor}, {shape.sequence * h, Split::kWhole}};
  embedding.handed_on = std::uint64_t{shape.sequence} * h;
  layers.push_back(std::move(embedding));
  for (std::uint32_t i = 0; i < shape.layers; ++i)
    layers.push_back(block_of(shape, i));
  Layer head;  // its weights are the embedding's
  head.name = "head";
  head.parameters = {{h, Split::kWhole}, {h, Split::kWhole}};
  head.forward_flops = 2.0 * shape.sequence * static_cast<double>(h) * shape.vocabulary;
  layers.push_back(std::move(head));
  return layers;
}

struct Convolution {
  std::uint64_t in = 0, out = 0, side = 0;
};

// A convolution without bias and the two vectors of its batch norm; flops of one sample at that output size.
void add_convolution(Layer& layer, const Convolution& wanted, std::uint64_t pixels) {
  const std::uint64_t weights = wanted.in * wanted.out * wanted.side * wanted.side;
  layer.parameters.push_back({weights, Split::kWhole});
  layer.parameters.push_back({wanted.out, Split::kWhole});
  layer.parameters.push_back({wanted.out, Split::kWhole});
  layer.forward_flops += 2.0 * static_cast<double>(weights) * static_cast<double>(pixels * pixels);
}

// ResNet-50 (He et al., 2015), as torchvision defines it: the stride is in the 3 x 3 convolution.
std::vector<Layer> resnet_layers(const model::StepShape& shape) {
  struct Stage {
    std::uint64_t width, blocks;
  };
  constexpr std::array<Stage, 4> kStages{{{64, 3}, {128, 4}, {256, 6}, {512, 3}}};
  constexpr std::uint64_t kExpansion = 4;
  constexpr std::uint64_t kClasses = 1000;
  std::uint64_t pixels = shape.image / 2;
  std::vector<Layer> layers;
  Layer stem;
  stem.name = "stem";
  add_convolution(stem, {3, 64, 7}, pixels);
  pixels /= 2;  // pooling
  stem.handed_on = 64 * pixels * pixels;
  layers.push_back(std::move(stem));
  std::uint64_t in = 64;
  for (std::size_t s = 0; s < kStages.size(); ++s) {
    const auto [width, blocks] = kStages[s];
    for (std::uint64_t b = 0; b < blocks; ++b) {
      Layer layer;
      layer.name = fmt::format("stage {} block {}", s + 1, b);
      const std::uint64_t before = pixels;
      if (b == 0 && s > 0) pixels /= 2;
      add_convolution(layer, {in, width, 1}, before);
      add_convolution(layer, {width, width, 3}, pixels);
      add_convolution(layer, {width, width * kExpansion, 1}, pixels);
      if (b == 0) add_convolution(layer, {in, width * kExpansion, 1}, pixels);
      in = width * kExpansion;
      layer.handed_on = in * pixels * pixels;
      layers.push_back(std::move(layer));
    }
  }
  Layer classes;
  classes.name = "classes";
  classes.parameters = {{in * kClasses, Split::kWhole}, {kClasses, Split::kWhole}};
  classes.forward_flops = 2.0 * static_cast<double>(in * kClasses);
  classes.handed_on = kClasses;
  layers.push_back(std::move(classes));
  return layers;
}

}  // namespace

std::vector<Layer> layers_of(const model::StepShape& shape) {
  return shape.transformer ? transformer_layers(shape) : resnet_layers(shape);
}

std::uint64_t parameters_of(std::span<const Layer> layers) {
  std::uint64_t sum = 0;
  for (const Layer& layer : layers) {
    for (const Parameter& parameter : layer.parameters)
      sum += parameter.elements;
  }
  return sum;
}

std::vector<std::uint32_t> bucket_numbers(std::span<const std::uint64_t> gradients, Bytes first,
                                          Bytes limit) {
  std::vector<std::uint32_t> numbers;
  std::uint64_t filled = 0;
  std::uint32_t bucket = 0;
  for (const std::uint64_t gradient : gradients) {
    numbers.push_back(bucket);
    filled += gradient;
    if (filled < (bucket == 0 ? first : limit).value) continue;
    filled = 0;
    ++bucket;
  }
  return numbers;
}

std::vector<std::uint64_t> buckets_of(std::span<const std::uint64_t> gradients, Bytes first, Bytes limit) {
  const std::vector<std::uint32_t> numbers = bucket_numbers(gradients, first, limit);
  std::vector<std::uint64_t> sizes(numbers.empty() ? 0 : numbers.back() + 1, 0);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    sizes[numbers[i]] += gradients[i];
  return sizes;
}

}  // namespace angio::step
