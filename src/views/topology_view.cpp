#include "views/topology_view.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "views/notes.hpp"
#include "views/topology_explain.hpp"
#include "views/topology_matrix.hpp"
#include "views/topology_outline.hpp"
#include "views/topology_picture.hpp"
#include "views/topology_tree.hpp"

namespace angio::views {
namespace {

using model::Machine;
using report::Document;
using report::Heading;
using report::Paragraph;
using report::Tone;

// What the source leaves open, so that an empty place is not read as "there is none".
std::vector<std::string> untold(const Machine& machine) {
  std::vector<std::string> missing;
  if (machine.cpus.online.empty() && machine.cpus.packages.empty()) missing.emplace_back("CPUs");
  if (machine.cpus.caches.empty()) missing.emplace_back("caches");
  if (machine.numa.nodes.empty()) {
    missing.emplace_back("NUMA nodes");
  } else {
    const auto& nodes = machine.numa.nodes;
    if (std::ranges::all_of(nodes, [](const auto& node) { return node.memory.is_unreadable(); })) {
      missing.emplace_back("memory of the nodes");
    }
    if (nodes.size() > 1 &&
        std::ranges::all_of(nodes, [](const auto& node) { return !node.distances.is_known(); })) {
      missing.emplace_back("NUMA distances");
    }
  }
  if (machine.pci.devices.empty()) missing.emplace_back("PCI tree and links");
  const auto linkless = [](const model::Gpu& gpu) { return gpu.links.empty() && gpu.linked.empty(); };
  if (!machine.gpus.empty() && !machine.stated_paths && std::ranges::all_of(machine.gpus, linkless)) {
    missing.emplace_back("links between GPUs (none were reported)");
  }
  return missing;
}

void add_table(Document& document, const char* title, report::Table table) {
  if (table.rows.empty() || table.columns.size() < 2) return;
  document.blocks.emplace_back(Heading{title, 2});
  document.blocks.emplace_back(std::move(table));
}

void add_matrices(Document& document, const Machine& machine) {
  if (machine.gpus.empty() || !model::has_paths(machine)) return;
  if (machine.gpus.size() > 1) add_table(document, "GPU to GPU", gpu_matrix(machine));
  add_table(document, "NIC to GPU", nic_matrix(machine));
  const report::Fields legend = matrix_legend(machine);
  if (legend.rows.empty()) return;
  document.blocks.emplace_back(Heading{"Near to far", 2});
  document.blocks.emplace_back(legend);
}

void add_numa(Document& document, const Machine& machine) {
  report::Table distances = distance_table(machine);
  if (distances.rows.size() < 2) return;
  add_table(document, "NUMA distances", std::move(distances));
  document.blocks.emplace_back(Paragraph{report::toned(
      "As the firmware states them: 10 is local, larger is farther; they are no latencies.", Tone::kQuiet)});
}

void add_remarks(Document& document, const Machine& machine) {
  if (const std::vector<std::string> missing = untold(machine); !missing.empty()) {
    document.blocks.emplace_back(Paragraph{
        {{"This source does not tell: ", Tone::kUnknown}, {join(missing, ", ") + ".", Tone::kUnknown}}});
  }
  for (const model::Note& note : machine.notes) {
    document.blocks.emplace_back(Paragraph{{{"note ", Tone::kWarning}, {note_text(note), Tone::kPlain}}});
  }
}

}  // namespace

report::Document topology_document(const Machine& machine, const TopologyOptions& options) {
  const Outline outline = make_outline(machine);
  Document document;
  const std::string name = machine.name.empty() ? std::string("machine") : machine.name;
  // A machine without a host name has its file's, which the origin repeats.
  document.title = machine.origin.empty()           ? name
                   : contains(machine.origin, name) ? machine.origin
                                                    : name + " (" + machine.origin + ")";
  const std::string counts = topology_counts(machine, outline);
  document.blocks.emplace_back(Paragraph{report::plain(counts.empty() ? "no device is known" : counts)});
  if (options.picture) {
    // A page is headed by the machine; where it comes from stands below.
    document.title = name;
    if (const std::string* product = machine.software.product.get()) document.title += ", " + *product;
    if (!machine.origin.empty())
      document.blocks.emplace_back(Paragraph{report::toned(machine.origin, Tone::kQuiet)});
    document.blocks.emplace_back(topology_picture(machine, outline, PictureHeading::kNone));
  }
  document.blocks.emplace_back(topology_tree(machine, outline));
  if (const std::string caches = cache_summary(machine); !caches.empty()) {
    document.blocks.emplace_back(Paragraph{{{"caches  ", Tone::kQuiet}, {caches, Tone::kPlain}}});
  }
  add_matrices(document, machine);
  if (report::Fields links = nvlink_summary(machine); !links.rows.empty()) {
    document.blocks.emplace_back(Heading{"Links of the GPUs", 2});
    document.blocks.emplace_back(std::move(links));
  }
  add_numa(document, machine);
  if (options.explain) {
    for (report::Block& block : explain_topology(machine))
      document.blocks.push_back(std::move(block));
  }
  add_remarks(document, machine);
  return document;
}

report::Drawing topology_drawing(const Machine& machine) {
  return topology_picture(machine, make_outline(machine), PictureHeading::kNameAndCounts);
}

}  // namespace angio::views
