// The steps of bandwidth.hpp, one function each. Only for src/rdma.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "rdma/bandwidth.hpp"

namespace angio::rdma {

struct Case {
  const model::Machine& machine;
  const model::RdmaRates& rates;
  const model::RdmaPortRates& port;
  const model::Diagnosis& diagnosis;
  const Wanted& wanted;
  const model::RdmaDevice* device = nullptr;  // in the machine; null: not known
  std::uint32_t index = 0;                    // its place there
  const model::RdmaPort* known = nullptr;     // in the machine
};

model::RdmaStep step_bandwidth(const Case& that);
model::RdmaStep step_line(const Case& that);
model::RdmaStep step_pcie(const Case& that);
model::RdmaStep step_distance(const Case& that);
model::RdmaStep step_mtu(const Case& that);
model::RdmaStep step_queue_pairs(const Case& that);
model::RdmaStep step_congestion(const Case& that);
model::RdmaStep step_errors(const Case& that);
model::RdmaStep step_host(const Case& that);
model::RdmaStep step_switch(const Case& that);

// The rate that counts: measured, or the busier direction of the interval; none: not known.
std::optional<BitsPerSecond> rate_of(const Case& that);
// Growth of a counter as "name +n".
void add_growth(const Case& that, std::initializer_list<std::string_view> names, model::RdmaStep& step);
// Whether a finding of the rule is about this port.
bool has_finding(const Case& that, std::string_view rule);
bool is_roce(const Case& that);
bool is_infiniband(const Case& that);  // neither: EFA and others, of which nothing may be taken for granted

}  // namespace angio::rdma
