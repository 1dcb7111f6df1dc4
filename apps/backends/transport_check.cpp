#include "transport_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "elements.hpp"

namespace angio::backend {
namespace {

using collective::Call;
using collective::Element;
using collective::Memory;
using collective::Reduction;
using collective::Transport;
using Kind = model::NcclCollective;

constexpr Element kElements[] = {Element::kInt8,   Element::kUint8,   Element::kInt32, Element::kUint32,
                                 Element::kInt64,  Element::kUint64,  Element::kHalf,  Element::kFloat,
                                 Element::kDouble, Element::kBfloat16};
constexpr Reduction kReductions[] = {Reduction::kSum, Reduction::kProduct, Reduction::kMinimum,
                                     Reduction::kMaximum, Reduction::kAverage};
constexpr Kind kReducing[] = {Kind::kAllReduce, Kind::kReduce, Kind::kReduceScatter};
constexpr Kind kMoving[] = {Kind::kAllGather, Kind::kAllToAll, Kind::kBroadcast,
                            Kind::kGather,    Kind::kScatter,  Kind::kSendRecv};

struct Members {
  collective::Group group = 0;
  std::vector<std::uint32_t> ranks;  // of the whole job
  std::uint32_t own = 0;             // place of this rank among them
};

// 1, 2 or 3, so that sums and products of a few ranks are exact in every type.
double value_of(std::uint32_t rank, std::uint64_t index) {
  return static_cast<double>((rank * 7 + index * 5 + index / 11) % 3 + 1);
}

double reduced(Reduction reduction, Element element, const Members& members, std::uint64_t index) {
  double result = value_of(0, index);
  for (std::uint32_t i = 1; i < members.ranks.size(); ++i) {
    const double next = value_of(i, index);
    if (reduction == Reduction::kProduct) result *= next;
    if (reduction == Reduction::kMinimum) result = std::min(result, next);
    if (reduction == Reduction::kMaximum) result = std::max(result, next);
    if (reduction == Reduction::kSum || reduction == Reduction::kAverage) result += next;
  }
  if (reduction != Reduction::kAverage) return result;
  result /= static_cast<double>(members.ranks.size());
  const bool whole = element != Element::kHalf && element != Element::kFloat && element != Element::kDouble &&
                     element != Element::kBfloat16;
  return whole ? std::trunc(result) : result;
}

class Checker {
 public:
  Checker(Transport& transport, std::uint64_t count) : transport_(transport), count_(count) {}

  Result<void> prepare(std::uint32_t most_ranks) {
    room_ = count_ * most_ranks;
    for (Memory* memory : {&send_, &receive_}) {
      auto got = transport_.allocate(Bytes{room_ * sizeof(double)});
      if (!got) return std::unexpected(got.error());
      *memory = *got;
    }
    return {};
  }

  Result<void> check_all(const Members& members) {
    in_pass_ = 0;
    for (const Element element : kElements) {
      for (const Kind kind : kMoving)
        if (auto done = check_both(members, kind, element, Reduction::kSum); !done) return done;
      if (element != Element::kFloat) {
        for (const Kind kind : kReducing)
          if (auto done = check_both(members, kind, element, Reduction::kSum); !done) return done;
      }
    }
    for (const Element element :
         {Element::kFloat, Element::kHalf, Element::kInt8, Element::kBfloat16, Element::kInt64}) {
      for (const Reduction reduction : kReductions) {
        if (reduction == Reduction::kProduct && members.ranks.size() > 4) continue;
        for (const Kind kind : kReducing)
          if (auto done = check_both(members, kind, element, reduction); !done) return done;
      }
    }
    return {};
  }

  // A reduce-scatter and an all-gather of its result, begun together: calls of a group run in their order.
  Result<void> check_order(const Members& members) {
    const std::uint64_t n = members.ranks.size();
    const std::uint64_t share = count_ / n;
    if (share == 0) return {};
    if (auto done = fill(send_, share * n, Element::kFloat, members.own); !done) return done;
    Call scatter{.collective = Kind::kReduceScatter,
                 .group = members.group,
                 .send = send_,
                 .receive = receive_,
                 .count = share};
    scatter.receive += members.own * share * sizeof(float);
    Call gather{.collective = Kind::kAllGather,
                .group = members.group,
                .send = scatter.receive,
                .receive = receive_,
                .count = share};
    Call again{.collective = Kind::kAllReduce,
               .group = members.group,
               .send = receive_,
               .receive = send_,
               .count = share * n};
    for (const Call& call : {scatter, gather, again})
      if (auto begun = transport_.start(call); !begun) return begun;
    if (auto done = transport_.finish_group(members.group); !done) return done;
    if (auto done = transport_.finish(); !done) return done;
    ++calls_;
    return compare(send_, share * n, Element::kFloat, "three calls begun together", [&](std::uint64_t i) {
      return reduced(Reduction::kSum, Element::kFloat, members, i) * static_cast<double>(n);
    });
  }

  [[nodiscard]] std::string in_words() const {
    const std::string refused = refused_ == 0 ? "" : fmt::format("; {} that the library cannot do", refused_);
    return fmt::format("{} calls, data right{}", calls_ - refused_, refused);
  }

 private:
  Result<void> check_both(const Members& members, Kind kind, Element element, Reduction reduction) {
    if (auto done = check_one(members, kind, element, reduction, false); !done) return done;
    if (kind == Kind::kAllToAll || kind == Kind::kSendRecv) return {};
    return check_one(members, kind, element, reduction, true);
  }

  Result<void> fill(Memory at, std::uint64_t count, Element element, std::uint32_t rank) {
    const std::size_t size = collective::size_of(element);
    bytes_.resize(count * size);
    for (std::uint64_t i = 0; i < count; ++i)
      store(element, bytes_.data() + i * size, value_of(rank, i));
    return transport_.write(at, bytes_);
  }

  template <typename Expected>
  Result<void> compare(Memory at, std::uint64_t count, Element element, std::string_view what,
                       Expected expected) {
    const std::size_t size = collective::size_of(element);
    bytes_.resize(count * size);
    if (auto got = transport_.read(at, bytes_); !got) return got;
    // An average by three is no number of a short type.
    const double allowed = size <= 2 ? 0.01 : 1e-6;
    for (std::uint64_t i = 0; i < count; ++i) {
      const double found = load(element, bytes_.data() + i * size);
      const double wanted = expected(i);
      if (std::fabs(found - wanted) > allowed * std::fabs(wanted)) {
        return fail(ErrorCode::kBug, fmt::format("{} of {} {}: element {} is {}, expected {}", what, count,
                                                 label(element), i, found, wanted));
      }
    }
    return {};
  }

  Call make_call(const Members& members, Kind kind, Element element, Reduction reduction,
                 bool in_place) const {
    const auto n = static_cast<std::uint32_t>(members.ranks.size());
    Call call{.collective = kind,
              .group = members.group,
              .send = send_,
              .receive = receive_,
              .count = count_,
              .element = element,
              .reduction = reduction,
              .root = n - 1};
    call.peer = (members.own + 1) % n;
    call.source = (members.own + n - 1) % n;
    if (!in_place) return call;
    const Memory own_block = members.own * count_ * collective::size_of(element);
    call.receive = send_;
    if (kind == Kind::kAllGather || (kind == Kind::kGather && members.own == call.root))
      call.send += own_block;
    if (kind == Kind::kReduceScatter || (kind == Kind::kScatter && members.own == call.root))
      call.receive += own_block;
    return call;
  }

  // What the rank puts in, at the place from which it is sent.
  Result<void> fill_for(const Call& call, const Members& members) {
    const std::uint64_t n = members.ranks.size();
    const bool blocks = call.collective == Kind::kReduceScatter || call.collective == Kind::kAllToAll ||
                        (call.collective == Kind::kScatter && members.own == call.root);
    std::vector<std::byte> nothing(room_ * collective::size_of(call.element));
    if (auto done = transport_.write(receive_, nothing); !done) return done;
    return fill(call.send, blocks ? count_ * n : count_, call.element, members.own);
  }

  Result<void> check_one(const Members& members, Kind kind, Element element, Reduction reduction,
                         bool in_place) {
    const Call call = make_call(members, kind, element, reduction, in_place);
    const std::string what = fmt::format("{} ({}{}) in group {}", model::name_of(kind), label(reduction),
                                         in_place ? ", in place" : "", members.group);
    if (auto done = fill_for(call, members); !done) return done;
    // Every third call through start() and finish(), the others as the benchmark does. The same on every
    // member: in MPI a blocking call does not meet a nonblocking one.
    const bool begun = in_pass_++ % 3 == 0;
    ++calls_;
    Result<void> done;
    if (begun) {
      done = transport_.start(call);
      if (done) done = transport_.finish();
    } else if (auto taken = transport_.time_batch(call, 1); !taken) {
      done = std::unexpected(taken.error());
    }
    if (!done && done.error().code == ErrorCode::kUnsupported) {
      ++refused_;
      return {};
    }
    if (!done) return std::unexpected(std::move(done).error().with_context(what));
    return compare_for(call, members, what);
  }

  Result<void> compare_for(const Call& call, const Members& members, const std::string& what) {
    const std::uint64_t n = members.ranks.size();
    const bool root = members.own == call.root;
    const auto values = [&](std::uint64_t blocks, auto value) {
      return compare(call.receive, count_ * blocks, call.element, what, value);
    };
    switch (call.collective) {
      case Kind::kReduce:
        if (!root) return {};
        [[fallthrough]];
      case Kind::kAllReduce:
        return values(1, [&](std::uint64_t i) { return reduced(call.reduction, call.element, members, i); });
      case Kind::kReduceScatter:
        return values(1, [&](std::uint64_t i) {
          return reduced(call.reduction, call.element, members, members.own * count_ + i);
        });
      case Kind::kGather:
        if (!root) return {};
        [[fallthrough]];
      case Kind::kAllGather:
        return values(
            n, [&](std::uint64_t i) { return value_of(static_cast<std::uint32_t>(i / count_), i % count_); });
      case Kind::kAllToAll:
        return values(n, [&](std::uint64_t i) {
          return value_of(static_cast<std::uint32_t>(i / count_), members.own * count_ + i % count_);
        });
      case Kind::kBroadcast:
        return values(1, [&](std::uint64_t i) { return value_of(call.root, i); });
      case Kind::kScatter:
        return values(1, [&](std::uint64_t i) { return value_of(call.root, members.own * count_ + i); });
      default:
        return values(1, [&](std::uint64_t i) { return value_of(call.source, i); });
    }
  }

  Transport& transport_;
  std::uint64_t count_;
  std::uint64_t room_ = 0;  // elements of a buffer
  std::uint64_t calls_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t in_pass_ = 0;  // calls of this check_all()
  Memory send_ = 0;
  Memory receive_ = 0;
  std::vector<std::byte> bytes_;
};

// Even ranks, backwards, so that places in the group are not those in the job.
std::vector<std::uint32_t> even_ranks(std::uint32_t ranks) {
  std::vector<std::uint32_t> even;
  for (std::uint32_t rank = ranks; rank-- > 0;)
    if (rank % 2 == 0) even.push_back(rank);
  return even;
}

Result<void> check_group(Checker& checker, Transport& transport) {
  Members members{0, even_ranks(transport.ranks()), 0};
  const auto group = transport.make_group(members.ranks);
  if (!group) return std::unexpected(group.error());
  members.group = *group;
  for (std::uint32_t i = 0; i < members.ranks.size(); ++i) {
    if (members.ranks[i] != transport.rank()) continue;
    members.own = i;
    if (auto done = checker.check_all(members); !done) return done;
    return checker.check_order(members);
  }
  return {};
}

}  // namespace

Result<std::string> check_transport(Transport& transport, std::uint64_t count) {
  Checker checker(transport, count);
  Members all{0, std::vector<std::uint32_t>(transport.ranks()), transport.rank()};
  std::iota(all.ranks.begin(), all.ranks.end(), 0U);
  Result<void> done = checker.prepare(transport.ranks());
  if (done) done = checker.check_all(all);
  if (done) done = checker.check_order(all);
  if (done) done = check_group(checker, transport);
  if (done) done = checker.check_all(all);  // the whole group still works
  if (!done) return std::unexpected(done.error());
  return checker.in_words();
}

}  // namespace angio::backend
