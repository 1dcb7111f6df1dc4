#include "collective/nccl_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "collective/gpu_side.hpp"
#include "collective/rank_report.hpp"
#include "host/root.hpp"
#include "nccl_run/find_nccl.hpp"
#include "nccl_run/nccl_api.hpp"

namespace angio::collective {
namespace {

using model::NcclCollective;
using nccl_run::Communicator;
using nccl_run::Outcome;

// ncclDataType_t and ncclRedOp_t (nccl.h; bfloat16 since 2.10, avg since 2.10).
constexpr std::array<int, 10> kTypes = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
constexpr std::array<int, 5> kReductions = {0, 1, 3, 2,
                                            4};  // sum, prod, min, max, avg: NCCL has max before min

int type_of(Element element) {
  return kTypes[static_cast<std::size_t>(element)];
}

void* at(Memory memory) {
  return reinterpret_cast<void*>(memory);  // NOLINT: an address is what Memory is
}

std::string hexadecimal(const nccl_run::UniqueId& id) {
  std::string text;
  for (const char byte : id.internal)
    text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

bool read_hexadecimal(std::string_view text, nccl_run::UniqueId& id) {
  if (text.size() != 2 * nccl_run::kUniqueIdSize) return false;
  for (std::size_t i = 0; i < nccl_run::kUniqueIdSize; ++i) {
    const auto byte = parse_integer<std::uint8_t>(text.substr(2 * i, 2), 16);
    if (!byte) return false;
    id.internal[i] = static_cast<char>(*byte);
  }
  return true;
}

// "2.28.9" of 22809, "2.8.4" of 2804.
std::string version_text(int version) {
  constexpr int kNewForm = 10000;  // since 2.9: two digits for the minor
  const int major = version >= kNewForm ? version / 10000 : version / 1000;
  const int minor = version >= kNewForm ? version % 10000 / 100 : version % 1000 / 100;
  return fmt::format("{}.{}.{}", major, minor, version % 100);
}

class NcclTransport final : public Transport {
 public:
  NcclTransport(nccl_run::NcclApi api, std::unique_ptr<GpuSide> gpu, Meeting& meeting)
      : api_(api), gpu_(std::move(gpu)), meeting_(meeting) {}
  NcclTransport(const NcclTransport&) = delete;
  NcclTransport& operator=(const NcclTransport&) = delete;
  ~NcclTransport() override {
    if (gpu_->phantom()) {
      if (!can_end_) return;  // its proxies wait for GPUs that never come
      settle_phantom();
    }
    for (const Communicator group : groups_) {
      if (group != nullptr) (void)api_.destroy(group);
    }
  }

  Result<void> begin(const nccl_run::NcclLibrary& library) {
    int version = 0;
    if (auto done = check(api_.get_version(&version), "ncclGetVersion"); !done) return done;
    can_end_ = gpu_->phantom() && begin_phantom_progress(version);
    facts_.name = "nccl";
    facts_.version = library.version.empty() ? version_text(version) : library.version;
    facts_.library = library.path;
    facts_.device = gpu_->name();
    facts_.address = gpu_->address();
    facts_.phantom = gpu_->phantom();
    std::vector<std::uint32_t> all;
    for (std::uint32_t rank = 0; rank < meeting_.ranks(); ++rank)
      all.push_back(rank);
    auto group = make_group(all);
    if (!group) return std::unexpected(std::move(group.error()));
    return {};
  }

  [[nodiscard]] const TransportFacts& facts() const override { return facts_; }
  [[nodiscard]] std::uint32_t rank() const override { return meeting_.rank(); }
  [[nodiscard]] std::uint32_t ranks() const override { return meeting_.ranks(); }
  [[nodiscard]] bool overlaps() const override { return true; }

  Result<Memory> allocate(Bytes size) override { return gpu_->allocate(size); }
  void release(Memory memory) override { gpu_->release(memory); }
  Result<void> write(Memory to, std::span<const std::byte> data) override { return gpu_->write(to, data); }
  Result<void> read(Memory from, std::span<std::byte> data) override { return gpu_->read(from, data); }
  Result<void> finish() override { return gpu_->finish(); }

  // A group has an id of its own: ncclCommSplit is younger than the releases that are in use.
  Result<Group> make_group(std::span<const std::uint32_t> members) override {
    if (members.empty()) return fail(ErrorCode::kBug, "a group without ranks");
    auto id = agree_on_id(members.front());
    if (!id) return std::unexpected(std::move(id.error()));
    Communicator communicator = nullptr;
    const auto own = std::ranges::find(members, rank());
    if (own != members.end()) {
      const Outcome outcome = api_.init_rank(&communicator, static_cast<int>(members.size()), *id,
                                             static_cast<int>(own - members.begin()));
      if (auto made = check(outcome, "ncclCommInitRank"); !made)
        return std::unexpected(std::move(made.error()));
    }
    groups_.push_back(communicator);
    sizes_.push_back(static_cast<std::uint32_t>(members.size()));
    places_.push_back(static_cast<std::uint32_t>(own - members.begin()));
    return static_cast<Group>(groups_.size() - 1);
  }

  Result<void> start(const Call& call) override {
    if (call.group >= groups_.size() || groups_[call.group] == nullptr)
      return fail(ErrorCode::kBug, fmt::format("rank {} is no member of group {}", rank(), call.group));
    return check(enqueue(call), "nccl", model::name_of(call.collective));
  }

  Result<std::vector<double>> time_each(const Call& call, std::uint32_t times) override {
    if (gpu_->phantom()) return Transport::time_each(call, times);
    if (auto marked = gpu_->mark(); !marked) return std::unexpected(std::move(marked.error()));
    for (std::uint32_t i = 0; i < times; ++i) {
      if (auto started = start(call); !started) return std::unexpected(std::move(started.error()));
      if (auto marked = gpu_->mark(); !marked) return std::unexpected(std::move(marked.error()));
    }
    return gpu_->take_marks();
  }

 private:
  Result<nccl_run::UniqueId> agree_on_id(std::uint32_t maker) {
    nccl_run::UniqueId id{};
    Result<std::string> own = "";
    if (rank() == maker) {
      const auto made = check(api_.get_unique_id(&id), "ncclGetUniqueId");
      own = made ? Result<std::string>(hexadecimal(id)) : std::unexpected(made.error());
    }
    auto texts = agree(meeting_, own);
    if (!texts) return std::unexpected(std::move(texts.error()));
    if (!read_hexadecimal((*texts)[maker], id))
      return fail(ErrorCode::kIo, fmt::format("rank {} sent no id of NCCL", maker));
    return id;
  }

  Outcome enqueue(const Call& call) {
    const Communicator with = groups_[call.group];
    const int type = type_of(call.element);
    const int reduction = kReductions[static_cast<std::size_t>(call.reduction)];
    const int root = static_cast<int>(call.root);
    void* send = at(call.send);
    void* receive = at(call.receive);
    void* stream = gpu_->stream();
    switch (call.collective) {
      case NcclCollective::kAllReduce:
        return api_.all_reduce(send, receive, call.count, type, reduction, with, stream);
      case NcclCollective::kAllGather:
        return api_.all_gather(send, receive, call.count, type, with, stream);
      case NcclCollective::kReduceScatter:
        return api_.reduce_scatter(send, receive, call.count, type, reduction, with, stream);
      case NcclCollective::kBroadcast:
        return api_.broadcast(send, receive, call.count, type, root, with, stream);
      case NcclCollective::kReduce:
        return api_.reduce(send, receive, call.count, type, reduction, root, with, stream);
      default:
        return enqueue_pieces(call);
    }
  }

  // By sends and receives of one group, as nccl-tests does it.
  Outcome enqueue_pieces(const Call& call) {
    Outcome outcome = api_.group_start();
    if (outcome != 0) return outcome;
    const std::uint32_t size = sizes_[call.group];
    const bool is_root = places_[call.group] == call.root;
    switch (call.collective) {
      case NcclCollective::kAllToAll:
        for (std::uint32_t peer = 0; peer < size && outcome == 0; ++peer) {
          outcome = send(call, peer, peer);
          if (outcome == 0) outcome = receive(call, peer, peer);
        }
        break;
      case NcclCollective::kGather:
        outcome = send(call, call.root, 0);
        for (std::uint32_t peer = 0; is_root && peer < size && outcome == 0; ++peer)
          outcome = receive(call, peer, peer);
        break;
      case NcclCollective::kScatter:
        outcome = receive(call, call.root, 0);
        for (std::uint32_t peer = 0; is_root && peer < size && outcome == 0; ++peer)
          outcome = send(call, peer, peer);
        break;
      default:
        if (call.peer != Call::kNobody) outcome = send(call, call.peer, 0);
        if (call.source != Call::kNobody && outcome == 0) outcome = receive(call, call.source, 0);
        break;
    }
    const Outcome ended = api_.group_end();
    return outcome != 0 ? outcome : ended;
  }

  Outcome send(const Call& call, std::uint32_t peer, std::uint32_t piece) {
    void* from = at(call.send + piece * call.count * size_of(call.element));
    return api_.send(from, call.count, type_of(call.element), static_cast<int>(peer), groups_[call.group],
                     gpu_->stream());
  }
  Outcome receive(const Call& call, std::uint32_t peer, std::uint32_t piece) {
    void* to = at(call.receive + piece * call.count * size_of(call.element));
    return api_.receive(to, call.count, type_of(call.element), static_cast<int>(peer), groups_[call.group],
                        gpu_->stream());
  }

  [[nodiscard]] Result<void> check(Outcome outcome, std::string_view call, std::string_view more = {}) const {
    if (outcome == 0) return {};
    std::string words = fmt::format("{}{}: {}", call, more, api_.error_string(outcome));
    const char* last = api_.last_error != nullptr ? api_.last_error(nullptr) : nullptr;
    const std::string_view detail = last != nullptr ? trim(last) : std::string_view();
    if (!detail.empty()) words += fmt::format(" ({})", printable(detail));
    return fail(ErrorCode::kIo, std::move(words), "NCCL_DEBUG=WARN says more");
  }

  nccl_run::NcclApi api_;
  std::unique_ptr<GpuSide> gpu_;
  Meeting& meeting_;
  TransportFacts facts_;
  std::vector<Communicator> groups_;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> places_;  // this rank's in the group
  bool can_end_ = false;
};

}  // namespace

Result<std::unique_ptr<Transport>> make_nccl_transport(const NcclPlace& place, Meeting& meeting) {
  const auto root = host::open_directory_root("/");
  if (!root) return std::unexpected(root.error());
  auto library = nccl_run::find_nccl(**root, place.library, place.environment);
  if (!library) return std::unexpected(std::move(library.error()));
  // A driver that is missing is told before NCCL is loaded; the runtime inside an NCCL is redirected after
  // it.
  const bool phantom = has_phantom();
  Result<std::unique_ptr<GpuSide>> gpu = nullptr;
  if (!phantom) gpu = make_driver_side(place.local_rank);
  if (!gpu) return std::unexpected(std::move(gpu.error()));
  const auto api = nccl_run::load_nccl(library->path);
  if (!api) return std::unexpected(api.error());
  if (phantom) gpu = make_phantom_side(library->path, library->runtime == nccl_run::Runtime::kInside);
  if (!gpu) return std::unexpected(std::move(gpu.error()));
  auto transport = std::make_unique<NcclTransport>(*api, std::move(*gpu), meeting);
  if (auto begun = transport->begin(*library); !begun) return std::unexpected(std::move(begun.error()));
  return transport;
}

}  // namespace angio::collective
