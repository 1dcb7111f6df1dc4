// The catalogue against the table of variables that was read out of the tagged sources.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "knowledge/variables.hpp"

namespace angio::knowledge {
namespace {

using Row = std::vector<std::string>;
enum Column : std::size_t {
  kName,
  kComponent,
  kType,
  kDefault,
  kAccepted,
  kSubsystem,
  kIntroduced,
  kRemoved,
  kStatus,
  kHistory
};

std::vector<Row> read_rows() {
  const char* shared = std::getenv("ANGIO_SHARED");
  std::vector<Row> rows;
  if (shared == nullptr) return rows;
  std::ifstream file(std::string(shared) + "/facts/nccl_env.tsv");
  std::string line;
  std::getline(file, line);  // titles
  while (std::getline(file, line)) {
    Row row;
    for (const std::string_view cell : split(line, '\t'))
      row.emplace_back(cell);
    row.resize(12);
    rows.push_back(row);
  }
  return rows;
}

// The table holds C expressions and names of constants; the catalogue holds what they come to. Empty: a
// constant whose value the table does not give.
std::string plain_value(const std::string& text) {
  static const std::map<std::string, std::string> kValues = {
      {"NCCL_CONFIG_UNDEF_INT", "(undefined)"},
      {"undef (config or auto)", "(undefined)"},
      {"nullptr", "(unset)"},
      {"NCCL_LOG_NONE", "(unset)"},
      {"DEFAULT_BUFFER_SIZE_BYTES", "4194304"},
      {"PATH_PHB", "PHB"},
      {"cudaLaunchMemSyncDomainRemote", "1"},
      {"SHM_SEND_SIDE", "1"},
      {"SHM_RECV_SIDE", "2"},
      {"false", "0"},
      {"INT64_MAX", "9223372036854775807"},
      {"NCCL_WORK_FIFO_BYTES_DEFAULT", "1048576"},
      {"1 << 7", "128"},
      {"1 << 16", "65536"},
      {"(1 << 17)", "131072"},
      {"(1 << 19)", "524288"},
      {"1LL << 30", "1073741824"},
      {"64<<10", "65536"},
      {"64 << 10", "65536"},
      {"512 << 10", "524288"},
      {"128*1024", "131072"},
      {"128 * 1024", "131072"},
      {"8*1024*1024", "8388608"},
      {"8 * 1024 * 1024", "8388608"},
      {"262144 (cc>=7) / 131072", "262144 from compute capability 7.0 on, else 131072"},
      {"1 (0 older)", "1, 0 in older releases"},
      {"1 (0 in older releases)", "1, 0 in older releases"},
      {"480 (600 in 2.2)", "480, 600 in 2.2"},
      {"2000 (0 in older releases)", "2000, 0 in older releases"},
      {"15000 (60000 older)", "15000, 60000 in older releases"},
      {"ERROR/WARNING", "WARNING, ERROR in older releases"},
      {"-", ""},
      {"NCCL_GROUP_CUDA_STREAM", ""},
      {"NCCL_GIN_MAX_CONTEXTS", ""},
      {"NCCL_THREAD_THRESHOLD", ""},
      {"DEFAULT_MIN_NRINGS", ""},
      {"NCCL_MAX_DEV_WORK_P2P_PER_BATCH", ""},
  };
  const auto found = kValues.find(text);
  return found != kValues.end() ? found->second : text;
}

using History = std::vector<std::pair<std::string, std::string>>;  // release, value

History history_of(const Row& row) {
  History history;
  if (row[kHistory].empty()) {
    const std::string value = plain_value(row[kDefault]);
    if (!value.empty() && row[kStatus] != "misnomer") history.emplace_back("", value);
    return history;
  }
  bool first = true;
  for (const std::string_view part : split(row[kHistory], ';')) {
    const std::string_view step = trim(part);
    const std::size_t colon = step.find(':');
    const std::string value = plain_value(std::string(step.substr(colon + 1)));
    if (!value.empty() && (history.empty() || history.back().second != value))
      history.emplace_back(first ? "" : std::string(step.substr(0, colon)), value);
    first = false;
  }
  return history;
}

History history_of(const Variable& variable) {
  History history;
  for (const VariableDefault& row : variable.defaults)
    history.emplace_back(row.since, row.value);
  return history;
}

// Their defaults are words of the log, which the table gives as the source's constants.
bool is_told_otherwise(const std::string& name) {
  return name == "NCCL_DEBUG_SUBSYS" || name == "NCCL_DEBUG_TIMESTAMP_LEVELS" ||
         name == "NCCL_DEBUG_TIMESTAMP_FORMAT" || name == "NCCL_SHARP_GROUP_SIZE_THRESH" ||
         name == "NCCL_SHARP_MAX_COMMS";  // defaults in its notes
}

std::string since_of(const Row& row) {
  return row[kIntroduced].starts_with("<=") ? "" : row[kIntroduced];
}
std::string until_of(const Row& row) {
  const std::string_view text = row[kRemoved];
  return std::string(split(text.starts_with("after ") ? text.substr(6) : text, ' ').front());
}

TEST(VariablesShared, EveryRowIsInTheCatalogue) {
  const std::vector<Row> rows = read_rows();
  if (rows.empty()) GTEST_SKIP() << "ANGIO_SHARED is not set";
  EXPECT_EQ(rows.size(), 378U);
  for (const Row& row : rows) {
    const Variable* variable = find_variable(row[kName]);
    ASSERT_NE(variable, nullptr) << row[kName];
    EXPECT_EQ(variable->component, row[kComponent]) << row[kName];
    EXPECT_EQ(variable->since, since_of(row)) << row[kName];
    EXPECT_EQ(variable->until, until_of(row)) << row[kName];
    if (!is_told_otherwise(row[kName])) {
      EXPECT_EQ(history_of(*variable), history_of(row)) << row[kName];
    }
  }
}

TEST(VariablesShared, WhatTheTableCallsDeprecatedIsSo) {
  const std::vector<Row> rows = read_rows();
  if (rows.empty()) GTEST_SKIP() << "ANGIO_SHARED is not set";
  for (const Row& row : rows) {
    const Variable& variable = *find_variable(row[kName]);
    if (row[kStatus] == "deprecated") {
      EXPECT_FALSE(variable.deprecated_since.empty()) << row[kName];
    }
    EXPECT_EQ(row[kStatus] == "misnomer", !variable.not_read.empty()) << row[kName];
  }
}

}  // namespace
}  // namespace angio::knowledge
