// RAS answers, PyTorch's watchdog and Inspector records, for the terminal, the page and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/nccl_log_view.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::NcclEvidence;
using model::RasCommunicator;
using model::RasRank;
using model::RasReport;
using report::Align;
using report::Document;
using report::Fields;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kMostRows = 16;

void add(Fields& fields, const std::string& label, const std::string& text) {
  if (!text.empty()) fields.rows.emplace_back(label, plain(printable(text)));
}

std::string counts_words(const RasCommunicator& communicator) {
  std::vector<std::string> parts;
  for (const model::RasMismatch& group : communicator.mismatches) {
    if (!group.operation) continue;
    std::set<std::uint32_t> listed;
    for (const RasRank& rank : group.listed)
      listed.insert(rank.rank);
    parts.push_back(fmt::format("{} at {}{}", count_of(group.ranks, "rank"), *group.operation,
                                listed.empty() ? "" : " (" + rank_list(listed) + ")"));
  }
  return join(parts, ", ");
}

void add_answer(const RasReport& report, Fields& fields) {
  std::vector<std::string> parts;
  if (!report.version.empty()) parts.push_back(report.library + " " + report.version);
  if (report.gpus) parts.push_back(count_of(*report.gpus, "GPU"));
  if (report.nodes) parts.push_back("on " + count_of(*report.nodes, "node"));
  if (!report.time.empty()) parts.push_back(report.time);
  add(fields, "RAS", parts.empty() ? "an answer" : join(parts, ", "));
  for (const model::RasGroup& group : report.groups) {
    add(fields, fmt::format("group {}", group.number),
        fmt::format("{} of {} ranks on {}: {}, {}", count_of(group.communicators, "communicator"),
                    group.ranks_per_communicator, count_of(group.nodes, "node"), group.status, group.errors));
  }
  for (const model::RasProblem& problem : report.problems) {
    if (fields.rows.size() > 3 * kMostRows) break;
    std::string text = problem.text;
    for (const RasRank& process : problem.processes)
      if (!contains(text, process.host))
        text += fmt::format("; process {} on {}, GPU {}", process.pid, process.host, process.gpus);
    add(fields, problem.kind, text);
  }
  for (const RasCommunicator& communicator : report.communicators) {
    if (fields.rows.size() > 3 * kMostRows) break;
    std::string text = counts_words(communicator);
    std::set<std::uint32_t> missing;
    for (const RasRank& rank : communicator.missing)
      missing.insert(rank.rank);
    if (!missing.empty())
      text += (text.empty() ? "" : "; ") + std::string("missing: ranks ") + rank_list(missing);
    if (text.empty() && communicator.size)
      text = fmt::format("{} of {} ranks answered", communicator.ranks.size(), *communicator.size);
    add(fields, communicator.name.empty() ? communicator.hash.substr(0, 9) : communicator.name, text);
  }
}

Json rank_json(const RasRank& rank) {
  return Json::object({{"rank", rank.rank}, {"host", rank.host}, {"pid", rank.pid}, {"gpus", rank.gpus}});
}

Json ranks_json(const std::vector<RasRank>& ranks) {
  Json list = Json::array();
  for (const RasRank& rank : ranks)
    list.push_back(rank_json(rank));
  return list;
}

Json communicator_json(const NcclEvidence& evidence, const RasCommunicator& communicator) {
  Json groups = Json::array();
  for (const model::RasMismatch& group : communicator.mismatches)
    groups.push_back(Json::object({{"ranks", group.ranks},
                                   {"operation", group.operation ? Json(*group.operation) : Json()},
                                   {"collective", group.collective},
                                   {"listed", ranks_json(group.listed)},
                                   {"source", evidence.places.text(group.source)}}));
  return Json::object({{"name", communicator.name},
                       {"hash", communicator.hash},
                       {"size", communicator.size ? Json(*communicator.size) : Json()},
                       {"ranks_answered", static_cast<std::uint64_t>(communicator.ranks.size())},
                       {"missing", ranks_json(communicator.missing)},
                       {"counts", std::move(groups)}});
}

}  // namespace

void add_ras(const NcclEvidence& evidence, Document& document) {
  for (const RasReport& report : evidence.ras) {
    Fields fields;
    add_answer(report, fields);
    document.blocks.emplace_back(std::move(fields));
  }
}

void add_watchdog(const NcclEvidence& evidence, Document& document) {
  if (!evidence.watchdog) return;
  const model::WatchdogReport& report = *evidence.watchdog;
  if (!report.timeouts.empty()) {
    report::Table table{{{"rank", Align::kRight},
                         {"group"},
                         {"collective", Align::kRight},
                         {"operation"},
                         {"elements", Align::kRight},
                         {"ran s", Align::kRight},
                         {"line"}},
                        {}};
    for (const model::WatchdogTimeout& timeout : report.timeouts) {
      if (table.rows.size() >= kMostRows) break;
      table.rows.push_back(
          {plain(timeout.rank ? std::to_string(*timeout.rank) : "-"),
           plain(timeout.group.empty() ? "-"
                                       : timeout.group + (timeout.guid.empty() ? "" : " " + timeout.guid)),
           plain(std::to_string(timeout.sequence)), plain(timeout.operation),
           plain(timeout.elements_in ? std::to_string(*timeout.elements_in) : "-"),
           plain(timeout.ran_ms ? fmt::format("{:.0f}", static_cast<double>(*timeout.ran_ms) / 1000) : "-"),
           toned(short_place(evidence.places.text(timeout.source)), Tone::kQuiet)});
    }
    document.blocks.emplace_back(report::Paragraph{
        toned(count_of(report.timeouts.size(), "timeout") + " of PyTorch's watchdog", Tone::kStrong)});
    document.blocks.emplace_back(std::move(table));
  }
  Fields fields;
  for (const model::WatchdogError& error : report.errors) {
    if (fields.rows.size() >= kMostRows) break;
    const std::string text = error.last_error.empty() ? error.text : error.result + ": " + error.last_error;
    fields.rows.emplace_back(fields.rows.empty() ? "PyTorch" : "",
                             report::Line{{printable(text), Tone::kPlain},
                                          {"  " + evidence.places.text(error.source), Tone::kQuiet}});
  }
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

void add_inspector(const NcclEvidence& evidence, Document& document) {
  if (!evidence.inspector) return;
  const model::InspectorSummary& summary = *evidence.inspector;
  document.blocks.emplace_back(report::Paragraph{
      toned(fmt::format("{} of the Inspector from {}{}", count_of(summary.records, "record"),
                        count_of(summary.hosts.size(), "host"),
                        summary.damaged == 0
                            ? ""
                            : fmt::format("; {} unreadable, first {}", count_of(summary.damaged, "line"),
                                          evidence.places.text(summary.first_damaged))),
            Tone::kStrong)});
  report::Table table{{{"operation"},
                       {"size", Align::kRight},
                       {"ranks", Align::kRight},
                       {"records", Align::kRight},
                       {"mean us", Align::kRight},
                       {"slowest us", Align::kRight},
                       {"bus GB/s", Align::kRight}},
                      {}};
  for (const model::InspectorAggregate& sum : summary.aggregates) {
    if (table.rows.size() >= 2 * kMostRows) break;
    const auto records = static_cast<double>(sum.records);
    table.rows.push_back(
        {plain(sum.operation), plain("from " + in_words(sum.bucket)),
         plain(sum.ranks == 0 ? "-" : std::to_string(sum.ranks)), plain(std::to_string(sum.records)),
         plain(fmt::format("{:.1f}", sum.time_us / records)), plain(fmt::format("{:.1f}", sum.slowest_us)),
         plain(fmt::format("{:.1f} to {:.1f}", sum.least.value / 1e9, sum.highest.value / 1e9))});
  }
  document.blocks.emplace_back(std::move(table));
}

Json ras_json(const NcclEvidence& evidence) {
  Json list = Json::array();
  for (const RasReport& report : evidence.ras) {
    Json communicators = Json::array();
    for (const RasCommunicator& communicator : report.communicators)
      communicators.push_back(communicator_json(evidence, communicator));
    Json problems = Json::array();
    for (const model::RasProblem& problem : report.problems)
      problems.push_back(Json::object({{"kind", problem.kind},
                                       {"text", problem.text},
                                       {"processes", ranks_json(problem.processes)},
                                       {"source", evidence.places.text(problem.source)}}));
    list.push_back(Json::object({{"source", evidence.places.text(report.source)},
                                 {"version", report.version},
                                 {"time", report.time},
                                 {"nodes", report.nodes ? Json(*report.nodes) : Json()},
                                 {"gpus", report.gpus ? Json(*report.gpus) : Json()},
                                 {"communicators", std::move(communicators)},
                                 {"problems", std::move(problems)},
                                 {"timeouts", report.timeouts ? Json(*report.timeouts) : Json()}}));
  }
  return list;
}

Json watchdog_json(const NcclEvidence& evidence) {
  if (!evidence.watchdog) return {};
  Json timeouts = Json::array();
  for (const model::WatchdogTimeout& one : evidence.watchdog->timeouts)
    timeouts.push_back(Json::object({{"rank", one.rank ? Json(*one.rank) : Json()},
                                     {"group", one.group},
                                     {"guid", one.guid},
                                     {"sequence", one.sequence},
                                     {"operation", one.operation},
                                     {"elements_in", one.elements_in ? Json(*one.elements_in) : Json()},
                                     {"elements_out", one.elements_out ? Json(*one.elements_out) : Json()},
                                     {"limit_ms", one.limit_ms ? Json(*one.limit_ms) : Json()},
                                     {"ran_ms", one.ran_ms ? Json(*one.ran_ms) : Json()},
                                     {"source", evidence.places.text(one.source)}}));
  Json progress = Json::array();
  for (const model::WatchdogProgress& one : evidence.watchdog->progress)
    progress.push_back(Json::object({{"rank", one.rank ? Json(*one.rank) : Json()},
                                     {"group", one.group},
                                     {"guid", one.guid},
                                     {"last_enqueued", one.enqueued ? Json(*one.enqueued) : Json()},
                                     {"last_completed", one.completed ? Json(*one.completed) : Json()},
                                     {"source", evidence.places.text(one.source)}}));
  Json errors = Json::array();
  for (const model::WatchdogError& one : evidence.watchdog->errors)
    errors.push_back(Json::object({{"rank", one.rank ? Json(*one.rank) : Json()},
                                   {"result", one.result},
                                   {"last_error", one.last_error},
                                   {"text", one.text},
                                   {"source", evidence.places.text(one.source)}}));
  return Json::object(
      {{"timeouts", std::move(timeouts)}, {"progress", std::move(progress)}, {"errors", std::move(errors)}});
}

Json inspector_json(const NcclEvidence& evidence) {
  if (!evidence.inspector) return {};
  Json list = Json::array();
  for (const model::InspectorAggregate& sum : evidence.inspector->aggregates)
    list.push_back(Json::object({{"communicator", sum.communicator},
                                 {"operation", sum.operation},
                                 {"ranks", sum.ranks},
                                 {"nodes", sum.nodes},
                                 {"size_from_bytes", sum.bucket.value},
                                 {"records", sum.records},
                                 {"mean_time_us", sum.time_us / static_cast<double>(sum.records)},
                                 {"slowest_time_us", sum.slowest_us},
                                 {"slowest_rank", sum.slowest_rank},
                                 {"mean_bus_bytes_per_second", sum.bus / static_cast<double>(sum.records)},
                                 {"least_bus_bytes_per_second", sum.least.value},
                                 {"highest_bus_bytes_per_second", sum.highest.value},
                                 {"cpu_timed_records", sum.cpu_timed},
                                 {"slowest_source", evidence.places.text(sum.slowest)}}));
  return Json::object({{"format_version", evidence.inspector->format_version},
                       {"records", evidence.inspector->records},
                       {"damaged_records", evidence.inspector->damaged},
                       {"aggregates", std::move(list)}});
}

}  // namespace angio::views
