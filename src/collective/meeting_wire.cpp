#include "collective/meeting_wire.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <thread>

#include "base/text.hpp"

namespace angio::collective {
namespace {

using Clock = std::chrono::steady_clock;
using host::Descriptor;

constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kHead = 1 + kLengthBytes;

std::string length_bytes(std::uint64_t length) {
  std::string bytes;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    bytes += static_cast<char>((length >> (8 * i)) & 0xffU);
  return bytes;
}

std::uint64_t length_of(std::string_view bytes) {
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < kLengthBytes; ++i)
    length |= std::uint64_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

bool is_kind(char letter) {
  constexpr std::string_view kKinds = "HDPL";
  return kKinds.find(letter) != std::string_view::npos;
}

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> look_up(const std::string& name, std::uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(name.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed == 0) return Addresses(found);
  return fail(ErrorCode::kNotFound,
              fmt::format("the address {} where the ranks meet: {}", printable(name),
                          failed == EAI_SYSTEM ? errno_text(errno) : gai_strerror(failed)),
              "Every host must resolve it; an IP address always works");
}

void set_up(int socket) {
  constexpr int kOn = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &kOn, sizeof kOn);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &kOn, sizeof kOn);
}

// 0 or an errno value.
int listen_on(const sockaddr* address, socklen_t size, Descriptor& to) {
  Descriptor socket(::socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return errno;
  constexpr int kOn = 1;
  constexpr int kWaiting = 4096;  // ranks that come at once
  setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &kOn, sizeof kOn);
  if (bind(socket.get(), address, size) != 0 || listen(socket.get(), kWaiting) != 0) return errno;
  to = std::move(socket);
  return 0;
}

int listen_on_all(int family, std::uint16_t port, Descriptor& to) {
  if (family == AF_INET6) {
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    return listen_on(reinterpret_cast<const sockaddr*>(&six), sizeof six, to);
  }
  sockaddr_in four{};
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  return listen_on(reinterpret_cast<const sockaddr*>(&four), sizeof four, to);
}

// 0 or an errno value.
int connect_once(const addrinfo& address, std::chrono::milliseconds patience, Descriptor& to) {
  Descriptor socket(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return errno;
  if (connect(socket.get(), address.ai_addr, address.ai_addrlen) != 0) {
    if (errno != EINPROGRESS) return errno;
    if (!wait_for(socket.get(), true, patience)) return ETIMEDOUT;
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return error;
  }
  set_up(socket.get());
  to = std::move(socket);
  return 0;
}

}  // namespace

std::string write_frame(FrameKind kind, std::string_view text) {
  std::string bytes(1, static_cast<char>(kind));
  bytes += length_bytes(text.size());
  bytes += text;
  return bytes;
}

bool take_frames(std::string& bytes, std::size_t longest, std::vector<Frame>& frames) {
  std::size_t at = 0;
  bool ours = true;
  while (bytes.size() - at >= kHead) {
    const std::uint64_t length = length_of(std::string_view(bytes).substr(at + 1));
    ours = is_kind(bytes[at]) && length <= longest;
    if (!ours || bytes.size() - at - kHead < length) break;
    frames.push_back({static_cast<FrameKind>(bytes[at]), bytes.substr(at + kHead, length)});
    at += kHead + length;
  }
  bytes.erase(0, at);
  return ours;
}

std::string pack(const std::vector<std::string>& texts) {
  std::string bytes;
  for (const std::string& text : texts)
    bytes += length_bytes(text.size()) + text;
  return bytes;
}

std::optional<std::vector<std::string>> unpack(std::string_view bytes) {
  std::vector<std::string> texts;
  while (!bytes.empty()) {
    if (bytes.size() < kLengthBytes) return std::nullopt;
    const std::uint64_t length = length_of(bytes);
    bytes.remove_prefix(kLengthBytes);
    if (length > bytes.size()) return std::nullopt;
    texts.emplace_back(bytes.substr(0, length));
    bytes.remove_prefix(length);
  }
  return texts;
}

Result<Descriptor> listen_at(const std::string& address, std::uint16_t port) {
  auto found = look_up(address, port);
  if (!found) return std::unexpected(std::move(found.error()));
  Descriptor socket;
  int error = 0;
  for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
    error = listen_on(one->ai_addr, one->ai_addrlen, socket);
    if (error == 0) return socket;
  }
  // The name of this host may lead elsewhere from here (a translated address).
  if (error == EADDRNOTAVAIL) error = listen_on_all((*found)->ai_family, port, socket);
  if (error == 0) return socket;
  return fail(
      ErrorCode::kIo,
      fmt::format("rank 0 cannot listen on {} port {}: {}", printable(address), port, errno_text(error)),
      error == EADDRINUSE ? "Set MASTER_PORT to another port, the same for all ranks" : "");
}

Result<Descriptor> connect_at(const std::string& address, std::uint16_t port, SteadyTime until) {
  constexpr std::chrono::milliseconds kPause{20};
  constexpr std::chrono::milliseconds kOnePatience{5000};
  for (;;) {
    auto found = look_up(address, port);
    if (!found) return std::unexpected(std::move(found.error()));
    int error = 0;
    for (const addrinfo* one = found->get(); one != nullptr; one = one->ai_next) {
      Descriptor socket;
      error = connect_once(*one, kOnePatience, socket);
      if (error == 0) return socket;
    }
    if (Clock::now() >= until) {
      return fail(ErrorCode::kIo,
                  fmt::format("rank 0 does not listen on {} port {}: {}", printable(address), port,
                              errno_text(error)),
                  "Did rank 0 start? May this host reach that port?");
    }
    std::this_thread::sleep_for(kPause);
  }
}

bool wait_for(int socket, bool writes, std::chrono::milliseconds time) {
  pollfd wanted{socket, static_cast<short>(writes ? POLLOUT : POLLIN), 0};
  const auto count = std::clamp<std::chrono::milliseconds::rep>(time.count(), 0, 3600'000);
  return poll(&wanted, 1, static_cast<int>(count)) > 0;
}

bool send_all(int socket, std::string_view bytes, SteadyTime until) {
  constexpr std::chrono::milliseconds kStep{200};
  while (!bytes.empty()) {
    const ssize_t count = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (count > 0) {
      bytes.remove_prefix(static_cast<std::size_t>(count));
    } else if (count < 0 && errno == EAGAIN) {
      if (!wait_for(socket, true, kStep) && Clock::now() >= until) return false;
    } else if (count < 0 && errno != EINTR) {
      return false;
    }
  }
  return true;
}

bool receive_some(int socket, std::string& bytes) {
  std::array<char, 65536> piece;
  for (;;) {
    const ssize_t count = recv(socket, piece.data(), piece.size(), MSG_DONTWAIT);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    bytes.append(piece.data(), static_cast<std::size_t>(count));
    if (static_cast<std::size_t>(count) < piece.size()) return true;
  }
}

}  // namespace angio::collective
