// The checks behind judge.hpp, and what they share. Only for src/rdma.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.hpp"
#include "model/rdma_rates.hpp"
#include "rdma/rates.hpp"

namespace angio::rdma {

void link_down(const model::RdmaRates& rates, diagnose::Outcome& outcome);
void bit_errors(const model::RdmaRates& rates, diagnose::Outcome& outcome);
void loss(const model::RdmaRates& rates, diagnose::Outcome& outcome);
void timeouts(const model::RdmaRates& rates, diagnose::Outcome& outcome);
void congestion(const model::RdmaRates& rates, diagnose::Outcome& outcome);
void host_limit(const model::RdmaRates& rates, diagnose::Outcome& outcome);
void pause_storm(const model::RdmaRates& rates, diagnose::Outcome& outcome);

// Ports that were there from the first reading to the last.
std::vector<const model::RdmaPortRates*> watched_ports(const model::RdmaRates& rates);
// Of these, the ports that count at least one of the names: of the others a rule cannot say that it held. If
// there is none at all, the rule does not apply.
std::vector<const model::RdmaPortRates*> counting_ports(const model::RdmaRates& rates,
                                                        std::span<const char* const> names,
                                                        diagnose::Outcome& outcome);
bool went_down(const model::RdmaPortRates& port);
// Events an hour; in a shorter interval, or one of unknown length, each counts in full.
double in_an_hour(const model::RdmaPortRates& port, std::uint64_t events);
std::string_view layer_word(const model::RdmaPortRates& port);  // "roce", "infiniband", ""

// "out_of_sequence +812 in 10 s" and where it was read.
model::Evidence grew(const model::RdmaPortRates& port, const model::RdmaChange& change,
                     std::string more = {});
// A draft about one port: its devices and the words that fixes need.
diagnose::Draft draft_of(const model::RdmaPortRates& port, std::string title);
// Counters that a check needs and that could not be read, went away or stand at their maximum.
void report_gaps(const model::RdmaPortRates& port, std::initializer_list<std::string_view> names,
                 diagnose::Outcome& outcome);
std::string ratio_words(double ratio);      // "2.1e-10", "0.4 %"
std::string seconds_words(double seconds);  // "10 s", "0.5 s", "2.0 h"

}  // namespace angio::rdma
