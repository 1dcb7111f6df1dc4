// The tooltips of the map: what a thing is, where it leads, how it runs, and what is said of it. Internal to
// fabric_map.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "model/fabric.hpp"
#include "model/fabric_report.hpp"
#include "views/fabric_map_layout.hpp"

namespace angio::views {

class MapWords {
 public:
  MapWords(const model::Fabric& fabric, const model::FabricReport& report)
      : fabric_(fabric), report_(report) {}

  // "; warning: …", to stand at the end; "" where nothing is said.
  [[nodiscard]] std::string of_finding(Mark mark) const;
  [[nodiscard]] std::string of_trunk(const MapTrunk& trunk) const;
  [[nodiscard]] std::string of_switch(std::uint32_t node, Mark mark) const;
  [[nodiscard]] std::string of_cell(const PlacedCell& placed, Mark mark) const;
  // Several hosts with nothing to say of them.
  [[nodiscard]] std::string of_cells(std::span<const PlacedCell> placed) const;
  // Two adapters that are cabled to each other.
  [[nodiscard]] std::string of_cable(model::PortRef port, Mark mark) const;

 private:
  const model::Fabric& fabric_;
  const model::FabricReport& report_;
};

}  // namespace angio::views
