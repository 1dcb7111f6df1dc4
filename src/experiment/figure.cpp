#include "experiment/figure.hpp"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <vector>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::experiment {
namespace {

struct Step {
  std::string key;
  std::optional<std::size_t> index;
};

std::optional<std::vector<Step>> steps_of(std::string_view path) {
  std::vector<Step> steps;
  while (!path.empty()) {
    if (path.front() == '[') {
      const std::size_t end = path.find(']');
      const auto index =
          end == std::string_view::npos ? std::nullopt : parse_integer<std::size_t>(path.substr(1, end - 1));
      if (!index) return std::nullopt;
      steps.push_back({{}, index});
      path.remove_prefix(end + 1);
      if (!path.empty() && path.front() == '.') path.remove_prefix(1);
      continue;
    }
    const std::size_t end = path.find_first_of(".[");
    if (end == 0) return std::nullopt;
    steps.push_back({std::string(path.substr(0, end)), std::nullopt});
    path.remove_prefix(end == std::string_view::npos ? path.size() : end);
    if (path == ".") return std::nullopt;
    if (!path.empty() && path.front() == '.') path.remove_prefix(1);
  }
  if (steps.empty()) return std::nullopt;
  return steps;
}

std::optional<double> number_of(const Json& json) {
  if (const auto* whole = json.as_integer()) return static_cast<double>(*whole);
  if (const auto* number = json.as_double(); number != nullptr && std::isfinite(*number)) return *number;
  return std::nullopt;
}

Result<Json> json_of(std::string_view output) {
  auto whole = parse_json(trim(output));
  if (whole && whole->as_object() != nullptr) return whole;
  const std::vector<std::string_view> lines = split_lines(output);
  for (std::size_t at = lines.size(); at-- > 0;) {
    const std::string_view line = trim(lines[at]);
    if (!line.starts_with('{')) continue;
    auto json = parse_json(line);
    if (json) return json;
  }
  return fail(ErrorCode::kInvalidInput, "no JSON object in its output");
}

Result<double> by_path(const Json& json, const std::string& path) {
  const Json* at = &json;
  for (const Step& step : steps_of(path).value_or(std::vector<Step>{})) {
    if (step.index) {
      const auto* list = at->as_array();
      at = list != nullptr && *step.index < list->size() ? &(*list)[*step.index] : nullptr;
    } else {
      at = at->find(step.key);
    }
    if (at == nullptr)
      return fail(ErrorCode::kInvalidInput, fmt::format("its JSON has no \"{}\"", printable(path)));
  }
  if (const auto number = number_of(*at)) return *number;
  return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" of its JSON is no number", printable(path)));
}

std::string text_of(const Json& row, std::string_view key) {
  const Json* value = row.find(key);
  const std::string* text = value == nullptr ? nullptr : value->as_string();
  return text == nullptr ? std::string() : *text;
}

Error no_such_figure(const std::string& name, const std::vector<std::string>& names) {
  const std::vector<std::string_view> views(names.begin(), names.end());
  const auto meant = did_you_mean(name, views);
  return {ErrorCode::kInvalidInput, fmt::format("no figure \"{}\" in its metrics", printable(name)),
          meant ? fmt::format("did you mean \"{}\"?", printable(*meant))
                : fmt::format("it has: {}", printable(join(names, ", ")).substr(0, 400))};
}

Result<double> by_name(const Json& json, const FigureWish& wish) {
  const Json* metrics = json.find("metrics");
  const auto* rows = metrics == nullptr ? nullptr : metrics->as_array();
  if (rows == nullptr) return fail(ErrorCode::kInvalidInput, "its JSON has no \"metrics\"");
  std::optional<double> found;
  std::vector<std::string> names;
  for (const Json& row : *rows) {
    names.push_back(text_of(row, "name"));
    const bool meant =
        names.back() == wish.name && (wish.subject.empty() || text_of(row, "subject") == wish.subject);
    const Json* value = row.find("value");
    const auto number = value == nullptr ? std::nullopt : number_of(*value);
    if (!meant || !number) continue;
    if (found)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("several figures \"{}\" in its metrics", printable(wish.name)),
                  "say which: subject = \"" + printable(text_of(row, "subject")) + "\"");
    found = number;
  }
  if (!found) return std::unexpected(no_such_figure(wish.name, names));
  return *found;
}

}  // namespace

std::string wrong_path(std::string_view path) {
  return steps_of(path) ? "" : "it is no path such as result.times[3]";
}

Result<double> read_figure(const FigureWish& wish, std::string_view output) {
  const auto json = json_of(output);
  if (!json) return std::unexpected(json.error());
  if (!wish.schema.empty() && !text_of(*json, "schema").starts_with(wish.schema)) {
    return fail(ErrorCode::kInvalidInput, fmt::format("its JSON is of schema \"{}\", expected {}",
                                                      printable(text_of(*json, "schema")), wish.schema));
  }
  return wish.path.empty() ? by_name(*json, wish) : by_path(*json, wish.path);
}

}  // namespace angio::experiment
