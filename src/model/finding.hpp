// What the doctor says: a Finding with evidence, cost, cure and the way to disprove it; or Undecided,
// with what to collect. Values only; rules make them, views print them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace angio::model {

enum class Severity : std::uint8_t { kInfo, kWarning, kCritical };
enum class Confidence : std::uint8_t { kMeasured, kDocumented, kHeuristic };
enum class Layer : std::uint8_t {
  kApplication,
  kFramework,
  kNccl,
  kLibrary,
  kDriver,
  kFirmware,
  kHardware,
  kSystem
};

struct Evidence {
  std::string text;    // "current 16 GT/s x8, maximum 32 GT/s x16"
  std::string source;  // "/sys/bus/pci/devices/0000:b7:00.0/current_link_width"
};

// What it costs. A figure only when arithmetic from data/ gives one.
struct Cost {
  std::string text;     // "31.5 of 63 GB/s between host and GPU 5"; empty: unknown
  std::string formula;  // id in data/formulas; empty with text: stated by a document
  bool known() const { return !text.empty(); }
};

struct Fix {
  std::string text;     // what to do
  std::string command;  // printed, never run; may be empty
  std::string risk;     // "drops all RDMA traffic of the host"
  bool needs_root = false;
  bool needs_reboot = false;
};

struct Finding {
  std::string rule;  // "pcie.link.width-reduced"
  Severity severity = Severity::kWarning;
  Confidence confidence = Confidence::kDocumented;
  Layer layer = Layer::kHardware;
  std::string node;                  // machine name
  std::string title;                 // one line, names the device
  std::vector<std::string> devices;  // "GPU 5", "mlx5_3", "0000:b7:00.0"
  std::vector<Evidence> evidence;
  Cost cost;
  std::vector<Fix> fixes;
  std::string disprove;              // what to run or read to prove this finding wrong
  std::vector<std::string> sources;  // "NCCL user guide 2.30, GPU Direct"
  double rank = 0;                   // within a severity: share of bandwidth lost, 0..1
};

// A rule that could not conclude: nothing is claimed.
struct Undecided {
  std::string rule;
  std::string node;
  std::string missing;  // "ACS state of 12 bridges: permission denied"
  std::string collect;  // "sudo angio collect"
};

struct Diagnosis {
  std::vector<Finding> findings;  // ranked
  std::vector<Undecided> undecided;
  std::vector<std::string> held;            // rules that looked and found nothing
  std::vector<std::string> not_applicable;  // rules whose subject the machine lacks
};

}  // namespace angio::model
