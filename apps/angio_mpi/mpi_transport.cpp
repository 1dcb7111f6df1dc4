#include "mpi_transport.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstring>
#include <vector>

#include "../backends/elements.hpp"
#include "../backends/host_memory.hpp"
#include "base/text.hpp"
#include "mpi_call.hpp"

namespace angio::mpi {
namespace {

using backend::pointer_to;
using collective::Call;
using collective::Group;
using collective::Memory;
using Clock = std::chrono::steady_clock;
using Kind = model::NcclCollective;
using Requests = std::vector<MPI_Request>;

struct Range {
  Memory from = 0;
  Memory to = 0;
  [[nodiscard]] bool meets(const Range& other) const { return from < other.to && other.from < to; }
};

// A call that was begun: what it reads and writes, and what has to be done to its result.
struct Pending {
  Call call;
  Requests requests;
  Range reads;
  Range writes;
};

struct Communicator {
  MPI_Comm handle = MPI_COMM_NULL;
  int rank = -1;
  int size = 0;
  std::vector<Pending> pending;
};

struct Moved {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  int count = 0;
};

bool has_blocks_sent(Kind kind, bool root) {
  return kind == Kind::kReduceScatter || kind == Kind::kAllToAll || (kind == Kind::kScatter && root);
}
bool has_blocks_received(Kind kind, bool root) {
  return kind == Kind::kAllGather || kind == Kind::kAllToAll || (kind == Kind::kGather && root);
}

std::uint64_t bytes_of(const Call& call) {
  return call.count * collective::size_of(call.element);
}

Memory own_block(const Call& call, const Communicator& among) {
  return static_cast<Memory>(among.rank) * bytes_of(call);
}

// One call, at once (requests: none) or begun.
template <typename AtOnce, typename Begin>
Result<void> perform(std::string_view name, Requests* requests, AtOnce at_once, Begin begin) {
  if (requests == nullptr) return checked(at_once(), name);
  MPI_Request request = MPI_REQUEST_NULL;
  auto begun = checked(begin(&request), name);
  if (begun) requests->push_back(request);
  return begun;
}

class MpiTransport final : public collective::Transport {
 public:
  explicit MpiTransport(const MpiOptions& options) : options_(options) {}
  MpiTransport(const MpiTransport&) = delete;
  MpiTransport& operator=(const MpiTransport&) = delete;
  ~MpiTransport() override;
  Result<void> begin();

  [[nodiscard]] const collective::TransportFacts& facts() const override { return facts_; }
  [[nodiscard]] std::uint32_t rank() const override { return static_cast<std::uint32_t>(groups_[0].rank); }
  [[nodiscard]] std::uint32_t ranks() const override { return static_cast<std::uint32_t>(groups_[0].size); }
  Result<void> check_room(Bytes size) override { return backend::check_room(size); }
  Result<Memory> allocate(Bytes size) override { return memory_.allocate(size); }
  void release(Memory memory) override { memory_.release(memory); }
  Result<void> write(Memory to, std::span<const std::byte> data) override { return memory_.write(to, data); }
  Result<void> read(Memory from, std::span<std::byte> data) override { return memory_.read(from, data); }

  Result<Group> make_group(std::span<const std::uint32_t> ranks) override;
  Result<void> start(const Call& call) override;
  Result<void> finish() override;
  Result<void> finish_group(Group group) override;
  // Without a thread of its own Open MPI moves a nonblocking collective on only inside calls of MPI.
  [[nodiscard]] bool overlaps() const override { return false; }

  Result<std::vector<double>> time_each(const Call& call, std::uint32_t times) override;
  Result<double> time_batch(const Call& call, std::uint32_t times) override;

 private:
  Result<void> check(const Call& call) const;
  Result<void> repeat(const Call& call, const Communicator& among, std::uint32_t times);
  Result<void> add_group(MPI_Comm handle);
  Result<Moved> moved(const Call& call);
  Result<void> post(const Call& call, const Communicator& among, Requests* requests);
  Result<void> all_reduce(const Call& call, const Communicator& among, Requests* requests);
  Result<void> reduce(const Call& call, const Communicator& among, Requests* requests);
  Result<void> reduce_to(const Call& call, const Communicator& among, int root, Requests* requests);
  Result<void> reduce_scatter(const Call& call, const Communicator& among, Requests* requests);
  Result<void> broadcast(const Call& call, const Communicator& among, Requests* requests) const;
  Result<void> move(const Call& call, const Communicator& among, Requests* requests);
  Result<void> send_and_receive(const Call& call, const Communicator& among, const Moved& what,
                                Requests* requests) const;
  [[nodiscard]] bool moves_own_block(const Call& call, const Communicator& among) const;
  void complete(const Call& call, const Communicator& among) const;
  static Pending describe(const Call& call, const Communicator& among);
  Result<void> settle(Communicator& among) const;

  MpiOptions options_;
  collective::TransportFacts facts_;
  backend::HostMemory memory_;
  Types types_;
  std::vector<Communicator> groups_;
};

std::string library_path() {
  Dl_info info{};
  const auto function = std::bit_cast<void*>(&MPI_Barrier);
  return dladdr(function, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

MpiTransport::~MpiTransport() {
  for (Communicator& group : groups_)
    if (group.handle != MPI_COMM_NULL) MPI_Comm_free(&group.handle);
}

Result<void> MpiTransport::begin() {
  facts_.name = "mpi";
  facts_.version = library_version();
  facts_.library = library_path();
  MPI_Comm all = MPI_COMM_NULL;
  if (auto made = checked(MPI_Comm_dup(MPI_COMM_WORLD, &all), "MPI_Comm_dup"); !made) return made;
  return add_group(all);
}

Result<void> MpiTransport::add_group(MPI_Comm handle) {
  Communicator group{handle, -1, 0, {}};
  if (handle != MPI_COMM_NULL) {
    if (auto set = checked(MPI_Comm_set_errhandler(handle, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
        !set)
      return set;
    if (auto got = checked(MPI_Comm_rank(handle, &group.rank), "MPI_Comm_rank"); !got) return got;
    if (auto got = checked(MPI_Comm_size(handle, &group.size), "MPI_Comm_size"); !got) return got;
  }
  groups_.push_back(std::move(group));
  return {};
}

Result<Group> MpiTransport::make_group(std::span<const std::uint32_t> ranks) {
  const auto place = std::ranges::find(ranks, rank());
  const bool member = place != ranks.end();
  MPI_Comm handle = MPI_COMM_NULL;
  const int key = static_cast<int>(place - ranks.begin());
  auto made =
      checked(MPI_Comm_split(groups_[0].handle, member ? 0 : MPI_UNDEFINED, key, &handle), "MPI_Comm_split");
  if (made) made = add_group(handle);
  if (!made) return std::unexpected(made.error());
  return static_cast<Group>(groups_.size() - 1);
}

Result<void> MpiTransport::check(const Call& call) const {
  if (call.group >= groups_.size() || groups_[call.group].handle == MPI_COMM_NULL)
    return fail(ErrorCode::kBug, fmt::format("rank {} is no member of group {}", rank(), call.group));
  const auto size = static_cast<std::uint32_t>(groups_[call.group].size);
  const auto outside = [&](std::uint32_t member) { return member >= size && member != Call::kNobody; };
  if (call.root >= size || outside(call.peer) || outside(call.source))
    return fail(ErrorCode::kBug, fmt::format("{}: a member beyond the {} of group {}",
                                             model::name_of(call.collective), size, call.group));
  return {};
}

// ------------------------------------------------------------------ one call

// count elements that are moved and not computed with.
Result<Moved> MpiTransport::moved(const Call& call) {
  const bool large = call.count > options_.most_count;
  auto type = large ? types_.block_of(bytes_of(call)) : types_.type_of(call.element);
  if (!type) return std::unexpected(type.error());
  return Moved{*type, large ? 1 : static_cast<int>(call.count)};
}

Result<void> MpiTransport::all_reduce(const Call& call, const Communicator& among, Requests* requests) {
  const auto type = types_.type_of(call.element);
  const auto operation = types_.operation_of(call.element, call.reduction);
  if (!type || !operation) return std::unexpected(type ? operation.error() : type.error());
  const std::size_t size = collective::size_of(call.element);
  std::uint64_t done = 0;
  do {
    const auto count = static_cast<int>(std::min(call.count - done, options_.most_count));
    const void* from = call.send == call.receive ? MPI_IN_PLACE : pointer_to(call.send + done * size);
    void* to = pointer_to(call.receive + done * size);
    auto called = perform(
        "MPI_Allreduce", requests,
        [&] { return MPI_Allreduce(from, to, count, *type, *operation, among.handle); },
        [&](MPI_Request* request) {
          return MPI_Iallreduce(from, to, count, *type, *operation, among.handle, request);
        });
    if (!called) return called;
    done += static_cast<std::uint64_t>(count);
  } while (done < call.count);
  return {};
}

Result<void> MpiTransport::reduce_to(const Call& call, const Communicator& among, int root,
                                     Requests* requests) {
  const auto type = types_.type_of(call.element);
  const auto operation = types_.operation_of(call.element, call.reduction);
  if (!type || !operation) return std::unexpected(type ? operation.error() : type.error());
  const std::size_t size = collective::size_of(call.element);
  const bool in_place = among.rank == root && call.send == call.receive;
  std::uint64_t done = 0;
  do {
    const auto count = static_cast<int>(std::min(call.count - done, options_.most_count));
    const void* from = in_place ? MPI_IN_PLACE : pointer_to(call.send + done * size);
    void* to = among.rank == root ? pointer_to(call.receive + done * size) : nullptr;
    auto called = perform(
        "MPI_Reduce", requests,
        [&] { return MPI_Reduce(from, to, count, *type, *operation, root, among.handle); },
        [&](MPI_Request* request) {
          return MPI_Ireduce(from, to, count, *type, *operation, root, among.handle, request);
        });
    if (!called) return called;
    done += static_cast<std::uint64_t>(count);
  } while (done < call.count);
  return {};
}

Result<void> MpiTransport::reduce(const Call& call, const Communicator& among, Requests* requests) {
  return reduce_to(call, among, static_cast<int>(call.root), requests);
}

// In place MPI leaves the result at the start of the buffer, NCCL at this rank's block: complete() moves it.
Result<void> MpiTransport::reduce_scatter(const Call& call, const Communicator& among, Requests* requests) {
  if (call.count > options_.most_count) {
    for (int root = 0; root < among.size; ++root) {
      Call block = call;
      block.send += static_cast<Memory>(root) * bytes_of(call);
      if (auto called = reduce_to(block, among, root, requests); !called) return called;
    }
    return {};
  }
  const auto type = types_.type_of(call.element);
  const auto operation = types_.operation_of(call.element, call.reduction);
  if (!type || !operation) return std::unexpected(type ? operation.error() : type.error());
  const bool in_place = call.receive == call.send + own_block(call, among);
  const void* from = in_place ? MPI_IN_PLACE : pointer_to(call.send);
  void* to = pointer_to(in_place ? call.send : call.receive);
  const auto count = static_cast<int>(call.count);
  return perform(
      "MPI_Reduce_scatter_block", requests,
      [&] { return MPI_Reduce_scatter_block(from, to, count, *type, *operation, among.handle); },
      [&](MPI_Request* request) {
        return MPI_Ireduce_scatter_block(from, to, count, *type, *operation, among.handle, request);
      });
}

Result<void> MpiTransport::broadcast(const Call& call, const Communicator& among, Requests* requests) const {
  const std::size_t size = collective::size_of(call.element);
  const auto root = static_cast<int>(call.root);
  const Memory buffer = among.rank == root ? call.send : call.receive;
  const std::uint64_t most = std::max<std::uint64_t>(1, options_.most_count / size);
  std::uint64_t done = 0;
  do {
    const auto count = static_cast<int>(std::min(call.count - done, most) * size);
    void* at = pointer_to(buffer + done * size);
    auto called = perform(
        "MPI_Bcast", requests, [&] { return MPI_Bcast(at, count, MPI_BYTE, root, among.handle); },
        [&](MPI_Request* request) { return MPI_Ibcast(at, count, MPI_BYTE, root, among.handle, request); });
    if (!called) return called;
    done += static_cast<std::uint64_t>(count) / size;
  } while (done < call.count);
  return {};
}

Result<void> MpiTransport::send_and_receive(const Call& call, const Communicator& among, const Moved& what,
                                            Requests* requests) const {
  const int to = call.peer == Call::kNobody ? MPI_PROC_NULL : static_cast<int>(call.peer);
  const int from = call.source == Call::kNobody ? MPI_PROC_NULL : static_cast<int>(call.source);
  void* const out = pointer_to(call.send);
  void* const in = pointer_to(call.receive);
  if (requests == nullptr) {
    return checked(MPI_Sendrecv(out, what.count, what.type, to, 0, in, what.count, what.type, from, 0,
                                among.handle, MPI_STATUS_IGNORE),
                   "MPI_Sendrecv");
  }
  MPI_Request request = MPI_REQUEST_NULL;
  auto begun = checked(MPI_Irecv(in, what.count, what.type, from, 0, among.handle, &request), "MPI_Irecv");
  if (!begun) return begun;
  requests->push_back(request);
  begun = checked(MPI_Isend(out, what.count, what.type, to, 0, among.handle, &request), "MPI_Isend");
  if (begun) requests->push_back(request);
  return begun;
}

// The collectives that only move.
Result<void> MpiTransport::move(const Call& call, const Communicator& among, Requests* requests) {
  const auto what = moved(call);
  if (!what) return std::unexpected(what.error());
  const MPI_Datatype t = what->type;
  const int n = what->count;
  const auto root = static_cast<int>(call.root);
  const bool is_root = among.rank == root;
  const void* from = pointer_to(call.send);
  void* to = pointer_to(call.receive);
  const Memory own = own_block(call, among);
  const MPI_Comm comm = among.handle;
  switch (call.collective) {
    case Kind::kAllGather:
      if (call.send == call.receive + own) from = MPI_IN_PLACE;
      return perform(
          "MPI_Allgather", requests, [&] { return MPI_Allgather(from, n, t, to, n, t, comm); },
          [&](MPI_Request* request) { return MPI_Iallgather(from, n, t, to, n, t, comm, request); });
    case Kind::kAllToAll:
      if (call.send == call.receive) from = MPI_IN_PLACE;
      return perform(
          "MPI_Alltoall", requests, [&] { return MPI_Alltoall(from, n, t, to, n, t, comm); },
          [&](MPI_Request* request) { return MPI_Ialltoall(from, n, t, to, n, t, comm, request); });
    case Kind::kGather:
      if (is_root && call.send == call.receive + own) from = MPI_IN_PLACE;
      return perform(
          "MPI_Gather", requests, [&] { return MPI_Gather(from, n, t, to, n, t, root, comm); },
          [&](MPI_Request* request) { return MPI_Igather(from, n, t, to, n, t, root, comm, request); });
    case Kind::kScatter:
      if (is_root && call.receive == call.send + own) to = MPI_IN_PLACE;
      return perform(
          "MPI_Scatter", requests, [&] { return MPI_Scatter(from, n, t, to, n, t, root, comm); },
          [&](MPI_Request* request) { return MPI_Iscatter(from, n, t, to, n, t, root, comm, request); });
    case Kind::kSendRecv:
      return send_and_receive(call, among, *what, requests);
    default:
      return fail(ErrorCode::kUnsupported,
                  fmt::format("MPI: {} is not done", model::name_of(call.collective)));
  }
}

Result<void> MpiTransport::post(const Call& call, const Communicator& among, Requests* requests) {
  switch (call.collective) {
    case Kind::kAllReduce:
      return all_reduce(call, among, requests);
    case Kind::kReduce:
      return reduce(call, among, requests);
    case Kind::kReduceScatter:
      return reduce_scatter(call, among, requests);
    case Kind::kBroadcast:
      return broadcast(call, among, requests);
    default:
      return move(call, among, requests);
  }
}

bool MpiTransport::moves_own_block(const Call& call, const Communicator& among) const {
  return call.collective == Kind::kReduceScatter && call.count <= options_.most_count && among.rank != 0 &&
         call.receive == call.send + own_block(call, among);
}

// What NCCL's call leaves behind and MPI's does not.
void MpiTransport::complete(const Call& call, const Communicator& among) const {
  const bool root = among.rank == static_cast<int>(call.root);
  const bool reduces = call.collective == Kind::kAllReduce || call.collective == Kind::kReduceScatter ||
                       (call.collective == Kind::kReduce && root);
  if (moves_own_block(call, among))
    std::memmove(pointer_to(call.receive), pointer_to(call.send), bytes_of(call));
  if (call.collective == Kind::kBroadcast && root && call.send != call.receive)
    std::memcpy(pointer_to(call.receive), pointer_to(call.send), bytes_of(call));
  if (reduces && call.reduction == collective::Reduction::kAverage)
    backend::divide(call.element, pointer_to(call.receive), call.count,
                    static_cast<std::uint32_t>(among.size));
}

// ------------------------------------------------------------------ begun calls

Pending MpiTransport::describe(const Call& call, const Communicator& among) {
  const bool root = among.rank == static_cast<int>(call.root);
  const auto blocks = static_cast<std::uint64_t>(among.size);
  const std::uint64_t bytes = bytes_of(call);
  const bool writes = (call.collective != Kind::kReduce && call.collective != Kind::kGather) || root;
  Pending pending{call, {}, {}, {}};
  pending.reads = {call.send, call.send + bytes * (has_blocks_sent(call.collective, root) ? blocks : 1)};
  if (writes)
    pending.writes = {call.receive,
                      call.receive + bytes * (has_blocks_received(call.collective, root) ? blocks : 1)};
  // MPI uses all of the buffer for it.
  if (call.collective == Kind::kReduceScatter && call.receive == call.send + own_block(call, among))
    pending.writes = pending.reads;
  return pending;
}

Result<void> MpiTransport::settle(Communicator& among) const {
  std::vector<Pending> pending = std::move(among.pending);
  among.pending.clear();
  Result<void> result;
  for (Pending& each : pending) {
    auto waited = checked(
        MPI_Waitall(static_cast<int>(each.requests.size()), each.requests.data(), MPI_STATUSES_IGNORE),
        "MPI_Waitall");
    if (waited) {
      complete(each.call, among);
    } else if (result) {
      result = std::unexpected(std::move(waited).error().with_context(model::name_of(each.call.collective)));
    }
  }
  return result;
}

Result<void> MpiTransport::start(const Call& call) {
  if (auto good = check(call); !good) return good;
  Communicator& among = groups_[call.group];
  Pending next = describe(call, among);
  // MPI may run two nonblocking collectives at once; the second here may need the result of the first.
  constexpr std::size_t kMostBegun = 256;
  const bool needs = std::ranges::any_of(among.pending, [&](const Pending& earlier) {
    return earlier.writes.meets(next.reads) || earlier.writes.meets(next.writes) ||
           earlier.reads.meets(next.writes);
  });
  if (needs || among.pending.size() >= kMostBegun)
    if (auto settled = settle(among); !settled) return settled;
  auto begun = post(call, among, &next.requests);
  among.pending.push_back(std::move(next));
  return begun;
}

Result<void> MpiTransport::finish_group(Group group) {
  if (group >= groups_.size()) return fail(ErrorCode::kBug, fmt::format("there is no group {}", group));
  return settle(groups_[group]);
}

Result<void> MpiTransport::finish() {
  Result<void> result;
  for (Communicator& group : groups_) {
    auto settled = settle(group);
    if (!settled && result) result = std::move(settled);
  }
  return result;
}

// ------------------------------------------------------------------ timed calls

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

Result<std::vector<double>> MpiTransport::time_each(const Call& call, std::uint32_t times) {
  if (auto good = check(call); !good) return std::unexpected(good.error());
  if (auto done = finish(); !done) return std::unexpected(done.error());
  const Communicator& among = groups_[call.group];
  std::vector<double> taken(times);
  for (double& each : taken) {
    const Clock::time_point begin = Clock::now();
    if (auto called = post(call, among, nullptr); !called) return std::unexpected(called.error());
    complete(call, among);
    each = microseconds(Clock::now() - begin);
  }
  return taken;
}

// The call that most ask for, without anything between two of MPI: some of them take a third of a
// microsecond.
Result<void> MpiTransport::repeat(const Call& call, const Communicator& among, std::uint32_t times) {
  const bool plain = call.collective == Kind::kAllReduce && call.count <= options_.most_count &&
                     call.reduction != collective::Reduction::kAverage;
  if (!plain) {
    for (std::uint32_t i = 0; i < times; ++i) {
      if (auto called = post(call, among, nullptr); !called) return called;
      complete(call, among);
    }
    return {};
  }
  const auto type = types_.type_of(call.element);
  const auto operation = types_.operation_of(call.element, call.reduction);
  if (!type || !operation) return std::unexpected(type ? operation.error() : type.error());
  const void* const from = call.send == call.receive ? MPI_IN_PLACE : pointer_to(call.send);
  void* const to = pointer_to(call.receive);
  const auto count = static_cast<int>(call.count);
  int code = MPI_SUCCESS;
  for (std::uint32_t i = 0; i < times && code == MPI_SUCCESS; ++i)
    code = MPI_Allreduce(from, to, count, *type, *operation, among.handle);
  return checked(code, "MPI_Allreduce");
}

Result<double> MpiTransport::time_batch(const Call& call, std::uint32_t times) {
  if (auto good = check(call); !good) return std::unexpected(good.error());
  if (auto done = finish(); !done) return std::unexpected(done.error());
  const Communicator& among = groups_[call.group];
  const Clock::time_point begin = Clock::now();
  if (auto done = repeat(call, among, times); !done) return std::unexpected(done.error());
  return microseconds(Clock::now() - begin);
}

}  // namespace

std::string library_version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  if (MPI_Get_library_version(text.data(), &length) != MPI_SUCCESS || length <= 0) return "MPI";
  const std::string_view whole(text.data(), static_cast<std::size_t>(length));
  return printable(trim(whole.substr(0, whole.find_first_of(",\n"))));
}

Result<std::unique_ptr<collective::Transport>> make_mpi_transport(const MpiOptions& options) {
  auto transport = std::make_unique<MpiTransport>(options);
  if (auto begun = transport->begin(); !begun) return std::unexpected(begun.error());
  return transport;
}

}  // namespace angio::mpi
