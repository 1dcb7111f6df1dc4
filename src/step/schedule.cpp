#include "step/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <span>

#include "step/groups.hpp"
#include "step/pipeline.hpp"
#include "step/shape.hpp"

namespace angio::step {
namespace {

using model::NcclCollective;
using model::StepLayout;

constexpr std::uint64_t kMostOps = 4'000'000;
constexpr double kBackwardWork = 2;  // products of a backward for each of the forward

std::uint64_t size_of_type(const std::string& type) {
  return type == "half" || type == "bfloat16" ? 2 : type == "double" ? 8 : 4;
}

std::uint64_t divided(std::uint64_t value, std::uint64_t by) {
  return (value + by - 1) / by;
}

// The layers of one stage: blocks in equal shares, the embedding with the first, the head with the last.
std::vector<Layer> layers_of_stage(const StepSpec& spec, std::uint32_t stage) {
  std::vector<Layer> all = layers_of(spec.shape);
  const std::uint32_t stages = spec.layout.pipeline;
  if (stages == 1) return all;
  // A tied weight cannot be on two stages: the head has its own.
  all.back().parameters.push_back({std::uint64_t{spec.shape.vocabulary} * spec.shape.hidden, Split::kTensor});
  const std::size_t blocks = all.size() - 2;
  const std::size_t begin = 1 + blocks * stage / stages;
  const std::size_t end = 1 + blocks * (stage + 1) / stages;
  std::vector<Layer> mine;
  if (stage == 0) mine.push_back(all.front());
  mine.insert(mine.end(), all.begin() + static_cast<std::ptrdiff_t>(begin),
              all.begin() + static_cast<std::ptrdiff_t>(end));
  if (stage + 1 == stages) mine.push_back(all.back());
  return mine;
}

// Forward of each layer, one micro-batch, in milliseconds on this rank.
std::vector<double> forward_times(const StepSpec& spec, std::span<const Layer> layers) {
  const std::vector<Layer> all = layers_of(spec.shape);
  double blocks_flops = 0;
  double blocks = 0;
  for (const Layer& layer : all) {
    if (layer.forward_flops == 0 || (spec.shape.transformer && !layer.block)) continue;
    blocks_flops += layer.forward_flops;
    ++blocks;
  }
  std::vector<double> times;
  for (const Layer& layer : layers) {
    const double share = layer.forward_flops * blocks / blocks_flops;  // of a layer's mean
    const double whole = spec.compute_ms ? *spec.compute_ms * share
                                         : layer.forward_flops * spec.batch * 1e3 /
                                               (spec.flops_per_second * spec.layout.tensor);
    times.push_back(whole / spec.layout.micro_batches);
  }
  return times;
}

class Builder {
 public:
  Builder(const StepSpec& spec, std::uint32_t rank)
      : spec_(spec),
        layout_(spec.layout),
        rank_(rank),
        place_(place_of(spec.layout, rank)),
        layers_(layers_of_stage(spec, place_.pipeline)),
        times_(forward_times(spec, layers_)),
        micro_batch_(spec.batch / spec.layout.micro_batches),
        bytes_(size_of_type(spec.type)) {}

  Schedule build() {
    set_groups();
    set_buckets();
    add({.kind = OpKind::kInput});
    if (layout_.sharded && data_) {
      for (std::uint32_t i = 0; i < layout_.micro_batches; ++i)
        sharded_micro_batch();
    } else if (layout_.pipeline > 1) {
      pipeline();
    } else {
      for (std::uint32_t i = 0; i < layout_.micro_batches; ++i) {
        forward();
        backward(i + 1 == layout_.micro_batches);
      }
    }
    for (const auto& group : {expert_data_, data_}) {
      if (group && !layout_.sharded) wait(*group, Phase::kBackward);
    }
    return std::move(schedule_);
  }

 private:
  void set_groups() {
    std::vector<std::uint32_t> all(ranks_of(layout_));
    for (std::uint32_t i = 0; i < all.size(); ++i)
      all[i] = i;
    schedule_.groups.push_back(all);
    for (RankGroup& group : groups_of(layout_)) {
      const bool mine = std::ranges::find(group.ranks, rank_) != group.ranks.end();
      const bool everybody = group.ranks.size() == all.size();
      const auto number = everybody ? 0U : static_cast<std::uint32_t>(schedule_.groups.size());
      if (mine) group_of(group.kind) = number;
      if (!everybody) schedule_.groups.push_back(std::move(group.ranks));
    }
  }

  std::optional<std::uint32_t>& group_of(GroupKind kind) {
    switch (kind) {
      case GroupKind::kTensor:
        return tensor_;
      case GroupKind::kExpert:
        return expert_;
      case GroupKind::kExpertData:
        return expert_data_;
      case GroupKind::kData:
        break;
    }
    return data_;
  }

  [[nodiscard]] std::uint64_t share_of(const Parameter& parameter) const {
    return parameter.split == Split::kWhole ? parameter.elements
                                            : divided(parameter.elements, layout_.tensor);
  }
  // Gradients of experts have groups of their own.
  [[nodiscard]] bool of_expert(const Parameter& parameter) const {
    return layout_.expert > 1 && parameter.split == Split::kExpert;
  }

  // Which buckets are full after the backward of which layer.
  void set_buckets() {
    ready_.resize(layers_.size());
    if (layout_.sharded) return;
    if (data_) add_buckets(false, *data_);
    if (expert_data_) add_buckets(true, *expert_data_);
  }

  void add_buckets(bool experts, std::uint32_t group) {
    std::vector<std::uint64_t> sizes;
    std::vector<std::size_t> owners;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      for (std::size_t k = layers_[i].parameters.size(); k-- > 0;) {
        const Parameter& parameter = layers_[i].parameters[k];
        if (of_expert(parameter) != experts) continue;
        sizes.push_back(share_of(parameter) * bytes_);
        owners.push_back(i);
      }
    }
    const auto numbers = bucket_numbers(sizes, spec_.first_bucket, spec_.bucket);
    std::uint64_t filled = 0;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      filled += sizes[i];
      if (i + 1 < sizes.size() && numbers[i + 1] == numbers[i]) continue;
      const std::uint64_t elements = filled / bytes_;
      const std::uint32_t place = buffer(elements);
      ready_[owners[i]].push_back({.kind = OpKind::kStart,
                                   .phase = Phase::kBackward,
                                   .collective = NcclCollective::kAllReduce,
                                   .group = group,
                                   .count = elements,
                                   .send = place,
                                   .receive = place});
      schedule_.buckets.push_back(filled);
      filled = 0;
    }
  }

  std::uint32_t buffer(std::uint64_t elements) {
    schedule_.buffers.push_back(elements);
    return static_cast<std::uint32_t>(schedule_.buffers.size() - 1);
  }
  // One buffer for all calls of its kind, as large as the largest.
  std::uint32_t shared_buffer(std::optional<std::uint32_t>& number, std::uint64_t elements) {
    if (!number) number = buffer(0);
    schedule_.buffers[*number] = std::max(schedule_.buffers[*number], elements);
    return *number;
  }

  void add(StepOp op) {
    if (op.kind == OpKind::kStart) {
      const std::uint64_t members = schedule_.groups[op.group].size();
      const bool each = op.collective == NcclCollective::kAllGather ||
                        op.collective == NcclCollective::kReduceScatter ||
                        op.collective == NcclCollective::kAllToAll;
      const bool silent = op.collective == NcclCollective::kSendRecv && op.peer == kNobody;
      if (!silent) schedule_.sent += op.count * bytes_ * (each ? members : 1);
    }
    schedule_.ops.push_back(op);
  }
  void compute(double ms, Phase phase) {
    if (ms > 0) add({.kind = OpKind::kCompute, .phase = phase, .ms = ms});
  }
  void wait(std::uint32_t group, Phase phase) {
    add({.kind = OpKind::kWait, .phase = phase, .group = group});
  }

  void tensor_reduce(const Layer& layer, Phase phase) {
    if (!tensor_) return;
    const std::uint64_t count = layer.handed_on * micro_batch_;
    const std::uint32_t place = shared_buffer(tensor_buffer_, count);
    add({.kind = OpKind::kStart,
         .phase = phase,
         .collective = NcclCollective::kAllReduce,
         .group = *tensor_,
         .count = count,
         .send = place,
         .receive = place});
    wait(*tensor_, phase);
  }
  // Every expert gets its share of the tokens: none is liked better.
  void expert_exchange(const Layer& layer, Phase phase) {
    if (!expert_) return;
    const std::uint64_t count =
        divided(layer.handed_on * micro_batch_ * spec_.experts_a_token, layout_.expert);
    const std::uint32_t out = shared_buffer(expert_send_, count * layout_.expert);
    const std::uint32_t in = shared_buffer(expert_receive_, count * layout_.expert);
    add({.kind = OpKind::kStart,
         .phase = phase,
         .collective = NcclCollective::kAllToAll,
         .group = *expert_,
         .count = count,
         .send = out,
         .receive = in});
    wait(*expert_, phase);
  }

  // A block's attention, then its feed-forward; the second comes first in backward.
  void halves(const Layer& layer, double ms, Phase phase) {
    const bool back = phase == Phase::kBackward;
    for (const bool attention : {!back, back}) {
      if (!attention) expert_exchange(layer, phase);
      compute(ms / 2, phase);
      if (!attention) expert_exchange(layer, phase);
      tensor_reduce(layer, phase);
    }
  }
  void layer_work(std::size_t i, Phase phase) {
    const double ms = times_[i] * (phase == Phase::kBackward ? kBackwardWork : 1);
    if (layers_[i].block && (tensor_ || expert_)) {
      halves(layers_[i], ms, phase);
    } else {
      compute(ms, phase);
    }
  }

  void forward() {
    for (std::size_t i = 0; i < layers_.size(); ++i)
      layer_work(i, Phase::kForward);
  }
  void backward(bool last) {
    for (std::size_t i = layers_.size(); i-- > 0;) {
      layer_work(i, Phase::kBackward);
      for (const StepOp& bucket : ready_[i]) {
        if (last) add(bucket);
      }
    }
  }

  void pipeline() {
    for (const PipelineTurn& turn :
         pipeline_order(layout_.pipeline, place_.pipeline, layout_.micro_batches)) {
      if (turn.turn == Turn::kForward) forward();
      if (turn.turn == Turn::kBackward) backward(turn.micro_batch + 1 == layout_.micro_batches);
      if (turn.turn == Turn::kExchange) neighbours(turn);
    }
  }
  void neighbours(const PipelineTurn& turn) {
    Place other = place_;
    other.pipeline += turn.with_next ? 1U : -1U;
    const std::uint32_t peer = rank_at(layout_, other);
    const std::uint64_t count = std::uint64_t{spec_.shape.sequence} * spec_.shape.hidden * micro_batch_;
    const std::uint32_t out = shared_buffer(pipeline_send_, count);
    const std::uint32_t in = shared_buffer(pipeline_receive_, count);
    const bool sends_backward = !turn.with_next && turn.send;
    const Phase phase =
        sends_backward || (turn.with_next && turn.receive) ? Phase::kBackward : Phase::kForward;
    add({.kind = OpKind::kStart,
         .phase = phase,
         .collective = NcclCollective::kSendRecv,
         .group = 0,
         .count = count,
         .peer = turn.send ? peer : kNobody,
         .source = turn.receive ? peer : kNobody,
         .send = out,
         .receive = in});
    wait(0, phase);
  }

  // ------------------------------------------------------------------ FSDP

  [[nodiscard]] std::uint64_t shard_of(std::size_t i) const {
    std::uint64_t elements = 0;
    for (const Parameter& parameter : layers_[i].parameters)
      elements += parameter.elements;
    return divided(elements, layout_.data);
  }
  void gather(std::size_t i, Phase phase) {
    const std::uint64_t count = shard_of(i);
    const std::uint32_t out = shared_buffer(shard_, count);
    const std::uint32_t in = shared_buffer(whole_, count * layout_.data);
    add({.kind = OpKind::kStart,
         .phase = phase,
         .collective = NcclCollective::kAllGather,
         .group = *data_,
         .count = count,
         .send = out,
         .receive = in});
  }
  void scatter(std::size_t i) {
    const std::uint64_t count = shard_of(i);
    const std::uint32_t out = shared_buffer(gradient_, count * layout_.data);
    const std::uint32_t in = shared_buffer(gradient_shard_, count);
    add({.kind = OpKind::kStart,
         .phase = Phase::kBackward,
         .collective = NcclCollective::kReduceScatter,
         .group = *data_,
         .count = count,
         .send = out,
         .receive = in});
  }

  // The parameters of the next layer come while one computes; the gradients of the one before leave
  // meanwhile.
  void sharded_micro_batch() {
    const std::size_t count = layers_.size();
    gather(0, Phase::kForward);
    for (std::size_t i = 0; i < count; ++i) {
      wait(*data_, Phase::kForward);
      if (i + 1 < count) gather(i + 1, Phase::kForward);
      compute(times_[i], Phase::kForward);
    }
    for (std::size_t i = count; i-- > 0;) {
      if (i + 1 < count) {
        wait(*data_, Phase::kBackward);
        scatter(i + 1);
      }
      if (i > 0) gather(i - 1, Phase::kBackward);
      compute(times_[i] * kBackwardWork, Phase::kBackward);
    }
    wait(*data_, Phase::kBackward);
    scatter(0);
    wait(*data_, Phase::kBackward);
  }

  const StepSpec& spec_;
  const StepLayout& layout_;
  std::uint32_t rank_;
  Place place_;
  std::vector<Layer> layers_;
  std::vector<double> times_;
  std::uint64_t micro_batch_;
  std::uint64_t bytes_;
  std::optional<std::uint32_t> data_, tensor_, expert_, expert_data_;
  std::optional<std::uint32_t> tensor_buffer_, expert_send_, expert_receive_, pipeline_send_,
      pipeline_receive_;
  std::optional<std::uint32_t> shard_, whole_, gradient_, gradient_shard_;
  std::vector<std::vector<StepOp>> ready_;
  Schedule schedule_;
};

}  // namespace

Result<Schedule> make_schedule(const StepSpec& spec, std::uint32_t rank) {
  if (auto good = check_spec(spec); !good) return std::unexpected(good.error());
  if (rank >= ranks_of(spec.layout))
    return fail(ErrorCode::kInvalidInput, fmt::format("rank {} of {}", rank, ranks_of(spec.layout)));
  constexpr std::uint64_t kOpsOfLayer = 16;
  if ((spec.shape.layers + 20ULL) * spec.layout.micro_batches * kOpsOfLayer > kMostOps)
    return fail(ErrorCode::kInvalidInput, "too many layers times micro-batches for one step");
  return Builder(spec, rank).build();
}

}  // namespace angio::step
