// What `angio dryrun` is given, read: the topology in all its forms, the job's settings, the changes of
// single nodes and the libnccl; put together to requests for nccl_run. Nothing is run here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "nccl/topology_xml.hpp"
#include "nccl_run/cluster.hpp"

namespace angio::app::dryrun {

struct Options {
  std::string topology;  // file or words
  std::string gpu;
  std::uint32_t nic_speed = 0;  // Gb/s; 0: not given
  std::string nccl;
  std::uint32_t nodes = 1;
  std::optional<std::uint32_t> ranks;  // of each node
  std::vector<std::string> environment;
  std::vector<std::string> node_changes;
  std::string collectives = "allreduce";
  std::string sizes = "8:1G:4";
  std::string net = "phantom";
  std::string driver;  // "13.0"
  std::string redirect = "auto";
  bool progress = false;
  double timeout = 120;  // seconds
  std::string memory;
  std::string set_a;
  std::string set_b;
  std::vector<std::string> vary;
  std::vector<std::string> against;
  bool explain = false;
  std::string format = "terminal";
  std::string log;
  std::string out = "-";
  std::string fail_on;
};

// What the stand-ins and the watch of processes are made for, and docs/dryrun.md has figures of.
inline constexpr int kMostNodes = 64;

using Settings = std::vector<std::pair<std::string, std::string>>;

// What all runs of a command share.
struct Inputs {
  nccl::Element topology;                   // as the user gave it, or as it was made of what he gave
  std::shared_ptr<model::Machine> machine;  // null where only a topology file is known
  std::string gpu;
  bool is_words = false;
  bool is_matrix = false;  // nvidia-smi topo -m: no speed of NICs, no model of GPUs
  Settings settings;
  std::vector<std::string> notes;
};
Result<Inputs> read_inputs(const Options& options);

// "NCCL_ALGO=Ring NCCL_PROTO=LL", with nccl=PATH for another library.
struct Variation {
  std::string label;
  Settings settings;
  std::string nccl;
};
Result<Variation> parse_variation(const std::string& option, const std::string& text);

// One run: its request, and what was assumed on the way.
struct Prepared {
  nccl_run::ClusterRequest request;
  std::vector<nccl::Element> trees;  // of each node: what NCCL arrives at
  std::vector<std::string> notes;
};
Result<Prepared> prepare(const Options& options, const Inputs& inputs, const Variation& variation);

}  // namespace angio::app::dryrun
