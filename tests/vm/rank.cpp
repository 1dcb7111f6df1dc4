// A rank of a job without the job: starts threads, writes to memory from each, says so and waits, so that a
// test can read from the kernel where threads and pages are. Not part of Angio.
//
//   angio_vm_rank FOLDER MIB THREADS
//
// Appears as FOLDER/rank.N ("PID"), N being LOCAL_RANK or 0, once every page was written, and ends when
// FOLDER/stop exists, or after a minute.

#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kMebibyte = 1024UL * 1024UL;
constexpr std::size_t kPage = 4096;
constexpr int kNoMemory = 12;

bool exists(const std::string& path) {
  return access(path.c_str(), F_OK) == 0;
}

void wait_for(const std::string& path) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (!exists(path) && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
}

// Whole pages of its own: one area of /proc/PID/numa_maps for each thread, apart from the heap and stacks.
std::uint8_t* written_area(std::size_t bytes) {
  void* area = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED) std::exit(kNoMemory);
  auto* const data = static_cast<std::uint8_t*>(area);
  for (std::size_t at = 0; at < bytes; at += kPage)
    data[at] = 1;
  return data;
}

bool announce(const std::string& folder) {
  const char* const rank = std::getenv("LOCAL_RANK");
  const std::string name = folder + "/rank." + (rank != nullptr ? rank : "0");
  std::FILE* file = std::fopen((name + ".new").c_str(), "w");
  if (file == nullptr) return false;
  std::fprintf(file, "%d\n", getpid());
  std::fclose(file);
  return std::rename((name + ".new").c_str(), name.c_str()) == 0;
}

}  // namespace

int main(int count, char** words) {
  if (count != 4) {
    std::fprintf(stderr, "usage: angio_vm_rank FOLDER MIB THREADS\n");
    return 2;
  }
  const std::string folder = words[1];
  const std::size_t bytes = std::strtoul(words[2], nullptr, 10) * kMebibyte;
  const std::size_t threads = std::strtoul(words[3], nullptr, 10);
  if (bytes == 0 || threads == 0) return 2;
  // All write before the rank announces itself; the threads then wait as well, to be looked at.
  std::vector<std::thread> writers;
  std::vector<std::uint8_t*> areas(threads);
  for (std::size_t i = 0; i < threads; ++i)
    writers.emplace_back([&, i] { areas[i] = written_area(bytes / threads); });
  for (std::thread& writer : writers)
    writer.join();
  std::vector<std::thread> waiting;
  for (std::size_t i = 0; i < threads; ++i)
    waiting.emplace_back([&] { wait_for(folder + "/stop"); });
  if (!announce(folder)) return 1;
  for (std::thread& each : waiting)
    each.join();
  return 0;
}
