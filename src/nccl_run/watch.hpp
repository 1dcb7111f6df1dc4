// The life of a phantom cluster once its processes run: their logs and reports, the id that travels from node
// 0 to the others, time, memory, Ctrl-C, and which node went wrong first. Ends with every process reaped.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "nccl_run/cluster.hpp"
#include "nccl_run/memory_guard.hpp"
#include "nccl_run/node_process.hpp"
#include "nccl_run/verdict.hpp"

namespace angio::nccl_run {

class Watch {
 public:
  using Log = std::function<void(std::uint32_t node, std::string_view lines)>;
  using Stop = std::function<bool()>;

  Watch(const ClusterRequest& request, const host::Root& root, std::uint64_t memory_limit, const Log& log,
        const Stop& stop);
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch();  // kills what still runs

  // Nodes in their order; node 0 may have told its id before the last one starts.
  void add(NodeProcess node);
  // Handles what has come in, for at most this long; for between the starts of nodes.
  void turn(std::chrono::milliseconds time);
  // Until the end.
  void run();
  [[nodiscard]] bool is_over() const { return over_; }
  ClusterOutcome take_outcome();

 private:
  using Clock = std::chrono::steady_clock;

  void wait_for_input(std::chrono::milliseconds time);
  void take_input(std::uint32_t number);
  void take_log(std::uint32_t number);
  void take_reports(std::uint32_t number);
  void take_report(std::uint32_t number, std::string_view line);
  void hand_id_on(const std::string& id);
  void hand_id_to(NodeProcess& node) const;
  void look_at_ends();
  void take_end(std::uint32_t number);
  void look_at_limits();
  void look_at_memory();
  void finish_waiting(ClusterEnd end, const std::string& words);
  void blame(std::uint32_t number, Trouble trouble);
  void finish(ClusterEnd end, std::uint32_t number, std::string text);
  void release_when_done();
  void drain(std::uint32_t number);
  void end_all();
  [[nodiscard]] std::uint32_t slowest() const;

  const ClusterRequest& request_;
  const host::Root& root_;
  const Log& log_;
  const Stop& stop_;
  MemoryGuard guard_;
  Clock::time_point start_;
  Clock::time_point next_look_;  // at memory
  Clock::time_point next_ends_;  // at the ends of all
  Clock::time_point grace_end_;  // when trouble_ is set
  Clock::time_point release_end_;
  std::vector<NodeProcess> nodes_;
  std::string id_;
  std::uint64_t oom_kills_ = 0;  // of the host, at the start
  Trouble trouble_;
  std::uint32_t culprit_ = 0;
  bool released_ = false;
  bool over_ = false;
};

}  // namespace angio::nccl_run
