// Memory on one NUMA node, touched, over the largest pages that the kernel gives, with what it says about
// where the pages are. Not an allocator: one buffer a measurement, and never more than is free (a strict
// binding that does not fit wakes the kernel's OOM killer).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "base/units.hpp"
#include "bench/interrupts.hpp"
#include "host/root.hpp"
#include "model/bench_result.hpp"
#include "model/cpu.hpp"

namespace angio::bench {

class NodeBuffer {
 public:
  NodeBuffer() = default;
  NodeBuffer(NodeBuffer&& other) noexcept;
  NodeBuffer& operator=(NodeBuffer&& other) noexcept;
  ~NodeBuffer();

  [[nodiscard]] std::span<std::byte> bytes() const { return {start_, size_}; }
  [[nodiscard]] const model::BufferPlace& place() const { return place_; }

 private:
  friend class BufferMaker;
  std::byte* start_ = nullptr;
  std::size_t size_ = 0;
  model::BufferPlace place_;
};

struct BufferWish {
  const model::NumaNode* node = nullptr;
  Bytes size;
  bool only_node = false;  // nothing to bind: there is no other memory
  bool huge_pages = true;  // false: the kernel's base pages, as an ordinary program has them
};

// root: the live host, for /proc/self/smaps. Stops with an error when an interrupt came.
Result<NodeBuffer> make_node_buffer(const BufferWish& wish, const host::Root& root,
                                    const Interrupts& interrupts);

// What smaps says of the mapping that holds address.
struct PageShare {
  Bytes resident;
  Bytes transparent_huge;
  Bytes page_size;  // KernelPageSize: of hugetlb mappings the huge one
};
std::optional<PageShare> find_page_share(std::string_view smaps, std::uint64_t address);

// "4 KiB", "2 MiB (transparent)", "2 MiB (transparent) 40 %, else 4 KiB".
std::string pages_in_words(const PageShare& share, Bytes transparent_size, bool hugetlb);

}  // namespace angio::bench
