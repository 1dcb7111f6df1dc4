// One search of NCCL's: channels under given demands (speed, path types, crossing of NICs), depth first,
// taking bandwidth from links as it goes and giving it back (ncclTopoSearchRec and below in
// src/graph/search.cc). Used by graph_search.cpp, which chooses the demands.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "nccl/graph_search.hpp"

namespace angio::nccl {

class ChannelSearch {
 public:
  explicit ChannelSearch(const System& system);

  // Room for the most channels of the graph.
  void reserve(ChannelGraph& graph) const;

  // Searches with trial's demands; best is replaced by anything better. time: steps left on entry; on return
  // 0 when they ran out, -1 when nothing better can exist.
  void run(ChannelGraph& trial, ChannelGraph& best, std::int64_t& time);

 private:
  enum class Order : std::uint8_t { kSearch, kPci, kReplay };
  // At most all GPUs; no heap, this is made half a million times.
  struct GpuList {
    std::array<std::uint32_t, kMostSearched> gpus{};
    std::size_t count = 0;
    void add(std::uint32_t gpu) { gpus[count++] = gpu; }
  };
  // What NCCL compares, most important first, in one number: the smallest is best.
  struct Score {
    std::uint64_t key = 0;
    std::uint64_t intra = 0;  // the part of it about the GPUs alone
    std::uint32_t gpu = 0;
  };
  struct Walk {
    int back_to_net = -1;
    int back_to_first = -1;
    Order order = Order::kSearch;
  };

  [[nodiscard]] std::size_t gpus() const { return gpus_.size(); }
  [[nodiscard]] std::size_t cell(const ChannelGraph& graph, std::size_t step) const {
    return static_cast<std::size_t>(graph.channels) * gpus() + step;
  }
  [[nodiscard]] std::size_t net_cell(const ChannelGraph& graph) const {
    return static_cast<std::size_t>(graph.channels) * 2;
  }

  void channel();
  void from_nets(const Walk& walk);
  void from_net(std::uint32_t net, std::size_t candidates, const Walk& walk, bool& found);
  void start_at_net(std::uint32_t net, const Walk& walk);
  bool start_head(std::uint32_t net, std::size_t candidates, const Walk& walk);
  void share_port(std::uint32_t net, float bandwidth);
  void try_gpu(std::uint32_t from, std::uint32_t gpu, std::size_t step, const Walk& walk);
  void at_gpu(std::uint32_t gpu, std::size_t step, const Walk& walk);
  void finish();
  void back_to_net(std::uint32_t gpu, std::size_t step, const Walk& walk);
  [[nodiscard]] bool may_return(std::uint32_t start, std::uint32_t net, std::size_t step) const;
  void onwards(std::uint32_t gpu, std::size_t step, const Walk& walk);
  void close_ring(std::uint32_t gpu, std::size_t step, Walk walk);
  void nvls_head(std::uint32_t gpu);
  [[nodiscard]] bool better() const;
  [[nodiscard]] std::uint32_t replayed(std::size_t step) const;
  [[nodiscard]] GpuList next_gpus(std::uint32_t gpu, int sort_nets);
  [[nodiscard]] GpuList next_neighbours(std::uint32_t gpu) const;
  [[nodiscard]] float pci_bandwidth(std::uint32_t gpu) const;
  [[nodiscard]] const std::vector<std::uint32_t>& nets_to_try(std::uint32_t gpu);
  [[nodiscard]] std::vector<std::uint32_t> nets_up_to(std::uint32_t gpu, PathType type) const;

  // Bandwidth along a path; false when it is not there (nothing is taken then).
  bool follow(std::uint32_t from, std::uint32_t to, float factor);
  [[nodiscard]] std::size_t take(const Path& path, std::uint32_t start, std::size_t steps, float bandwidth);
  [[nodiscard]] float* reverse_need(const SystemLink& link, std::uint32_t start, float bandwidth,
                                    float& need);

  const System& system_;
  const std::vector<std::uint32_t>& gpus_;
  const std::vector<std::uint32_t>& nets_;
  std::vector<float> left_;                            // bandwidth left on each link
  std::vector<float> net_left_;                        // on each NET
  std::vector<std::uint32_t> reverse_;                 // link of the other direction, kNone: none
  std::vector<std::vector<std::uint32_t>> near_gpus_;  // of each NET, nearest first as NCCL finds them
  std::vector<std::vector<std::uint32_t>> net_lists_;  // nets_to_try, by GPU and path type
  std::vector<bool> net_lists_made_;
  std::vector<Score> scores_;         // of next_gpus, kept for its memory
  std::vector<std::uint64_t> used_;   // by GPU: one bit a channel
  std::array<float, 2> intel_{1, 1};  // what GPU traffic through an Intel CPU takes, as a fraction
  float read_requests_ = 1;           // the part that reads of a GPU before Ampere cost backwards
  ChannelGraph* trial_ = nullptr;
  ChannelGraph* best_ = nullptr;
  std::int64_t* time_ = nullptr;
};

}  // namespace angio::nccl
