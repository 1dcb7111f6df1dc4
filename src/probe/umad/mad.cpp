#include "probe/umad/mad.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace angio::probe::umad {
namespace {

constexpr std::uint8_t kGet = 0x01;
constexpr std::uint8_t kGetResponse = 0x81;

// Bytes of the common header (13.4.2) and of a directed SMP (14.2.1.2).
constexpr std::size_t kMethodAt = 3;
constexpr std::size_t kStatusAt = 4;
constexpr std::size_t kHopCountAt = 7;
constexpr std::size_t kTransactionAt = 8;
constexpr std::size_t kAttributeAt = 16;
constexpr std::size_t kModifierAt = 20;
constexpr std::size_t kDirectedLidsAt = 32;
constexpr std::size_t kInitialPathAt = 128;
// In the payload of counters (16.1.3.5).
constexpr std::size_t kPortSelectAt = 1;

struct Meaning {
  std::string_view name;
  std::uint16_t attribute;
};

Meaning meaning_of(Question question) {
  switch (question) {
    case Question::kNodeInfo:
      return {"NodeInfo", 0x11};
    case Question::kNodeDescription:
      return {"NodeDescription", 0x10};
    case Question::kSwitchInfo:
      return {"SwitchInfo", 0x12};
    case Question::kPortInfo:
      return {"PortInfo", 0x15};
    case Question::kVendorPortInfo:
      return {"the vendor's PortInfo", 0xff90};
    case Question::kClassPortInfo:
      return {"ClassPortInfo of the performance agent", 0x01};
    case Question::kPortCounters:
      return {"PortCounters", 0x12};
    case Question::kPortCountersExtended:
      return {"PortCountersExtended", 0x1d};
  }
  return {"", 0};
}

void put(MadBytes& mad, std::size_t at, std::uint64_t value, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i)
    mad.at(at + i) = static_cast<std::uint8_t>(value >> (8 * (bytes - 1 - i)));
}

std::uint64_t get(const MadBytes& mad, std::size_t at, std::size_t bytes) {
  return big_endian(std::span(mad).subspan(at, bytes));
}

bool has_port_modifier(Question question) {
  return question == Question::kPortInfo || question == Question::kVendorPortInfo;
}

bool has_port_select(Question question) {
  return question == Question::kPortCounters || question == Question::kPortCountersExtended;
}

}  // namespace

std::string_view name_of(Question question) {
  return meaning_of(question).name;
}

MadClass class_of(Question question) {
  const bool counters = question == Question::kClassPortInfo || has_port_select(question);
  return counters ? MadClass::kPerformance : MadClass::kDirected;
}

MadBytes make_request(const Request& request) {
  MadBytes mad{};
  mad[0] = 1;  // base version
  mad[1] = static_cast<std::uint8_t>(class_of(request.question));
  mad[2] = 1;  // class version
  mad[kMethodAt] = kGet;
  put(mad, kTransactionAt, request.transaction, 8);
  put(mad, kAttributeAt, meaning_of(request.question).attribute, 2);
  if (has_port_modifier(request.question)) put(mad, kModifierAt, request.port, 4);
  if (has_port_select(request.question)) mad[kPayloadAt + kPortSelectAt] = request.port;
  if (request.route != nullptr) {
    mad[kHopCountAt] = request.route->hops;
    put(mad, kDirectedLidsAt, 0xffffffff, 4);  // directed from end to end
    std::ranges::copy(request.route->ports, mad.begin() + kInitialPathAt);
  }
  return mad;
}

std::uint32_t transaction_of(const MadBytes& mad) {
  return static_cast<std::uint32_t>(get(mad, kTransactionAt + 4, 4));
}

AnswerHead read_head(const MadBytes& mad, Question question, std::uint8_t port) {
  AnswerHead head{.transaction = transaction_of(mad)};
  // Of a directed SMP the highest bit of the status is the direction.
  head.status = static_cast<std::uint16_t>(get(mad, kStatusAt, 2) & 0x7fffU);
  const bool about_port = !has_port_modifier(question) || get(mad, kModifierAt, 4) == port;
  const bool same_port =
      !has_port_select(question) || head.status != 0 || mad[kPayloadAt + kPortSelectAt] == port;
  head.fits = mad[0] == 1 && mad[1] == static_cast<std::uint8_t>(class_of(question)) &&
              mad[kMethodAt] == kGetResponse && get(mad, kAttributeAt, 2) == meaning_of(question).attribute &&
              about_port && same_port;
  return head;
}

std::string status_words(std::uint16_t status) {
  // Common status field, 13.4.7: bit 0 busy, bit 1 redirect, bits 2 to 4 a code.
  std::string_view words = "unknown status";
  if ((status & 1U) != 0) words = "busy";
  if ((status & 2U) != 0) words = "answers at another address (redirection)";
  switch ((status >> 2U) & 7U) {
    case 1:
      words = "class version not supported";
      break;
    case 2:
      words = "method not supported";
      break;
    case 3:
      words = "attribute not supported";
      break;
    case 7:
      words = "invalid attribute or modifier";
      break;
    default:
      break;
  }
  return fmt::format("{} (0x{:04x})", words, status);
}

}  // namespace angio::probe::umad
