#include "collective/thread_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <barrier>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <type_traits>
#include <vector>

namespace angio::collective {

using model::NcclCollective;

struct ThreadWorld::State {
  explicit State(std::uint32_t count) : ranks(count), meet(count), move(count), texts(count), calls(count) {}
  std::uint32_t ranks;
  std::barrier<> meet;
  std::barrier<> move;
  std::vector<std::string> texts;
  std::vector<Call> calls;
  Damage damage;
};

namespace {

const std::byte* bytes_at(Memory memory) {
  return reinterpret_cast<const std::byte*>(memory);  // NOLINT: an address of allocate()
}

std::byte* writable_at(Memory memory) {
  return reinterpret_cast<std::byte*>(memory);  // NOLINT: an address of allocate()
}

// Whole numbers wrap around, as in the libraries; signed ones may not in C++.
template <typename Number>
auto as_computed(Number number) {
  if constexpr (std::is_integral_v<Number>)
    return static_cast<std::uint64_t>(number);
  else
    return number;
}

template <typename Number>
Number folded(Number a, Number b, Reduction reduction) {
  switch (reduction) {
    case Reduction::kProduct:
      return static_cast<Number>(as_computed(a) * as_computed(b));
    case Reduction::kMinimum:
      return std::min(a, b);
    case Reduction::kMaximum:
      return std::max(a, b);
    case Reduction::kSum:
    case Reduction::kAverage:
      break;
  }
  return static_cast<Number>(as_computed(a) + as_computed(b));
}

template <typename Number>
void fold_as(std::span<std::byte> into, const std::byte* from, Reduction reduction) {
  for (std::size_t i = 0; i + sizeof(Number) <= into.size(); i += sizeof(Number)) {
    Number a{};
    Number b{};
    std::memcpy(&a, into.data() + i, sizeof a);
    std::memcpy(&b, from + i, sizeof b);
    a = folded(a, b, reduction);
    std::memcpy(into.data() + i, &a, sizeof a);
  }
}

template <typename Number>
void divide_as(std::span<std::byte> into, std::uint32_t ranks) {
  for (std::size_t i = 0; i + sizeof(Number) <= into.size(); i += sizeof(Number)) {
    Number a{};
    std::memcpy(&a, into.data() + i, sizeof a);
    a = static_cast<Number>(a / static_cast<Number>(ranks));
    std::memcpy(into.data() + i, &a, sizeof a);
  }
}

Result<void> fold(Element element, std::span<std::byte> into, const std::byte* from, Reduction reduction) {
  switch (element) {
    case Element::kInt8:
      fold_as<std::int8_t>(into, from, reduction);
      return {};
    case Element::kUint8:
      fold_as<std::uint8_t>(into, from, reduction);
      return {};
    case Element::kInt32:
      fold_as<std::int32_t>(into, from, reduction);
      return {};
    case Element::kUint32:
      fold_as<std::uint32_t>(into, from, reduction);
      return {};
    case Element::kInt64:
      fold_as<std::int64_t>(into, from, reduction);
      return {};
    case Element::kUint64:
      fold_as<std::uint64_t>(into, from, reduction);
      return {};
    case Element::kFloat:
      fold_as<float>(into, from, reduction);
      return {};
    case Element::kDouble:
      fold_as<double>(into, from, reduction);
      return {};
    case Element::kHalf:
    case Element::kBfloat16:
      break;
  }
  return fail(ErrorCode::kUnsupported, "threads do not add half and bfloat16");
}

void divide(Element element, std::span<std::byte> into, std::uint32_t ranks) {
  if (element == Element::kFloat) return divide_as<float>(into, ranks);
  if (element == Element::kDouble) return divide_as<double>(into, ranks);
  if (element == Element::kInt32) return divide_as<std::int32_t>(into, ranks);
}

class HostMemory {
 public:
  Result<Memory> allocate(Bytes size) {
    std::vector<std::byte> block(size.value);
    const auto memory = reinterpret_cast<Memory>(block.data());  // NOLINT: an address is what Memory is
    blocks_[memory] = std::move(block);
    return memory;
  }
  void release(Memory memory) { blocks_.erase(memory); }

 private:
  std::map<Memory, std::vector<std::byte>> blocks_;
};

class HostTransport : public Transport {
 public:
  Result<Memory> allocate(Bytes size) override { return memory_.allocate(size); }
  void release(Memory memory) override { memory_.release(memory); }
  Result<void> write(Memory to, std::span<const std::byte> data) override {
    if (!data.empty()) std::memcpy(writable_at(to), data.data(), data.size());
    return {};
  }
  Result<void> read(Memory from, std::span<std::byte> data) override {
    if (!data.empty()) std::memcpy(data.data(), bytes_at(from), data.size());
    return {};
  }
  Result<Group> make_group(std::span<const std::uint32_t>) override {
    return fail(ErrorCode::kUnsupported, "threads have one group");
  }
  Result<void> finish() override { return {}; }
  [[nodiscard]] bool overlaps() const override { return false; }

 private:
  HostMemory memory_;
};

class ThreadTransport final : public HostTransport {
 public:
  ThreadTransport(ThreadWorld::State& state, std::uint32_t rank) : state_(state), rank_(rank) {
    facts_.name = "threads";
    facts_.version = "1";
  }
  [[nodiscard]] const TransportFacts& facts() const override { return facts_; }
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return state_.ranks; }

  Result<void> start(const Call& call) override {
    state_.calls[rank_] = call;
    state_.move.arrive_and_wait();
    std::vector<std::byte> got;
    const Result<void> done = collect(call, got);
    state_.move.arrive_and_wait();  // nobody's data is overwritten while others read it
    if (!got.empty()) std::memcpy(writable_at(call.receive), got.data(), got.size());
    if (state_.damage) state_.damage(rank_, call, ++number_);
    state_.move.arrive_and_wait();
    return done;
  }

 private:
  void add(std::uint32_t from, std::uint64_t first, std::uint64_t bytes, std::vector<std::byte>& got) const {
    const std::byte* data = bytes_at(state_.calls[from].send) + first;
    got.insert(got.end(), data, data + bytes);
  }

  Result<void> add_reduced(const Call& call, std::uint64_t first, std::uint64_t bytes,
                           std::vector<std::byte>& got) {
    add(0, first, bytes, got);
    for (std::uint32_t from = 1; from < state_.ranks; ++from) {
      const std::byte* data = bytes_at(state_.calls[from].send) + first;
      if (auto folded = fold(call.element, got, data, call.reduction); !folded) return folded;
    }
    if (call.reduction == Reduction::kAverage) divide(call.element, got, state_.ranks);
    return {};
  }

  Result<void> collect(const Call& call, std::vector<std::byte>& got) {
    const std::uint64_t bytes = call.count * size_of(call.element);
    switch (call.collective) {
      case NcclCollective::kAllReduce:
        return add_reduced(call, 0, bytes, got);
      case NcclCollective::kReduceScatter:
        return add_reduced(call, rank_ * bytes, bytes, got);
      case NcclCollective::kReduce:
        return rank_ == call.root ? add_reduced(call, 0, bytes, got) : Result<void>{};
      case NcclCollective::kBroadcast:
        add(call.root, 0, bytes, got);
        return {};
      case NcclCollective::kScatter:
        add(call.root, rank_ * bytes, bytes, got);
        return {};
      case NcclCollective::kSendRecv:
        if (call.source != Call::kNobody) add(call.source, 0, bytes, got);
        return {};
      case NcclCollective::kGather:
      case NcclCollective::kAllGather:
        if (call.collective == NcclCollective::kGather && rank_ != call.root) return {};
        for (std::uint32_t from = 0; from < state_.ranks; ++from)
          add(from, 0, bytes, got);
        return {};
      case NcclCollective::kAllToAll:
        for (std::uint32_t from = 0; from < state_.ranks; ++from)
          add(from, rank_ * bytes, bytes, got);
        return {};
      default:
        return fail(ErrorCode::kUnsupported, "threads do not know this collective");
    }
  }

  ThreadWorld::State& state_;
  std::uint32_t rank_;
  TransportFacts facts_;
  std::uint64_t number_ = 0;
};

class ThreadMeeting final : public Meeting {
 public:
  ThreadMeeting(ThreadWorld::State& state, std::uint32_t rank) : state_(state), rank_(rank) {}
  [[nodiscard]] std::uint32_t rank() const override { return rank_; }
  [[nodiscard]] std::uint32_t ranks() const override { return state_.ranks; }
  Result<std::vector<std::string>> exchange(const std::string& own) override {
    state_.texts[rank_] = own;
    state_.meet.arrive_and_wait();
    std::vector<std::string> all = state_.texts;
    state_.meet.arrive_and_wait();
    return all;
  }

 private:
  ThreadWorld::State& state_;
  std::uint32_t rank_;
};

class IdleTransport final : public HostTransport {
 public:
  [[nodiscard]] const TransportFacts& facts() const override { return facts_; }
  [[nodiscard]] std::uint32_t rank() const override { return 0; }
  [[nodiscard]] std::uint32_t ranks() const override { return 1; }
  Result<void> start(const Call&) override { return {}; }

 private:
  TransportFacts facts_;
};

}  // namespace

ThreadWorld::ThreadWorld(std::uint32_t ranks) : state_(std::make_unique<State>(ranks)) {}
ThreadWorld::~ThreadWorld() = default;

void ThreadWorld::damage_by(Damage damage) {
  state_->damage = std::move(damage);
}

std::unique_ptr<Transport> ThreadWorld::transport(std::uint32_t rank) {
  return std::make_unique<ThreadTransport>(*state_, rank);
}

std::unique_ptr<Meeting> ThreadWorld::meeting(std::uint32_t rank) {
  return std::make_unique<ThreadMeeting>(*state_, rank);
}

std::unique_ptr<Transport> make_idle_transport() {
  return std::make_unique<IdleTransport>();
}

}  // namespace angio::collective
