// The topology of one machine as a document: counts, tree, matrices with legend, links, NUMA distances,
// and what the source does not tell. The page holds the picture besides.
#pragma once

#include "model/machine.hpp"
#include "report/document.hpp"

namespace angio::views {

struct TopologyOptions {
  bool explain = false;  // every class that occurs and every unusual pair in words
  bool picture = false;  // for HTML; a terminal leaves drawings out
};

report::Document topology_document(const model::Machine& machine, const TopologyOptions& options);

// The picture alone, for a slide.
report::Drawing topology_drawing(const model::Machine& machine);

}  // namespace angio::views
