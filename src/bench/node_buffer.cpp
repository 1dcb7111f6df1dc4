#include "bench/node_buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "bench/numa_calls.hpp"
#include "bench/proc_text.hpp"

namespace angio::bench {
namespace {

// include/uapi/asm-generic/mman-common.h, Linux 5.14. Unlike a touch, it answers an error where the touch
// would end the program with SIGBUS (a node's hugetlb pool that ran dry).
constexpr int kMadvPopulateWrite = 23;
constexpr std::size_t kHugetlbPage = std::size_t{2} << 20U;  // asked for by MAP_HUGE_2MB
constexpr int kMapHuge2Mb = 21 << 26U;                       // log2(2 MiB) << MAP_HUGE_SHIFT

// "7f0a…-7f0b… rw-p …" holds the address.
bool heads_mapping(std::string_view line, std::uint64_t address, bool& holds) {
  const std::size_t dash = line.find('-');
  const std::size_t blank = line.find(' ');
  if (dash == std::string_view::npos || blank == std::string_view::npos || dash > blank) return false;
  const auto first = parse_integer<std::uint64_t>(line.substr(0, dash), 16);
  const auto end = parse_integer<std::uint64_t>(line.substr(dash + 1, blank - dash - 1), 16);
  if (!first || !end) return false;
  holds = address >= *first && address < *end;
  return true;
}

Bytes transparent_page_size(const host::Root& root) {
  const auto text = root.read("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size");
  const auto size = text ? parse_integer<std::uint64_t>(trim(*text)) : std::nullopt;
  return Bytes{size.value_or(0)};
}

std::size_t round_up(std::size_t size, std::size_t unit) {
  return (size + unit - 1) / unit * unit;
}

}  // namespace

std::optional<PageShare> find_page_share(std::string_view smaps, std::uint64_t address) {
  std::optional<PageShare> share;
  for (const std::string_view line : split_lines(smaps)) {
    bool holds = false;
    if (heads_mapping(line, address, holds)) {
      if (share) break;
      if (holds) share.emplace();
      continue;
    }
    if (!share) continue;
    const auto take = [&](std::string_view key, Bytes& target) {
      if (!line.starts_with(key)) return;
      if (const auto count = kibibytes_after(line, key)) target = Bytes{target.value + (*count << 10U)};
    };
    take("Rss:", share->resident);
    take("Private_Hugetlb:", share->resident);
    take("AnonHugePages:", share->transparent_huge);
    take("KernelPageSize:", share->page_size);
  }
  return share;
}

std::string pages_in_words(const PageShare& share, Bytes transparent_size, bool hugetlb) {
  if (hugetlb) return in_words(share.page_size) + " (hugetlb)";
  const double part = share.resident.value == 0 ? 0 : share.transparent_huge / share.resident;
  const std::string base = in_words(share.page_size);
  if (share.transparent_huge.value == 0) return base;
  const std::string huge = in_words(transparent_size) + " (transparent)";
  if (part > 0.995) return huge;
  return fmt::format("{} {:.0f} %, else {}", huge, part * 100, base);
}

NodeBuffer::NodeBuffer(NodeBuffer&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      place_(std::move(other.place_)) {}

NodeBuffer& NodeBuffer::operator=(NodeBuffer&& other) noexcept {
  std::swap(start_, other.start_);
  std::swap(size_, other.size_);
  std::swap(place_, other.place_);
  return *this;
}

NodeBuffer::~NodeBuffer() {
  if (start_ != nullptr) munmap(start_, size_);
}

// The steps of making one buffer.
class BufferMaker {
 public:
  BufferMaker(const BufferWish& wish, const host::Root& root, const Interrupts& interrupts)
      : wish_(wish), root_(root), interrupts_(interrupts) {}

  Result<NodeBuffer> make() {
    if (wish_.huge_pages && pool_suffices()) {
      if (auto buffer = made(true)) return buffer;
    }
    return made(false);
  }

 private:
  [[nodiscard]] bool pool_suffices() const {
    return std::ranges::any_of(wish_.node->huge_pages, [this](const model::HugePages& pool) {
      return pool.page_size.value == kHugetlbPage &&
             pool.free * kHugetlbPage >= wish_.size.value + kHugetlbPage;
    });
  }

  Result<NodeBuffer> made(bool hugetlb) {
    NodeBuffer buffer;
    const Bytes transparent = transparent_page_size(root_);
    // A buffer that begins inside a huge page would lose it.
    const std::size_t align = hugetlb ? kHugetlbPage : std::max<std::size_t>(transparent.value, 4096);
    if (auto mapped = map(buffer, hugetlb, align); !mapped) return std::unexpected(std::move(mapped.error()));
    if (auto bound = bind(buffer); !bound) return std::unexpected(std::move(bound.error()));
    if (!hugetlb) madvise(buffer.start_, buffer.size_, wish_.huge_pages ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
    if (auto touched = touch(buffer, hugetlb); !touched) return std::unexpected(std::move(touched.error()));
    describe(buffer, transparent, hugetlb);
    return buffer;
  }

  Result<void> map(NodeBuffer& buffer, bool hugetlb, std::size_t align) {
    const std::size_t size = round_up(wish_.size.value, hugetlb ? kHugetlbPage : 4096);
    const std::size_t spare = hugetlb ? 0 : align;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (hugetlb ? MAP_HUGETLB | kMapHuge2Mb : MAP_NORESERVE);
    void* const got = mmap(nullptr, size + spare, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (got == MAP_FAILED) {
      return fail(ErrorCode::kIo, fmt::format("cannot map {}: {}", in_words(wish_.size), errno_text(errno)));
    }
    auto* const first = static_cast<std::byte*>(got);
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    const std::size_t before = round_up(address, std::max<std::size_t>(align, 1)) - address;
    if (before > 0) munmap(first, before);
    if (spare > before) munmap(first + before + size, spare - before);
    buffer.start_ = first + before;
    buffer.size_ = size;
    return {};
  }

  Result<void> bind(NodeBuffer& buffer) {
    if (wish_.only_node) return {};
    auto bound = bind_range(buffer.start_, buffer.size_, wish_.node->id);
    if (bound) return {};
    if (bound.error().message.starts_with("mbind: node") || wish_.node->cpus.empty()) return bound;
    // First touch by a CPU of the node gives its memory, too, while there is any.
    buffer.place_.doubt = bound.error().message + "; placed by first touch instead";
    return {};
  }

  Result<void> touch(NodeBuffer& buffer, bool hugetlb) {
    constexpr std::size_t kPart = std::size_t{64} << 20U;
    const KeptAffinity kept;
    if (!buffer.place_.doubt.empty()) (void)bind_this_thread(wish_.node->cpus);
    bool populates = true;
    for (std::size_t at = 0; at < buffer.size_; at += kPart) {
      if (interrupts_.pending() != 0) return fail(ErrorCode::kIo, "interrupted");
      const std::size_t size = std::min(kPart, buffer.size_ - at);
      if (populates && madvise(buffer.start_ + at, size, kMadvPopulateWrite) == 0) continue;
      if (hugetlb || (populates && errno != EINVAL)) {
        return fail(ErrorCode::kIo, fmt::format("node {} did not give {}: {}", wish_.node->id.value,
                                                in_words(wish_.size), errno_text(errno)));
      }
      populates = false;
      std::memset(buffer.start_ + at, 1, size);
    }
    // Pages that hold zeros are all alike to a memory that compresses or shares them.
    std::memset(buffer.start_, 1, buffer.size_);
    return {};
  }

  void describe(NodeBuffer& buffer, Bytes transparent, bool hugetlb) {
    model::BufferPlace& place = buffer.place_;
    place.size = Bytes{buffer.size_};
    const auto smaps = root_.read("/proc/self/smaps");
    const auto address = reinterpret_cast<std::uintptr_t>(buffer.start_);
    const auto share = smaps ? find_page_share(*smaps, address) : std::nullopt;
    place.pages = share ? pages_in_words(*share, transparent, hugetlb) : "of unknown size";
    if (share && share->resident.value > 0) {
      place.huge_share = hugetlb ? 1 : std::min(share->transparent_huge / share->resident, 1.0);
    }
    verify(buffer);
  }

  // A sample over the whole buffer, at most 1024 pages.
  void verify(NodeBuffer& buffer) const {
    constexpr std::size_t kSample = 1024;
    const std::size_t step = std::max<std::size_t>(round_up(buffer.size_ / kSample, 4096), 4096);
    std::vector<const std::byte*> pages;
    for (std::size_t at = 0; at < buffer.size_; at += step)
      pages.push_back(buffer.start_ + at);
    const auto nodes = nodes_of_pages(pages);
    model::BufferPlace& place = buffer.place_;
    if (!nodes) {
      if (!wish_.only_node) place.doubt += (place.doubt.empty() ? "" : "; ") + nodes.error().message;
      return;
    }
    place.asked = nodes->size();
    place.there =
        static_cast<std::uint64_t>(std::ranges::count(*nodes, static_cast<int>(wish_.node->id.value)));
    if (place.there < place.asked) {
      place.doubt += fmt::format("{}{} of {} sampled pages are on another node",
                                 place.doubt.empty() ? "" : "; ", place.asked - place.there, place.asked);
    }
  }

  const BufferWish& wish_;
  const host::Root& root_;
  const Interrupts& interrupts_;
};

Result<NodeBuffer> make_node_buffer(const BufferWish& wish, const host::Root& root,
                                    const Interrupts& interrupts) {
  return BufferMaker(wish, root, interrupts).make();
}

}  // namespace angio::bench
