// The rules over what a job's logs say of NCCL, one family a file; nccl.cpp lists them. Beside the checks,
// the questions that several ask of a log. Only for src/diagnose/rules; words and numbers are in
// data/rules/nccl.toml.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "diagnose/rule.hpp"
#include "model/machine.hpp"
#include "model/nccl_evidence.hpp"

namespace angio::diagnose::nccl {

// ---- checks: the network
void network_socket(const model::Machine& machine, Outcome& outcome);
void bootstrap_interface(const model::Machine& machine, Outcome& outcome);
void gdr_off(const model::Machine& machine, Outcome& outcome);
void nic_idle(const model::Machine& machine, Outcome& outcome);
void nic_mixed(const model::Machine& machine, Outcome& outcome);
void plugin_unusable(const model::Machine& machine, Outcome& outcome);
// within a node
void nvlink_unused(const model::Machine& machine, Outcome& outcome);
void p2p_off(const model::Machine& machine, Outcome& outcome);
void topology_file(const model::Machine& machine, Outcome& outcome);
// ranks, versions, settings, calls
void version_mixed(const model::Machine& machine, Outcome& outcome);
void settings_differ(const model::Machine& machine, Outcome& outcome);
void duplicate_gpu(const model::Machine& machine, Outcome& outcome);
void calls_mismatch(const model::Machine& machine, Outcome& outcome);
void ranks_missing(const model::Machine& machine, Outcome& outcome);
void init_slow(const model::Machine& machine, Outcome& outcome);
void debug_left_on(const model::Machine& machine, Outcome& outcome);
// failures: what NCCL said itself
void gid_wrong(const model::Machine& machine, Outcome& outcome);
void memory_locked(const model::Machine& machine, Outcome& outcome);
void retry_exceeded(const model::Machine& machine, Outcome& outcome);
void completion_error(const model::Machine& machine, Outcome& outcome);
void completion_flushed(const model::Machine& machine, Outcome& outcome);
void port_event(const model::Machine& machine, Outcome& outcome);
void shm_small(const model::Machine& machine, Outcome& outcome);
void nvls_failed(const model::Machine& machine, Outcome& outcome);
void imex_failed(const model::Machine& machine, Outcome& outcome);
void peer_closed(const model::Machine& machine, Outcome& outcome);
void connect_failed(const model::Machine& machine, Outcome& outcome);
void stray_connection(const model::Machine& machine, Outcome& outcome);
void cuda_failure(const model::Machine& machine, Outcome& outcome);
void no_transport(const model::Machine& machine, Outcome& outcome);
void topology_limit(const model::Machine& machine, Outcome& outcome);
void path_fallback(const model::Machine& machine, Outcome& outcome);
void algorithm_unavailable(const model::Machine& machine, Outcome& outcome);
void setting_invalid(const model::Machine& machine, Outcome& outcome);
void driver_unfit(const model::Machine& machine, Outcome& outcome);
void call_invalid(const model::Machine& machine, Outcome& outcome);
void warning_other(const model::Machine& machine, Outcome& outcome);
// results of nccl-tests
void tests_wrong(const model::Machine& machine, Outcome& outcome);
void tests_failed(const model::Machine& machine, Outcome& outcome);
void tests_below_nvlink(const model::Machine& machine, Outcome& outcome);
void tests_below_network(const model::Machine& machine, Outcome& outcome);
void tests_average(const model::Machine& machine, Outcome& outcome);
void tests_half_gap(const model::Machine& machine, Outcome& outcome);
void tests_row_outlier(const model::Machine& machine, Outcome& outcome);
void tests_row_doubtful(const model::Machine& machine, Outcome& outcome);
void tests_pair_outlier(const model::Machine& machine, Outcome& outcome);
// RAS, watchdog, Inspector
void ras_mismatch(const model::Machine& machine, Outcome& outcome);
void ras_missing(const model::Machine& machine, Outcome& outcome);
void ras_error(const model::Machine& machine, Outcome& outcome);
void watchdog_timeout(const model::Machine& machine, Outcome& outcome);
void watchdog_mismatch(const model::Machine& machine, Outcome& outcome);
void watchdog_error(const model::Machine& machine, Outcome& outcome);
void watchdog_stuck(const model::Machine& machine, Outcome& outcome);
void ranks_unjoined(const model::Machine& machine, Outcome& outcome);
void ranks_killed(const model::Machine& machine, Outcome& outcome);
void inspector_straggler(const model::Machine& machine, Outcome& outcome);

// ---- questions

std::vector<const model::NcclEvidence*> evidence_of(const model::Machine& machine);
std::vector<const model::NcclLog*> logs_of(const model::Machine& machine);

model::Evidence seen(const model::NcclLog& log, const model::Source& source, std::string text);
model::Evidence seen(const model::NcclEvidence& evidence, const model::Source& source, std::string text);
// The line itself, with how often it came and from whom.
model::Evidence seen(const model::NcclLog& log, const model::NcclEvent& event);

using Kinds = std::initializer_list<model::NcclEventKind>;
std::vector<const model::NcclEvent*> events_of(const model::NcclLog& log, Kinds kinds);

// "rank 3 on node-a", "node-a:4711", "a process" where nothing tells.
std::string name_of(const model::NcclLog& log, model::NcclIndex process);
// The rank of the world (the largest communicator) that a process runs; none when several or not said.
std::optional<std::uint32_t> rank_of(const model::NcclLog& log, model::NcclIndex process);
// Nodes that the job spans: as NCCL counts them, else hosts in the files; 0: neither is known.
std::uint32_t nodes_of(const model::NcclLog& log);
// The settings by that name, the one of most processes first.
std::vector<const model::NcclSetting*> settings_of(const model::NcclLog& log, std::string_view name);
// "NCCL_IB_DISABLE=1 (environment, 16 processes)"
model::Evidence seen(const model::NcclLog& log, const model::NcclSetting& setting);
// True for the values that NCCL reads as a number other than 0.
bool is_on(const model::NcclSetting& setting);

// 1 for the failure that came first, 0.5 for others: what stands first in the list is the cause, not its
// echo.
double rank_in_time(const model::NcclLog& log, const std::vector<const model::NcclEvent*>& events);
std::string processes(std::size_t count);  // "1 process", "16 processes"
std::string percent(double share);
std::string ranks_in_words(const std::set<std::uint32_t>& ranks);  // "rank 3", "ranks 0-7,9"

std::span<const Rule> failure_rules();
std::span<const Rule> fabric_rules();
std::span<const Rule> rank_rules();
std::span<const Rule> result_rules();

}  // namespace angio::diagnose::nccl
