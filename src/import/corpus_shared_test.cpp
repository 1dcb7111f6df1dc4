// Every real file of the corpus imports, or is refused with a clear reason. The table says what each holds:
// devices, nodes and CPUs as counted in the files by other means, the notes, the size of matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <set>

#include "base/text.hpp"
#include "import/import.hpp"
#include "support/import_facts.hpp"
#include "support/shared_corpus.hpp"

namespace angio::import {
namespace {

struct Expected {
  std::string_view file;
  std::string_view facts;  // the beginning is enough for a refusal
};

// clang-format off
constexpr std::array kExpected{
    Expected{"host/gcm-Altus_XE1211_Cache_Milan.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-Altus_XE1211_Cache_Rome.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-cache_downlink.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-cache_milan_good.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-cache_rome.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-cache_rome_good.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-compute_samsung980pro-downgraded.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gcm-compute_samsung980pro.json",
             "refused: not a file that describes a machine: it is JSON, but not of lscpu -J"},
    Expected{"host/gpud-dmesg-with-xid-119.log",
             "refused: not a file that describes a machine: it looks like a kernel log"},
    Expected{"host/gpud-dmesg.decode.iso.log",
             "refused: not a file that describes a machine: it looks like a kernel log"},
    Expected{"host/gpud-dmesg.peermem.log.0.txt",
             "refused: not a file that describes a machine: it looks like a kernel log"},
    Expected{"host/gpud-kmsg.2.peermem.log",
             "refused: not a file that describes a machine: it looks like a kernel log"},
    Expected{"host/gpud-lspci-vvv.txt",
             "lspci: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 517 pci"},
    Expected{"host/gpud-lspci.nn.a10.txt",
             "lspci: 1 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 20 pci; lspci.no-tree 1"},
    Expected{"host/gpud-lspci.nn.a100.txt",
             "lspci: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 31 pci; lspci.no-tree 1"},
    Expected{"host/gpud-nvidia-smi-query.535.129.03.out.0.valid.a10.txt",
             "nvidia-smi -q: 1 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi-query.535.154.05.out.0.valid.4090.txt",
             "nvidia-smi -q: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi-query.535.154.05.out.1.valid.txt",
             "nvidia-smi -q: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi-query.535.154.05.out.2.valid.txt",
             "nvidia-smi -q: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi-query.535.154.05.out.3.valid.txt",
             "nvidia-smi -q: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi-query.535.161.08.out.0.valid.txt",
             "nvidia-smi -q: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi-query.535.183.01.out.0.invalid.txt",
             "nvidia-smi -q: 1 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci; smi-query.unknown-throttle-reason 3; smi-query.gpus-missing 1"},
    Expected{"host/gpud-nvidia-smi-query.535.183.01.out.0.valid.txt",
             "nvidia-smi -q: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci"},
    Expected{"host/gpud-nvidia-smi.nvlink.status.a100.txt",
             "refused: not a file that describes a machine: it looks like a result of nvidia-smi nvlink"},
    Expected{"host/ml-engineering-network-README-L1314.txt",
             "refused: not a file that describes a machine: it looks like a result of p2pBandwidthLatencyTest"},
    Expected{"host/ml-engineering-network-README-L1334.txt",
             "refused: not a file that describes a machine: it looks like a bandwidth matrix of p2pBandwidthLatencyTest"},
    Expected{"host/ml-engineering-network-README-L1355.txt",
             "refused: not a file that describes a machine: it looks like a bandwidth matrix of p2pBandwidthLatencyTest"},
    Expected{"host/stelline-hardware-asus-esc8000a-e12-L1020.txt",
             "refused: not a file that describes a machine: it looks like a result of p2pBandwidthLatencyTest"},
    Expected{"host/stelline-hardware-puget-threadripper-pro-wrx90-L504.txt",
             "refused: not a file that describes a machine: it looks like a result of p2pBandwidthLatencyTest"},
    Expected{"host/superbench-nvbandwidth_results.log",
             "refused: not a file that describes a machine: it looks like a result of nvbandwidth"},
    Expected{"hwloc/40intel64-2g2n4c_pcilocality.xml",
             "hwloc XML: 0 gpu, 1 rdma, 5 net, 4 node, 40 cpu, 37 pci; hwloc.link-bandwidth 3"},
    Expected{"hwloc/64amd64-4p2n4ca2co.xml",
             "hwloc XML: 0 gpu, 0 rdma, 0 net, 8 node, 64 cpu, 0 pci"},
    Expected{"hwloc/fakepcilocalities.xml",
             "hwloc XML: 0 gpu, 1 rdma, 5 net, 4 node, 40 cpu, 30 pci; hwloc.link-bandwidth 3"},
    Expected{"hwloc/flux-001N_amd_gpu_corona11.xml",
             "hwloc XML: 4 gpu, 1 rdma, 3 net, 8 node, 96 cpu, 30 pci; hwloc.link-bandwidth 4"},
    Expected{"hwloc/flux-001N_multi_gpu_types_chimera.xml",
             "hwloc XML: 2 gpu, 0 rdma, 3 net, 4 node, 64 cpu, 21 pci; hwloc.link-bandwidth 21"},
    Expected{"hwloc/flux-001N_node_local_storage_lassen_0.xml",
             "hwloc XML: 4 gpu, 4 rdma, 6 net, 2 node, 160 cpu, 28 pci; hwloc.link-bandwidth 27"},
    Expected{"hwloc/flux-004N_exclusive_04-brokers-sierra_2.xml",
             "hwloc XML: 4 gpu, 4 rdma, 6 net, 6 node, 176 cpu, 28 pci"},
    Expected{"hwloc/mpibind-arm64-ulna-hwloc1.xml",
             "hwloc XML: 2 gpu, 4 rdma, 4 net, 2 node, 256 cpu, 18 pci"},
    Expected{"hwloc/mpibind-coral-lassen.xml",
             "hwloc XML: 4 gpu, 4 rdma, 6 net, 2 node, 160 cpu, 28 pci; hwloc.link-bandwidth 27"},
    Expected{"hwloc/mpibind-cts1-pascal.xml",
             "hwloc XML: 2 gpu, 1 rdma, 3 net, 2 node, 72 cpu, 14 pci; hwloc.link-bandwidth 13"},
    Expected{"hwloc/mpibind-cts1-quartz-smt1.xml",
             "hwloc XML: 0 gpu, 1 rdma, 5 net, 2 node, 36 cpu, 12 pci; hwloc.link-bandwidth 10"},
    Expected{"hwloc/mpibind-eas-tioga.xml",
             "hwloc XML: 8 gpu, 0 rdma, 5 net, 4 node, 128 cpu, 62 pci; hwloc.link-bandwidth 46; hwloc.link-bandwidth-matrix 1; hwloc.matrix-not-kept 1"},
    Expected{"hwloc/mpibind-epyc-dual-sock-hwloc1.xml",
             "hwloc XML: 0 gpu, 1 rdma, 5 net, 8 node, 128 cpu, 14 pci"},
    Expected{"hwloc/mpibind-g4dnmetal.xml",
             "hwloc XML: 8 gpu, 1 rdma, 1 net, 2 node, 96 cpu, 31 pci; hwloc.link-bandwidth 29"},
    Expected{"hwloc/mpibind-knl-snc4-flat-hwloc1.xml",
             "hwloc XML: 0 gpu, 1 rdma, 3 net, 8 node, 272 cpu, 12 pci"},
    Expected{"hwloc/xml-16amd64-4distances.xml",
             "hwloc XML: 0 gpu, 0 rdma, 0 net, 8 node, 16 cpu, 0 pci; hwloc.matrix-not-kept 3"},
    Expected{"hwloc/xml-192em64t-12gr2n8c2t.xml",
             "hwloc XML: 0 gpu, 1 rdma, 7 net, 24 node, 384 cpu, 27 pci"},
    Expected{"hwloc/xml-32em64t-2n8c2t-pci-wholeio.xml",
             "hwloc XML: 4 gpu, 1 rdma, 3 net, 2 node, 32 cpu, 17 pci"},
    Expected{"hwloc/xml-64intel64-heteromem.xml",
             "hwloc XML: 0 gpu, 0 rdma, 0 net, 8 node, 64 cpu, 0 pci"},
    Expected{"hwloc/xml-cxlmem_dax.v3.xml",
             "hwloc XML: 0 gpu, 0 rdma, 1 net, 1 node, 4 cpu, 17 pci; hwloc.link-bandwidth 9"},
    Expected{"hwloc/xml-fakeheterodistances.xml",
             "hwloc XML: 0 gpu, 0 rdma, 0 net, 8 node, 8 cpu, 0 pci; hwloc.matrix-not-kept 1"},
    Expected{"hwloc/xml-irregulargroups-disallowed.xml",
             "hwloc XML: 2 gpu, 0 rdma, 2 net, 8 node, 64 cpu, 17 pci"},
    Expected{"hwloc/xml-nvidiaDGX2.xml",
             "hwloc XML: 16 gpu, 0 rdma, 0 net, 2 node, 4 cpu, 84 pci; hwloc.link-bandwidth 84"},
    Expected{"hwloc/xml-power8gpudistances.xml",
             "hwloc XML: 4 gpu, 0 rdma, 0 net, 2 node, 16 cpu, 8 pci; hwloc.link-bandwidth 8"},
    Expected{"nccl-topo/aws-g5.48xl-topo.xml",
             "NCCL topology: 0 gpu, 0 rdma, 0 net, 2 node, 0 cpu, 9 pci; nccl.affinity-missing 2; nccl.class-missing 9"},
    Expected{"nccl-topo/aws-p4d-24xl-topo.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 2 node, 96 cpu, 16 pci; nccl.network-without-name 1"},
    Expected{"nccl-topo/aws-p5.48xl-topo.xml",
             "NCCL topology: 8 gpu, 32 rdma, 0 net, 1 node, 48 cpu, 48 pci"},
    Expected{"nccl-topo/azure-ncv4-graph.xml",
             "refused: a NCCL graph file holds search results (rings and trees), not a machine"},
    Expected{"nccl-topo/azure-ncv4-topo.xml",
             "NCCL topology: 4 gpu, 0 rdma, 1 net, 4 node, 96 cpu, 4 pci; nccl.link-unknown 4; nccl.link-to-itself 4"},
    Expected{"nccl-topo/azure-ndv2-topo.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 2 node, 40 cpu, 9 pci; nccl.network-without-name 1"},
    Expected{"nccl-topo/azure-ndv4-topo.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 4 node, 96 cpu, 20 pci; nccl.network-without-name 1"},
    Expected{"nccl-topo/azure-ndv5-topo.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 2 node, 96 cpu, 24 pci; nccl.network-without-name 1"},
    Expected{"nccl-topo/azurehpc-nc48v4-graph.xml",
             "refused: a NCCL graph file holds search results (rings and trees), not a machine"},
    Expected{"nccl-topo/azurehpc-nc48v4-topo.xml",
             "NCCL topology: 2 gpu, 0 rdma, 1 net, 2 node, 48 cpu, 2 pci; nccl.link-unknown 2"},
    Expected{"nccl-topo/issue256-h200-baremetal-node0.xml",
             "NCCL topology: 3 gpu, 3 rdma, 0 net, 1 node, 48 cpu, 9 pci"},
    Expected{"nccl-topo/issue256-h200-kvm-flat-partial.xml",
             "NCCL topology: 1 gpu, 1 rdma, 0 net, 0 node, 0 cpu, 2 pci; xml.cut-off 1; nccl.affinity-missing 1; nccl.numa-unknown 1"},
    Expected{"nccl-topo/oci-H100-topology.xml",
             "NCCL topology: 8 gpu, 16 rdma, 0 net, 2 node, 224 cpu, 40 pci"},
    Expected{"nccl-topo/oci-topo-flattened-b4.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 4 node, 124 cpu, 20 pci; nccl.affinity-length 1; nccl.network-without-name 1"},
    Expected{"nccl-topo/oci-topo-flattened.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 4 node, 64 cpu, 20 pci; nccl.network-without-name 1"},
    Expected{"nccl-topo/rccl/topo_16p1h.xml",
             "NCCL topology: 16 gpu, 8 rdma, 0 net, 4 node, 256 cpu, 52 pci"},
    Expected{"nccl-topo/rccl/topo_16p1h_vm.xml",
             "NCCL topology: 16 gpu, 8 rdma, 0 net, 4 node, 96 cpu, 24 pci"},
    Expected{"nccl-topo/rccl/topo_3p_pcie.xml",
             "NCCL topology: 3 gpu, 1 rdma, 0 net, 2 node, 64 cpu, 7 pci"},
    Expected{"nccl-topo/rccl/topo_4p1h_1.xml",
             "NCCL topology: 4 gpu, 0 rdma, 2 net, 2 node, 56 cpu, 9 pci"},
    Expected{"nccl-topo/rccl/topo_4p2h.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 1 node, 28 cpu, 19 pci"},
    Expected{"nccl-topo/rccl/topo_4p2h_1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 1 node, 28 cpu, 19 pci"},
    Expected{"nccl-topo/rccl/topo_4p2h_2nic.xml",
             "NCCL topology: 8 gpu, 2 rdma, 0 net, 1 node, 28 cpu, 20 pci"},
    Expected{"nccl-topo/rccl/topo_4p2h_3.xml",
             "NCCL topology: 8 gpu, 0 rdma, 1 net, 4 node, 128 cpu, 18 pci"},
    Expected{"nccl-topo/rccl/topo_4p3l.xml",
             "NCCL topology: 4 gpu, 0 rdma, 2 net, 1 node, 32 cpu, 11 pci"},
    Expected{"nccl-topo/rccl/topo_4p3l_2h.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 4 node, 128 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_4p3l_n2.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 4 node, 128 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_4p3l_n2_1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 4 node, 192 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_4p3l_n4.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 7 node, 112 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_4p4h.xml",
             "NCCL topology: 16 gpu, 16 rdma, 0 net, 1 node, 64 cpu, 38 pci; nccl.device-twice 14"},
    Expected{"nccl-topo/rccl/topo_4p_940.xml",
             "NCCL topology: 4 gpu, 4 rdma, 0 net, 4 node, 192 cpu, 8 pci"},
    Expected{"nccl-topo/rccl/topo_8p1h.xml",
             "NCCL topology: 8 gpu, 4 rdma, 0 net, 2 node, 48 cpu, 26 pci"},
    Expected{"nccl-topo/rccl/topo_8p1h_1.xml",
             "NCCL topology: 8 gpu, 4 rdma, 0 net, 2 node, 96 cpu, 29 pci; nccl.device-twice 1"},
    Expected{"nccl-topo/rccl/topo_8p1h_3.xml",
             "NCCL topology: 8 gpu, 4 rdma, 0 net, 4 node, 128 cpu, 12 pci"},
    Expected{"nccl-topo/rccl/topo_8p1h_4.xml",
             "NCCL topology: 8 gpu, 8 rdma, 0 net, 2 node, 64 cpu, 38 pci"},
    Expected{"nccl-topo/rccl/topo_8p1h_5.xml",
             "NCCL topology: 8 gpu, 8 rdma, 0 net, 2 node, 256 cpu, 38 pci"},
    Expected{"nccl-topo/rccl/topo_8p6l.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 2 node, 96 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_8p6l_2nic.xml",
             "NCCL topology: 8 gpu, 2 rdma, 0 net, 2 node, 96 cpu, 18 pci"},
    Expected{"nccl-topo/rccl/topo_8p6l_5nic.xml",
             "NCCL topology: 8 gpu, 5 rdma, 0 net, 2 node, 96 cpu, 21 pci"},
    Expected{"nccl-topo/rccl/topo_8p6l_6nic.xml",
             "NCCL topology: 8 gpu, 6 rdma, 0 net, 2 node, 96 cpu, 22 pci"},
    Expected{"nccl-topo/rccl/topo_8p_940vm.xml",
             "NCCL topology: 8 gpu, 8 rdma, 0 net, 2 node, 96 cpu, 16 pci"},
    Expected{"nccl-topo/rccl/topo_8p_pcie_1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 1 node, 16 cpu, 19 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 2 node, 128 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome_4n_1.xml",
             "NCCL topology: 8 gpu, 4 rdma, 0 net, 4 node, 64 cpu, 32 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome_n1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 2 node, 128 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome_n2_1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 1 net, 4 node, 128 cpu, 18 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome_n2_2.xml",
             "NCCL topology: 8 gpu, 2 rdma, 0 net, 4 node, 128 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome_n4_1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 7 node, 112 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_8p_rome_pcie.xml",
             "NCCL topology: 8 gpu, 2 rdma, 0 net, 2 node, 128 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_8p_ts1.xml",
             "NCCL topology: 8 gpu, 2 rdma, 0 net, 4 node, 128 cpu, 18 pci"},
    Expected{"nccl-topo/rccl/topo_8p_ts1_n4_1.xml",
             "NCCL topology: 8 gpu, 2 rdma, 0 net, 8 node, 128 cpu, 18 pci"},
    Expected{"nccl-topo/rccl/topo_8p_ts1_n4_2.xml",
             "NCCL topology: 8 gpu, 3 rdma, 0 net, 8 node, 128 cpu, 18 pci"},
    Expected{"nccl-topo/rccl/topo_collnet_n1.xml",
             "NCCL topology: 8 gpu, 1 rdma, 0 net, 4 node, 192 cpu, 17 pci"},
    Expected{"nccl-topo/rccl/topo_collnet_n4.xml",
             "NCCL topology: 8 gpu, 4 rdma, 0 net, 4 node, 256 cpu, 32 pci"},
    Expected{"nccl-topo/superbench-ndv5-topo.xml",
             "NCCL topology: 8 gpu, 0 rdma, 0 net, 2 node, 96 cpu, 24 pci; nccl.network-without-name 1"},
    Expected{"numactl-lscpu/cscs-docs-running-slurm-L637.txt",
             "numactl --hardware: 0 gpu, 0 rdma, 0 net, 8 node, 256 cpu, 0 pci"},
    Expected{"numactl-lscpu/lscpu-vmware_fpe.expected.txt",
             "lscpu: 0 gpu, 0 rdma, 0 net, 4 node, 16 cpu, 0 pci; lscpu.further-table 1"},
    Expected{"numactl-lscpu/lscpu-x86_64-64cpu-linux6.2.expected.txt",
             "lscpu: 0 gpu, 0 rdma, 0 net, 1 node, 8 cpu, 0 pci; lscpu.further-table 1"},
    Expected{"numactl-lscpu/lscpu-x86_64-64cpu.expected.txt",
             "lscpu: 0 gpu, 0 rdma, 0 net, 3 node, 64 cpu, 0 pci; lscpu.further-table 1"},
    Expected{"numactl-lscpu/lscpu-x86_64-epyc_7451.expected.txt",
             "lscpu: 0 gpu, 0 rdma, 0 net, 8 node, 96 cpu, 0 pci; lscpu.further-table 1"},
    Expected{"numactl-lscpu/numactl-8node-20-50-100.txt",
             "numactl --hardware: 0 gpu, 0 rdma, 0 net, 8 node, 32 cpu, 0 pci; numactl.cpus-missing 4"},
    Expected{"numactl-lscpu/numactl-8socket-distances-21-31-41-51.txt",
             "numactl --hardware: 0 gpu, 0 rdma, 0 net, 8 node, 288 cpu, 0 pci"},
    Expected{"numactl-lscpu/numactl-epyc-nps4-2s-distances.txt",
             "numactl --hardware: 0 gpu, 0 rdma, 0 net, 8 node, 0 cpu, 0 pci; numactl.cpus-missing 8"},
    Expected{"numactl-lscpu/numactl-spr-snc4-2s-distances.txt",
             "numactl --hardware: 0 gpu, 0 rdma, 0 net, 8 node, 56 cpu, 0 pci; numactl.unknown-line 4; numactl.cpus-missing 4"},
    Expected{"numactl-lscpu/stelline-hardware-puget-threadripper-pro-wrx90-L597.txt",
             "lscpu: 0 gpu, 0 rdma, 0 net, 1 node, 24 cpu, 0 pci"},
    Expected{"numactl-lscpu/stelline-hardware-puget-threadripper-pro-wrx90-L84.txt",
             "numactl --hardware: 0 gpu, 0 rdma, 0 net, 1 node, 24 cpu, 0 pci"},
    Expected{"smi-topo/Awesome-ML-SYS-Tutorial-readme-L126.txt",
             "nvidia-smi topo -m: 8 gpu, 0 rdma, 0 net, 2 node, 192 cpu, 0 pci, matrix 8"},
    Expected{"smi-topo/DeepLearningExamples-affinity-L32.txt",
             "nvidia-smi topo -m: 4 gpu, 0 rdma, 0 net, 2 node, 40 cpu, 0 pci, matrix 4"},
    Expected{"smi-topo/a100-4gpu-2nic-pxb-8numa.txt",
             "nvidia-smi topo -m: 4 gpu, 2 rdma, 0 net, 2 node, 32 cpu, 0 pci, matrix 6"},
    Expected{"smi-topo/a100-4gpu-slingshot-nps4.txt",
             "nvidia-smi topo -m: 4 gpu, 0 rdma, 0 net, 4 node, 64 cpu, 0 pci, matrix 4"},
    Expected{"smi-topo/a100_workshop-README-L113.txt",
             "nvidia-smi topo -m: 4 gpu, 1 rdma, 0 net, 2 node, 48 cpu, 0 pci, matrix 5"},
    Expected{"smi-topo/autodl-2gpu-pix-p2p-ns.txt",
             "nvidia-smi topo -m: 2 gpu, 0 rdma, 0 net, 1 node, 48 cpu, 0 pci, matrix 2; smi-p2p.other-capability 1"},
    Expected{"smi-topo/benchmarks-README-L127.txt",
             "nvidia-smi topo -m: 8 gpu, 1 rdma, 0 net, 2 node, 208 cpu, 0 pci, matrix 9"},
    Expected{"smi-topo/dranet-gke-rdma-L411.txt",
             "nvidia-smi topo -m: 8 gpu, 8 rdma, 0 net, 2 node, 224 cpu, 0 pci, matrix 16"},
    Expected{"smi-topo/gh200-quad-nv6.txt",
             "nvidia-smi topo -m: 4 gpu, 0 rdma, 0 net, 4 node, 288 cpu, 0 pci, matrix 4; smi-topo.several-nodes 4"},
    Expected{"smi-topo/gooxi-as4110g-8x4090-recabled-after.txt",
             "nvidia-smi topo -m: 8 gpu, 2 rdma, 0 net, 1 node, 64 cpu, 0 pci, matrix 10"},
    Expected{"smi-topo/gooxi-as4110g-8x4090-unbalanced-before.txt",
             "nvidia-smi topo -m: 8 gpu, 2 rdma, 0 net, 2 node, 128 cpu, 0 pci, matrix 10"},
    Expected{"smi-topo/gpu_programming_intro-pli-L281.txt",
             "nvidia-smi topo -m: 8 gpu, 6 rdma, 0 net, 2 node, 1 cpu, 0 pci, matrix 14; smi-topo.affinity-empty 4"},
    Expected{"smi-topo/llm-action-a800-env-install-L29.txt",
             "nvidia-smi topo -m: 8 gpu, 4 rdma, 0 net, 2 node, 128 cpu, 0 pci, matrix 12"},
    Expected{"smi-topo/llm-action-nvidia-smi-L264.txt",
             "nvidia-smi topo -m: 8 gpu, 4 rdma, 0 net, 2 node, 94 cpu, 0 pci, matrix 12; smi-topo.column-missing 4; smi-topo.affinity-unreadable 4; smi-topo.affinity-differs 1; smi-topo.mirrored 32; smi-topo.path-missing 6"},
    Expected{"smi-topo/ml-engineering-README-L209.txt",
             "nvidia-smi topo -p2p: 2 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci; smi-p2p.capability-unknown 1; smi-topo.unknown-line 2"},
    Expected{"smi-topo/ml-engineering-README-L333.txt",
             "nvidia-smi topo -m: 2 gpu, 0 rdma, 0 net, 0 node, 24 cpu, 0 pci, matrix 2"},
    Expected{"smi-topo/ml-engineering-README-L340.txt",
             "nvidia-smi topo -m: 2 gpu, 0 rdma, 0 net, 0 node, 12 cpu, 0 pci, matrix 2"},
    Expected{"smi-topo/ml-engineering-README-L370.txt",
             "nvidia-smi topo -m: 8 gpu, 0 rdma, 0 net, 2 node, 48 cpu, 0 pci, matrix 8"},
    Expected{"smi-topo/ml-engineering-README-L385.txt",
             "nvidia-smi topo -m: 8 gpu, 0 rdma, 0 net, 2 node, 104 cpu, 0 pci, matrix 8"},
    Expected{"smi-topo/ml-engineering-README-L757.txt",
             "nvidia-smi topo -m: 8 gpu, 0 rdma, 0 net, 2 node, 208 cpu, 0 pci, matrix 8"},
    Expected{"smi-topo/msccl-tools-test_topologies-L25.txt",
             "nvidia-smi topo -m: 8 gpu, 4 rdma, 0 net, 0 node, 80 cpu, 0 pci, matrix 12"},
    Expected{"smi-topo/nccl-gpu_troubleshooting-L29.txt",
             "nvidia-smi topo -p2p: 8 gpu, 0 rdma, 0 net, 0 node, 0 cpu, 0 pci; smi-p2p.capability-unknown 1"},
    Expected{"smi-topo/nccl-tests-check_env_log-L35.txt",
             "nvidia-smi topo -m: 2 gpu, 4 rdma, 0 net, 2 node, 56 cpu, 0 pci, matrix 6"},
    Expected{"smi-topo/nccl-tests-check_env_log-L62.txt",
             "nvidia-smi topo -m: 2 gpu, 4 rdma, 0 net, 2 node, 56 cpu, 0 pci, matrix 6"},
    Expected{"smi-topo/rtx-pro-6000-4gpu.txt",
             "nvidia-smi topo -m: 4 gpu, 0 rdma, 0 net, 2 node, 144 cpu, 0 pci, matrix 4"},
    Expected{"smi-topo/stelline-puget-threadripper-pro-wrx90-L455.txt",
             "nvidia-smi topo -m: 2 gpu, 2 rdma, 0 net, 1 node, 24 cpu, 0 pci, matrix 4"},
    Expected{"smi-topo/v100-8gpu-all-one-socket-nics-other-socket.txt",
             "nvidia-smi topo -m: 8 gpu, 2 rdma, 0 net, 1 node, 36 cpu, 0 pci, matrix 10; smi-topo.mirrored 16; smi-topo.path-missing 1; smi-topo.row-missing 2"},
};
// clang-format on

TEST(Corpus, EveryFileGivesWhatTheTableSays) {
  ANGIO_SHARED_OR_SKIP(corpus, "smi-topo");
  for (const Expected& expected : kExpected) {
    const std::string path = test::shared_corpus(std::string(expected.file));
    ASSERT_FALSE(path.empty()) << expected.file;
    const std::string name = std::filesystem::path(path).filename().string();
    const std::string facts = facts_of(test::read_whole_file(path), name);
    EXPECT_EQ(facts, expected.facts) << expected.file;
  }
}

TEST(Corpus, NoFileIsLeftOutOfTheTable) {
  ANGIO_SHARED_OR_SKIP(corpus, "smi-topo");
  std::set<std::string, std::less<>> listed;
  for (const Expected& expected : kExpected)
    listed.emplace(expected.file);
  for (const char* folder : {"smi-topo", "numactl-lscpu", "nccl-topo", "nccl-topo/rccl", "host", "hwloc"}) {
    for (const auto& entry : std::filesystem::directory_iterator(test::shared_corpus(folder))) {
      const std::string file = std::string(folder) + "/" + entry.path().filename().string();
      const bool read = std::string_view(folder) == "hwloc"           ? file.ends_with(".xml")
                        : std::string_view(folder) == "numactl-lscpu" ? file.ends_with(".txt")
                                                                      : entry.is_regular_file();
      if (read) {
        EXPECT_TRUE(listed.contains(file)) << file;
      }
    }
  }
}

// Words of the first matrix by class, found without the importer: rows are lines whose first word is a
// device; a matrix ends where a device comes a second time.
std::map<std::string, std::size_t> count_words(const std::string& text) {
  static const std::set<std::string, std::less<>> kClasses{"X", "PIX", "PXB", "PHB", "NODE", "SYS"};
  std::map<std::string, std::size_t> counts;
  std::set<std::string, std::less<>> seen;
  for (const std::string_view line : split_lines(text)) {
    const auto words = split_words(line);
    const auto is_class = [&](std::string_view word) {
      return kClasses.contains(word) || (word.starts_with("NV") && word.size() > 2 && word[2] != '#');
    };
    if (words.size() < 2 || !is_class(words[1]) || !seen.emplace(words[0]).second) continue;
    for (const std::string_view word : words) {
      if (is_class(word)) ++counts[std::string(word)];
    }
  }
  return counts;
}

TEST(Corpus, NoCellOfAnyMatrixIsLost) {
  ANGIO_SHARED_OR_SKIP(folder, "smi-topo");
  // Their paste lost a part: the importer fills those cells from their mirror, so it has more.
  const std::set<std::string> kMirrored{"llm-action-nvidia-smi-L264.txt",
                                        "v100-8gpu-all-one-socket-nics-other-socket.txt"};
  std::size_t compared = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    const std::string text = test::read_whole_file(entry.path().string());
    const auto machine = import_machine(text, name);
    ASSERT_TRUE(machine.has_value()) << name;
    if (!machine->stated_paths || kMirrored.contains(name)) continue;
    std::map<std::string, std::size_t> counts;
    for (const model::Path& path : machine->stated_paths->cells)
      ++counts[label(path)];
    EXPECT_EQ(counts, count_words(text)) << name;
    ++compared;
  }
  EXPECT_EQ(compared, 23U);
}

model::Machine import_file(const std::string& relative) {
  const std::string path = test::shared_corpus(relative);
  auto machine = import_machine(test::read_whole_file(path), std::filesystem::path(path).filename().string());
  EXPECT_TRUE(machine.has_value()) << relative;
  return machine ? std::move(*machine) : model::Machine{};
}

std::string all_distances(const model::Machine& machine) {
  std::string text;
  for (const model::NumaNode& node : machine.numa.nodes) {
    for (const std::uint32_t distance : node.distances.value_or({}))
      text += std::to_string(distance) + " ";
    text += "/ ";
  }
  return text;
}

TEST(Corpus, SpotChecks) {
  ANGIO_SHARED_OR_SKIP(corpus, "smi-topo");
  const model::Machine v100 = import_file("smi-topo/v100-8gpu-all-one-socket-nics-other-socket.txt");
  const auto path = path_between(v100, {model::DeviceKind::kRdma, 1}, {model::DeviceKind::kGpu, 7});
  EXPECT_EQ(label(path), "SYS");
  const model::Machine p2p = import_file("smi-topo/ml-engineering-README-L209.txt");
  EXPECT_TRUE(p2p.gpus.at(0).p2p.at(1).is(model::P2pStatus::kChipsetNotSupported));
  const model::Machine gh200 = import_file("smi-topo/gh200-quad-nv6.txt");
  EXPECT_TRUE(gh200.gpus.at(3).memory_numa.is(NumaId{28}));

  const model::Machine ladder = import_file("numactl-lscpu/numactl-8socket-distances-21-31-41-51.txt");
  EXPECT_EQ(ladder.numa.nodes.at(5).distances.value_or({}),
            (std::vector<std::uint32_t>{41, 41, 51, 51, 21, 10, 21, 31}));
  EXPECT_TRUE(ladder.numa.nodes.at(1).memory_free.is(Bytes{0}));
  const model::Machine cut = import_file("numactl-lscpu/numactl-8node-20-50-100.txt");
  EXPECT_EQ(to_list(cut.numa.nodes.at(6).cpus), "16-23");
  EXPECT_EQ(cut.numa.nodes.at(0).distances.value_or({}),
            (std::vector<std::uint32_t>{10, 20, 100, 100, 100, 100, 50, 50}));

  const model::Machine epyc = import_file("numactl-lscpu/lscpu-x86_64-epyc_7451.expected.txt");
  EXPECT_EQ(epyc.cpus.cores.size(), 48U);
  EXPECT_EQ(std::ranges::count(epyc.cpus.caches, 3U, &model::Cache::level), 16);
  EXPECT_TRUE(epyc.cpus.caches.back().size.is(Bytes{8ULL << 20U}));
  EXPECT_EQ(to_list(epyc.numa.nodes.at(7).cpus), "42-47,90-95");
}

TEST(Corpus, SpotChecksOfQueries) {
  ANGIO_SHARED_OR_SKIP(corpus, "host");
  const model::Machine a10 = import_file("host/gpud-nvidia-smi-query.535.129.03.out.0.valid.a10.txt");
  EXPECT_TRUE(a10.gpus.at(0).remapped_rows.is(4));
  EXPECT_TRUE(a10.gpus[0].remap_pending.is(true));
  EXPECT_TRUE(a10.gpus[0].memory_used.is(Bytes{4ULL << 20U}));
  const model::Machine h100 = import_file("host/gpud-nvidia-smi-query.535.183.01.out.0.valid.txt");
  EXPECT_TRUE(h100.gpus.at(0).pcie_replays.is(120));
  EXPECT_TRUE(h100.gpus[0].throttle_reasons.is(0x1));
  EXPECT_EQ(h100.gpus[0].fabric.value_or({}).status, "Success");
  const model::Machine pci = import_file("host/gpud-lspci-vvv.txt");
  EXPECT_EQ(std::ranges::count_if(pci.pci.devices, model::is_bridge), 59);
  for (const model::Gpu& gpu : pci.gpus) {
    const model::PciDevice& device = pci.pci.devices.at(gpu.pci.value_or(99999));
    EXPECT_TRUE(device.link.is(model::PciLink{{32e9}, 16}));
    EXPECT_TRUE(device.parent.has_value());
    EXPECT_FALSE(device.root_complex.empty());
    EXPECT_TRUE(device.driver.is("nvidia"));
  }
  const auto acs = std::ranges::count_if(pci.pci.devices, [](const model::PciDevice& device) {
    return device.acs.is_known() && device.acs.get()->request_redirect;
  });
  EXPECT_EQ(acs, 4);
}

TEST(Corpus, SpotChecksOfTrees) {
  ANGIO_SHARED_OR_SKIP(corpus, "nccl-topo");
  const model::Machine h200 = import_file("nccl-topo/issue256-h200-baremetal-node0.xml");
  EXPECT_EQ(h200.gpus.at(0).links.size(), 18U);
  EXPECT_TRUE(h200.rdma.at(0).ports.at(0).rate.is(BitsPerSecond{400e9}));
  const auto near = path_between(h200, {model::DeviceKind::kGpu, 0}, {model::DeviceKind::kRdma, 0});
  EXPECT_EQ(label(near), "PIX");
  EXPECT_EQ(label(path_between(h200, {model::DeviceKind::kGpu, 0}, {model::DeviceKind::kGpu, 1})), "NV18");

  const model::Machine sierra = import_file("hwloc/flux-004N_exclusive_04-brokers-sierra_2.xml");
  EXPECT_EQ(sierra.numa.nodes.at(2).kind, model::NumaKind::kMemoryOnly);
  EXPECT_EQ(all_distances(import_file("hwloc/mpibind-coral-lassen.xml")), "10 40 / 40 10 / ");
  EXPECT_EQ(all_distances(import_file("hwloc/flux-001N_node_local_storage_lassen_0.xml")),
            "10 40 / 40 10 / ");
  const model::Machine dgx2 = import_file("hwloc/xml-nvidiaDGX2.xml");
  EXPECT_TRUE(std::ranges::all_of(dgx2.gpus, [](const model::Gpu& gpu) { return gpu.numa.is_known(); }));
  const model::Machine hbm = import_file("hwloc/xml-64intel64-heteromem.xml");
  EXPECT_EQ(std::ranges::count(hbm.numa.nodes, model::NumaKind::kHighBandwidth, &model::NumaNode::kind), 4);
}

}  // namespace
}  // namespace angio::import
