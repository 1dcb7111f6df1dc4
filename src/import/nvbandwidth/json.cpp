// The form of `nvbandwidth -j`: all within one object "nvbandwidth"; the matrices hold numbers as strings.
#include "base/json.hpp"

#include <cmath>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "import/nvbandwidth/nvbandwidth.hpp"

namespace angio::import::nvbandwidth {
namespace {

using model::NvbandwidthRun;
using model::NvbandwidthTest;

constexpr std::size_t kHead = 1U << 16U;
constexpr std::size_t kMostTests = 4096;
constexpr std::size_t kMostCells = 1 << 22;
constexpr std::size_t kLongestText = 200;

std::optional<double> number(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* real = value->as_double())
    return std::isfinite(*real) ? std::optional(*real) : std::nullopt;
  if (const auto* whole = value->as_integer()) return static_cast<double>(*whole);
  if (const auto* text = value->as_string()) return parse_double(trim(*text));
  return std::nullopt;
}

std::string text(const Json* value) {
  if (value == nullptr) return {};
  if (const auto* words = value->as_string())
    return printable(std::string_view(*words).substr(0, kLongestText));
  if (const auto* whole = value->as_integer()) return std::to_string(*whole);
  return {};
}

// "0: NVIDIA H100 80GB HBM3 (PCI:0000:07:00.0): (hostname)"
std::string gpu_name(std::string_view line) {
  const std::size_t colon = line.find(':');
  if (colon != std::string_view::npos) line = trim(line.substr(colon + 1));
  const std::size_t bracket = line.find(" (");
  return printable(line.substr(0, bracket).substr(0, kLongestText));
}

NvbandwidthTest test_of(const Json& json, std::size_t& cells) {
  NvbandwidthTest test;
  test.name = text(json.find("name"));
  test.status = text(json.find("status"));
  test.error = text(json.find("error"));
  test.description = text(json.find("bandwidth_description"));
  test.latency = contains(test.description, "(ns)") || contains(test.name, "latency");
  test.sum = number(json.find("sum"));
  const Json* matrix = json.find("bandwidth_matrix");
  const Json::Array* rows = matrix != nullptr ? matrix->as_array() : nullptr;
  if (rows == nullptr) return test;
  for (const Json& row : *rows) {
    const Json::Array* values = row.as_array();
    if (values == nullptr) continue;
    std::vector<std::optional<double>> line;
    for (const Json& value : *values) {
      if (++cells > kMostCells) return test;
      line.push_back(number(&value));
    }
    test.matrix.push_back(std::move(line));
  }
  return test;
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  const std::string_view head = trim(bytes.substr(0, kHead));
  return head.starts_with('{') && contains(head, "\"nvbandwidth\"");
}

Result<NvbandwidthRun> parse_json_run(std::string_view bytes, const std::string& name) {
  const auto json = parse_json(bytes);
  if (!json) return std::unexpected(Error(json.error()).with_context(name));
  const Json* top = json->find("nvbandwidth");
  if (top == nullptr || top->as_object() == nullptr)
    return fail(ErrorCode::kInvalidInput, name + ": no object \"nvbandwidth\" in this JSON",
                "Give the output of nvbandwidth -j");
  NvbandwidthRun run;
  run.json = true;
  run.version = text(top->find("version"));
  run.driver = text(top->find("Driver Version"));
  run.cuda = text(top->find("CUDA Runtime Version"));
  run.error = text(top->find("error"));
  if (const Json* list = top->find("GPU Device list"); list != nullptr && list->as_array() != nullptr) {
    for (const Json& gpu : *list->as_array())
      if (const auto* line = gpu.as_string(); line != nullptr && run.gpus.size() < kMostTests)
        run.gpus.push_back(gpu_name(*line));
  }
  std::size_t cells = 0;
  if (const Json* tests = top->find("testcases"); tests != nullptr && tests->as_array() != nullptr) {
    for (const Json& test : *tests->as_array())
      if (run.tests.size() < kMostTests) run.tests.push_back(test_of(test, cells));
  }
  return run;
}

}  // namespace angio::import::nvbandwidth
