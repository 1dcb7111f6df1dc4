// Runs a whole mesh: starts the agents through a launcher, plays the rounds, and keeps a result that is true
// at any moment. Hosts that never come, die or hang, and pairs that fail, are recorded and passed over.
// Judges nothing.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mesh/facts.hpp"
#include "mesh/launcher.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

struct MeshRequest {
  model::MeshResult earlier;  // what is done already: its hosts come first; empty for a new mesh
  bool retry_failed = false;
  std::vector<std::string> hosts;  // to start agents on
  model::MeshPlan plan;
  bool choose_transports = false;  // RDMA where it can be tested, and TCP beside it
  NicWish nics;
  std::vector<model::MeshHost> known;  // facts from snapshots, by host name
  LaunchRequest launch;                // hosts and controllers are filled here
  std::string control;                 // address to listen on
  std::vector<std::string> environment;
  std::uint32_t pairs_at_once = 0;
  std::uint32_t patience = 15;  // s beyond a test's own time
  std::uint32_t start_seconds = 60;
  std::string tool;  // "angio 0.5.0"
};

struct MeshEvents {
  // Once, when the hosts are there: what will be done. False ends it.
  std::function<bool(const std::vector<std::string>& lines)> plan;
  std::function<void(const std::string& line)> progress;
  std::function<Result<void>(const model::MeshResult& result)> round_done;
  std::function<bool()> stop;
};

// Error: no mesh came about (fewer than two hosts answered), or the result could not be kept.
Result<model::MeshResult> run_mesh(const MeshRequest& request, const MeshEvents& events);

}  // namespace angio::mesh
