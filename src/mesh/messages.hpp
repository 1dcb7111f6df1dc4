// What the controller and the agents of a mesh say to each other: one JSON object a line. Only what a test
// needs, no command lines: an agent runs the tests it knows, with numbers and names that it has checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

// A longer line is no message of ours.
inline constexpr std::size_t kLongestLine = std::size_t{4} << 20U;

enum class Tool : std::uint8_t { kTcpBandwidth, kTcpLatency, kWriteBandwidth, kWriteLatency };
std::string_view program_of(Tool tool);  // "ib_write_bw"; empty for Angio's own

// One side of one test.
struct Order {
  std::uint64_t test = 0;
  Tool tool = Tool::kTcpBandwidth;
  bool listens = false;
  std::string own_address;     // to listen on, or to connect from
  std::string address;         // of the listening side, for the other
  std::uint16_t tcp_port = 0;  // the same
  std::string ticket;          // of this test, which the connecting side shows
  std::uint32_t seconds = 2;   // of measuring
  std::uint32_t limit = 20;    // s, then the test has failed
  std::uint32_t streams = 1;   // TCP
  std::uint64_t size = 0;      // bytes of a message
  std::string device;          // RDMA
  std::uint32_t device_port = 1;
  std::uint32_t queue_pairs = 1;
  std::optional<std::uint32_t> gid_index;
  std::optional<std::uint32_t> cuda;
};

// How one side ended.
struct Outcome {
  std::uint64_t test = 0;
  std::string trouble;                     // empty: it worked
  std::optional<double> bytes_per_second;  // as the receiving side counted
  std::optional<double> latency_us, latency_99_us;
  std::optional<double> cpu;  // CPU seconds a second
  std::string text;           // of perftest
};

struct Ready {
  std::uint64_t test = 0;
  std::uint16_t tcp_port = 0;
};

struct Challenge {  // controller, first
  std::string random;
};
struct Hello {  // agent
  std::string random;
  std::string proof;
  std::string name;  // given to it; else of the launcher; else the host's
  std::string host_name;
  std::optional<std::uint32_t> rank;
  std::string version;
  std::vector<std::string> programs;  // of perftest that it found
  model::MeshHost host;               // its NICs
};
struct Welcome {  // controller
  std::string proof;
};
struct Cancel {
  std::uint64_t test = 0;
};
struct Farewell {};

using Message = std::variant<Challenge, Hello, Welcome, Order, Ready, Outcome, Cancel, Farewell>;

std::string to_line(const Message& message);  // with its line feed
// Errors for what is none, or has a name or number that no test has.
Result<Message> parse_message(std::string_view line);

Json nic_json(const model::MeshNic& nic);
model::MeshNic parse_nic(const Json& value);

// A name of a device as the kernel gives them: letters, digits and _ . - only.
bool is_device_name(std::string_view name);

}  // namespace angio::mesh
