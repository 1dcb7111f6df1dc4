// The cells of a mesh's tables and maps: one direction between two hosts over one rail, or the worst of all
// rails, against what is usual or expected. Shared by the mesh's views.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/mesh.hpp"

namespace angio::views {

struct MeshCell {
  const model::MeshMeasure* measure = nullptr;  // the worst; null: none
  std::optional<double> share;                  // of the reference, 1 is as it should be
};

// More hosts make no table that somebody reads; then a grid is empty.
inline constexpr std::size_t kMostGridHosts = 2048;

class MeshGrid {
 public:
  // rail: none for the worst over all of them.
  MeshGrid(const model::MeshResult& result, const model::MeshReport& report, model::MeshTransport transport,
           std::optional<std::uint32_t> rail);

  [[nodiscard]] std::uint32_t hosts() const { return hosts_; }
  [[nodiscard]] const MeshCell& at(std::uint32_t from, std::uint32_t to) const {
    return cells_[std::size_t{from} * hosts_ + to];
  }
  [[nodiscard]] bool is_empty() const { return measured_ == 0; }
  [[nodiscard]] bool is_latency() const { return latency_; }
  // "the median, 9.4 Gb/s", "what the ports and PCIe allow".
  [[nodiscard]] const std::string& reference() const { return reference_; }
  [[nodiscard]] model::MeshTransport transport() const { return transport_; }
  [[nodiscard]] std::optional<std::uint32_t> rail() const { return rail_; }
  // Median share of a row (sent) or column (received) of a host; none: nothing measured.
  [[nodiscard]] std::optional<double> sent(std::uint32_t host) const;
  [[nodiscard]] std::optional<double> received(std::uint32_t host) const;

 private:
  void put(const model::MeshMeasure& measure, double reference, bool against_expected);

  std::uint32_t hosts_ = 0;
  std::uint32_t measured_ = 0;
  bool latency_ = false;
  std::string reference_;
  model::MeshTransport transport_;
  std::optional<std::uint32_t> rail_;
  std::vector<MeshCell> cells_;
};

std::vector<model::MeshTransport> mesh_transports(const model::MeshResult& result);
std::uint32_t mesh_rails(const model::MeshResult& result, model::MeshTransport transport);
// "n0 eth0 to n1 eth0: 9.41 Gb/s, 87 % of the median, 34 us".
std::string mesh_cell_words(const model::MeshResult& result, const MeshCell& cell);
// "1.24": a bandwidth with three digits in the unit of the table.
struct MeshUnit {
  double bits = 1e9;
  const char* name = "Gb/s";
};
MeshUnit mesh_unit(const MeshGrid& grid);
std::string mesh_figure(const MeshGrid& grid, const MeshCell& cell, const MeshUnit& unit);

}  // namespace angio::views
