#include "addresses.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <memory>

#include "host/descriptor.hpp"

namespace angio::backend {
namespace {

std::string in_words(const sockaddr* address, socklen_t length) {
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(address, length, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0) return {};
  return text.data();
}

using Found = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Found look_up(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* all = nullptr;
  if (getaddrinfo(name.c_str(), "9", &hints, &all) != 0) all = nullptr;
  return {all, &freeaddrinfo};
}

// A datagram socket that is connected has the address that the route would use.
std::string source_towards(const addrinfo& to) {
  const host::Descriptor socket(::socket(to.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (socket.get() < 0 || connect(socket.get(), to.ai_addr, to.ai_addrlen) != 0) return {};
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  auto* const at = static_cast<sockaddr*>(static_cast<void*>(&own));
  return getsockname(socket.get(), at, &length) == 0 ? in_words(at, length) : "";
}

std::string first_interface() {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return {};
  const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> held(all, &freeifaddrs);
  for (const ifaddrs* each = all; each != nullptr; each = each->ifa_next) {
    const bool usable = (each->ifa_flags & IFF_UP) != 0 && (each->ifa_flags & IFF_LOOPBACK) == 0;
    if (usable && each->ifa_addr != nullptr && each->ifa_addr->sa_family == AF_INET)
      return in_words(each->ifa_addr, sizeof(sockaddr_in));
  }
  return {};
}

}  // namespace

std::string address_towards(const std::string& other) {
  const Found found = look_up(other);
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    std::string address = source_towards(*each);
    if (!address.empty()) return address;
  }
  return {};
}

bool is_loopback(const std::string& address) {
  return address.starts_with("127.") || address == "::1" || address.empty();
}

std::string outward_address() {
  const Found found = look_up(host_name());
  for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
    std::string address = in_words(each->ai_addr, each->ai_addrlen);
    if (!is_loopback(address) && !address.starts_with("fe80:")) return address;
  }
  return first_interface();
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

int free_port() {
  const host::Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any{};
  any.sin_family = AF_INET;
  socklen_t length = sizeof any;
  auto* const at = static_cast<sockaddr*>(static_cast<void*>(&any));
  if (socket.get() < 0 || bind(socket.get(), at, length) != 0 || getsockname(socket.get(), at, &length) != 0)
    return 0;
  return ntohs(any.sin_port);
}

}  // namespace angio::backend
