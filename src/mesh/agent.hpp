// The process on each host of a mesh: connects to its controller, proves that it holds the token, and runs
// one side of the tests that it is told to. Ends when the controller does. Started by the launcher as `angio
// mesh-node`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

struct AgentRequest {
  std::vector<std::pair<std::string, std::uint16_t>> controllers;  // addresses of the one controller
  std::string token;
  std::string name;  // as the controller calls this host; empty: it finds out
  std::string version;
  std::vector<std::string> environment;  // of perftest; without the token
  model::MeshHost host;                  // NICs of this host; the rest is filled here
};

// Error: the controller cannot be reached, or is another one.
Result<void> run_agent(AgentRequest request);

}  // namespace angio::mesh
