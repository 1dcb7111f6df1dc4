// Constants of what collectives reach on hardware, and the standard machines that a GPU's name stands for:
// tables [[hardware_cost]] and [[cost_machine]] of data/cost.toml. Lookups only; src/cost computes with them.
// What NCCL itself believes is not here.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace angio::knowledge {

// a = base + steps x step, b = bytes / (wire x efficiency). The quicker of two ways: a + b / low, for which
// latency counts (LL, LL128), and a x extra + b + 2 x fill x sqrt(a x extra x b), for which the wire counts
// (Simple).
struct HardwareCost {
  std::string_view id;          // "nvswitch-9 NVLS AllReduce": kind of link, algorithm, collective
  std::string_view link;        // "nvswitch-9", "infiniband"
  std::string_view algorithm;   // "Ring"
  std::string_view collective;  // empty: any that has no row of its own
  double efficiency;            // of the wire, large messages
  double base_us;               // before the first byte: launch, first hand-shake
  double step_us;               // each step of the algorithm over this link
  double fill;           // 0: latency and transfer add up; 1: optimal pipeline, (sqrt a + sqrt b) squared
  double extra;          // latency of the way for large messages, in that of the way for small ones
  double low;            // efficiency of the way for small messages, in that of the way for large ones
  double quicker;        // measured / expected time that healthy runs stay above, sizes >= 1 MiB
  double slower;         // and below, where latency is hardly a part of it
  double slower_middle;  // the same where it is a fifth
  double slower_small;   // and where it is all
  bool fitted;           // on measurements of this link; else carried over from another
  std::string_view source;
};
std::span<const HardwareCost> hardware_costs();  // by id
// The row of that collective, else the one for any; null: none.
const HardwareCost* find_hardware_cost(std::string_view link, std::string_view algorithm,
                                       std::string_view collective);

// What a node with this GPU has where nothing else is known.
struct CostMachine {
  std::string_view match;   // part of the GPU's name; the longest wins
  std::uint32_t gpus;       // of a whole node
  std::string_view fabric;  // "nvswitch", "mesh", "pcie", "xgmi"
  std::uint32_t links;      // of one GPU to others of its node; 0: none
  double link_gbs;          // GB/s of one link, one direction
  double host_gbs;          // GB/s of one GPU to its CPU, one direction
  std::uint32_t nics;
  double nic_gbps;  // Gb/s
  std::string_view nic_kind;
  std::string_view source;
};
std::span<const CostMachine> cost_machines();
const CostMachine* find_cost_machine(std::string_view gpu_name);

}  // namespace angio::knowledge
