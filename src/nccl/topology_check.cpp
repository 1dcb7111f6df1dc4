#include "nccl/topology_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl/system_graph.hpp"
#include "nccl/topology_schema.hpp"

namespace angio::nccl {
namespace {

constexpr std::string_view kRcclAttributes = " gcn arch ";

class Checker {
 public:
  Checker(std::string_view version, bool rccl, Remarks& remarks)
      : version_(version), rccl_(rccl), remarks_(remarks) {}

  void run(const Element& root) {
    collect(root);
    collect_links(root, 0);
    top(root);
    for (const Element& child : root.children)
      element(child, root);
    sizes();
    one_way_links();
  }

 private:
  // ---- saying it

  void say(Weight weight, std::string_view id, TextPlace place, std::string text, std::string nccl,
           std::string instead) {
    remarks_.add({weight, std::string(id), place, std::move(text), std::move(nccl), std::move(instead)});
  }
  void say(Weight weight, std::string_view id, const Element& at, std::string text, std::string nccl,
           std::string instead) {
    say(weight, id, at.place, std::move(text), std::move(nccl), std::move(instead));
  }

  [[nodiscard]] bool at_least(std::string_view version) const {
    return knowledge::compare_versions(version_, version).value_or(1) >= 0;
  }

  static std::string quoted(std::string_view text) { return "\"" + printable(text.substr(0, 40)) + "\""; }

  void collect(const Element& element) {
    if (element.name == "pci") {
      buses_.insert(bus_number(element.get("busid")));
      if (element.child("gpu") != nullptr) gpu_buses_.insert(bus_number(element.get("busid")));
    }
    if (schema_of(element.name) != nullptr) ++elements_;
    for (const Element& child : element.children)
      collect(child);
  }

  // ---- elements

  void element(const Element& element, const Element& parent) {
    const Schema* schema = schema_of(element.name);
    const bool foreign = element.name == "xgmi" && !rccl_;
    if (schema == nullptr || foreign || !lists(schema->parents, parent.name)) {
      ignored(element, parent, schema);
      return;
    }
    if (element.name == "c2c" && !at_least("2.19")) too_new(element, "2.19");
    if (element.name == "pcilink" && !at_least("2.22")) too_new(element, "2.22");
    attributes(element, *schema);
    children(element);
    if (element.name == "cpu") cpu(element);
    if (element.name == "pci") pci(element);
    if (element.name == "gpu") gpu(element);
    if (element.name == "nvlink" || element.name == "xgmi") link(element);
    if (element.name == "c2c") c2c(element);
    if (element.name == "net") net(element);
    for (const Element& child : element.children)
      this->element(child, element);
  }

  void ignored(const Element& element, const Element& parent, const Schema* schema) {
    std::string instead = "remove it";
    if (element.name == "graph" || element.name == "graphs") {
      instead =
          "rings and trees are NCCL's result, in a file of their own (NCCL_GRAPH_FILE); links between GPUs "
          "are "
          "<nvlink> in <gpu>";
    } else if (element.name == "link" || element.name == "nvswitch" || element.name == "edge") {
      instead =
          "links between GPUs are <nvlink target=\"BUSID\" count=\"LINKS\" tclass=\"0x030200\"/> in <gpu>, "
          "through NVSwitch tclass=\"0x068000\"";
    } else if (element.name == "xgmi") {
      instead = "xgmi is RCCL's; NCCL has nvlink";
    } else if (schema != nullptr) {
      instead = fmt::format("<{}> belongs in{}", element.name, one_of(schema->parents));
    } else if (const auto meant = did_you_mean(element.name, names_); meant) {
      instead = fmt::format("did you mean <{}>?", *meant);
    }
    say(Weight::kWarning, "element.ignored", element,
        fmt::format("<{}> in <{}>", printable(element.name.substr(0, 40)), parent.name),
        "logs \"Ignoring element\" and skips it with all that is in it", std::move(instead));
  }

  static std::string one_of(std::string_view parents) {
    std::string text;
    for (const std::string_view each : split_words(parents))
      text += (text.empty() ? " <" : " or <") + std::string(each) + ">";
    return text;
  }

  void too_new(const Element& element, std::string_view since) {
    say(Weight::kWarning, "element.too-new", element, fmt::format("<{}>", element.name),
        fmt::format("{} skips it; it is read from {} on", version_, since), "nothing, or a newer NCCL");
  }

  void attributes(const Element& element, const Schema& schema) {
    for (const Attribute& attribute : element.attributes) {
      if (lists(schema.attributes, attribute.name)) continue;
      if (rccl_ && element.name == "gpu" && lists(kRcclAttributes, attribute.name)) continue;
      std::string instead = "remove it";
      if (element.name == "nvlink" || attribute.name == "type" || attribute.name == "bandwidth" ||
          attribute.name == "width") {
        instead =
            element.name == "nvlink"
                ? "an <nvlink> has target (bus id), count (links) and tclass (PCI class of the target) only"
                : "remove it; what joins GPUs is <nvlink> in <gpu>, what a slot can is link_speed and "
                  "link_width";
      } else {
        std::vector<std::string_view> names = split_words(schema.attributes);
        if (const auto meant = did_you_mean(attribute.name, names); meant)
          instead = fmt::format("did you mean {}?", *meant);
      }
      say(Weight::kWarning, "attribute.unknown", attribute.place,
          fmt::format("{}={} of <{}>", printable(attribute.name.substr(0, 40)), quoted(attribute.value),
                      element.name),
          "keeps it and looks at it nowhere", std::move(instead));
    }
  }

  void children(const Element& element) {
    const double most = knowledge::nccl_topology_value("xml-children", version_);
    const auto known = static_cast<double>(std::ranges::count_if(
        element.children, [](const Element& child) { return schema_of(child.name) != nullptr; }));
    if (rccl_ || std::isnan(most) || known <= most) return;
    say(Weight::kError, "xml.children", element,
        fmt::format("<{}> has {} children", element.name, element.children.size()),
        fmt::format("{} stops at {} (\"XML parser is limited to …\"): initialization fails", version_, most),
        "keep the devices that are used");
  }

  // ---- values

  void number(const Element& element, std::string_view name, bool needed) {
    const std::string* value = element.find(name);
    if (value == nullptr) {
      if (needed) missing(element, name, "stops: initialization fails with ncclInternalError");
      return;
    }
    if (is_number(*value)) return;
    say(Weight::kWarning, "value.number", element,
        fmt::format("{}={} of <{}>", name, quoted(*value), element.name),
        fmt::format("reads the digits in front: {}", read_number(*value)), "write a whole number");
  }

  void flag(const Element& element, std::string_view name) {
    const std::string* value = element.find(name);
    if (value == nullptr || *value == "0" || *value == "1") return;
    say(Weight::kWarning, "value.flag", element,
        fmt::format("{}={} of <{}>", name, quoted(*value), element.name),
        fmt::format("reads {}", read_number(*value)), "write 0 or 1");
  }

  void missing(const Element& element, std::string_view name, std::string nccl,
               Weight weight = Weight::kError) {
    say(weight, "value.missing", element, fmt::format("<{}> has no {}", element.name, name), std::move(nccl),
        fmt::format("add {}=\"…\"", name));
  }

  void top(const Element& element) {
    attributes(element, *schema_of("system"));
    children(element);
    const std::string* version = element.find("version");
    if (version == nullptr) {
      missing(element, "version", "stops: initialization fails with ncclInternalError");
    } else if (*version != "1" && !(rccl_ && *version == "2")) {
      say(Weight::kError, "system.version", element, fmt::format("version={}", quoted(*version)),
          fmt::format(
              "\"XML Topology has wrong version {}, 1 needed\": initialization fails with ncclInvalidUsage",
              read_number(*version)),
          "write version=\"1\", whatever the release of NCCL");
    }
  }

  void cpu(const Element& element) {
    number(element, "numaid", true);
    number(element, "familyid", false);
    number(element, "modelid", false);
    const std::string key = std::string(element.get("host_hash")) + "/" + std::string(element.get("numaid"));
    if (!numa_.insert(key).second) {
      say(Weight::kWarning, "cpu.twice", element,
          fmt::format("numaid={} a second time", quoted(element.get("numaid"))),
          "makes two CPU nodes of it, with a SYS hop between their devices",
          "put the devices under one <cpu>");
    }
    const std::string_view affinity = element.get("affinity");
    if (!affinity.empty() && !all_of(affinity, "0123456789abcdefABCDEF,")) {
      say(Weight::kWarning, "cpu.affinity", element, fmt::format("affinity={}", quoted(affinity)),
          "reads it as a mask and gets other CPUs than meant",
          "write the kernel's cpumap: hexadecimal words with commas, e.g. 00000000,ffffffff");
    }
    word(element, "arch", " x86_64 arm64 ppc64 ", "takes no CPU kind, and 5000 GB/s between the CPUs");
    const std::string_view vendor = element.get("vendor");
    if (!vendor.empty() && vendor != "  Shanghai  ")
      word(element, "vendor", " GenuineIntel AuthenticAMD CentaurHauls ",
           "knows no such vendor, and takes 5000 GB/s between the CPUs");
    if (element.find("host_hash") != nullptr && at_least("2.21") && !at_least("2.27")) {
      say(Weight::kError, "cpu.host-hash", element, "host_hash is in the file",
          fmt::format("{} takes it as it stands; on any other host: \"localHostHash = … not found\", "
                      "initialization fails",
                      version_),
          "remove host_hash (from 2.27 on NCCL overwrites it)");
    }
  }

  void word(const Element& element, std::string_view name, std::string_view words, std::string nccl) {
    const std::string_view value = element.get(name);
    if (value.empty() || lists(words, value)) return;
    const std::vector<std::string_view> candidates = split_words(words);
    const auto meant = did_you_mean(value, candidates);
    std::string instead = meant ? fmt::format("did you mean \"{}\"?", *meant)
                                : fmt::format("one of{}", std::string(words).substr(0, words.size() - 1));
    if (value == "aarch64") instead = "NCCL's word is \"arm64\"";
    say(Weight::kWarning, "value.word", element,
        fmt::format("{}={} of <{}>", name, quoted(value), element.name), std::move(nccl), std::move(instead));
  }

  void pci(const Element& element) {
    bus(element);
    const std::string_view pci_class = element.get("class");
    if (element.find("class") == nullptr) {
      missing(element, "class", "fills it in for devices it finds in /sys, and stops for others",
              Weight::kNote);
    } else if (!pci_class.starts_with("0x") || !is_hexadecimal(pci_class)) {
      say(Weight::kWarning, "pci.class", element, fmt::format("class={}", quoted(pci_class)),
          "takes it for a bridge",
          "write it as in /sys: 0x060400 bridge, 0x030200 GPU, 0x020700 InfiniBand, 0x020000 Ethernet");
    }
    lane_speed(element);
    lanes(element);
    if (below_is_lost(element)) {
      say(Weight::kWarning, "pci.class-below", element,
          fmt::format("class={} has <pci> below it", quoted(pci_class)),
          "only a bridge has devices below: those are lost", "a bridge's class is 0x060400");
    }
    const auto gpus = std::ranges::count(element.children, "gpu", &Element::name);
    if (gpus > 1 && !at_least("2.30")) {
      say(Weight::kWarning, "pci.gpus", element, fmt::format("{} <gpu> in one <pci>", gpus),
          fmt::format("{} uses the first", version_), "one <gpu> in each <pci>");
    }
  }

  static bool below_is_lost(const Element& element) {
    const std::string_view pci_class = element.get("class");
    const bool device =
        pci_class.starts_with("0x03") || pci_class.starts_with("0x02") || pci_class.starts_with("0x0680");
    return device && element.child("pci") != nullptr;
  }

  void bus(const Element& element) {
    const std::string* id = element.find("busid");
    if (id == nullptr) {
      missing(element, "busid", "stops: initialization fails with ncclInternalError");
      return;
    }
    if (!is_bus_id(*id)) {
      const bool only_case = is_bus_id(to_lower(*id));
      say(only_case ? Weight::kWarning : Weight::kError, "pci.busid", element,
          fmt::format("busid={}", quoted(*id)),
          only_case ? "compares bus ids letter by letter with the kernel's lower case: the device becomes two"
                    : "finds no device of that name, and numbers it by the digits it can read",
          only_case ? fmt::format("write \"{}\"", to_lower(*id)) : "write dddd:bb:dd.f, e.g. 0000:17:00.0");
    }
    const auto [at, fresh] = seen_buses_.emplace(to_lower(*id), element.place.line);
    if (fresh) return;
    say(Weight::kWarning, "pci.twice", element,
        fmt::format("busid={} is in line {} already", quoted(*id), at->second),
        "uses the first of them for what it detects, and adds both to its graph",
        "keep one element for each device");
  }

  void lane_speed(const Element& element) {
    const std::string* speed = element.find("link_speed");
    if (speed == nullptr) return;  // filled from /sys
    if (speed->empty() || *speed == "Unknown speed" || *speed == "Unknown") {
      say(Weight::kNote, "pci.speed-unknown", element, "link_speed says nothing",
          "counts it as Gen3: 12 GB/s for 16 lanes", "in a virtual machine nothing better may be known");
      return;
    }
    if (!std::isnan(lane_value(*speed, version_))) return;
    std::string instead = "write it as in /sys: 16.0 GT/s PCIe, 32.0 GT/s PCIe, 64.0 GT/s PCIe";
    if (!std::isnan(lane_value(*speed + " PCIe", version_)))
      instead = fmt::format("write \"{} PCIe\"", printable(*speed));
    say(Weight::kWarning, "pci.speed", element, fmt::format("link_speed={}", quoted(*speed)),
        "does not know the spelling and counts it as Gen3 (8 GT/s a lane)", std::move(instead));
  }

  void lanes(const Element& element) {
    const std::string* width = element.find("link_width");
    if (width == nullptr || width->empty() || *width == "0") return;
    constexpr std::array<std::int64_t, 7> kWidths{1, 2, 4, 8, 12, 16, 32};  // PCI Express Base Specification
    if (is_number(*width) && std::ranges::find(kWidths, read_number(*width)) != kWidths.end()) return;
    if (is_number(*width) && (*width == "255" || *width == "63")) return;  // what virtual ports say
    say(Weight::kWarning, "pci.width", element, fmt::format("link_width={}", quoted(*width)),
        fmt::format("multiplies the lane's speed by {}", read_number(*width)),
        "write the number of lanes, e.g. 16");
  }

  void gpu(const Element& element) {
    number(element, "dev", false);
    number(element, "rank", false);
    flag(element, "gdr");
    const std::string_view sm = element.get("sm");
    // 35 to 121 are the compute capabilities of CUDA 8 to 13; an RCCL file holds the number of CUs there.
    const std::int64_t value = read_number(sm);
    if (!rccl_ && !sm.empty() && (!is_number(sm) || value < 35 || value > 130)) {
      say(Weight::kWarning, "gpu.sm", element, fmt::format("sm={}", quoted(sm)),
          fmt::format("reads {} and takes its NVLinks and speeds from that", value),
          "write the compute capability times ten: 80 (A100), 90 (H100), 100 (B200)");
    }
    if (!element.get("dev").empty() && !devices_.insert(std::string(element.get("dev"))).second) {
      say(Weight::kWarning, "gpu.twice", element,
          fmt::format("dev={} a second time", quoted(element.get("dev"))),
          "mixes the two up when it looks for the GPU of a rank", "give each GPU its NVML number");
    }
  }

  void link(const Element& element) {
    number(element, "count", true);
    const std::int64_t links = read_number(element.get("count"));
    constexpr std::int64_t kMostLinks = 18;  // of one GPU, NVLink 4 and 5
    if (is_number(element.get("count")) && (links < 1 || links > kMostLinks)) {
      say(Weight::kWarning, "link.count", element, fmt::format("count={}", quoted(element.get("count"))),
          links < 1 ? "makes a link without bandwidth of it, which no path uses"
                    : "takes it for that many links",
          "count is a number of links, 1 to 18, neither GB/s nor a generation");
    }
    const std::string_view target = element.get("target");
    if (target.empty()) {
      missing(element, "target", "stops where it looks for the other end");
      return;
    }
    if (!is_bus_id(target) && !is_hidden_target(target)) {
      say(Weight::kWarning, "link.target", element, fmt::format("target={}", quoted(target)),
          "finds nothing there; for a GPU the link is lost",
          "a bus id in lower case (0000:1b:00.0), or fffffff:ffff:ff for an NVSwitch that cannot be seen");
      return;
    }
    const std::string_view target_class = element.get("tclass");
    if (target_class.empty()) {
      if (!is_hidden_target(target))
        missing(element, "tclass",
                "asks /sys for the target's class, and takes an NVSwitch when that is not there",
                Weight::kNote);
      return;
    }
    to_gpu(element, target, target_class);
  }

  void to_gpu(const Element& element, std::string_view target, std::string_view target_class) {
    if (!target_class.starts_with("0x03") && !(rccl_ && target_class.starts_with("0x12"))) return;
    if (gpu_buses_.contains(bus_number(target)) || buses_.contains(bus_number(target))) return;
    say(Weight::kWarning, "link.nowhere", element,
        fmt::format("target={} is no GPU of the file", quoted(target)),
        "adds the link only if it finds that GPU itself",
        "the bus id of a GPU, or tclass=\"0x068000\" for NVSwitch");
  }

  void c2c(const Element& element) {
    number(element, "bw", true);
    number(element, "count", true);
  }

  void net(const Element& element) {
    if (element.get("name").empty())
      missing(element, "name", "cannot tell which of its NICs that is, and trims it", Weight::kWarning);
    for (const std::string_view name : {"dev", "port", "maxconn"})
      number(element, name, false);
    for (const std::string_view name : {"gdr", "coll", "net", "gin", "rma"})
      flag(element, name);
    if (element.find("guid") != nullptr && !is_hexadecimal(element.get("guid"))) {
      say(Weight::kWarning, "net.guid", element, fmt::format("guid={}", quoted(element.get("guid"))),
          "reads the hexadecimal digits in front; NICs with equal ones count as one card",
          "write 0x and 16 digits");
    }
    speed(element);
    const std::string key = std::string(element.get("name")) + "/" + std::string(element.get("port"));
    if (!element.get("name").empty() && !nets_.insert(key).second) {
      say(Weight::kWarning, "net.twice", element,
          fmt::format("name={} a second time", quoted(element.get("name"))),
          "uses the first for the NIC of that name", "keep one");
    }
  }

  void speed(const Element& element) {
    const std::string* text = element.find("speed");
    if (text == nullptr) return;
    number(element, "speed", false);
    const std::int64_t value = read_number(*text);
    constexpr std::int64_t kSlow = 1000;  // ours: no NIC of a GPU host is slower than 1 Gb/s
    if (value > 0 && value < kSlow) {
      say(Weight::kWarning, "net.speed", element, fmt::format("speed={}", quoted(*text)),
          fmt::format("takes it for Mb/s: {:g} GB/s", static_cast<double>(value) / 8000.0),  // Mb/s to GB/s
          "write Mb/s: 400000 for 400 Gb/s");
    } else if (value <= 0) {
      say(Weight::kNote, "net.speed-unknown", element, fmt::format("speed={}", quoted(*text)),
          "takes 10 Gb/s", "write Mb/s: 400000 for 400 Gb/s");
    }
  }

  void sizes() {
    const double most = knowledge::nccl_topology_value("xml-elements", version_);
    if (rccl_ || std::isnan(most) || static_cast<double>(elements_) <= most) return;
    say(Weight::kError, "xml.elements", TextPlace{}, fmt::format("{} elements", elements_),
        fmt::format("\"XML parser is limited to {} nodes\": initialization fails", most),
        "keep one host's devices, and only those that are used");
  }

  // NVLink between GPUs is written on both: NCCL looks for the way back and stops without it.
  void one_way_links() {
    if (rccl_) return;
    for (const auto& [pair, element] : gpu_links_)
      if (pair.first != pair.second && gpu_buses_.contains(pair.second) &&
          !gpu_links_.contains({pair.second, pair.first})) {
        const bool asked = !linked_.contains(pair.second);  // a GPU without any
        say(asked ? Weight::kWarning : Weight::kError, "link.one-way", *element,
            fmt::format("nvlink to {}, and none back", quoted(element->get("target"))),
            asked ? "asks NVML for that GPU's links; with none back initialization fails"
                  : "\"Failed to find reverse path\": initialization fails",
            "write the link on both GPUs");
      }
  }

  // The links between GPUs by bus number, with the GPU they start at.
  void collect_links(const Element& element, std::uint64_t bus) {
    const std::uint64_t own = element.name == "pci" ? bus_number(element.get("busid")) : bus;
    if (element.name == "nvlink") linked_.insert(own);
    if (element.name == "nvlink" && element.get("tclass").starts_with("0x03")) {
      const std::uint64_t target = bus_number(element.get("target"));
      gpu_links_.emplace(std::pair(own, target), &element);
      if (own == target) {
        say(Weight::kWarning, "link.self", element, "an nvlink from a GPU to itself",
            "counts its bandwidth and can use it for nothing", "target is the other GPU's bus id");
      }
    }
    for (const Element& child : element.children)
      collect_links(child, own);
  }

  std::string version_;
  bool rccl_;
  Remarks& remarks_;
  std::size_t elements_ = 0;
  std::set<std::uint64_t> buses_;
  std::set<std::uint64_t> gpu_buses_;
  std::set<std::uint64_t> linked_;  // GPUs with an nvlink of any kind
  std::set<std::string> numa_;
  std::set<std::string> devices_;
  std::set<std::string> nets_;
  std::map<std::string, std::uint32_t> seen_buses_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, const Element*> gpu_links_;
  static constexpr std::array<std::string_view, 9> names_{"system", "cpu", "pci",     "gpu", "nvlink",
                                                          "c2c",    "nic", "pcilink", "net"};
};

}  // namespace

void check_topology(const XmlText& text, std::string_view version, Remarks& remarks) {
  const Element* root = root_of(text);
  if (root == nullptr) return;
  for (const Element& other : text.roots) {
    if (&other == root) continue;
    remarks.add({Weight::kWarning, "xml.roots", other.place,
                 fmt::format("<{}> beside <{}>", printable(other.name.substr(0, 40)), root->name),
                 "skips it, or takes a second <system> as well", "one <system> in a file"});
  }
  Checker(version, is_rccl(*root), remarks).run(*root);
}

}  // namespace angio::nccl
