// A context of gloo over some of the ranks, connected each to each. gloo's own stores are files, redis or
// memory; the addresses go through the meeting instead. Exceptions of gloo end here.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.hpp"
#include "collective/meeting.hpp"
#include "gloo_headers.hpp"

namespace angio::gloo_backend {

using Device = std::shared_ptr<gloo::transport::Device>;

// interface or address; one of them is empty.
Result<Device> open_device(const std::string& interface, const std::string& address);

struct Mesh {
  std::shared_ptr<gloo::Context> context;  // none: this rank is no member
  std::vector<std::uint32_t> ranks;        // of the job, by place in the group
  std::vector<std::string> addresses;      // of the peers' ends, as gloo words them
};

// Collective over all ranks of the meeting, members or not.
Result<Mesh> connect_mesh(collective::Meeting& meeting, Device device, std::span<const std::uint32_t> ranks,
                          std::chrono::milliseconds timeout);

// What gloo said, without its source lines, and with the rank of the peer that it names by address.
std::string in_words(const std::string& what, const Mesh& mesh);

}  // namespace angio::gloo_backend
