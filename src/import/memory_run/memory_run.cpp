#include "import/memory_run/memory_run.hpp"

#include <cmath>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::import::memory_run {
namespace {

using model::BenchFigure;
using model::MemoryBench;

constexpr std::size_t kHead = 1U << 16U;
constexpr std::size_t kMostCells = 1U << 20U;
constexpr std::size_t kLongestText = 400;

std::optional<double> number(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->as_integer()) return static_cast<double>(*whole);
  const auto* real = value->as_double();
  return real != nullptr && std::isfinite(*real) ? std::optional(*real) : std::nullopt;
}

std::uint32_t natural(const Json* value) {
  const auto* whole = value != nullptr ? value->as_integer() : nullptr;
  return whole != nullptr && std::in_range<std::uint32_t>(*whole) ? static_cast<std::uint32_t>(*whole) : 0;
}

std::string text(const Json* value) {
  const auto* words = value != nullptr ? value->as_string() : nullptr;
  return words != nullptr ? printable(std::string_view(*words).substr(0, kLongestText)) : std::string();
}

// {"median": …, "least": …, "most": …, "repeats": …, "unit": "B/s"}, or {"missing": "why"}.
BenchFigure figure_of(const Json* json) {
  BenchFigure figure;
  if (json == nullptr) return figure;
  if (const auto median = number(json->find("median")))
    figure.value =
        model::Spread{*median, number(json->find("least")).value_or(*median),
                      number(json->find("most")).value_or(*median), natural(json->find("repeats"))};
  figure.missing = text(json->find("missing"));
  return figure;
}

template <typename Use>
void each(const Json& json, std::string_view key, Use use) {
  const Json* list = json.find(key);
  if (list == nullptr || list->as_array() == nullptr) return;
  std::size_t used = 0;
  for (const Json& item : *list->as_array()) {
    if (++used > kMostCells) return;
    use(item);
  }
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  const std::string_view head = trim(bytes.substr(0, kHead));
  return head.starts_with('{') && contains(head, "\"angio.bench-memory/");
}

Result<MemoryBench> parse(std::string_view bytes, const std::string& name) {
  const auto json = parse_json(bytes);
  if (!json) return std::unexpected(Error(json.error()).with_context(name));
  const std::string schema = text(json->find("schema"));
  if (schema != "angio.bench-memory/1")
    return fail(ErrorCode::kInvalidInput,
                name + ": schema \"" + schema + "\", expected \"angio.bench-memory/1\"",
                "Give the output of angio bench memory --format json");
  MemoryBench bench;
  bench.machine = text(json->find("machine"));
  bench.instructions = text(json->find("instructions"));
  bench.gpu_note = text(json->find("gpu_note"));
  if (const Json* flag = json->find("interrupted"); flag != nullptr && flag->as_bool() != nullptr)
    bench.interrupted = *flag->as_bool();
  each(*json, "cells", [&bench](const Json& item) {
    model::MemoryCell cell;
    cell.cpus = NumaId{natural(item.find("cpu_node"))};
    cell.memory = NumaId{natural(item.find("memory_node"))};
    cell.threads = natural(item.find("threads"));
    cell.read = figure_of(item.find("read"));
    cell.copy = figure_of(item.find("copy"));
    cell.write = figure_of(item.find("write"));
    cell.latency = figure_of(item.find("latency"));
    bench.cells.push_back(std::move(cell));
  });
  each(*json, "gpus", [&bench](const Json& item) {
    model::BenchGpu gpu;
    gpu.ordinal = natural(item.find("ordinal"));
    gpu.pci = text(item.find("pci"));
    gpu.name = text(item.find("name"));
    const Json* node = item.find("node");
    if (node != nullptr && node->as_integer() != nullptr) gpu.node = NumaId{natural(node)};
    bench.gpus.push_back(std::move(gpu));
  });
  each(*json, "gpu_copies", [&bench](const Json& item) {
    model::GpuCopyCell cell;
    cell.node = NumaId{natural(item.find("node"))};
    cell.gpu = natural(item.find("gpu"));
    if (const Json* pinned = item.find("pinned"); pinned != nullptr && pinned->as_bool() != nullptr)
      cell.pinned = *pinned->as_bool();
    cell.direction = text(item.find("direction")) == "from_gpu" ? model::CopyDirection::kFromGpu
                                                                : model::CopyDirection::kToGpu;
    cell.rate = figure_of(item.find("rate"));
    bench.gpu_copies.push_back(std::move(cell));
  });
  if (const Json* conditions = json->find("conditions")) {
    each(*conditions, "doubts",
         [&bench](const Json& item) { bench.conditions.doubts.push_back(text(&item)); });
  }
  return bench;
}

}  // namespace angio::import::memory_run
