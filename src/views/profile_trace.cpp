// The events of ring files as the trace format of chrome://tracing and Perfetto (an array of "X" and "B"
// events, times in microseconds). Written as text piece by piece: there may be millions of them.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "profile_ring/words.hpp"
#include "views/profile_view.hpp"

namespace angio::views {
namespace {

using profile_ring::EventKind;
using profile_ring::Record;

constexpr double kMicrosecond = 1e3;  // nanoseconds

// Rows of one rank: operations first, then channels, then the network by channel.
std::uint32_t row_of(const Record& record) {
  constexpr std::uint32_t kChannels = 1000;
  switch (profile_ring::lane_of(record.kind)) {
    case profile_ring::Lane::kOperations:
      return static_cast<std::uint32_t>(record.kind);
    case profile_ring::Lane::kChannels:
      return kChannels * (record.kind == EventKind::kProxyOp ? 2U : 1U) + record.channel;
    case profile_ring::Lane::kSteps:
      break;
  }
  return 3 * kChannels + static_cast<std::uint32_t>(record.number % 8);  // steps in flight (NCCL_STEPS)
}

std::string arguments_of(const Record& record) {
  std::string text;
  const auto add = [&text](const char* name, std::uint64_t value) {
    fmt::format_to(std::back_inserter(text), "{}\"{}\":{}", text.empty() ? "" : ",", name, value);
  };
  switch (record.kind) {
    case EventKind::kCollective:
    case EventKind::kCopyCollective:
      add("sequence", record.number);
      [[fallthrough]];
    case EventKind::kPointToPoint:
      add("bytes", profile::operation_bytes(record));
      add("channels", record.channels);
      break;
    case EventKind::kProxyOp:
      add("channel", record.channel);
      add("steps", record.steps);
      add("chunk_bytes", record.chunk);
      break;
    case EventKind::kProxyStep:
    case EventKind::kNetwork:
      add("step", record.number);
      add("bytes", record.size);
      break;
    case EventKind::kKernel:
    case EventKind::kKernelPhase:
      add("channel", record.channel);
      if (record.times[1] > record.times[0]) add("gpu_ns", record.times[1] - record.times[0]);
      break;
    default:
      break;
  }
  if (record.peer >= 0) add("peer_or_root", static_cast<std::uint64_t>(record.peer));
  return text;
}

struct TraceProcess {
  std::uint64_t number = 0;
  double shift_ns = 0;  // monotonic to the trace's zero
};

void add_event(const Record& record, const TraceProcess& process, std::string& text) {
  const double start = (static_cast<double>(record.start_ns) + process.shift_ns) / kMicrosecond;
  // A JSON text quotes the name: it may be a word that the plugin did not know.
  fmt::format_to(std::back_inserter(text), ",\n{{\"name\":{},\"pid\":{},\"tid\":{},\"ts\":{:.3f}",
                 to_text(Json(profile::event_name(record)), -1), process.number, row_of(record), start);
  if (record.stop_ns >= record.start_ns && record.stop_ns != 0) {
    fmt::format_to(std::back_inserter(text), ",\"ph\":\"X\",\"dur\":{:.3f}",
                   static_cast<double>(record.stop_ns - record.start_ns) / kMicrosecond);
  } else {
    text += ",\"ph\":\"B\"";  // open: viewers draw it to the end
  }
  fmt::format_to(std::back_inserter(text), ",\"args\":{{{}}}}}", arguments_of(record));
}

}  // namespace

std::string profile_trace(const ProfileReport& report) {
  std::string text = "[";
  // Zero is the first anchor: wall times since 1970 would cost the viewers their precision.
  std::uint64_t zero = ~std::uint64_t{0};
  for (const profile::Input& input : *report.inputs)
    zero = std::min(zero, input.file.header.realtime_ns);
  bool first = true;
  TraceProcess process;
  for (const profile::Input& input : *report.inputs) {
    const profile_ring::Header& header = input.file.header;
    ++process.number;
    process.shift_ns =
        static_cast<double>(header.realtime_ns - zero) - static_cast<double>(header.monotonic_ns);
    const std::string name =
        fmt::format("rank {} {} {:#x}", header.rank < 0 ? "?" : std::to_string(header.rank), input.file.host,
                    header.communicator);
    fmt::format_to(std::back_inserter(text),
                   "{}\n{{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":{},\"args\":{{\"name\":{}}}}}",
                   first ? "" : ",", process.number, to_text(Json(name), -1));
    first = false;
    for (const profile_ring::Event& event : input.file.events)
      add_event(event.record, process, text);
  }
  return text + "\n]\n";
}

}  // namespace angio::views
