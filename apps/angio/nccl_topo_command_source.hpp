// What `paths`, `graph` and `tuning` of `angio nccl-topo` compute on: a topology file, completed by a
// machine, a machine alone, or a few words as `angio dryrun --topo` takes them; and NCCL's system graph of
// it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/machine.hpp"
#include "nccl/system_graph.hpp"
#include "nccl_topo_command_input.hpp"

namespace angio::app::nccl_topo {

// The tree to compute on, and what is to be said with the figures.
struct Source {
  nccl::Element root;
  std::string subject;         // the file or machine
  std::string without_nvlink;  // as in the reports
  std::vector<std::string> notes;
};

// The file that is named; none: the machine or the words are meant.
Result<std::optional<Input>> read_if_named(const Options& options);
Result<model::Machine> machine_of(const Options& options);
// Errors: NCCL refuses the file, a machine without GPUs.
Result<Source> source_of(const Options& options, std::optional<Input>& input);
// Adds to source's notes what was assumed.
Result<nccl::System> system_of(const Options& options, Source& source);
// The part of it that NCCL searches, and how many nodes it then counts: where NICs are faster than the way
// between CPUs, the GPUs of each CPU are a node. system becomes that part.
Result<int> searched_nodes(const Options& options, Source& source, nccl::System& system);
Result<void> check_searchable(const Options& options, const Source& source, const nccl::System& system);
// For formats without room for remarks.
void say_beside(const Options& options, const Source& source);

}  // namespace angio::app::nccl_topo
