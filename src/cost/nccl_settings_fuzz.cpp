// Any text as NCCL_ALGO, NCCL_PROTO, NCCL_THREAD_THRESHOLDS and the release, one a line: the table is made or
// refused, and what it then chooses is one of its own cells.
#include <cstdint>
#include <cstdlib>

#include "base/text.hpp"
#include "cost/nccl_model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto lines = split_lines(text);
  const auto line = [&](std::size_t at) { return std::string(at < lines.size() ? lines[at] : ""); };
  cost::NcclJob job;
  job.version = lines.size() > 3 && !lines[3].empty() ? line(3) : "2.28.9";
  job.nodes = 2;
  job.ranks = 16;
  job.capability_least = job.capability_most = 90;
  job.channels = 16;
  job.ring = job.tree = {8, 48, 48, 0, nccl::PathType::kNvl, nccl::PathType::kPix, true, false};
  job.settings = {{"NCCL_ALGO", line(0)},
                  {"NCCL_PROTO", line(1)},
                  {"NCCL_THREAD_THRESHOLDS", line(2)},
                  {"NCCL_NTHREADS", line(2)},
                  {"NCCL_NET_OVERHEAD", line(2)}};
  const auto table = cost::nccl_table(job);
  if (!table) return 0;
  for (std::size_t collective = 0; collective < tuner::kCollectives; ++collective)
    for (const std::uint64_t bytes : {std::uint64_t{1}, std::uint64_t{1} << 20U, ~std::uint64_t{0}}) {
      const auto each = static_cast<tuner::Collective>(collective);
      const auto pick = cost::nccl_pick(*table, each, {bytes});
      if (pick && !table->at(each, pick->algorithm, pick->protocol).enabled) std::abort();
    }
  return 0;
}
