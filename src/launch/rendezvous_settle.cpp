// The part of the rendezvous that asks this host: names, addresses, ports.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <random>

#include "base/cpu_set.hpp"
#include "base/text.hpp"
#include "host/descriptor.hpp"
#include "launch/rendezvous.hpp"

namespace angio::launch {
namespace {

struct Address {
  std::string text;
  bool loopback = false;
  std::string interface;  // of this host's addresses
};

bool is_loopback(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    return (ntohl(four.sin_addr.s_addr) >> 24U) == 127;
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &address, sizeof six);
  return IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) != 0;
}

std::optional<Address> address_of(const sockaddr* address) {
  if (address == nullptr || (address->sa_family != AF_INET && address->sa_family != AF_INET6))
    return std::nullopt;
  const socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  std::array<char, NI_MAXHOST> text{};
  if (getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) != 0)
    return std::nullopt;
  return Address{text.data(), is_loopback(*address), {}};
}

std::vector<Address> own_addresses() {
  std::vector<Address> found;
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    auto address = address_of(entry->ifa_addr);
    if (!address || (entry->ifa_flags & IFF_UP) == 0) continue;
    address->interface = entry->ifa_name;
    found.push_back(std::move(*address));
  }
  freeifaddrs(list);
  return found;
}

Result<std::vector<Address>> resolve(const std::string& name) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  const int failed = getaddrinfo(name.c_str(), nullptr, &hints, &list);
  if (failed != 0) {
    return fail(ErrorCode::kNotFound,
                fmt::format("master address {}: {}", printable(name),
                            failed == EAI_SYSTEM ? errno_text(errno) : gai_strerror(failed)),
                "Every node must resolve it; an IP address always works");
  }
  std::vector<Address> found;
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    if (auto address = address_of(entry->ai_addr)) found.push_back(std::move(*address));
  }
  freeaddrinfo(list);
  return found;
}

std::string list_reachable(const std::vector<Address>& own) {
  constexpr std::size_t kNamed = 6;
  std::vector<std::string> words;
  for (const Address& address : own) {
    const bool link_local = address.text.starts_with("fe80:");
    if (!address.loopback && !link_local && words.size() < kNamed)
      words.push_back(address.text + " on " + address.interface);
  }
  return words.empty() ? "none but loopback" : join(words, ", ");
}

// The address that this host's packets to elsewhere carry. Nothing is sent: connect(2) on a datagram socket
// only chooses the route. 192.0.2.1 is reserved for documentation, RFC 5737.
std::optional<std::string> outward_address() {
  const host::Descriptor socket_(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(9);
  inet_pton(AF_INET, "192.0.2.1", &to.sin_addr);
  sockaddr_storage from{};
  socklen_t size = sizeof from;
  if (connect(socket_.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) return std::nullopt;
  if (getsockname(socket_.get(), reinterpret_cast<sockaddr*>(&from), &size) != 0) return std::nullopt;
  const auto address = address_of(reinterpret_cast<const sockaddr*>(&from));
  return address && !address->loopback ? std::optional(address->text) : std::nullopt;
}

// The host's name where it leads to an address that others can use; /etc/hosts often maps it to 127.0.1.1.
Result<std::string> own_address() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) == 0) {
    const auto found = resolve(name.data());
    if (found && !found->empty() && std::ranges::none_of(*found, &Address::loopback))
      return std::string(name.data());
  }
  if (auto address = outward_address()) return *address;
  for (const Address& address : own_addresses()) {
    if (!address.loopback && !address.text.starts_with("fe80:")) return address.text;
  }
  return fail(ErrorCode::kNotFound, "this host has no address that other nodes can reach",
              "Give one: --master ADDRESS:PORT");
}

// 0, or why a server could not listen on the port. As torch's TCPStore does it: on every address, with
// SO_REUSEADDR, so that connections of an earlier job that linger do not count.
int try_port(int family, std::uint16_t port) {
  const host::Descriptor server(socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (server.get() < 0) return errno;
  const int one = 1;
  setsockopt(server.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
  sockaddr_storage address{};
  socklen_t size = sizeof(sockaddr_in6);
  if (family == AF_INET6) {
    setsockopt(server.get(), IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof one);
    sockaddr_in6 six{};
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    std::memcpy(&address, &six, sizeof six);
  } else {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    size = sizeof four;
    std::memcpy(&address, &four, sizeof four);
  }
  if (bind(server.get(), reinterpret_cast<const sockaddr*>(&address), size) != 0) return errno;
  return listen(server.get(), 1) == 0 ? 0 : errno;
}

int try_port(std::uint16_t port) {
  const int four = try_port(AF_INET, port);
  if (four != 0 && four != EAFNOSUPPORT) return four;
  const int six = try_port(AF_INET6, port);
  return six == EAFNOSUPPORT || six == EADDRNOTAVAIL ? 0 : six;
}

// First port that outgoing connections get, ip-sysctl: such a port may be gone before rank 0 listens on it.
std::uint16_t first_outgoing_port(const host::Root& root) {
  constexpr std::uint16_t kUsual = 32768;
  const auto range = root.read("/proc/sys/net/ipv4/ip_local_port_range");
  if (!range) return kUsual;
  const std::vector<std::string_view> words = split_words(trim(*range));
  return words.empty() ? kUsual : parse_integer<std::uint16_t>(words[0]).value_or(kUsual);
}

CpuSet reserved_ports(const host::Root& root) {
  const auto text = root.read("/proc/sys/net/ipv4/ip_local_reserved_ports");
  return text ? parse_cpu_list(trim(*text)).value_or(CpuSet()) : CpuSet();
}

Result<std::uint16_t> find_free_port(const host::Root& root) {
  constexpr std::uint16_t kLowest = 20000;
  constexpr int kTries = 200;
  const std::uint16_t outgoing = first_outgoing_port(root);
  const std::uint16_t highest = outgoing > kLowest + 1000 ? static_cast<std::uint16_t>(outgoing - 1) : 65535;
  const CpuSet reserved = reserved_ports(root);
  std::random_device random;
  std::uniform_int_distribution<int> choose(kLowest, highest);
  int error = EADDRINUSE;
  for (int i = 0; i < kTries; ++i) {
    const auto port = static_cast<std::uint16_t>(choose(random));
    if (reserved.contains(port)) continue;
    error = try_port(port);
    if (error == 0) return port;
  }
  return fail(ErrorCode::kIo,
              fmt::format("no free port between {} and {} found: {}", kLowest, highest, errno_text(error)),
              "Give one: --master ADDRESS:PORT");
}

Error port_error(std::uint16_t port, int error, const host::Root& root) {
  if (error == EACCES) {
    return {ErrorCode::kDenied, fmt::format("port {} may not be used: {}", port, errno_text(error)),
            "Ports below 1024 need privileges"};
  }
  if (error != EADDRINUSE) return {ErrorCode::kIo, fmt::format("port {}: {}", port, errno_text(error)), {}};
  const auto holder = find_port_holder(root, port);
  std::string who = holder ? " (it listens on " + holder->address + ")" : "";
  if (holder && holder->pid)
    who = fmt::format(": {} (pid {}) listens on {}", holder->name, *holder->pid, holder->address);
  return {ErrorCode::kIo, fmt::format("port {} is in use{}", port, who),
          "Another job, or what is left of one. Without a port angio takes a free one"};
}

}  // namespace

Result<void> check_master_address(const std::string& address, const MasterUse& use) {
  const auto found = resolve(address);
  if (!found) return std::unexpected(found.error());
  const std::vector<Address> own = own_addresses();
  const auto loopback = std::ranges::find_if(*found, &Address::loopback);
  if (use.nodes > 1 && loopback != found->end()) {
    return fail(
        ErrorCode::kInvalidInput,
        loopback->text == address
            ? fmt::format("master address {} is loopback: {} nodes cannot meet there", address, use.nodes)
            : fmt::format("master address {} leads to {}, which is loopback: {} nodes cannot meet there",
                          printable(address), loopback->text, use.nodes),
        "Addresses of this host: " + list_reachable(own));
  }
  if (!use.rank_0_here) return {};
  for (const Address& found_address : *found) {
    if (found_address.loopback ||
        std::ranges::any_of(own, [&](const Address& mine) { return mine.text == found_address.text; }))
      return {};
  }
  return fail(ErrorCode::kInvalidInput,
              fmt::format("master address {} is not of this host, where rank 0 runs", printable(address)),
              "Addresses of this host: " + list_reachable(own));
}

Result<Rendezvous> settle_master(const std::optional<Rendezvous>& wanted, const MasterUse& use,
                                 const host::Root& root) {
  Rendezvous master = wanted.value_or(Rendezvous{use.nodes > 1 ? "" : "127.0.0.1", 0});
  if (master.address.empty()) {
    Result<std::string> address = own_address();
    if (!address) return std::unexpected(std::move(address).error());
    master.address = std::move(*address);
  }
  if (auto checked = check_master_address(master.address, use); !checked)
    return std::unexpected(std::move(checked).error());
  if (!use.rank_0_here) {
    if (master.port != 0) return master;
    return fail(ErrorCode::kInvalidInput, "rank 0 runs on another node: the port must be given",
                "--master " + master.address + ":PORT");
  }
  if (master.port == 0) {
    const Result<std::uint16_t> port = find_free_port(root);
    if (!port) return std::unexpected(port.error());
    master.port = *port;
  } else if (const int error = try_port(master.port); error != 0) {
    return std::unexpected(port_error(master.port, error, root));
  }
  return master;
}

}  // namespace angio::launch
