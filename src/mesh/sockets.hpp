// TCP sockets as the mesh needs them: numeric addresses, one interface, nothing that waits for ever. And a
// channel of lines over one of them. Not protocol (messages.hpp) and not measuring (tcp_baseline.hpp).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "host/descriptor.hpp"

namespace angio::mesh {

using SteadyTime = std::chrono::steady_clock::time_point;

struct Listener {
  host::Descriptor socket;
  std::uint16_t port = 0;
};
// On one address and a port that the kernel chooses.
Result<Listener> listen_on(const std::string& address);

// own: the address to connect from; empty: as the routes say.
Result<host::Descriptor> connect_to(const std::string& address, std::uint16_t port, const std::string& own,
                                    SteadyTime until);

// Whether the descriptor can be read (or written) before `until`; asks `stop` ten times a second.
enum class Waited : std::uint8_t { kReady, kLate, kStopped };
template <typename Stop>
Waited wait_ready(int fd, bool writes, SteadyTime until, const Stop& stop);
Waited wait_step(int fd, bool writes, SteadyTime until);  // at most 100 ms; kLate: not yet

template <typename Stop>
Waited wait_ready(int fd, bool writes, SteadyTime until, const Stop& stop) {
  for (;;) {
    if (stop()) return Waited::kStopped;
    if (wait_step(fd, writes, until) == Waited::kReady) return Waited::kReady;
    if (std::chrono::steady_clock::now() >= until) return Waited::kLate;
  }
}

// Ends a connection to a host that lost its power within about half a minute.
void keep_alive(int socket);
std::string own_address_of(int socket);
std::string peer_address_of(int socket);
// The address from which packets to that one leave; nothing is sent. Empty: no route.
std::string source_address_for(const std::string& address);
// Of a name, by the name service; empty: unknown. Numeric addresses answer themselves.
std::string resolve(const std::string& name);
// Of an interface of this host ("eth0") or an address itself; empty: neither.
std::string address_of_interface(const std::string& name);
std::string join_address(const std::string& address, std::uint16_t port);  // "10.0.0.1:99", "[::1]:99"

// Lines in both directions over a socket that does not block.
class LineChannel {
 public:
  LineChannel() = default;
  // longest: a longer line closes it.
  LineChannel(host::Descriptor socket, std::size_t longest);
  void allow(std::size_t longest) { longest_ = longest; }
  [[nodiscard]] int get() const { return socket_.get(); }
  [[nodiscard]] bool is_open() const { return socket_.get() >= 0; }
  void close();
  // Whole lines that came, as many as the longest one holds; the rest the next time. Closes itself at the
  // end, at an error and at a line that is too long.
  std::vector<std::string> read_lines();
  // Queues and sends what goes without waiting.
  void send(std::string_view text);
  void flush();
  [[nodiscard]] bool has_more_to_send() const { return !out_.empty(); }
  [[nodiscard]] const std::string& trouble() const { return trouble_; }  // why it closed

 private:
  host::Descriptor socket_;
  std::size_t longest_ = 0;
  std::string in_;
  std::string out_;
  std::string trouble_;
};

}  // namespace angio::mesh
