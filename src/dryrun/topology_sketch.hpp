// A topology drawn from little: from a few words ("8xh100-sxm+8x400g/2") or from the matrix that
// `nvidia-smi topo -m` prints, which has no PCI addresses. Addresses, switches and what nobody said are made
// up in the usual way, and said in notes. A machine or a topology file tells more: use that where there is
// one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/machine.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::dryrun {

struct Sketch {
  nccl::Element root;              // <system>
  std::string gpu;                 // the model of its GPUs, as --gpu names it
  std::vector<std::string> notes;  // what was made up
};

// True for text that begins like "8xh100-sxm".
bool looks_like_words(std::string_view text);

// "<GPUs>x<model>[+<NICs>x<Gb/s>g][/<NUMA nodes>]". Without /N: two NUMA nodes from four GPUs on, else one.
// GPUs and NICs are dealt evenly: as many switches as there are of the fewer, so that each NIC is next to a
// GPU.
Result<Sketch> sketch_words(std::string_view text);

// machine: with stated_paths. gpu: the model, which the matrix does not tell. nic_gbits: Gb/s of every NIC.
Result<Sketch> sketch_matrix(const model::Machine& machine, std::string_view gpu, std::uint32_t nic_gbits);

}  // namespace angio::dryrun
