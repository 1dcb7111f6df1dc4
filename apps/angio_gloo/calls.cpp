#include "calls.hpp"

#include <fmt/format.h>

#include <cstring>
#include <exception>
#include <limits>

#include "../backends/elements.hpp"
#include "../backends/host_memory.hpp"

namespace angio::gloo_backend {
namespace {

using backend::pointer_to;
using collective::Call;
using collective::Element;
using collective::Memory;
using collective::Reduction;
using Kind = model::NcclCollective;

// Slots of our own messages lie beyond those of gloo's collectives.
constexpr std::uint8_t kReduceScatterPrefix = 0x41;
constexpr std::uint8_t kSendRecvPrefix = 0x42;

class Caller {
 public:
  Caller(const Call& call, GroupState& group, const GlooOptions& options)
      : call_(call),
        group_(group),
        options_(options),
        context_(group.mesh.context),
        size_(static_cast<std::uint64_t>(context_->size)),
        rank_(static_cast<std::uint64_t>(context_->rank)),
        bytes_(call.count * collective::size_of(call.element)) {}

  Result<void> run();

 private:
  // gloo's options want a type, of which they use the size. Everything moves as bytes where nothing is
  // computed.
  [[nodiscard]] std::uint8_t* at(Memory memory) const {
    return static_cast<std::uint8_t*>(pointer_to(memory));
  }
  [[nodiscard]] bool is_root() const { return rank_ == call_.root; }
  [[nodiscard]] Memory own_block() const { return rank_ * bytes_; }

  template <typename Options>
  void common(Options& options) {
    options.setTag(group_.tag++);
    options.setTimeout(options_.timeout);
  }
  template <typename T>
  Result<void> all_reduce_as();
  Result<void> all_reduce();
  template <typename T>
  Result<void> halving_doubling_as();
  Result<void> halving_doubling();
  template <typename T>
  Result<void> reduce_as();
  Result<void> reduce();
  Result<void> reduce_scatter();
  Result<void> all_gather();
  Result<void> all_to_all();
  Result<void> broadcast();
  Result<void> gather();
  Result<void> scatter();
  Result<void> send_and_receive();
  void average() const;

  const Call& call_;
  GroupState& group_;
  const GlooOptions& options_;
  std::shared_ptr<gloo::Context> context_;
  std::uint64_t size_;
  std::uint64_t rank_;
  std::uint64_t bytes_;
};

std::function<void(void*, const void*, const void*, size_t)> function_of(const Call& call) {
  return backend::combine_of(call.element, call.reduction);
}

void Caller::average() const {
  if (call_.reduction == Reduction::kAverage)
    backend::divide(call_.element, at(call_.receive), call_.count, static_cast<std::uint32_t>(size_));
}

template <typename T>
Result<void> Caller::all_reduce_as() {
  gloo::AllreduceOptions options(context_);
  common(options);
  options.setAlgorithm(options_.all_reduce == AllReduceBy::kBcube ? gloo::AllreduceOptions::Algorithm::BCUBE
                                                                  : gloo::AllreduceOptions::Algorithm::RING);
  options.setReduceFunction(function_of(call_));
  if (call_.send != call_.receive) options.setInput(static_cast<T*>(pointer_to(call_.send)), call_.count);
  options.setOutput(static_cast<T*>(pointer_to(call_.receive)), call_.count);
  gloo::allreduce(options);
  average();
  return {};
}

Result<void> Caller::all_reduce() {
  if (options_.all_reduce == AllReduceBy::kHalvingDoubling) return halving_doubling();
  switch (collective::size_of(call_.element)) {
    case 1:
      return all_reduce_as<std::uint8_t>();
    case 2:
      return all_reduce_as<std::uint16_t>();
    case 4:
      return all_reduce_as<std::uint32_t>();
    default:
      return all_reduce_as<std::uint64_t>();
  }
}

template <typename T>
const gloo::ReductionFunction<T>* reduction_of(Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return gloo::ReductionFunction<T>::product;
    case Reduction::kMinimum:
      return gloo::ReductionFunction<T>::min;
    case Reduction::kMaximum:
      return gloo::ReductionFunction<T>::max;
    default:
      return gloo::ReductionFunction<T>::sum;
  }
}

// Of gloo's older kind: works in place, on buffers named when it is made.
template <typename T>
Result<void> Caller::halving_doubling_as() {
  if (call_.count > std::numeric_limits<int>::max())
    return fail(ErrorCode::kUnsupported, "gloo's halving-doubling counts elements in 31 bits", "Take ring");
  const GroupState::Key key{call_.receive, call_.count, call_.element, call_.reduction};
  if (group_.algorithm.second == nullptr || group_.algorithm.first != key) {
    group_.algorithm = {key, std::make_shared<gloo::AllreduceHalvingDoubling<T>>(
                                 context_, std::vector<T*>{static_cast<T*>(pointer_to(call_.receive))},
                                 static_cast<int>(call_.count), reduction_of<T>(call_.reduction))};
  }
  if (call_.send != call_.receive && bytes_ > 0) std::memcpy(at(call_.receive), at(call_.send), bytes_);
  group_.algorithm.second->run();
  average();
  return {};
}

Result<void> Caller::halving_doubling() {
  if (size_ == 1 || call_.count == 0) return all_reduce_as<std::uint8_t>();
  switch (call_.element) {
    case Element::kInt8:
      return halving_doubling_as<std::int8_t>();
    case Element::kUint8:
      return halving_doubling_as<std::uint8_t>();
    case Element::kInt32:
      return halving_doubling_as<std::int32_t>();
    case Element::kUint32:
      return halving_doubling_as<std::uint32_t>();
    case Element::kInt64:
      return halving_doubling_as<std::int64_t>();
    case Element::kUint64:
      return halving_doubling_as<std::uint64_t>();
    case Element::kHalf:
      return halving_doubling_as<gloo::float16>();
    case Element::kFloat:
      return halving_doubling_as<float>();
    case Element::kDouble:
      return halving_doubling_as<double>();
    case Element::kBfloat16:
      break;
  }
  return fail(ErrorCode::kUnsupported, "gloo's halving-doubling knows no bfloat16", "Take ring");
}

// gloo computes in the output of every rank; NCCL and MPI leave it alone except at the root.
template <typename T>
Result<void> Caller::reduce_as() {
  gloo::ReduceOptions options(context_);
  common(options);
  options.setRoot(static_cast<int>(call_.root));
  options.setReduceFunction(function_of(call_));
  T* const send = static_cast<T*>(pointer_to(call_.send));
  T* out = static_cast<T*>(pointer_to(call_.receive));
  if (!is_root()) {
    group_.scratch.resize(bytes_);
    out = static_cast<T*>(static_cast<void*>(group_.scratch.data()));
  }
  if (send != out) options.setInput(send, call_.count);
  options.setOutput(out, call_.count);
  gloo::reduce(options);
  if (is_root()) average();
  return {};
}

Result<void> Caller::reduce() {
  switch (collective::size_of(call_.element)) {
    case 1:
      return reduce_as<std::uint8_t>();
    case 2:
      return reduce_as<std::uint16_t>();
    case 4:
      return reduce_as<std::uint32_t>();
    default:
      return reduce_as<std::uint64_t>();
  }
}

// A ring: in step s the sum so far of block rank-1-s goes right, that of block rank-2-s comes from the left
// and takes in this rank's part. The last one that comes is this rank's own.
Result<void> Caller::reduce_scatter() {
  const auto combine = backend::combine_of(call_.element, call_.reduction);
  if (size_ == 1) {
    std::memmove(at(call_.receive), at(call_.send), bytes_);
    return {};
  }
  group_.scratch.resize(2 * bytes_);
  std::byte* const halves[] = {group_.scratch.data(), group_.scratch.data() + bytes_};
  const auto part = [&](std::uint64_t block) { return at(call_.send) + block % size_ * bytes_; };
  const auto slot = gloo::Slot::build(kReduceScatterPrefix, group_.tag++);
  const auto right = static_cast<int>((rank_ + 1) % size_);
  const auto left = static_cast<int>((rank_ + size_ - 1) % size_);
  for (std::uint64_t step = 0; step + 1 < size_; ++step) {
    void* const going = step == 0 ? static_cast<void*>(part(rank_ + size_ - 1)) : halves[(step + 1) % 2];
    void* const coming = halves[step % 2];
    const auto in = context_->createUnboundBuffer(coming, bytes_);
    const auto out = context_->createUnboundBuffer(going, bytes_);
    in->recv(left, slot);
    out->send(right, slot);
    in->waitRecv(options_.timeout);
    void* const result = step + 2 == size_ ? static_cast<void*>(at(call_.receive)) : coming;
    // In place the last block is read here and nowhere else.
    combine(result, coming, part(rank_ + 2 * size_ - 2 - step), call_.count);
    out->waitSend(options_.timeout);
  }
  average();
  return {};
}

Result<void> Caller::all_gather() {
  gloo::AllgatherOptions options(context_);
  common(options);
  if (call_.send != call_.receive + own_block()) options.setInput(at(call_.send), bytes_);
  options.setOutput(at(call_.receive), bytes_ * size_);
  gloo::allgather(options);
  return {};
}

Result<void> Caller::all_to_all() {
  std::uint8_t* from = at(call_.send);
  if (call_.send == call_.receive) {
    group_.scratch.resize(bytes_ * size_);
    std::memcpy(group_.scratch.data(), from, bytes_ * size_);
    from = static_cast<std::uint8_t*>(static_cast<void*>(group_.scratch.data()));
  }
  gloo::AlltoallOptions options(context_);
  common(options);
  options.setInput(from, bytes_ * size_);
  options.setOutput(at(call_.receive), bytes_ * size_);
  gloo::alltoall(options);
  return {};
}

Result<void> Caller::broadcast() {
  gloo::BroadcastOptions options(context_);
  common(options);
  options.setRoot(static_cast<int>(call_.root));
  if (is_root() && call_.send != call_.receive) options.setInput(at(call_.send), bytes_);
  options.setOutput(at(call_.receive), bytes_);
  gloo::broadcast(options);
  return {};
}

Result<void> Caller::gather() {
  gloo::GatherOptions options(context_);
  common(options);
  options.setRoot(static_cast<int>(call_.root));
  options.setInput(at(call_.send), bytes_);
  if (is_root()) options.setOutput(at(call_.receive), bytes_ * size_);
  gloo::gather(options);
  return {};
}

Result<void> Caller::scatter() {
  gloo::ScatterOptions options(context_);
  common(options);
  options.setRoot(static_cast<int>(call_.root));
  if (is_root()) {
    std::vector<std::uint8_t*> blocks;
    for (std::uint64_t i = 0; i < size_; ++i)
      blocks.push_back(at(call_.send) + i * bytes_);
    options.setInputs(blocks, bytes_);
  }
  options.setOutput(at(call_.receive), bytes_);
  gloo::scatter(options);
  return {};
}

// gloo keeps the messages of a slot between two ranks in order.
Result<void> Caller::send_and_receive() {
  const bool sends = call_.peer != Call::kNobody;
  const bool receives = call_.source != Call::kNobody;
  if (sends && receives && call_.peer == rank_ && call_.source == rank_) {
    std::memmove(at(call_.receive), at(call_.send), bytes_);
    return {};
  }
  if ((sends && call_.peer == rank_) || (receives && call_.source == rank_))
    return fail(ErrorCode::kUnsupported,
                "gloo: a rank sends to itself only what it receives in the same call");
  const auto slot = gloo::Slot::build(kSendRecvPrefix, 0);
  const auto in = context_->createUnboundBuffer(at(call_.receive), bytes_);
  const auto out = context_->createUnboundBuffer(at(call_.send), bytes_);
  if (receives) in->recv(static_cast<int>(call_.source), slot);
  if (sends) out->send(static_cast<int>(call_.peer), slot);
  if (receives) in->waitRecv(options_.timeout);
  if (sends) out->waitSend(options_.timeout);
  return {};
}

Result<void> Caller::run() {
  switch (call_.collective) {
    case Kind::kAllReduce:
      return all_reduce();
    case Kind::kReduce:
      return reduce();
    case Kind::kReduceScatter:
      return reduce_scatter();
    case Kind::kAllGather:
      return all_gather();
    case Kind::kAllToAll:
      return all_to_all();
    case Kind::kBroadcast:
      return broadcast();
    case Kind::kGather:
      return gather();
    case Kind::kScatter:
      return scatter();
    case Kind::kSendRecv:
      return send_and_receive();
    default:
      return fail(ErrorCode::kUnsupported,
                  fmt::format("gloo: {} is not done", model::name_of(call_.collective)));
  }
}

}  // namespace

Result<void> run_call(const Call& call, GroupState& group, const GlooOptions& options) {
  try {
    return Caller(call, group, options).run();
  } catch (const std::exception& error) {
    return fail(ErrorCode::kIo, fmt::format("gloo, {}: {}", model::name_of(call.collective),
                                            in_words(error.what(), group.mesh)));
  }
}

}  // namespace angio::gloo_backend
