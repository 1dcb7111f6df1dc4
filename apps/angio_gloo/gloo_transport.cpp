#include "gloo_transport.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <array>
#include <bit>
#include <numeric>
#include <vector>

#include "../backends/addresses.hpp"
#include "../backends/host_memory.hpp"
#include "base/text.hpp"
#include "calls.hpp"
#include "mesh.hpp"
#include "runner.hpp"

namespace angio::gloo_backend {
namespace {

using collective::Call;
using collective::Group;
using collective::Meeting;
using collective::Memory;
using Clock = std::chrono::steady_clock;

// The runner ends before what its jobs use.
struct Member {
  GroupState state;
  Runner runner;
};

class GlooTransport final : public collective::Transport {
 public:
  GlooTransport(Meeting& meeting, const GlooOptions& options) : meeting_(meeting), options_(options) {}
  Result<void> begin();

  [[nodiscard]] const collective::TransportFacts& facts() const override { return facts_; }
  [[nodiscard]] std::uint32_t rank() const override { return meeting_.rank(); }
  [[nodiscard]] std::uint32_t ranks() const override { return meeting_.ranks(); }

  Result<void> check_room(Bytes size) override { return backend::check_room(size); }
  Result<Memory> allocate(Bytes size) override { return memory_.allocate(size); }
  void release(Memory memory) override { memory_.release(memory); }
  Result<void> write(Memory to, std::span<const std::byte> data) override { return memory_.write(to, data); }
  Result<void> read(Memory from, std::span<std::byte> data) override { return memory_.read(from, data); }

  Result<Group> make_group(std::span<const std::uint32_t> ranks) override;
  Result<void> start(const Call& call) override;
  Result<void> finish() override;
  Result<void> finish_group(Group group) override;
  [[nodiscard]] bool overlaps() const override { return true; }

  Result<std::vector<double>> time_each(const Call& call, std::uint32_t times) override;
  Result<double> time_batch(const Call& call, std::uint32_t times) override;

 private:
  Result<std::string> choose_address();
  Result<void> check(const Call& call) const;

  Meeting& meeting_;
  GlooOptions options_;
  collective::TransportFacts facts_;
  backend::HostMemory memory_;  // goes after the groups, whose threads use it
  Device device_;
  std::vector<std::unique_ptr<Member>> groups_;
};

// Towards rank 0's meeting place, if that is another host; loopback only where all ranks are on one host.
Result<std::string> GlooTransport::choose_address() {
  const auto hosts = meeting_.exchange(backend::host_name());
  if (!hosts) return std::unexpected(hosts.error());
  const bool alone =
      std::ranges::all_of(*hosts, [&](const std::string& host) { return host == hosts->front(); });
  if (alone) return "127.0.0.1";
  std::string address = options_.master.empty() ? "" : backend::address_towards(options_.master);
  if (backend::is_loopback(address)) address = backend::outward_address();
  if (!address.empty()) return address;
  return fail(ErrorCode::kIo, "this host has no address but loopback, and the ranks are on several hosts",
              "GLOO_SOCKET_IFNAME names the interface that gloo is to use");
}

std::string library_path() {
  Dl_info info{};
  void (*const function)(const gloo::AllreduceOptions&) = &gloo::allreduce;
  return dladdr(std::bit_cast<void*>(function), &info) != 0 && info.dli_fname != nullptr ? info.dli_fname
                                                                                         : "";
}

Result<void> GlooTransport::begin() {
  facts_.name = "gloo";
  facts_.version = library_version();
  facts_.library = library_path();
  auto address = choose_address();
  if (!address) return std::unexpected(std::move(address).error());
  auto device = open_device(options_.interface, *address);
  if (!device) return std::unexpected(std::move(device).error());
  device_ = std::move(*device);
  std::vector<std::uint32_t> all(ranks());
  std::iota(all.begin(), all.end(), 0U);
  auto group = make_group(all);
  if (!group) return std::unexpected(std::move(group).error());
  return {};
}

Result<Group> GlooTransport::make_group(std::span<const std::uint32_t> ranks) {
  auto mesh = connect_mesh(meeting_, device_, ranks, options_.timeout);
  if (!mesh) return std::unexpected(std::move(mesh).error());
  auto member = std::make_unique<Member>();
  member->state.mesh = std::move(*mesh);
  groups_.push_back(std::move(member));
  return static_cast<Group>(groups_.size() - 1);
}

Result<void> GlooTransport::check(const Call& call) const {
  if (call.group >= groups_.size() || groups_[call.group]->state.mesh.context == nullptr)
    return fail(ErrorCode::kBug, fmt::format("rank {} is no member of group {}", rank(), call.group));
  const auto size = static_cast<std::uint32_t>(groups_[call.group]->state.mesh.ranks.size());
  const auto outside = [&](std::uint32_t member) { return member >= size && member != Call::kNobody; };
  if (call.root >= size || outside(call.peer) || outside(call.source))
    return fail(ErrorCode::kBug, fmt::format("{}: a member beyond the {} of group {}",
                                             model::name_of(call.collective), size, call.group));
  return {};
}

Result<void> GlooTransport::start(const Call& call) {
  if (auto good = check(call); !good) return good;
  Member& member = *groups_[call.group];
  return member.runner.add([call, &member, this] { return run_call(call, member.state, options_); });
}

Result<void> GlooTransport::finish_group(Group group) {
  if (group >= groups_.size()) return fail(ErrorCode::kBug, fmt::format("there is no group {}", group));
  return groups_[group]->runner.finish();
}

Result<void> GlooTransport::finish() {
  Result<void> result;
  for (const auto& group : groups_) {
    auto finished = group->runner.finish();
    if (!finished && result) result = std::move(finished);
  }
  return result;
}

double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

// On this thread: handing a call to another one and back takes longer than a small call.
Result<std::vector<double>> GlooTransport::time_each(const Call& call, std::uint32_t times) {
  if (auto good = check(call); !good) return std::unexpected(good.error());
  if (auto done = finish(); !done) return std::unexpected(done.error());
  GroupState& group = groups_[call.group]->state;
  std::vector<double> taken(times);
  for (double& each : taken) {
    const Clock::time_point begin = Clock::now();
    if (auto called = run_call(call, group, options_); !called) return std::unexpected(called.error());
    each = microseconds(Clock::now() - begin);
  }
  return taken;
}

Result<double> GlooTransport::time_batch(const Call& call, std::uint32_t times) {
  if (auto good = check(call); !good) return std::unexpected(good.error());
  if (auto done = finish(); !done) return std::unexpected(done.error());
  GroupState& group = groups_[call.group]->state;
  const Clock::time_point begin = Clock::now();
  for (std::uint32_t i = 0; i < times; ++i)
    if (auto called = run_call(call, group, options_); !called) return std::unexpected(called.error());
  return microseconds(Clock::now() - begin);
}

}  // namespace

Result<AllReduceBy> parse_all_reduce(std::string_view word) {
  if (word.empty() || word == "ring") return AllReduceBy::kRing;
  if (word == "bcube") return AllReduceBy::kBcube;
  if (word == "halving-doubling") return AllReduceBy::kHalvingDoubling;
  return fail(ErrorCode::kInvalidInput,
              fmt::format("ANGIO_GLOO_ALLREDUCE={}: no algorithm of gloo", printable(word)),
              "ring, bcube or halving-doubling");
}

std::string library_version() {
  return fmt::format("{}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
}

Result<std::unique_ptr<collective::Transport>> make_gloo_transport(Meeting& meeting,
                                                                   const GlooOptions& options) {
  auto transport = std::make_unique<GlooTransport>(meeting, options);
  if (auto begun = transport->begin(); !begun) return std::unexpected(begun.error());
  return transport;
}

}  // namespace angio::gloo_backend
