#include "views/mesh_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/doctor_report.hpp"
#include "views/finding_block.hpp"
#include "views/mesh_cells.hpp"

namespace angio::views {
namespace {

using model::MeshMeasure;
using model::MeshReport;
using model::MeshResult;
using model::MeshTransport;
using report::Align;
using report::Document;
using report::Fields;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

// 80 columns hold the names and so many figures of six columns.
constexpr std::uint32_t kWidestTable = 10;
constexpr std::size_t kRowsShown = 12;
constexpr double kSlow = 0.8;  // as data/mesh.toml judges; here only what is toned

std::string title_line(const MeshResult& result) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> pairs;
  std::size_t failed = 0;
  std::size_t missing = 0;
  for (const MeshMeasure& measure : result.measures) {
    if (measure.state == model::MeshState::kDone) pairs.insert(std::minmax(measure.from, measure.to));
    failed += measure.state == model::MeshState::kFailed ? 1 : 0;
    missing += measure.state == model::MeshState::kMissing ? 1 : 0;
  }
  const std::size_t hosts = result.hosts.size();
  std::string line = fmt::format("{}: {}, {} of {} pairs measured", printable(result.name),
                                 count_of(hosts, "host"), pairs.size(), hosts * (hosts - 1) / 2);
  if (result.plan.partners > 0)
    line += fmt::format(" (a sample of about {} partners each)", result.plan.partners);
  if (result.rounds_done < result.rounds_planned)
    line += fmt::format(", {} of {} rounds", result.rounds_done, result.rounds_planned);
  if (failed > 0) line += fmt::format(", {} failed", count_of(failed, "direction"));
  if (missing > 0) line += fmt::format(", {} missing", missing);
  return line;
}

std::string rate(BitsPerSecond value) {
  return value.value > 0 ? in_words(value) : "";
}

std::string in_microseconds(const std::optional<double>& value) {
  return value ? fmt::format("{:.1f} us", *value) : "";
}

std::string cpu(const std::optional<double>& value) {
  return value ? fmt::format("{:.2f} s", *value) : "";
}

void add_usual(const MeshReport& report, Document& document) {
  if (report.usual.empty()) return;
  report::Table table{{{"over"},
                       {"median", Align::kRight},
                       {"lowest", Align::kRight},
                       {"highest", Align::kRight},
                       {"latency", Align::kRight},
                       {"CPU to send 1 GB", Align::kRight},
                       {"receive", Align::kRight}},
                      {}};
  for (const model::MeshUsual& usual : report.usual) {
    const std::string name(name_of(usual.transport));
    table.rows.push_back({plain(usual.rail ? fmt::format("{} rail {}", name, *usual.rail) : name),
                          plain(rate(usual.median)), plain(rate(usual.lowest)), plain(rate(usual.highest)),
                          plain(in_microseconds(usual.latency_us)), plain(cpu(usual.from_cpu)),
                          plain(cpu(usual.to_cpu))});
  }
  document.blocks.emplace_back(std::move(table));
}

// RDMA and TCP on the same hosts: what the difference is worth.
void add_comparison(const MeshReport& report, Document& document) {
  const model::MeshUsual* tcp = nullptr;
  const model::MeshUsual* rdma = nullptr;
  for (const model::MeshUsual& usual : report.usual) {
    if (!usual.rail) (usual.transport == MeshTransport::kTcp ? tcp : rdma) = &usual;
  }
  if (tcp == nullptr || rdma == nullptr) return;
  std::vector<std::string> parts;
  const auto times = [&](const char* what, double value) {
    parts.push_back(fmt::format("{} {:.{}f} times", what, value, value < 10 ? 2 : 0));
  };
  if (tcp->median.value > 0 && rdma->median.value > 0) times("bandwidth", rdma->median / tcp->median);
  if (tcp->latency_us && rdma->latency_us && *tcp->latency_us > 0)
    times("latency", *rdma->latency_us / *tcp->latency_us);
  if (tcp->from_cpu && rdma->from_cpu && *tcp->from_cpu > 0)
    times("CPU to send", *rdma->from_cpu / *tcp->from_cpu);
  if (!parts.empty())
    document.blocks.emplace_back(
        Paragraph{plain("RDMA against TCP on the same hosts: " + join(parts, ", "))});
}

Tone tone_of(const MeshCell& cell) {
  if (cell.measure == nullptr) return Tone::kUnknown;
  if (cell.measure->state == model::MeshState::kFailed) return Tone::kCritical;
  if (!cell.share) return Tone::kUnknown;
  return *cell.share < kSlow ? Tone::kWarning : Tone::kPlain;
}

std::string grid_title(const MeshGrid& grid, const MeshUnit& unit, bool rails) {
  const std::string name(name_of(grid.transport()));
  const char* what = grid.is_latency() ? "half of a round trip" : "from the row's host to the column's";
  return fmt::format("{}{}, {} {}", name, rails ? ", the worst rail" : "", unit.name, what);
}

void add_table(const MeshResult& result, const MeshGrid& grid, Document& document) {
  report::Table table{{{""}}, {}};
  for (const model::MeshHost& host : result.hosts)
    table.columns.push_back({printable(host.name).substr(0, 12), Align::kRight});
  const MeshUnit unit = mesh_unit(grid);
  for (std::uint32_t from = 0; from < grid.hosts(); ++from) {
    std::vector<Line> row{toned(printable(result.hosts[from].name), Tone::kStrong)};
    for (std::uint32_t to = 0; to < grid.hosts(); ++to) {
      if (from == to) {
        row.push_back(toned("-", Tone::kQuiet));
        continue;
      }
      row.push_back(toned(mesh_figure(grid, grid.at(from, to), unit), tone_of(grid.at(from, to))));
    }
    table.rows.push_back(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
}

struct HostRow {
  std::uint32_t host = 0;
  std::optional<double> sent, received;
  MeshCell worst;
  std::size_t failed = 0;
  [[nodiscard]] double badness() const {
    return std::min(sent.value_or(1), received.value_or(1)) - static_cast<double>(failed);
  }
};

HostRow row_of(const MeshGrid& grid, std::uint32_t host) {
  HostRow row{host, grid.sent(host), grid.received(host), {}, 0};
  for (std::uint32_t other = 0; other < grid.hosts(); ++other) {
    for (const MeshCell* cell : {&grid.at(host, other), &grid.at(other, host)}) {
      if (cell->measure != nullptr && cell->measure->state == model::MeshState::kFailed) ++row.failed;
      if (cell->share && (!row.worst.share || *cell->share < *row.worst.share)) row.worst = *cell;
    }
  }
  return row;
}

// More hosts than a line holds: the worst ones, each in a line.
void add_worst(const MeshResult& result, const MeshGrid& grid, Document& document) {
  std::vector<HostRow> rows;
  for (std::uint32_t host = 0; host < grid.hosts(); ++host)
    rows.push_back(row_of(grid, host));
  std::ranges::stable_sort(rows, {}, &HostRow::badness);
  // Those that are no worse than usual only fill lines; a few stay, to compare with.
  const auto low = static_cast<std::size_t>(
      std::ranges::count_if(rows, [](const HostRow& row) { return row.badness() < kSlow; }));
  constexpr std::size_t kUsual = 2;
  const std::size_t shown_rows = std::min({rows.size(), kRowsShown, low + kUsual});
  const auto share = [](const std::optional<double>& value) {
    return value
               ? toned(fmt::format("{:.0f} %", *value * 100), *value < kSlow ? Tone::kWarning : Tone::kPlain)
               : toned("?", Tone::kUnknown);
  };
  report::Table table{{{"host"},
                       {"sends", Align::kRight},
                       {"receives", Align::kRight},
                       {"failed", Align::kRight},
                       {"its worst"}},
                      {}};
  for (std::size_t i = 0; i < shown_rows; ++i) {
    const HostRow& row = rows[i];
    table.rows.push_back({toned(printable(result.hosts[row.host].name), Tone::kStrong), share(row.sent),
                          share(row.received), plain(row.failed > 0 ? std::to_string(row.failed) : ""),
                          plain(row.worst.measure != nullptr ? mesh_cell_words(result, row.worst) : "")});
  }
  document.blocks.emplace_back(std::move(table));
  if (rows.size() > shown_rows)
    document.blocks.emplace_back(
        Paragraph{toned(fmt::format("the {} worst of {} hosts; 100 % is {}; --format html or svg shows all",
                                    shown_rows, rows.size(), grid.reference()),
                        Tone::kQuiet)});
}

void add_grids(const MeshResult& result, const MeshReport& report, Document& document) {
  for (const MeshTransport transport : mesh_transports(result)) {
    const MeshGrid grid(result, report, transport, {});
    if (result.hosts.size() > kMostGridHosts)
      document.blocks.emplace_back(Paragraph{
          toned(fmt::format("no table of {} hosts: {} at most", result.hosts.size(), kMostGridHosts),
                Tone::kQuiet)});
    if (grid.is_empty()) continue;
    const bool rails = mesh_rails(result, transport) > 1;
    document.blocks.emplace_back(Paragraph{toned(grid_title(grid, mesh_unit(grid), rails), Tone::kStrong)});
    std::size_t longest = 0;
    for (const model::MeshHost& host : result.hosts)
      longest = std::max(longest, host.name.size());
    constexpr std::size_t kRoom = 78;
    const bool fits = (longest + 1) + grid.hosts() * (std::max<std::size_t>(longest, 5) + 2) <= kRoom;
    if (grid.hosts() <= kWidestTable && fits) {
      add_table(result, grid, document);
    } else {
      add_worst(result, grid, document);
    }
  }
}

void add_undecided(const MeshReport& report, Document& document) {
  for (const model::Undecided& gap : report.undecided) {
    document.blocks.emplace_back(
        Paragraph{{{"UNDECIDED ", Tone::kUnknown}, {printable(gap.missing), Tone::kPlain}}});
    Fields fields;
    fields.rows.emplace_back("collect", plain(printable(gap.collect)));
    fields.rows.emplace_back("rule", toned(gap.rule, Tone::kQuiet));
    document.blocks.emplace_back(std::move(fields));
  }
}

void add_end(const MeshResult& result, const MeshReport& report, bool show_undecided, Document& document) {
  for (const std::string& note : result.notes)
    document.blocks.emplace_back(
        Paragraph{{{"NOTE      ", Tone::kUnknown}, {printable(note), Tone::kPlain}}});
  for (const model::Finding& finding : report.findings)
    add_finding(finding, "this mesh", document);
  if (show_undecided) add_undecided(report, document);
  std::string line =
      report.findings.empty() ? "no findings; " : count_of(report.findings.size(), "finding") + ", ";
  const std::string undecided =
      fmt::format("{} undecided{}", report.undecided.size(),
                  !report.undecided.empty() && !show_undecided ? " (--undecided)" : "");
  const std::string held = count_of(report.held.size(), "rule") + " held";
  line += report.findings.empty() ? held + ", " + undecided : undecided + ", " + held;
  document.blocks.emplace_back(Paragraph{plain(line)});
}

Document document_of(const MeshResult& result, const MeshReport& report, bool show_undecided,
                     bool with_maps) {
  Document document;
  document.title = "Mesh of " + printable(result.name);
  document.blocks.emplace_back(Paragraph{plain(title_line(result))});
  if (with_maps) {
    const std::string made =
        fmt::format("{}, captured {}, agents started by {}", result.tool, result.captured, result.launcher);
    document.blocks.emplace_back(Paragraph{toned(printable(made), Tone::kQuiet)});
  }
  add_usual(report, document);
  add_comparison(report, document);
  if (with_maps && !mesh_transports(result).empty())
    document.blocks.emplace_back(mesh_drawing(result, report));
  add_grids(result, report, document);
  add_end(result, report, show_undecided, document);
  return document;
}

}  // namespace

Document mesh_document(const MeshResult& result, const MeshReport& report, bool show_undecided) {
  return document_of(result, report, show_undecided, false);
}

Document mesh_page(const MeshResult& result, const MeshReport& report) {
  return document_of(result, report, true, true);
}

}  // namespace angio::views
