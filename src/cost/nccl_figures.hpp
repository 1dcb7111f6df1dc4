// The figures of one NCCL release that its tuner computes with, looked up once: data/nccl_tuning.toml.
// Internal to cost.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "base/error.hpp"
#include "cost/nccl_model.hpp"

namespace angio::cost {

inline constexpr std::size_t kGenerations = 4;  // below 8.0, 8.x, 9.x, 10.0 and above

using ByProtocol = std::array<std::array<float, kNcclProtocols>, kNcclAlgorithms>;

// How the release takes NVLS.
enum class NvlsForm : int { kLikeAny = 0, kSlower = 1, kEfficiency = 2 };

struct NcclFigures {
  int algorithms = 7;
  ByProtocol base{};                 // us of a call
  std::array<ByProtocol, 3> step{};  // us of a step: NVLink, PCIe, network
  // By generation, for the number of nodes that was asked for; GB/s.
  std::array<double, kGenerations> ll{};
  std::array<double, kGenerations> ring_ll128{};
  std::array<double, kGenerations> tree_ll128{};
  std::array<double, kGenerations> tree{};
  std::array<double, kGenerations> nvlstree{};
  std::array<double, kGenerations> nvls_efficiency{};
  double ring_ll_across = 0;  // part of a ring's bandwidth: between nodes, and what reduces into everyone
  double ring_ll_within = 0;
  double ring_ll128_part = 0;
  double ring_ll128_alone = 0;  // with one GPU of a node
  double tree_part = 0;
  double tree_chain_part = 0;
  double tree_ll_part = 0;
  double tree_ll128_within = 0;
  double tree_ll128_across = 0;
  double pat_part = 0;
  double pat_rank_us = 0;
  double pat_step_part = 0;
  double collnet_gpu_us = 0;
  double nvls_part = 0;      // of NVLS bandwidth, before 2.28
  double nvlstree_part = 0;  // 2.18 alone
  NvlsForm nvls_form = NvlsForm::kEfficiency;
  bool nvls_gathers = true;              // AllGather and ReduceScatter have rows of NVLS
  bool collnet_gathers = true;           // and of CollNetDirect
  bool nvls_share = false;               // their NVLS counts (n-1)/n of the GPUs of a node
  bool gathers_unscaled = true;          // their bandwidth is not divided, whatever the algorithm but Ring
  bool net_step_of_all = false;          // 2.18 to 2.22: AllReduce counts 2n steps between n nodes
  bool lone_rank_exposed = true;         // one GPU of a node: the tree's latency of the network
  bool apart = false;                    // 2.31 on: a model for each algorithm
  std::span<const double> ll128_listed;  // LL128 unasked on these alone; empty: from 7.0 on
  int ll128_mixed = 0;                   // unlike GPUs may use LL128 from this capability on
  bool old_lists = false;                // NCCL_ALGO without functions, unknown words passed over
  double narrow_ring = 0;                // GB/s up to which a ring has fewer threads
  int narrow_threads = 0;
  int simple_threads = 0;
  int ll_threads = 0;
  int ll128_threads = 0;
  int most_threads = 0;
  std::array<int, 4> thresholds{};  // bytes of a thread: LL, LL128, Simple, CollNet
  double overhead_us = 0;
  double overhead_amd_us = 0;
};

// nodes: which of the lists by scale are taken.
Result<NcclFigures> nccl_figures(std::string_view version, int nodes);

NcclTimes nccl_times(std::string_view version, const NcclJob& job);

// Threads, thresholds and channels.
void set_nccl_kernels(const NcclFigures& figures, NcclTable& table);

std::size_t generation_of(int capability);

}  // namespace angio::cost
