// The hardware that a phantom node pretends to have, and its text: what `angio dryrun` writes and the
// stand-ins for the CUDA runtime, NVML and the network read. One line a device, "key=value" words apart by
// blanks (here too long for a line of a comment, hence in two):
//
//   angio-phantom 1
//   driver cuda=13000 version=580.65.06
//   gpu bus=0000:1b:00.0 name=NVIDIA%20H100%2080GB%20HBM3 sm=90 memory=85520809984 nvlinks=18 nvlink=4
//       pcie=5 width=16 gdr=1 dmabuf=0 multicast=1 numa=0
//   link gpu=0000:1b:00.0 index=0 remote=ffff:ff:ff.f class=0x068000
//   p2p gpu=0000:1b:00.0 peer=0000:43:00.0 status=4
//   net name=mlx5_0 path=/sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0 speed=400000 port=1 guid=0x1
//       latency=0 gdr=1 dmabuf=0 flush=0 comms=262144 receives=8
//
// Blanks, '%' and control characters in a value are written as %20. Order is meaning: GPUs are in CUDA's
// order, nets in the plugin's; a link or p2p line follows its GPU's. A key that is left out has the default
// below. Not the topology: NCCL reads that from its own file. Depends on nothing, for the stand-ins live in
// processes that are not ours. Throws only bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace angio::phantom {

// The variable that names the file (a path, or /proc/self/fd/N) in the environment of a phantom process.
inline constexpr const char* kHardwareVariable = "ANGIO_PHANTOM_HARDWARE";
// A folder for the files that NCCL would put into /dev/shm; whoever sets it removes it.
inline constexpr const char* kSharedMemoryVariable = "ANGIO_PHANTOM_SHM";

inline constexpr const char* kVerboseVariable = "ANGIO_PHANTOM_VERBOSE";  // 1: name refused calls on stderr

// What the stand-ins read: more GPUs or NICs is no node (NVML and NCCL stop at 32 and at 64).
inline constexpr std::size_t kMostDevices = 4096;  // of each
inline constexpr std::size_t kMostText = std::size_t{4}
                                         << 20U;  // bytes; 64 GPUs with all links are far below

struct Link {
  std::uint32_t index = 0;
  std::string remote;                     // PCI address "dddd:bb:dd.f"; NVSwitch: "ffff:ff:ff.f" is allowed
  std::uint32_t remote_class = 0x068000;  // PCI class: 0x068000 NVSwitch, 0x030200 GPU, 0x068001 IBM CPU
};

struct Peer {
  std::string bus;
  int status = 0;  // nvmlGpuP2PStatus_t: 0 OK, 1 chipset not supported, 4 disabled by regkey, 5 not supported
};

struct Gpu {
  std::string bus;  // "0000:1b:00.0", lower case
  std::string name;
  std::uint32_t sm = 80;                // compute capability times ten
  std::uint64_t memory = 80ULL << 30U;  // bytes
  std::uint32_t nvlinks = 0;            // as built
  std::uint32_t nvlink_version = 3;     // generation of NVLink: 4 is NVLink 4 (H100)
  std::uint32_t pcie_generation = 4;    // of the GPU and its slot: 5 is PCIe 5.0
  std::uint32_t pcie_width = 16;        // lanes
  bool gdr = true;                      // GPUDirect RDMA (cudaDevAttrGPUDirectRDMASupported)
  bool dmabuf = false;
  bool multicast = false;  // NVLS
  std::uint32_t numa = 0;
  std::vector<Link> links;  // those that are up
  std::vector<Peer> peers;  // those whose status is not OK
};

struct Net {
  std::string name;         // "mlx5_0": equals the name in NCCL's topology file
  std::string pci_path;     // sysfs path; its last component is the busid of the file's <pci> or <nic>
  std::uint32_t speed = 0;  // Mb/s
  std::uint32_t port = 1;
  std::uint64_t guid = 0;
  double latency = 0;  // microseconds
  bool gdr = true;
  bool dmabuf = false;
  bool force_flush = false;
  std::uint32_t max_comms = 262144;
  std::uint32_t max_receives = 8;
};

struct Hardware {
  std::uint32_t cuda_driver = 13000;  // as cudaDriverGetVersion: 13000 is CUDA 13.0
  std::string driver_version = "580.65.06";
  std::vector<Gpu> gpus;
  std::vector<Net> nets;
};

std::string write_hardware(const Hardware& hardware);

// Empty on success, else what is wrong, with the line: "line 3: gpu without bus=". Unknown keys and line
// words are errors.
std::string parse_hardware(std::string_view text, Hardware& hardware);

// What tells a GPU from all others, of this node and of other nodes (node: its NCCL_HOSTID): the answer of
// cuDeviceGetUuid and, as text "GPU-01234567-89ab-...", of nvmlDeviceGetUUID.
std::array<unsigned char, 16> gpu_uuid(std::string_view node, std::string_view bus);
std::string gpu_uuid_text(std::string_view node, std::string_view bus);

}  // namespace angio::phantom
