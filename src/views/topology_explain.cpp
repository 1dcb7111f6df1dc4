#include "views/topology_explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "base/text.hpp"
#include "model/gid_choice.hpp"
#include "views/topology_matrix.hpp"
#include "views/topology_words.hpp"

namespace angio::views {
namespace {

using model::DeviceKind;
using model::DeviceRef;
using model::Machine;
using model::Path;
using model::PathClass;
using report::Tone;

std::string_view consequence(PathClass kind) {
  switch (kind) {
    case PathClass::kNvLink:
      return "GPUs reach each other's memory over their own links; no PCIe and no CPU in between. The figure "
             "is "
             "the number of links, not a generation and not a speed.";
    case PathClass::kC2c:
      return "GPU and CPU share memory coherently over the chip-to-chip link.";
    case PathClass::kPix:
      return "Traffic turns round in one PCIe switch and does not reach the CPU, unless access control (ACS) "
             "sends "
             "it up. Between a GPU and a NIC this is the place for GPUDirect RDMA.";
    case PathClass::kPxb:
      return "Traffic crosses several PCIe switches but no CPU, unless access control (ACS) sends it up. "
             "Good for "
             "GPUDirect RDMA as well.";
    case PathClass::kPhb:
      return "Traffic goes up to the CPU's PCIe host bridge and down again. Peer-to-peer through a host "
             "bridge works "
             "on some CPUs and is slower on many; on virtual machines the real PCIe tree may be hidden "
             "behind it.";
    case PathClass::kNode:
      return "Traffic goes through two host bridges of the same NUMA node: a distance, not the place of a "
             "NIC.";
    case PathClass::kSys:
      return "Traffic also crosses the interconnect between CPUs, which it shares with memory traffic "
             "between them.";
    case PathClass::kSelf:
    case PathClass::kUnknown:
      break;
  }
  return "Nothing is concluded from it.";
}

// "NV18 to GPUs 1-7; PIX to mlx5_0; SYS to mlx5_4, mlx5_5".
std::string view_from(const Machine& machine, DeviceRef gpu, const std::vector<DeviceRef>& others) {
  std::map<std::tuple<PathClass, std::uint32_t>, std::vector<DeviceRef>> groups;
  for (const DeviceRef other : others) {
    if (other == gpu) continue;
    const Path path = model::path_between(machine, gpu, other);
    groups[{path.kind, ~path.links}].push_back(other);
  }
  std::vector<std::string> words;
  for (const auto& [key, devices] : groups) {
    const Path path{std::get<0>(key), ~std::get<1>(key), {}};
    words.push_back(fmt::format("{} to {}", cell_text(machine, path), name_list(machine, devices)));
  }
  return join(words, "; ");
}

struct Remark {
  std::string who;
  std::string text;
};

std::string crossing(const Machine& machine, DeviceRef a, DeviceRef b) {
  const auto node_a = model::nearest_node(machine, a);
  const auto node_b = model::nearest_node(machine, b);
  if (!node_a || !node_b) return "crosses between NUMA nodes";
  return fmt::format("crosses from NUMA node {} to {}", node_a->value, node_b->value);
}

void remark_far_nics(const Machine& machine, const std::vector<DeviceRef>& nics,
                     std::vector<Remark>& remarks) {
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    const DeviceRef gpu{DeviceKind::kGpu, i};
    std::optional<DeviceRef> nearest;
    Path best;
    bool unknown = false;
    for (const DeviceRef nic : nics) {
      const Path path = model::path_between(machine, gpu, nic);
      unknown = unknown || path.kind == PathClass::kUnknown;
      if (nearest && path.kind >= best.kind) continue;
      nearest = nic;
      best = path;
    }
    const bool far = best.kind == PathClass::kNode || best.kind == PathClass::kSys;
    if (!nearest || unknown || !far) continue;
    const bool coherent = model::path_to_cpu(machine, i).kind == PathClass::kC2c;
    std::string text = best.kind == PathClass::kSys
                           ? crossing(machine, gpu, *nearest)
                           : std::string("leaves its host bridge for another of the same node");
    text +=
        coherent
            ? "; the GPU reaches its CPU by NVLink-C2C, where this is how the machine is built"
            : "; no NIC is nearer. GPUDirect RDMA is used only for NICs near enough (NCCL_NET_GDR_LEVEL); "
              "otherwise data is copied through host memory";
    remarks.push_back(
        {fmt::format("GPU {} - {}: {}", i, device_name(machine, *nearest), model::label(best)), text});
  }
}

// The label most pairs have; none when no label has more than half.
std::optional<std::string> usual_label(const std::map<std::string, std::size_t>& counts, std::size_t total) {
  for (const auto& [label, count] : counts) {
    if (2 * count > total) return label;
  }
  return std::nullopt;
}

using Pairs = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// "GPU 2 with every other", "GPUs 0-4, 1-5".
std::string pair_words(const Pairs& pairs, std::size_t gpus) {
  for (const std::uint32_t one : {pairs.front().first, pairs.front().second}) {
    const bool all =
        std::ranges::all_of(pairs, [one](auto pair) { return pair.first == one || pair.second == one; });
    if (all && pairs.size() + 1 == gpus) return fmt::format("GPU {} with every other", one);
  }
  std::vector<std::string> words;
  for (const auto& [a, b] : pairs)
    words.push_back(fmt::format("{}-{}", a, b));
  return "GPUs " + join(words, ", ");
}

void remark_odd_pairs(const Machine& machine, std::vector<Remark>& remarks) {
  std::map<std::string, std::size_t> counts;
  std::map<std::string, Pairs> pairs;
  std::map<std::string, Path> paths;
  std::size_t total = 0;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    for (std::uint32_t j = i + 1; j < machine.gpus.size(); ++j) {
      const Path path = model::path_between(machine, {DeviceKind::kGpu, i}, {DeviceKind::kGpu, j});
      const std::string text = cell_text(machine, path);
      ++counts[text];
      ++total;
      paths[text] = path;
      pairs[text].emplace_back(i, j);
    }
  }
  const auto usual = usual_label(counts, total);
  if (!usual || paths[*usual].kind != PathClass::kNvLink) return;
  for (const auto& [text, list] : pairs) {
    const Path& path = paths[text];
    if (text == *usual || path.kind == PathClass::kUnknown) continue;
    const std::string why = path.kind != PathClass::kNvLink    ? "no active link between them"
                            : path.links < paths[*usual].links ? "fewer active links"
                                                               : "more links than most";
    remarks.push_back({fmt::format("{}: {}", pair_words(list, machine.gpus.size()), text),
                       fmt::format("most pairs have {}: {}", *usual, why)});
  }
}

void remark_unknown(const Machine& machine, const std::vector<DeviceRef>& others,
                    std::vector<Remark>& remarks) {
  std::map<std::string, std::size_t> reasons;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    for (const DeviceRef other : others) {
      if (other.kind == DeviceKind::kGpu && other.index <= i) continue;
      const Path path = model::path_between(machine, {DeviceKind::kGpu, i}, other);
      if (path.kind == PathClass::kUnknown)
        ++reasons[path.why.empty() ? "the source does not say" : path.why];
    }
  }
  for (const auto& [why, count] : reasons)
    remarks.push_back({fmt::format("? ({} pairs)", count), why});
}

report::Fields class_fields(const Machine& machine, const std::vector<DeviceRef>& others) {
  std::set<PathClass> occurring;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    for (const DeviceRef other : others) {
      occurring.insert(model::path_between(machine, {DeviceKind::kGpu, i}, other).kind);
    }
  }
  report::Fields fields;
  fields.indent = 2;
  for (const PathClass kind : occurring) {
    if (kind == PathClass::kSelf) continue;
    const std::string name = kind == PathClass::kNvLink ? (link_family(machine) == "xGMI" ? "XG#" : "NV#")
                                                        : model::label({kind, 0, {}});
    fields.rows.emplace_back(
        name, report::plain(fmt::format("{}. {}", model::path_class_meaning(kind), consequence(kind))));
  }
  return fields;
}

// ---- GIDs of RoCE ports

model::GidWish wish_of(const Machine& machine) {
  return model::wish_of([&](std::string_view name) -> const std::string* {
    const auto& settings = machine.software.settings;
    const auto found = std::ranges::find(settings, name, &model::Setting::name);
    return found != settings.end() ? &found->value : nullptr;
  });
}

// "v1", "v2"; "?" where the type cannot be read, as for entries of other pods.
std::string version_of(const model::Gid& gid) {
  const std::string type = gid.type.value_or("?");
  const std::size_t blank = type.rfind(' ');
  return blank != type.npos ? type.substr(blank + 1) : type;
}

// Tables of hosts with many pods have hundreds of entries: the first ones, and the one that is taken.
void add_gid_rows(const model::RdmaDevice& device, const model::RdmaPort& port, const model::GidWish& wish,
                  report::Table& table) {
  constexpr std::size_t kShown = 8;
  const model::GidChoice choice = model::choose_gid(port, wish);
  const std::string name =
      device.ports.size() > 1 ? fmt::format("{}:{}", device.name, port.number) : device.name;
  for (std::size_t i = 0; i < port.gids.size(); ++i) {
    const model::Gid& gid = port.gids[i];
    const bool taken = choice.entry == &gid && !choice.fails;
    if (i >= kShown && !taken) continue;
    const auto raw = model::parse_gid(gid.gid);
    table.rows.push_back(
        {report::plain(name), report::plain(std::to_string(gid.index)), report::plain(version_of(gid)),
         report::plain(raw ? model::address_of(*raw) : gid.gid), report::plain(gid.netdev.value_or("?")),
         report::toned(taken ? "taken" : "", Tone::kStrong)});
  }
}

void add_gids(const Machine& machine, std::vector<report::Block>& blocks) {
  const model::GidWish wish = wish_of(machine);
  report::Table table{
      .columns = {{"port"}, {"GID", report::Align::kRight}, {"RoCE"}, {"address"}, {"interface"}, {"NCCL"}},
      .rows = {}};
  for (const model::RdmaDevice& device : machine.rdma) {
    for (const model::RdmaPort& port : device.ports) {
      if (port.link_layer == model::LinkLayer::kEthernet) add_gid_rows(device, port, wish, table);
    }
  }
  if (table.rows.empty()) return;
  blocks.emplace_back(report::Heading{"GIDs of RoCE ports", 2});
  blocks.emplace_back(std::move(table));
  blocks.emplace_back(report::Paragraph{report::plain(
      wish.index ? fmt::format("Taken: what NCCL_IB_GID_INDEX={} of this machine names.", *wish.index)
                 : std::string("Taken: what NCCL 2.21.5 and newer choose by themselves with this machine's "
                               "settings; a job's own may differ. Older ones take GID 0."))});
}

}  // namespace

std::vector<report::Block> explain_topology(const Machine& machine) {
  if (machine.gpus.empty())
    return {report::Paragraph{
        report::toned("No GPU is known here: there are no pairs to explain.", Tone::kQuiet)}};
  const std::vector<DeviceRef> nics = matrix_nics(machine);
  std::vector<DeviceRef> others;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i)
    others.push_back({DeviceKind::kGpu, i});
  others.insert(others.end(), nics.begin(), nics.end());
  std::vector<report::Block> blocks{report::Heading{"What the classes mean here", 2},
                                    class_fields(machine, others), report::Heading{"What each GPU sees", 2}};
  report::Fields views;
  views.indent = 2;
  for (std::uint32_t i = 0; i < machine.gpus.size(); ++i) {
    std::string words = view_from(machine, {DeviceKind::kGpu, i}, others);
    const Path cpu = model::path_to_cpu(machine, i);
    if (cpu.kind == PathClass::kC2c) words += "; C2C to its CPU";
    if (cpu.kind == PathClass::kNvLink) words += fmt::format("; {} NVLinks to its CPU", cpu.links);
    views.rows.emplace_back(fmt::format("GPU {}", i),
                            report::plain(words.empty() ? "no other device" : words));
  }
  blocks.emplace_back(views);
  add_gids(machine, blocks);
  std::vector<Remark> remarks;
  remark_odd_pairs(machine, remarks);
  remark_far_nics(machine, nics, remarks);
  remark_unknown(machine, others, remarks);
  if (remarks.empty()) return blocks;
  blocks.emplace_back(report::Heading{"What stands out", 2});
  for (const Remark& remark : remarks) {
    blocks.emplace_back(report::Paragraph{{{remark.who + ": ", Tone::kStrong}, {remark.text, Tone::kPlain}}});
  }
  return blocks;
}

}  // namespace angio::views
