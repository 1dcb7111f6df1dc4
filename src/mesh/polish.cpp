#include "mesh/polish.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

namespace angio::mesh {
namespace {

constexpr double kNormal = 1.4826;        // 1 / the 75 % quantile of the normal distribution
constexpr double kFinestScatter = 0.005;  // figures are printed with three to four digits

double middle(std::vector<double>& values) {
  if (values.empty()) return 0;
  const auto half = static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, values.begin() + half);
  const double upper = values[static_cast<std::size_t>(half)];
  if (values.size() % 2 == 1) return upper;
  return (upper + *std::max_element(values.begin(), values.begin() + half)) / 2;
}

// Cells by one of their ends.
using Lists = std::vector<std::vector<std::uint32_t>>;

Lists lists_of(const std::vector<Cell>& cells, std::uint32_t ends, bool by_sender) {
  Lists lists(ends);
  for (std::uint32_t i = 0; i < cells.size(); ++i)
    lists[by_sender ? cells[i].from : cells[i].to].push_back(i);
  return lists;
}

// Moves the median of each list from the residuals into its effect; returns the largest move.
double sweep(const Lists& lists, std::vector<double>& effects, std::vector<double>& residuals) {
  double most = 0;
  std::vector<double> values;
  for (std::size_t end = 0; end < lists.size(); ++end) {
    if (lists[end].empty()) continue;
    values.clear();
    for (const std::uint32_t cell : lists[end])
      values.push_back(residuals[cell]);
    const double move = middle(values);
    effects[end] += move;
    for (const std::uint32_t cell : lists[end])
      residuals[cell] -= move;
    most = std::max(most, std::abs(move));
  }
  return most;
}

// The usual end has no effect: what all have in common belongs to the whole.
void centre(const Lists& lists, std::vector<double>& effects, double& overall) {
  std::vector<double> values;
  for (std::size_t end = 0; end < lists.size(); ++end) {
    if (!lists[end].empty()) values.push_back(effects[end]);
  }
  const double common = middle(values);
  overall += common;
  for (std::size_t end = 0; end < lists.size(); ++end) {
    if (!lists[end].empty()) effects[end] -= common;
  }
}

// Medians go through cells: about as many residuals as there are effects are zero by that, and say nothing.
double scatter_of(const std::vector<double>& residuals, std::size_t effects) {
  std::vector<double> sizes;
  for (const double residual : residuals)
    sizes.push_back(std::abs(residual));
  std::ranges::sort(sizes);
  const std::size_t fitted = std::min(effects == 0 ? 0 : effects - 1, sizes.empty() ? 0 : sizes.size() - 1);
  sizes.erase(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(fitted));
  // A median of few is a poor guess, too small as often as too large.
  const auto left = static_cast<double>(std::max<std::size_t>(1, sizes.size()));
  const double of_few = 1 + 2 / (left * left);
  return kNormal * of_few * middle(sizes);
}

struct Edge {
  std::uint32_t a, b;
  double value;
};

// Both directions as one: the slower counts.
std::vector<Edge> edges_of(const std::vector<Cell>& cells) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> slower;
  for (const Cell& cell : cells) {
    const auto key = std::minmax(cell.from, cell.to);
    const auto [place, is_new] = slower.try_emplace({key.first, key.second}, cell.value);
    if (!is_new) place->second = std::min(place->second, cell.value);
  }
  std::vector<Edge> edges;
  for (const auto& [ends, value] : slower)
    edges.push_back({ends.first, ends.second, value});
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) { return a.value > b.value; });
  return edges;
}

class Unions {
 public:
  explicit Unions(std::uint32_t count) : parents_(count) { std::iota(parents_.begin(), parents_.end(), 0U); }
  std::uint32_t root(std::uint32_t one) {
    while (parents_[one] != one)
      one = parents_[one] = parents_[parents_[one]];
    return one;
  }
  bool join(std::uint32_t a, std::uint32_t b) {
    a = root(a);
    b = root(b);
    parents_[a] = b;
    return a != b;
  }

 private:
  std::vector<std::uint32_t> parents_;
};

// The value below which the strongest connections that hold all together fall off most; none: nowhere by
// much.
std::optional<double> widest_gap(const std::vector<Edge>& edges, std::uint32_t ends, double least) {
  Unions joined(ends);
  std::vector<double> tree;
  for (const Edge& edge : edges) {
    if (joined.join(edge.a, edge.b)) tree.push_back(edge.value);
  }
  std::optional<double> cut;
  double widest = least;
  for (std::size_t i = 1; i < tree.size(); ++i) {
    if (tree[i - 1] - tree[i] < widest) continue;
    widest = tree[i - 1] - tree[i];
    cut = (tree[i - 1] + tree[i]) / 2;
  }
  return cut;
}

// Groups of two and more of what is connected above the cut.
Groups split_at(const std::vector<Edge>& edges, std::uint32_t ends, double cut) {
  Unions joined(ends);
  for (const Edge& edge : edges) {
    if (edge.value > cut) (void)joined.join(edge.a, edge.b);
  }
  std::map<std::uint32_t, std::uint32_t> sizes;
  for (std::uint32_t end = 0; end < ends; ++end)
    ++sizes[joined.root(end)];
  Groups groups;
  std::map<std::uint32_t, std::uint32_t> numbers;
  for (std::uint32_t end = 0; end < ends; ++end) {
    const std::uint32_t root = joined.root(end);
    if (sizes[root] < 2) {
      groups.group_of.push_back(kAlone);
      continue;
    }
    const auto [place, is_new] = numbers.try_emplace(root, groups.count);
    if (is_new) ++groups.count;
    groups.group_of.push_back(place->second);
  }
  return groups;
}

// Whether nearly all cells between the groups are below those within; fills both medians.
bool are_apart(const std::vector<Cell>& cells, double least, double factor, Groups& groups) {
  std::vector<double> within;
  std::vector<double> between;
  for (const Cell& cell : cells) {
    const std::uint32_t a = groups.group_of[cell.from];
    if (a != kAlone && a == groups.group_of[cell.to]) within.push_back(cell.value);
    if (groups.is_between(cell)) between.push_back(cell.value);
  }
  if (within.size() < 2 || between.size() < 2) return false;
  groups.within = median_of(within);
  groups.between = median_of(between);
  const double scatter = std::max({spread_of(within), spread_of(between), kFinestScatter});
  const double apart = groups.within - groups.between;
  if (apart < least || apart < factor * scatter) return false;
  const double half = groups.between + apart / 2;
  const auto low = std::ranges::count_if(between, [half](double value) { return value < half; });
  constexpr double kNearlyAll = 0.9;
  return static_cast<double>(low) >= kNearlyAll * static_cast<double>(between.size());
}

}  // namespace

bool Groups::is_between(const Cell& cell) const {
  const std::uint32_t a = group_of[cell.from];
  const std::uint32_t b = group_of[cell.to];
  return a != kAlone && b != kAlone && a != b && (!sender || a == *sender);
}

double median_of(std::vector<double> values) {
  return middle(values);
}

double spread_of(const std::vector<double>& values) {
  const double centre = median_of(values);
  std::vector<double> distances;
  for (const double value : values)
    distances.push_back(std::abs(value - centre));
  return kNormal * middle(distances);
}

Polish polish(const std::vector<Cell>& cells, std::uint32_t ends) {
  Polish result;
  result.out.resize(ends);
  result.in.resize(ends);
  for (const Cell& cell : cells)
    result.residuals.push_back(cell.value);
  const Lists senders = lists_of(cells, ends, true);
  const Lists receivers = lists_of(cells, ends, false);
  constexpr int kMostSweeps = 60;
  constexpr double kStill = 1e-7;
  for (int i = 0; i < kMostSweeps; ++i) {
    const double most =
        std::max(sweep(senders, result.out, result.residuals), sweep(receivers, result.in, result.residuals));
    if (most < kStill) break;
  }
  centre(senders, result.out, result.overall);
  centre(receivers, result.in, result.overall);
  std::size_t effects = 0;
  for (std::uint32_t end = 0; end < ends; ++end) {
    result.out_cells.push_back(static_cast<std::uint32_t>(senders[end].size()));
    result.in_cells.push_back(static_cast<std::uint32_t>(receivers[end].size()));
    effects += (senders[end].empty() ? 0U : 1U) + (receivers[end].empty() ? 0U : 1U);
  }
  result.scatter = std::max(kFinestScatter, scatter_of(result.residuals, effects));
  return result;
}

std::optional<Groups> find_groups(const std::vector<Cell>& cells, std::uint32_t ends, double least,
                                  double factor) {
  const std::vector<Edge> edges = edges_of(cells);
  const auto cut = widest_gap(edges, ends, least);
  if (!cut) return std::nullopt;
  Groups groups = split_at(edges, ends, *cut);
  if (groups.count < 2) return std::nullopt;
  if (are_apart(cells, least, factor, groups)) return groups;
  // A trunk may lose one of its directions alone. Half as many cells are less proof: only for two larger
  // groups.
  constexpr std::ptrdiff_t kLeastHosts = 3;
  for (std::uint32_t group = 0; group < groups.count; ++group) {
    if (groups.count != 2 || std::ranges::count(groups.group_of, group) < kLeastHosts) return std::nullopt;
  }
  for (std::uint32_t sender = 0; sender < groups.count; ++sender) {
    groups.sender = sender;
    if (are_apart(cells, least, factor, groups)) return groups;
  }
  return std::nullopt;
}

}  // namespace angio::mesh
