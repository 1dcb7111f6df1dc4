// The tables of `angio fabric show`: levels, rails, hosts that findings touch.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/fabric_view.hpp"
#include "views/fabric_words.hpp"

namespace angio::views {

using report::Align;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

constexpr std::size_t kHostRows = 16;
constexpr std::size_t kRailRows = 16;
constexpr std::size_t kLevelRows = 12;
constexpr std::size_t kRulesShown = 3;

std::string ratio_in_words(double ratio) {
  std::string number = fmt::format("{:.2f}", ratio);
  while (number.ends_with('0'))
    number.pop_back();
  if (number.ends_with('.')) number.pop_back();
  return number + ":1";
}

std::vector<std::string> names_of(const model::Fabric& fabric, const std::vector<std::uint32_t>& nodes) {
  std::vector<std::string> names;
  for (const std::uint32_t node : nodes)
    if (node < fabric.nodes.size()) names.push_back(short_name(fabric.nodes[node]));
  std::ranges::sort(names, natural_less);
  return names;
}

void add_left_out(std::size_t count, const std::string& what, Document& document) {
  if (count > 0)
    document.blocks.emplace_back(
        Paragraph{toned(count_of(count, "more " + what) + " (--all)", Tone::kQuiet)});
}

// Hosts that the same findings touch are one row.
struct HostRow {
  std::vector<std::uint32_t> findings;
  std::vector<std::string> hosts;
  std::set<std::string> jobs;
  model::Severity worst = model::Severity::kInfo;
};

std::vector<HostRow> host_rows(const FabricShow& show) {
  const model::FabricReport& report = *show.report;
  std::map<std::uint32_t, std::vector<std::uint32_t>> touching;  // by host
  for (std::uint32_t i = 0; i < report.findings.size(); ++i) {
    // Remarks are about the fabric as it is built, and touch everybody.
    if (report.findings[i].finding.severity < std::max(show.least, model::Severity::kWarning)) continue;
    for (const std::uint32_t host : report.findings[i].hosts) {
      std::vector<std::uint32_t>& findings = touching[host];
      if (host < report.hosts.size() && (findings.empty() || findings.back() != i)) findings.push_back(i);
    }
  }
  std::vector<HostRow> rows;
  std::map<std::vector<std::uint32_t>, std::size_t> place;
  for (const auto& [host, findings] : touching) {
    if (host >= report.hosts.size()) continue;
    const auto [at, is_new] = place.try_emplace(findings, rows.size());
    if (is_new) rows.push_back({findings, {}, {}, model::Severity::kInfo});
    HostRow& row = rows[at->second];
    row.hosts.push_back(report.hosts[host].name);
    row.jobs.insert(report.hosts[host].jobs.begin(), report.hosts[host].jobs.end());
  }
  for (HostRow& row : rows) {
    std::ranges::sort(row.hosts, natural_less);
    for (const std::uint32_t i : row.findings)
      row.worst = std::max(row.worst, report.findings[i].finding.severity);
  }
  std::ranges::stable_sort(rows, [](const HostRow& a, const HostRow& b) {
    if (a.worst != b.worst) return a.worst > b.worst;
    return a.findings != b.findings ? a.findings < b.findings : false;
  });
  return rows;
}

Line rules_line(const HostRow& row, const model::FabricReport& report) {
  std::vector<std::pair<std::string, std::size_t>> rules;
  for (const std::uint32_t i : row.findings) {
    const std::string& rule = report.findings[i].finding.rule;
    const auto known = std::ranges::find(rules, rule, &std::pair<std::string, std::size_t>::first);
    if (known == rules.end()) {
      rules.emplace_back(rule, 1);
    } else {
      ++known->second;
    }
  }
  std::vector<std::string> parts;
  for (const auto& [rule, count] : rules) {
    if (parts.size() == kRulesShown) {
      parts.push_back(fmt::format("{} more", rules.size() - kRulesShown));
      break;
    }
    parts.push_back(count == 1 ? rule : fmt::format("{} ({})", rule, count));
  }
  return toned(join(parts, ", "), tone_of(row.worst));
}

}  // namespace

void add_fabric_levels(const FabricShow& show, Document& document) {
  const std::vector<model::FabricLevel>& levels = show.report->facts.levels;
  if (levels.empty()) return;
  const bool several = show.report->facts.planes.size() > 1;
  Table table{{{"level", Align::kRight},
               {"switches", Align::kRight},
               {"links down", Align::kRight},
               {"bandwidth", Align::kRight},
               {"links up", Align::kRight},
               {"bandwidth", Align::kRight},
               {"down:up", Align::kRight}},
              {}};
  if (several) table.columns.insert(table.columns.begin(), {"plane", Align::kRight});
  const std::size_t shown = show.all ? levels.size() : std::min(levels.size(), kLevelRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const model::FabricLevel& level = levels[i];
    std::vector<Line> row{plain(std::to_string(level.level)),
                          plain(std::to_string(level.switches.size())),
                          plain(std::to_string(level.links_down)),
                          plain(level.down.value > 0 ? in_words(level.down) : "-"),
                          plain(level.links_up > 0 ? std::to_string(level.links_up) : "-"),
                          plain(level.up.value > 0 ? in_words(level.up) : "-"),
                          plain(level.oversubscription ? ratio_in_words(*level.oversubscription) : "-")};
    if (several) row.insert(row.begin(), plain(std::to_string(level.plane + 1)));
    table.rows.push_back(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
  add_left_out(levels.size() - shown, "level", document);
}

void add_fabric_rails(const FabricShow& show, Document& document) {
  const std::vector<model::FabricRail>& rails = show.report->facts.rails;
  if (rails.empty()) return;
  Table table{{{"rail", Align::kRight}, {"adapters", Align::kRight}, {"leaves"}}, {}};
  const std::size_t shown = show.all ? rails.size() : std::min(rails.size(), kRailRows);
  for (std::size_t i = 0; i < shown; ++i) {
    table.rows.push_back({plain(std::to_string(rails[i].number)),
                          plain(std::to_string(rails[i].adapters.size())),
                          plain(some_names(names_of(*show.fabric, rails[i].leaves)))});
  }
  document.blocks.emplace_back(std::move(table));
  add_left_out(rails.size() - shown, "rail", document);
}

void add_fabric_hosts(const FabricShow& show, Document& document) {
  const std::vector<HostRow> rows = host_rows(show);
  if (rows.empty()) return;
  const bool with_jobs = std::ranges::any_of(rows, [](const HostRow& row) { return !row.jobs.empty(); });
  Table table{{{"hosts touched"}, {"by"}}, {}};
  if (with_jobs) table.columns.insert(table.columns.begin() + 1, {"jobs"});
  const std::size_t shown = show.all ? rows.size() : std::min(rows.size(), kHostRows);
  for (std::size_t i = 0; i < shown; ++i) {
    const HostRow& row = rows[i];
    std::vector<Line> line{plain(some_names(row.hosts)), rules_line(row, *show.report)};
    if (with_jobs) line.insert(line.begin() + 1, plain(some_names({row.jobs.begin(), row.jobs.end()})));
    table.rows.push_back(std::move(line));
  }
  document.blocks.emplace_back(std::move(table));
  add_left_out(rows.size() - shown, "row", document);
}

}  // namespace angio::views
