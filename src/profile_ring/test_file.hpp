// A ring file in memory, for tests, fuzz harnesses and the tool that writes samples: a header that says what
// a test wants and lanes to write into. Not for the product.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "profile_ring/lane_writer.hpp"

namespace angio::profile_ring {

class TestFile {
 public:
  // slots of each lane: a power of two.
  explicit TestFile(std::uint64_t slots) : words_((kHeaderSize + kLanes * slots * sizeof(Slot)) / kWord) {
    Header& head = header();
    head.magic = kMagic;
    head.format = kFormat;
    head.header_size = kHeaderSize;
    head.slot_size = sizeof(Slot);
    head.abi = 5;
    head.state = static_cast<std::uint32_t>(FileState::kRecording);
    for (std::size_t lane = 0; lane < kLanes; ++lane)
      head.lanes[lane] = {.offset = kHeaderSize + lane * slots * sizeof(Slot), .capacity = slots};
  }

  Header& header() { return *reinterpret_cast<Header*>(words_.data()); }
  Slot& slot(Lane lane, std::uint64_t index) {
    return *reinterpret_cast<Slot*>(data() + header().lanes[static_cast<std::size_t>(lane)].offset +
                                    index * sizeof(Slot));
  }
  LaneWriter lane(Lane lane) {
    const auto number = static_cast<std::size_t>(lane);
    return {&slot(lane, 0), header().lanes[number].capacity, &header().counters[number]};
  }
  // A whole event; its reference, for children.
  std::uint64_t add(const Record& record) {
    const Lane place = lane_of(record.kind);
    LaneWriter writer = lane(place);
    const std::uint64_t ticket = writer.begin(record);
    if (record.stop_ns != 0) writer.change(ticket, true, [](LaneWriter::Edit&) {});
    return reference_of(place, ticket - 1);
  }

  [[nodiscard]] std::string_view bytes() const {
    return {reinterpret_cast<const char*>(words_.data()), words_.size() * kWord};
  }
  // Taken while others write: word by word, as a copy through the kernel would be.
  std::string copy() {
    std::string taken(words_.size() * kWord, '\0');
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::uint64_t word = std::atomic_ref<std::uint64_t>(words_[i]).load(std::memory_order_relaxed);
      std::memcpy(taken.data() + i * kWord, &word, kWord);
    }
    return taken;
  }

 private:
  static constexpr std::size_t kWord = sizeof(std::uint64_t);
  char* data() { return reinterpret_cast<char*>(words_.data()); }
  std::vector<std::uint64_t> words_;
};

}  // namespace angio::profile_ring
