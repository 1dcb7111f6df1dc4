#include "views/topology_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/format.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::DeviceKind;
using model::DeviceRef;
using model::Machine;
using model::Path;
using model::PathClass;
using report::Align;
using report::Line;
using report::Table;
using report::Tone;

Line cell(const Machine& machine, const Path& path) {
  const Tone tone = path.kind == PathClass::kUnknown ? Tone::kUnknown
                    : path.kind == PathClass::kSelf  ? Tone::kQuiet
                                                     : Tone::kPlain;
  return report::toned(cell_text(machine, path), tone);
}

Line node_cell(const Machine& machine, DeviceRef device) {
  const auto node = model::nearest_node(machine, device);
  return node ? report::plain(fmt::format("{}", node->value)) : report::toned("?", Tone::kUnknown);
}

// Rows against all GPUs, with the row's NUMA node at the end.
Table matrix(const Machine& machine, const std::vector<DeviceRef>& rows) {
  Table table;
  table.columns.push_back({"", Align::kLeft});
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    table.columns.push_back({fmt::format("GPU {}", i), Align::kCentre});
  }
  table.columns.push_back({"node", Align::kRight});
  for (const DeviceRef device : rows) {
    std::vector<Line> row{report::plain(device_name(machine, device))};
    for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
      row.push_back(cell(machine, model::path_between(machine, device, {DeviceKind::kGpu, i})));
    }
    row.push_back(node_cell(machine, device));
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<DeviceRef> all_gpus(const Machine& machine) {
  std::vector<DeviceRef> gpus;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i)
    gpus.push_back({DeviceKind::kGpu, i});
  return gpus;
}

std::string peers_words(const Machine& machine, std::uint32_t index) {
  std::map<std::string, std::uint32_t> peers;
  for (const model::GpuLink& link : machine.gpus[index].links) {
    if (link.state != model::LinkState::kActive) continue;
    switch (link.peer_kind) {
      case model::PeerKind::kSwitch:
        ++peers["NVSwitch"];
        break;
      case model::PeerKind::kCpu:
        ++peers["the CPU"];
        break;
      case model::PeerKind::kGpu:
        ++peers["other GPUs directly"];
        break;
      case model::PeerKind::kUnknown:
        ++peers["ends that are not known"];
        break;
    }
  }
  std::string words;
  for (const auto& [peer, count] : peers) {
    words += fmt::format("{}{} to {}", words.empty() ? "" : ", ", count, peer);
  }
  return words;
}

std::string version_words(const model::Gpu& gpu) {
  std::set<std::uint32_t> versions;
  for (const model::GpuLink& link : gpu.links) {
    if (const std::uint32_t* version = link.version.get(); version != nullptr && *version > 0)
      versions.insert(*version);
  }
  return versions.size() == 1 ? fmt::format(", version {}", *versions.begin()) : std::string();
}

}  // namespace

std::string cell_text(const Machine& machine, const Path& path) {
  if (path.kind == PathClass::kNvLink && link_family(machine) == "xGMI")
    return fmt::format("XG{}", path.links);
  return model::label(path);
}

Table gpu_matrix(const Machine& machine) {
  return matrix(machine, all_gpus(machine));
}

Table nic_matrix(const Machine& machine) {
  return matrix(machine, matrix_nics(machine));
}

report::Fields matrix_legend(const Machine& machine) {
  std::set<PathClass> occurring;
  std::vector<DeviceRef> rows = all_gpus(machine);
  const std::vector<DeviceRef> nics = matrix_nics(machine);
  rows.insert(rows.end(), nics.begin(), nics.end());
  for (const DeviceRef row : rows) {
    for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
      occurring.insert(model::path_between(machine, row, {DeviceKind::kGpu, i}).kind);
    }
  }
  report::Fields legend;
  legend.indent = 2;
  for (const PathClass kind : occurring) {
    if (kind == PathClass::kSelf) continue;
    const bool links = kind == PathClass::kNvLink;
    const bool xgmi = link_family(machine) == "xGMI";
    const std::string name = links ? (xgmi ? "XG#" : "NV#") : model::label({kind, 0, {}});
    const std::string meaning =
        links && xgmi ? "that many active xGMI links" : std::string(model::path_class_meaning(kind));
    legend.rows.emplace_back(name, report::plain(meaning));
  }
  return legend;
}

report::Fields nvlink_summary(const Machine& machine) {
  std::vector<std::pair<std::string, std::vector<std::uint32_t>>> groups;
  std::set<std::string> critical;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    const NvLinkCount count = count_nvlinks(machine, i);
    if (count.total == 0) continue;
    std::string words = fmt::format("{} of {} links active", count.active, count.total);
    if (const std::string peers = peers_words(machine, i); !peers.empty()) words += ": " + peers;
    words += version_words(machine.gpus[i]);
    if (count.fewer_than_alike) words += ", fewer than GPUs like it";
    if (count.fewer_than_alike) critical.insert(words);
    auto group = std::ranges::find(groups, words, &std::pair<std::string, std::vector<std::uint32_t>>::first);
    if (group == groups.end()) group = groups.insert(groups.end(), {words, {}});
    group->second.push_back(i);
  }
  report::Fields fields;
  fields.indent = 2;
  for (const auto& [words, gpus] : groups) {
    const std::string who = fmt::format("GPU{} {}", gpus.size() == 1 ? "" : "s", number_ranges(gpus));
    fields.rows.emplace_back(who,
                             report::toned(words, critical.contains(words) ? Tone::kCritical : Tone::kPlain));
  }
  return fields;
}

Table distance_table(const Machine& machine) {
  Table table;
  table.columns.push_back({"node", Align::kRight});
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < machine.numa.nodes.size(); ++i) {
    const model::NumaNode& node = machine.numa.nodes[i];
    if (node.kind == model::NumaKind::kEmpty || !node.distances.is_known()) continue;
    shown.push_back(i);
    table.columns.push_back({fmt::format("{}", node.id.value), Align::kRight});
  }
  for (const std::size_t i : shown) {
    const std::vector<std::uint32_t>& distances = *machine.numa.nodes[i].distances.get();
    std::vector<Line> row{report::plain(fmt::format("{}", machine.numa.nodes[i].id.value))};
    for (const std::size_t j : shown) {
      row.push_back(j < distances.size()
                        ? report::toned(fmt::format("{}", distances[j]), i == j ? Tone::kQuiet : Tone::kPlain)
                        : report::toned("?", Tone::kUnknown));
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace angio::views
