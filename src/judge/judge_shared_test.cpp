// Public results: every file is read, healthy ones are not called low, known bad ones are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <map>
#include <string>

#include "import/results/results.hpp"
#include "judge/judge.hpp"
#include "support/shared_corpus.hpp"

namespace angio::judge {
namespace {

std::vector<Judgement> judge_file(const std::filesystem::path& path) {
  const std::string bytes = test::read_whole_file(path.string());
  const auto results = import::results::read(bytes, path.filename().string());
  if (!results) return {};
  Topology topology;
  topology.source = results->name;
  if (results->nccl.log) topology.log = &*results->nccl.log;
  topology.collective = results->hint.collective;
  topology.collective_of = results->hint.from;
  std::vector<Judgement> judgements;
  for (const auto& table : results->nccl.tests)
    judgements.push_back(judge(table, topology));
  return judgements;
}

std::map<std::string, std::vector<Judgement>> judge_folder(const std::string& folder) {
  std::map<std::string, std::vector<Judgement>> all;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.is_regular_file()) all[entry.path().filename().string()] = judge_file(entry.path());
  return all;
}

// Sockets, one NIC of four used, a cluster whose hosts reach a third of their NICs: what their authors say of
// them.
bool is_known_bad(const std::string& name) {
  return name == "p3dn-2p3dn.2GPUs.log" || name == "p3dn-4p3dn.4GPUs.log" ||
         name == "cscs-docs-communication-nccl-L210.txt" ||
         name.starts_with("xxrjun-c00-nccl_N2_G1_cnode2-0") ||
         name == "xxrjun-cluster00-pairwise-17xH100nodes.tar.gz";
}

TEST(JudgeCorpus, ReadsAllOfNcclTestsAndJudgesThem) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::size_t tables = 0;
  std::map<Verdict, std::size_t> verdicts;
  for (const auto& [name, judgements] : judge_folder(folder)) {
    // Its rows were cut away: a list of devices is no result.
    EXPECT_EQ(judgements.empty(), name == "dranet-user-nvidia-dranet-L284.txt") << name;
    for (const Judgement& judgement : judgements) {
      ++tables;
      ++verdicts[judgement.verdict];
      if (!is_known_bad(name)) {
        EXPECT_NE(judgement.verdict, Verdict::kLow) << name << ": " << judgement.answer;
      }
      EXPECT_NE(judgement.verdict, Verdict::kImpossible) << name << ": " << judgement.answer;
      if (std::getenv("ANGIO_VERBOSE") != nullptr)
        std::cout << name_of(judgement.verdict) << "\t" << name << "\t" << judgement.subject << "\t"
                  << judgement.answer << "\n";
    }
  }
  EXPECT_GE(tables, 40U);
  EXPECT_GE(verdicts[Verdict::kNormal], 30U);
}

TEST(JudgeCorpus, KnownBadOnesAreLow) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  for (const auto& [name, judgements] : judge_folder(folder)) {
    const bool has_rows =
        std::ranges::any_of(judgements, [](const Judgement& one) { return !one.rows.empty(); });
    if (!is_known_bad(name) || !has_rows) continue;  // one run hung before its first row
    EXPECT_TRUE(std::ranges::any_of(judgements, [](const Judgement& one) {
      return one.verdict == Verdict::kLow;
    })) << name;
  }
}

}  // namespace
}  // namespace angio::judge
