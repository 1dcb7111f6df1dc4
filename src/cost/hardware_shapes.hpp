// What an algorithm moves over which wire and in how many steps: arithmetic of the algorithms, no constants.
// Used by hardware.cpp alone.
#pragma once

#include <string_view>
#include <vector>

#include "cost/platform.hpp"
#include "model/expectation.hpp"

namespace angio::cost {

// The ranks of a question on a platform.
struct Layout {
  double ranks = 0;
  double nodes = 0;
  double gpus = 0;  // of a node, rounded up
};
Layout layout_of(const Platform& platform, const model::CollectiveCase& question);

// Bytes of the message that pass the busiest link: 1.75 of AllReduce on a ring of 8.
struct Shape {
  std::string_view algorithm;
  double node = 0;     // x size over one GPU's link
  double network = 0;  // x size over all NICs of a node
  double one_nic = 0;  // x size over a single NIC
  double node_steps = 0;
  double network_steps = 0;
  bool assumes_switch_reduction = false;  // CollNet: nothing of the platform tells
};

// Those that apply; empty: a collective without a model.
std::vector<Shape> shapes_of(const Platform& platform, const model::CollectiveCase& question);

// Payload bytes per second between the NICs of a node and the GPUs that use them, and which part sets it.
struct NetworkWire {
  BytesPerSecond all;
  BytesPerSecond one;
  std::string part;
};
NetworkWire network_wire(const Platform& platform, const Layout& layout);

}  // namespace angio::cost
