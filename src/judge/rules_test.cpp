// Each rule fires, stays silent on the healthy twin and is undecided where it cannot know.
#include <gtest/gtest.h>

#include "judge/case.hpp"

namespace angio::judge {
namespace {

using diagnose::Outcome;
using model::NcclCollective;

constexpr std::uint64_t kMiB = 1U << 20U;
constexpr std::uint64_t kGiB = 1U << 30U;

// Should reach 100 GB/s (80 to 120) and take 10 us (up to 20) where it is small.
Point point(std::uint64_t size, double gigabytes, bool in_place = false) {
  Point one;
  one.collective = NcclCollective::kAllReduce;
  one.size = Bytes{size};
  one.in_place = in_place;
  one.bus = BytesPerSecond{gigabytes * 1e9};
  one.algorithm = one.bus * 0.5;
  one.time_us = static_cast<double>(size) / one.algorithm.value * 1e6;
  one.wrong = 0;
  model::Expectation expected;
  expected.basis = model::ExpectationBasis::kFitted;
  expected.bus = BytesPerSecond{100e9};
  expected.bus_low = BytesPerSecond{80e9};
  expected.bus_high = BytesPerSecond{120e9};
  expected.time_us = 10;
  expected.most_us = 20;
  expected.limit = "NIC";
  one.expectation = expected;
  return one;
}

Point small(std::uint64_t size, double time_us) {
  Point one = point(size, 0.1);
  one.time_us = time_us;
  one.expectation->bus_low = BytesPerSecond{0};
  return one;
}

Case with(std::vector<Point> points) {
  Case facts;
  facts.subject = "AllReduce, 16 GPUs on 2 hosts";
  facts.ranks = 16;
  facts.nodes = 2;
  facts.points = std::move(points);
  return facts;
}

Case without_expectation(std::vector<Point> points) {
  for (Point& one : points)
    one.expectation.reset();
  return with(std::move(points));
}

using Check = void (*)(const Case&, Outcome&);
Outcome ask(Check check, const Case& facts) {
  Outcome outcome;
  check(facts, outcome);
  return outcome;
}
bool is_silent(const Outcome& outcome) {
  return outcome.drafts.empty() && outcome.gaps.empty();
}
std::string title_of(Check check, const Case& facts) {
  const Outcome outcome = ask(check, facts);
  return outcome.drafts.empty() ? std::string() : outcome.drafts.front().title;
}

TEST(JudgeDataWrong, Fires) {
  Case facts = with({point(kGiB, 100)});
  facts.points[0].wrong = 3;
  EXPECT_EQ(title_of(wrong_data, facts),
            "AllReduce, 16 GPUs on 2 hosts: the data was wrong in 1 row; none of its figures counts");
  EXPECT_EQ(conclude(facts, {}).verdict, Verdict::kWrong);
}
TEST(JudgeDataWrong, Silent) {
  EXPECT_TRUE(is_silent(ask(wrong_data, with({point(kGiB, 100)}))));
}
TEST(JudgeDataWrong, UndecidedWhereNothingWasChecked) {
  Case facts = with({point(kGiB, 100)});
  facts.points[0].wrong.reset();
  EXPECT_EQ(ask(wrong_data, facts).gaps.size(), 1U);
}

TEST(JudgeBandwidthLow, Fires) {
  const Case facts = with({point(256 * kMiB, 30), point(kGiB, 31)});
  EXPECT_EQ(title_of(low_bandwidth, facts),
            "AllReduce, 16 GPUs on 2 hosts: 31.0 GB/s at 1 GiB, 31 % of what this hardware reaches");
  EXPECT_EQ(conclude(facts, {}).verdict, Verdict::kLow);
}
TEST(JudgeBandwidthLow, Silent) {
  EXPECT_TRUE(is_silent(ask(low_bandwidth, with({point(256 * kMiB, 95), point(kGiB, 97)}))));
  // One row of several is scatter.
  EXPECT_TRUE(
      is_silent(ask(low_bandwidth, with({point(256 * kMiB, 95), point(512 * kMiB, 60), point(kGiB, 97)}))));
}
TEST(JudgeBandwidthLow, Undecided) {
  EXPECT_EQ(ask(low_bandwidth, without_expectation({point(kGiB, 30)})).gaps.size(), 1U);
  EXPECT_EQ(ask(low_bandwidth, with({point(kMiB, 30)})).gaps.size(), 1U);  // ends too early
  Case bound = with({point(kGiB, 30)});
  bound.points[0].expectation->basis = model::ExpectationBasis::kBound;
  EXPECT_EQ(ask(low_bandwidth, bound).gaps.size(), 1U);
}

TEST(JudgeLatencyHigh, Fires) {
  const Case facts = with({small(8, 90), small(64, 91), small(512, 92), point(kGiB, 97)});
  EXPECT_NE(title_of(high_latency, facts), "");
  EXPECT_EQ(conclude(facts, {}).verdict, Verdict::kLow);
}
TEST(JudgeLatencyHigh, Silent) {
  EXPECT_TRUE(
      is_silent(ask(high_latency, with({small(8, 9), small(64, 11), small(512, 12), point(kGiB, 97)}))));
  // The wire is slow: that delays small sizes too.
  EXPECT_TRUE(
      is_silent(ask(high_latency, with({small(8, 90), small(64, 91), small(512, 92), point(kGiB, 10)}))));
}
TEST(JudgeLatencyHigh, Undecided) {
  EXPECT_EQ(ask(high_latency, with({point(kGiB, 97)})).gaps.size(), 1U);
}

TEST(JudgeSizeDip, Fires) {
  EXPECT_NE(title_of(dips, with({point(16 * kMiB, 90), point(32 * kMiB, 20), point(64 * kMiB, 95)})), "");
}
TEST(JudgeSizeDip, Silent) {
  EXPECT_TRUE(is_silent(ask(dips, with({point(16 * kMiB, 70), point(32 * kMiB, 60), point(64 * kMiB, 95)}))));
}
TEST(JudgeSizeDip, Undecided) {
  EXPECT_EQ(ask(dips, with({point(16 * kMiB, 70), point(32 * kMiB, 60)})).gaps.size(), 1U);
}

TEST(JudgeHalfGap, Fires) {
  EXPECT_NE(title_of(placement_gap, with({point(kGiB, 60), point(kGiB, 95, true)})), "");
}
TEST(JudgeHalfGap, Silent) {
  EXPECT_TRUE(is_silent(ask(placement_gap, with({point(kGiB, 90), point(kGiB, 95, true)}))));
}
TEST(JudgeHalfGap, Undecided) {
  EXPECT_EQ(ask(placement_gap, with({point(kGiB, 90)})).gaps.size(), 1U);
}

std::string cause(double gigabytes) {
  const Outcome outcome = ask(impossible_values, with({point(kGiB, gigabytes)}));
  return outcome.drafts.empty() ? std::string() : outcome.drafts.front().evidence.at(1).text;
}
TEST(JudgeValueImpossible, FiresAndNamesTheUnit) {
  EXPECT_EQ(cause(800), "as if Gb/s stood for GB/s (a factor of 8)");
  EXPECT_EQ(cause(1600), "as if all 16 ranks were added");
  EXPECT_EQ(cause(100'000), "as if MB/s stood for GB/s (a factor of 1000)");
  EXPECT_EQ(cause(400), "the topology is not what was said, or the formula is another");
  EXPECT_EQ(conclude(with({point(kGiB, 800)}), {}).verdict, Verdict::kImpossible);
}
TEST(JudgeValueImpossible, FiresForBothDirections) {
  EXPECT_TRUE(cause(200).starts_with("as if "));
  Case facts;
  facts.subject = "ib_write_bw on mlx5_0";
  facts.flows = {{"ib_write_bw 64 KiB", Bytes{65536}, BitsPerSecond{760e9}, BitsPerSecond{390e9},
                  BitsPerSecond{400e9}, 1, true, "port", ""}};
  const Outcome outcome = ask(impossible_values, facts);
  ASSERT_EQ(outcome.drafts.size(), 1U);
  EXPECT_EQ(outcome.drafts[0].evidence.at(1).text, "as if both directions were added (a factor of 2)");
}
TEST(JudgeValueImpossible, Silent) {
  EXPECT_TRUE(is_silent(ask(impossible_values, with({point(kGiB, 119)}))));
  EXPECT_TRUE(is_silent(ask(impossible_values, with({point(4096, 800)}))));  // rounding
}
TEST(JudgeValueImpossible, Undecided) {
  EXPECT_EQ(ask(impossible_values, without_expectation({point(kGiB, 800)})).gaps.size(), 1U);
}

TEST(JudgeRowContradiction, Fires) {
  Case facts = with({point(kGiB, 100)});
  facts.points[0].doubt = "busbw 100.00 GB/s is not algbw 90.00 GB/s x 1.875";
  EXPECT_NE(title_of(contradictions, facts), "");
}
TEST(JudgeRowContradiction, Silent) {
  EXPECT_TRUE(is_silent(ask(contradictions, with({point(kGiB, 100)}))));
}
TEST(JudgeRowContradiction, Undecided) {
  Case facts = with({point(kGiB, 100)});
  facts.points[0].time_us = 0;
  EXPECT_EQ(ask(contradictions, facts).gaps.size(), 1U);
}

TEST(JudgeAverageQuoted, Fires) {
  Case facts = with({point(8, 0.1), point(kGiB, 97)});
  facts.average = BytesPerSecond{40e9};
  EXPECT_EQ(title_of(averages, facts),
            "AllReduce, 16 GPUs on 2 hosts: the average 40.0 GB/s is no result; 97.0 GB/s at 1 GiB is");
  const Judgement judgement = conclude(facts, {});
  EXPECT_EQ(judgement.verdict, Verdict::kNormal);  // by the rows, never by the average
  ASSERT_EQ(judgement.refused.size(), 1U);
}
TEST(JudgeAverageQuoted, Silent) {
  Case facts = with({point(512 * kMiB, 95), point(kGiB, 97)});
  facts.average = BytesPerSecond{96e9};
  EXPECT_TRUE(is_silent(ask(averages, facts)));
}
TEST(JudgeAverageQuoted, UndecidedWhereOnlyTheAverageIsLeft) {
  Case facts = with({});
  facts.average = BytesPerSecond{40e9};
  EXPECT_EQ(ask(averages, facts).gaps.size(), 1U);
  EXPECT_EQ(conclude(facts, {}).verdict, Verdict::kUndecided);
}

// NCCL's lines of a slow run.
model::NcclLog log_of(const std::string& network, const std::vector<model::NcclTransportCount>& ways,
                      std::optional<bool> nvls = {}) {
  model::NcclLog log;
  model::NcclProcess process;
  process.host = "host-a";
  process.network = network;
  log.processes.push_back(process);
  model::NcclRank rank;
  rank.rank = 0;
  rank.transports = ways;
  rank.nvls = nvls;
  model::NcclCommunicator communicator;
  communicator.ranks.push_back(rank);
  log.communicators.push_back(communicator);
  return log;
}

Case slow(const model::NcclLog* log) {
  Case facts = with({point(kGiB, 10)});
  facts.log = log;
  return facts;
}

TEST(JudgeTransportSocket, Fires) {
  const model::NcclLog log = log_of("Socket", {});
  const Case facts = slow(&log);
  EXPECT_NE(title_of(sockets, facts), "");
  EXPECT_NE(conclude(facts, {}).answer.find("Likely cause: Using network Socket"), std::string::npos);
}
TEST(JudgeTransportSocket, Silent) {
  const model::NcclLog log = log_of("IB", {});
  EXPECT_TRUE(is_silent(ask(sockets, slow(&log))));
  const model::NcclLog socket = log_of("Socket", {});
  Case quick = with({point(kGiB, 97)});
  quick.log = &socket;
  EXPECT_FALSE(ask(sockets, quick).applicable);  // nothing is slow
}
TEST(JudgeTransportSocket, Undecided) {
  EXPECT_EQ(ask(sockets, slow(nullptr)).gaps.size(), 1U);
  const model::NcclLog log = log_of("", {});
  EXPECT_EQ(ask(sockets, slow(&log)).gaps.size(), 1U);
}

model::NcclTransportCount way(model::NcclTransport transport, bool gdr, const std::string& text) {
  model::NcclTransportCount one;
  one.transport = transport;
  one.gdr = gdr;
  one.net = "IB";
  one.text = text;
  return one;
}

TEST(JudgeTransportStaged, Fires) {
  const model::NcclLog log = log_of("IB", {way(model::NcclTransport::kNet, false, "NET/IB/0")});
  EXPECT_NE(title_of(staged, slow(&log)).find("without GPUDirect RDMA"), std::string::npos);
  const model::NcclLog shared = log_of("IB", {way(model::NcclTransport::kShm, false, "SHM/direct/direct")});
  EXPECT_NE(title_of(staged, slow(&shared)).find("host memory (SHM)"), std::string::npos);
}
TEST(JudgeTransportStaged, Silent) {
  const model::NcclLog log = log_of("IB", {way(model::NcclTransport::kNet, true, "NET/IB/0/GDRDMA"),
                                           way(model::NcclTransport::kP2pCumem, false, "P2P/CUMEM")});
  EXPECT_TRUE(is_silent(ask(staged, slow(&log))));
}
TEST(JudgeTransportStaged, Undecided) {
  EXPECT_EQ(ask(staged, slow(nullptr)).gaps.size(), 1U);
  const model::NcclLog log = log_of("IB", {});
  EXPECT_EQ(ask(staged, slow(&log)).gaps.size(), 1U);
}

Case slow_hopper(const model::NcclLog* log) {
  Case facts = slow(log);
  facts.platform = cost::Platform{};
  facts.platform->nvls = true;
  return facts;
}
TEST(JudgeNvlsOff, Fires) {
  const model::NcclLog log = log_of("IB", {}, false);
  EXPECT_NE(title_of(no_nvls, slow_hopper(&log)), "");
}
TEST(JudgeNvlsOff, Silent) {
  const model::NcclLog log = log_of("IB", {}, true);
  EXPECT_TRUE(is_silent(ask(no_nvls, slow_hopper(&log))));
  EXPECT_FALSE(ask(no_nvls, slow(&log)).applicable);  // hardware without it
}
TEST(JudgeNvlsOff, Undecided) {
  EXPECT_EQ(ask(no_nvls, slow_hopper(nullptr)).gaps.size(), 1U);
}

Case flow(double gigabits, double line) {
  Case facts;
  facts.subject = "ib_write_bw on mlx5_0";
  facts.flows = {{"ib_write_bw 1 MiB", Bytes{kMiB}, BitsPerSecond{gigabits * 1e9},
                  BitsPerSecond{line * 0.97e9}, BitsPerSecond{line * 1e9}, 1, true,
                  "port of a mlx5_0: 200 Gb/s", ""}};
  return facts;
}
TEST(JudgeNetworkLow, Fires) {
  EXPECT_EQ(title_of(low_network, flow(95, 200)),
            "ib_write_bw 1 MiB: 95 Gb/s, 49 % of what port of a mlx5_0: 200 Gb/s allows");
}
TEST(JudgeNetworkLow, Silent) {
  EXPECT_TRUE(is_silent(ask(low_network, flow(190, 200))));
}
TEST(JudgeNetworkLow, Undecided) {
  EXPECT_EQ(ask(low_network, flow(95, 0)).gaps.size(), 1U);
}

Case copies(double gigabytes, double wire) {
  Case facts;
  facts.subject = "nvbandwidth, 1 GPU";
  Copy copy;
  copy.group = copy.what = "host to GPU 0";
  copy.kind = CopyKind::kHostToGpu;
  copy.gpu = 0;
  copy.rate = BytesPerSecond{gigabytes * 1e9};
  copy.wire = BytesPerSecond{wire * 1e9};
  copy.limit = "the link to the CPU";
  facts.copies.push_back(copy);
  return facts;
}
TEST(JudgeCopyLow, Fires) {
  EXPECT_NE(title_of(low_copies, copies(26, 63)), "");
  EXPECT_EQ(conclude(copies(26, 63), {}).verdict, Verdict::kLow);
}
TEST(JudgeCopyLow, Silent) {
  EXPECT_TRUE(is_silent(ask(low_copies, copies(55, 63))));
  Case far = copies(26, 63);
  far.copies[0].far = true;
  EXPECT_TRUE(ask(low_copies, far).drafts.empty());
}
TEST(JudgeCopyLow, Undecided) {
  EXPECT_EQ(ask(low_copies, copies(26, 0)).gaps.size(), 1U);
}

Case from_nodes(double near, double far) {
  Case facts = copies(near, 63);
  facts.copies.push_back(facts.copies[0]);
  facts.copies[0].node = 0;
  facts.copies[1].node = 1;
  facts.copies[1].rate = BytesPerSecond{far * 1e9};
  return facts;
}
TEST(JudgeCopySameSockets, Fires) {
  EXPECT_EQ(title_of(same_from_both_sockets, from_nodes(55, 54.5)),
            "host to GPU, GPU 0: 55.0 GB/s from every NUMA node, so this test cannot tell near from far");
}
TEST(JudgeCopySameSockets, Silent) {
  EXPECT_TRUE(is_silent(ask(same_from_both_sockets, from_nodes(55, 38))));
}
TEST(JudgeCopySameSockets, Undecided) {
  EXPECT_EQ(ask(same_from_both_sockets, copies(55, 63)).gaps.size(), 1U);
}

Case gauge(const std::string& type) {
  Case facts;
  facts.gauges = {{"DCGM_FI_PROF_PCIE_TX_BYTES, GPU 0", type, "metrics.txt:3"}};
  return facts;
}
TEST(JudgeMetricType, Fires) {
  EXPECT_NE(title_of(wrong_types, gauge("counter")), "");
}
TEST(JudgeMetricType, Silent) {
  EXPECT_TRUE(is_silent(ask(wrong_types, gauge("gauge"))));
}
TEST(JudgeMetricType, Undecided) {
  EXPECT_EQ(ask(wrong_types, gauge("")).gaps.size(), 1U);
}

TEST(JudgeTestFailed, Fires) {
  Case facts = copies(55, 63);
  facts.has_tests = true;
  facts.failed = {{"device_local_copy", "memory utilization is not zero", false}};
  EXPECT_EQ(title_of(failed_tests, facts), "nvbandwidth, 1 GPU: 1 test did not run");
}
TEST(JudgeTestFailed, Silent) {
  Case facts = copies(55, 63);
  facts.has_tests = true;
  EXPECT_TRUE(is_silent(ask(failed_tests, facts)));
}
TEST(JudgeTestFailed, UndecidedWhereTheProgramLeftItOut) {
  Case facts = copies(55, 63);
  facts.has_tests = true;
  facts.failed = {{"device_to_device_memcpy_read_ce", "waived", true}};
  EXPECT_EQ(ask(failed_tests, facts).gaps.size(), 1U);
}

}  // namespace
}  // namespace angio::judge
