// The sockets of a meeting over TCP: listening, connecting, and frames of a kind and a text over a
// connection. Not who waits for whom (meeting_tcp.cpp). Pure but for the sockets.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "host/descriptor.hpp"

namespace angio::collective {

using SteadyTime = std::chrono::steady_clock::time_point;

enum class FrameKind : char {
  kHello = 'H',  // the first: who comes
  kData = 'D',   // of an exchange
  kAlive = 'P',  // what the rank works on
  kLost = 'L',   // a rank has gone; words
};
struct Frame {
  FrameKind kind = FrameKind::kData;
  std::string text;
};

inline constexpr std::size_t kLongestFrame = std::size_t{256}
                                             << 20U;  // bytes; the reports of thousands of ranks
inline constexpr std::size_t kLongestHello = 256;     // bytes, of somebody not known yet

std::string write_frame(FrameKind kind, std::string_view text);
// Takes whole frames from the front of `bytes`. False: this is no frame of ours, or one longer than that.
bool take_frames(std::string& bytes, std::size_t longest, std::vector<Frame>& frames);

// Texts of all ranks in one, and back. None: damaged.
std::string pack(const std::vector<std::string>& texts);
std::optional<std::vector<std::string>> unpack(std::string_view bytes);

// On the address if it is one of this host's, else on all.
Result<host::Descriptor> listen_at(const std::string& address, std::uint16_t port);
// Tries again until somebody listens there.
Result<host::Descriptor> connect_at(const std::string& address, std::uint16_t port, SteadyTime until);
// Sends all, waiting for room until then. False: the connection broke, or nobody reads.
bool send_all(int socket, std::string_view bytes, SteadyTime until);
// Adds what is there without waiting. False: the connection ended.
bool receive_some(int socket, std::string& bytes);
// Whether the socket can be read (or written) within this time.
bool wait_for(int socket, bool writes, std::chrono::milliseconds time);

}  // namespace angio::collective
