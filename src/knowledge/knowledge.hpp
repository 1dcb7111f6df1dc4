// What is known of links, GPUs, versions and rules, with its sources: lookups over the tables that
// tools/generate_knowledge.py makes from data/. No judgement here: rules and cost models ask, and decide.
// A question without an answer gives none (or NaN for a threshold), never a default.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "base/units.hpp"
#include "model/finding.hpp"
#include "model/pci.hpp"

namespace angio::knowledge {

// The words of a rule: data/rules/*.toml. {name} in texts is filled by the engine.
struct FixText {
  std::string_view text;
  std::string_view command;
  std::string_view risk;
  std::string_view when;  // empty: always; else only if the draft has this word
  bool needs_root = false;
  bool needs_reboot = false;
};

struct RuleText {
  std::string_view id;
  std::string_view summary;  // one line, for the list
  std::string_view explain;  // what it looks at, why it matters, when it stays silent
  model::Severity severity;
  model::Confidence confidence;
  model::Layer layer;
  std::string_view disprove;
  std::span<const std::string_view> sources;
  std::span<const FixText> fixes;
};

std::span<const RuleText> rules();  // by id
const RuleText* find_rule(std::string_view id);

struct Formula {
  std::string_view id;
  std::string_view text;
  std::string_view source;
};
std::span<const Formula> formulas();
const Formula* find_formula(std::string_view id);

struct Threshold {
  std::string_view id;
  double value;
  std::string_view unit;
  std::string_view meaning;
  bool documented;  // else a heuristic of ours
  std::string_view source;
};
std::span<const Threshold> thresholds();
const Threshold* find_threshold(std::string_view id);
// NaN when there is none, so that no comparison holds. tools/check_data.py proves each id used exists.
double threshold(std::string_view id);

struct PcieGeneration {
  std::uint32_t generation;
  double transfers_per_second;  // per lane
  double efficiency;            // payload bits per transferred bit, line encoding only
  std::string_view encoding;
  std::string_view source;
};
std::span<const PcieGeneration> pcie_generations();
std::optional<std::uint32_t> pcie_generation(TransfersPerSecond speed);
std::optional<TransfersPerSecond> pcie_speed(std::uint32_t generation);
// One direction, after line encoding, before packet headers. None for a speed outside the table.
std::optional<BytesPerSecond> pcie_rate(const model::PciLink& link);

struct NvLinkVersion {
  std::uint32_t version;
  double bytes_per_second;  // one link, one direction
  std::string_view source;
};
std::optional<BytesPerSecond> nvlink_rate(std::uint32_t version);

// InfiniBand speed names as sysfs prints them: "SDR" … "XDR".
struct LaneSpeed {
  std::string_view name;
  double bits_per_second;  // one lane, nominal
  std::string_view source;
};
std::optional<BitsPerSecond> lane_rate(std::string_view name);

struct GpuModel {
  std::string_view match;         // part of NVML's name; the longest match wins
  std::uint32_t nvlinks;          // as built; 0: none
  bool nvlink_optional;           // by bridge: inactive links are no fault
  bool nvswitch;                  // sits on an NVSwitch board: needs the fabric manager
  bool c2c;                       // NVLink-C2C to the CPU; SYS in the matrix is healthy
  std::uint32_t pcie_generation;  // as built; 0: not stated
  std::uint32_t pcie_width;       // as built; 0: not stated
  bool data_centre;
  std::string_view source;
};
std::span<const GpuModel> gpu_models();
const GpuModel* find_gpu(std::string_view nvml_name);

struct CudaFamily {
  std::uint32_t major;
  std::uint32_t minimum_driver;  // branch: 525
  std::string_view source;
};
const CudaFamily* find_cuda(std::uint32_t major);

// A fact about NCCL releases: true from `since` to `until`, both included; empty is open.
struct NcclFact {
  std::string_view id;
  std::string_view since;
  std::string_view until;
  std::string_view text;
  std::string_view source;
};
std::span<const NcclFact> nccl_facts();
const NcclFact* find_nccl_fact(std::string_view id);
bool holds(const NcclFact& fact, std::string_view version);

// "2.29.7" against "2.30": -1, 0, 1 by numbers; missing parts are 0. None when a part is no number.
std::optional<int> compare_versions(std::string_view a, std::string_view b);

}  // namespace angio::knowledge
