// What ranks tell each other in a benchmark of collectives, as texts of the meeting: who they are, the times
// of a row, how a pair went; or that one cannot go on. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "collective/meeting.hpp"
#include "collective/worker.hpp"
#include "model/collective_run.hpp"

namespace angio::collective {

// Everybody's text, or the first rank's error: then every rank has it.
Result<std::vector<std::string>> agree(Meeting& meeting, const Result<std::string>& own);

struct Introduction {
  RankSelf self;
  std::string device;
  std::string address;
  std::string wish;  // the same on all
};
std::string to_text(const Introduction& introduction);
std::optional<Introduction> parse_introduction(std::string_view text);

struct RowReport {
  double batch_us = 0;
  std::vector<double> samples;
  std::optional<std::uint64_t> wrong;
  std::string wrong_words;  // where
  bool stop = false;        // Ctrl-C came
};
std::string to_text(const RowReport& report);
std::optional<RowReport> parse_row_report(std::string_view text);

std::string to_text(const std::vector<model::CollectivePair>& pairs);
std::optional<std::vector<model::CollectivePair>> parse_pairs(std::string_view text);

}  // namespace angio::collective
