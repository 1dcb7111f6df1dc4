// The rules over a mesh, by the contract of diagnose/rule.hpp: their words are in data/rules/mesh.toml. Not
// the statistics (suspects.hpp).
#pragma once

#include <span>
#include <vector>

#include "diagnose/rule.hpp"
#include "diagnose/wording.hpp"
#include "mesh/suspects.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

struct TransportCase {
  model::MeshTransport transport = model::MeshTransport::kTcp;
  Suspects bandwidth;
  Suspects latency;
};

struct MeshCase {
  const model::MeshResult& result;
  const model::MeshReport& report;  // its usual speeds
  std::vector<TransportCase> suspects;
};

struct Rule {
  const char* id;
  void (*check)(const MeshCase& facts, diagnose::Outcome& outcome);
};
std::span<const Rule> mesh_rules();

void slow_hosts(const MeshCase& facts, diagnose::Outcome& outcome);
void slow_nics(const MeshCase& facts, diagnose::Outcome& outcome);
void slow_rails(const MeshCase& facts, diagnose::Outcome& outcome);
void slow_paths(const MeshCase& facts, diagnose::Outcome& outcome);
void slow_trunks(const MeshCase& facts, diagnose::Outcome& outcome);
void late_hosts(const MeshCase& facts, diagnose::Outcome& outcome);

void lost_hosts(const MeshCase& facts, diagnose::Outcome& outcome);
void failed_pairs(const MeshCase& facts, diagnose::Outcome& outcome);
void below_hardware(const MeshCase& facts, diagnose::Outcome& outcome);
void impossible_rates(const MeshCase& facts, diagnose::Outcome& outcome);
void slower_than_tcp(const MeshCase& facts, diagnose::Outcome& outcome);

}  // namespace angio::mesh
