#include "step/spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "step/shape.hpp"

namespace angio::step {
namespace {

using model::StepLayout;
using model::StepShape;

// GPT-2: Radford et al., 2019, table 2, with the 768, 1024, 1280, 1600 wide models' heads of the released
// checkpoints. tiny is none of anybody's: small enough for a CPU.
struct NamedShape {
  const char* name;
  std::uint32_t layers, hidden, heads, vocabulary, sequence;
};
constexpr std::array kTransformers{
    NamedShape{"tiny", 2, 128, 4, 1024, 32},
    NamedShape{"gpt2-small", 12, 768, 12, 50257, 1024},
    NamedShape{"gpt2-medium", 24, 1024, 16, 50257, 1024},
    NamedShape{"gpt2-large", 36, 1280, 20, 50257, 1024},
    NamedShape{"gpt2-xl", 48, 1600, 25, 50257, 1024},
};
constexpr const char* kResnet = "resnet50";
constexpr std::uint32_t kImage = 224;  // pixels, of ImageNet as it is trained on

// So large that sums of sizes still fit.
constexpr std::uint32_t kMost = 1U << 20U;

Error wrong(std::string message, std::string hint = {}) {
  return {ErrorCode::kInvalidInput, std::move(message), std::move(hint)};
}

Result<void> check_shape(const StepShape& shape) {
  if (!shape.transformer) {
    if (shape.image < 32 || shape.image > kMost)
      return std::unexpected(wrong("images of ResNet-50 have 32 pixels a side at least"));
    return {};
  }
  for (const std::uint32_t value :
       {shape.layers, shape.hidden, shape.heads, shape.vocabulary, shape.sequence}) {
    if (value == 0 || value > kMost)
      return std::unexpected(
          wrong(fmt::format("layers, hidden, heads, vocabulary and sequence are from 1 to {}", kMost)));
  }
  if (shape.hidden % shape.heads != 0)
    return std::unexpected(
        wrong(fmt::format("hidden {} is no multiple of {} heads", shape.hidden, shape.heads)));
  return {};
}

Result<void> check_layout(const StepSpec& spec) {
  const StepLayout& layout = spec.layout;
  const StepShape& shape = spec.shape;
  const bool whole = layout.tensor == 1 && layout.expert == 1 && layout.pipeline == 1;
  if (!shape.transformer && !whole)
    return std::unexpected(
        wrong("ResNet-50 is trained data-parallel here: no tensor, pipeline or expert groups"));
  if (layout.data % layout.expert != 0)
    return std::unexpected(wrong(
        fmt::format("expert groups of {} do not divide data groups of {}", layout.expert, layout.data)));
  if (layout.sharded && (layout.expert > 1 || layout.pipeline > 1 || layout.tensor > 1))
    return std::unexpected(wrong("fsdp is not combined with tensor, pipeline or expert groups here"));
  if (shape.transformer && (shape.heads % layout.tensor != 0 || shape.hidden % layout.tensor != 0))
    return std::unexpected(
        wrong(fmt::format("{} heads and a hidden state of {} do not divide among {} ranks of a tensor group",
                          shape.heads, shape.hidden, layout.tensor)));
  if (layout.pipeline > 1 && layout.pipeline > shape.layers)
    return std::unexpected(wrong(
        fmt::format("{} for {} stages of a pipeline", count_of(shape.layers, "layer"), layout.pipeline)));
  if (spec.batch % layout.micro_batches != 0)
    return std::unexpected(wrong(fmt::format("a batch of {} does not divide into {} micro-batches",
                                             spec.batch, layout.micro_batches)));
  return {};
}

// ------------------------------------------------------------------ JSON

Json layout_json(const StepLayout& layout) {
  return Json::object({{"data", layout.data},
                       {"tensor", layout.tensor},
                       {"pipeline", layout.pipeline},
                       {"expert", layout.expert},
                       {"sharded", layout.sharded},
                       {"micro_batches", layout.micro_batches}});
}

Json shape_json(const StepShape& shape) {
  return Json::object({{"name", shape.name},
                       {"transformer", shape.transformer},
                       {"layers", shape.layers},
                       {"hidden", shape.hidden},
                       {"heads", shape.heads},
                       {"vocabulary", shape.vocabulary},
                       {"sequence", shape.sequence},
                       {"image", shape.image}});
}

// Members by name; the first that is not what it should be is remembered.
class Fields {
 public:
  explicit Fields(const Json& json) : json_(json) {}
  void number(const char* key, std::uint32_t& to) {
    const Json* found = json_.find(key);
    const std::int64_t* value = found == nullptr ? nullptr : found->as_integer();
    if (value == nullptr || *value < 0 || *value > 0xffffffffLL) return fail_at(key);
    to = static_cast<std::uint32_t>(*value);
  }
  void size(const char* key, Bytes& to) {
    const Json* found = json_.find(key);
    const std::int64_t* value = found == nullptr ? nullptr : found->as_integer();
    if (value == nullptr || *value < 0) return fail_at(key);
    to.value = static_cast<std::uint64_t>(*value);
  }
  void real(const char* key, double& to) {
    const Json* found = json_.find(key);
    if (found != nullptr && found->as_double() != nullptr) {
      to = *found->as_double();
    } else if (found != nullptr && found->as_integer() != nullptr) {
      to = static_cast<double>(*found->as_integer());
    } else {
      fail_at(key);
    }
  }
  void flag(const char* key, bool& to) {
    const Json* found = json_.find(key);
    if (found == nullptr || found->as_bool() == nullptr) return fail_at(key);
    to = *found->as_bool();
  }
  void text(const char* key, std::string& to) {
    const Json* found = json_.find(key);
    if (found == nullptr || found->as_string() == nullptr) return fail_at(key);
    to = *found->as_string();
  }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }

 private:
  void fail_at(const char* key) {
    if (trouble_.empty()) trouble_ = key;
  }
  const Json& json_;
  std::string trouble_;
};

std::string read_parts(const Json& json, StepSpec& spec) {
  const Json none;
  const Json* shape = json.find("shape");
  const Json* layout = json.find("layout");
  const Json* loader = json.find("loader");
  Fields shapes(shape == nullptr ? none : *shape);
  shapes.text("name", spec.shape.name);
  shapes.flag("transformer", spec.shape.transformer);
  shapes.number("layers", spec.shape.layers);
  shapes.number("hidden", spec.shape.hidden);
  shapes.number("heads", spec.shape.heads);
  shapes.number("vocabulary", spec.shape.vocabulary);
  shapes.number("sequence", spec.shape.sequence);
  shapes.number("image", spec.shape.image);
  Fields layouts(layout == nullptr ? none : *layout);
  layouts.number("data", spec.layout.data);
  layouts.number("tensor", spec.layout.tensor);
  layouts.number("pipeline", spec.layout.pipeline);
  layouts.number("expert", spec.layout.expert);
  layouts.flag("sharded", spec.layout.sharded);
  layouts.number("micro_batches", spec.layout.micro_batches);
  Fields loaders(loader == nullptr ? none : *loader);
  loaders.real("ms", spec.loader.ms);
  loaders.number("workers", spec.loader.workers);
  loaders.number("prefetch", spec.loader.prefetch);
  for (const Fields* fields : {&shapes, &layouts, &loaders}) {
    if (!fields->trouble().empty()) return fields->trouble();
  }
  return "";
}

void read_optional(const Json& json, StepSpec& spec) {
  if (const Json* found = json.find("slow_rank"); found != nullptr && found->as_integer() != nullptr)
    spec.slow_rank = static_cast<std::uint32_t>(*found->as_integer());
  if (const Json* found = json.find("compute_ms"); found != nullptr && found->as_double() != nullptr)
    spec.compute_ms = *found->as_double();
  if (const Json* found = json.find("compute"); found != nullptr && found->as_string() != nullptr)
    spec.compute = *found->as_string() == "idle" ? Compute::kIdle : Compute::kWork;
}

}  // namespace

std::uint32_t ranks_of(const StepLayout& layout) {
  return layout.data * layout.tensor * layout.pipeline;
}

std::vector<std::string> shape_names() {
  std::vector<std::string> names;
  for (const NamedShape& shape : kTransformers)
    names.emplace_back(shape.name);
  names.emplace_back(kResnet);
  return names;
}

Result<StepShape> shape_by_name(std::string_view name) {
  StepShape shape;
  shape.name = name;
  if (name == kResnet) {
    shape.transformer = false;
    shape.image = kImage;
  } else {
    const auto* const found = std::ranges::find(kTransformers, name, &NamedShape::name);
    if (found == kTransformers.end())
      return std::unexpected(wrong("\"" + printable(name) + "\" is no model known here",
                                   "known are " + join(shape_names(), ", ")));
    shape.layers = found->layers;
    shape.hidden = found->hidden;
    shape.heads = found->heads;
    shape.vocabulary = found->vocabulary;
    shape.sequence = found->sequence;
  }
  shape.parameters = parameters_of(layers_of(shape));
  return shape;
}

Result<void> check_spec(const StepSpec& spec) {
  const StepLayout& layout = spec.layout;
  for (const std::uint32_t value : {layout.data, layout.tensor, layout.pipeline, layout.expert,
                                    layout.micro_batches, spec.batch, spec.steps}) {
    if (value == 0 || value > kMost)
      return std::unexpected(wrong(fmt::format("ranks of groups, batch and steps are from 1 to {}", kMost)));
  }
  if (std::uint64_t{layout.data} * layout.tensor * layout.pipeline > kMost)
    return std::unexpected(wrong(fmt::format("more than {} ranks", kMost)));
  if (auto good = check_shape(spec.shape); !good) return good;
  if (auto good = check_layout(spec); !good) return good;
  if (spec.slow_rank && *spec.slow_rank >= ranks_of(layout))
    return std::unexpected(
        wrong(fmt::format("rank {} is to be slow, and there are {}", *spec.slow_rank, ranks_of(layout))));
  if (spec.bucket.value == 0 || spec.first_bucket.value == 0)
    return std::unexpected(wrong("a bucket holds a byte at least"));
  return {};
}

std::string spec_text(const StepSpec& spec) {
  Json json = Json::object({{"shape", shape_json(spec.shape)},
                            {"layout", layout_json(spec.layout)},
                            {"batch", spec.batch},
                            {"steps", spec.steps},
                            {"warm_up", spec.warm_up},
                            {"compare", spec.compare},
                            {"backend", spec.backend},
                            {"type", spec.type},
                            {"bucket", spec.bucket.value},
                            {"first_bucket", spec.first_bucket.value},
                            {"experts_a_token", spec.experts_a_token},
                            {"flops_per_second", spec.flops_per_second},
                            {"loader", Json::object({{"ms", spec.loader.ms},
                                                     {"workers", spec.loader.workers},
                                                     {"prefetch", spec.loader.prefetch}})},
                            {"slow_factor", spec.slow_factor},
                            {"folder", spec.folder},
                            {"shared", spec.shared}});
  if (spec.compute_ms) json.set("compute_ms", *spec.compute_ms);
  if (spec.compute) json.set("compute", *spec.compute == Compute::kIdle ? "idle" : "work");
  if (spec.slow_rank) json.set("slow_rank", *spec.slow_rank);
  return to_text(json, -1);
}

Result<StepSpec> parse_spec(std::string_view text) {
  const auto json = parse_json(text);
  if (!json) return std::unexpected(json.error());
  StepSpec spec;
  std::string trouble = read_parts(*json, spec);
  Fields fields(*json);
  fields.number("batch", spec.batch);
  fields.number("steps", spec.steps);
  fields.number("warm_up", spec.warm_up);
  fields.flag("compare", spec.compare);
  fields.text("backend", spec.backend);
  fields.text("type", spec.type);
  fields.size("bucket", spec.bucket);
  fields.size("first_bucket", spec.first_bucket);
  fields.number("experts_a_token", spec.experts_a_token);
  fields.real("flops_per_second", spec.flops_per_second);
  fields.real("slow_factor", spec.slow_factor);
  fields.text("folder", spec.folder);
  fields.flag("shared", spec.shared);
  read_optional(*json, spec);
  if (trouble.empty()) trouble = fields.trouble();
  if (!trouble.empty())
    return std::unexpected(wrong("the steps asked for: \"" + trouble + "\" is missing or no such value"));
  if (auto good = check_spec(spec); !good) return std::unexpected(good.error());
  spec.shape.parameters = parameters_of(layers_of(spec.shape));
  return spec;
}

}  // namespace angio::step
