// What one rank says of itself and its steps, a line of JSON each, written as it goes: whatever ends the run,
// the steps before are there. Written by torch_step.py and by the worker in C++. A cut or damaged text gives
// what is readable of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "model/step_run.hpp"

namespace angio::step {

struct RankLog {
  model::StepRank rank;
  std::uint32_t ranks = 0;
  std::string framework;  // "torch", "traffic"
  std::string implementation;
  std::string version;
  std::string backend;
  std::uint64_t parameters = 0;  // of the whole model as the rank built it; 0: not said
  bool phantom = false;
  std::vector<std::uint64_t> buckets;
  std::vector<std::string> notes;
  std::string failure;   // why it ended early, in its words
  double failed_at = 0;  // seconds since 1970
};

std::string first_line(const RankLog& log);
std::string step_line(const model::StepTime& time);
std::string last_line(const model::StepRank& rank);
std::string failure_line(const std::string& words, double seconds);

inline constexpr std::size_t kMostSteps = 1'000'000;  // of one rank

// Error: no line says which rank it is.
Result<RankLog> parse_rank_log(std::string_view text);

// Several logs in one text, as rank 0 puts them down that gathered them.
std::vector<RankLog> parse_rank_logs(std::string_view text);

}  // namespace angio::step
