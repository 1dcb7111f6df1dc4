// What the user asked `angio run` for. Filled by run_command, read by its forms.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "placement_options.hpp"

namespace angio::app {

struct RunOptions {
  PlacementOptions placement;
  std::optional<std::uint32_t> rank;   // wrapper: the local rank
  std::optional<std::uint32_t> ranks;  // launcher: how many here; with rank: how many there are
  std::string devices = "all";         // or "own"
  bool adapters = false;               // --nics
  bool rendezvous = false;             // wrapper: RANK, WORLD_SIZE, MASTER_ADDR … where unset
  bool strict = false;
  bool verify = false;
  bool why = false;
  bool dry_run = false;
  char** command = nullptr;  // null-terminated; the rest of this process's own arguments
};

}  // namespace angio::app
