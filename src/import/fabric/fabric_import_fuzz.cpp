// Any text: what was read holds together (ports in order, peers that point back), and laid over itself it
// loses nothing.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "import/fabric/fabric_import.hpp"
#include "import/fabric/overlay.hpp"

namespace {

using angio::model::Fabric;
using angio::model::FabricNode;
using angio::model::FabricPort;
using angio::model::PortRef;

void require(bool holds) {
  if (!holds) std::abort();
}

std::size_t check(const Fabric& fabric) {
  std::size_t ends = 0;
  for (std::uint32_t n = 0; n < fabric.nodes.size(); ++n) {
    const FabricNode& node = fabric.nodes[n];
    for (std::uint32_t p = 0; p < node.ports.size(); ++p) {
      if (p > 0) require(node.ports[p - 1].number < node.ports[p].number);
      if (!node.ports[p].peer) continue;
      const PortRef peer = *node.ports[p].peer;
      require(peer.node < fabric.nodes.size() && peer.port < fabric.nodes[peer.node].ports.size());
      require(port_at(fabric, peer).peer == PortRef{n, p});
      ++ends;
    }
  }
  return ends;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto fabric = angio::import::import_fabric(bytes, "fuzz");
  if (!fabric) return 0;
  const std::size_t ends = check(*fabric);
  const Fabric again = angio::import::fabric::lay_over(*fabric, *fabric, "fuzz");
  require(again.nodes.size() == fabric->nodes.size());
  require(check(again) >= ends);
  return 0;
}
