// What a job sends in a step, from its size and parallelism; and which of fixed costs and transfer time
// rules, by the constants of NCCL's own cost model. No congestion, no overlap: an estimate, and the text says
// so.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "knowledge/knowledge.hpp"
#include "plan/advice.hpp"

namespace angio::plan {
namespace {

constexpr const char* kDdpSource = "PyTorch documentation, DistributedDataParallel, bucket_cap_mb";
constexpr const char* kFsdpSource = "PyTorch FSDP, arXiv 2304.11277, sections 3 and 4";
constexpr const char* kTensorSource = "Megatron-LM, arXiv 1909.08053, section 3";
constexpr const char* kPipelineSource = "Megatron-LM, arXiv 2104.04473, section 2.2";
constexpr const char* kExpertSource = "GShard, arXiv 2006.16668, section 3";

std::uint32_t data_ranks(const JobShape& job) {
  return job.gpus / (job.tensor * job.pipeline);
}

// None beyond 64 bits: no such message exists.
std::optional<std::uint64_t> whole(double bytes) {
  constexpr double kLargest = 9e18;
  return bytes > 0 && bytes < kLargest ? std::optional(static_cast<std::uint64_t>(bytes)) : std::nullopt;
}

std::string size_words(double bytes) {
  return angio::in_words(Bytes{whole(bytes).value_or(0)});
}

// Ranks are counted tensor first, then data, then pipeline, as Megatron does; a group whose members stand
// `stride` apart.
void place(const JobShape& job, std::uint32_t stride, Traffic& traffic) {
  if (job.gpus_per_node > 0)
    traffic.across_nodes =
        std::uint64_t{stride} * traffic.group > job.gpus_per_node && job.gpus > job.gpus_per_node;
}

// GB/s of one GPU inside the node, one direction, as NCCL reckons; 0: not known.
double intra_gbs(const JobShape& job) {
  const knowledge::GpuModel* model = job.gpu.empty() ? nullptr : knowledge::find_gpu(job.gpu);
  if (model == nullptr) return 0;
  if (job.link == IntraLink::kPcie && model->pcie_generation >= 3)
    return knowledge::threshold("nccl-model.pcie3-x16") * std::exp2(model->pcie_generation - 3);
  if (job.link != IntraLink::kNvlink && job.link != IntraLink::kNvswitch) return 0;
  const auto* generation = knowledge::find_architecture(knowledge::capability_of(job.gpu));
  return generation == nullptr ? 0 : generation->nvlink_model * model->nvlinks;
}

// GB/s that this group has of its node's adapters; 0: not known.
double network_gbs(const JobShape& job, std::uint32_t stride) {
  if (!job.adapter_gbits || !job.adapters || job.gpus_per_node == 0) return 0;
  const double node = *job.adapter_gbits / 8 * *job.adapters;
  const double in_node = std::max(1.0, static_cast<double>(job.gpus_per_node) / stride);
  return node * std::min(1.0, in_node / job.gpus_per_node);
}

double bandwidth(const JobShape& job, const Traffic& traffic, std::uint32_t stride) {
  const double inside = intra_gbs(job);
  if (!traffic.across_nodes) return inside;
  const double outside = network_gbs(job, stride);
  return inside > 0 && outside > 0 ? std::min(inside, outside) : outside;
}

// Fixed cost of the better of Ring and Tree in protocol LL, us. Steps of AllReduce; half of them for the
// others.
double latency(const JobShape& job, const Traffic& traffic, std::uint32_t stride) {
  const double ranks = traffic.group;
  const bool nvlink = job.link == IntraLink::kNvlink || job.link == IntraLink::kNvswitch;
  const double step =
      nvlink ? knowledge::threshold("nccl-model.ll-nvlink") : knowledge::threshold("nccl-model.ll-pci");
  const double in_node = traffic.across_nodes
                             ? std::max(1.0, std::floor(static_cast<double>(job.gpus_per_node) / stride))
                             : ranks;
  const double nodes = std::ceil(ranks / in_node);
  const bool reduce = traffic.collective == "AllReduce";
  const double steps = (reduce ? 2 : 1) * (ranks - 1);
  const double between = nodes > 1 ? (reduce ? 2 : 1) * (nodes - 1) : 0;
  const double inside = nodes > 1 ? std::max(step, knowledge::threshold("nccl-model.net-overhead")) : step;
  const double ring = knowledge::threshold("nccl-model.ring-ll-base") + (steps - between) * inside +
                      between * knowledge::threshold("nccl-model.ring-ll-net");
  if (!reduce) return ring;
  const double tree = knowledge::threshold("nccl-model.tree-ll-base") +
                      2 * ((in_node - 1) * step +
                           std::floor(std::log2(nodes)) * knowledge::threshold("nccl-model.tree-ll-net"));
  return std::min(ring, tree);
}

void judge(const JobShape& job, std::uint32_t stride, Traffic& traffic) {
  place(job, stride, traffic);
  if (!traffic.bytes || traffic.group < 2) return;
  if (traffic.collective != "AllReduce" && traffic.collective != "AllGather" &&
      traffic.collective != "ReduceScatter") {
    traffic.grounds = "sends and receives: not in NCCL's model of collectives";
    return;
  }
  if (job.link == IntraLink::kUnknown || (traffic.across_nodes && job.network == Network::kUnknown)) {
    traffic.grounds = "needs --link or --gpu, and --network across nodes";
    return;
  }
  const double gbs = bandwidth(job, traffic, stride);
  traffic.latency_us = latency(job, traffic, stride);
  if (gbs <= 0) {
    traffic.grounds = traffic.across_nodes ? "needs --nics and --nic-gbps for the transfer time"
                                           : "needs --gpu for the transfer time";
    return;
  }
  const double factor = (traffic.collective == "AllReduce" ? 2.0 : 1.0) * (traffic.group - 1) / traffic.group;
  traffic.transfer_us =
      factor * static_cast<double>(*traffic.bytes) / (gbs * 1e3);  // 1 GB/s is 1000 bytes a us
  const double times = knowledge::threshold("advise.dominates");
  traffic.regime = *traffic.transfer_us > times * *traffic.latency_us   ? Regime::kBandwidth
                   : *traffic.transfer_us * times < *traffic.latency_us ? Regime::kLatency
                                                                        : Regime::kBoth;
  traffic.grounds = fmt::format("at least {:.0f} us of fixed cost, {:.0f} us of transfer at {:.0f} GB/s",
                                *traffic.latency_us, *traffic.transfer_us, gbs);
}

// "70 x 10^9 parameters"
std::string parameter_words(const JobShape& job) {
  constexpr double kBillion = 1e9;
  return fmt::format("{:g} x 10^9 parameters", *job.parameters / kBillion);
}

Traffic gradients(const JobShape& job) {
  Traffic traffic{
      .what = "gradients", .collective = "AllReduce", .group = data_ranks(job), .source = kDdpSource};
  if (!job.parameters) {
    traffic.arithmetic = "needs --params";
    return traffic;
  }
  const double total = *job.parameters / (job.tensor * job.pipeline) * job.bytes_per_value;
  const double bucket = job.bucket ? static_cast<double>(*job.bucket) : knowledge::threshold("ddp.bucket");
  traffic.bytes = whole(std::min(total, bucket));
  traffic.calls = whole(std::ceil(total / bucket));
  traffic.arithmetic =
      fmt::format("{} / ({} tp x {} pp) x {} B = {}, in buckets of {}", parameter_words(job), job.tensor,
                  job.pipeline, job.bytes_per_value, size_words(total), size_words(bucket));
  if (job.expert > 1) traffic.arithmetic += ", at most: experts are spread over their group";
  return traffic;
}

void add_sharded(const JobShape& job, std::vector<Traffic>& out) {
  Traffic gather{.what = "parameters of a layer",
                 .collective = "AllGather",
                 .group = data_ranks(job),
                 .source = kFsdpSource};
  Traffic scatter{.what = "gradients of a layer",
                  .collective = "ReduceScatter",
                  .group = data_ranks(job),
                  .source = kFsdpSource};
  if (!job.parameters || !job.layers) {
    gather.arithmetic = scatter.arithmetic = "needs --params and --layers";
  } else {
    const std::uint32_t layers = std::max(1U, *job.layers / job.pipeline);
    const double unit = *job.parameters / (job.tensor * job.pipeline) / layers * job.bytes_per_value;
    gather.bytes = scatter.bytes = whole(unit);
    gather.calls = std::uint64_t{2} * layers;
    scatter.calls = layers;
    gather.arithmetic =
        fmt::format("{} / ({} tp x {} pp) / {} layers x {} B; forward and backward", parameter_words(job),
                    job.tensor, job.pipeline, layers, job.bytes_per_value);
    scatter.arithmetic = "the same size; once, in the backward pass";
  }
  out.push_back(std::move(gather));
  out.push_back(std::move(scatter));
}

// Bytes of one layer's activations: tokens x hidden x bytes. Decoding sends one token of each sequence.
std::optional<double> activations(const JobShape& job, std::string& arithmetic) {
  const bool decode = job.inference;
  if (!job.hidden || (!decode && !job.sequence)) {
    arithmetic = decode ? "needs --hidden" : "needs --hidden and --seq";
    return std::nullopt;
  }
  const double tokens = decode ? job.micro_batch : static_cast<double>(job.micro_batch) * *job.sequence;
  arithmetic = decode ? fmt::format("{} sequences x 1 token x {} hidden x {} B, decoding", job.micro_batch,
                                    *job.hidden, job.bytes_per_value)
                      : fmt::format("{} x {} tokens x {} hidden x {} B", job.micro_batch, *job.sequence,
                                    *job.hidden, job.bytes_per_value);
  return tokens * *job.hidden * job.bytes_per_value;
}

Traffic activation_traffic(const JobShape& job, const char* what, const char* collective, std::uint32_t group,
                           double times, const char* source) {
  Traffic traffic{.what = what, .collective = collective, .group = group, .source = source};
  if (const auto bytes = activations(job, traffic.arithmetic)) {
    traffic.bytes = whole(*bytes * times);
    if (times > 1) traffic.arithmetic += fmt::format(" x {:g} experts a token", times);
  }
  return traffic;
}

// Two in the forward pass of a layer, two in its backward pass.
std::optional<std::uint64_t> layer_calls(const JobShape& job) {
  if (!job.layers) return std::nullopt;
  return std::uint64_t{job.inference ? 2U : 4U} * std::max(1U, *job.layers / job.pipeline);
}

}  // namespace

std::vector<Traffic> traffic_of(const JobShape& job) {
  std::vector<Traffic> out;
  if (job.message) {
    Traffic one{.what = "the message named",
                .collective = "AllReduce",
                .bytes = job.message,
                .group = job.gpus,
                .arithmetic = "as given",
                .source = "given"};
    judge(job, 1, one);
    out.push_back(std::move(one));
    return out;
  }
  if (job.gpus == 0) return out;
  if (!job.inference && data_ranks(job) > 1) {
    if (job.sharding == Sharding::kDdp) {
      out.push_back(gradients(job));
    } else {
      add_sharded(job, out);
    }
    for (Traffic& one : out)
      judge(job, job.tensor, one);
  }
  if (job.tensor > 1) {
    Traffic one =
        activation_traffic(job, "activations, tensor parallel", "AllReduce", job.tensor, 1, kTensorSource);
    one.calls = layer_calls(job);
    judge(job, 1, one);
    out.push_back(std::move(one));
  }
  if (job.expert > 1) {
    Traffic one =
        activation_traffic(job, "tokens to experts", "AlltoAll", job.expert, job.top_k, kExpertSource);
    one.calls = layer_calls(job);
    judge(job, job.tensor, one);
    out.push_back(std::move(one));
  }
  if (job.pipeline > 1) {
    Traffic one = activation_traffic(job, "activations, pipeline", "send/recv", 2, 1, kPipelineSource);
    judge(job, job.gpus / job.pipeline, one);
    out.push_back(std::move(one));
  }
  return out;
}

}  // namespace angio::plan
