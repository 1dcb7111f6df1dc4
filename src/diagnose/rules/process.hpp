// The process rules' checks, one family a file; process.cpp lists them. Beside them, what several ask of
// a job's settings. Only for src/diagnose/rules; words and numbers are in data/rules/process.toml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/rule.hpp"
#include "diagnose/rules/rdma.hpp"
#include "model/machine.hpp"

namespace angio::diagnose::process {

// Placement: where processes may run, where their memory lies.
void affinity_remote(const model::Machine& machine, Outcome& outcome);
void affinity_crowded(const model::Machine& machine, Outcome& outcome);
void cores_unused(const model::Machine& machine, Outcome& outcome);
void memory_remote(const model::Machine& machine, Outcome& outcome);
void hidden_peers(const model::Machine& machine, Outcome& outcome);
void omp_threads(const model::Machine& machine, Outcome& outcome);
// Settings that switch a way off, and words of algorithms and protocols.
void p2p_disabled(const model::Machine& machine, Outcome& outcome);
void shm_disabled(const model::Machine& machine, Outcome& outcome);
void ib_disabled(const model::Machine& machine, Outcome& outcome);
void gdr_level(const model::Machine& machine, Outcome& outcome);
void socket_ifname(const model::Machine& machine, Outcome& outcome);
void ll128_forced(const model::Machine& machine, Outcome& outcome);
void algo_unknown(const model::Machine& machine, Outcome& outcome);
void algo_narrow(const model::Machine& machine, Outcome& outcome);
void topo_file(const model::Machine& machine, Outcome& outcome);
// Settings about RDMA devices.
void ib_hca(const model::Machine& machine, Outcome& outcome);
void hca_few(const model::Machine& machine, Outcome& outcome);
void gid_index(const model::Machine& machine, Outcome& outcome);
void gid_unset(const model::Machine& machine, Outcome& outcome);
void bond_qps(const model::Machine& machine, Outcome& outcome);

std::string process_label(const model::Process& process);
// The main thread's mask; children and threads inherit it. Null without threads.
const model::Observed<CpuSet>* main_mask(const model::Process& process);
bool has_nvlink(const model::Machine& machine);
std::size_t active_ports(const model::Machine& machine);

// One value of a variable, and who has it.
struct Use {
  const model::Setting* setting;
  const model::Process* process;  // null: the machine's environment or nccl.conf
};

// Each value of a variable once: those of processes, then the machine's own.
std::vector<Use> uses_of(const model::Machine& machine, std::string_view name);
// NCCL_IB_DISABLE=1; values that are more than a word in quotes: NCCL_IB_HCA="=mlx5_0".
std::string text_of(const model::Setting& setting);
Draft draft_for(const model::Machine& machine, const Use& use, std::string title);

// The libnccl the process has mapped, else the one installed; null when none is seen or no version told.
const model::LibraryFile* nccl_of(const model::Machine& machine, const model::Process* process);

}  // namespace angio::diagnose::process
