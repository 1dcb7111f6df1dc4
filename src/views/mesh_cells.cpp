#include "views/mesh_cells.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"

namespace angio::views {
namespace {

using model::MeshMeasure;
using model::MeshResult;
using model::MeshTransport;

std::optional<double> middle(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, half);
  return *half;
}

// Three digits: 0.941, 9.41, 94.1, 392.
std::string three_digits(double value) {
  return fmt::format("{:.{}f}", value, value >= 100 ? 0 : value >= 10 ? 1 : value >= 1 ? 2 : 3);
}

std::string end_name(const MeshResult& result, const MeshMeasure& measure, bool from) {
  const std::uint32_t host = from ? measure.from : measure.to;
  const std::uint32_t nic = from ? measure.from_nic : measure.to_nic;
  const model::MeshHost& owner = result.hosts[host];
  const auto& nics = measure.transport == MeshTransport::kTcp ? owner.tcp : owner.rdma;
  const std::string name = nic < nics.size() ? nics[nic].name : std::string();
  return owner.name + (name.empty() ? "" : " " + name);
}

}  // namespace

MeshGrid::MeshGrid(const MeshResult& result, const model::MeshReport& report, MeshTransport transport,
                   std::optional<std::uint32_t> rail)
    : hosts_(result.hosts.size() <= kMostGridHosts ? static_cast<std::uint32_t>(result.hosts.size()) : 0),
      transport_(transport),
      rail_(rail),
      cells_(std::size_t{hosts_} * hosts_) {
  bool any_rate = false;
  bool all_expected = transport == MeshTransport::kRdma;
  for (const MeshMeasure& measure : result.measures) {
    if (measure.transport != transport) continue;
    any_rate = any_rate || measure.bandwidth;
    if (measure.bandwidth && !measure.expected) all_expected = false;
  }
  latency_ = !any_rate;
  double reference = 0;
  for (const model::MeshUsual& usual : report.usual) {
    if (usual.transport != transport || usual.rail != rail) continue;
    reference = latency_ ? usual.latency_us.value_or(0) : usual.median.value;
  }
  reference_ = all_expected && !latency_ ? std::string("what the ports and PCIe allow")
               : latency_                ? fmt::format("the median, {:.1f} us", reference)
                                         : "the median, " + in_words(BitsPerSecond{reference});
  for (const MeshMeasure& measure : result.measures) {
    if (measure.transport != transport || measure.state == model::MeshState::kMissing) continue;
    if (rail && (measure.from_nic != *rail || measure.to_nic != *rail)) continue;
    if (measure.from < hosts_ && measure.to < hosts_) put(measure, reference, all_expected);
  }
}

void MeshGrid::put(const MeshMeasure& measure, double reference, bool against_expected) {
  ++measured_;
  MeshCell cell{&measure, {}};
  if (latency_) {
    if (measure.latency_us && *measure.latency_us > 0 && reference > 0)
      cell.share = reference / *measure.latency_us;
  } else if (measure.bandwidth) {
    const double whole = against_expected && measure.expected ? measure.expected->value : reference;
    if (whole > 0) cell.share = measure.bandwidth->value / whole;
  }
  MeshCell& place = cells_[std::size_t{measure.from} * hosts_ + measure.to];
  // What failed is worse than what is slow.
  const auto badness = [](const MeshCell& one) {
    if (one.measure == nullptr) return -1.0;
    if (one.measure->state == model::MeshState::kFailed) return 1e9;
    return one.share ? 1e6 - *one.share : 0.0;
  };
  if (badness(cell) > badness(place)) place = cell;
}

std::optional<double> MeshGrid::sent(std::uint32_t host) const {
  std::vector<double> shares;
  for (std::uint32_t to = 0; to < hosts_; ++to) {
    if (at(host, to).share) shares.push_back(*at(host, to).share);
  }
  return middle(std::move(shares));
}

std::optional<double> MeshGrid::received(std::uint32_t host) const {
  std::vector<double> shares;
  for (std::uint32_t from = 0; from < hosts_; ++from) {
    if (at(from, host).share) shares.push_back(*at(from, host).share);
  }
  return middle(std::move(shares));
}

std::vector<MeshTransport> mesh_transports(const MeshResult& result) {
  std::vector<MeshTransport> list;
  for (const MeshTransport transport : {MeshTransport::kRdma, MeshTransport::kTcp}) {
    const bool any = std::ranges::any_of(result.measures, [&](const MeshMeasure& measure) {
      return measure.transport == transport && measure.state != model::MeshState::kMissing;
    });
    if (any) list.push_back(transport);
  }
  return list;
}

std::uint32_t mesh_rails(const MeshResult& result, MeshTransport transport) {
  std::uint32_t most = 0;
  for (const MeshMeasure& measure : result.measures) {
    if (measure.transport == transport) most = std::max({most, measure.from_nic + 1, measure.to_nic + 1});
  }
  return most;
}

std::string mesh_cell_words(const MeshResult& result, const MeshCell& cell) {
  if (cell.measure == nullptr) return "not measured";
  const MeshMeasure& measure = *cell.measure;
  std::string words =
      printable(end_name(result, measure, true) + " to " + end_name(result, measure, false)) + ": ";
  if (measure.state == model::MeshState::kFailed) words += "failed: " + printable(measure.trouble);
  if (measure.bandwidth) words += in_words(*measure.bandwidth);
  if (cell.share) words += fmt::format(", {:.0f} %", *cell.share * 100);
  if (measure.latency_us) words += fmt::format(", {:.1f} us", *measure.latency_us);
  if (!measure.limit.empty()) words += "; limit: " + printable(measure.limit);
  return words;
}

MeshUnit mesh_unit(const MeshGrid& grid) {
  if (grid.is_latency()) return {1, "us"};
  double most = 0;
  for (std::uint32_t from = 0; from < grid.hosts(); ++from) {
    for (std::uint32_t to = 0; to < grid.hosts(); ++to) {
      const MeshMeasure* measure = grid.at(from, to).measure;
      if (measure != nullptr && measure->bandwidth) most = std::max(most, measure->bandwidth->value);
    }
  }
  if (most >= 1e9) return {1e9, "Gb/s"};
  return {1e6, "Mb/s"};
}

std::string mesh_figure(const MeshGrid& grid, const MeshCell& cell, const MeshUnit& unit) {
  if (cell.measure == nullptr) return ".";
  if (cell.measure->state == model::MeshState::kFailed) return "fail";
  if (grid.is_latency()) return cell.measure->latency_us ? three_digits(*cell.measure->latency_us) : "?";
  return cell.measure->bandwidth ? three_digits(cell.measure->bandwidth->value / unit.bits) : "?";
}

}  // namespace angio::views
