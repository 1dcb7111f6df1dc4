#include "profile_ring/reader.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/text.hpp"

namespace angio::profile_ring {
namespace {

template <std::size_t N>
std::string text_of(const std::array<char, N>& letters) {
  return {letters.begin(), std::find(letters.begin(), letters.end(), '\0')};
}

Result<Header> read_header(std::string_view bytes, const std::string& path) {
  Header header{};
  if (bytes.size() < sizeof(kMagic) || std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return fail(ErrorCode::kInvalidInput, printable(path) + " is no file of Angio's profiler plugin",
                "angio profile reads the *.ring files that the plugin writes");
  if (bytes.size() < kHeaderSize)
    return fail(ErrorCode::kInvalidInput,
                printable(path) + " ends after " + std::to_string(bytes.size()) + " bytes, inside its header",
                "The copy is cut off: copy it again");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.format != kFormat || header.header_size != kHeaderSize || header.slot_size != sizeof(Slot))
    return fail(ErrorCode::kUnsupported,
                printable(path) + " has format " + std::to_string(header.format) +
                    ", this angio reads format " + std::to_string(kFormat),
                "Use the angio of the plugin's version");
  return header;
}

bool is_possible(const Record& record, Lane lane) {
  return static_cast<std::size_t>(record.kind) < kKinds && lane_of(record.kind) == lane;
}

// Half a write, something that cannot be, or an event.
void read_slot(const Slot& slot, std::uint64_t index, Lane lane, RingFile& file) {
  LaneState& state = file.lanes[static_cast<std::size_t>(lane)];
  if (slot.version == 0) return;
  const std::uint64_t phase = slot.version % kPhases;
  const std::uint64_t ticket = slot.version / kPhases;
  if (phase == kStarting || phase == kChanging) {
    ++state.torn;
    return;
  }
  if ((phase != kOpen && phase != kClosed) || ticket % state.capacity != index || ticket >= kTicketMask) {
    ++state.damaged;
    return;
  }
  if (slot.checksum != checksum_of(slot.version, slot.body)) {
    ++state.torn;
    return;
  }
  Event event{std::bit_cast<Record>(slot.body), reference_of(lane, ticket)};
  if (!is_possible(event.record, lane)) {
    ++state.damaged;
    return;
  }
  if (phase == kOpen) event.record.stop_ns = 0;
  file.events.push_back(event);
}

// How many slots of the lane are in the bytes.
std::uint64_t slots_present(std::string_view bytes, const LaneHeader& lane) {
  if (lane.offset < kHeaderSize || lane.offset >= bytes.size() || lane.offset % sizeof(Slot) != 0) return 0;
  return std::min<std::uint64_t>(lane.capacity, (bytes.size() - lane.offset) / sizeof(Slot));
}

void read_lane(std::string_view bytes, Lane lane, RingFile& file) {
  const auto number = static_cast<std::size_t>(lane);
  const LaneHeader& place = file.header.lanes[number];
  const LaneCounters& counters = file.header.counters[number];
  LaneState& state = file.lanes[number];
  state = {.capacity = place.capacity,
           .started = counters.next,
           .dropped = counters.dropped,
           .overwritten_open = counters.overwritten,
           .late = counters.late};
  if (!std::has_single_bit(place.capacity)) {
    state.damaged = place.capacity == 0 ? 0 : 1;
    return;
  }
  if (counters.next > place.capacity) state.overwritten = counters.next - place.capacity;
  const std::uint64_t present = slots_present(bytes, place);
  const std::uint64_t used = std::min(place.capacity, counters.next);
  if (present < used) state.missing = used - present;
  const std::size_t first = file.events.size();
  for (std::uint64_t i = 0; i < present; ++i) {
    Slot slot;
    std::memcpy(&slot, bytes.data() + place.offset + i * sizeof slot, sizeof slot);
    read_slot(slot, i, lane, file);
  }
  std::sort(file.events.begin() + static_cast<std::ptrdiff_t>(first), file.events.end(),
            [](const Event& a, const Event& b) { return a.reference < b.reference; });
}

}  // namespace

Result<RingFile> read_ring(std::string_view bytes, const std::string& path) {
  auto header = read_header(bytes, path);
  if (!header) return std::unexpected(std::move(header.error()));
  RingFile file;
  file.path = path;
  file.header = *header;
  file.host = text_of(header->host);
  file.boot = text_of(header->boot);
  file.name = text_of(header->name);
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    read_lane(bytes, static_cast<Lane>(lane), file);
  return file;
}

std::size_t bytes_announced(const Header& header) {
  std::size_t size = kHeaderSize;
  for (const LaneHeader& lane : header.lanes) {
    if (lane.offset >= kMostBytes) continue;  // damaged: there is no such place
    size = std::max<std::size_t>(size, lane.offset + std::min(lane.capacity, kMostSlots) * sizeof(Slot));
  }
  return std::min(size, kMostBytes);
}

}  // namespace angio::profile_ring
