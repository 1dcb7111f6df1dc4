// What one run of nvbandwidth printed, text or JSON: the GPUs, and each test's matrix. Values as printed:
// GB/s of 10^9 bytes, or ns. Not a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace angio::model {

struct NvbandwidthTest {
  std::string name;         // "host_to_device_memcpy_ce"
  std::string description;  // "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
  bool latency = false;     // in ns
  std::vector<std::vector<std::optional<double>>> matrix;  // none: "N/A"
  std::optional<double> sum;
  std::string status;  // "Passed", "Waived", "Error"; empty: not said
  std::string error;   // printable
  std::uint32_t line = 0;
};

struct NvbandwidthRun {
  std::string version;            // "v0.8"
  std::string driver;             // "550.54.15"
  std::string cuda;               // "12040", of the runtime
  std::vector<std::string> gpus;  // "NVIDIA H100 80GB HBM3", in the order of their numbers
  std::vector<NvbandwidthTest> tests;
  std::string error;  // of the whole run
  bool json = false;
  std::uint32_t waived = 0;  // lines that name no test
  std::uint32_t line = 0;
};

}  // namespace angio::model
