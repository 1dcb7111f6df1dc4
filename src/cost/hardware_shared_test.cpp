// What hardware is expected to reach against public measurements that the constants were not fitted on,
// platform by platform; and that healthy runs are never called low while the known bad ones are.
// corpus_cases.inc says where each file ran. The halves are those of tools/fit_cost.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <sstream>

#include "base/text.hpp"
#include "cost/hardware.hpp"
#include "support/shared_corpus.hpp"

namespace angio::cost {
namespace {

namespace fs = std::filesystem;
using model::NcclCollective;

constexpr std::uint64_t kMebibyte = 1ULL << 20U;

struct CorpusCase {
  std::string pattern;
  std::string label;
  std::string gpu;
  std::uint32_t gpus;
  std::uint32_t nodes;
  std::string fabric;
  std::uint32_t nics;
  double gbps;
  std::string kind;
  bool known;
  std::string health;
  std::string collective;
};

const std::vector<CorpusCase>& cases() {
#define ANGIO_CASE(...) {__VA_ARGS__},
  static const std::vector<CorpusCase> kCases{
#include "cost/corpus_cases.inc"
  };
#undef ANGIO_CASE
  return kCases;
}

struct Row {
  NcclCollective collective = NcclCollective::kUnknown;
  std::uint32_t gpus = 0;  // most of one host in the list of devices
  std::uint64_t size = 0;
  double time_us = 0;
};

struct File {
  std::string name;
  const CorpusCase* of = nullptr;
  std::vector<Row> rows;
  bool fitting = false;
};

NcclCollective collective_named(const std::string& word) {
  static const std::map<std::string, NcclCollective> kNames{
      {"all_reduce", NcclCollective::kAllReduce},
      {"AllReduce", NcclCollective::kAllReduce},
      {"all_gather", NcclCollective::kAllGather},
      {"AllGather", NcclCollective::kAllGather},
      {"reduce_scatter", NcclCollective::kReduceScatter},
      {"ReduceScatter", NcclCollective::kReduceScatter},
      {"alltoall", NcclCollective::kAllToAll},
      {"AlltoAll", NcclCollective::kAllToAll},
      {"sendrecv", NcclCollective::kSendRecv},
      {"Broadcast", NcclCollective::kBroadcast},
      {"Reduce", NcclCollective::kReduce}};
  const auto found = kNames.find(word);
  return found == kNames.end() ? NcclCollective::kUnknown : found->second;
}

std::string without_prefix(std::string line) {
  for (std::size_t at = line.find("<stdout>:"); at != std::string::npos; at = line.find("<stdout>:")) {
    const std::size_t start = line.rfind('[', at);
    line.erase(start == std::string::npos ? at : start, at + 9 - (start == std::string::npos ? at : start));
  }
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits != std::string::npos && digits > 0 && line[digits] == ':') line.erase(0, digits + 1);
  return line;
}

// Size and the two times of a row; empty: another line.
std::vector<double> read_row(const std::string& line) {
  static const std::vector<std::string> kTypes{"float", "half",  "double", "bfloat16",
                                               "int8",  "uint8", "int32"};
  std::istringstream in(line);
  std::vector<std::string> words;
  for (std::string word; in >> word;)
    words.push_back(word);
  if (words.size() < 7 || std::ranges::find(kTypes, words[2]) == kTypes.end()) return {};
  std::size_t at = 3;
  if (std::isalpha(static_cast<unsigned char>(words[at][0])) != 0) ++at;  // the operation
  const std::size_t left = words.size() - at;  // two halves of four columns, or one; before them a root
  if (left == 9 || left == 5) ++at;
  std::vector<double> values{std::strtod(words[0].c_str(), nullptr), std::strtod(words[at].c_str(), nullptr)};
  if (words.size() > at + 4) values.push_back(std::strtod(words[at + 4].c_str(), nullptr));
  return values;
}

std::vector<Row> read_rows(const CorpusCase& of, const std::string& text) {
  std::vector<Row> rows;
  NcclCollective collective = collective_named(of.collective);
  std::map<std::string, std::uint32_t> hosts;
  std::istringstream in(text);
  for (std::string raw; std::getline(in, raw);) {
    const std::string line = without_prefix(raw);
    if (const std::size_t at = line.find("Collective test starting: ");
        at != std::string::npos && of.collective.empty()) {
      const std::string name = line.substr(at + 26);
      collective = collective_named(name.substr(0, name.find("_perf")));
    }
    if (line.contains("Using devices")) hosts.clear();
    if (line.contains("#") && line.contains(" Rank ") && line.contains(" on ")) {
      std::istringstream host(line.substr(line.find(" on ") + 4));
      std::string name;
      host >> name;
      ++hosts[name];
    }
    const std::vector<double> values = read_row(line);
    if (values.empty() || values[0] <= 0) continue;
    std::uint32_t most = 0;
    for (const auto& [name, count] : hosts)
      most = std::max(most, count);
    for (std::size_t i = 1; i < values.size(); ++i)
      if (values[i] > 0.5)
        rows.push_back({collective, most, static_cast<std::uint64_t>(values[0]), values[i]});
  }
  return rows;
}

Platform platform_for(const CorpusCase& of, std::uint32_t gpus) {
  Platform platform = *platform_of_name(of.gpu, gpus, of.nodes);
  if (of.fabric == "mesh") {
    platform.fabric = Fabric::kNvLinkMesh;
    platform.links = platform.gpus > 1 ? platform_of_name(of.gpu, 8, 1)->links : platform.links;
    platform.link = platform.link_each * platform.links;
    platform.nvls = false;
  }
  platform.links_known = true;
  if (of.gbps > 0) {
    platform.nics = of.nics == 0 ? gpus : of.nics;
    platform.nic_rate = {of.gbps * 1e9};
    platform.nic_kind = of.kind;
    platform.nics_known = true;
  }
  return platform;
}

std::uint64_t hash_of(const std::string& name) {
  std::uint64_t value = 0xcbf29ce484222325ULL;
  for (const char letter : name)
    value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  return value;
}

std::string command_for(const fs::path& archive, const fs::path& folder) {
  return "tar -xzf '" + archive.string() + "' -C '" + folder.string() + "'";
}

void take(std::vector<File>& files, const std::string& name, const fs::path& path) {
  const auto of =
      std::ranges::find_if(cases(), [&](const CorpusCase& each) { return name.contains(each.pattern); });
  if (of == cases().end()) return;
  std::vector<Row> rows = read_rows(*of, test::read_whole_file(path.string()));
  if (!rows.empty()) files.push_back({name, &*of, std::move(rows)});
}

void take_folder(std::vector<File>& files, const fs::path& root, const std::string& prefix) {
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root))
    if (entry.is_regular_file() && entry.path().extension() != ".gz") paths.push_back(entry.path());
  std::ranges::sort(paths);
  for (const fs::path& path : paths)
    take(files, prefix + fs::relative(path, root).string(), path);
}

// Members of an archive go by their names in it.
void take_archives(std::vector<File>& files, const fs::path& corpus) {
  for (const fs::directory_entry& entry : fs::directory_iterator(corpus / "nccl-tests")) {
    if (entry.path().extension() != ".gz") continue;
    std::string folder = (fs::temp_directory_path() / "angio-cost-XXXXXX").string();
    ASSERT_NE(mkdtemp(folder.data()), nullptr);
    EXPECT_EQ(std::system(command_for(entry.path(), folder).c_str()), 0);
    take_folder(files, folder, "");
    fs::remove_all(folder);
  }
}

void split(std::vector<File>& files) {
  std::map<std::string, std::vector<File*>> platforms;
  for (File& file : files)
    platforms[file.of->label].push_back(&file);
  for (auto& [label, of] : platforms) {
    std::ranges::sort(of, {}, [](const File* file) { return hash_of(file->name); });
    for (std::size_t i = 0; i < of.size(); ++i)
      of[i]->fitting = i % 2 == 0;
  }
}

const std::vector<File>& corpus() {
  static const std::vector<File> kFiles = [] {
    std::vector<File> files;
    const fs::path root = test::shared_corpus("nccl-tests");
    if (root.empty()) return files;
    take_folder(files, root, "nccl-tests/");
    take_folder(files, root.parent_path() / "nccl-logs", "nccl-logs/");
    take_archives(files, root.parent_path());
    split(files);
    return files;
  }();
  return kFiles;
}

std::optional<model::Expectation> expectation_for(const CorpusCase& of, const Row& row) {
  const std::uint32_t gpus = of.gpus == 0 ? row.gpus : of.gpus;
  if (gpus == 0 || gpus * of.nodes < 2) return std::nullopt;
  const auto made = expect(platform_for(of, gpus), {row.collective, {row.size}, of.nodes, gpus * of.nodes});
  return made ? std::optional(*made) : std::nullopt;
}

struct Accuracy {
  std::vector<double> errors;
  std::size_t low = 0;
  std::size_t impossible = 0;
  std::string first;
};

double quantile(std::vector<double> values, double part) {
  std::ranges::sort(values);
  return values.empty() ? 0
                        : values[std::min(static_cast<std::size_t>(static_cast<double>(values.size()) * part),
                                          values.size() - 1)];
}

// What is missed on the half that was left out, and why; docs/expectation.md says the same. Percent: median,
// p90.
struct Allowed {
  double median;
  double p90;
};
Allowed allowed_for(const std::string& label) {
  static const std::map<std::string, Allowed> kMissed{
      // One of the files has every size, the others those of 1 GiB and more.
      {"2 x 8 H100 or H200, 8 x 400 Gb/s", {8, 35}},
      // AllReduce is left out and AllGather and ReduceScatter fitted: 1 MiB goes by another protocol.
      {"4 H100, NVLink mesh", {8, 38}},
      // AlltoAll is left out, and nothing else tells of it on that link.
      {"8 A100", {8, 30}},
  };
  const auto found = kMissed.find(label);
  return found == kMissed.end() ? Allowed{8, 20} : found->second;
}

TEST(HardwareCorpus, PredictsTheHalfThatWasLeftOut) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::map<std::string, Accuracy> platforms;
  for (const File& file : corpus()) {
    if (file.fitting || file.of->health != "good") continue;
    for (const Row& row : file.rows) {
      if (row.size < kMebibyte) continue;
      const auto made = expectation_for(*file.of, row);
      ASSERT_TRUE(made.has_value()) << file.name;
      platforms[file.of->label].errors.push_back(std::abs(made->time_us / row.time_us - 1) * 100);
    }
  }
  EXPECT_GE(platforms.size(), 9U);
  for (const auto& [label, of] : platforms) {
    const double median = quantile(of.errors, 0.5);
    const double p90 = quantile(of.errors, 0.9);
    std::printf("%-44s %5zu points  median %5.1f %%  p90 %5.1f %%\n", label.c_str(), of.errors.size(), median,
                p90);
    EXPECT_LE(median, allowed_for(label).median) << label;
    EXPECT_LE(p90, allowed_for(label).p90) << label;
  }
}

TEST(HardwareCorpus, HealthyRunsAreNeitherLowNorImpossible) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::size_t rows = 0;
  std::map<std::string, Accuracy> platforms;
  for (const File& file : corpus()) {
    if (file.of->health != "good") continue;
    Accuracy& of = platforms[file.of->label];
    for (const Row& row : file.rows) {
      const auto made = expectation_for(*file.of, row);
      if (!made) continue;
      ++rows;
      if (row.size >= kMebibyte && row.time_us > made->most_us) ++of.low;
      if (row.time_us < made->least_us) ++of.impossible;
      const bool odd = (row.size >= kMebibyte && row.time_us > made->most_us) || row.time_us < made->least_us;
      if (odd && of.first.empty())
        of.first = file.name + " " + std::to_string(row.size) + " B " + std::to_string(row.time_us) +
                   " us, expected " + std::to_string(made->least_us) + " to " +
                   std::to_string(made->most_us) + " " + made->algorithm;
    }
  }
  EXPECT_GT(rows, 3000U);
  for (const auto& [label, of] : platforms) {
    EXPECT_EQ(of.low, 0U) << label << ": " << of.first;
    EXPECT_EQ(of.impossible, 0U) << label << ": " << of.first;
  }
}

double part_called_low(const File& file, const Platform* platform);

// A first call that waits for something is no reason to call a node slow: single small rows may be late, not
// many.
TEST(HardwareCorpus, SmallSizesOfHealthyRunsAreRarelyLow) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::size_t rows = 0;
  std::size_t low = 0;
  for (const File& file : corpus()) {
    if (file.of->health != "good") continue;
    for (const Row& row : file.rows) {
      const auto made = expectation_for(*file.of, row);
      if (row.size >= kMebibyte || !made) continue;
      ++rows;
      if (row.time_us <= made->most_us) continue;
      ++low;
      std::printf("late: %s %llu B %.1f us, at most %.1f\n", file.name.c_str(),
                  static_cast<unsigned long long>(row.size), row.time_us, made->most_us);
    }
  }
  std::printf("%zu of %zu rows below 1 MiB are late\n", low, rows);
  EXPECT_LE(low * 50, rows);
}

// Without a topology the NICs of the standard machine are taken. Healthy runs that are low then: machines
// with far less network than that, which is why the assumption is said.
TEST(HardwareCorpus, ByNameAloneOnlyMachinesWithLessNetworkAreLow) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::vector<std::string> low;
  for (const File& file : corpus()) {
    if (file.of->health != "good") continue;
    const std::uint32_t gpus = file.of->gpus == 0 ? file.rows.front().gpus : file.of->gpus;
    const Platform platform = *platform_of_name(file.of->gpu, gpus, file.of->nodes);
    if (part_called_low(file, &platform) > 0.1) low.push_back(file.of->label);
  }
  std::ranges::sort(low);
  low.erase(std::unique(low.begin(), low.end()), low.end());
  EXPECT_EQ(low, (std::vector<std::string>{"2 x 8 A100, 4 EFA of 100 Gb/s"}));
}

// Of the rows of a file from 16 MiB on; platform: in place of the one that corpus_cases.inc says.
double part_called_low(const File& file, const Platform* platform) {
  double low = 0;
  double all = 0;
  for (const Row& row : file.rows) {
    if (row.size < 16 * kMebibyte) continue;
    const std::uint32_t gpus = file.of->gpus == 0 ? row.gpus : file.of->gpus;
    const Platform chosen = platform != nullptr ? *platform : platform_for(*file.of, gpus);
    const auto made = expect(chosen, {row.collective, {row.size}, file.of->nodes, gpus * file.of->nodes});
    if (!made) continue;
    all += 1;
    low += row.time_us > made->most_us ? 1 : 0;
  }
  return all == 0 ? 0 : low / all;
}

TEST(HardwareCorpus, KnownBadRunsAreLow) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  std::size_t bad = 0;
  for (const File& file : corpus()) {
    if (file.of->health != "bad") continue;
    ++bad;
    EXPECT_GT(part_called_low(file, nullptr), 0.7) << file.name;
  }
  EXPECT_EQ(bad, 3U);
  // A virtual machine at 54.97 GB/s (published/measured-busbw.tsv, issue 256); the same hardware bare reached
  // 488.
  Platform h200 = *platform_of_name("NVIDIA H200", 8, 2);
  for (const bool known : {true, false}) {
    h200.nics_known = h200.links_known = known;
    const auto made = expect(h200, {NcclCollective::kAllReduce, {8153726976}, 2, 16});
    ASSERT_TRUE(made.has_value());
    EXPECT_GT(made->bus_low.value, 2 * 54.97e9) << known;
  }
}

// Pairs of nodes whose NICs nobody states: the rate is taken from the best pairs, 13.6 GB/s a GPU. Then the
// slow pairs are low and the typical ones are not. By the name alone, 400 Gb/s is taken and every pair is
// low.
TEST(HardwareCorpus, SlowPairsStandOutOnceTheRateIsKnown) {
  ANGIO_SHARED_OR_SKIP(folder, "nccl-tests");
  Platform platform = *platform_of_name("NVIDIA H100 80GB HBM3", 1, 2);
  platform.nic_rate = {8 * 13.7e9 / 0.85};  // P2P reaches 0.85 of a NIC
  platform.nics_known = platform.links_known = true;
  std::size_t slow = 0;
  std::size_t typical = 0;
  for (const File& file : corpus()) {
    if (!file.name.contains("cluster00") || !file.name.contains("_G1_")) continue;
    double slowest = 0;  // GB/s of SendRecv or AllToAll at 4 GiB
    for (const Row& row : file.rows)
      if (row.size == 4ULL << 30U) {
        const double factor = row.collective == NcclCollective::kAllToAll ? 0.5 : 1;
        slowest = std::max(slowest, row.time_us / (static_cast<double>(row.size) * factor) * 13.5e3);
      }
    const double low = part_called_low(file, &platform);
    if (slowest > 2) {
      ++slow;
      EXPECT_GT(low, 0.2) << file.name << " " << slowest;
    } else if (slowest < 1.1 && slowest > 0) {
      ++typical;
      EXPECT_LT(low, 0.05) << file.name << " " << slowest;
    }
  }
  std::printf("pairs of one cluster: %zu slow ones called low, %zu typical ones not\n", slow, typical);
  EXPECT_GE(slow, 3U);
  EXPECT_GE(typical, 100U);
}

// Thresholds that clouds hold their nodes against (published/*-health-thresholds.tsv), GB/s of AllReduce in
// one node: healthy nodes are above, so the expectation is, and what is called low is not far above it.
TEST(HardwareCorpus, ThresholdsOfCloudsLieBetweenLowAndExpected) {
  struct Threshold {
    const char* gpu;
    std::uint32_t gpus;
    double gbs;
    const char* fabric;
  };
  for (const Threshold& of :
       {Threshold{"NVIDIA H100 80GB HBM3", 8, 460, ""}, Threshold{"NVIDIA H200", 8, 432, ""},
        Threshold{"NVIDIA B300", 8, 800, ""}, Threshold{"NVIDIA A100-SXM4-40GB", 8, 228, ""},
        Threshold{"Tesla V100-SXM2-32GB", 8, 110, ""}, Threshold{"AMD Instinct MI300X", 8, 314, ""},
        Threshold{"NVIDIA A100 80GB PCIe", 2, 193, "bridge"}}) {
    Platform platform = *platform_of_name(of.gpu, of.gpus, 1);
    platform.links_known = true;
    if (std::string_view(of.fabric) == "bridge") {
      platform.fabric = Fabric::kNvLinkMesh;
      platform.link = {300e9};
    }
    const auto made = expect(platform, {NcclCollective::kAllReduce, {16ULL << 30U}, 1, of.gpus});
    ASSERT_TRUE(made.has_value());
    std::printf("%-24s threshold %3.0f, expected %3.0f, low below %3.0f GB/s\n", of.gpu, of.gbs,
                made->bus.value / 1e9, made->bus_low.value / 1e9);
    EXPECT_GE(made->bus.value / 1e9, of.gbs * 0.97) << of.gpu;
    EXPECT_LE(made->bus.value / 1e9, of.gbs * 1.35) << of.gpu;
    EXPECT_LE(made->bus_low.value / 1e9, of.gbs * 1.02) << of.gpu;
  }
}

}  // namespace
}  // namespace angio::cost
