// Comparisons and reasons over logs that real NCCL wrote, on phantom GPUs and in real jobs.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "dryrun/against.hpp"
#include "dryrun/compare.hpp"
#include "dryrun/reasons.hpp"
#include "import/job_evidence/job_evidence.hpp"
#include "support/shared_corpus.hpp"

namespace angio::dryrun {
namespace {

model::NcclEvidence read_job(const std::string& path) {
  import::job_evidence::Reader reader;
  reader.add(test::read_whole_file(path), std::filesystem::path(path).filename().string());
  return reader.take().facts;
}

model::DryRun run_of(const std::string& path) {
  model::DryRun run;
  run.evidence = read_job(path);
  if (!run.evidence.log || run.evidence.log->communicators.empty()) return run;
  const model::NcclCommunicator& world = run.evidence.log->communicators.front();
  run.nodes = world.nodes.value_or(1);
  if (!run.evidence.log->versions.empty()) run.nccl = run.evidence.log->versions.front().version;
  return run;
}

nccl::Element topology_of(const std::string& path) {
  nccl::Remarks remarks;
  nccl::XmlText text = nccl::read_topology_xml(test::read_whole_file(path), remarks);
  return text.roots.empty() ? nccl::Element{} : std::move(text.roots.front());
}

std::string list(const model::Diagnosis& diagnosis) {
  std::string text;
  for (const model::Finding& finding : diagnosis.findings)
    text += finding.rule + ": " + finding.title + "\n";
  return text;
}

std::string answer(const std::vector<Reason>& reasons, std::string_view question) {
  for (const Reason& reason : reasons)
    if (reason.question.starts_with(question)) return reason.answer;
  return {};
}

std::vector<std::string> logs_below(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.is_regular_file() && entry.path().extension() != ".xml") paths.push_back(entry.path().string());
  std::ranges::sort(paths);
  return paths;
}

TEST(AgainstShared, ALogAgainstItselfGivesNothing) {
  ANGIO_SHARED_OR_SKIP(dryruns, "nccl-dryrun");
  ANGIO_SHARED_OR_SKIP(jobs, "nccl-logs");
  std::size_t judged = 0;
  for (const std::string& folder : {dryruns, jobs})
    for (const std::string& path : logs_below(folder)) {
      const model::DryRun run = run_of(path);
      if (!run.evidence.log) continue;
      EXPECT_EQ(list(judge_against(run, run.evidence)), "") << path;
      EXPECT_TRUE(compare(run, run).facts.empty()) << path;
      ++judged;
    }
  EXPECT_GE(judged, 20U);
}

TEST(AgainstShared, RealJobsOfAnotherShapeOrReleaseAreNotAccused) {
  ANGIO_SHARED_OR_SKIP(healthy, "nccl-dryrun/nccl2289_2node_rank0.log");
  ANGIO_SHARED_OR_SKIP(jobs, "nccl-logs");
  const model::DryRun run = run_of(healthy);
  for (const std::string& path : logs_below(jobs)) {
    const model::Diagnosis diagnosis = judge_against(run, read_job(path));
    EXPECT_EQ(list(diagnosis), "") << path;
    EXPECT_FALSE(diagnosis.undecided.empty()) << path;
  }
}

TEST(AgainstShared, NvlsOffByTheJobsOwnSetting) {
  ANGIO_SHARED_OR_SKIP(on, "nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log");
  ANGIO_SHARED_OR_SKIP(off, "nccl-dryrun/nccl2289_1node_8xH100_nvls_off.log");
  const model::Diagnosis diagnosis = judge_against(run_of(on), read_job(off));
  ASSERT_EQ(diagnosis.findings.size(), 1U) << list(diagnosis);
  EXPECT_EQ(diagnosis.findings[0].rule, "dryrun.nvls.absent");
  EXPECT_EQ(diagnosis.findings[0].severity, model::Severity::kInfo);
  EXPECT_EQ(list(judge_against(run_of(off), read_job(on))), "");
}

TEST(CompareShared, NvlsOnAndOffDifferInNvlsAlone) {
  ANGIO_SHARED_OR_SKIP(on, "nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log");
  ANGIO_SHARED_OR_SKIP(off, "nccl-dryrun/nccl2289_1node_8xH100_nvls_off.log");
  const Comparison done = compare(run_of(on), run_of(off));
  std::string text;
  for (const Difference& fact : done.facts)
    text += fact.what + " | " + fact.a + " | " + fact.b + "\n";
  EXPECT_EQ(text,
            "NVLS graph | 8 channels of 40 GB/s, paths NVL | none\n"
            "channels of NVLS | 16 | 0\n"
            "NVLS multicast | available | not shown\n"
            "tuning: AllGather NVLS Simple | 25.0 us, 208.2 GB/s | off\n"
            "tuning: ReduceScatter NVLS Simple | 25.0 us, 208.2 GB/s | off\n"
            "tuning: AllReduce NVLS Simple | 25.0 us, 272.0 GB/s | off\n");
  EXPECT_GT(done.equal_facts, 100U);
}

struct Bound {
  const char* log;
  const char* topology;
  const char* answer;  // the beginning, up to the link that is full
};
TEST(ReasonsShared, TheLinkThatBoundsTheRing) {
  for (const Bound& bound :
       {Bound{"nccl-dryrun/topologies/oci-H100-topology.log", "nccl-topo/oci-H100-topology.xml",
              "Bound by NVLink: the busiest link, GPU 0 to NVSwitch, carries 360 of the 370.8 GB/s"},
        Bound{"nccl-dryrun/topologies/issue256-h200-baremetal-node0.log",
              "nccl-topo/issue256-h200-baremetal-node0.xml",
              "Bound by NVLink: the busiest link, GPU 0 to NVSwitch, carries 360 of the 370.8 GB/s"},
        Bound{"nccl-dryrun/topologies/azurehpc-nc48v4-topo.log", "nccl-topo/azurehpc-nc48v4-topo.xml",
              "Bound by NVLink: the busiest link, GPU 0 to GPU 1, carries 240 of the 240 GB/s"},
        Bound{"nccl-dryrun/topologies/azure-ncv4-topo.log", "nccl-topo/azure-ncv4-topo.xml",
              "Bound by PCIe: the busiest link, GPU 0 to CPU 0, carries 12 of the 12 GB/s"},
        Bound{"nccl-dryrun/topologies/aws-p5.48xl-topo.log", "nccl-topo/aws-p5.48xl-topo.xml",
              "Bound by PCIe: the busiest link, PCIe switch PCI/0-0 to CPU 0, carries 24 of the 24 GB/s"},
        Bound{"nccl-dryrun/nccl2289_2node_rank0.log", "nccl-dryrun/h100nic.xml",
              "Bound by PCIe: the busiest link, GPU 0 to PCIe switch PCI/0-19000, carries 48 of the 48 "
              "GB/s"}}) {
    ANGIO_SHARED_OR_SKIP(log, bound.log);
    ANGIO_SHARED_OR_SKIP(file, bound.topology);
    const std::string said = answer(explain(run_of(log), topology_of(file)), "Why ");  // the first
    EXPECT_TRUE(said.starts_with(bound.answer)) << bound.log << ": " << said;
  }
}

TEST(ReasonsShared, PairsProtocolAndNvlsOfRealTopologies) {
  ANGIO_SHARED_OR_SKIP(log, "nccl-dryrun/topologies/azure-ncv4-topo.log");
  ANGIO_SHARED_OR_SKIP(file, "nccl-topo/azure-ncv4-topo.xml");
  const auto reasons = explain(run_of(log), topology_of(file));
  EXPECT_EQ(answer(reasons, "Why do 4 pairs go through host memory (SHM)?"),
            "Their path class is SYS, beyond PXB (NCCL's own limit).");
  EXPECT_EQ(answer(reasons, "Why is LL128 off?"),
            "LL128 is for NVLink: within the node the ring takes paths of class SYS.");
  EXPECT_EQ(answer(reasons, "Why no NVLS?"), "The GPUs have compute capability 8.0; NVLS needs 9.0.");
  EXPECT_EQ(answer(reasons, "Why 2 channels in the communicator?"),
            "The smaller of the ring's 1 and the tree's 1, doubled, as NCCL does with every graph.");
  ANGIO_SHARED_OR_SKIP(two, "nccl-dryrun/nccl2289_2node_rank0.log");
  ANGIO_SHARED_OR_SKIP(nics, "nccl-dryrun/h100nic.xml");
  EXPECT_EQ(answer(explain(run_of(two), topology_of(nics)), "Why no NVLS?"),
            "NCCL_NVLS_ENABLE=0 switches it off.");
}

}  // namespace
}  // namespace angio::dryrun
