// Where the parts of one section of the map stand: switches in rows by level, below each leaf the cells of
// its hosts. The largest scale whose sheet still fits a screen is taken; above some hundred hosts the leaves
// stand on both sides of the topmost switches. Knows nothing of colours. Internal to fabric_map.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "report/document.hpp"
#include "views/fabric_map_groups.hpp"

namespace angio::views {

struct MapRect {
  double x = 0, y = 0, width = 0, height = 0;
  [[nodiscard]] double middle() const { return x + width / 2; }
  [[nodiscard]] double bottom() const { return y + height; }
};

// How large things are. Font 0: no text.
struct MapScale {
  double name_font = 0;   // of host names inside their cells
  double cell_width = 0;  // without names
  double cell_height = 0;
  double gap = 0;
  double row_font = 0;  // of host names beside their rows
  double box_height = 0;
  double box_font = 0;  // of switches
  double group_gap = 0;
  double least_box = 0;
};

struct PlacedCell {
  MapRect box;
  const MapGroup* group = nullptr;
  const MapCell* cell = nullptr;  // null: the host has no port on that leaf
  std::uint32_t host = 0;         // in FabricReport::hosts
};

struct PlacedText {
  double x = 0, y = 0;
  std::string text;
  double size = 0;
  report::Align align = report::Align::kLeft;
  std::uint32_t host = ~std::uint32_t{0};  // of a row's label
};

struct MapLayout {
  double width = 0, height = 0;
  MapScale scale;
  std::map<std::uint32_t, MapRect> switches;
  std::map<std::uint32_t, std::string> labels;  // of switches, short enough for their boxes
  std::map<std::size_t, std::string> starts;  // by row, 0 the leaves: what was left out in front of all names
  std::vector<MapRect> frames;                // of groups
  std::vector<PlacedCell> cells;              // by group, leaf, lane and host
  std::vector<PlacedText> texts;
  std::set<std::uint32_t> incomplete;  // hosts with a place for a port that they do not have
  bool names_in_cells = false;
};

MapLayout place_section(const MapSection& section, const model::Fabric& fabric,
                        const model::FabricReport& report);

// Columns of a system font, in pixels.
double map_text_width(std::string_view text, double size);
// The text, or what of it fits, or nothing where that would say nothing.
std::string fit_text(const std::string& text, double width, double size);

}  // namespace angio::views
