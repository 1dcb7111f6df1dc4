#include "import/fabric/ibdiagnet.hpp"

#include <algorithm>
#include <array>

#include "base/text.hpp"

namespace angio::import::fabric {
namespace {

// A switch's external ports have no GUID and no LID of their own; which nodes are switches is known at the
// end.
void clear_switch_ports(model::Fabric& fabric) {
  for (model::FabricNode& node : fabric.nodes) {
    if (node.kind != model::FabricNodeKind::kSwitch) continue;
    for (model::FabricPort& port : node.ports) {
      if (port.number == 0) continue;
      port.guid = 0;
      port.lid.reset();
    }
  }
}

}  // namespace

bool is_ibdiagnet_line(std::string_view text) {
  constexpr std::array<std::string_view, 4> kTables = {"START_NODES", "START_PORTS", "START_LINKS",
                                                       "START_PM_INFO"};
  const std::string_view line = trim(text);
  return std::ranges::find(kTables, line) != kTables.end() || is_lst_line(text) || PmBlocks::is_heading(text);
}

Result<model::Fabric> import_ibdiagnet(const std::vector<Line>& lines, FabricDraft draft) {
  CsvTables tables;
  PmBlocks blocks;
  for (const Line& line : lines) {
    if (line.text.empty() || line.text.starts_with('#')) continue;
    const bool known = tables.take(line, draft) || blocks.take(line, draft) || take_lst_line(line, draft);
    if (!known && !line.text.starts_with("----")) draft.note_unknown_line(line.number, line.text);
  }
  if (tables.is_cut()) {
    draft.note("fabric.cut-table", lines.back().number, "the text ends inside a table: the rest is missing",
               "copy the whole ibdiagnet2.db_csv");
  }
  const bool counters_only = std::ranges::none_of(draft.fabric.nodes, [](const model::FabricNode& node) {
    return node.kind != model::FabricNodeKind::kUnknown;
  });
  if (counters_only && !draft.fabric.nodes.empty()) {
    draft.note("fabric.no-cables", 0, "this file of ibdiagnet tells counters, not cables",
               "give ibdiagnet2.db_csv, or ibnetdiscover with it");
  }
  clear_switch_ports(draft.fabric);
  return std::move(draft).finish(
      "tables such as START_NODES, cables of ibdiagnet2.lst or blocks of ibdiagnet2.pm",
      "give ibdiagnet2.db_csv of /var/tmp/ibdiagnet2");
}

}  // namespace angio::import::fabric
