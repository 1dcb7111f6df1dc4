// The rules of `angio dryrun --against`: what each may ask of both sides, and the table of them. Words are in
// data/rules/dryrun.toml. Only for against*.cpp and its tests.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "diagnose/rule.hpp"
#include "dryrun/compare_facts.hpp"
#include "model/dryrun.hpp"

namespace angio::dryrun {

// One side: a log and the communicator that is compared.
struct Shown {
  const model::NcclLog* log = nullptr;
  const model::NcclCommunicator* world = nullptr;
  Ways ways;
  bool has_graphs = false;
  bool rings = false, trees = false, nvls = false;  // every rank says that it connected them
  std::map<std::uint32_t, std::size_t>
      nodes;  // rank to node, numbered in the order of ranks; empty: not told
};

struct Both {
  const model::DryRun& run;
  Shown healthy;
  Shown job;
  [[nodiscard]] bool between_nodes() const { return run.nodes > 1; }
};

// What to log so that everything can be compared.
inline constexpr const char* kLogAll =
    "run the job with NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=INIT,ENV,NET,GRAPH,TUNING on every rank";

// settings: the variables of the job that can make the difference by themselves.
struct AgainstRule {
  const char* id;
  void (*check)(const Both& both, diagnose::Outcome& outcome);
  std::vector<const char*> settings;
};
std::span<const AgainstRule> against_rules();

void nvlink_missing(const Both& both, diagnose::Outcome& outcome);
void graph_weaker(const Both& both, diagnose::Outcome& outcome);
void channels_fewer(const Both& both, diagnose::Outcome& outcome);
void transport_shm(const Both& both, diagnose::Outcome& outcome);
void network_socket(const Both& both, diagnose::Outcome& outcome);
void gdr_off(const Both& both, diagnose::Outcome& outcome);
void nic_idle(const Both& both, diagnose::Outcome& outcome);
void nvls_absent(const Both& both, diagnose::Outcome& outcome);
void ring_crossings(const Both& both, diagnose::Outcome& outcome);
void choice_other(const Both& both, diagnose::Outcome& outcome);

// The graphs of the job have less bandwidth: what else is weaker follows from it.
bool is_weaker(const Both& both, GraphKind kind);
model::Evidence seen(const Shown& side, const model::Source& source, std::string text);
model::Evidence in_dry_run(std::string text);
std::string ranks_of(const Pairs& pairs);  // "rank 0 to rank 1 and 3 other pairs"

}  // namespace angio::dryrun
