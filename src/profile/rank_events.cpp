#include "profile/rank_events.hpp"

#include <algorithm>
#include <map>

namespace angio::profile {

using profile_ring::EventKind;
using profile_ring::Record;

std::unordered_map<std::uint64_t, KernelSpan> kernel_spans(const profile_ring::RingFile& file) {
  std::unordered_map<std::uint64_t, KernelSpan> spans;
  std::unordered_map<std::uint64_t, bool> open;
  for (const profile_ring::Event& event : file.events) {
    const Record& record = event.record;
    if (record.kind != EventKind::kKernel || record.parent == 0) continue;
    KernelSpan& span = spans[record.parent];
    span.start_ns = span.start_ns == 0 ? record.start_ns : std::min(span.start_ns, record.start_ns);
    span.stop_ns = std::max(span.stop_ns, record.stop_ns);
    if (record.stop_ns == 0) open[record.parent] = true;
    if (record.times[0] != 0 && record.times[1] > record.times[0])
      span.gpu_ns = std::max(span.gpu_ns, static_cast<double>(record.times[1] - record.times[0]));
  }
  for (const auto& [reference, is_open] : open)
    spans[reference].stop_ns = 0;
  return spans;
}

std::vector<Part> parts_of(const profile_ring::RingFile& file, std::size_t member) {
  const auto kernels = kernel_spans(file);
  std::map<std::pair<std::uint8_t, std::uint64_t>, std::uint64_t> seen;
  std::vector<Part> parts;
  for (const profile_ring::Event& event : file.events) {
    if (event.record.kind != EventKind::kCollective) continue;
    Part part{.member = member, .record = &event.record};
    part.occurrence = seen[{event.record.function, event.record.number}]++;
    if (const auto kernel = kernels.find(event.reference); kernel != kernels.end())
      part.kernel = kernel->second;
    parts.push_back(part);
  }
  return parts;
}

}  // namespace angio::profile
