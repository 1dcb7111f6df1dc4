#include "launch/threads.hpp"

#include <sys/syscall.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/text.hpp"
#include "launch/affinity.hpp"

namespace angio::launch {

OtherThreads bind_other_threads(const CpuSet& cpus) {
  OtherThreads others;
  std::error_code error;
  const auto self = static_cast<int>(syscall(SYS_gettid));
  std::filesystem::directory_iterator entry("/proc/self/task", error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const auto thread = parse_integer<int>(entry->path().filename().string());
    if (!thread || *thread == self) continue;
    const int refused = set_affinity(*thread, cpus);
    if (refused == ESRCH) continue;
    ++others.found;
    if (refused == 0) ++others.bound;
  }
  return others;
}

}  // namespace angio::launch
