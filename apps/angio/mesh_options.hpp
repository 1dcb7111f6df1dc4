// What `angio mesh` is told, and what of it becomes a request. Shared by its commands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "mesh/controller.hpp"
#include "model/mesh.hpp"

namespace angio::app {

class CommandLine;

struct MeshShowOptions {
  std::string format = "terminal";
  std::string fail_on;
  bool undecided = false;
  std::vector<std::string> snapshots;
};

struct MeshOptions : MeshShowOptions {
  std::string with;
  std::string hosts;
  std::string transport = "auto";
  std::vector<std::string> devices;
  std::vector<std::string> interfaces;
  bool all_nics = false;
  std::string level = "both";
  std::uint32_t seconds = model::MeshPlan{}.seconds;
  std::uint32_t streams = model::MeshPlan{}.streams;
  std::string size;
  std::uint32_t queue_pairs = 1;
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint32_t> cuda;
  std::uint32_t rounds = 0;
  std::uint32_t sample = 0;
  std::uint32_t pairs_at_once = 0;
  std::uint32_t patience = 15;
  std::uint32_t start_seconds = 60;
  std::string control;
  std::string angio;
  std::vector<std::string> launcher_options;
  std::string out;
  std::string resume;
  bool retry_failed = false;
  bool dry_run = false;
};

void add_show_options(CommandLine& command, MeshShowOptions& options);
void add_mesh_options(CommandLine& command, MeshOptions& options);

// Everything but what happens while it runs. Errors: kInvalidInput for what the user can mend.
Result<mesh::MeshRequest> mesh_request(const MeshOptions& options, model::MeshResult earlier);
// Facts of snapshots, by host name.
Result<std::vector<model::MeshHost>> known_hosts(const std::vector<std::string>& snapshots);

}  // namespace angio::app
