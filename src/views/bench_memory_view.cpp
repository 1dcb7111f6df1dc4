#include "views/bench_memory_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "base/format.hpp"

namespace angio::views {

using model::BenchFigure;
using model::CopyDirection;
using model::MemoryBench;
using model::MemoryCell;
using report::Align;
using report::Column;
using report::Document;
using report::Heading;
using report::Line;
using report::Paragraph;
using report::plain;
using report::Table;
using report::Tone;
using report::toned;

namespace {

constexpr double kGigabyte = 1e9;

using Pick = BenchFigure MemoryCell::*;

struct Kind {
  Pick pick;
  const char* title;
  double unit;
  const char* unit_name;
};

constexpr std::array<Kind, 4> kKinds{{
    {&MemoryCell::read, "Read", kGigabyte, "GB/s"},
    {&MemoryCell::copy, "Copy, bytes read plus bytes written", kGigabyte, "GB/s"},
    {&MemoryCell::write, "Non-temporal write", kGigabyte, "GB/s"},
    {&MemoryCell::latency, "Latency of a dependent load", 1, "ns"},
}};

// "17.3", "96": three digits that count.
std::string number(double value) {
  return value < 100 ? fmt::format("{:.1f}", value) : fmt::format("{:.0f}", value);
}

// "17.3 (16.9-17.4)"
Line figure_line(const BenchFigure& figure, double unit) {
  if (!figure.value) return toned("-", Tone::kUnknown);
  const model::Spread& spread = *figure.value;
  return plain(fmt::format("{} ({}-{})", number(spread.median / unit), number(spread.least / unit),
                           number(spread.most / unit)));
}

const MemoryCell* find_cell(const MemoryBench& bench, NumaId cpus, NumaId memory) {
  const auto found = std::ranges::find_if(
      bench.cells, [&](const MemoryCell& cell) { return cell.cpus == cpus && cell.memory == memory; });
  return found == bench.cells.end() ? nullptr : &*found;
}

void add_matrix(Document& document, const MemoryBench& bench, const Kind& kind) {
  document.blocks.emplace_back(Heading{fmt::format("{}, {}", kind.title, kind.unit_name), 2});
  Table table;
  table.columns.push_back({"CPUs of", Align::kLeft});
  for (const NumaId memory : bench.memory_nodes)
    table.columns.push_back({fmt::format("memory of node {}", memory.value), Align::kRight});
  for (const NumaId cpus : bench.cpu_nodes) {
    std::vector<Line> row{plain(fmt::format("node {}", cpus.value))};
    for (const NumaId memory : bench.memory_nodes) {
      const MemoryCell* cell = find_cell(bench, cpus, memory);
      row.push_back(cell != nullptr ? figure_line(cell->*kind.pick, kind.unit) : toned("-", Tone::kUnknown));
    }
    table.rows.push_back(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
}

std::string bare(const BenchFigure& figure) {
  return figure.value ? number(figure.value->median) : "-";
}

void add_cache_lines(Document& document, const MemoryBench& bench) {
  if (bench.cache_lines.empty()) return;
  document.blocks.emplace_back(Heading{"Hand-over of a cache line between CPUs, one way, ns", 2});
  std::set<std::uint32_t> cpus;
  for (const model::CacheLineCell& cell : bench.cache_lines)
    cpus.insert({cell.from, cell.to});
  Table table;
  table.columns.push_back({"CPU", Align::kRight});
  for (const std::uint32_t cpu : cpus)
    table.columns.push_back({std::to_string(cpu), Align::kRight});
  for (const std::uint32_t from : cpus) {
    std::vector<Line> row{plain(std::to_string(from))};
    for (const std::uint32_t to : cpus) {
      const auto found = std::ranges::find_if(bench.cache_lines, [&](const model::CacheLineCell& cell) {
        return cell.from == std::min(from, to) && cell.to == std::max(from, to);
      });
      row.push_back(plain(from == to ? "" : found == bench.cache_lines.end() ? "-" : bare(found->latency)));
    }
    table.rows.push_back(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
}

Line gpu_line(const MemoryBench& bench, NumaId node, std::uint32_t gpu, bool pinned,
              CopyDirection direction) {
  for (const model::GpuCopyCell& cell : bench.gpu_copies) {
    if (cell.node == node && cell.gpu == gpu && cell.pinned == pinned && cell.direction == direction) {
      return figure_line(cell.rate, kGigabyte);
    }
  }
  return toned("-", Tone::kUnknown);
}

std::string gpu_name(const model::BenchGpu& gpu) {
  std::string text =
      fmt::format("GPU {} ({}", gpu.ordinal, gpu.pci.empty() ? "PCI address unknown" : gpu.pci);
  if (gpu.node) text += fmt::format(", node {}", gpu.node->value);
  return text + ")";
}

void add_gpu_copies(Document& document, const MemoryBench& bench) {
  for (const model::BenchGpu& gpu : bench.gpus) {
    document.blocks.emplace_back(Heading{"Copies, GB/s: " + gpu_name(gpu), 2});
    Table table;
    table.columns = {{"host memory of", Align::kLeft},
                     {"to GPU, pinned", Align::kRight},
                     {"from GPU, pinned", Align::kRight},
                     {"to, pageable", Align::kRight},
                     {"from, pageable", Align::kRight}};
    for (const NumaId node : bench.cpu_nodes) {
      std::vector<Line> row{plain(fmt::format("node {}", node.value))};
      for (const bool pinned : {true, false}) {
        for (const CopyDirection direction : {CopyDirection::kToGpu, CopyDirection::kFromGpu})
          row.push_back(gpu_line(bench, node, gpu.ordinal, pinned, direction));
      }
      table.rows.push_back(std::move(row));
    }
    document.blocks.emplace_back(std::move(table));
  }
}

// Each reason once, with where it holds first.
void add_missing(Document& document, const MemoryBench& bench) {
  std::set<std::string> told{"interrupted", ""};
  const auto tell = [&](const std::string& where, const BenchFigure& figure) {
    if (figure.value || !told.insert(figure.missing).second) return;
    document.blocks.emplace_back(Paragraph{plain("- " + where + ": " + figure.missing)});
  };
  for (const MemoryCell& cell : bench.cells) {
    for (const Kind& kind : kKinds)
      tell(fmt::format("CPUs of node {}, memory of node {}", cell.cpus.value, cell.memory.value),
           cell.*kind.pick);
  }
  for (const model::CacheLineCell& cell : bench.cache_lines)
    tell(fmt::format("CPUs {} and {}", cell.from, cell.to), cell.latency);
  for (const model::GpuCopyCell& cell : bench.gpu_copies) {
    tell(fmt::format("GPU {}, {} memory of node {}", cell.gpu, cell.pinned ? "pinned" : "pageable",
                     cell.node.value),
         cell.rate);
  }
}

std::string place_words(const MemoryBench& bench) {
  std::set<std::string> all;
  for (const MemoryCell& cell : bench.cells) {
    if (cell.place.size.value == 0) continue;
    std::string words =
        fmt::format("{} on each node, pages of {}", in_words(cell.place.size), cell.place.pages);
    if (cell.place.asked > 0) {
      words += cell.place.there == cell.place.asked ? ", on the right node by move_pages"
                                                    : ", partly on another node by move_pages";
    }
    all.insert(std::move(words));
  }
  return fmt::format("{}", fmt::join(all, "; "));
}

std::string threads_words(const MemoryBench& bench) {
  std::set<std::string> all;
  for (const MemoryCell& cell : bench.cells)
    all.insert(count_of(cell.threads, "thread"));
  if (all.empty()) return "nothing measured";
  return fmt::format("{} of {}", fmt::join(all, " or "), bench.instructions);
}

void add_doubts(Document& document, const MemoryBench& bench) {
  std::vector<std::string> doubts = bench.conditions.doubts;
  std::set<std::string> places;
  for (const MemoryCell& cell : bench.cells) {
    if (!cell.place.doubt.empty()) {
      places.insert(fmt::format("memory of node {}: {}", cell.memory.value, cell.place.doubt));
    }
  }
  doubts.insert(doubts.end(), places.begin(), places.end());
  report::Fields fields;
  for (const std::string& doubt : doubts)
    fields.rows.emplace_back("doubt", plain(doubt));
  if (!fields.rows.empty()) document.blocks.emplace_back(std::move(fields));
}

Json figure_json(const BenchFigure& figure, const char* unit) {
  if (!figure.value) return Json::object({{"missing", figure.missing}});
  return Json::object({{"median", figure.value->median},
                       {"least", figure.value->least},
                       {"most", figure.value->most},
                       {"repeats", figure.value->repeats},
                       {"unit", unit}});
}

Json place_json(const model::BufferPlace& place) {
  Json json = Json::object({{"bytes", place.size.value},
                            {"pages", place.pages},
                            {"huge_share", place.huge_share},
                            {"pages_asked", place.asked},
                            {"pages_on_node", place.there}});
  if (!place.doubt.empty()) json.set("doubt", place.doubt);
  return json;
}

Json strings_json(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts)
    list.push_back(text);
  return list;
}

Json optional_json(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

Json conditions_json(const model::BenchConditions& conditions) {
  return Json::object({{"load_before", optional_json(conditions.load_before)},
                       {"others_percent_before", optional_json(conditions.others_percent)},
                       {"steal_percent", optional_json(conditions.steal_percent)},
                       {"virtual_machine", conditions.virtual_machine},
                       {"doubts", strings_json(conditions.doubts)}});
}

Json cells_json(const MemoryBench& bench) {
  Json cells = Json::array();
  for (const MemoryCell& cell : bench.cells) {
    cells.push_back(Json::object({{"cpu_node", cell.cpus.value},
                                  {"memory_node", cell.memory.value},
                                  {"threads", cell.threads},
                                  {"read", figure_json(cell.read, "B/s")},
                                  {"copy", figure_json(cell.copy, "B/s")},
                                  {"write", figure_json(cell.write, "B/s")},
                                  {"latency", figure_json(cell.latency, "ns")},
                                  {"buffer", place_json(cell.place)}}));
  }
  return cells;
}

Json gpus_json(const MemoryBench& bench) {
  Json gpus = Json::array();
  for (const model::BenchGpu& gpu : bench.gpus) {
    gpus.push_back(Json::object({{"ordinal", gpu.ordinal},
                                 {"pci", gpu.pci},
                                 {"name", gpu.name},
                                 {"node", gpu.node ? Json(gpu.node->value) : Json()}}));
  }
  return gpus;
}

}  // namespace

Document memory_bench_document(const MemoryBench& bench) {
  Document document;
  document.title = "Memory of " + bench.machine;
  for (const Kind& kind : kKinds)
    add_matrix(document, bench, kind);
  add_cache_lines(document, bench);
  add_gpu_copies(document, bench);
  const std::string place = place_words(bench);
  document.blocks.emplace_back(
      Paragraph{plain(fmt::format("median (least-most); {}{}; {:.1f} s", threads_words(bench),
                                  place.empty() ? "" : "; " + place, bench.seconds))});
  for (const std::string& left : bench.left_out)
    document.blocks.emplace_back(Paragraph{plain(left)});
  add_missing(document, bench);
  if (!bench.gpu_note.empty()) document.blocks.emplace_back(Paragraph{toned(bench.gpu_note, Tone::kQuiet)});
  add_doubts(document, bench);
  if (bench.interrupted) {
    document.blocks.emplace_back(
        Paragraph{toned("interrupted: what is missing was not measured", Tone::kWarning)});
  }
  return document;
}

Json memory_bench_json(const MemoryBench& bench) {
  Json lines = Json::array();
  for (const model::CacheLineCell& cell : bench.cache_lines) {
    lines.push_back(Json::object(
        {{"from_cpu", cell.from}, {"to_cpu", cell.to}, {"one_way", figure_json(cell.latency, "ns")}}));
  }
  Json copies = Json::array();
  for (const model::GpuCopyCell& cell : bench.gpu_copies) {
    copies.push_back(
        Json::object({{"node", cell.node.value},
                      {"gpu", cell.gpu},
                      {"pinned", cell.pinned},
                      {"direction", cell.direction == CopyDirection::kToGpu ? "to_gpu" : "from_gpu"},
                      {"rate", figure_json(cell.rate, "B/s")}}));
  }
  return Json::object({{"schema", "angio.bench-memory/1"},
                       {"machine", bench.machine},
                       {"instructions", bench.instructions},
                       {"seconds", bench.seconds},
                       {"interrupted", bench.interrupted},
                       {"cells", cells_json(bench)},
                       {"cache_lines", std::move(lines)},
                       {"gpus", gpus_json(bench)},
                       {"gpu_copies", std::move(copies)},
                       {"gpu_note", bench.gpu_note},
                       {"left_out", strings_json(bench.left_out)},
                       {"conditions", conditions_json(bench.conditions)}});
}

}  // namespace angio::views
