// Paths and channels of NCCL's system graph, as matrices, tables and JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/nccl_topology.hpp"
#include "views/nccl_topo_view.hpp"

namespace angio::views {
namespace {

using nccl::NodeKind;
using nccl::Path;
using nccl::PathType;
using nccl::System;
using report::plain;
using report::Tone;
using report::toned;

constexpr std::size_t kColumns = 16;  // of a matrix; more do not fit 80 columns

// src/graph/topo.h: the comments of PATH_…, in our words.
constexpr std::array<std::string_view, 12> kMeanings{"itself",
                                                     "NVLink, direct or through NVSwitch",
                                                     "NVLink through one other GPU",
                                                     "NVLink-C2C",
                                                     "one PCI bridge at most",
                                                     "several PCI bridges, none of a CPU",
                                                     "C2C to the CPU, then PCI to the NIC",
                                                     "NVLink to the GPU next to the NIC (PXN)",
                                                     "through the PCI host bridge of a CPU",
                                                     "over the interconnect between CPUs",
                                                     "over the network",
                                                     "not reachable"};

double rounded(float value) {
  return std::round(static_cast<double>(value) * 1000) / 1000;
}
std::string gbs(double value) {
  return fmt::format("{:g}", std::round(value * 10) / 10);
}

std::string row_name(const nccl::SystemNode& node) {
  return node.kind == NodeKind::kGpu ? fmt::format("rank {}", node.rank) : printable(node.name);
}

Tone tone_of(PathType type) {
  return type >= PathType::kPhb ? Tone::kWarning : Tone::kPlain;
}

void add_matrix(report::Document& document, const System& system, NodeKind kind) {
  const auto& targets = system.all(kind);
  if (targets.empty()) return;
  for (std::size_t start = 0; start < targets.size(); start += kColumns) {
    report::Table table;
    table.columns.push_back({"GPU"});
    table.columns.push_back({"bus"});
    const std::size_t end = std::min(start + kColumns, targets.size());
    for (std::size_t to = start; to < end; ++to)
      table.columns.push_back({kind == NodeKind::kGpu ? fmt::format("{}", system.node(kind, to).rank)
                                                      : fmt::format("N{}", system.node(kind, to).device)});
    for (const std::uint32_t gpu : system.all(NodeKind::kGpu)) {
      std::vector<report::Line> row{plain(row_name(system.nodes[gpu])),
                                    plain(fmt::format("{:x}", system.nodes[gpu].id & 0xffffffffffU))};
      for (std::size_t to = start; to < end; ++to) {
        const PathType type = system.path(gpu, targets[to]).type;
        row.push_back(toned(targets[to] == gpu ? "X" : std::string(label(type)), tone_of(type)));
      }
      table.rows.push_back(std::move(row));
    }
    document.blocks.emplace_back(std::move(table));
  }
}

struct PathClass {
  std::size_t pairs = 0;
  float least = 0;
  float most = 0;
};

std::map<PathType, PathClass> classes(const System& system, NodeKind kind) {
  std::map<PathType, PathClass> found;
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu))
    for (const std::uint32_t to : system.all(kind)) {
      if (gpu == to) continue;
      const Path& path = system.path(gpu, to);
      PathClass& each = found[path.type];
      each.least = each.pairs == 0 ? path.bandwidth : std::min(each.least, path.bandwidth);
      each.most = std::max(each.most, path.bandwidth);
      ++each.pairs;
    }
  return found;
}

void add_classes(report::Document& document, const System& system) {
  report::Table table;
  table.columns = {{"class"},
                   {"from GPUs to"},
                   {"pairs", report::Align::kRight},
                   {"GB/s", report::Align::kRight},
                   {"means"}};
  for (const NodeKind kind : {NodeKind::kGpu, NodeKind::kNet})
    for (const auto& [type, each] : classes(system, kind)) {
      const double least = rounded(each.least);
      const double most = rounded(each.most);
      table.rows.push_back({plain(std::string(label(type))), plain(kind == NodeKind::kGpu ? "GPUs" : "NICs"),
                            plain(fmt::format("{}", each.pairs)),
                            plain(least == most ? gbs(most) : gbs(least) + "-" + gbs(most)),
                            plain(std::string(kMeanings[static_cast<std::size_t>(type)]))});
    }
  document.blocks.emplace_back(std::move(table));
}

void add_nics(report::Document& document, const System& system) {
  if (system.all(NodeKind::kNet).empty()) return;
  report::Table table;
  table.columns = {{"NIC"},         {"name"},  {"GB/s", report::Align::kRight},
                   {"nearest GPU"}, {"class"}, {"GPUDirect"}};
  for (const std::uint32_t net : system.all(NodeKind::kNet)) {
    const nccl::SystemNode& node = system.nodes[net];
    const bool near = node.local_gpu != nccl::kNone;
    const std::uint32_t gpu = near ? system.all(NodeKind::kGpu)[node.local_gpu] : 0;
    table.rows.push_back(
        {plain(fmt::format("N{}", node.device)), plain(printable(node.name)),
         plain(gbs(static_cast<double>(node.bandwidth))), plain(near ? row_name(system.nodes[gpu]) : "-"),
         plain(near ? std::string(label(system.path(gpu, net).type)) : "-"), plain(node.gdr ? "yes" : "no")});
  }
  document.blocks.emplace_back(std::move(table));
}

// Above the figures: they are not what NCCL will find.
void add_not_known(report::Document& document, const std::string& without_nvlink) {
  if (without_nvlink.empty()) return;
  document.blocks.emplace_back(
      report::Paragraph{toned("not known: NVLinks: " + without_nvlink, Tone::kWarning)});
}

std::string mark(const std::string& without_nvlink) {
  return without_nvlink.empty() ? "" : ", without NVLink";
}

void add_notes(report::Document& document, const std::vector<std::string>& notes) {
  if (notes.empty()) return;
  report::Fields fields;
  fields.indent = 0;
  for (const std::string& note : notes)
    fields.rows.emplace_back("note", toned(note, Tone::kQuiet));
  document.blocks.emplace_back(std::move(fields));
}

// Null when all are known.
Json not_known_json(const std::string& without_nvlink) {
  return without_nvlink.empty() ? Json() : Json(without_nvlink);
}

Json texts(const std::vector<std::string>& list) {
  Json json = Json::array();
  for (const std::string& each : list)
    json.push_back(each);
  return json;
}

Json node_json(const nccl::SystemNode& node) {
  Json json = Json::object({{"name", nccl::nccl_name(node)}});
  if (node.kind == NodeKind::kGpu) {
    json.set("rank", node.rank);
    json.set("device", node.device);
    json.set("compute_capability", node.sm);
    json.set("gpudirect", node.gdr);
  } else {
    json.set("device_name", node.name);
    json.set("gigabytes_per_second", rounded(node.bandwidth));
    json.set("gpudirect", node.gdr);
  }
  return json;
}

// ---- graphs

std::string pattern_words(const nccl::DumpedGraph& graph) {
  // Numbers of src/include/graph.h.
  constexpr std::array<std::string_view, 7> kPatterns{"?",    "balanced tree", "split tree",    "tree",
                                                      "ring", "NVLS",          "CollNet direct"};
  const auto at = static_cast<std::size_t>(graph.pattern);
  return at < kPatterns.size() ? fmt::format("{} ({})", kPatterns[at], graph.pattern)
                               : fmt::format("{}", graph.pattern);
}

report::Table graph_table(const GraphsReport& report) {
  report::Table table;
  table.columns = {{"graph"},
                   {"pattern"},
                   {"channels", report::Align::kRight},
                   {"GB/s intra", report::Align::kRight},
                   {"inter", report::Align::kRight},
                   {"types"},
                   {"crossNic", report::Align::kRight}};
  for (const nccl::DumpedGraph& graph : report.graphs) {
    if (graph.channels == 0) {
      table.rows.push_back({plain(nccl::graph_name(graph.id)), toned("none", Tone::kQuiet), plain("0"),
                            plain("-"), plain("-"), plain("-"), plain("-")});
      continue;
    }
    table.rows.push_back({plain(nccl::graph_name(graph.id)), plain(pattern_words(graph)),
                          plain(fmt::format("{}", graph.channels)), plain(gbs(graph.speed_intra)),
                          plain(gbs(graph.speed_inter)),
                          plain(printable(graph.type_intra + "/" + graph.type_inter)),
                          plain(fmt::format("{}", graph.cross_nic))});
  }
  return table;
}

std::string channel_words(const nccl::DumpedChannel& channel) {
  std::vector<std::string> parts;
  if (!channel.nets.empty()) parts.push_back(fmt::format("N{}", channel.nets.front()));
  for (const std::int64_t gpu : channel.gpus)
    parts.push_back(fmt::format("{}", gpu));
  if (channel.nets.size() > 1) parts.push_back(fmt::format("N{}", channel.nets.back()));
  return join(parts, " ");
}

// Equal channels in a row are one line.
void add_channels(report::Document& document, const GraphsReport& report) {
  for (const nccl::DumpedGraph& graph : report.graphs) {
    if (graph.list.empty()) continue;
    report::Fields fields;
    for (std::size_t first = 0; first < graph.list.size();) {
      std::size_t last = first;
      while (last + 1 < graph.list.size() && graph.list[last + 1] == graph.list[first])
        ++last;
      fields.rows.emplace_back(last == first ? fmt::format("{}", first) : fmt::format("{}-{}", first, last),
                               plain(channel_words(graph.list[first])));
      first = last + 1;
    }
    const char* const numbers = graph.ranks ? "ranks" : "GPUs by device number";
    document.blocks.emplace_back(
        report::Heading{fmt::format("{}: channels, {} in order", nccl::graph_name(graph.id), numbers), 2});
    document.blocks.emplace_back(std::move(fields));
  }
}

report::Fields expectation_fields(const GraphsReport& report) {
  const nccl::Expectation& expected = *report.expected;
  report::Fields fields;
  fields.indent = 0;
  fields.rows.emplace_back("channels", plain(fmt::format("{} (\"{} coll channels\" in the log)",
                                                         expected.channels, expected.channels)));
  const auto bound = [&](const char* name, double value, const char* words) {
    if (value > 0)
      fields.rows.emplace_back(name, plain(fmt::format("at most {} GB/s bus bandwidth{}{}", gbs(value), words,
                                                       mark(report.without_nvlink))));
  };
  bound("ring", expected.ring_bus, " of AllReduce by NCCL's own model, protocol Simple");
  bound("tree", expected.tree_bus, "");
  bound("nvls", expected.nvls_bus, "");
  if (expected.nvlink > 0)
    fields.rows.emplace_back(
        "nvlink",
        plain(fmt::format("{} GB/s a GPU in one direction, as NCCL counts links", gbs(expected.nvlink))));
  if (expected.nic > 0)
    fields.rows.emplace_back(
        "nics", plain(fmt::format("{} GB/s a node in one direction, what the paths to the NICs carry",
                                  gbs(expected.nic))));
  return fields;
}

Json graph_json(const nccl::DumpedGraph& graph) {
  Json channels = Json::array();
  for (const nccl::DumpedChannel& channel : graph.list) {
    Json gpus = Json::array();
    for (const std::int64_t gpu : channel.gpus)
      gpus.push_back(gpu);
    Json nets = Json::array();
    for (const std::int64_t net : channel.nets)
      nets.push_back(net);
    channels.push_back(Json::object({{"gpus", std::move(gpus)}, {"nics", std::move(nets)}}));
  }
  return Json::object({{"graph", nccl::graph_name(graph.id)},
                       {"id", graph.id},
                       {"pattern", graph.pattern},
                       {"channels", graph.channels},
                       {"gigabytes_per_second_intra", graph.speed_intra},
                       {"gigabytes_per_second_inter", graph.speed_inter},
                       {"type_intra", graph.type_intra},
                       {"type_inter", graph.type_inter},
                       {"cross_nic", graph.cross_nic},
                       {"same_channels", graph.same_channels},
                       {"numbers", graph.ranks ? "ranks" : "devices"},
                       {"list", std::move(channels)}});
}

}  // namespace

report::Document nccl_paths_document(const System& system, const SystemReport& report) {
  report::Document document;
  add_not_known(document, report.without_nvlink);
  document.blocks.emplace_back(report::Paragraph{plain(fmt::format(
      "{} as NCCL {} sees it: {}, {}; fastest path {} GB/s, most of one GPU {} GB/s{}",
      printable(report.subject), system.options.version, count_of(system.all(NodeKind::kGpu).size(), "GPU"),
      count_of(system.all(NodeKind::kNet).size(), "NIC"), gbs(static_cast<double>(system.max_bandwidth)),
      gbs(static_cast<double>(system.total_bandwidth)), mark(report.without_nvlink)))});
  add_matrix(document, system, NodeKind::kGpu);
  add_matrix(document, system, NodeKind::kNet);
  add_classes(document, system);
  add_nics(document, system);
  add_notes(document, report.notes);
  return document;
}

Json nccl_paths_json(const System& system, const SystemReport& report) {
  Json gpus = Json::array();
  Json nets = Json::array();
  Json paths = Json::array();
  for (const std::uint32_t gpu : system.all(NodeKind::kGpu)) {
    gpus.push_back(node_json(system.nodes[gpu]));
    for (const NodeKind kind : {NodeKind::kGpu, NodeKind::kNet})
      for (const std::uint32_t to : system.all(kind)) {
        const Path& path = system.path(gpu, to);
        paths.push_back(Json::object({{"from", nccl::nccl_name(system.nodes[gpu])},
                                      {"to", nccl::nccl_name(system.nodes[to])},
                                      {"class", label(path.type)},
                                      {"gigabytes_per_second", rounded(path.bandwidth)},
                                      {"hops", std::uint64_t{path.hops.size()}}}));
      }
  }
  for (const std::uint32_t net : system.all(NodeKind::kNet))
    nets.push_back(node_json(system.nodes[net]));
  return Json::object({{"schema", "angio.nccl-paths/1"},
                       {"subject", report.subject},
                       {"nccl_version", system.options.version},
                       {"nodes", report.nodes},
                       {"max_gigabytes_per_second", rounded(system.max_bandwidth)},
                       {"total_gigabytes_per_second", rounded(system.total_bandwidth)},
                       {"nvlinks_not_known", not_known_json(report.without_nvlink)},
                       {"gpus", std::move(gpus)},
                       {"nics", std::move(nets)},
                       {"paths", std::move(paths)},
                       {"notes", texts(report.notes)}});
}

report::Document nccl_graphs_document(const GraphsReport& report) {
  report::Document document;
  const std::string head =
      report.captured
          ? fmt::format("{}: {}, as NCCL wrote them", printable(report.subject),
                        count_of(report.graphs.size(), "graph"))
          : fmt::format("{}: what NCCL {} is expected to find on {} of {}", printable(report.subject),
                        report.version, count_of(static_cast<std::size_t>(report.nodes), "node"),
                        count_of(report.gpus, "GPU"));
  add_not_known(document, report.without_nvlink);
  document.blocks.emplace_back(report::Paragraph{plain(head + mark(report.without_nvlink))});
  if (report.expected) document.blocks.emplace_back(expectation_fields(report));
  document.blocks.emplace_back(graph_table(report));
  add_channels(document, report);
  add_notes(document, report.notes);
  return document;
}

Json nccl_graphs_json(const GraphsReport& report) {
  Json graphs = Json::array();
  for (const nccl::DumpedGraph& graph : report.graphs)
    graphs.push_back(graph_json(graph));
  Json json = Json::object({{"schema", "angio.nccl-graphs/1"},
                            {"subject", report.subject},
                            {"origin", report.captured ? "dump" : "computed"},
                            {"nccl_version", report.version},
                            {"nodes", report.nodes}});
  if (report.expected) {
    const nccl::Expectation& expected = *report.expected;
    json.set("channels", expected.channels);
    json.set("allreduce_bus_gigabytes_per_second",
             Json::object(
                 {{"ring", expected.ring_bus}, {"tree", expected.tree_bus}, {"nvls", expected.nvls_bus}}));
    json.set("nvlinks_not_known", not_known_json(report.without_nvlink));
    json.set("nvlink_gigabytes_per_second", std::round(expected.nvlink * 1000) / 1000);
    json.set("nics_gigabytes_per_second", std::round(expected.nic * 1000) / 1000);
  }
  json.set("graphs", std::move(graphs));
  json.set("notes", texts(report.notes));
  return json;
}

}  // namespace angio::views
