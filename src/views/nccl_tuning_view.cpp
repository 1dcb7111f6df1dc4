#include "views/nccl_tuning_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/dryrun_facts.hpp"
#include "views/dryrun_parts.hpp"

namespace angio::views {
namespace {

using cost::NcclPick;
using cost::NcclSpan;
using report::Align;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

// Three digits behind the point are NCCL's own precision and more.
double rounded(double value) {
  return std::round(value * 1000) / 1000;
}

double bus_of(const TuningReport& report, tuner::Collective collective, std::uint64_t bytes, double time_us) {
  return cost::nccl_bus(collective, report.table.job.ranks, {bytes}, time_us);
}

Line pick_cell(std::string text) {
  return plain(std::move(text));
}

std::vector<Line> row_of(const TuningReport& report, tuner::Collective collective, const std::string& sizes,
                         std::uint64_t first, std::uint64_t last, const NcclPick& from, const NcclPick& to) {
  const auto number = [](int a, int b) { return range_words(std::to_string(a), std::to_string(b)); };
  return {
      plain("  " + sizes),
      pick_cell(std::string(cost::nccl_name(to.algorithm))),
      pick_cell(std::string(cost::nccl_name(to.protocol))),
      plain(number(from.channels, to.channels)),
      plain(number(from.threads, to.threads)),
      plain(range_words(microseconds_words(static_cast<double>(from.time_us)),
                        microseconds_words(static_cast<double>(to.time_us)))),
      plain(range_words(gigabytes_words(bus_of(report, collective, first, static_cast<double>(from.time_us))),
                        gigabytes_words(bus_of(report, collective, last, static_cast<double>(to.time_us)))))};
}

void add_spans(const TuningReport& report, tuner::Collective collective, report::Table& table) {
  for (const NcclSpan& span : cost::nccl_spans(report.table, collective, {report.least}, {report.most})) {
    const auto first = cost::nccl_pick(report.table, collective, span.first);
    table.rows.push_back(row_of(report, collective, size_words(span.first.value, span.last.value),
                                span.first.value, span.last.value, first.value_or(span.pick), span.pick));
  }
}

void add_sizes(const TuningReport& report, tuner::Collective collective, report::Table& table) {
  for (const std::uint64_t size : report.sizes)
    if (const auto pick = cost::nccl_pick(report.table, collective, {size}))
      table.rows.push_back(row_of(report, collective, size_words(size, size), size, size, *pick, *pick));
}

void add_choices(const TuningReport& report, report::Document& document) {
  report::Table table{{{"size"},
                       {"algorithm"},
                       {"protocol"},
                       {"channels", Align::kRight},
                       {"threads", Align::kRight},
                       {"us", Align::kRight},
                       {"bus GB/s", Align::kRight}},
                      {}};
  for (const tuner::Collective collective : report.collectives) {
    table.rows.push_back(
        {toned(std::string(cost::nccl_name(collective)), Tone::kStrong), {}, {}, {}, {}, {}, {}});
    const std::size_t before = table.rows.size();
    if (report.sizes.empty())
      add_spans(report, collective, table);
    else
      add_sizes(report, collective, table);
    if (table.rows.size() == before)
      table.rows.push_back({toned("  nothing: NCCL fails the call", Tone::kWarning), {}, {}, {}, {}, {}, {}});
  }
  document.blocks.emplace_back(Heading{"What it therefore chooses", 2});
  document.blocks.emplace_back(std::move(table));
}

std::string graph_text(const char* name, const cost::NcclGraph& graph) {
  return fmt::format("{} {} x {:g}/{:g}", name, graph.channels, graph.intra, graph.inter);
}

std::string head_text(const TuningReport& report) {
  const cost::NcclJob& job = report.table.job;
  return fmt::format("{}: what the tuner of NCCL {} believes of {}, {} ranks, {}", printable(report.subject),
                     printable(report.version), count_of(static_cast<std::size_t>(job.nodes), "node"),
                     job.ranks, count_of(static_cast<std::size_t>(job.channels), "channel"));
}

Json graph_json(const cost::NcclGraph& graph) {
  return Json::object({{"channels", graph.channels},
                       {"gigabytes_per_second_intra", rounded(static_cast<double>(graph.intra))},
                       {"gigabytes_per_second_inter", rounded(static_cast<double>(graph.inter))},
                       {"type_intra", label(graph.type_intra)},
                       {"type_inter", label(graph.type_inter)},
                       {"latency_us", rounded(static_cast<double>(graph.latency))}});
}

Json pick_json(const TuningReport& report, tuner::Collective collective, std::uint64_t bytes,
               const NcclPick& pick) {
  const auto time = static_cast<double>(pick.time_us);
  return Json::object({{"collective", cost::nccl_name(collective)},
                       {"size_bytes", bytes},
                       {"algorithm", cost::nccl_name(pick.algorithm)},
                       {"protocol", cost::nccl_name(pick.protocol)},
                       {"channels", pick.channels},
                       {"threads", pick.threads},
                       {"time_us", rounded(time)},
                       {"bus_gigabytes_per_second", rounded(bus_of(report, collective, bytes, time))}});
}

Json cells_json(const cost::NcclTable& table) {
  Json cells = Json::array();
  for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective)
    for (std::size_t algorithm = 0; algorithm < static_cast<std::size_t>(table.algorithms); ++algorithm)
      for (std::size_t protocol = 0; protocol < cost::kNcclProtocols; ++protocol) {
        const cost::NcclCell& cell = table.cells[collective][algorithm][protocol];
        cells.push_back(
            Json::object({{"collective", cost::nccl_name(static_cast<tuner::Collective>(collective))},
                          {"algorithm", cost::nccl_name(static_cast<tuner::Algorithm>(algorithm))},
                          {"protocol", cost::nccl_name(static_cast<tuner::Protocol>(protocol))},
                          {"latency_us", rounded(static_cast<double>(cell.latency_us))},
                          {"algorithm_gigabytes_per_second", rounded(static_cast<double>(cell.bandwidth))},
                          {"enabled", cell.enabled},
                          {"most_threads", table.threads[algorithm][protocol]}}));
      }
  return cells;
}

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& each : list)
    json.push_back(each);
  return json;
}

}  // namespace

report::Document nccl_tuning_document(const TuningReport& report) {
  report::Document document;
  if (!report.without_nvlink.empty())
    document.blocks.emplace_back(
        Paragraph{toned("not known: NVLinks: " + report.without_nvlink, Tone::kWarning)});
  document.blocks.emplace_back(Paragraph{plain(head_text(report))});
  const cost::NcclJob& job = report.table.job;
  std::string graphs = graph_text("ring", job.ring) + ", " + graph_text("tree", job.tree);
  if (job.nvls.channels > 0) graphs += ", " + graph_text("NVLS", job.nvls);
  document.blocks.emplace_back(
      Paragraph{plain("graphs, channels x GB/s within and between nodes: " + graphs)});
  add_tuning_table(cost::nccl_cells(report.table), document);
  add_choices(report, document);
  document.blocks.emplace_back(Paragraph{toned(
      "NCCL's own model, not a measurement: no congestion, nothing else on the machine.", Tone::kQuiet)});
  report::Fields fields;
  fields.indent = 0;
  for (const std::string& note : report.notes)
    fields.rows.emplace_back("note", toned(note, Tone::kQuiet));
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
  return document;
}

Json nccl_tuning_json(const TuningReport& report) {
  const cost::NcclJob& job = report.table.job;
  Json changes = Json::array();
  Json choices = Json::array();
  for (const tuner::Collective collective : report.collectives) {
    for (const NcclSpan& span : cost::nccl_spans(report.table, collective, {report.least}, {report.most}))
      changes.push_back(Json::object({{"collective", cost::nccl_name(collective)},
                                      {"first_bytes", span.first.value},
                                      {"last_bytes", span.last.value},
                                      {"algorithm", cost::nccl_name(span.pick.algorithm)},
                                      {"protocol", cost::nccl_name(span.pick.protocol)}}));
    for (const std::uint64_t size : report.sizes)
      if (const auto pick = cost::nccl_pick(report.table, collective, {size}))
        choices.push_back(pick_json(report, collective, size, *pick));
  }
  return Json::object(
      {{"schema", "angio.nccl-tuning/1"},
       {"subject", report.subject},
       {"nccl_version", report.version},
       {"basis", "NCCL's own model, not a measurement"},
       {"nodes", job.nodes},
       {"ranks", job.ranks},
       {"channels", job.channels},
       {"nvls_channels", job.nvls_channels},
       {"graphs", Json::object({{"ring", graph_json(job.ring)},
                                {"tree", graph_json(job.tree)},
                                {"nvls", graph_json(job.nvls)}})},
       {"nvlinks_not_known", report.without_nvlink.empty() ? Json() : Json(report.without_nvlink)},
       {"tuning", cells_json(report.table)},
       {"changes", std::move(changes)},
       {"choices", std::move(choices)},
       {"notes", texts(report.notes)}});
}

}  // namespace angio::views
