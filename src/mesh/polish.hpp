// Robust statistics of a table of who reaches what with whom: what belongs to the sender, what to the
// receiver, and what is left for the pair. In logarithms, so that a share is a difference. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace angio::mesh {

struct Cell {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  double value = 0;  // logarithm
};

// Tukey's median polish of a table with holes: value = overall + out + in + residual, where a few wild cells
// move nothing.
struct Polish {
  double overall = 0;
  std::vector<double> out, in;                     // by sender, by receiver
  std::vector<std::uint32_t> out_cells, in_cells;  // how many there were
  std::vector<double> residuals;                   // by cell
  double scatter = 0;                              // robust standard deviation of the residuals
};
Polish polish(const std::vector<Cell>& cells, std::uint32_t ends);

// Ends that reach each other and not the others: single linkage at the widest gap. None: there are no two
// groups of two or more with less between them by at least `least`, and by `factor` times the scatter.
struct Groups {
  std::vector<std::uint32_t> group_of;  // by end; kAlone: in none
  std::uint32_t count = 0;
  double within = 0;  // median logarithm
  double between = 0;
  // The group that sends slowly to the others, where the way back is as usual; none: both ways.
  std::optional<std::uint32_t> sender;
  [[nodiscard]] bool is_between(const Cell& cell) const;
};
inline constexpr std::uint32_t kAlone = ~0U;
std::optional<Groups> find_groups(const std::vector<Cell>& cells, std::uint32_t ends, double least,
                                  double factor);

double median_of(std::vector<double> values);  // 0 of none
// 1.4826 times the median absolute deviation: the standard deviation, where it is normal.
double spread_of(const std::vector<double>& values);

}  // namespace angio::mesh
