// One table of `nvidia-smi topo -p2p r|w|n|a|p` to gpu.p2p. Finding the table is smi_topo's work.
#pragma once

#include <string_view>

#include "import/draft.hpp"
#include "import/smi_topo/matrix.hpp"
#include "model/path.hpp"

namespace angio::import::smi_p2p {

// The GPU that nvidia-smi numbers so; added when the machine does not have it yet.
model::DeviceRef add_gpu(Draft& draft, std::string_view label, std::uint32_t line);

// A table about NVLink (n), atomics (a) or properties (p) says nothing about plain reads and writes:
// its GPUs are taken over, its answers are not, and a note says so.
void import_matrix(const smi_topo::Matrix& matrix, Draft& draft);

}  // namespace angio::import::smi_p2p
