#include "cost/nccl_figures.hpp"

#include <algorithm>
#include <span>
#include <string>

#include "knowledge/knowledge.hpp"
#include "knowledge/nccl_topology.hpp"

namespace angio::cost {
namespace {

constexpr int kBlackwell = 100;
constexpr int kAmpere = 80;

class Reader {
 public:
  Reader(std::string_view version, int nodes) : version_(version), scale_(std::clamp(nodes, 1, 3)) {}

  [[nodiscard]] std::span<const double> list(std::string_view name) const {
    return knowledge::nccl_topology_list(name, version_);
  }
  // 0 where the release has none.
  [[nodiscard]] double value(std::string_view name, std::size_t index = 0) const {
    const auto values = list(name);
    return index < values.size() ? values[index] : 0;
  }
  [[nodiscard]] bool flag(std::string_view name) const { return value(name) != 0; }
  [[nodiscard]] std::array<double, kGenerations> by_generation(std::string_view name) const {
    std::array<double, kGenerations> values{};
    const auto found = list(name);
    std::copy_n(found.begin(), std::min(found.size(), kGenerations), values.begin());
    return values;
  }
  [[nodiscard]] std::array<double, kGenerations> by_scale(const std::string& name) const {
    return by_generation(name + "-" + std::to_string(scale_));
  }
  [[nodiscard]] ByProtocol by_protocol(std::string_view name) const {
    ByProtocol table{};
    const auto found = list(name);
    for (std::size_t i = 0; i < std::min(found.size(), kNcclAlgorithms * kNcclProtocols); ++i)
      table[i / kNcclProtocols][i % kNcclProtocols] = static_cast<float>(found[i]);
    return table;
  }

 private:
  std::string_view version_;
  int scale_;
};

void read_bandwidths(const Reader& reader, NcclFigures& figures) {
  figures.ll = reader.by_scale("tuner-ll");
  figures.ring_ll128 = reader.by_scale("tuner-ring-ll128-channel");
  figures.tree_ll128 = reader.by_scale("tuner-tree-ll128-channel");
  figures.tree = reader.by_scale("tree-channel");
  figures.nvlstree = reader.by_scale("tuner-nvlstree-channel");
  figures.nvls_efficiency = reader.by_generation("nvls-efficiency");
  figures.ring_ll_across = reader.value("tuner-ring-ll", 0);
  figures.ring_ll_within = reader.value("tuner-ring-ll", 1);
  figures.ring_ll128_part = reader.value("tuner-ring-ll128", 0);
  figures.ring_ll128_alone = reader.value("tuner-ring-ll128", 1);
  figures.tree_part = reader.value("tree-efficiency");
  figures.tree_chain_part = reader.value("tree-chain-efficiency");
  figures.tree_ll_part = reader.value("tuner-tree-ll");
  figures.tree_ll128_within = reader.value("tuner-tree-ll128", 0);
  figures.tree_ll128_across = reader.value("tuner-tree-ll128", 1);
  figures.pat_part = reader.value("tuner-pat", 0);
  figures.pat_step_part = reader.value("tuner-pat", 1);
  figures.pat_rank_us = reader.value("tuner-pat", 2);
  figures.collnet_gpu_us = reader.value("tuner-collnet-gpu");
  figures.nvls_part = reader.value("tuner-nvls-part", 0);
  figures.nvlstree_part = reader.value("tuner-nvls-part", 1);
}

void read_forms(const Reader& reader, NcclFigures& figures) {
  figures.algorithms = static_cast<int>(reader.value("tuner-algorithms"));
  figures.nvls_form = static_cast<NvlsForm>(static_cast<int>(reader.value("tuner-nvls-form")));
  figures.nvls_gathers = reader.flag("tuner-nvls-gathers");
  figures.collnet_gathers = reader.flag("tuner-collnet-gathers");
  figures.nvls_share = reader.flag("tuner-nvls-share");
  figures.gathers_unscaled = reader.flag("tuner-gathers-unscaled");
  figures.net_step_of_all = reader.flag("tuner-allreduce-all-net-steps");
  figures.lone_rank_exposed = reader.flag("tuner-lone-rank-exposed");
  figures.apart = reader.flag("tuner-apart");
  figures.ll128_listed = reader.list("tuner-ll128-capabilities");
  figures.ll128_mixed = static_cast<int>(reader.value("tuner-ll128-mixed"));
  figures.old_lists = reader.flag("tuner-old-lists");
  figures.overhead_us = reader.value("tuner-net-overhead", 0);
  figures.overhead_amd_us = reader.value("tuner-net-overhead", 1);
}

void read_kernels(const Reader& reader, NcclFigures& figures) {
  const auto whole = [&](std::string_view name, std::size_t index) {
    return static_cast<int>(reader.value(name, index));
  };
  figures.narrow_ring = reader.value("tuner-narrow-ring", 0);
  figures.narrow_threads = whole("tuner-narrow-ring", 1);
  figures.simple_threads = whole("tuner-threads", 0);
  figures.ll_threads = whole("tuner-threads", 1);
  figures.ll128_threads = whole("tuner-threads", 2);
  figures.most_threads = whole("tuner-threads", 3);
  for (std::size_t i = 0; i < figures.thresholds.size(); ++i)
    figures.thresholds[i] = whole("tuner-thresholds", i);
}

}  // namespace

std::size_t generation_of(int capability) {
  return capability >= kBlackwell ? 3U : capability >= 90 ? 2U : capability >= kAmpere ? 1U : 0U;
}

Result<NcclFigures> nccl_figures(std::string_view version, int nodes) {
  const auto age = knowledge::compare_versions(version, "2.18");
  if (!age)
    return fail(ErrorCode::kInvalidInput, "\"" + std::string(version) + "\" is no release of NCCL",
                "As NCCL prints it: 2.28.9");
  const Reader reader(version, nodes);
  if (*age < 0)
    return fail(ErrorCode::kUnsupported, "the tuner of NCCL " + std::string(version) + " is not known",
                "Releases from 2.18 on are");
  NcclFigures figures;
  figures.base = reader.by_protocol("tuner-base");
  figures.step = {reader.by_protocol("tuner-step-nvlink"), reader.by_protocol("tuner-step-pci"),
                  reader.by_protocol("tuner-step-net")};
  read_bandwidths(reader, figures);
  read_forms(reader, figures);
  read_kernels(reader, figures);
  return figures;
}

NcclTimes nccl_times(std::string_view version, const NcclJob& job) {
  const Reader reader(version, job.nodes);
  NcclTimes times;
  constexpr std::array kNames{"tuner-tree-ll-sizes", "tuner-tree-ll128-sizes", "tuner-tree-simple-sizes"};
  for (std::size_t protocol = 0; protocol < kNcclProtocols; ++protocol) {
    const auto values = reader.list(kNames.at(protocol));
    for (std::size_t i = 0; i < std::min(values.size(), times.tree[protocol].size()); ++i)
      times.tree[protocol][i] = static_cast<float>(values[i]);
  }
  times.tree_sizes = static_cast<std::size_t>(reader.value("tuner-tree-sizes"));
  times.tree_for_nvlstree = reader.flag("tuner-nvlstree-sizes") && job.capability_least >= kBlackwell &&
                            (job.cpu == NcclCpu::kIntel || job.cpu == NcclCpu::kAmd);
  times.plateau =
      static_cast<float>(reader.value("tuner-ring-plateau", job.capability_least < kAmpere ? 1 : 0));
  const bool blackwell_nvlink =
      job.capability_least >= kBlackwell && job.ring.type_intra == nccl::PathType::kNvl;
  if (job.nodes == 1 && blackwell_nvlink)
    times.plateau_within = static_cast<int>(reader.value("tuner-plateau-within"));
  times.allgather_nvls = reader.flag("tuner-allgather-nvls");
  times.least_threads = static_cast<int>(reader.value("tuner-all-threads", 0));
  times.tree_threads = static_cast<int>(reader.value("tuner-all-threads", 1));
  times.channel_traffic = static_cast<std::uint64_t>(reader.value("tuner-channel-traffic"));
  return times;
}

}  // namespace angio::cost
