// A fabric in the form of ibnetdiscover. ibsim is its strictest reader (ibsim 0.10, sim_net.c): every node
// needs at least one port and a GUID of its own, both ends of a cable must agree, lines have at most 255
// bytes, and behind a port a sign of equality starts an option.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/text.hpp"
#include "fabric/fabric.hpp"

namespace angio::fabric {
namespace {

using model::FabricNode;
using model::FabricNodeKind;
using model::FabricPort;
using model::PortRef;

constexpr std::uint32_t kMostPorts = 254;        // IBA: of one node
constexpr std::size_t kLongestDescription = 64;  // IBA: NodeDescription has 64 bytes

// Printable and short, without quotes; cut between characters.
std::string plain_name(std::string_view text) {
  text = trim(text);
  std::size_t end = std::min(text.size(), kLongestDescription);
  while (end > 0 && end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U)
    --end;
  std::string name(text.substr(0, end));
  for (char& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20U || byte == 0x7FU) c = ' ';
    if (c == '"') c = '\'';
  }
  return name;
}

// In a remark behind a port: also without what ibsim takes for an option.
std::string remark_name(const std::string& name) {
  std::string remark = name;
  std::ranges::replace(remark, '=', '_');
  return remark;
}

struct Sheet {
  std::string id;    // "S-0002c903006e1430"
  std::string name;  // of the description
  std::uint64_t guid = 0;
  FabricNodeKind kind = FabricNodeKind::kUnknown;
};

class Writer {
 public:
  explicit Writer(const model::Fabric& fabric) : fabric_(fabric) { name_nodes(); }

  std::string write() && {
    write_heading();
    for (const FabricNodeKind kind :
         {FabricNodeKind::kSwitch, FabricNodeKind::kAdapter, FabricNodeKind::kRouter}) {
      for (std::uint32_t n = 0; n < fabric_.nodes.size(); ++n) {
        if (sheets_[n].kind == kind) write_node(n);
      }
    }
    return std::move(text_);
  }

 private:
  template <typename... Values>
  void put(fmt::format_string<Values...> form, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), form, std::forward<Values>(values)...);
  }

  // What nobody said to be a switch is one when it has more ports than adapters have.
  static FabricNodeKind kind_of(const FabricNode& node) {
    constexpr std::uint32_t kMostAdapterPorts = 2;
    if (node.kind != FabricNodeKind::kUnknown) return node.kind;
    const bool many = !node.ports.empty() && node.ports.back().number > kMostAdapterPorts;
    return many ? FabricNodeKind::kSwitch : FabricNodeKind::kAdapter;
  }

  // Nodes without a GUID, or with that of another node, get the lowest numbers that are free.
  void name_nodes() {
    std::unordered_set<std::uint64_t> taken{0};
    for (const FabricNode& node : fabric_.nodes)
      taken.insert(node.guid.value);
    std::unordered_set<std::uint64_t> used{0};
    std::uint64_t next = 1;
    sheets_.reserve(fabric_.nodes.size());
    for (const FabricNode& node : fabric_.nodes) {
      Sheet sheet;
      sheet.kind = kind_of(node);
      sheet.guid = node.guid.value;
      if (!used.insert(sheet.guid).second) {
        while (taken.contains(next))
          ++next;
        sheet.guid = next++;
        made_up_ = true;
      }
      const char letter = sheet.kind == FabricNodeKind::kSwitch   ? 'S'
                          : sheet.kind == FabricNodeKind::kRouter ? 'R'
                                                                  : 'H';
      sheet.id = fmt::format("{}-{:016x}", letter, sheet.guid);
      sheet.name = plain_name(node.description);
      sheets_.push_back(std::move(sheet));
    }
  }

  void write_heading() {
    put("#\n");
    if (fabric_.captured) put("# Topology file: generated on {}\n", *fabric_.captured);
    put("# Written by angio; {}\n", plain_name(printable(fabric_.origin)));
    if (made_up_) put("# Nodes whose GUID is not known have one that counts from 1.\n");
    write_start();
  }

  // "gpu-a mlx5_0 port 1", as the model words it, back to GUIDs.
  void write_start() {
    if (fabric_.seen_from.empty()) return;
    for (std::uint32_t n = 0; n < fabric_.nodes.size(); ++n) {
      const FabricNode& node = fabric_.nodes[n];
      const bool maybe =
          !node.description.empty() && fabric_.seen_from.front().starts_with(trim(node.description));
      if (!maybe) continue;
      for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
        if (describe(fabric_, {n, p}) != fabric_.seen_from.front()) continue;
        put("# Initiated from node {:016x} port {:016x}\n", sheets_[n].guid, node.ports[p].guid);
        return;
      }
    }
  }

  // Only cables on which both ends agree, and whose ports the format can number.
  [[nodiscard]] bool is_written(std::uint32_t n, std::uint32_t p) const {
    const FabricPort& port = fabric_.nodes[n].ports[p];
    if (!port.peer || port.peer->node >= fabric_.nodes.size()) return false;
    const std::vector<FabricPort>& others = fabric_.nodes[port.peer->node].ports;
    if (port.peer->port >= others.size()) return false;
    const FabricPort& other = others[port.peer->port];
    const auto fits = [](std::uint32_t number) { return number >= 1 && number <= kMostPorts; };
    return other.peer == PortRef{n, p} && fits(port.number) && fits(other.number);
  }

  static std::uint32_t ports_of(const FabricNode& node) {
    std::uint32_t most = std::max(node.stated_ports, 1U);
    if (!node.ports.empty()) most = std::max(most, node.ports.back().number);
    return std::min(most, kMostPorts);
  }

  // A switch's LID and GUID are those of its own port 0.
  static std::uint32_t lid_of(const FabricNode& node, FabricNodeKind kind, const FabricPort& port) {
    if (kind != FabricNodeKind::kSwitch) return port.lid ? port.lid->value : 0;
    const FabricPort* const own = find_port(node, 0);
    return own != nullptr && own->lid ? own->lid->value : 0;
  }

  [[nodiscard]] std::uint64_t port_guid(std::uint32_t n, const FabricPort* port) const {
    return port != nullptr && port->guid != 0 ? port->guid : sheets_[n].guid;
  }

  void write_node(std::uint32_t n) {
    const FabricNode& node = fabric_.nodes[n];
    const Sheet& sheet = sheets_[n];
    put("\nvendid=0x{:x}\ndevid=0x{:x}\n", node.vendor, node.device);
    if (node.system_guid != 0) put("sysimgguid=0x{:x}\n", node.system_guid);
    if (sheet.kind == FabricNodeKind::kSwitch) {
      put("switchguid=0x{:x}({:x})\n", sheet.guid, port_guid(n, find_port(node, 0)));
      put("Switch\t{} \"{}\"\t\t# \"{}\" enhanced port 0 lid {} lmc 0\n", ports_of(node), sheet.id,
          sheet.name, lid_of(node, sheet.kind, {}));
    } else {
      const bool router = sheet.kind == FabricNodeKind::kRouter;
      put("{}guid=0x{:x}\n", router ? "rt" : "ca", sheet.guid);
      put("{}\t{} \"{}\"\t\t# \"{}\"\n", router ? "Rt" : "Ca", ports_of(node), sheet.id, sheet.name);
    }
    for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
      if (is_written(n, p)) write_port(n, p);
    }
  }

  void write_port(std::uint32_t n, std::uint32_t p) {
    const FabricNode& node = fabric_.nodes[n];
    const FabricPort& port = node.ports[p];
    const std::uint32_t there = port.peer->node;
    const FabricNode& other = fabric_.nodes[there];
    const FabricPort& other_port = other.ports[port.peer->port];
    const bool is_switch = sheets_[n].kind == FabricNodeKind::kSwitch;
    put("[{}]", port.number);
    if (!is_switch) put("({:x}) ", port_guid(n, &port));
    put("\t\"{}\"[{}]", sheets_[there].id, other_port.number);
    if (sheets_[there].kind != FabricNodeKind::kSwitch) put("({:x}) ", port_guid(there, &other_port));
    put("\t\t# ");
    if (!is_switch) put("lid {} lmc 0 ", lid_of(node, sheets_[n].kind, port));
    put("\"{}\" lid {} {}\n", remark_name(sheets_[there].name),
        lid_of(other, sheets_[there].kind, other_port), rate_word(port));
  }

  // ibnetdiscover's own words for what it does not know.
  static std::string rate_word(const FabricPort& port) {
    const std::string_view speed = name_of(port.speed);
    return fmt::format("{}{}", port.lanes != 0 ? fmt::format("{}x", port.lanes) : "??",
                       speed.empty() ? "???" : speed);
  }

  const model::Fabric& fabric_;
  std::vector<Sheet> sheets_;
  std::string text_;
  bool made_up_ = false;
};

}  // namespace

std::string render_ibnetdiscover(const model::Fabric& fabric) {
  if (fabric.kind == model::FabricKind::kEthernet)
    return "# An Ethernet fabric: ibnetdiscover's form has no words for it.\n";
  return Writer(fabric).write();
}

}  // namespace angio::fabric
