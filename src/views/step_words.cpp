#include "views/step_words.hpp"

#include <fmt/format.h>

namespace angio::views {

std::string step_layout_words(const model::StepLayout& layout) {
  std::string words;
  const auto add = [&words](const char* name, std::uint32_t size, const char* more) {
    if (size > 1) words += fmt::format("{}{} {}{}", words.empty() ? "" : " x ", name, size, more);
  };
  add("dp", layout.data, layout.sharded ? " (fsdp)" : " (ddp)");
  add("tp", layout.tensor, "");
  add("pp", layout.pipeline, "");
  if (layout.expert > 1) words += fmt::format(", experts over {}", layout.expert);
  return words.empty() ? "one rank" : words;
}

std::string step_shape_words(const model::StepShape& shape) {
  std::string words = shape.name;
  if (shape.transformer && shape.name == "custom")
    words = fmt::format("{} layers of {}", shape.layers, shape.hidden);
  return fmt::format("{}, {:.1f} M parameters", words, static_cast<double>(shape.parameters) / 1e6);
}

std::string step_time(double ms) {
  constexpr double kSecond = 1000;
  if (ms >= kSecond) return fmt::format("{:.2f} s", ms / kSecond);
  return fmt::format("{:.{}f} ms", ms, ms < 10 ? 2 : 1);
}

std::string slow_rank_words(const model::StepRun& run) {
  if (!run.slow) return "";
  const bool input = run.slow->culprit == model::StepCulprit::kInput;
  return fmt::format(
      "the others wait for rank {}: it {} {} a step, the others {} (longest in {} of {} steps)",
      run.slow->rank, input ? "waits for its input" : "computes", step_time(run.slow->own),
      step_time(run.slow->usual), run.slow->steps, run.slow->of);
}

}  // namespace angio::views
