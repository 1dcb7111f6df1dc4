// Every version of the interface, called from C in NCCL's order: what is in the ring file afterwards, and
// that nothing that goes wrong reaches NCCL.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "abi_calls.h"
#include "profile_ring/reader.hpp"
#include "profile_ring/words.hpp"

// One allocation that fails on demand, for the plugin too: its operator new asks malloc, and the program's
// goes before glibc's. Sanitizers have their own.
#ifndef __SANITIZE_ADDRESS__
namespace {
thread_local long allocations_left = -1;  // before the one that fails; -1: none does
}
// NOLINTNEXTLINE(bugprone-reserved-identifier): glibc's own, behind its malloc
extern "C" void* __libc_malloc(std::size_t size) noexcept;
extern "C" void* malloc(std::size_t size) noexcept {
  if (allocations_left >= 0 && allocations_left-- == 0) return nullptr;
  return __libc_malloc(size);
}
#endif

namespace {

using namespace angio::profile_ring;
namespace fs = std::filesystem;

class ProfilerAbi : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "angio-profiler-test-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
    setenv("ANGIO_PROFILER_DIR", name.c_str(), 1);
    setenv("ANGIO_PROFILER_EVENTS", "all", 1);
    setenv("ANGIO_PROFILER_EVENTS_MAX", "1024", 1);
    unsetenv("ANGIO_PROFILER_TOTAL_MAX");
    library_ = dlopen(ANGIO_PROFILER, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
  }
  void TearDown() override {
    if (library_ != nullptr) dlclose(library_);
    fs::remove_all(directory_);
  }

  [[nodiscard]] std::vector<RingFile> files() const {
    std::vector<RingFile> files;
    for (const auto& entry : fs::directory_iterator(directory_)) {
      std::ifstream file(entry.path(), std::ios::binary);
      const std::string bytes{std::istreambuf_iterator<char>(file), {}};
      auto read = read_ring(bytes, entry.path().filename().string());
      EXPECT_TRUE(read.has_value()) << (read ? "" : read.error().message);
      if (read) files.push_back(std::move(*read));
    }
    return files;
  }

  fs::path directory_;
  void* library_ = nullptr;
};

const Record* find(const RingFile& file, EventKind kind, std::uint64_t* reference = nullptr) {
  for (const Event& event : file.events) {
    if (event.record.kind != kind) continue;
    if (reference != nullptr) *reference = event.reference;
    return &event.record;
  }
  return nullptr;
}

void check_collective(const RingFile& file, int version) {
  const Record* coll = find(file, EventKind::kCollective);
  ASSERT_NE(coll, nullptr);
  EXPECT_EQ(word_of(kFunctions, coll->function), "AllReduce");
  EXPECT_EQ(word_of(kAlgorithms, coll->algorithm), "RING");
  EXPECT_EQ(word_of(kProtocols, coll->protocol), "SIMPLE");
  EXPECT_EQ(element_size(coll->data_type), 4U);
  EXPECT_EQ(coll->number, 41U);
  EXPECT_EQ(coll->size, 1000U);
  EXPECT_EQ(coll->peer, 2);
  EXPECT_EQ(coll->channels, 12);
  EXPECT_EQ(coll->warps, 16U);
  EXPECT_EQ(coll->rank, ABI_RANK);
  EXPECT_GE(coll->stop_ns, coll->start_ns);
  EXPECT_EQ(coll->tag, version == 7 ? 77U : 0U);
  EXPECT_EQ((coll->flags & kSymmetric) != 0, version == 7);
  const Record* group = find(file, EventKind::kGroup);
  ASSERT_NE(group, nullptr);
  EXPECT_NE(coll->parent, 0U);
  const Record* p2p = find(file, EventKind::kPointToPoint);
  ASSERT_NE(p2p, nullptr);
  EXPECT_EQ(word_of(kFunctions, p2p->function), "Send");
  EXPECT_EQ(element_size(p2p->data_type), 2U);
  EXPECT_EQ(p2p->peer, 9);
  EXPECT_EQ(p2p->size, 500U);
}

void check_network(const RingFile& file, int version) {
  std::uint64_t coll = 0;
  std::uint64_t op_reference = 0;
  find(file, EventKind::kCollective, &coll);
  const Record* op = find(file, EventKind::kProxyOp, &op_reference);
  ASSERT_NE(op, nullptr);
  EXPECT_EQ(op->parent, coll);
  EXPECT_EQ(op->channel, 5);
  EXPECT_EQ(op->peer, 6);
  EXPECT_EQ(op->steps, 8U);
  EXPECT_EQ(op->chunk, 524288U);
  EXPECT_EQ(op->flags, kIsSend);
  const Record* step = find(file, EventKind::kProxyStep);
  ASSERT_NE(step, nullptr);
  EXPECT_EQ(step->parent, op_reference);
  EXPECT_EQ(step->number, 3U);
  EXPECT_EQ(step->size, version >= 4 ? 4096U : 0U);
  EXPECT_GE(step->times[0], step->start_ns);
  EXPECT_EQ(step->times[1] != 0, version >= 4);
  EXPECT_GE(step->times[2], step->times[0]);
  EXPECT_GE(step->stop_ns, step->times[2]);
  const Record* kernel = find(file, EventKind::kKernel);
  ASSERT_EQ(kernel != nullptr, version >= 3);
  if (kernel == nullptr) return;
  EXPECT_EQ(kernel->parent, coll);
  EXPECT_EQ(kernel->channel, 7);
  EXPECT_EQ(kernel->times[0], version >= 4 ? 111U : 0U);
  EXPECT_EQ(kernel->times[1], version >= 4 ? 222U : 0U);
  EXPECT_NE(kernel->stop_ns, 0U);
}

TEST_F(ProfilerAbi, EveryVersionRecordsWhatNcclTells) {
  constexpr std::array<int, 7> kMasks = {0x3F, 0x3F, 0xFF, 0xFF, 0xFFF, 0x7FFF, 0xFFFF};
  for (int version = 1; version <= 7; ++version) {
    SCOPED_TRACE("ncclProfiler_v" + std::to_string(version));
    int mask = 0;
    ASSERT_EQ(abi_call(library_, version, &mask), 0);
    EXPECT_EQ(mask, kMasks[static_cast<std::size_t>(version - 1)]);
    const std::vector<RingFile> all = files();
    const auto own = std::ranges::find_if(all, [version](const RingFile& file) {
      return file.header.abi == static_cast<std::uint32_t>(version);
    });
    ASSERT_NE(own, all.end());
    EXPECT_EQ(own->header.communicator, ABI_HASH);
    EXPECT_EQ(own->header.rank, ABI_RANK);
    EXPECT_EQ(own->header.ranks, version >= 4 ? 16U : 0U);
    EXPECT_EQ(own->name, "world");
    EXPECT_EQ(own->header.process, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(own->header.state, static_cast<std::uint32_t>(FileState::kFinished));
    check_collective(*own, version);
    check_network(*own, version);
    for (const Event& event : own->events)
      EXPECT_NE(event.record.stop_ns, 0U);
    for (const LaneState& lane : own->lanes) {
      EXPECT_EQ(lane.dropped + lane.torn + lane.damaged + lane.late, 0U);
    }
  }
}

TEST_F(ProfilerAbi, RecordsOnlyWhatIsAskedForButKeepsTheParentsAlive) {
  setenv("ANGIO_PROFILER_EVENTS", "coll", 1);
  int mask = 0;
  ASSERT_EQ(abi_call(library_, 5, &mask), 0);
  EXPECT_EQ(mask, 2);
  const std::vector<RingFile> all = files();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].events.size(), 1U);
  EXPECT_EQ(all[0].events[0].record.kind, EventKind::kCollective);
  EXPECT_EQ(all[0].events[0].record.parent, 0U);
}

// Off: no context, no mask, no file, and still success.
void expect_off(void* library, const fs::path& directory) {
  void* context = nullptr;
  int mask = 0;
  EXPECT_EQ(abi_open_only(library, &context, &mask), 0);
  EXPECT_EQ(context, nullptr);
  EXPECT_EQ(mask, 0);
  EXPECT_EQ(abi_start(library, context), nullptr);
  EXPECT_EQ(abi_finalize(library, context), 0);
  EXPECT_TRUE(!fs::is_directory(directory) || fs::is_empty(directory));
}

TEST_F(ProfilerAbi, IsOffWithAnUnknownWord) {
  setenv("ANGIO_PROFILER_EVENTS", "coll,kernal", 1);
  expect_off(library_, directory_);
}

TEST_F(ProfilerAbi, IsOffWithANumberThatIsNone) {
  setenv("ANGIO_PROFILER_EVENTS_MAX", "12many", 1);
  expect_off(library_, directory_);
}

TEST_F(ProfilerAbi, IsOffWhereNoFolderCanBeMade) {
  setenv("ANGIO_PROFILER_DIR", "/proc/nowhere/angio", 1);
  expect_off(library_, directory_);
}

TEST_F(ProfilerAbi, IsOffWhenTheFolderIsFull) {
  setenv("ANGIO_PROFILER_TOTAL_MAX", "64K", 1);
  expect_off(library_, directory_);
}

#ifndef __SANITIZE_ADDRESS__
TEST_F(ProfilerAbi, IsOffWithoutMemoryAndThrowsNothingIntoNccl) {
  long failed = 0;
  for (long left = 0; left < 1000; ++left) {
    void* context = nullptr;
    int mask = 0;
    allocations_left = left;
    const int result = abi_open_only(library_, &context, &mask);
    allocations_left = -1;
    ASSERT_EQ(result, 0) << left;
    if (context != nullptr) {
      EXPECT_NE(abi_start(library_, context), nullptr);
      EXPECT_EQ(abi_finalize(library_, context), 0);
      break;
    }
    EXPECT_EQ(mask, 0) << left;
    EXPECT_TRUE(fs::is_empty(directory_)) << left;
    ++failed;
  }
  EXPECT_GT(failed, 2);  // the strings of settings and paths, and the list of the folder
  EXPECT_EQ(files().size(), 1U);
}
#endif

TEST_F(ProfilerAbi, AFolderOfTheUsersMayBeALink) {
  const fs::path link = directory_ / "scratch";
  fs::create_directory(directory_ / "real");
  fs::create_directory_symlink(directory_ / "real", link);
  setenv("ANGIO_PROFILER_DIR", link.c_str(), 1);
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(abi_open_only(library_, &context, &mask), 0);
  ASSERT_NE(context, nullptr);
  EXPECT_EQ(abi_finalize(library_, context), 0);
  EXPECT_FALSE(fs::is_empty(directory_ / "real"));
}

TEST_F(ProfilerAbi, FilesAreForTheUserAlone) {
  const fs::path made = directory_ / "inner";
  setenv("ANGIO_PROFILER_DIR", made.c_str(), 1);
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(abi_open_only(library_, &context, &mask), 0);
  ASSERT_NE(context, nullptr);
  struct stat about{};
  ASSERT_EQ(stat(made.c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0700U);
  ASSERT_EQ(stat(fs::directory_iterator(made)->path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 0777U, 0600U);
  EXPECT_EQ(abi_finalize(library_, context), 0);
}

TEST_F(ProfilerAbi, AHandleThatOutlivesItsCommunicatorIsHarmless) {
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(abi_open_only(library_, &context, &mask), 0);
  void* handle = abi_start(library_, context);
  ASSERT_NE(handle, nullptr);
  EXPECT_EQ(abi_finalize(library_, context), 0);
  EXPECT_EQ(abi_stop(library_, handle), 0);
  EXPECT_EQ(abi_start(library_, context), nullptr);
  const std::vector<RingFile> all = files();
  ASSERT_EQ(all.size(), 1U);
  ASSERT_EQ(all[0].events.size(), 1U);
  EXPECT_EQ(all[0].events[0].record.stop_ns, 0U);
}

TEST_F(ProfilerAbi, AForkedChildRecordsNothingAndMayOpenItsOwn) {
  void* context = nullptr;
  int mask = 0;
  ASSERT_EQ(abi_open_only(library_, &context, &mask), 0);
  void* handle = abi_start(library_, context);
  const pid_t child = fork();
  if (child == 0) {
    void* own = nullptr;
    const bool nothing = abi_start(library_, context) == nullptr && abi_stop(library_, handle) == 0;
    const bool opened =
        abi_open_only(library_, &own, &mask) == 0 && own != nullptr && abi_start(library_, own) != nullptr;
    _exit(nothing && opened ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(abi_stop(library_, handle), 0);
  EXPECT_EQ(abi_finalize(library_, context), 0);
  const std::vector<RingFile> all = files();
  ASSERT_EQ(all.size(), 2U);
  for (const RingFile& file : all) {
    ASSERT_EQ(file.events.size(), 1U);
    EXPECT_EQ(file.events[0].record.stop_ns != 0,
              file.header.process == static_cast<std::uint32_t>(getpid()));
  }
}

TEST_F(ProfilerAbi, WhatAKilledProcessRecordedIsThere) {
  const pid_t child = fork();
  if (child == 0) {
    void* context = nullptr;
    int mask = 0;
    abi_open_only(library_, &context, &mask);
    for (;;)
      abi_stop(library_, abi_start(library_, context));
  }
  usleep(200'000);
  kill(child, SIGKILL);
  ASSERT_EQ(waitpid(child, nullptr, 0), child);
  const std::vector<RingFile> all = files();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].header.state, static_cast<std::uint32_t>(FileState::kRecording));
  EXPECT_GT(all[0].lanes[0].started, 1000U);
  EXPECT_EQ(all[0].lanes[0].damaged, 0U);
  EXPECT_LE(all[0].lanes[0].torn, 1U);
  EXPECT_GE(all[0].events.size() + 1, std::min(all[0].lanes[0].capacity, all[0].lanes[0].started));
}

}  // namespace
