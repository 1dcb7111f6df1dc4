// What the growth of counters in an interval says: findings in the words of data/rdma.toml, as the doctor
// words them. The doctor itself judges one state (rdma.port.errors, rdma.port.loss); these rules see whether
// it goes on.
#pragma once

#include <span>

#include "diagnose/rule.hpp"
#include "model/finding.hpp"
#include "model/rdma_rates.hpp"

namespace angio::rdma {

struct Rule {
  const char* id;
  void (*check)(const model::RdmaRates& rates, diagnose::Outcome& outcome);
};
std::span<const Rule> rate_rules();

// Findings ranked.
model::Diagnosis judge(const model::RdmaRates& rates);

}  // namespace angio::rdma
