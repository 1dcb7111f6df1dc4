#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/fabric/ibdiagnet.hpp"
#include "import/fabric/link_words.hpp"

namespace angio::import::fabric {
namespace {

// Cells of a row; quotes hold commas together.
std::vector<std::string_view> split_cells(std::string_view text) {
  std::vector<std::string_view> cells;
  while (true) {
    while (text.starts_with(' '))
      text.remove_prefix(1);
    std::size_t end = 0;
    std::string_view cell;
    if (text.starts_with('"')) {
      const std::size_t close = std::min(
          text.find("\",", 1), text.ends_with('"') && text.size() > 1 ? text.size() - 1 : text.size());
      cell = text.substr(1, close - 1);
      end = std::min(text.find(',', std::min(close, text.size())), text.size());
    } else {
      end = std::min(text.find(','), text.size());
      cell = trim(text.substr(0, end));
    }
    cells.push_back(cell);
    if (end >= text.size()) return cells;
    text.remove_prefix(end + 1);
  }
}

// Decimal, or hexadecimal with 0x. "N/A" and the all-but-one pattern are ibdiagnet's "not supported".
std::optional<std::uint64_t> parse_cell(std::string_view cell) {
  constexpr std::uint64_t kNotSupported = ~std::uint64_t{0} - 1;
  const bool hex = cell.starts_with("0x") || cell.starts_with("0X");
  const auto value = parse_integer<std::uint64_t>(cell, hex ? 16 : 10);
  return value && *value != kNotSupported ? value : std::nullopt;
}

constexpr std::uint64_t kSwitchType = 2;  // NodeInfo:NodeType (IBA 14.2.5.3): 1 adapter, 2 switch, 3 router

}  // namespace

struct CsvTables::Row {
  const std::vector<std::string>& columns;
  std::vector<std::string_view> cells;
  std::uint32_t line;

  [[nodiscard]] std::optional<std::string_view> text(std::string_view column) const {
    const auto found = std::ranges::find(columns, column);
    const auto at = static_cast<std::size_t>(found - columns.begin());
    return at < cells.size() ? std::optional(cells[at]) : std::nullopt;
  }
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view column) const {
    const auto cell = text(column);
    return cell ? parse_cell(*cell) : std::nullopt;
  }
  [[nodiscard]] std::uint32_t small(std::string_view column) const {
    const auto value = number(column);
    return value && *value <= ~std::uint32_t{0} ? static_cast<std::uint32_t>(*value) : 0;
  }
  // A GUID is hexadecimal with or without 0x.
  [[nodiscard]] std::uint64_t guid(std::string_view column) const {
    const auto cell = text(column);
    return cell ? parse_integer<std::uint64_t>(*cell, 16).value_or(0) : 0;
  }
  [[nodiscard]] std::optional<std::uint32_t> port(std::string_view column) const {
    const auto value = number(column);
    return value && *value < 256 ? std::optional(static_cast<std::uint32_t>(*value)) : std::nullopt;
  }
};

CsvTables::Table CsvTables::table_of(std::string_view name) {
  if (name == "NODES") return Table::kNodes;
  if (name == "PORTS") return Table::kPorts;
  if (name == "LINKS") return Table::kLinks;
  return name == "PM_INFO" ? Table::kPmInfo : Table::kOther;
}

void CsvTables::take_heading(const Line& line, FabricDraft& draft) {
  columns_.clear();
  for (const std::string_view cell : split_cells(trim(line.text)))
    columns_.push_back(to_lower(trim(cell)));
  wants_heading_ = false;
  const std::string_view needed = table_ == Table::kLinks ? "nodeguid1" : "nodeguid";
  if (std::ranges::find(columns_, needed) != columns_.end()) return;
  draft.note(
      "fabric.unknown-layout", line.number,
      [&] {
        return fmt::format("the table has no column {}", table_ == Table::kLinks ? "NodeGuid1" : "NodeGUID");
      },
      "known are the layouts of ibdiagnet 2 up to its sources of 2023; give ibdiagnet2.ibnetdiscover "
      "instead");
}

bool CsvTables::take(const Line& line, FabricDraft& draft) {
  const std::string_view text = trim(line.text);
  if (text.starts_with("START_")) {
    table_ = table_of(text.substr(6));
    wants_heading_ = true;
    return true;
  }
  if (text.starts_with("END_")) {
    table_ = Table::kNone;
    return true;
  }
  if (table_ == Table::kNone) return false;
  if (table_ == Table::kOther) return true;
  if (wants_heading_) {
    take_heading(line, draft);
  } else {
    take_row(line, draft);
  }
  return true;
}

void CsvTables::take_row(const Line& line, FabricDraft& draft) {
  const Row row{columns_, split_cells(trim(line.text)), line.number};
  if (row.cells.size() != columns_.size()) {
    draft.note(
        "fabric.odd-row", line.number,
        [&] {
          return fmt::format("the row has {} cells, its table {} columns", row.cells.size(), columns_.size());
        },
        "copy ibdiagnet2.db_csv again");
  }
  if (table_ == Table::kNodes) take_node(row, draft);
  if (table_ == Table::kPorts) take_port(row, draft);
  if (table_ == Table::kLinks) take_link(row, draft);
  if (table_ == Table::kPmInfo) take_counters(row, draft);
}

void CsvTables::take_node(const Row& row, FabricDraft& draft) {
  const std::uint64_t guid = row.guid("nodeguid");
  const auto index = guid != 0 ? draft.node_of_guid(guid, row.line) : std::nullopt;
  if (!index) {
    draft.note(
        "fabric.no-guid", row.line,
        [&] { return "a node without a readable GUID: " + quoted(row.cells.front()); },
        "copy ibdiagnet2.db_csv again");
    return;
  }
  model::FabricNode& node = draft.node(*index);
  draft.set_own_block(*index);
  const std::uint32_t type = row.small("nodetype");
  if (type >= 1 && type <= 3) node.kind = static_cast<model::FabricNodeKind>(type);
  if (const auto name = row.text("nodedesc")) node.description = clean_name(*name);
  node.stated_ports = row.small("numports");
  node.system_guid = row.guid("systemimageguid");
  node.vendor = row.small("vendorid");
  node.device = row.small("deviceid");
  node.revision = row.small("revision");
  const std::uint64_t port_guid = row.guid("portguid");
  draft.claim_port_guid(*index, port_guid);
  if (type != kSwitchType) return;
  if (model::FabricPort* const own = draft.port({*index, 0}, row.line)) own->guid = port_guid;
}

void CsvTables::take_port(const Row& row, FabricDraft& draft) {
  const std::uint64_t guid = row.guid("nodeguid");
  const auto number = row.port("portnum");
  const auto index = guid != 0 && number ? draft.node_of_guid(guid, row.line) : std::nullopt;
  if (!index) {
    draft.note("fabric.no-guid", row.line, "a port without a readable GUID or number",
               "copy ibdiagnet2.db_csv again");
    return;
  }
  model::FabricPort* const port = draft.port({*index, *number}, row.line);
  if (port == nullptr) return;
  port->guid = row.guid("portguid");
  draft.claim_port_guid(*index, port->guid);
  if (const auto lid = row.number("lid")) port->lid = to_lid(*lid);
  if (const auto lid = row.number("msmlid")) port->sm_lid = to_lid(*lid);
  port->state = state_of_code(row.small("portstate"));
  port->physical_state = physical_state_of_code(row.small("portphystate"));
  port->most_lanes = widest_of_bits(row.small("linkwidthsup"));
  port->most_speed = fastest_of_bits(row.small("linkspeedsup"));
  port->enabled_lanes = widest_of_bits(row.small("linkwidthen"));
  port->enabled_speed = fastest_of_bits(row.small("linkspeeden"));
  port->mtu = mtu_of_code(row.small("nmtu"));
  // A port that is down may report anything for its link (IBA C14-24.2.1).
  if (port->state == model::PortState::kDown) return;
  port->lanes = widest_of_bits(row.small("linkwidthactv"));
  port->speed = fastest_of_bits(row.small("linkspeedactv"));
}

void CsvTables::take_link(const Row& row, FabricDraft& draft) {
  const std::uint64_t first = row.guid("nodeguid1");
  const std::uint64_t second = row.guid("nodeguid2");
  const auto first_port = row.port("portnum1");
  const auto second_port = row.port("portnum2");
  if (first == 0 || second == 0 || !first_port || !second_port) {
    draft.note("fabric.cut-link", row.line, "a cable whose ends cannot be read",
               "copy ibdiagnet2.db_csv again");
    return;
  }
  const auto a = draft.node_of_guid(first, row.line);
  const auto b = draft.node_of_guid(second, row.line);
  if (!a || !b) return;
  draft.link({*a, *first_port}, {*b, *second_port}, row.line);
  draft.link({*b, *second_port}, {*a, *first_port}, row.line);  // the table has each cable once
}

// The wide columns ("…Ext", "…Extended") stand behind the narrow ones and win.
void CsvTables::take_counters(const Row& row, FabricDraft& draft) {
  const std::uint64_t guid = row.guid("nodeguid");
  const auto named = row.port("portnumber");
  const auto number = named ? named : row.port("portnum");
  const auto index = guid != 0 && number ? draft.node_of_guid(guid, row.line) : std::nullopt;
  model::FabricPort* const port = index ? draft.port({*index, *number}, row.line) : nullptr;
  if (port == nullptr) {
    draft.note("fabric.no-guid", row.line, "counters without a readable GUID or port",
               "copy ibdiagnet2.db_csv again");
    return;
  }
  for (const bool wide : {false, true}) {
    for (std::size_t i = 0; i < std::min(columns_.size(), row.cells.size()); ++i) {
      const std::string& column = columns_[i];
      if ((column.ends_with("ext") || column.ends_with("extended")) != wide) continue;
      const auto counter = model::find_fabric_counter(column);
      const auto value = counter ? parse_cell(row.cells[i]) : std::nullopt;
      if (value) set_counter(port->counters, *counter, *value, !wide);
    }
  }
}

}  // namespace angio::import::fabric
