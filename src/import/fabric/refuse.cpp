#include "import/fabric/refuse.hpp"

#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "import/known_text.hpp"

namespace angio::import::fabric {
namespace {

struct Look {
  std::string_view sign;
  std::string_view what;
  std::string_view instead;
};

constexpr std::string_view kScan =
    "run ibnetdiscover > fabric.txt on a node of the fabric, as root, or angio fabric scan";
constexpr std::string_view kHost =
    "it is about one host's adapters: angio doctor reads those; for cables run ibnetdiscover";

// Texts of the same field without topology, by words that stand in them. The first match counts.
constexpr std::array kLooks = {
    Look{"# Topology file: generated on", "ibnetdiscover that ended after its first lines",
         "run it again as root; is a subnet manager running, and the cable in?"},
    Look{"CA type:", "ibstat", kHost},
    Look{"Base lid:", "ibstat", kHost},
    Look{"Infiniband device '", "ibstatus", kHost},
    Look{"hca_id:", "ibv_devinfo", kHost},
    Look{"VM_hostname ", "a list of GUIDs by host", kScan},
    Look{"PSU0 status", "ibswinfo (power, fans and firmware of one switch)", kScan},
    Look{"# Port info:", "smpquery portinfo or ibportstate of one port",
         "iblinkinfo has the states of all ports; give it with ibnetdiscover"},
    Look{"# Node info:", "smpquery nodeinfo of one node", kScan},
    Look{"LinkState:....", "ibportstate of one port",
         "iblinkinfo has the states of all ports; give it with ibnetdiscover"},
    Look{"PortSelect:....", "perfquery without its first line, which names the port",
         "give it whole: # Port counters: Lid 5 port 1"},
    Look{"ibdiagnet", "a log of ibdiagnet", "give /var/tmp/ibdiagnet2/ibdiagnet2.db_csv"},
    Look{"<lldp ", "lldpctl -f xml", "run lldpctl -f json"},
    Look{"LLDP neighbors:", "lldpctl in its form for people", "run lldpctl -f json"},
    Look{".chassis.mac=", "lldpctl -f keyvalue", "run lldpctl -f json"},
    Look{"iberror: failed:", "an error of infiniband-diags: no fabric was read",
         "run it as root, on a host whose port is up"},
    Look{"ibpanic:", "an error of infiniband-diags: no fabric was read",
         "run it as root, on a host whose port is up"},
    Look{"#bytes", "a result of perftest", kScan},
};

// ibhosts, ibswitches and ibnetdiscover --list: "Ca	: 0x… ports 1 "gpu-a mlx5_0"".
bool is_node_list(std::string_view bytes) {
  const std::size_t at = bytes.find(" ports ");
  if (at == std::string_view::npos) return false;
  const std::string_view before = bytes.substr(at > 40 ? at - 40 : 0, at > 40 ? 40 : at);
  return contains(before, ": 0x") && bytes.find("==(") == std::string_view::npos;
}

struct Answer {
  std::string what;
  std::string_view instead = kScan;
};

Answer looks_like(std::string_view bytes) {
  if (is_node_list(bytes))
    return {": it looks like a list of nodes (ibhosts, ibswitches), which has no cables"};
  for (const Look& look : kLooks) {
    if (contains(bytes, look.sign)) return {fmt::format(": it looks like {}", look.what), look.instead};
  }
  const std::string_view text = trim(bytes);
  if (text.starts_with('{') || text.starts_with('['))
    return {": it is JSON, but neither angio's fabric nor lldpctl -f json"};
  return {"",
          "known are angio fabric scan --format json, ibnetdiscover (also --ports), ibsim's net files, "
          "iblinkinfo, ibqueryerrors, perfquery, ibdiagnet2.db_csv, .lst and .pm, and lldpctl -f json"};
}

}  // namespace

Error refuse_text(std::string_view bytes, const std::string& name) {
  const std::string file = printable(name);
  const bool packed = bytes.starts_with("\x1F\x8B") || bytes.starts_with("PK\x03\x04") ||
                      bytes.starts_with("BZh") || bytes.starts_with("\x28\xB5\x2F\xFD");
  if (packed || trim(bytes).empty() || is_binary(bytes)) {
    Error error = refuse_unknown(bytes, name);
    if (!packed) error.hint = std::string(kScan);
    if (trim(bytes).empty()) return error;
    if (!packed) error.message = file + ": it is a binary file";
    return error;
  }
  const Answer answer = looks_like(bytes);
  return {ErrorCode::kInvalidInput,
          fmt::format("{}: not a text that describes a fabric{}", file, answer.what),
          std::string(answer.instead)};
}

}  // namespace angio::import::fabric
