#include "host/addresses_root.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <span>

namespace angio::host {
namespace {

// The address bytes of an IPv4 or IPv6 socket address; empty for other families.
std::span<const unsigned char> bytes_of(const sockaddr* address) {
  const auto* raw = reinterpret_cast<const unsigned char*>(address);  // sockaddr is a family of structs
  if (address == nullptr) return {};
  if (address->sa_family == AF_INET) return {raw + offsetof(sockaddr_in, sin_addr), sizeof(in_addr)};
  if (address->sa_family == AF_INET6) return {raw + offsetof(sockaddr_in6, sin6_addr), sizeof(in6_addr)};
  return {};
}

int prefix_length(const sockaddr* mask) {
  int bits = 0;
  for (const unsigned char byte : bytes_of(mask))
    bits += std::popcount(byte);
  return bits;
}

Read<std::string> read_addresses() {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return std::unexpected(ReadError{errno, {}});
  std::vector<std::string> lines;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const std::span<const unsigned char> bytes = bytes_of(entry->ifa_addr);
    if (bytes.empty()) continue;
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (inet_ntop(entry->ifa_addr->sa_family, bytes.data(), text.data(), text.size()) == nullptr) continue;
    lines.push_back(std::string(entry->ifa_name) + " " + text.data() + "/" +
                    std::to_string(prefix_length(entry->ifa_netmask)) + "\n");
  }
  freeifaddrs(list);
  std::ranges::sort(lines);
  std::string content;
  for (const std::string& line : lines)
    content += line;
  return content;
}

class AddressesRoot final : public Root {
 public:
  [[nodiscard]] Read<std::string> read(std::string_view path) const override {
    if (path == "/addresses") return read_addresses();
    return std::unexpected(ReadError{ENOENT, {}});
  }
  [[nodiscard]] Read<Names> list(std::string_view path) const override {
    if (path == "/") return Names{"addresses"};
    return std::unexpected(ReadError{ENOENT, {}});
  }
  [[nodiscard]] Read<std::string> read_link(std::string_view) const override {
    return std::unexpected(ReadError{EINVAL, {}});
  }
  [[nodiscard]] bool exists(std::string_view path) const override {
    return path == "/" || path == "/addresses";
  }
  [[nodiscard]] bool is_live() const override { return true; }
};

}  // namespace

std::unique_ptr<Root> make_addresses_root() {
  return std::make_unique<AddressesRoot>();
}

}  // namespace angio::host
