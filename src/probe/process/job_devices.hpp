// Which device a device file belongs to: /dev/nvidiaN and /dev/dri/renderDN to GPUs, uverbsN to RDMA
// devices; and which sockets listen. One look a survey, then asked for each open file. Used by probe_jobs.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe::process {

struct DeviceFiles {
  std::map<std::string, std::uint32_t, std::less<>> gpus;  // "/dev/nvidia3" → index in machine.gpus
  std::map<std::string, std::uint32_t, std::less<>> rdma;  // "/dev/infiniband/uverbs0" → in machine.rdma
  std::map<std::uint64_t, std::uint16_t> listening;        // inode of a socket → TCP port
};

DeviceFiles find_device_files(const host::Root& root, const model::Machine& machine);

}  // namespace angio::probe::process
