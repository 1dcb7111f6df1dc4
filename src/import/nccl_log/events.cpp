#include "import/nccl_log/events.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <string>

#include "base/error.hpp"
#include "base/text.hpp"

namespace angio::import::nccl_log {

namespace {

using Kind = model::NcclEventKind;

constexpr std::string_view kEnds = " ,;)";

// What stands behind the first of these words that is there, up to a blank or a comma.
template <std::size_t Count>
std::string_view after(std::string_view text, const std::array<std::string_view, Count>& words) {
  for (const auto word : words) {
    const auto at = text.find(word);
    if (at == std::string_view::npos) continue;
    const auto rest = text.substr(at + word.size());
    return rest.substr(0, std::min(rest.find_first_of(kEnds), rest.size()));
  }
  return {};
}

template <typename Number>
std::optional<Number> leading(std::string_view text) {
  Scan scan(text);
  Number value{};
  if (!scan.number(value)) return std::nullopt;
  return value;
}

// "12", "IBV_WC_RETRY_EXC_ERR(12": a name with its number, or the number alone.
std::optional<int> number_of_name(std::string_view text) {
  const auto open = text.find('(');
  return leading<int>(open == std::string_view::npos ? text : text.substr(open + 1));
}

// The number of an error whose words stand in the text: strerror of Linux.
std::optional<std::int64_t> errno_in_words(std::string_view text) {
  constexpr int kLastErrno = 133;
  for (int value = 1; value <= kLastErrno; ++value) {
    const auto words = errno_text(value);
    const auto name = words.rfind(" (");
    if (name != std::string::npos && name > 4 &&
        text.find(std::string_view(words).substr(0, name)) != std::string_view::npos)
      return value;
  }
  return std::nullopt;
}

std::optional<std::int64_t> errno_of(std::string_view text) {
  const auto said =
      after(text, std::to_array<std::string_view>({"errno ", "errno=", "failed with error code "}));
  if (const auto number = leading<std::int64_t>(said)) return number;
  const auto failed = text.find("failed with ");
  if (failed != std::string_view::npos) {
    if (const auto number = leading<std::int64_t>(text.substr(failed + 12))) return number;
  }
  if (text.ends_with(')')) {
    const auto open = text.rfind('(');
    const auto number = leading<std::int64_t>(text.substr(open + 1));
    if (number && *number > 0) return number;
  }
  return errno_in_words(text);
}

// "Cuda failure 2 'out of memory'"
std::optional<std::int64_t> cuda_error(std::string_view text) {
  return leading<std::int64_t>(after(text, std::to_array<std::string_view>({"failure "})));
}

void read_completion(std::string_view text, model::NcclEvent& event) {
  event.status =
      number_of_name(after(text, std::to_array<std::string_view>({"status=", "with error ", "status "})));
  event.opcode = number_of_name(after(text, std::to_array<std::string_view>({"opcode=", "opcode "})));
  event.vendor_error = leading<std::uint32_t>(
      after(text, std::to_array<std::string_view>({"vendor_err=", "vendor err ", "vendor_err "})));
  event.bytes =
      leading<std::uint64_t>(after(text, std::to_array<std::string_view>({"reqSize=", "len=", " len "})));
}

void read_ranks(std::string_view text, model::NcclEvent& event) {
  const auto first = text.find("rank ");
  if (first == std::string_view::npos) return;
  event.rank_a = leading<std::uint32_t>(text.substr(first + 5));
  const auto second = text.find("rank ", first + 5);
  if (event.rank_a && second != std::string_view::npos)
    event.rank_b = leading<std::uint32_t>(text.substr(second + 5));
}

std::string_view peer_in(std::string_view text) {
  return after(text, std::to_array<std::string_view>({"remote peer ", "from peer ", "Call to connect to ",
                                                      "connect to ", "Connect to ", "Call to recv from ",
                                                      "Call to send to ", "recv from ", "remotePeer "}));
}

bool has_errno(Kind kind) {
  switch (kind) {
    case Kind::kSystemCall:
    case Kind::kConnectRefused:
    case Kind::kConnectTimeout:
    case Kind::kConnectionReset:
    case Kind::kQpCreate:
    case Kind::kRegisterMemory:
    case Kind::kQpModify:
    case Kind::kVerbsCall:
    case Kind::kSharedMemory:
    case Kind::kHostMemory:
    case Kind::kTopologyFile:
    case Kind::kServiceThread:
    case Kind::kNameResolution:
      return true;
    default:
      return false;
  }
}

std::string_view device_in(std::string_view text) {
  const auto named =
      after(text, std::to_array<std::string_view>({" hca ", "on dev ", "devName ", " for device "}));
  if (!named.empty()) return named;
  // "NET/IB : mlx5_0:1 async fatal event", "… Got non-fatal async event", "… GID table changed"
  constexpr std::string_view kStart = "NET/IB : ";
  const bool of_adapter = text.find(" async") != std::string_view::npos ||
                          text.find("GID table changed") != std::string_view::npos;
  if (text.starts_with(kStart) && of_adapter) return after(text, std::to_array<std::string_view>({kStart}));
  return {};
}

// "Error: failed to extend /dev/shm/nccl-a to 9637892 bytes", "(size 9637888)", "of size 12".
std::optional<std::uint64_t> bytes_in(std::string_view text) {
  const auto unit = text.find(" bytes");
  if (unit != std::string_view::npos) {
    const auto blank = text.rfind(' ', unit - 1);
    if (blank != std::string_view::npos) return leading<std::uint64_t>(text.substr(blank + 1));
  }
  return leading<std::uint64_t>(after(text, std::to_array<std::string_view>({"(size ", "of size "})));
}

void read_rest(std::string_view text, Kind kind, model::NcclEvent& event) {
  if (kind == Kind::kCudaFailure) event.number = cuda_error(text);
  if (has_errno(kind)) event.number = errno_of(text);
  if (kind == Kind::kCompletionError) read_completion(text, event);
  if (kind == Kind::kDuplicateGpu || kind == Kind::kVersionMismatch || kind == Kind::kNoTransport ||
      kind == Kind::kProxyEcho)
    read_ranks(text, event);
  if (kind == Kind::kSharedMemory || kind == Kind::kNvls || kind == Kind::kHostMemory)
    event.bytes = bytes_in(text);
  event.gid_index =
      leading<std::uint32_t>(after(text, std::to_array<std::string_view>({"local GID index "})));
}

std::uint64_t letters(std::string_view text, std::uint64_t hash) {
  for (const char letter : text) {
    if (letter < '0' || letter > '9') hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ULL;
  }
  return hash;
}

}  // namespace

std::uint64_t words_key(std::string_view text) {
  return letters(text.substr(0, kMaxText), 0xcbf29ce484222325ULL);
}

std::uint64_t event_key(const Message& message, Kind kind) {
  auto key = mix(mix(7, message.process), static_cast<std::uint64_t>(kind));
  const auto location = message.envelope->location;
  key = location.empty() && kind != Kind::kErrorChain ? mix(key, words_key(message.text))
                                                      : hash_text(location, key);
  if (kind == Kind::kCompletionError || kind == Kind::kQpModify) {
    model::NcclEvent event;
    read_completion(message.text, event);
    key = mix(key, static_cast<std::uint64_t>(event.status.value_or(-1)));
    key = hash_text(device_in(message.text), key);
  }
  // The trace back is one event for each result code.
  if (kind == Kind::kErrorChain)
    key = mix(key, static_cast<std::uint64_t>(message.text[message.text.find(" -> ") + 4]));
  return key;
}

model::NcclEvent make_event(const Message& message, Kind kind) {
  model::NcclEvent event;
  const auto text = message.text;
  event.kind = kind;
  event.process = message.process;
  event.cuda_device = message.envelope->device;
  event.location = printable(message.envelope->location.substr(0, 120));
  event.function = printable(message.envelope->function.substr(0, 120));
  event.text = keep_text(text);
  event.source = message.source;
  event.count = 1;
  event.time_us = find_time(message.envelope->prefix);
  if (kind == Kind::kErrorChain) {
    const auto arrow = text.find(" -> ");
    event.location = printable(text.substr(0, std::min(arrow, std::size_t{120})));
    event.number = leading<std::int64_t>(text.substr(arrow + 4));
    return event;
  }
  read_rest(text, kind, event);
  event.peer = printable(peer_in(text).substr(0, 120));
  event.device = printable(device_in(text).substr(0, 120));
  event.local_gid =
      printable(after(text, std::to_array<std::string_view>({"localGid ", "local GID "})).substr(0, 64));
  event.remote_gid = printable(
      after(text, std::to_array<std::string_view>({"remoteGids ", "remoteGids", "remoteGid ", "remote GID "}))
          .substr(0, 64));
  if (event.local_gid == "index") {
    const auto second = text.find("local GID ", text.find("local GID index ") + 1);
    event.local_gid =
        second == std::string_view::npos
            ? std::string()
            : printable(
                  after(text.substr(second), std::to_array<std::string_view>({"local GID "})).substr(0, 64));
  }
  return event;
}

}  // namespace angio::import::nccl_log
