#include "views/advice_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/versions.hpp"

namespace angio::views {

using knowledge::AdviceText;
using knowledge::LibraryChoice;
using knowledge::Scenario;
using knowledge::ScenarioCell;
using plan::Traffic;
using report::Document;
using report::Fields;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Tone;
using report::toned;

namespace {

std::string releases(std::string_view since, std::string_view until) {
  if (since.empty() && until.empty()) return {};
  if (until.empty()) return fmt::format("NCCL {} and newer", since);
  if (since.empty()) return fmt::format("NCCL up to {}", until);
  return fmt::format("NCCL {} to {}", since, until);
}

// "documented; NCCL 2.24 and newer; source"
std::string standing(std::string_view status, std::string_view since, std::string_view until,
                     std::string_view source, bool with_source) {
  std::vector<std::string> parts{std::string(status)};
  if (const std::string range = releases(since, until); !range.empty()) parts.push_back(range);
  if (with_source) parts.emplace_back(source);
  return join(parts, "; ");
}

Tone tone_of(std::string_view verdict) {
  return verdict == "false" ? Tone::kCritical : verdict == "partly" ? Tone::kWarning : Tone::kGood;
}

std::string shape_words(const plan::JobShape& job) {
  std::vector<std::string> parts;
  if (job.gpus > 0) parts.push_back(count_of(job.gpus, "GPU"));
  if (job.gpus_per_node > 0) parts.push_back(fmt::format("{} a node", job.gpus_per_node));
  if (job.tensor > 1) parts.push_back(fmt::format("tensor parallel {}", job.tensor));
  if (job.pipeline > 1) parts.push_back(fmt::format("pipeline parallel {}", job.pipeline));
  if (job.expert > 1) parts.push_back(fmt::format("expert parallel {}", job.expert));
  parts.emplace_back(job.inference ? "inference" : "training");
  if (!job.nccl.empty()) parts.push_back("NCCL " + printable(job.nccl));
  return join(parts, ", ");
}

std::string bytes_words(const Traffic& one) {
  return one.bytes ? in_words(Bytes{*one.bytes}) : "unknown";
}

report::Table traffic_table(const plan::Advice& advice) {
  report::Table table;
  table.columns = {{"message"},
                   {"as"},
                   {"ranks", report::Align::kRight},
                   {"size", report::Align::kRight},
                   {"a step", report::Align::kRight},
                   {"over"},
                   {"rules"}};
  for (const Traffic& one : advice.traffic)
    table.rows.push_back({plain(one.what), plain(one.collective), plain(fmt::format("{}", one.group)),
                          plain(bytes_words(one)), plain(one.calls ? fmt::format("{}", *one.calls) : "-"),
                          plain(one.across_nodes ? "network" : "node"),
                          toned(std::string(plan::in_words(one.regime)),
                                one.regime == plan::Regime::kUnknown ? Tone::kUnknown : Tone::kStrong)});
  return table;
}

void add_traffic(const plan::Advice& advice, bool with_sources, Document& document) {
  if (advice.traffic.empty()) return;
  document.blocks.emplace_back(Heading{"What it sends", 2});
  document.blocks.emplace_back(traffic_table(advice));
  Fields fields;
  fields.indent = 2;
  for (const Traffic& one : advice.traffic) {
    std::vector<std::string> parts{one.arithmetic};
    if (!one.grounds.empty()) parts.push_back(one.grounds);
    if (with_sources) parts.push_back(one.source);
    fields.rows.emplace_back(one.what, plain(join(parts, "; ")));
  }
  document.blocks.emplace_back(std::move(fields));
  document.blocks.emplace_back(Paragraph{
      toned("Sizes are arithmetic. Times are estimates of NCCL's cost model without congestion and overlap.",
            Tone::kQuiet)});
}

constexpr std::string_view kUnset = "leave unset";

void add_line(const plan::AdviceLine& line, bool with_sources, Fields& fields) {
  const AdviceText& text = *line.text;
  std::string_view what = text.text;
  std::string why(text.reason);
  if (what.starts_with(kUnset)) {  // that much the heading says
    what.remove_prefix(kUnset.size());
    if (what.starts_with("; ")) why = fmt::format("Except: {}. {}", what.substr(2), why);
  } else {
    fields.rows.emplace_back(std::string(text.topic), toned(std::string(what), Tone::kStrong));
  }
  if (line.version_open) why += " Only for " + releases(text.since, text.until) + ".";
  if (with_sources) why += " (" + standing(text.status, text.since, text.until, text.source, true) + ")";
  if (!with_sources && text.status != "documented") why += fmt::format(" ({})", text.status);
  fields.rows.emplace_back(text.text.starts_with(kUnset) ? std::string(text.topic) : std::string(),
                           plain(why));
}

void add_lines(const plan::Advice& advice, bool with_sources, Document& document) {
  for (const bool unset : {false, true}) {
    Fields fields;
    fields.indent = 2;
    for (const plan::AdviceLine& line : advice.lines)
      if (line.text->text.starts_with(kUnset) == unset) add_line(line, with_sources, fields);
    if (fields.rows.empty()) continue;
    document.blocks.emplace_back(Heading{unset ? "What to leave unset" : "What to do", 2});
    document.blocks.emplace_back(std::move(fields));
  }
}

template <typename Entry>
std::vector<const Entry*> by_order(std::span<const Entry> all) {
  std::vector<const Entry*> sorted;
  for (const Entry& one : all)
    sorted.push_back(&one);
  std::ranges::stable_sort(sorted, {}, [](const Entry* one) { return one->order; });
  return sorted;
}

std::vector<const ScenarioCell*> cells_of(const Scenario& scenario) {
  std::vector<const ScenarioCell*> cells = by_order(knowledge::scenario_cells());
  std::erase_if(cells, [&](const ScenarioCell* cell) { return cell->scenario != scenario.id; });
  return cells;
}

void add_cell(const ScenarioCell& cell, bool with_sources, Fields& fields) {
  const char* label = "";
  if (cell.said.empty()) {
    fields.rows.emplace_back(std::string(cell.topic), toned("the article says nothing", Tone::kQuiet));
  } else {
    fields.rows.emplace_back(std::string(cell.topic),
                             Line{{"said  ", Tone::kQuiet},
                                  {std::string(cell.said) + "  ", Tone::kPlain},
                                  {std::string(cell.verdict), tone_of(cell.verdict)}});
  }
  fields.rows.emplace_back(label, Line{{"do    ", Tone::kQuiet}, {std::string(cell.text), Tone::kStrong}});
  std::string why(cell.reason);
  why += " (" + standing(cell.status, cell.since, cell.until, cell.source, with_sources) + ")";
  fields.rows.emplace_back(label, Line{{"why   ", Tone::kQuiet}, {std::move(why), Tone::kPlain}});
}

Json text_list(const std::vector<std::string>& values) {
  Json list = Json::array();
  for (const std::string& value : values)
    list.push_back(value);
  return list;
}

Json traffic_json(const Traffic& one) {
  return Json::object({{"message", one.what},
                       {"collective", one.collective},
                       {"ranks", one.group},
                       {"bytes", one.bytes ? Json(*one.bytes) : Json()},
                       {"calls_a_step", one.calls ? Json(*one.calls) : Json()},
                       {"across_nodes", one.across_nodes},
                       {"rules", plan::in_words(one.regime)},
                       {"latency_us", one.latency_us ? Json(*one.latency_us) : Json()},
                       {"transfer_us", one.transfer_us ? Json(*one.transfer_us) : Json()},
                       {"arithmetic", one.arithmetic},
                       {"grounds", one.grounds},
                       {"source", one.source}});
}

}  // namespace

Document advice_document(const plan::JobShape& job, const plan::Advice& advice, bool with_sources) {
  Document document;
  document.title = "Advice";
  document.blocks.emplace_back(Paragraph{toned(shape_words(job), Tone::kStrong)});
  if (!job.seen.empty())
    document.blocks.emplace_back(
        Paragraph{plain("Seen in the snapshot: " + printable(join(job.seen, ", ")) + ".")});
  add_traffic(advice, with_sources, document);
  add_lines(advice, with_sources, document);
  if (!advice.missing.empty())
    document.blocks.emplace_back(
        Paragraph{{{"Not given: ", Tone::kUnknown}, {join(advice.missing, "; ") + ".", Tone::kPlain}}});
  return document;
}

Json advice_json(const plan::JobShape& job, const plan::Advice& advice) {
  Json traffic = Json::array();
  for (const Traffic& one : advice.traffic)
    traffic.push_back(traffic_json(one));
  Json lines = Json::array();
  for (const plan::AdviceLine& line : advice.lines)
    lines.push_back(Json::object({{"id", line.text->id},
                                  {"topic", line.text->topic},
                                  {"advice", line.text->text},
                                  {"reason", line.text->reason},
                                  {"since", line.text->since},
                                  {"until", line.text->until},
                                  {"depends_on_release", line.version_open},
                                  {"status", line.text->status},
                                  {"source", line.text->source}}));
  return Json::object({{"schema", "angio.advice/1"},
                       {"job", shape_words(job)},
                       {"words", text_list(advice.words)},
                       {"traffic", std::move(traffic)},
                       {"advice", std::move(lines)},
                       {"missing", text_list(advice.missing)}});
}

Document scenario_document(bool with_sources) {
  Document document;
  document.title = "Scenarios";
  for (const Scenario* scenario : by_order(knowledge::scenarios())) {
    document.blocks.emplace_back(Heading{std::string(scenario->title), 2});
    document.blocks.emplace_back(Paragraph{toned(std::string(scenario->assumes), Tone::kQuiet)});
    Fields fields;
    fields.indent = 2;
    for (const ScenarioCell* cell : cells_of(*scenario))
      add_cell(*cell, with_sources, fields);
    document.blocks.emplace_back(std::move(fields));
  }
  document.blocks.emplace_back(Paragraph{
      plain("said: a popular article's decision table, shortened. For your own job: angio advise --gpus … "
            "--params …; sources: --sources.")});
  return document;
}

Json scenario_json() {
  Json scenarios = Json::array();
  for (const Scenario* scenario : by_order(knowledge::scenarios())) {
    Json cells = Json::array();
    for (const ScenarioCell* cell : cells_of(*scenario))
      cells.push_back(Json::object({{"topic", cell->topic},
                                    {"said", cell->said},
                                    {"verdict", cell->verdict},
                                    {"advice", cell->text},
                                    {"reason", cell->reason},
                                    {"since", cell->since},
                                    {"until", cell->until},
                                    {"status", cell->status},
                                    {"source", cell->source}}));
    scenarios.push_back(Json::object({{"id", scenario->id},
                                      {"title", scenario->title},
                                      {"assumes", scenario->assumes},
                                      {"cells", std::move(cells)}}));
  }
  return Json::object({{"schema", "angio.scenarios/1"}, {"scenarios", std::move(scenarios)}});
}

Document libraries_document(bool with_sources) {
  Document document;
  document.title = "NCCL, MPI or UCX";
  for (const LibraryChoice* row : by_order(knowledge::library_choices())) {
    document.blocks.emplace_back(Paragraph{toned(std::string(row->criterion), Tone::kStrong)});
    Fields fields;
    fields.rows.emplace_back("NCCL", plain(std::string(row->nccl)));
    fields.rows.emplace_back("MPI", plain(std::string(row->mpi)));
    fields.rows.emplace_back("UCX", plain(std::string(row->ucx)));
    if (with_sources) fields.rows.emplace_back("source", toned(std::string(row->source), Tone::kQuiet));
    document.blocks.emplace_back(std::move(fields));
  }
  document.blocks.emplace_back(
      Paragraph{plain("No step times here: the popular comparison of the three contradicts itself "
                      "(efficiencies that do not follow from "
                      "its own step times). Measure your own job: angio bench compare.")});
  return document;
}

Json libraries_json() {
  Json rows = Json::array();
  for (const LibraryChoice* row : by_order(knowledge::library_choices()))
    rows.push_back(Json::object({{"criterion", row->criterion},
                                 {"nccl", row->nccl},
                                 {"mpi", row->mpi},
                                 {"ucx", row->ucx},
                                 {"source", row->source}}));
  return Json::object({{"schema", "angio.libraries/1"}, {"criteria", std::move(rows)}});
}

}  // namespace angio::views
