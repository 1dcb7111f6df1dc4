// The rules over every real NCCL log, table and RAS answer of the shared corpus. Healthy ones get no warning;
// the others are listed with the rule that must come first, and why.
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "diagnose/doctor.hpp"
#include "import/job_evidence/job_evidence.hpp"
#include "support/shared_corpus.hpp"

namespace angio {
namespace {

namespace fs = std::filesystem;

struct NotHealthy {
  const char* first;  // the rule that must come first
  const char* why;
};

const std::map<std::string, NotHealthy>& not_healthy() {
  static const std::map<std::string, NotHealthy> kFiles{
      {"gid5.log", {"nccl.gid.wrong", "NCCL_IB_GID_INDEX names an empty entry"}},
      {"sock.log", {"nccl.network.socket", "the RDMA device is not used"}},
      {"cori-gpu-v100-16rank.out", {"nccl.ib.retry-exceeded", "the job ends with completion status 12"}},
      {"fail-azure-ib-err12-vendor129.log", {"nccl.ib.retry-exceeded", "nodes of two fabrics"}},
      {"fail-ib-err5-vendor244-p2p.log", {"nccl.ib.flushed", "status 5, the two ends on different rails"}},
      {"fail-ibv_reg_mr-memlock.log", {"nccl.memory.register", "limit of locked memory"}},
      {"fail-no-socket-interface.log", {"nccl.bootstrap.interface", "no interface matches"}},
      {"fail-shm-too-small-clearml.log", {"nccl.shm.too-small", "container without room in /dev/shm"}},
      {"fail-xml-too-many-nodes-p5.log", {"nccl.topology.too-large", "more than 256 elements"}},
      {"jeanzay-all_reduce_bench-32gb-n4.txt", {"nccl.gdr.off", "Omni-Path without GPUDirect"}},
      {"jeanzay-meg_ds_zero_gpt2_perf_n16-1999616.out", {"nccl.gdr.off", "Omni-Path without GPUDirect"}},
      {"jeanzay-meg_gpt2_perf_n16-1999618.out", {"nccl.gdr.off", "Omni-Path without GPUDirect"}},
      {"jeanzay-n16_32gb_all_reduce_bench.txt", {"nccl.gdr.off", "Omni-Path without GPUDirect"}},
      {"nccl-troubleshooting-logging-L289.txt",
       {"nccl.network.socket", "an excerpt whose connections are sockets"}},
      {"perlmutter-podman-nccl-tests-30743802.out", {"nccl.memory.register", "memory refused with errno 22"}},
      {"rccl_v2283_text_degraded.txt", {"nccl.ras.missing", "rank 6 does not answer"}},
      {"rccl_v2289_json_degraded.json", {"nccl.ras.error", "rank 6 has an error, rank 7 is missing"}},
      {"xxrjun-c00-nccl_N2_G1_cnode2-007_cnode2-016.log", {"nccl.tests.failed", "the test died"}},
  };
  return kFiles;
}

model::Diagnosis diagnose_file(const fs::path& path) {
  import::job_evidence::Reader reader;
  reader.add(test::read_whole_file(path.string()), path.filename().string());
  model::Machine machine;
  machine.name = "job";
  model::JobLog log;
  log.name = path.filename().string();
  log.nccl = std::make_shared<const model::NcclEvidence>(reader.take().facts);
  machine.logs.push_back(std::move(log));
  return diagnose::diagnose(machine);
}

std::size_t check_folder(const std::string& folder) {
  std::size_t healthy = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (!entry.is_regular_file() || extension == ".gz" || extension == ".xml") continue;
    const std::string name = entry.path().filename().string();
    SCOPED_TRACE(name);
    const model::Diagnosis diagnosis = diagnose_file(entry.path());
    const auto known = not_healthy().find(name);
    if (known != not_healthy().end()) {
      const bool right = !diagnosis.findings.empty() && diagnosis.findings[0].rule == known->second.first;
      EXPECT_TRUE(right) << "must come first: " << known->second.first << ", " << known->second.why;
      continue;
    }
    ++healthy;
    for (const model::Finding& finding : diagnosis.findings) {
      if (finding.severity == model::Severity::kInfo) continue;
      ADD_FAILURE() << finding.rule << ": " << finding.title;
    }
  }
  return healthy;
}

TEST(NcclLogsShared, LogsHaveNoWarningButWhereOneIsDue) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-logs");
  EXPECT_GT(check_folder(folder), 18U);
}

TEST(NcclLogsShared, TablesHaveNoWarningButWhereOneIsDue) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  EXPECT_GT(check_folder(folder), 40U);
}

TEST(NcclLogsShared, LogsOfTheDryRunsHaveNone) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-dryrun");
  EXPECT_GT(check_folder(folder), 4U);
}

}  // namespace
}  // namespace angio
