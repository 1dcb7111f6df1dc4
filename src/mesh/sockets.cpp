#include "mesh/sockets.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace angio::mesh {
namespace {

using host::Descriptor;
using Clock = std::chrono::steady_clock;

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  [[nodiscard]] const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

std::optional<Address> lookup(const std::string& name, std::uint16_t port, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags;
  addrinfo* found = nullptr;
  const std::string service = std::to_string(port);
  if (getaddrinfo(name.c_str(), service.c_str(), &hints, &found) != 0) return std::nullopt;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owner(found, freeaddrinfo);
  // IPv4 first where there are both: that is what clusters route.
  const addrinfo* chosen = found;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family == AF_INET) {
      chosen = one;
      break;
    }
  }
  Address address;
  std::memcpy(&address.storage, chosen->ai_addr, chosen->ai_addrlen);
  address.size = chosen->ai_addrlen;
  return address;
}

std::optional<Address> numeric(const std::string& text, std::uint16_t port) {
  return lookup(text, port, AI_NUMERICHOST | AI_NUMERICSERV);
}

std::string text_of(const sockaddr* address, socklen_t size) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text.data();
}

std::unexpected<Error> failed(const std::string& what, int error) {
  return fail(error == EACCES || error == EPERM ? ErrorCode::kDenied : ErrorCode::kIo,
              what + ": " + errno_text(error));
}

Result<Descriptor> open_socket(const Address& address) {
  Descriptor socket(::socket(address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return failed("socket", errno);
  return socket;
}

}  // namespace

Result<Listener> listen_on(const std::string& text) {
  const auto address = numeric(text, 0);
  if (!address) return fail(ErrorCode::kInvalidInput, "\"" + text + "\" is no address");
  auto socket = open_socket(*address);
  if (!socket) return std::unexpected(std::move(socket.error()));
  constexpr int kWaiting = 1024;  // agents that come at once
  if (bind(socket->get(), address->get(), address->size) != 0 || listen(socket->get(), kWaiting) != 0)
    return failed("cannot listen on " + text, errno);
  Address bound;
  bound.size = sizeof bound.storage;
  if (getsockname(socket->get(), reinterpret_cast<sockaddr*>(&bound.storage), &bound.size) != 0)
    return failed("getsockname", errno);
  const auto port = bound.storage.ss_family == AF_INET6
                        ? reinterpret_cast<const sockaddr_in6*>(&bound.storage)->sin6_port
                        : reinterpret_cast<const sockaddr_in*>(&bound.storage)->sin_port;
  return Listener{std::move(*socket), ntohs(port)};
}

Result<Descriptor> connect_to(const std::string& text, std::uint16_t port, const std::string& own,
                              SteadyTime until) {
  const auto address = numeric(text, port);
  if (!address) return fail(ErrorCode::kInvalidInput, "\"" + text + "\" is no address");
  auto socket = open_socket(*address);
  if (!socket) return socket;
  const std::string where = join_address(text, port);
  if (!own.empty()) {
    const auto from = numeric(own, 0);
    if (!from || bind(socket->get(), from->get(), from->size) != 0)
      return failed("cannot connect from " + own, errno);
  }
  if (connect(socket->get(), address->get(), address->size) == 0) return socket;
  if (errno != EINPROGRESS) return failed(where, errno);
  if (wait_ready(socket->get(), true, until, [] { return false; }) != Waited::kReady)
    return fail(ErrorCode::kIo, where + ": no answer");
  int error = 0;
  socklen_t size = sizeof error;
  getsockopt(socket->get(), SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return failed(where, error);
  return socket;
}

Waited wait_step(int fd, bool writes, SteadyTime until) {
  constexpr auto kStep = std::chrono::milliseconds(100);
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
  const auto patience = std::clamp<std::chrono::milliseconds>(left, std::chrono::milliseconds(0), kStep);
  pollfd wanted{fd, static_cast<short>(writes ? POLLOUT : POLLIN), 0};
  return poll(&wanted, 1, static_cast<int>(patience.count())) > 0 ? Waited::kReady : Waited::kLate;
}

void keep_alive(int socket) {
  const auto set = [socket](int level, int name, int value) {
    setsockopt(socket, level, name, &value, sizeof value);
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set(IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set(IPPROTO_TCP, TCP_KEEPCNT, 4);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, 30000);  // ms, for what was sent and not acknowledged
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

std::string own_address_of(int socket) {
  Address address;
  address.size = sizeof address.storage;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) return {};
  return text_of(address.get(), address.size);
}

std::string peer_address_of(int socket) {
  Address address;
  address.size = sizeof address.storage;
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address.storage), &address.size) != 0) return {};
  return text_of(address.get(), address.size);
}

std::string source_address_for(const std::string& text) {
  constexpr std::uint16_t kDiscard = 9;  // nothing is sent to it
  const auto address = numeric(text, kDiscard);
  if (!address) return {};
  const Descriptor socket(::socket(address->storage.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || connect(socket.get(), address->get(), address->size) != 0) return {};
  return own_address_of(socket.get());
}

std::string resolve(const std::string& name) {
  const auto address = lookup(name, 0, 0);
  return address ? text_of(address->get(), address->size) : std::string();
}

std::string address_of_interface(const std::string& name) {
  if (const auto address = numeric(name, 0)) return text_of(address->get(), address->size);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> owner(list, freeifaddrs);
  std::string found;
  for (const ifaddrs* one = list; one != nullptr; one = one->ifa_next) {
    if (one->ifa_addr == nullptr || name != one->ifa_name) continue;
    if (one->ifa_addr->sa_family == AF_INET) return text_of(one->ifa_addr, sizeof(sockaddr_in));
    if (one->ifa_addr->sa_family == AF_INET6 && found.empty())
      found = text_of(one->ifa_addr, sizeof(sockaddr_in6));
  }
  return found;
}

std::string join_address(const std::string& address, std::uint16_t port) {
  return address.find(':') == std::string::npos ? fmt::format("{}:{}", address, port)
                                                : fmt::format("[{}]:{}", address, port);
}

LineChannel::LineChannel(Descriptor socket, std::size_t longest)
    : socket_(std::move(socket)), longest_(longest) {
  const int flags = fcntl(socket_.get(), F_GETFL);
  fcntl(socket_.get(), F_SETFL, flags | O_NONBLOCK);
}

void LineChannel::close() {
  socket_ = Descriptor();
  out_.clear();
}

std::vector<std::string> LineChannel::read_lines() {
  std::array<char, 65536> piece;
  while (is_open() && in_.size() <= longest_) {
    const ssize_t count = recv(socket_.get(), piece.data(), piece.size(), 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) break;
    if (count <= 0) {
      trouble_ = count == 0 ? "the connection was closed" : "the connection broke: " + errno_text(errno);
      close();
      break;
    }
    in_.append(piece.data(), static_cast<std::size_t>(count));
  }
  std::vector<std::string> lines;
  std::size_t first = 0;
  for (std::size_t end = in_.find('\n'); end != std::string::npos; end = in_.find('\n', first)) {
    lines.push_back(in_.substr(first, end - first));
    first = end + 1;
  }
  in_.erase(0, first);
  if (in_.size() > longest_ && is_open()) {
    trouble_ = "it sent a line that is no message";
    close();
  }
  return lines;
}

void LineChannel::send(std::string_view text) {
  if (!is_open()) return;
  out_ += text;
  flush();
}

void LineChannel::flush() {
  while (is_open() && !out_.empty()) {
    const ssize_t count = ::send(socket_.get(), out_.data(), out_.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count < 0) {
      trouble_ = "the connection broke: " + errno_text(errno);
      close();
      return;
    }
    out_.erase(0, static_cast<std::size_t>(count));
  }
}

}  // namespace angio::mesh
