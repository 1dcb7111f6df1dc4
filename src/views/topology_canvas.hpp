// What the parts of the topology picture share: layers of shapes, and where GPUs and NICs ended up so
// that links can be drawn to them. Internal to topology_picture.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

struct Anchor {
  std::uint32_t index = 0;  // GPU, or place in Canvas::nic_ports
  double x = 0;             // middle of the lower edge
  double y = 0;
};

struct NicPort {
  std::string text;    // "400 Gb/s"
  std::string detail;  // "NDR", "DOWN"
  std::string tooltip;
  report::Tone tone = report::Tone::kQuiet;
};

struct Canvas {
  std::vector<report::Shape> back;  // packages and nodes
  std::vector<report::Shape> lines;
  std::vector<report::Shape> front;  // devices and texts
  std::vector<Anchor> gpus;          // of the row being drawn
  std::vector<Anchor> nics;
  std::vector<NicPort> nic_ports;
  double left = 0;  // edges of the row's packages
  double right = 0;
  std::size_t bars = 0;               // drawn so far, of the fabric that all GPUs share
  std::vector<std::string> troubles;  // "GPU 5 x8 of x16"
  bool unknowns = false;
};

// How the GPUs of the machine are joined.
enum class Weave : std::uint8_t { kNone, kSwitch, kAllToAll, kSomePairs };
Weave weave_of(const model::Machine& machine);

// Draws the links of the row's GPUs below y; gives the y below them.
double draw_gpu_links(const model::Machine& machine, Weave weave, Canvas& canvas, double y);
// Draws the row's NIC ports below y; gives the y below their texts.
double draw_nic_ports(Canvas& canvas, double y);

inline constexpr double kBarHeight = 26;  // of the NVLinks' bar
inline constexpr double kSmallText = 10;  // inside devices

// The text cut to what fits into width at that size.
std::string fit(const std::string& text, double width, double size);

}  // namespace angio::views
