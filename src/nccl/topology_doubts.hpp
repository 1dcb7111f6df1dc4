// What is in doubt about a topology file although its elements may each be in order: NVLinks that only NVML
// knows, errors NCCL refuses the whole file for, files of several hosts in one, and what a change brought
// in. The check of each element is in topology_check.hpp.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/machine.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::nccl {

// Numbers (else bus ids) of the GPUs with NVLink by generation for which the tree states none: NCCL asks NVML
// for these. Left out are those whose links or model the machine (may be null) tells. None of an RCCL file.
std::vector<std::string> gpus_of_unknown_links(const Element& root, const model::Machine* machine);
// The same as a remark, "gpu.no-nvlink".
void check_nvlinks(const Element& root, const model::Machine* machine, Remarks& remarks);

// NCCL fails on any host that loads such a file: nothing can be computed of it.
bool refuses(const Remark& remark);

// Of joined files: host hashes of several hosts, NICs of one name at one bus id that say different things.
void check_joined(const Element& root, Remarks& remarks);

// The remarks about a tree as it would be written.
std::vector<Remark> remarks_about(const Element& root, std::string_view version);
// Those behind a change that were not there before it; lines may have moved.
std::vector<Remark> new_remarks(const std::vector<Remark>& before, const std::vector<Remark>& after);

}  // namespace angio::nccl
