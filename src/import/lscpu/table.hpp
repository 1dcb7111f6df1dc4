// The table of `lscpu -p`: "# CPU,Core,Socket,Node,,L1d,L1i,L2,L3" and one line per CPU.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "import/draft.hpp"
#include "import/lines.hpp"

namespace angio::import::lscpu {

bool is_table_header(std::string_view text);

class Table {
 public:
  // False when the line belongs to no table. The first table counts, further ones are noted.
  bool take(Draft& draft, const Line& line);
  // Packages, cores and the CPU sets of caches; NUMA nodes and online CPUs unless the labels told them.
  void finish(Draft& draft);
  [[nodiscard]] bool empty() const { return rows_ == 0; }

 private:
  void take_row(Draft& draft, const Line& line, const std::vector<std::string_view>& words);
  void add_caches(Draft& draft);
  void add_nodes(Draft& draft);

  std::vector<std::string> columns_;
  std::map<std::string, std::map<std::uint32_t, CpuSet>, std::less<>> groups_;  // column → id → CPUs
  std::map<std::pair<std::uint32_t, std::uint32_t>, CpuSet> cores_;             // package, core → CPUs
  std::uint32_t line_ = 0;
  std::size_t rows_ = 0;
  bool further_ = false;
};

}  // namespace angio::import::lscpu
