// Files of ibdiagnet 2: the tables NODES, PORTS, LINKS and PM_INFO of ibdiagnet2.db_csv, the cables of
// ibdiagnet2.lst, the counters of ibdiagnet2.pm. Columns are found by their names; tables and columns that
// are not named here are skipped. Layouts are those of ibutils2's sources as Mellanox published them (up to
// 2023) and of files that exporters of metrics read; a table without the columns that it needs says so in a
// note. ibdiagnet2.ibnetdiscover is ibnetdiscover's own form; ibdiagnet2.log has no tables.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "import/fabric/fabric_draft.hpp"
#include "import/lines.hpp"

namespace angio::import::fabric {

bool is_ibdiagnet_line(std::string_view text);
Result<model::Fabric> import_ibdiagnet(const std::vector<Line>& lines, FabricDraft draft);

// Parts of it. Each takes lines of its own form and says whether it knew the line.
class CsvTables {
 public:
  bool take(const Line& line, FabricDraft& draft);
  // A table was open when the text ended.
  [[nodiscard]] bool is_cut() const { return table_ != Table::kNone; }

 private:
  enum class Table : std::uint8_t { kNone, kOther, kNodes, kPorts, kLinks, kPmInfo };
  struct Row;
  static Table table_of(std::string_view name);
  void take_heading(const Line& line, FabricDraft& draft);
  void take_row(const Line& line, FabricDraft& draft);
  void take_node(const Row& row, FabricDraft& draft);
  void take_port(const Row& row, FabricDraft& draft);
  void take_link(const Row& row, FabricDraft& draft);
  void take_counters(const Row& row, FabricDraft& draft);

  Table table_ = Table::kNone;
  bool wants_heading_ = false;
  std::vector<std::string> columns_;  // lower case
};

class PmBlocks {
 public:
  bool take(const Line& line, FabricDraft& draft);
  static bool is_heading(std::string_view text);

 private:
  std::optional<End> current_;
};

bool take_lst_line(const Line& line, FabricDraft& draft);
bool is_lst_line(std::string_view text);

}  // namespace angio::import::fabric
