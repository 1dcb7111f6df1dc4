// The columns behind the cells of `nvidia-smi topo -m`: CPU Affinity, NUMA Affinity, GPU NUMA ID.
#pragma once

#include <optional>
#include <string_view>

#include "import/smi_topo/matrix.hpp"

namespace angio::import::smi_topo {

// Empty: the table has the column but no word for it. None: no such column.
struct Affinity {
  std::optional<std::string_view> cpus;
  std::optional<std::string_view> numa;
  std::optional<std::string_view> gpu_numa;
  bool ambiguous = false;  // fewer words than columns and nothing tells which is missing
  std::string_view surplus;
};

Affinity split_affinity(const Matrix& matrix, const MatrixRow& row);

}  // namespace angio::import::smi_topo
