// Any text: what was read of it is the same after Angio's own JSON, and has the same nodes and cables after
// ibnetdiscover's text.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "fabric/fabric.hpp"
#include "fabric/same_fabric.hpp"
#include "import/fabric/fabric_import.hpp"
#include "views/fabric_json.hpp"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// Nodes of one GUID each, all with one: what the text can name without making GUIDs up.
bool has_guids(const angio::model::Fabric& fabric) {
  const auto guids = angio::test::nodes_of(fabric);
  return guids.size() == fabric.nodes.size() && !guids.contains("0x0000000000000000");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto fabric = angio::import::import_fabric(bytes, "fuzz");
  if (!fabric) return 0;
  const std::string json = to_text(angio::views::fabric_json(*fabric, {}), -1);
  const auto again = angio::import::import_fabric(json, "fuzz");
  require(again.has_value() && angio::test::difference(*fabric, *again).empty());
  // Our own JSON may say more than a text can: seven lanes, port 300.
  const bool is_json = angio::import::recognise_fabric(bytes) == angio::import::FabricText::kAngioFabric;
  if (is_json || fabric->kind == angio::model::FabricKind::kEthernet || !has_guids(*fabric)) return 0;
  const auto text = angio::import::import_fabric(angio::fabric::render_ibnetdiscover(*fabric), "fuzz");
  require(text.has_value());
  require(angio::test::nodes_of(*fabric) == angio::test::nodes_of(*text));
  require(angio::test::cables_of(*fabric) == angio::test::cables_of(*text));
  return 0;
}
