// The ring files of a made-up job, for tests and for the samples of the golden cases: ranks that run
// AllReduces, one of them late, one of its connections slow, hosts whose clocks differ. Not for the product.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "profile/profile.hpp"
#include "profile_ring/test_file.hpp"
#include "profile_ring/words.hpp"

namespace angio::profile {

struct JobPlan {
  std::uint32_t ranks = 2;
  std::uint32_t hosts = 1;  // ranks are dealt to hosts in blocks
  std::int32_t late_rank = -1;
  std::uint64_t late_ns = 0;
  std::uint64_t collectives = 0;
  std::uint64_t clock_ahead_ns = 0;  // of each further host's wall clock
  bool kernels = true;
  std::int32_t slow_sender = -1;
  std::uint64_t slow_factor = 1;
  std::int32_t slow_host = -1;         // all its ranks send slowly, likewise
  std::uint64_t step_bytes = 524'288;  // of a network step
  std::int32_t small_sender = -1;      // moves an eighth of that in each step
  std::uint32_t interface = 5;         // up to 3 the bytes of a step are not told
  bool operation_bytes = false;        // but those of its operation
  bool scattered = false;              // the rates of the senders are as 1 to 2 to 3
  bool steps = true;
  std::uint64_t communicator = 0x1d5f00c0ffee1234U;
};

class TestJob {
 public:
  static constexpr std::uint64_t kStepBytes = 524'288;
  static constexpr std::uint64_t kStepNs = 20'000;

  explicit TestJob(const JobPlan& plan) : plan_(plan) {
    for (std::uint32_t rank = 0; rank < plan.ranks; ++rank)
      files_.push_back(make_rank(rank));
  }

  [[nodiscard]] std::vector<Input> inputs() const {
    std::vector<Input> inputs;
    for (std::size_t rank = 0; rank < files_.size(); ++rank)
      inputs.push_back(
          {.file = *profile_ring::read_ring(files_[rank].bytes(), "rank" + std::to_string(rank) + ".ring"),
           .liveness = Liveness::kEnded});
    return inputs;
  }
  [[nodiscard]] const std::vector<profile_ring::TestFile>& files() const { return files_; }

 private:
  using Record = profile_ring::Record;
  using EventKind = profile_ring::EventKind;
  static constexpr std::uint64_t kBase = 1'000'000'000'000;  // monotonic, of host 0
  static constexpr std::uint64_t kWall = 1'800'000'000'000'000'000;
  static constexpr std::uint64_t kPeriod = 10'000'000;   // between collectives
  static constexpr std::uint64_t kKernelNs = 5'000'000;  // after the period's begin it ends everywhere

  [[nodiscard]] std::uint32_t host_of(std::uint32_t rank) const { return rank * plan_.hosts / plan_.ranks; }
  // Hosts booted at different times.
  [[nodiscard]] std::uint64_t boot_shift(std::uint32_t rank) const {
    return host_of(rank) * 77'000'000'000ULL;
  }

  [[nodiscard]] profile_ring::TestFile make_rank(std::uint32_t rank) const {
    profile_ring::TestFile file(64);
    profile_ring::Header& header = file.header();
    const std::string host = "gpu-" + std::string(1, static_cast<char>('a' + host_of(rank)));
    std::ranges::copy(host, header.host.begin());
    std::ranges::copy("boot-" + host, header.boot.begin());
    std::ranges::copy(std::string("world"), header.name.begin());
    header.communicator = plan_.communicator;
    header.abi = plan_.interface;
    header.rank = static_cast<std::int32_t>(rank);
    header.ranks = plan_.ranks;
    header.nodes = plan_.hosts;
    header.process = 4000 + rank;
    header.mask = 0x5E;
    header.state = static_cast<std::uint32_t>(profile_ring::FileState::kFinished);
    header.monotonic_ns = kBase + boot_shift(rank);
    header.realtime_ns = kWall + host_of(rank) * plan_.clock_ahead_ns;
    header.anchor_error_ns = 60;
    for (std::uint64_t i = 0; i < plan_.collectives; ++i)
      add_collective(rank, i, file);
    return file;
  }

  void add_collective(std::uint32_t rank, std::uint64_t number, profile_ring::TestFile& file) const {
    const bool late = static_cast<std::int32_t>(rank) == plan_.late_rank;
    const std::uint64_t begin = kBase + boot_shift(rank) + (number + 1) * kPeriod;
    const std::uint64_t arrival = begin + (late ? plan_.late_ns : 0);
    Record coll;
    coll.kind = EventKind::kCollective;
    coll.start_ns = arrival - 2000;
    coll.stop_ns = arrival - 1000;
    coll.function = profile_ring::number_of(profile_ring::kFunctions, "AllReduce");
    coll.algorithm = profile_ring::number_of(profile_ring::kAlgorithms, "RING");
    coll.protocol = profile_ring::number_of(profile_ring::kProtocols, "SIMPLE");
    coll.data_type = profile_ring::data_type_number("ncclFloat32");
    coll.rank = static_cast<std::int32_t>(rank);
    coll.peer = 0;
    coll.size = std::uint64_t{1} << 20U;
    coll.number = number;
    coll.channels = 1;
    const std::uint64_t parent = file.add(coll);
    if (plan_.kernels) {
      Record kernel;
      kernel.kind = EventKind::kKernel;
      kernel.parent = parent;
      kernel.start_ns = arrival;
      kernel.stop_ns = begin + kKernelNs;
      kernel.times = {50'000 + arrival, 50'000 + begin + kKernelNs, 0};
      file.add(kernel);
    }
    if (plan_.hosts > 1) add_network(rank, parent, arrival, file);
  }

  void add_network(std::uint32_t rank, std::uint64_t parent, std::uint64_t arrival,
                   profile_ring::TestFile& file) const {
    for (const bool send : {true, false}) {
      Record op;
      op.kind = EventKind::kProxyOp;
      op.parent = parent;
      op.start_ns = arrival;
      op.stop_ns = arrival + kKernelNs / 2;
      op.flags = send ? profile_ring::kIsSend : 0;
      op.rank = static_cast<std::int32_t>(rank);
      op.peer = static_cast<std::int32_t>((rank + (send ? 1 : plan_.ranks - 1)) % plan_.ranks);
      op.steps = 1;
      op.chunk = kStepBytes;
      if (plan_.operation_bytes) op.size = bytes_of(rank);
      Record step;
      step.kind = EventKind::kProxyStep;
      step.parent = file.add(op);
      step.rank = op.rank;
      step.start_ns = arrival;
      constexpr std::uint32_t kTellsSteps = 4;
      step.size = plan_.interface < kTellsSteps ? 0 : bytes_of(rank);
      const std::uint64_t network = send ? network_of(rank) : kStepNs;
      if (send) {
        step.times = {arrival + 100, arrival + 1100, arrival + 1600};
        step.stop_ns = arrival + 1600 + network;
      } else {
        step.times = {arrival + 100, plan_.step_bytes == 0 ? arrival + 100 + network : 0,
                      arrival + 100 + network};
        step.stop_ns = arrival + 100 + network + 300;
      }
      if (plan_.steps) file.add(step);
    }
  }

  [[nodiscard]] std::uint64_t bytes_of(std::uint32_t rank) const {
    return plan_.step_bytes / (static_cast<std::int32_t>(rank) == plan_.small_sender ? 8 : 1);
  }
  [[nodiscard]] std::uint64_t network_of(std::uint32_t rank) const {
    if (plan_.scattered) return kStepNs * plan_.ranks / (rank + 1);
    const bool slow = static_cast<std::int32_t>(rank) == plan_.slow_sender ||
                      static_cast<std::int32_t>(host_of(rank)) == plan_.slow_host;
    return kStepNs * (slow ? plan_.slow_factor : 1);
  }

  JobPlan plan_;
  std::vector<profile_ring::TestFile> files_;
};

}  // namespace angio::profile
