#include "views/nccl_topo_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/cpu_set.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::views {
namespace {

using nccl::Element;
using nccl::Weight;
using report::Line;
using report::plain;
using report::Span;
using report::Tone;
using report::toned;

std::string weight_word(Weight weight) {
  return weight == Weight::kError ? "ERROR" : weight == Weight::kWarning ? "WARNING" : "NOTE";
}

Tone tone_of(Weight weight) {
  return weight == Weight::kError     ? Tone::kCritical
         : weight == Weight::kWarning ? Tone::kWarning
                                      : Tone::kQuiet;
}

// The same words about several places are one entry.
struct Entry {
  const nccl::Remark* remark = nullptr;
  std::size_t count = 0;
  std::vector<std::uint32_t> lines;
};

std::vector<Entry> grouped(const std::vector<nccl::Remark>& remarks) {
  std::vector<Entry> entries;
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> places;
  for (const nccl::Remark& remark : remarks) {
    const auto [at, fresh] = places.try_emplace({remark.id, remark.text}, entries.size());
    if (fresh) entries.push_back({&remark, 0, {}});
    Entry& entry = entries[at->second];
    entry.count += remark.count;
    if (remark.place.line > 0) entry.lines.push_back(remark.place.line);
  }
  std::ranges::stable_sort(
      entries, [](const Entry& a, const Entry& b) { return a.remark->weight > b.remark->weight; });
  return entries;
}

std::string place_text(const Entry& entry) {
  constexpr std::size_t kShown = 6;
  std::string text;
  for (std::size_t index = 0; index < entry.lines.size() && index < kShown; ++index)
    text += fmt::format("{}{}", index == 0 ? "" : ", ", entry.lines[index]);
  if (text.empty()) return text;
  const std::size_t shown = std::min(entry.lines.size(), kShown);
  if (entry.count > shown) text += fmt::format(" and {} more", entry.count - shown);
  return fmt::format("line{} {}: ", entry.count > 1 ? "s" : "", text);
}

void add_entry(report::Document& document, const Entry& entry) {
  const nccl::Remark& remark = *entry.remark;
  document.blocks.emplace_back(
      report::Paragraph{{Span{fmt::format("{:<9} ", weight_word(remark.weight)), tone_of(remark.weight)},
                         Span{place_text(entry) + remark.text, Tone::kStrong}}});
  report::Fields fields;
  fields.rows.emplace_back("nccl", plain(remark.nccl));
  fields.rows.emplace_back("instead", plain(remark.instead));
  fields.rows.emplace_back("id", toned(remark.id, Tone::kQuiet));
  document.blocks.emplace_back(std::move(fields));
}

std::string tally(const TopologyReport& report) {
  std::vector<std::string> parts;
  const auto add = [&](Weight weight, const char* word) {
    const std::size_t count = remarks_of(report, weight);
    if (count > 0) parts.push_back(count_of(count, word));
  };
  add(Weight::kError, "error");
  add(Weight::kWarning, "warning");
  add(Weight::kNote, "note");
  return parts.empty() ? "nothing to say against it" : join(parts, ", ");
}

std::string what_it_is(const TopologyReport& report) {
  const nccl::TopologyCounts& counts = report.counts;
  if (report.kind == nccl::FileKind::kGraphs)
    return fmt::format("a graph file for NCCL_GRAPH_FILE with {}", count_of(report.graphs, "graph"));
  if (report.kind == nccl::FileKind::kNeither)
    return "neither <system> nor <graphs>: NCCL reads nothing from it";
  return fmt::format("a topology file of {} with {}, {}, {} and {} to other GPUs or switches",
                     report.rccl ? "RCCL" : "NCCL", count_of(counts.cpus, "CPU node"),
                     count_of(counts.gpus, "GPU"), count_of(counts.nets, "NIC"),
                     count_of(counts.links, "link"));
}

// ---- the tree

std::string decimal(double value) {
  return fmt::format("{:g}", std::round(value * 10) / 10);
}

std::string pci_kind(std::string_view pci_class) {
  if (pci_class.starts_with("0x0604")) return "bridge";
  if (pci_class.starts_with("0x0680")) return "NVSwitch";
  if (pci_class.starts_with("0x03") || pci_class.starts_with("0x12")) return "GPU";
  if (pci_class.starts_with("0x0207")) return "NIC, InfiniBand";
  if (pci_class.starts_with("0x02")) return "NIC, Ethernet";
  return pci_class.empty() ? "class not stated" : "class " + printable(pci_class);
}

std::string cpu_words(const Element& cpu) {
  std::string text;
  const auto mask = parse_cpu_mask(cpu.get("affinity"));
  if (mask && !mask->empty()) text = "CPUs " + to_list(*mask);
  for (const std::string_view name : {"arch", "vendor"})
    if (!cpu.get(name).empty()) text += (text.empty() ? "" : ", ") + printable(cpu.get(name));
  if (!cpu.get("modelid").empty())
    text += fmt::format(" {}/{}", printable(cpu.get("familyid")), printable(cpu.get("modelid")));
  return text;
}

std::string pci_words(const Element& pci, const std::string& version) {
  std::string text = pci_kind(pci.get("class"));
  const std::string_view speed = pci.get("link_speed");
  if (speed.empty() && pci.get("link_width").empty()) return text + ", link left to NCCL";
  double lane = nccl::lane_value(speed, version);
  if (std::isnan(lane)) lane = knowledge::nccl_topology_value("lane-unknown", version);
  auto width = static_cast<double>(nccl::read_number(pci.get("link_width")));
  if (width <= 0) width = knowledge::nccl_topology_value("lanes-unknown", version);
  const std::string stated = speed.empty() ? "speed unknown" : printable(speed);
  return fmt::format("{}, {} x{:g} = {} GB/s", text, stated, width,
                     decimal(width * lane / 80.0));  // 100 Mb/s to GB/s
}

std::string link_words(const Element& link) {
  const std::string target_class(link.get("tclass"));
  const std::string count = printable(link.get("count"));
  if (target_class.starts_with("0x0680"))
    return fmt::format("{} links to an NVSwitch, {}", count, printable(link.get("target")));
  return fmt::format("{} links to {}", count, printable(link.get("target")));
}

std::string net_words(const Element& net) {
  std::string text;
  const std::int64_t speed = nccl::read_number(net.get("speed"));
  if (speed > 0) text = fmt::format("{:g} Gb/s", static_cast<double>(speed) / 1000.0);  // Mb/s to Gb/s
  if (!net.get("port").empty())
    text += fmt::format("{}port {}", text.empty() ? "" : ", ", printable(net.get("port")));
  if (net.get("gdr") == "0") text += ", no GPUDirect";
  if (net.get("gdr") == "1") text += ", GPUDirect";
  return text;
}

std::string gpu_words(const Element& gpu) {
  std::vector<std::string> parts;
  if (!gpu.get("sm").empty()) parts.push_back("sm" + printable(gpu.get("sm")));
  if (!gpu.get("gcn").empty()) parts.push_back(printable(gpu.get("gcn")));
  if (!gpu.get("rank").empty()) parts.push_back("rank " + printable(gpu.get("rank")));
  if (gpu.get("gdr") == "1") parts.emplace_back("GPUDirect");
  return join(parts, ", ");
}

std::string words_of(const Element& element, const std::string& version) {
  if (element.name == "cpu") return cpu_words(element);
  if (element.name == "pci") return pci_words(element, version);
  if (element.name == "gpu") return gpu_words(element);
  if (element.name == "net") return net_words(element);
  if (element.name == "nvlink" || element.name == "xgmi") return link_words(element);
  return "";
}

report::Tree::Node tree_node(const Element& element, const std::string& version) {
  const bool link = element.name == "nvlink" || element.name == "xgmi";
  const std::string name = link ? element.name : nccl::describe(element);
  const std::string words = words_of(element, version);
  report::Tree::Node node;
  node.line = {Span{name, Tone::kStrong}, Span{words.empty() ? "" : "  " + words, Tone::kPlain}};
  for (const Element& child : element.children) {
    if (child.name != "nic") {
      node.children.push_back(tree_node(child, version));
      continue;
    }
    for (const Element& net : child.children)  // a nic has nothing to say itself
      node.children.push_back(tree_node(net, version));
  }
  return node;
}

Json element_json(const Element& element) {
  Json attributes = Json::object();
  for (const nccl::Attribute& attribute : element.attributes)
    attributes.set(attribute.name, attribute.value);
  Json children = Json::array();
  for (const Element& child : element.children)
    children.push_back(element_json(child));
  Json json = Json::object({{"element", element.name}, {"attributes", std::move(attributes)}});
  if (element.place.line > 0) json.set("line", element.place.line);
  if (!element.children.empty()) json.set("children", std::move(children));
  return json;
}

}  // namespace

std::size_t remarks_of(const TopologyReport& report, Weight weight) {
  std::size_t count = 0;
  for (const nccl::Remark& remark : report.remarks)
    if (remark.weight == weight) count += remark.count;
  return count;
}

report::Document topology_report_document(const TopologyReport& report) {
  report::Document document;
  document.blocks.emplace_back(report::Paragraph{
      {Span{printable(report.file), Tone::kStrong}, Span{": " + what_it_is(report), Tone::kPlain}}});
  const std::string with = report.machine.empty() ? "" : ", compared with " + printable(report.machine);
  document.blocks.emplace_back(report::Paragraph{plain(fmt::format(
      "read as {} would{}: {}", report.rccl ? "RCCL" : "NCCL " + report.version, with, tally(report)))});
  for (const Entry& entry : grouped(report.remarks))
    add_entry(document, entry);
  return document;
}

Json topology_report_json(const TopologyReport& report) {
  Json remarks = Json::array();
  for (const nccl::Remark& remark : report.remarks)
    remarks.push_back(Json::object({{"id", remark.id},
                                    {"weight", to_lower(weight_word(remark.weight))},
                                    {"line", remark.place.line},
                                    {"column", remark.place.column},
                                    {"count", remark.count},
                                    {"text", remark.text},
                                    {"nccl", remark.nccl},
                                    {"instead", remark.instead}}));
  const char* const kind = report.kind == nccl::FileKind::kTopology ? "topology"
                           : report.kind == nccl::FileKind::kGraphs ? "graphs"
                                                                    : "neither";
  return Json::object({{"schema", "angio.nccl-topo-check/1"},
                       {"file", report.file},
                       {"kind", kind},
                       {"dialect", report.rccl ? "rccl" : "nccl"},
                       {"nccl_version", report.version},
                       {"compared_with", report.machine.empty() ? Json() : Json(report.machine)},
                       {"elements", std::uint64_t{report.counts.elements}},
                       {"cpus", std::uint64_t{report.counts.cpus}},
                       {"gpus", std::uint64_t{report.counts.gpus}},
                       {"nics", std::uint64_t{report.counts.nets}},
                       {"errors", std::uint64_t{remarks_of(report, Weight::kError)}},
                       {"warnings", std::uint64_t{remarks_of(report, Weight::kWarning)}},
                       {"remarks", std::move(remarks)}});
}

report::Document topology_file_document(const Element& root, const std::string& version) {
  report::Document document;
  report::Tree tree;
  tree.roots.push_back(tree_node(root, version));
  if (root.name == "system") {
    const std::string name = root.get("name").empty() ? "" : ", " + printable(root.get("name"));
    tree.roots.front().line = plain(fmt::format("system{}  GB/s as NCCL {} counts them", name, version));
  }
  document.blocks.emplace_back(std::move(tree));
  return document;
}

Json topology_file_json(const std::string& file, const Element& root) {
  return Json::object({{"schema", "angio.nccl-topo/1"}, {"file", file}, {"root", element_json(root)}});
}

report::Document topology_differences_document(const std::vector<nccl::TreeDifference>& differences,
                                               const std::string& left, const std::string& right,
                                               std::size_t left_out) {
  report::Document document;
  const std::string apart =
      left_out == 0 ? ""
                    : fmt::format("{} of guid and host_hash not counted, which belong to one host (--all)",
                                  count_of(left_out, "difference"));
  if (differences.empty()) {
    document.blocks.emplace_back(report::Paragraph{plain(fmt::format(
        "{} and {} say the same{}{}", printable(left), printable(right), apart.empty() ? "" : "; ", apart))});
    return document;
  }
  report::Table table;
  table.columns = {{"what"}, {"says"}, {printable(left)}, {printable(right)}};
  for (const nccl::TreeDifference& each : differences)
    table.rows.push_back({plain(each.what),
                          plain(each.attribute.empty() ? "itself" : printable(each.attribute)),
                          plain(printable(each.left)), plain(printable(each.right))});
  document.blocks.emplace_back(std::move(table));
  document.blocks.emplace_back(report::Paragraph{
      plain(count_of(differences.size(), "difference") + (apart.empty() ? "" : "; " + apart))});
  return document;
}

Json topology_differences_json(const std::vector<nccl::TreeDifference>& differences, const std::string& left,
                               const std::string& right, std::size_t left_out) {
  Json list = Json::array();
  for (const nccl::TreeDifference& each : differences)
    list.push_back(Json::object({{"what", each.what},
                                 {"attribute", each.attribute.empty() ? Json() : Json(each.attribute)},
                                 {"left", each.left},
                                 {"right", each.right}}));
  return Json::object({{"schema", "angio.nccl-topo-diff/1"},
                       {"left", left},
                       {"right", right},
                       {"same", differences.empty()},
                       {"left_out", std::uint64_t{left_out}},
                       {"differences", std::move(list)}});
}

}  // namespace angio::views
