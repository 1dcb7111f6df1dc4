// What the rules of a judgement look at: the points of a curve with what each should be, or copies, or links.
// One form for every kind of result. Only for src/judge.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "diagnose/rule.hpp"
#include "judge/judge.hpp"

namespace angio::judge {

// One collective at one size, out of place or in place.
struct Point {
  model::NcclCollective collective = model::NcclCollective::kUnknown;
  Bytes size;  // as nccl-tests counts
  bool in_place = false;
  double time_us = 0;
  BytesPerSecond algorithm;
  BytesPerSecond bus;
  std::optional<std::uint64_t> wrong;
  std::string doubt;
  std::string place;  // "run.log:17"
  std::optional<model::Expectation> expectation;
  std::string no_expectation;  // why there is none
  bool counts = true;          // false: the time is the CPU's, or the GPUs are not there
};

enum class CopyKind : std::uint8_t { kHostToGpu, kGpuToHost, kBothWays, kGpuToGpu, kOther };

struct Copy {
  std::string group;  // the test: "host_to_device_memcpy_ce"
  std::string what;   // "host to GPU 3"
  CopyKind kind = CopyKind::kOther;
  std::optional<std::uint32_t> gpu;
  std::optional<std::uint32_t> node;  // NUMA node of the host memory
  bool pinned = true;
  bool far = false;  // host memory of another NUMA node than the GPU's
  BytesPerSecond rate;
  BytesPerSecond wire;  // one direction of what it goes over; 0: unknown
  std::string limit;
  std::string why;  // no verdict, whatever the wire
};

// One row between two ends over the network, or half a round trip.
struct Flow {
  std::string what;
  Bytes size;
  BitsPerSecond rate;
  BitsPerSecond payload;  // at most; 0: unknown
  BitsPerSecond line;     // of the port; 0: unknown
  double directions = 1;
  bool counts = true;  // false: so small that the number of messages limits
  std::string limit;
  std::string doubt;
};

// A rate of a GPU's link as a monitor gives it.
struct Gauge {
  std::string what;  // "DCGM_FI_PROF_PCIE_TX_BYTES, GPU 0"
  std::string type;  // as declared
  std::string place;
};

struct FailedTest {
  std::string name;
  std::string text;
  bool waived = false;
};

struct Case {
  std::string subject;  // "AllReduce, 16 GPUs on 2 hosts"
  std::string source;
  std::uint32_t ranks = 0;  // 0: unknown
  std::uint32_t nodes = 0;
  std::vector<Point> points;
  std::optional<BytesPerSecond> average;  // of a whole sweep
  std::string average_place;
  bool phantom = false;
  std::vector<Copy> copies;
  std::vector<Flow> flows;
  std::vector<Gauge> gauges;
  std::vector<FailedTest> failed;
  bool has_tests = false;  // a list of tests that could have failed
  const model::NcclLog* log = nullptr;
  std::optional<cost::Platform> platform;
};

struct Rule {
  const char* id;
  void (*check)(const Case& facts, diagnose::Outcome& outcome);
};

void wrong_data(const Case& facts, diagnose::Outcome& outcome);
void low_bandwidth(const Case& facts, diagnose::Outcome& outcome);
void high_latency(const Case& facts, diagnose::Outcome& outcome);
void dips(const Case& facts, diagnose::Outcome& outcome);
void placement_gap(const Case& facts, diagnose::Outcome& outcome);
void impossible_values(const Case& facts, diagnose::Outcome& outcome);
void contradictions(const Case& facts, diagnose::Outcome& outcome);
void averages(const Case& facts, diagnose::Outcome& outcome);
void sockets(const Case& facts, diagnose::Outcome& outcome);
void staged(const Case& facts, diagnose::Outcome& outcome);
void no_nvls(const Case& facts, diagnose::Outcome& outcome);
void low_copies(const Case& facts, diagnose::Outcome& outcome);
void same_from_both_sockets(const Case& facts, diagnose::Outcome& outcome);
void low_network(const Case& facts, diagnose::Outcome& outcome);
void wrong_types(const Case& facts, diagnose::Outcome& outcome);
void failed_tests(const Case& facts, diagnose::Outcome& outcome);

// The verdict of one figure between its limits; equal is within.
Verdict verdict_of(const Point& point);
Verdict verdict_of(const Copy& copy);
Verdict verdict_of(const Flow& flow);

// The rows that tell what the wire gives: the largest sizes. Empty: the sweep ends before it.
std::vector<const Point*> plateau(const Case& facts);
// Those whose time is latency.
std::vector<const Point*> small_sizes(const Case& facts);
// measured / low limit, the middle one; none without expectations that can be low.
std::optional<double> middle_share(const std::vector<const Point*>& points);
bool is_plateau_low(const Case& facts);

std::string percent(double share);                  // "73 %"
std::string in_gigabytes(double bytes_per_second);  // "48.2 GB/s"
std::string name_of(const Point& point);            // "AllReduce 1 GiB, out of place"

// Rules, rows, verdict and answer of a case that is filled.
Judgement conclude(Case facts, Judgement judgement);

// Ranks, nodes, platform: from what the user says, the result and the log, in this order.
struct Setting {
  std::uint32_t ranks = 0;
  std::uint32_t nodes = 0;
  std::optional<cost::Platform> platform;
  std::string missing;  // why there is no platform
  std::vector<std::string> assumptions;
};
struct Said {               // by the result
  std::uint32_t ranks = 0;  // 0: does not say
  std::uint32_t nodes = 0;
  std::vector<std::string> devices;  // names, each once
  bool host_memory = false;          // no GPU takes part
};
Setting setting_of(const Said& said, const Topology& topology);
Judgement judge_osu_collective(const model::OsuTable& table, const Topology& topology);
void expect_points(const Setting& setting, std::vector<Point>& points);

}  // namespace angio::judge
