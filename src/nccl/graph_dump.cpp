#include "nccl/graph_dump.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::nccl {
namespace {

// src/graph/search.cc, kvDictLinkType: the words a graph file may hold.
constexpr std::array<std::string_view, 9> kTypes{"LOC", "NVL", "NVB", "PIX", "PXB",
                                                 "P2C", "PXN", "PHB", "SYS"};
constexpr std::array<std::string_view, 11> kAttributes{
    "id",           "pattern",   "crossnic",  "nchannels",    "speedintra", "speedinter",
    "latencyinter", "typeintra", "typeinter", "samechannels", "keep"};

// dev is hexadecimal with and without 0x (strtol(…, 16)).
std::int64_t device_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X")) text.remove_prefix(2);
  std::int64_t number = -1;
  std::from_chars(text.data(), text.data() + text.size(), number, 16);
  return number;
}

class GraphReader {
 public:
  GraphReader(std::string_view version, Remarks& remarks) : version_(version), remarks_(remarks) {}

  std::vector<DumpedGraph> run(const Element& root) {
    if (root.get("version") != "1") {
      say(Weight::kError, "graphs.version", root,
          fmt::format("version=\"{}\"", printable(root.get("version"))),
          "\"XML Graph has wrong version …, 1 needed\": initialization fails", "write version=\"1\"");
    }
    std::vector<DumpedGraph> graphs;
    for (const Element& child : root.children) {
      if (child.name == "graph") {
        graphs.push_back(graph(child));
      } else {
        ignored(child, "graphs");
      }
    }
    return graphs;
  }

 private:
  void say(Weight weight, std::string_view id, const Element& at, std::string text, std::string nccl,
           std::string instead) {
    remarks_.add({weight, std::string(id), at.place, std::move(text), std::move(nccl), std::move(instead)});
  }

  void ignored(const Element& element, std::string_view parent) {
    say(Weight::kWarning, "element.ignored", element,
        fmt::format("<{}> in <{}>", printable(element.name.substr(0, 40)), parent),
        "logs \"Ignoring element\" and skips it",
        "a graph file holds <graph>, <channel>, <net> and <gpu>; links between GPUs are in the topology "
        "file");
  }

  std::int64_t number(const Element& element, std::string_view name, bool needed = true) {
    const std::string* text = element.find(name);
    if (text != nullptr) return read_number(*text);
    if (needed) {
      say(Weight::kError, "value.missing", element, fmt::format("<{}> has no {}", element.name, name),
          "stops: initialization fails", fmt::format("add {}=\"…\"", name));
    }
    return 0;
  }

  std::string type(const Element& element, std::string_view name) {
    const std::string text(element.get(name));
    if (std::ranges::find(kTypes, text) == kTypes.end()) {
      say(Weight::kError, "graph.type", element, fmt::format("{}=\"{}\"", name, printable(text)),
          "does not know the word and stops", "LOC NVL NVB PIX PXB P2C PXN PHB or SYS");
    }
    return text;
  }

  DumpedGraph graph(const Element& element) {
    DumpedGraph graph;
    graph.id = static_cast<int>(number(element, "id"));
    graph.pattern = static_cast<int>(number(element, "pattern"));
    graph.cross_nic = static_cast<int>(number(element, "crossnic"));
    graph.channels = static_cast<int>(number(element, "nchannels"));
    graph.speed_intra = speed(element, "speedintra");
    graph.speed_inter = speed(element, "speedinter");
    graph.latency_inter = parse_double(element.get("latencyinter")).value_or(0);
    graph.type_intra = type(element, "typeintra");
    graph.type_inter = type(element, "typeinter");
    graph.same_channels = static_cast<int>(number(element, "samechannels"));
    unknown_attributes(element);
    for (const Element& child : element.children) {
      if (child.name == "channel") {
        graph.list.push_back(channel(child, graph));
      } else {
        ignored(child, "graph");
      }
    }
    check(element, graph);
    return graph;
  }

  void unknown_attributes(const Element& element) {
    for (const Attribute& attribute : element.attributes) {
      if (std::ranges::find(kAttributes, attribute.name) != kAttributes.end()) continue;
      const auto meant = did_you_mean(attribute.name, kAttributes);
      remarks_.add({Weight::kWarning, "attribute.unknown", attribute.place,
                    fmt::format("{} of <graph>", printable(attribute.name.substr(0, 40))),
                    "looks at it nowhere", meant ? fmt::format("did you mean {}?", *meant) : "remove it"});
    }
  }

  double speed(const Element& element, std::string_view name) {
    const auto value = parse_double(element.get(name));
    if (!value) {
      say(Weight::kError, "graph.speed", element,
          fmt::format("{}=\"{}\"", name, printable(element.get(name))), "reads 0 or stops",
          "write GB/s of one channel, e.g. 20");
    }
    return value.value_or(0);
  }

  DumpedChannel channel(const Element& element, DumpedGraph& graph) {
    DumpedChannel channel;
    for (const Element& child : element.children) {
      if (child.name == "net") {
        channel.nets.push_back(device_number(child.get("dev")));
      } else if (child.name == "gpu") {
        const bool ranked = child.find("rank") != nullptr;
        graph.ranks = graph.ranks || ranked;
        channel.gpus.push_back(ranked ? read_number(child.get("rank")) : device_number(child.get("dev")));
      } else {
        ignored(child, "channel");
        continue;
      }
      if (child.find("dev") == nullptr) {
        say(Weight::kError, "value.missing", child, fmt::format("<{}> has no dev", child.name),
            "stops: initialization fails", "add dev=\"…\", hexadecimal");
      }
    }
    return channel;
  }

  void check(const Element& element, const DumpedGraph& graph) {
    const auto most = static_cast<int>(knowledge::nccl_topology_value("channels", version_));
    if (graph.channels != static_cast<int>(graph.list.size())) {
      say(Weight::kError, "graph.channels", element,
          fmt::format("nchannels=\"{}\" and {} <channel>", graph.channels, graph.list.size()),
          "reads as many channels as nchannels says, from memory that was never filled",
          "make the two equal");
    }
    if (graph.channels > most) {
      say(Weight::kError, "graph.channels-most", element, fmt::format("{} channels", graph.channels),
          fmt::format("NCCL {} has room for {}", version_, most), "fewer channels");
    }
    std::set<std::size_t> lengths;
    for (const DumpedChannel& channel : graph.list) {
      lengths.insert(channel.gpus.size());
      const std::set<std::int64_t> different(channel.gpus.begin(), channel.gpus.end());
      if (different.size() == channel.gpus.size()) continue;
      say(Weight::kError, "graph.gpu-twice", element,
          fmt::format("a GPU stands twice in a channel of graph {}", graph.id),
          "builds a ring or chain that misses another GPU", "each GPU of the node once in each channel");
    }
    if (lengths.size() > 1) {
      say(Weight::kError, "graph.gpus", element,
          fmt::format("the channels of graph {} hold different numbers of GPUs", graph.id),
          "reads ranks from memory that was never filled", "all GPUs of the node in each channel");
    }
  }

  std::string version_;
  Remarks& remarks_;
};

std::string device_text(std::int64_t number) {
  return number == 0 ? "0" : fmt::format("{:#x}", number);
}

Element channel_element(const DumpedChannel& channel, const DumpedGraph& graph) {
  Element element;
  element.name = "channel";
  const auto add = [&](const char* name, std::int64_t number) -> Element& {
    Element child;
    child.name = name;
    child.set("dev", device_text(number));
    element.children.push_back(std::move(child));
    return element.children.back();
  };
  if (!channel.nets.empty()) add("net", channel.nets.front());
  for (const std::int64_t gpu : channel.gpus) {
    Element& made = add("gpu", gpu);
    if (graph.ranks) made.set("rank", std::to_string(gpu));
  }
  if (channel.nets.size() > 1) add("net", channel.nets.back());
  return element;
}

DumpedGraph dumped(const System& system, const ChannelGraph& graph) {
  DumpedGraph dump{graph.id,
                   static_cast<int>(graph.pattern),
                   graph.cross_nic,
                   graph.channels,
                   static_cast<double>(graph.bandwidth_intra),
                   static_cast<double>(graph.bandwidth_inter),
                   static_cast<double>(graph.latency_inter),
                   std::string(label(graph.type_intra)),
                   std::string(label(graph.type_inter)),
                   graph.same_channels,
                   false,
                   {}};
  const std::size_t gpus = system.all(NodeKind::kGpu).size();
  for (std::size_t at = 0; at < static_cast<std::size_t>(graph.channels); ++at) {
    DumpedChannel channel;
    const std::size_t shown = graph.id == kNvlsGraph ? 1 : gpus;  // NVLS: the head only
    for (std::size_t gpu = 0; gpu < shown; ++gpu)
      channel.gpus.push_back(system.node(NodeKind::kGpu, graph.intra[at * gpus + gpu]).device);
    if (system.options.between_nodes)
      for (std::size_t end = 0; end < 2; ++end)
        if (graph.inter[at * 2 + end] != kNone)
          channel.nets.push_back(system.node(NodeKind::kNet, graph.inter[at * 2 + end]).device);
    dump.list.push_back(std::move(channel));
  }
  return dump;
}

}  // namespace

std::string graph_name(int id) {
  constexpr std::array<std::string_view, 5> kNames{"ring", "tree", "CollNet chain", "NVLS", "CollNet direct"};
  if (id >= 0 && static_cast<std::size_t>(id) < kNames.size())
    return std::string(kNames[static_cast<std::size_t>(id)]);
  return fmt::format("graph {}", id);
}

std::vector<DumpedGraph> read_graphs(const Element& root, std::string_view version, Remarks& remarks) {
  return GraphReader(version, remarks).run(root);
}

std::vector<DumpedGraph> to_dump(const System& system, const SearchResult& result) {
  std::vector<DumpedGraph> graphs;
  for (const ChannelGraph* graph : {&result.ring, &result.tree, &result.nvls})
    graphs.push_back(dumped(system, *graph));
  return graphs;
}

Element to_element(const std::vector<DumpedGraph>& graphs) {
  Element root;
  root.name = "graphs";
  root.set("version", "1");
  for (const DumpedGraph& graph : graphs) {
    Element element;
    element.name = "graph";
    element.set("id", std::to_string(graph.id));
    element.set("pattern", std::to_string(graph.pattern));
    element.set("crossnic", std::to_string(graph.cross_nic));
    element.set("nchannels", std::to_string(graph.channels));
    element.set("speedintra", fmt::format("{:g}", graph.speed_intra));
    element.set("speedinter", fmt::format("{:g}", graph.speed_inter));
    element.set("latencyinter", fmt::format("{:g}", graph.latency_inter));
    element.set("typeintra", graph.type_intra);
    element.set("typeinter", graph.type_inter);
    element.set("samechannels", std::to_string(graph.same_channels));
    for (const DumpedChannel& channel : graph.list)
      element.children.push_back(channel_element(channel, graph));
    root.children.push_back(std::move(element));
  }
  return root;
}

}  // namespace angio::nccl
