// The GPUs of the phantom node as NVML counts them: all of them, for CUDA_VISIBLE_DEVICES does not bind NVML.
// A handle is the address of the GPU's record.
#pragma once

#include <string>
#include <string_view>

#include "nvml/abi.hpp"
#include "phantom/hardware.hpp"

namespace angio::phantom::nvml {

struct Node {
  Hardware hardware;
  std::string host;     // NCCL_HOSTID
  std::string problem;  // why there is no hardware
};
// Read at the first call and never destroyed.
const Node& node();

// nullptr unless the handle is one of ours.
const Gpu* find_gpu(const void* handle);

struct Address {
  unsigned domain = 0;
  unsigned bus = 0;
  unsigned device = 0;
  unsigned function = 0;
  bool operator==(const Address&) const = default;
};
// "0000:1b:00.0", "00000000:1B:00.0", "1b:00.0"; false for anything else.
bool parse_address(std::string_view text, Address& address);

// Copies text and its end; kInsufficientSize when it does not fit.
Return copy_text(std::string_view text, char* to, unsigned size);

}  // namespace angio::phantom::nvml
