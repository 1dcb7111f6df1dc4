// Whatever the bytes: no crash, no more events than slots, and each event is one of its lane. Two thirds of
// the inputs are laid over a file that is right, so that the slots are reached.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "profile_ring/reader.hpp"
#include "profile_ring/test_file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio::profile_ring;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  if (size % 3 != 0) {
    TestFile file(4);
    Record record;
    record.kind = static_cast<EventKind>(size % kKinds);
    file.add(record);
    std::string whole(file.bytes());
    // Pairs of a place and a byte.
    for (std::size_t i = 0; i + 2 < size; i += 3)
      whole[(data[i] * 256U + data[i + 1]) % whole.size()] = static_cast<char>(data[i + 2]);
    bytes = std::move(whole);
  }
  const auto file = read_ring(bytes, "fuzz.ring");
  if (!file) return 0;
  if (file->events.size() > kLanes * bytes.size() / sizeof(Slot)) __builtin_trap();
  for (const Event& event : file->events) {
    if (static_cast<std::size_t>(event.record.kind) >= kKinds) __builtin_trap();
    if (event.reference >> kTicketBits != static_cast<std::uint64_t>(lane_of(event.record.kind)))
      __builtin_trap();
  }
  return 0;
}
