// The library that moves data between ranks, behind one door: NCCL on GPUs (or phantom GPUs), MPI, gloo. One
// object is one rank's. The benchmark of collectives and the traffic of training steps use nothing else.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/units.hpp"
#include "model/nccl_tests.hpp"

namespace angio::collective {

enum class Element : std::uint8_t {
  kInt8,
  kUint8,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kHalf,
  kFloat,
  kDouble,
  kBfloat16
};
enum class Reduction : std::uint8_t { kSum, kProduct, kMinimum, kMaximum, kAverage };

std::size_t size_of(Element element);
std::string_view label(Element element);      // "float", as nccl-tests
std::string_view label(Reduction reduction);  // "sum"
// The words of nccl-tests; none: no such word.
std::optional<Element> parse_element(std::string_view word);
std::optional<Reduction> parse_reduction(std::string_view word);

using Group = std::uint32_t;   // 0: all ranks
using Memory = std::uint64_t;  // an address of allocate(), of a GPU or of the host; offsets may be added

// One call by one rank. count is in elements and means, as NCCL's arguments do: AllReduce, Broadcast, Reduce:
// elements of the buffer; AllGather: elements sent; ReduceScatter: elements received; AllToAll, Gather,
// Scatter: elements for each peer; SendRecv: elements to `peer` and from `source` (kNobody: none).
// root, peer and source are places in the group.
struct Call {
  model::NcclCollective collective = model::NcclCollective::kAllReduce;
  Group group = 0;
  Memory send = 0;
  Memory receive = 0;
  std::uint64_t count = 0;
  Element element = Element::kFloat;
  Reduction reduction = Reduction::kSum;
  std::uint32_t root = 0;
  std::uint32_t peer = kNobody;
  std::uint32_t source = kNobody;
  static constexpr std::uint32_t kNobody = 0xffffffffU;
};

struct TransportFacts {
  std::string name;      // "nccl", "mpi", "gloo"
  std::string version;   // of the library
  std::string library;   // path
  std::string device;    // name of this rank's GPU; empty: host memory
  std::string address;   // PCI address of it
  bool phantom = false;  // no data moves: times and contents mean nothing
};

class Transport {
 public:
  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  [[nodiscard]] virtual const TransportFacts& facts() const = 0;
  [[nodiscard]] virtual std::uint32_t rank() const = 0;
  [[nodiscard]] virtual std::uint32_t ranks() const = 0;

  // An error where the ranks of this host cannot have so much together. Asked before allocate().
  virtual Result<void> check_room(Bytes) { return {}; }
  // Page-aligned; released with the transport. Errors name what is missing and how much there is.
  virtual Result<Memory> allocate(Bytes size) = 0;
  virtual void release(Memory memory) = 0;
  virtual Result<void> write(Memory to, std::span<const std::byte> data) = 0;
  virtual Result<void> read(Memory from, std::span<std::byte> data) = 0;

  // Collective over all ranks, in the same order on each; a rank that is no member gets the number too.
  virtual Result<Group> make_group(std::span<const std::uint32_t> ranks) = 0;

  // Begins a call and returns; calls of one group run in their order. finish() waits for all that were begun.
  virtual Result<void> start(const Call& call) = 0;
  virtual Result<void> finish() = 0;
  // Waits for the calls of one group; those of others go on, where the library can tell them apart. Else
  // finish().
  virtual Result<void> finish_group(Group group);
  // True: start() leaves the calling thread free while data moves.
  [[nodiscard]] virtual bool overlaps() const = 0;

  // Microseconds of each of `times` calls of its own: by events of the GPU where there are some, else by the
  // clock.
  virtual Result<std::vector<double>> time_each(const Call& call, std::uint32_t times);
  // Microseconds of `times` calls back to back, from the first start to the end of the last.
  virtual Result<double> time_batch(const Call& call, std::uint32_t times);
};

}  // namespace angio::collective
