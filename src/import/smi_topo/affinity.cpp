#include "import/smi_topo/affinity.hpp"

#include "base/text.hpp"

namespace angio::import::smi_topo {
namespace {

std::optional<std::string_view>* field_of(Affinity& affinity, std::string_view column) {
  if (column == "CPU Affinity") return &affinity.cpus;
  return column == "NUMA Affinity" ? &affinity.numa : &affinity.gpu_numa;
}

// Tabs keep empty fields apart. nvidia-smi itself puts two tabs before the last column.
std::vector<std::string_view> fields_by_tab(std::string_view rest, std::size_t columns) {
  std::vector<std::string_view> fields;
  for (const std::string_view field : split(rest, '\t'))
    fields.push_back(trim(field));
  fields.erase(fields.begin());  // before the first tab stands nothing
  if (columns == 3 && fields.size() > 3 && fields[2].empty()) fields.erase(fields.begin() + 2);
  while (fields.size() > columns && fields.back().empty())
    fields.pop_back();
  return fields;
}

}  // namespace

Affinity split_affinity(const Matrix& matrix, const MatrixRow& row) {
  Affinity affinity;
  const std::size_t columns = matrix.columns.size();
  const bool tabs = row.rest.starts_with('\t') && contains(row.rest, "\t");
  const auto fields = tabs ? fields_by_tab(row.rest, columns) : split_words(row.rest);
  affinity.ambiguous = !tabs && !fields.empty() && fields.size() < columns;
  for (std::size_t i = 0; i < columns; ++i) {
    const bool readable = i < fields.size() && !affinity.ambiguous;
    *field_of(affinity, matrix.columns[i]) = readable ? fields[i] : std::string_view();
  }
  if (fields.size() > columns) affinity.surplus = fields[columns];
  return affinity;
}

}  // namespace angio::import::smi_topo
