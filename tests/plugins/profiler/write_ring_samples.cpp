// Writes the ring files that the golden cases of `angio profile` read: write_ring_samples FOLDER.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "profile/test_job.hpp"

namespace {

using angio::profile::JobPlan;
using angio::profile::TestJob;

void write(const std::filesystem::path& folder, const JobPlan& plan) {
  std::filesystem::create_directories(folder);
  const TestJob job(plan);
  for (std::size_t rank = 0; rank < job.files().size(); ++rank) {
    std::ofstream file(folder / ("rank" + std::to_string(rank) + ".ring"), std::ios::binary);
    file << job.files()[rank].bytes();
  }
}

}  // namespace

int main(int count, char** words) {
  if (count != 2) {
    std::fputs("usage: write_ring_samples FOLDER\n", stderr);
    return 2;
  }
  const std::filesystem::path folder = words[1];
  write(folder / "late-rank", {.ranks = 4,
                               .hosts = 2,
                               .late_rank = 2,
                               .late_ns = 1'200'000,
                               .collectives = 20,
                               .clock_ahead_ns = 7'000'000});
  write(folder / "slow-link",
        {.ranks = 4, .hosts = 4, .collectives = 20, .slow_sender = 3, .slow_factor = 4});
  write(folder / "slow-node", {.ranks = 6, .hosts = 3, .collectives = 20, .slow_factor = 4, .slow_host = 1});
  write(folder / "two-hosts-enqueue",
        {.ranks = 2, .hosts = 2, .late_rank = 1, .late_ns = 900'000, .collectives = 20, .kernels = false});
  return 0;
}
