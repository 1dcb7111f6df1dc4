// Parts of a process in words: its memory, its masks. Shared by the text and the JSON of `angio ps`.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "diagnose/binding.hpp"
#include "model/machine.hpp"

namespace angio::views {

// "0-13", "all CPUs".
std::string cpus_in_words(const model::Machine& machine, const CpuSet& cpus);
// "52 on 0-13, 3 on all CPUs".
std::string groups_in_words(const model::Machine& machine, const std::vector<diagnose::ThreadGroup>& groups);
// Names of the kinds that are not 0, largest first: {"anonymous", bytes}.
std::vector<std::pair<std::string, Bytes>> kinds_of(const model::Process& process,
                                                    const model::MemoryKinds& kinds);
Bytes sum_of(const model::MemoryKinds& kinds);
// "bind:0", or with several "bind:0; default for 12 of 40 mappings".
std::string policies_in_words(const model::Process& process);
// "2 NCCL proxy, 1 CUDA events".
std::string purposes_in_words(const model::Process& process);
// Whether shared memory without a name is CUDA's pinned host memory here.
bool maps_cuda(const model::Process& process);
std::string user_in_words(const std::map<std::uint32_t, std::string>& users, const model::Process& process);

}  // namespace angio::views
