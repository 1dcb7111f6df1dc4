#include "knowledge/nccl_topology.hpp"

#include <algorithm>
#include <limits>

#include "knowledge/knowledge.hpp"

namespace angio::knowledge {
namespace {

#include "nccl_topology_tables.inc"

bool covers(const NcclTopologyFigure& figure, std::string_view version) {
  if (!figure.since.empty() && compare_versions(version, figure.since).value_or(-1) < 0) return false;
  return figure.until.empty() || compare_versions(version, figure.until).value_or(1) <= 0;
}

std::string_view text_of(std::string_view name) {
  const NcclTopologyFigure* figure = find_nccl_topology(name, "");
  return figure == nullptr ? std::string_view() : figure->text;
}

}  // namespace

std::span<const NcclTopologyFigure> nccl_topology_figures() {
  return kNcclTopology;
}

const NcclTopologyFigure* find_nccl_topology(std::string_view name, std::string_view version) {
  const auto entries = std::ranges::equal_range(nccl_topology_figures(), name, {}, &NcclTopologyFigure::name);
  const auto found =
      std::ranges::find_if(entries, [&](const NcclTopologyFigure& each) { return covers(each, version); });
  return found == entries.end() ? nullptr : &*found;
}

std::span<const double> nccl_topology_list(std::string_view name, std::string_view version) {
  const NcclTopologyFigure* figure = find_nccl_topology(name, version);
  return figure == nullptr ? std::span<const double>() : figure->values;
}

double nccl_topology_value(std::string_view name, std::string_view version) {
  const std::span<const double> values = nccl_topology_list(name, version);
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : values.front();
}

std::string_view newest_nccl_topology() {
  return text_of("newest-release");
}

std::string_view checked_nccl_topology() {
  return text_of("checked-release");
}

}  // namespace angio::knowledge
