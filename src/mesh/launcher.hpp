// The command lines by which a site's launcher starts one agent on each host. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "launch/remote.hpp"

namespace angio::mesh {

enum class Launcher : std::uint8_t { kLocal, kSrun, kMpirun, kSsh };
std::string_view name_of(Launcher launcher);

// The variable that carries the token; never an argument.
inline constexpr const char* kTokenVariable = "ANGIO_MESH_TOKEN";

struct LaunchRequest {
  Launcher launcher = Launcher::kLocal;
  std::vector<std::string> hosts;
  std::string angio = "angio";                // as the hosts find it
  std::vector<std::string> controllers;       // "10.0.0.1:40000"
  std::vector<std::string> launcher_options;  // handed on as they are
  launch::MpiKind mpi = launch::MpiKind::kOpenMpi;
};

struct LaunchCommand {
  std::vector<std::string> argv;
  bool token_by_input = false;        // ssh takes no variables along
  std::optional<std::uint32_t> host;  // it starts one agent alone
};

std::vector<LaunchCommand> launch_commands(const LaunchRequest& request);

// Which host of the list an agent is on: by the name given to it, Slurm's name, the host's own (with or
// without its domain), its rank. None: none of these, or taken.
struct AgentNames {
  std::string name;
  std::string host_name;
  std::optional<std::uint32_t> rank;
};
std::optional<std::uint32_t> find_host(const std::vector<std::string>& hosts, const std::vector<bool>& taken,
                                       const AgentNames& agent);

// "n0,n1,n2,n7" as "n[0-2,7]", for titles; the names themselves where that is shorter.
std::string fold_hosts(const std::vector<std::string>& hosts);

}  // namespace angio::mesh
