// NVML as a directory tree, mounted at "/@nvml": every answer is the text of a file, every refusal an errno
// with NVML's own words, so that a snapshot records and replays it like any other file. Numbers are NVML's
// own; the probe gives them their meaning.
//
//   init                       "0", or code and words: "18 Driver/library version mismatch"; ENOENT: no
//   library driver_version             "550.54.15" nvml_version               "12.550.54.15"
//   cuda_driver_version        "12040"
//   gpu/                       0 1 2 …, NVML's order
//   gpu/N/name uuid serial     text
//   gpu/N/pci                  "00000000:1B:00.0"
//   gpu/N/memory               bytes: total used free
//   gpu/N/compute_capability   "9.0"
//   gpu/N/mig ecc_mode         now and after the next reset: "1 1"
//   gpu/N/ecc_uncorrected_volatile  count since the driver was loaded
//   gpu/N/remapped_rows        correctable uncorrectable pending failed
//   gpu/N/clock/sm clock/sm_max     MHz
//   gpu/N/throttle_reasons     mask: "0x4"
//   gpu/N/pstate               0 … 15; 32: unknown
//   gpu/N/power_mw power_limit_mw power_limit_default_mw   milliwatts
//   gpu/N/temperature          degrees Celsius
//   gpu/N/utilization          percent: GPU, memory
//   gpu/N/pcie_generation pcie_generation_max pcie_width pcie_width_max   maximum of GPU and slot together
//   gpu/N/pcie_replays         count
//   gpu/N/persistence          0, 1
//   gpu/N/compute_mode         0 default, 2 prohibited, 3 exclusive process
//   gpu/N/numa_node_id         the GPU's own memory as a NUMA node; -1: none
//   gpu/N/memory_affinity      nearest NUMA nodes as a list: "0", "0-1"
//   gpu/N/c2c_mode             1: NVLink-C2C to the CPU is on
//   gpu/N/addressing_mode      0 none, 1 HMM, 2 ATS
//   gpu/N/fabric               state, status, cluster UUID, clique, words: "3 0 <uuid> 0 Success"
//   gpu/N/processes            a line each: pid, bytes or "-"
//   gpu/N/link/L/state         1 active, 0 not
//   gpu/N/link/L/version       NVML's number of the NVLink version
//   gpu/N/link/L/remote_pci remote_type   bus id; 0 GPU, 1 IBM NPU, 2 switch, 255 unknown
//   gpu/N/link/L/crc replay recovery      counts
//   gpu/N/p2p/M                NVML_P2P_STATUS for reads of GPU M
//
// Errors: NOT_SUPPORTED EOPNOTSUPP, NO_PERMISSION EACCES, NOT_FOUND ENOENT, a function this version lacks
// ENOSYS, no answer within the patience ETIMEDOUT, all else (GPU lost, driver gone) EIO.
#pragma once

#include <chrono>
#include <memory>

#include "host/libraries.hpp"
#include "host/root.hpp"

namespace angio::probe {

// After this long without an answer a GPU is not asked again. Driver timeouts are of this order.
inline constexpr std::chrono::milliseconds kNvmlPatience{10'000};

// Opens the library at once, initialises it when first asked. Never fails: the tree says what is wrong.
std::unique_ptr<host::Root> make_nvml_root(const host::LibraryLoader& loader,
                                           std::chrono::milliseconds patience = kNvmlPatience);

}  // namespace angio::probe
