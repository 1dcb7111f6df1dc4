#include "views/nccl_tests_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "views/nccl_log_words.hpp"

namespace angio::views {
namespace {

using model::NcclEvidence;
using model::NcclTestsRow;
using model::NcclTestsTable;
using model::NcclTestsTiming;
using report::Align;
using report::Document;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kMostTables = 24;
constexpr std::size_t kMostSizes = 32;

std::string program_of(const NcclTestsTable& table) {
  if (!table.program.empty()) return table.program;
  return std::string(model::name_of(table.collective)) + (table.inferred ? " (from its factor)" : "");
}

std::string gigabytes(BytesPerSecond rate) {
  return fmt::format("{:.2f}", rate.value / 1e9);
}

std::string microseconds(double time) {
  return time < 1000 ? fmt::format("{:.1f}", time) : fmt::format("{:.0f}", time);
}

std::uint64_t wrong_of(const NcclTestsTable& table) {
  std::uint64_t wrong = 0;
  for (const NcclTestsRow& row : table.rows)
    for (const auto* half : {&row.out_of_place, &row.in_place})
      if (*half) wrong += (*half)->wrong.value_or(0);
  return wrong;
}

std::string verdict_of(const NcclTestsTable& table) {
  if (!table.errors.empty()) return "error";
  if (wrong_of(table) != 0 || table.out_of_bounds.value_or(0) != 0) return "WRONG VALUES";
  if (table.damaged_rows != 0) return fmt::format("{} unreadable", count_of(table.damaged_rows, "row"));
  if (table.rows.empty()) return "no rows";
  const bool checked = std::ranges::any_of(table.rows, [](const NcclTestsRow& row) {
    return (row.out_of_place && (row.out_of_place->wrong || row.out_of_place->deviation)) ||
           (row.in_place && (row.in_place->wrong || row.in_place->deviation));
  });
  return checked ? "values right" : "not validated";
}

std::string place_words(const NcclTestsTable& table) {
  const auto hosts = model::hosts_of(table);
  const std::uint32_t ranks = model::ranks_of(table);
  if (ranks == 0) return "-";
  return fmt::format("{} on {}", ranks, hosts.size() == 1 ? hosts.front() : short_list(hosts, 2));
}

void add_sizes(const NcclTestsTable& table, Document& document) {
  report::Table sizes{{{"size", Align::kRight},
                       {table.cpu_time ? "CPU us" : "us", Align::kRight},
                       {"algbw GB/s", Align::kRight},
                       {"busbw GB/s", Align::kRight},
                       {"in place us", Align::kRight},
                       {"busbw GB/s", Align::kRight},
                       {"remark"}},
                      {}};
  // The large sizes are the ones that speak; small ones go first when there is no room.
  const std::size_t first = table.rows.size() > kMostSizes ? table.rows.size() - kMostSizes : 0;
  for (std::size_t i = first; i < table.rows.size(); ++i) {
    const NcclTestsRow& row = table.rows[i];
    const auto cell = [](const std::optional<NcclTestsTiming>& half, auto&& words) {
      return half ? plain(words(*half)) : toned("-", Tone::kUnknown);
    };
    const auto time = [](const NcclTestsTiming& half) { return microseconds(half.time_us); };
    const auto bus = [](const NcclTestsTiming& half) { return gigabytes(half.bus); };
    const auto algorithm = [](const NcclTestsTiming& half) { return gigabytes(half.algorithm); };
    const std::uint64_t wrong = (row.out_of_place ? row.out_of_place->wrong.value_or(0) : 0) +
                                (row.in_place ? row.in_place->wrong.value_or(0) : 0);
    std::string remark = row.doubt.empty() ? "" : "does not fit";
    if (wrong != 0) remark = fmt::format("{} wrong", wrong);
    sizes.rows.push_back({plain(in_words(row.size)), cell(row.out_of_place, time),
                          cell(row.out_of_place, algorithm), cell(row.out_of_place, bus),
                          cell(row.in_place, time), cell(row.in_place, bus), toned(remark, Tone::kWarning)});
  }
  if (first != 0)
    document.blocks.emplace_back(report::Paragraph{
        toned(fmt::format("{} smaller sizes are left out, see --format json", first), Tone::kQuiet)});
  document.blocks.emplace_back(std::move(sizes));
}

Json half_json(const std::optional<NcclTestsTiming>& half) {
  if (!half) return {};
  Json json = Json::object({{"time_us", half->time_us},
                            {"algorithm_bytes_per_second", half->algorithm.value},
                            {"bus_bytes_per_second", half->bus.value}});
  json.set("wrong", half->wrong ? Json(*half->wrong) : Json());
  if (half->deviation) json.set("deviation", *half->deviation);
  return json;
}

Json devices_json(const NcclTestsTable& table) {
  Json list = Json::array();
  for (const model::NcclTestsDevice& device : table.devices)
    list.push_back(Json::object({{"rank", device.rank},
                                 {"host", device.host},
                                 {"pid", device.pid},
                                 {"device", device.device},
                                 {"address", device.address},
                                 {"name", device.name}}));
  return list;
}

template <typename T>
Json number(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json table_json(const NcclEvidence& evidence, const NcclTestsTable& table) {
  Json rows = Json::array();
  for (const NcclTestsRow& row : table.rows) {
    Json json = Json::object({{"size_bytes", row.size.value},
                              {"elements", row.count},
                              {"type", row.type},
                              {"reduction", row.reduction},
                              {"root", row.root ? Json(*row.root) : Json()},
                              {"out_of_place", half_json(row.out_of_place)},
                              {"in_place", half_json(row.in_place)},
                              {"line", row.source.line}});
    if (!row.doubt.empty()) json.set("doubt", row.doubt);
    rows.push_back(std::move(json));
  }
  Json errors = Json::array();
  for (const model::NcclTestsError& error : table.errors)
    errors.push_back(Json::object({{"text", error.text}, {"source", evidence.places.text(error.source)}}));
  Json hosts = Json::array();
  for (const std::string& host : model::hosts_of(table))
    hosts.push_back(host);
  const model::NcclTestsPeak peak = model::peak_of(table);
  return Json::object({{"source", evidence.places.text(table.source)},
                       {"program", table.program},
                       {"collective", table.collective == model::NcclCollective::kUnknown
                                          ? Json()
                                          : Json(model::name_of(table.collective))},
                       {"collective_inferred", table.inferred},
                       {"tests_version", table.version},
                       {"nccl_version", table.library_version},
                       {"ranks", model::ranks_of(table)},
                       {"hosts", std::move(hosts)},
                       {"iterations", number(table.iterations)},
                       {"warmup_iterations", number(table.warmup)},
                       {"validated", number(table.validated)},
                       {"cpu_time", table.cpu_time},
                       {"devices", devices_json(table)},
                       {"rows", std::move(rows)},
                       {"damaged_rows", table.damaged_rows},
                       {"peak_bus_bytes_per_second", peak.row != nullptr ? Json(peak.bus.value) : Json()},
                       {"peak_size_bytes", peak.row != nullptr ? Json(peak.row->size.value) : Json()},
                       {"average_bus_bytes_per_second", table.average ? Json(table.average->value) : Json()},
                       {"out_of_bounds", number(table.out_of_bounds)},
                       {"errors", std::move(errors)}});
}

}  // namespace

void add_nccl_tests(const NcclEvidence& evidence, Document& document) {
  if (evidence.tests.empty()) return;
  document.blocks.emplace_back(
      report::Paragraph{toned(count_of(evidence.tests.size(), "table") + " of nccl-tests", Tone::kStrong)});
  report::Table tables{{{"program"},
                        {"GPUs"},
                        {"peak GB/s", Align::kRight},
                        {"at", Align::kRight},
                        {"average", Align::kRight},
                        {"values"}},
                       {}};
  for (const NcclTestsTable& table : evidence.tests) {
    if (tables.rows.size() >= kMostTables) break;
    const model::NcclTestsPeak peak = model::peak_of(table);
    const std::string verdict = verdict_of(table);
    const bool bad = verdict == "error" || verdict == "WRONG VALUES";
    tables.rows.push_back({plain(program_of(table)), plain(place_words(table)),
                           peak.row != nullptr ? plain(gigabytes(peak.bus)) : toned("-", Tone::kUnknown),
                           plain(peak.row != nullptr ? in_words(peak.row->size) : "-"),
                           toned(table.average ? gigabytes(*table.average) : "-", Tone::kQuiet),
                           toned(verdict, bad ? Tone::kCritical : Tone::kPlain)});
  }
  document.blocks.emplace_back(std::move(tables));
  if (evidence.tests.size() > kMostTables)
    document.blocks.emplace_back(report::Paragraph{
        toned(fmt::format("and {} tables more, see --format json", evidence.tests.size() - kMostTables),
              Tone::kQuiet)});
  if (evidence.tests.size() == 1 && !evidence.tests.front().rows.empty())
    add_sizes(evidence.tests.front(), document);
}

Json nccl_tests_json(const NcclEvidence& evidence) {
  Json list = Json::array();
  for (const NcclTestsTable& table : evidence.tests)
    list.push_back(table_json(evidence, table));
  return list;
}

}  // namespace angio::views
