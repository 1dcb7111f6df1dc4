// A whole fabric as JSON, "schema": "angio.fabric/1": what `angio fabric scan --format json` writes and
// import/fabric/angio_fabric.cpp reads back without a loss. Compact: a port is a row of cells, the columns
// stand once in "port_columns", and columns in which no port has anything are left out.
//   {"schema", "captured", "subject", "origin", "kind", "seen_from", "notes", "port_columns",
//    "nodes": [{"guid", "kind", "description", …, "ports": [[1, "Active", …]]}], "metrics"}
// A cell "peer_node" is an index in "nodes", "peer_port" the number of the port there. Write it in one line
// (indent below 0): indented, each cell has a line of its own.
#pragma once

#include <vector>

#include "base/json.hpp"
#include "model/fabric.hpp"
#include "model/metric.hpp"
#include "views/fabric_metrics.hpp"

namespace angio::views {

Json fabric_json(const model::Fabric& fabric, const std::vector<model::Metric>& metrics);

}  // namespace angio::views
