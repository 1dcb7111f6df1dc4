// The part of compare that is about what NCCL logged: graphs, rings, transports, tuning. Only for
// compare.cpp.
#pragma once

#include <string>

#include "dryrun/compare.hpp"
#include "model/nccl_log.hpp"

namespace angio::dryrun {

// Takes facts of both runs and keeps those that differ; equal ones are counted. An empty text means that the
// run does not show it: where neither does, nothing is said.
class Facts {
 public:
  // only_shared: a run ended early, so what only the other shows is no difference.
  explicit Facts(bool only_shared) : only_shared_(only_shared) {}
  void add(std::string what, std::string a, std::string b, std::string meaning = {});
  void same(std::uint32_t count = 1) { comparison_.equal_facts += count; }
  // What was left out, without values.
  void remark(std::string what, std::string meaning);
  Comparison take() { return std::move(comparison_); }

 private:
  bool only_shared_;
  Comparison comparison_;
};

void compare_logs(const model::NcclLog& a, const model::NcclLog& b, Facts& facts);

}  // namespace angio::dryrun
