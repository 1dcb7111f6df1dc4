// What runs on the machine: kernel, drivers, libraries, container and VM, limits, settings.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "base/units.hpp"
#include "model/observed.hpp"

namespace angio::model {

struct LibraryFile {
  std::string name;     // "libcuda.so.1"
  std::string path;     // resolved
  std::string version;  // "570.86.15"; empty when the file name does not say
  Source source;
};

struct Limit {
  std::optional<std::uint64_t> soft;  // none: unlimited
  std::optional<std::uint64_t> hard;
};

struct Setting {
  std::string name;  // "NCCL_IB_HCA"
  std::string value;
  Source source;  // environment, or the file and line
};

struct Software {
  Observed<std::string> hostname;
  Observed<std::string> kernel;  // "5.15.0-1053-oracle"
  Observed<std::string> kernel_command_line;
  Observed<std::string> distribution;     // "Ubuntu 22.04.4 LTS"
  Observed<std::string> clock_source;     // "tsc"
  Observed<std::string> virtual_machine;  // "KVM", "Hyper-V", "Nitro", "VMware", "gVisor"; absent: bare metal
  Observed<std::string> container;        // "docker", "kubernetes", "podman", "enroot"…; absent: none
  Observed<std::string> product;          // DMI: "NVIDIA DGX H100"
  Observed<std::string> bios_version;

  Observed<std::string> nvidia_loaded;   // kernel module in memory: /proc/driver/nvidia/version
  Observed<std::string> nvidia_on_disk;  // module file for the running kernel
  Observed<bool> nvidia_open;            // open kernel modules
  Observed<std::string> nvml_error;      // nvmlInit's words when it failed
  Observed<std::string> nvml_driver;     // nvmlSystemGetDriverVersion
  Observed<std::uint32_t> cuda_driver;   // 12040 = CUDA 12.4, what the driver supports
  Observed<std::string> ofed;            // "MLNX_OFED 24.10", "DOCA-OFED …", "inbox"
  Observed<std::string> rdma_core;       // libibverbs file version
  Observed<std::string> amdgpu_loaded;
  std::vector<LibraryFile> libraries;          // libcuda, libnvidia-ml, libnccl, libibverbs found on disk
  Observed<std::vector<std::string>> modules;  // loaded kernel modules, sorted

  Observed<Limit> memlock;  // bytes
  Observed<Limit> open_files;
  Observed<Bytes> shm_size;
  Observed<Bytes> shm_free;
  Observed<bool> fabric_manager_running;
  std::vector<Setting> settings;  // environment by allow-list, nccl.conf
};

struct Thread {
  std::uint32_t id = 0;
  std::string name;
  Observed<CpuSet> allowed;
  Observed<std::uint32_t> last_cpu;
};

// Resident bytes of one process on one node, by what is behind them; each byte counts once.
struct MemoryKinds {
  std::uint64_t anonymous = 0;
  std::uint64_t shared = 0;            // /dev/shm, System V, memfd
  std::uint64_t shared_anonymous = 0;  // no name: where CUDA keeps pinned host buffers
  std::uint64_t file = 0;
  std::uint64_t huge = 0;    // hugetlbfs
  std::uint64_t device = 0;  // mapped by a driver
  std::uint64_t other = 0;   // the source does not tell
};

struct Process {
  std::uint32_t id = 0;
  std::string command;              // first words only; arguments may hold secrets
  std::vector<std::uint32_t> gpus;  // indices in machine.gpus
  std::vector<Thread> threads;
  Observed<CpuSet> allowed_memory;                                  // Mems_allowed
  Observed<std::map<std::uint32_t, std::uint64_t>> bytes_per_node;  // numa_maps
  Observed<std::map<std::string, std::uint64_t>> policies;          // "default" → mappings
  std::vector<LibraryFile> libraries;                               // mapped: libnccl, libcuda, …
  Observed<Bytes> memory_limit;                                     // cgroup
  Observed<double> cpu_limit;                                       // cgroup, in CPUs
  Observed<Limit> memlock;
  std::vector<Setting> settings;
  Observed<std::uint32_t> parent;
  Observed<std::uint32_t> user;                           // its number
  Observed<Bytes> pinned;                                 // VmPin: held for devices, RDMA buffers for one
  Observed<Bytes> locked;                                 // VmLck: mlock
  Observed<std::map<std::uint32_t, MemoryKinds>> memory;  // by node; bytes_per_node is the sum
  Observed<std::vector<std::uint32_t>> opened_gpus;       // whose device file it holds; CUDA opens them all
  Observed<std::vector<std::uint32_t>> rdma;              // in machine.rdma, whose device file it holds
  std::vector<std::uint16_t> listening;                   // TCP ports
};

}  // namespace angio::model
