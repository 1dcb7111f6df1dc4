#include <fmt/format.h>

#include <vector>

#include "base/text.hpp"
#include "views/history_view.hpp"
#include "views/metrics_json.hpp"

namespace angio::views {
namespace {

// Quotes, separators and line ends inside quotes, quotes doubled. What a spreadsheet would run as a formula
// gets a blank in front.
std::string csv_cell(const std::string& text) {
  const bool formula = !text.empty() &&
                       std::string_view("=+-@").find(text.front()) != std::string_view::npos &&
                       !parse_double(text);
  std::string cell = formula ? " " + text : text;
  if (cell.find_first_of("\",\r\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell)
    quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace

Json history_export_json(const std::vector<history::Record>& records,
                         const std::vector<history::Baseline>& baselines) {
  Json rows = Json::array();
  for (const history::Record& record : records) {
    Json row = Json::object({{"id", record.id},
                             {"schema", record.schema},
                             {"subject", record.subject},
                             {"captured", record.captured}});
    if (record.environment.is_known()) row.set("environment", history::environment_json(record.environment));
    row.set("metrics", metrics_json(record.metrics));
    rows.push_back(std::move(row));
  }
  Json names = Json::array();
  for (const history::Baseline& baseline : baselines)
    names.push_back(Json::object({{"name", baseline.name}, {"id", baseline.entry.id}}));
  return Json::object(
      {{"schema", "angio.history-export/1"}, {"records", std::move(rows)}, {"baselines", std::move(names)}});
}

std::string history_export_csv(const std::vector<history::Record>& records) {
  std::string csv = "id,result,subject,captured,environment,thing,figure,kind,value,unit,samples\r\n";
  for (const history::Record& record : records)
    for (const model::Metric& metric : record.metrics) {
      const bool state = metric.kind == model::MetricKind::kState;
      std::vector<std::string> cells{std::to_string(record.id),
                                     record.schema,
                                     record.subject,
                                     record.captured,
                                     history::fingerprint_of(record.environment),
                                     metric.subject,
                                     metric.name,
                                     std::string(name_of(metric.kind)),
                                     state ? metric.text : fmt::format("{}", metric.value),
                                     metric.unit,
                                     fmt::format("{}", fmt::join(metric.samples, " "))};
      for (std::string& cell : cells)
        cell = csv_cell(cell);
      csv += join(cells, ",") + "\r\n";
    }
  return csv;
}

}  // namespace angio::views
