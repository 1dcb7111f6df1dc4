// Management datagrams as bytes: making requests, taking answers apart. Pure. Reads only: there is no way to
// make a Set here. Layouts: InfiniBand Architecture Specification 1.6, volume 1, chapters 13, 14 and 16.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace angio::probe::umad {

inline constexpr std::size_t kMadBytes = 256;
inline constexpr std::size_t kPayloadAt = 64;  // of SMPs and of performance MADs
inline constexpr std::size_t kPayloadBytes = kMadBytes - kPayloadAt;
inline constexpr std::uint32_t kMostHops = 63;        // a path field has 64 bytes, the first is not used
inline constexpr std::uint16_t kPermissive = 0xffff;  // the LID of directed routes
inline constexpr std::uint16_t kFirstMulticast = 0xc000;

using MadBytes = std::array<std::uint8_t, kMadBytes>;
using Payload = std::span<const std::uint8_t, kPayloadBytes>;

enum class MadClass : std::uint8_t { kPerformance = 0x04, kDirected = 0x81 };

enum class Question : std::uint8_t {
  kNodeInfo,
  kNodeDescription,
  kSwitchInfo,
  kPortInfo,
  kVendorPortInfo,  // NVIDIA's extension that tells FDR10 from QDR
  kClassPortInfo,   // of the performance agent: which counters it has
  kPortCounters,
  kPortCountersExtended,
};
std::string_view name_of(Question question);
MadClass class_of(Question question);

// The out ports from here to a node; ports[0] stays 0.
struct Route {
  std::uint8_t hops = 0;
  std::array<std::uint8_t, kMostHops + 1> ports{};
};

struct Request {
  Question question = Question::kNodeInfo;
  std::uint32_t transaction = 0;
  std::uint8_t port = 0;         // of PortInfo and counters
  const Route* route = nullptr;  // of subnet management; null for the performance agent, which has a LID
};
MadBytes make_request(const Request& request);

// What an answer says of itself. The upper half of the transaction id belongs to the kernel.
struct AnswerHead {
  std::uint32_t transaction = 0;
  bool fits = false;         // an answer to this question at all: class, method, attribute, modifier
  std::uint16_t status = 0;  // 0: done; without the direction bit
};
std::uint32_t transaction_of(const MadBytes& mad);
AnswerHead read_head(const MadBytes& mad, Question question, std::uint8_t port);
inline Payload payload_of(const MadBytes& mad) {
  return Payload(mad.data() + kPayloadAt, kPayloadBytes);
}

// "busy", "attribute not supported": the words of a MAD's status with its number.
std::string status_words(std::uint16_t status);

inline std::uint64_t big_endian(std::span<const std::uint8_t> bytes) {
  std::uint64_t value = 0;
  for (const std::uint8_t byte : bytes)
    value = (value << 8U) | byte;
  return value;
}

}  // namespace angio::probe::umad
