#include "import/lscpu/table.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace angio::import::lscpu {
namespace {

constexpr std::string_view kRunAgain = "run 'lscpu -p' again and send the whole output";
constexpr std::size_t kMaxColumns = 32;
constexpr std::uint32_t kMaxIdentifier = 1U << 20U;
constexpr std::uint32_t kLastCpu = 8191;  // NR_CPUS of the largest kernels; each row costs several CPU sets

// "0,3,0,1,,35,17": only digits, commas and blanks.
bool is_row(std::string_view text) {
  return !text.empty() && text[0] >= '0' && text[0] <= '9' && contains(text, ",") &&
         text.find_first_not_of("0123456789,-YN:") == std::string_view::npos;
}

model::Cache cache_of(std::string_view column) {
  model::Cache cache;
  cache.level = static_cast<std::uint32_t>(column[1] - '0');
  if (column.ends_with('d')) cache.kind = model::CacheKind::kData;
  if (column.ends_with('i')) cache.kind = model::CacheKind::kInstruction;
  return cache;
}

bool is_cache_column(std::string_view column) {
  return column.size() >= 2 && column.size() <= 3 && column[0] == 'L' && column[1] >= '1' && column[1] <= '9';
}

}  // namespace

bool is_table_header(std::string_view text) {
  return text.starts_with("# CPU,") || text.starts_with("#CPU,");
}

bool Table::take(Draft& draft, const Line& line) {
  if (is_table_header(line.text)) {
    if (!columns_.empty()) {
      further_ = true;
      draft.note("lscpu.further-table", line.number, "a further table of lscpu -p; the first counts",
                 "give one table per file");
      return true;
    }
    line_ = line.number;
    const std::string_view names = trim(line.text.substr(1));
    for (const std::string_view column : split(names, ',')) {
      if (columns_.size() < kMaxColumns) columns_.emplace_back(trim(column));
    }
    return true;
  }
  if (!is_row(line.text)) return false;
  if (columns_.empty()) {
    draft.note("lscpu.table-header-missing", line.number,
               "rows of lscpu -p without the line that names the columns", kRunAgain);
  } else if (!further_) {
    take_row(draft, line, split(trim(line.text), ','));
  }
  return true;
}

void Table::take_row(Draft& draft, const Line& line, const std::vector<std::string_view>& words) {
  std::map<std::string_view, std::uint32_t> row;
  for (std::size_t i = 0; i < columns_.size() && i < words.size(); ++i) {
    const auto number = parse_integer<std::uint32_t>(words[i]);
    if (number && *number < kMaxIdentifier) row.emplace(columns_[i], *number);
  }
  const auto cpu = row.find("CPU");
  if (cpu == row.end() || words.size() < columns_.size()) {
    draft.note(
        "lscpu.row-short", line.number,
        [&] { return fmt::format("a row with {} of {} values", words.size(), columns_.size()); }, kRunAgain);
    if (cpu == row.end()) return;
  }
  if (cpu->second > kLastCpu) {
    draft.note(
        "lscpu.cpu-number", line.number,
        [&] { return fmt::format("CPU {}: no kernel has more than {}", cpu->second, kLastCpu + 1); },
        kRunAgain);
    return;
  }
  if (groups_["CPU"].contains(cpu->second)) {
    draft.note(
        "lscpu.cpu-twice", line.number,
        [&] { return fmt::format("a second row for CPU {}; the first counts", cpu->second); },
        "give one table per file");
    return;
  }
  ++rows_;
  for (const auto& [column, id] : row)
    groups_[std::string(column)][id].insert(cpu->second);
  const auto core = row.find("Core");
  const auto socket = row.find("Socket");
  if (core != row.end() && socket != row.end()) cores_[{socket->second, core->second}].insert(cpu->second);
}

void Table::finish(Draft& draft) {
  if (rows_ == 0) return;
  model::Cpus& cpus = draft.machine.cpus;
  for (const auto& [id, set] : groups_["Socket"])
    cpus.packages.push_back({id, set});
  for (const auto& [key, set] : cores_) {
    model::Core core;
    core.package = key.first;
    core.id = key.second;
    core.cpus = set;
    cpus.cores.push_back(std::move(core));
  }
  std::ranges::stable_sort(cpus.cores, {}, [](const model::Core& core) { return core.cpus.first(); });
  if (cpus.online.empty()) {
    for (const auto& [id, set] : groups_["CPU"])
      cpus.online |= set;
  }
  add_caches(draft);
  if (draft.machine.numa.nodes.empty()) add_nodes(draft);
}

// The labels know sizes, the table knows who shares: both together when the numbers of caches agree.
void Table::add_caches(Draft& draft) {
  auto& caches = draft.machine.cpus.caches;
  std::vector<model::Cache> shared;
  for (const auto& [column, groups] : groups_) {
    if (!is_cache_column(column)) continue;
    model::Cache cache = cache_of(column);
    const auto same = [&](const model::Cache& other) {
      return other.level == cache.level && other.kind == cache.kind;
    };
    const auto labelled = std::ranges::count_if(caches, same);
    if (labelled == 1 || static_cast<std::size_t>(labelled) == groups.size()) {
      cache.size = std::ranges::find_if(caches, same)->size;
    } else if (labelled > 0) {
      draft.note(
          "lscpu.caches-differ", line_,
          [&] {
            return fmt::format("{}: {} caches in the table, {} above it", column, groups.size(), labelled);
          },
          kRunAgain);
    }
    for (const auto& [id, set] : groups) {
      cache.cpus = set;
      shared.push_back(cache);
    }
  }
  if (!shared.empty()) caches = std::move(shared);
  std::ranges::stable_sort(caches, {},
                           [](const model::Cache& c) { return std::pair(c.level, c.cpus.first()); });
}

void Table::add_nodes(Draft& draft) {
  for (const auto& [id, set] : groups_["Node"]) {
    model::NumaNode node;
    node.id = NumaId{id};
    node.cpus = set;
    draft.machine.numa.nodes.push_back(std::move(node));
  }
}

}  // namespace angio::import::lscpu
