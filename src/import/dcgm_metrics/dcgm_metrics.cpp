#include "import/dcgm_metrics/dcgm_metrics.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>

#include "base/text.hpp"

namespace angio::import::dcgm_metrics {
namespace {

constexpr std::size_t kLongestLine = 4096;
constexpr std::size_t kMostRates = 100'000;
constexpr std::array<std::string_view, 4> kFields{"DCGM_FI_PROF_PCIE_TX_BYTES", "DCGM_FI_PROF_PCIE_RX_BYTES",
                                                  "DCGM_FI_PROF_NVLINK_TX_BYTES",
                                                  "DCGM_FI_PROF_NVLINK_RX_BYTES"};

bool is_rate(std::string_view name) {
  return std::ranges::find(kFields, name) != kFields.end();
}

// gpu="0" of {gpu="0",UUID="GPU-…"}.
std::string label(std::string_view labels, std::string_view name) {
  const std::string mark = std::string(name) + "=\"";
  for (std::size_t at = labels.find(mark); at != std::string_view::npos; at = labels.find(mark, at + 1)) {
    if (at > 0 && labels[at - 1] != '{' && labels[at - 1] != ',' && labels[at - 1] != ' ') continue;
    const std::string_view rest = labels.substr(at + mark.size());
    return printable(rest.substr(0, rest.find('"')));
  }
  return {};
}

}  // namespace

bool looks_like(std::string_view bytes) {
  constexpr std::size_t kHead = std::size_t{1} << 20U;
  const std::string_view head = bytes.substr(0, kHead);
  return std::ranges::any_of(kFields, [head](std::string_view field) {
    return contains(head, std::string(field) + "{") || contains(head, "# TYPE " + std::string(field));
  });
}

model::DcgmMetrics parse(std::string_view bytes) {
  model::DcgmMetrics metrics;
  std::map<std::string, std::string, std::less<>> types;
  std::uint32_t number = 0;
  for (std::string_view line : split_lines(bytes)) {
    ++number;
    line = trim(line.substr(0, kLongestLine));
    if (line.starts_with("# TYPE ")) {
      const auto words = split_words(line);
      if (words.size() == 4 && is_rate(words[2])) types[std::string(words[2])] = printable(words[3]);
      continue;
    }
    const std::size_t open = line.find('{');
    const std::size_t close = line.rfind('}');
    if (open == std::string_view::npos || close == std::string_view::npos || close < open) continue;
    if (!is_rate(line.substr(0, open)) || metrics.rates.size() >= kMostRates) continue;
    const auto words = split_words(line.substr(close + 1));
    const auto value = words.empty() ? std::nullopt : parse_double(words[0]);
    if (!value || *value < 0) continue;
    const std::string_view labels = line.substr(open, close - open);
    metrics.rates.push_back({std::string(line.substr(0, open)),
                             {},
                             label(labels, "gpu"),
                             label(labels, "modelName"),
                             BytesPerSecond{*value},
                             number});
  }
  for (model::DcgmRate& rate : metrics.rates)
    if (const auto type = types.find(rate.field); type != types.end()) rate.type = type->second;
  return metrics;
}

}  // namespace angio::import::dcgm_metrics
