// Who holds a TCP port: /proc/net/tcp and tcp6 give the socket, /proc/PID/fd its owner. proc_net_tcp(5).
#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "base/text.hpp"
#include "launch/rendezvous.hpp"

namespace angio::launch {
namespace {

struct Listener {
  std::string address;
  std::string inode;
};

// The kernel prints an address as 32-bit words of its own byte order: 1 for IPv4, 4 for IPv6.
std::string address_in_words(std::string_view hex) {
  std::array<std::uint32_t, 4> words{};
  const std::size_t count = hex.size() / 8;
  if (hex.size() % 8 != 0 || (count != 1 && count != 4)) return {};
  for (std::size_t i = 0; i < count; ++i)
    words[i] = parse_integer<std::uint32_t>(hex.substr(i * 8, 8), 16).value_or(0);
  std::array<char, INET6_ADDRSTRLEN> text{};
  const char* done = inet_ntop(count == 1 ? AF_INET : AF_INET6, words.data(), text.data(), text.size());
  return done != nullptr ? done : "";
}

std::optional<Listener> find_listener(std::string_view table, std::uint16_t port) {
  constexpr std::string_view kListen = "0A";  // TCP_LISTEN, include/net/tcp_states.h
  for (const std::string_view line : split_lines(table)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 10 || words[3] != kListen) continue;
    const std::vector<std::string_view> local = split(words[1], ':');
    if (local.size() != 2 || parse_integer<std::uint16_t>(local[1], 16) != port) continue;
    return Listener{address_in_words(local[0]), std::string(words[9])};
  }
  return std::nullopt;
}

bool holds_socket(const host::Root& root, const std::string& process, const std::string& link) {
  const auto names = root.list("/proc/" + process + "/fd");
  if (!names) return false;
  return std::any_of(names->begin(), names->end(), [&](const std::string& name) {
    const auto target = root.read_link("/proc/" + process + "/fd/" + name);
    return target && *target == link;
  });
}

void find_owner(const host::Root& root, const std::string& inode, PortHolder& holder) {
  const auto processes = root.list("/proc");
  if (!processes) return;
  const std::string link = "socket:[" + inode + "]";
  for (const std::string& process : *processes) {
    const auto pid = parse_integer<int>(process);
    if (!pid || !holds_socket(root, process, link)) continue;
    holder.pid = *pid;
    if (const auto name = root.read("/proc/" + process + "/comm")) holder.name = printable(trim(*name));
    return;
  }
}

}  // namespace

std::optional<PortHolder> find_port_holder(const host::Root& root, std::uint16_t port) {
  for (const char* table : {"/proc/net/tcp", "/proc/net/tcp6"}) {
    const auto text = root.read(table);
    if (!text) continue;
    const std::optional<Listener> listener = find_listener(*text, port);
    if (!listener) continue;
    PortHolder holder{listener->address, std::nullopt, {}};
    find_owner(root, listener->inode, holder);
    return holder;
  }
  return std::nullopt;
}

}  // namespace angio::launch
