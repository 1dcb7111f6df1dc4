// Real logs of NCCL 2.4 to 2.30: jobs of several centres, and the real library on invented machines. The
// facts below were counted in the logs by eye and with grep, not by the parser.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "import/nccl_log/nccl_log.hpp"
#include "support/shared_corpus.hpp"

namespace {

using namespace angio;

std::filesystem::path corpus() {
  return test::shared_corpus("");
}

std::string read_file(const std::filesystem::path& path) {
  return test::read_whole_file(path.string());
}

struct Expected {
  std::string file;
  std::string version;
  std::string network;
  std::uint32_t nranks = 0;
  std::size_t ranks = 0;  // that are in the file
  std::uint32_t nodes = 0;
  std::uint32_t channels = 0;       // coll channels; 0: not printed
  std::vector<std::uint32_t> ring;  // of channel 0; empty: not printed
  std::size_t gdr_enabled = 0;      // pairs of GPU and adapter
  std::size_t gdr_disabled = 0;
  std::uint64_t net_lines = 0;
  std::uint64_t p2p_lines = 0;
  std::uint64_t shm_lines = 0;
  std::uint64_t warnings = 0;
  std::uint64_t info = 0;
  std::vector<std::string> patterns;
  std::vector<std::string> choices;  // "RING LL"
};

std::vector<std::uint32_t> count_up(std::uint32_t count) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < count; ++i)
    all.push_back(i);
  return all;
}

const std::vector<Expected>& expected_logs() {
  static const std::vector<std::uint32_t> two_nodes{0, 7, 6, 5, 4, 3, 2, 1, 9, 10, 11, 12, 13, 14, 15, 8};
  static const std::vector<std::uint32_t> perlmutter{0, 1, 2, 3, 7, 6, 5, 4};
  // clang-format off
  static const std::vector<Expected> all{
      {"nccl-dryrun/nccl2289_1node_8xH100_nvls_off.log",
       "2.28.9", "Socket", 8, 8, 1, 24, count_up(8), 0, 0, 0, 192, 0, 0, 2489, {"1 12 30/30 NVL/PIX", "4 12 30/30 NVL/PIX"}, {}},
      {"nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log",
       "2.28.9", "Socket", 8, 8, 1, 24, count_up(8), 0, 0, 0, 192, 0, 0, 1342, {"1 12 30/30 NVL/PIX", "4 12 30/30 NVL/PIX", "5 8 40/60 NVL/PIX"}, {}},
      {"nccl-dryrun/nccl2289_2node_rank0.log",
       "2.28.9", "FakeIB", 16, 1, 2, 16, two_nodes, 64, 0, 6, 30, 0, 0, 499, {"3 8 48/48 NVL/PIX", "4 8 48/48 NVL/PIX"}, {"RING LL128", "RING SIMPLE", "TREE LL", "TREE LL128"}},
      {"nccl-dryrun/nccl2289_2node_rank9.log",
       "2.28.9", "FakeIB", 16, 1, 2, 16, {}, 64, 0, 6, 30, 0, 0, 453, {"3 8 48/48 NVL/PIX", "4 8 48/48 NVL/PIX"}, {}},
      {"nccl-dryrun/soft-roce/auto.log",
       "2.28.9", "IB", 2, 2, 2, 2, {0, 1}, 0, 0, 8, 0, 0, 2, 189, {"3 1 2.4/1.2 LOC/SYS", "4 1 1.2/1.2 LOC/SYS"}, {}},
      {"nccl-dryrun/soft-roce/gid0.log",
       "2.28.9", "IB", 2, 2, 2, 2, {0, 1}, 0, 0, 8, 0, 0, 2, 189, {"3 1 2.4/1.2 LOC/SYS", "4 1 1.2/1.2 LOC/SYS"}, {}},
      {"nccl-dryrun/soft-roce/gid5.log",
       "2.28.9", "IB", 2, 1, 2, 2, {0, 1}, 0, 0, 4, 0, 0, 4, 92, {"3 1 2.4/1.2 LOC/SYS", "4 1 1.2/1.2 LOC/SYS"}, {}},
      {"nccl-dryrun/soft-roce/memlock.log",
       "2.28.9", "IB", 2, 2, 2, 2, {0, 1}, 0, 0, 8, 0, 0, 2, 189, {"3 1 2.4/1.2 LOC/SYS", "4 1 1.2/1.2 LOC/SYS"}, {}},
      {"nccl-dryrun/soft-roce/sock.log",
       "2.28.9", "Socket", 2, 2, 2, 2, {0, 1}, 0, 0, 8, 0, 0, 2, 153, {"3 1 2.4/1.2 LOC/PHB", "4 1 1.2/1.2 LOC/PHB"}, {}},
      {"nccl-dryrun/topologies/aws-p5.48xl-topo.log",
       "2.28.9", "Socket", 8, 8, 1, 2, count_up(8), 0, 0, 0, 0, 16, 0, 577, {"1 1 24/24 PHB/PIX", "4 1 24/24 PHB/PIX", "5 0 0/0 PHB/PIX"}, {"RING LL", "RING SIMPLE"}},
      {"nccl-dryrun/topologies/azure-ncv4-topo.log",
       "2.28.9", "Socket", 4, 4, 1, 2, count_up(4), 0, 0, 0, 0, 8, 0, 323, {"1 1 12/12 SYS/PIX", "4 1 12/12 SYS/PIX"}, {"RING LL", "RING SIMPLE"}},
      {"nccl-dryrun/topologies/azurehpc-nc48v4-topo.log",
       "2.28.9", "Socket", 2, 2, 1, 24, count_up(2), 0, 0, 0, 48, 0, 0, 343, {"1 12 40/40 NVL/PIX", "4 12 20/20 NVL/PIX"}, {"RING LL", "RING SIMPLE"}},
      {"nccl-dryrun/topologies/issue256-h200-baremetal-node0.log",
       "2.28.9", "Socket", 3, 3, 1, 24, count_up(3), 0, 0, 0, 72, 0, 0, 479, {"1 12 40/40 NVL/PIX", "4 12 30/30 NVL/PIX", "5 3 60/60 NVL/PIX"}, {"RING LL"}},
      {"nccl-dryrun/topologies/oci-H100-topology.log",
       "2.28.9", "Socket", 8, 8, 1, 24, count_up(8), 0, 0, 0, 192, 0, 0, 1329, {"1 12 30/30 NVL/PIX", "4 12 30/30 NVL/PIX", "5 8 40/60 NVL/PIX"}, {"NVLS SIMPLE", "RING LL"}},
      {"nccl-logs/cori-gpu-v100-16rank.out",
       "2.4.8", "", 16, 16, 0, 0, {0, 2, 3, 7, 4, 6, 5, 1, 8, 10, 11, 15, 12, 14, 13, 9}, 0, 16, 96, 336, 0, 1, 722, {}, {}},
      {"nccl-logs/odissei-2nodes-all_gather_mpi.log",
       "2.22.3", "IB", 8, 8, 2, 8, count_up(8), 0, 0, 32, 48, 0, 0, 257, {}, {}},
      {"nccl-logs/odissei-2nodes-all_reduce_mpi.log",
       "2.22.3", "IB", 8, 8, 2, 8, count_up(8), 0, 0, 64, 120, 0, 0, 369, {}, {}},
      {"nccl-logs/odissei-2nodes-reduce_scatter_mpi.log",
       "2.22.3", "IB", 8, 8, 2, 8, count_up(8), 0, 0, 32, 48, 0, 0, 257, {}, {}},
      // The two names of these files are exchanged: each says its version inside.
      {"nccl-logs/p5-nccl-2.20.3.log",
       "2.22.3", "AWS Libfabric", 16, 16, 2, 16, two_nodes, 0, 0, 512, 448, 0, 0, 2881, {}, {}},
      {"nccl-logs/p5-nccl-2.22.3-with-tuner.log",
       "2.20.3", "AWS Libfabric", 16, 16, 2, 16, two_nodes, 0, 0, 512, 464, 0, 0, 2896, {}, {}},
      {"nccl-logs/jeanzay-n1_32gb_all_reduce_bench.txt",
       "2.7.8", "IB", 4, 4, 0, 12, count_up(4), 0, 0, 0, 100, 0, 0, 149, {}, {}},
      {"nccl-logs/jeanzay-n16_32gb_all_reduce_bench.txt",
       "2.7.8", "IB", 64, 64, 0, 4, {}, 0, 0, 368, 416, 0, 0, 1365, {}, {}},
      {"nccl-logs/perlmutter-shifter-nccl-tests-30743809.out",
       "2.21.5", "AWS Libfabric", 8, 8, 2, 8, perlmutter, 0, 0, 56, 120, 0, 0, 392, {}, {}},
      {"nccl-logs/perlmutter-podman-nccl-tests-30743802.out",
       "2.21.5", "AWS Libfabric", 8, 8, 2, 0, perlmutter, 0, 0, 32, 48, 0, 32, 300, {}, {}},
  };
  // clang-format on
  return all;
}

std::string pattern_words(const model::NcclPattern& pattern) {
  return fmt::format("{} {} {:g}/{:g} {}/{}", pattern.pattern, pattern.channels, pattern.bw_intra,
                     pattern.bw_inter, pattern.type_intra, pattern.type_inter);
}

std::uint64_t lines_of(const model::NcclCommunicator& communicator, bool (*wanted)(model::NcclTransport)) {
  std::uint64_t lines = 0;
  for (const auto& rank : communicator.ranks) {
    for (const auto& way : rank.transports)
      lines += wanted(way.transport) ? way.count : 0;
  }
  return lines;
}

bool is_p2p(model::NcclTransport transport) {
  return transport == model::NcclTransport::kP2pIpc || transport == model::NcclTransport::kP2pCumem ||
         transport == model::NcclTransport::kP2pDirect;
}

void check_lines(const Expected& expected, const model::NcclLog& log) {
  EXPECT_EQ(log.warn_lines, expected.warnings);
  EXPECT_EQ(log.info_lines, expected.info);
  EXPECT_EQ(log.left_out, 0U);
  EXPECT_EQ(log.events_left_out, 0U);
  ASSERT_EQ(log.versions.size(), 1U);
  EXPECT_EQ(log.versions[0].version, expected.version);
  for (const auto& process : log.processes) {
    if (!process.host.empty()) {
      EXPECT_EQ(process.network, expected.network) << process.host << ":" << process.pid;
    }
  }
  const auto enabled =
      std::count_if(log.gdr.begin(), log.gdr.end(), [](const auto& pair) { return pair.enabled; });
  std::size_t distinct = 0;  // a distance may be told twice, before and behind the trimming of paths
  std::vector<std::string> seen;
  for (const auto& pair : log.gdr) {
    const auto key = pair.host + pair.gpu + "/" + pair.hca;
    if (pair.enabled && std::find(seen.begin(), seen.end(), key) == seen.end()) {
      seen.push_back(key);
      ++distinct;
    }
  }
  EXPECT_EQ(distinct, expected.gdr_enabled);
  EXPECT_EQ(log.gdr.size() - static_cast<std::size_t>(enabled), expected.gdr_disabled);
}

void check_communicator(const Expected& expected, const model::NcclCommunicator& communicator) {
  EXPECT_EQ(communicator.nranks, expected.nranks);
  EXPECT_EQ(communicator.ranks.size(), expected.ranks);
  EXPECT_EQ(communicator.nodes.value_or(0), expected.nodes);
  for (const auto& rank : communicator.ranks)
    EXPECT_EQ(rank.coll_channels.value_or(0), expected.channels);
  if (!expected.ring.empty()) {
    ASSERT_FALSE(communicator.rings.empty());
    EXPECT_EQ(communicator.rings[0].order, expected.ring);
  }
  EXPECT_EQ(lines_of(communicator, [](auto transport) { return transport == model::NcclTransport::kNet; }),
            expected.net_lines);
  EXPECT_EQ(lines_of(communicator, is_p2p), expected.p2p_lines);
  EXPECT_EQ(lines_of(communicator, [](auto transport) { return transport == model::NcclTransport::kShm; }),
            expected.shm_lines);
  std::vector<std::string> patterns;
  for (const auto& pattern : communicator.patterns)
    patterns.push_back(pattern_words(pattern));
  std::sort(patterns.begin(), patterns.end());
  EXPECT_EQ(patterns, expected.patterns);
  std::vector<std::string> choices;
  for (const auto& choice : communicator.choices)
    choices.push_back(choice.algorithm + " " + choice.protocol);
  std::sort(choices.begin(), choices.end());
  choices.erase(std::unique(choices.begin(), choices.end()), choices.end());
  EXPECT_EQ(choices, expected.choices);
}

class NcclLogCorpus : public testing::Test {
 protected:
  void SetUp() override {
    if (corpus().empty()) GTEST_SKIP() << "needs ANGIO_SHARED with corpus/";
  }
};

TEST_F(NcclLogCorpus, FactsAreThoseThatWereCountedByHand) {
  for (const auto& expected : expected_logs()) {
    SCOPED_TRACE(expected.file);
    const auto bytes = read_file(corpus() / expected.file);
    ASSERT_FALSE(bytes.empty());
    const auto log = import::nccl_log::parse_log(bytes, expected.file);
    check_lines(expected, log);
    ASSERT_EQ(log.communicators.size(), 1U);
    check_communicator(expected, log.communicators[0]);
  }
}

std::vector<std::filesystem::path> all_logs() {
  std::vector<std::filesystem::path> files;
  for (const auto* folder : {"nccl-logs", "nccl-dryrun"}) {
    for (const auto& entry : std::filesystem::recursive_directory_iterator(corpus() / folder)) {
      const auto name = entry.path().extension();
      const bool is_log = name == ".log" || name == ".out" || name == ".txt";
      if (entry.is_regular_file() && is_log && entry.path().parent_path().filename() != "ras")
        files.push_back(entry.path());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST_F(NcclLogCorpus, EveryLineIsUnderstoodOrCounted) {
  ASSERT_GE(all_logs().size(), 50U);
  for (const auto& path : all_logs()) {
    SCOPED_TRACE(path.filename());
    const auto log = import::nccl_log::parse_log(read_file(path), path.filename());
    ASSERT_EQ(log.files.size(), 1U);
    const auto& file = log.files[0];
    const bool dry = path.string().find("nccl-dryrun") != std::string::npos;
    const double limit = dry ? 0.02 : 0.05;
    EXPECT_LE(static_cast<double>(file.unknown_lines), limit * static_cast<double>(file.nccl_lines))
        << (file.unknown.empty() ? std::string() : file.unknown[0].text);
    const auto told = log.info_lines + log.warn_lines + log.trace_lines;
    // A version line has no level; it counts where it is the only one of NCCL's.
    const bool version_alone = told == 0 && file.nccl_lines == 1 && !log.versions.empty();
    EXPECT_TRUE(version_alone || told == file.nccl_lines) << told << " of " << file.nccl_lines;
  }
}

TEST_F(NcclLogCorpus, PiecesOfAnySizeGiveTheSame) {
  const auto bytes = read_file(corpus() / "nccl-logs/odissei-2nodes-all_reduce_mpi.log");
  const auto whole = import::nccl_log::parse_log(bytes, "log");
  import::nccl_log::Log reader;
  reader.begin("log");
  for (std::size_t at = 0; at < bytes.size(); at += 7)
    reader.feed(std::string_view(bytes).substr(at, 7));
  const auto pieces = reader.take();
  EXPECT_EQ(pieces.files[0].lines, whole.files[0].lines);
  EXPECT_EQ(pieces.files[0].nccl_lines, whole.files[0].nccl_lines);
  ASSERT_EQ(pieces.communicators.size(), whole.communicators.size());
  EXPECT_EQ(pieces.communicators[0].ranks[5].connections.size(),
            whole.communicators[0].ranks[5].connections.size());
}

TEST_F(NcclLogCorpus, TwoFilesOfOneJobAreOneCommunicator) {
  import::nccl_log::Log reader;
  for (const auto* name : {"nccl2289_2node_rank0.log", "nccl2289_2node_rank9.log"})
    reader.add(read_file(corpus() / "nccl-dryrun" / name), name);
  const auto log = reader.take();
  ASSERT_EQ(log.communicators.size(), 1U);
  EXPECT_EQ(log.communicators[0].nranks, 16U);
  std::vector<std::uint32_t> numbers;
  for (const auto& communicator : log.communicators) {
    for (const auto& rank : communicator.ranks)
      numbers.push_back(rank.rank.value_or(99));
  }
  std::sort(numbers.begin(), numbers.end());
  EXPECT_EQ(numbers, (std::vector<std::uint32_t>{0, 9}));
}

struct Failure {
  const char* file;
  model::NcclEventKind kind;
  std::uint64_t count;
};

TEST_F(NcclLogCorpus, TheFirstFailureIsFound) {
  using Kind = model::NcclEventKind;
  for (const auto& [file, kind, count] : std::vector<Failure>{
           {"nccl-logs/cori-gpu-v100-16rank.out", Kind::kCompletionError, 1},
           {"nccl-logs/fail-azure-ib-err12-vendor129.log", Kind::kCompletionError, 1},
           {"nccl-logs/fail-ib-err5-vendor244-p2p.log", Kind::kCompletionError, 1},
           {"nccl-logs/fail-ibv_reg_mr-memlock.log", Kind::kRegisterMemory, 1},
           {"nccl-logs/fail-no-socket-interface.log", Kind::kNoInterface, 1},
           {"nccl-logs/fail-shm-too-small-clearml.log", Kind::kSharedMemory, 1},
           {"nccl-logs/fail-xml-too-many-nodes-p5.log", Kind::kTopologyLimit, 1},
           {"nccl-logs/perlmutter-podman-nccl-tests-30743802.out", Kind::kRegisterMemory, 4},
           {"nccl-dryrun/soft-roce/gid5.log", Kind::kQpModify, 1},
       }) {
    SCOPED_TRACE(file);
    const auto log = import::nccl_log::parse_log(read_file(corpus() / file), file);
    const auto* first = model::find_earliest_failure(log);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(first->kind, kind) << first->text;
    EXPECT_EQ(first->count, count);
  }
}

TEST_F(NcclLogCorpus, AHealthyLogHasNoFailure) {
  for (const auto* file :
       {"nccl-logs/p5-nccl-2.20.3.log", "nccl-logs/jeanzay-n16_32gb_all_reduce_bench.txt",
        "nccl-logs/odissei-2nodes-all_reduce_mpi.log", "nccl-dryrun/soft-roce/auto.log",
        "nccl-dryrun/soft-roce/sock.log", "nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log",
        "nccl-dryrun/topologies/oci-H100-topology.log", "nccl-logs/p2p-disabled-shm-roce-send.log"}) {
    SCOPED_TRACE(file);
    const auto log = import::nccl_log::parse_log(read_file(corpus() / file), file);
    const auto* first = model::find_earliest_failure(log);
    EXPECT_EQ(first, nullptr) << (first == nullptr ? "" : first->text);
  }
}

TEST_F(NcclLogCorpus, NumbersOfFailures) {
  const auto azure =
      import::nccl_log::parse_log(read_file(corpus() / "nccl-logs/fail-azure-ib-err12-vendor129.log"), "a");
  ASSERT_FALSE(azure.events.empty());
  EXPECT_EQ(azure.events[0].status, 12);
  EXPECT_EQ(azure.events[0].opcode, 0);
  EXPECT_EQ(azure.events[0].vendor_error, 129U);  // on the next line: the mail broke it
  EXPECT_EQ(azure.events[0].location, "transport/net_ib.cc:1296");
  EXPECT_EQ(azure.events[0].result, 6);
  const auto flush =
      import::nccl_log::parse_log(read_file(corpus() / "nccl-logs/fail-ib-err5-vendor244-p2p.log"), "b");
  ASSERT_FALSE(flush.events.empty());
  EXPECT_EQ(flush.events[0].status, 5);
  EXPECT_EQ(flush.events[0].vendor_error, 244U);
  const auto gid = import::nccl_log::parse_log(read_file(corpus() / "nccl-dryrun/soft-roce/gid5.log"), "c");
  EXPECT_EQ(gid.events[0].number, 61);
  EXPECT_EQ(gid.events[0].gid_index, 5U);
  EXPECT_EQ(gid.events[0].device, "rxe0:1");
  ASSERT_EQ(gid.networks.size(), 1U);
  EXPECT_EQ(gid.networks[0].devices[0].gid_index, 5U);
  EXPECT_EQ(gid.networks[0].devices[0].mtu_bytes, 1024U);
  const auto shm =
      import::nccl_log::parse_log(read_file(corpus() / "nccl-logs/fail-shm-too-small-clearml.log"), "d");
  EXPECT_EQ(shm.events[0].bytes, 9637892U);
}

TEST_F(NcclLogCorpus, TheTuningTableOfTheDryRun) {
  const auto log = import::nccl_log::parse_log(
      read_file(corpus() / "nccl-dryrun/nccl2289_1node_8xH100_nvls_on.log"), "log");
  ASSERT_EQ(log.communicators.size(), 1U);
  const auto cell = [&](const char* algorithm, const char* protocol) {
    for (const auto& each : log.communicators[0].tuning) {
      if (each.function == "AllReduce" && each.algorithm == algorithm && each.protocol == protocol)
        return each;
    }
    return model::NcclTuningCell{};
  };
  EXPECT_DOUBLE_EQ(cell("Tree", "LL128").bandwidth, 128.8);
  EXPECT_DOUBLE_EQ(cell("Ring", "Simple").latency_us, 56.0);
  EXPECT_DOUBLE_EQ(cell("Ring", "Simple").bandwidth, 205.7);
  EXPECT_DOUBLE_EQ(cell("NVLS", "Simple").bandwidth, 272.0);
  EXPECT_EQ(log.communicators[0].tuning.size(), 105U);
}

TEST_F(NcclLogCorpus, OldCommunicatorsWithoutHashAreSorted) {
  const auto log = import::nccl_log::parse_log(
      read_file(corpus() / "nccl-logs/jeanzay-meg_ds_zero_gpt2_perf_n16-1999616.out"), "log");
  std::size_t of_sixteen = 0;
  for (const auto& communicator : log.communicators) {
    if (communicator.nranks == 16) ++of_sixteen;
    if (communicator.nranks > 0) {
      EXPECT_EQ(communicator.ranks.size(), communicator.nranks);
      EXPECT_TRUE(communicator.guessed);
    }
  }
  EXPECT_EQ(of_sixteen, 4U);
}

}  // namespace
