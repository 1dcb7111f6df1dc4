// Communicators and their ranks while a log is read: which lines belong to which rank, and which ranks to one
// communicator. From 2.18 on NCCL prints a hash that all ranks of a communicator share; before, ranks are put
// together by their number, their size and their hosts, which is a guess and marked as one.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "import/nccl_log/call_trace.hpp"
#include "import/nccl_log/scan.hpp"
#include "model/nccl_log.hpp"

namespace angio::import::nccl_log {

// Limits of one rank or communicator: beyond them facts are counted, not kept.
inline constexpr std::size_t kMaxConnections = 256;
inline constexpr std::size_t kMaxTransports = 64;
inline constexpr std::size_t kMaxChoices = 1024;
inline constexpr std::size_t kMaxPatterns = 32;
inline constexpr std::size_t kMaxChannels = 128;  // NCCL has 64 (MAXCHANNELS in nccl/src/include/device.h)
inline constexpr std::size_t kMaxMembers = std::size_t{1} << 22U;

// The rank after this one in the ring of a channel: "Ring 00 : 6 -> 7 -> 0".
struct RingHop {
  std::uint32_t channel = 0;
  std::uint32_t next = 0;
};

struct Member {
  CallTrace calls;  // first: it is touched by every call
  model::NcclRank rank;
  std::uint32_t group = 0;
  std::uint32_t nranks = 0;
  bool has_start = false;  // this version announces the start of an init: what follows is of this rank
  std::vector<std::uint32_t> ways;  // beside rank.connections: which of rank.transports
  std::vector<RingHop> ring_hops;   // to complete rings whose line NCCL cut
};

struct Group {
  model::NcclCommunicator facts;
  std::vector<std::uint32_t> members;
  Index patterns;
  Index choices;
  bool settled = false;  // its size is known
  bool gone = false;     // its facts went into another
};

// Which communicator a rank belongs to, as far as its line says.
struct Identity {
  std::string_view id;  // commId; empty before 2.18
  std::uint32_t nranks = 0;
  std::uint32_t rank = 0;
};

class Members {
 public:
  static constexpr std::uint32_t kNone = Index::kNone;

  // A rank of which only the process is known, in a communicator of its own; kNone beyond the limit.
  std::uint32_t add(model::NcclIndex process, model::Source source);
  // Its communicator is known now: joins the others, with all facts that came before.
  void settle(std::uint32_t member, const Identity& identity, std::string_view host, model::Source source);

  [[nodiscard]] Member& at(std::uint32_t member) { return members_[member]; }
  [[nodiscard]] Group& group_of(std::uint32_t member) { return groups_[members_[member].group]; }
  [[nodiscard]] const std::vector<std::uint32_t>& of_process(model::NcclIndex process) const;

  // The rank that an address means in a process: the last one that had it.
  [[nodiscard]] std::uint32_t find(model::NcclIndex process, std::uint64_t address) const;
  void name(std::uint32_t member, model::NcclIndex process, std::uint64_t address);

  // All communicators, their ranks in order. Nothing is left here.
  std::vector<model::NcclCommunicator> take();

 private:
  std::uint32_t find_group(const Identity& identity, std::string_view host, std::optional<int> device);
  std::uint32_t guess_group(const Identity& identity, std::string_view host, std::optional<int> device);
  void move(std::uint32_t member, std::uint32_t target);
  void settle_rest();
  void complete_rings(Group& group) const;
  void join_cut();
  void join_cut(Group& from, Group& into, std::uint32_t target);

  struct Seat {  // of a member in a group without id, for guesses
    std::uint64_t host = 0;
    std::optional<int> device;
  };
  std::deque<Member> members_;
  std::deque<Group> groups_;
  std::vector<std::vector<Seat>> seats_;  // by group
  Index by_id_;
  Index by_address_;
  Index taken_;  // (group, rank) pairs of groups without id
  Index open_;   // nranks to a list in open_groups_
  std::vector<std::vector<std::uint32_t>> open_groups_;
  std::vector<std::vector<std::uint32_t>> by_process_;
  std::vector<std::uint32_t> empty_;
};

}  // namespace angio::import::nccl_log
