// The tables that `nvidia-smi topo -m` and `topo -p2p` print, as words: which devices, which cells, what
// stood behind them. Takes pasted text: wrapped, cut, prefixed, several tables. Gives no meaning to a word.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/lines.hpp"

namespace angio::import::smi_topo {

// Bound for hostile text: of the columns, and of the devices of a table with rows that have no column.
inline constexpr std::size_t kMaxDevices = 256;

struct MatrixRow {
  std::string_view label;
  std::uint32_t line = 0;
  std::vector<std::string_view> cells;  // at most as many as the header names
  std::string_view rest;                // behind the cells, blanks and tabs kept
};

struct Matrix {
  std::uint32_t line = 0;                 // of the header
  std::string_view command;               // "nvidia-smi topo -p2p r", when the text shows it
  std::vector<std::string_view> devices;  // of the header
  std::vector<std::string_view> columns;  // "CPU Affinity", …
  std::vector<MatrixRow> rows;
  std::size_t too_many_devices = 0;
};

struct MatrixText {
  std::vector<Matrix> matrices;
  std::vector<std::uint32_t> further;                      // headers of tables beyond the first few: lines
  std::map<std::string_view, std::string_view> nic_names;  // "NIC0" → "mlx5_0"
  std::vector<Line> not_understood;
  std::vector<std::uint32_t> joined;  // lines that continue the line above
};

bool is_gpu_label(std::string_view word);  // "GPU12"
bool is_nic_label(std::string_view word);  // "NIC3"
bool is_path_word(std::string_view word);  // "NV18", "PIX", "SOC"
bool is_p2p_word(std::string_view word);   // "OK", "CNS", "NS"
bool is_header(std::string_view line);     // a line that opens a table

MatrixText read_matrices(const std::vector<Line>& lines);

}  // namespace angio::import::smi_topo
