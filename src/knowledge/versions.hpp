// What is known of versions: CUDA toolkits and drivers, GPU generations, NCCL releases and their plugin
// interfaces, framework wheels, adapter firmware, and the rules between them; the cells of the scenario
// table. Tables of data/versions/*.toml and data/scenarios.toml. Lookups only: src/compat and src/plan judge.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace angio::knowledge {

struct CudaToolkit {
  std::string_view version;  // "12.3.1"
  std::string_view name;     // "12.3 Update 1"
  std::string_view driver;   // packaged with it: has all of its features; not the minimum
  std::string_view source;
};
std::span<const CudaToolkit> cuda_toolkits();
// The newest toolkit of the same major and minor whose release is not newer than `version`; null: not in the
// table.
const CudaToolkit* find_cuda_toolkit(std::string_view version);
// The CUDA (major.minor) that this driver offers; empty: older or newer than the table, or the table has a
// gap there (no toolkit came with branch 565).
std::string newest_cuda_of(std::string_view driver);
// What it offers at least: also in a gap and above the table.
std::string least_cuda_of(std::string_view driver);

// The lowest driver of a family to the last figure.
struct CudaFloor {
  std::uint32_t major;
  std::string_view driver;
  std::string_view source;
};
const CudaFloor* find_cuda_floor(std::uint32_t major);

// cuda-compat-<package>: newer user libraries on an older kernel driver.
struct ForwardCompat {
  std::string_view package;                 // "12.8"
  std::uint32_t own;                        // branch it is made of: not needed there, refused above
  std::span<const std::uint32_t> branches;  // listed as compatible
  std::string_view source;
};
std::span<const ForwardCompat> forward_compat();
const ForwardCompat* find_forward_compat(std::string_view package);

struct DriverBranch {
  std::uint32_t branch;
  std::string_view kind;         // "long-term support", "production", "new feature"
  std::string_view end_of_life;  // "2028-06"
  std::string_view source;
};
const DriverBranch* find_driver_branch(std::uint32_t branch);

struct GpuArchitecture {
  std::string_view capability;  // "9.0"
  std::string_view name;        // "Hopper"
  std::string_view first_toolkit;
  std::string_view last_toolkit;  // major; empty: still supported
  std::uint32_t last_driver;      // branch; 0: still supported
  std::string_view first_nccl;    // empty: no source
  double nvlink_model;            // GB/s of one link in one direction in NCCL's own model; 0: none
  std::uint32_t nvlink_version;   // 4 is NVLink 4; 0: no GPU of it has any
  std::string_view source;
};
const GpuArchitecture* find_architecture(std::string_view capability);
// "NVIDIA H100 80GB HBM3" → "9.0"; empty: not in the table.
std::string_view capability_of(std::string_view gpu_name);

struct GpuCapability {
  std::string_view match;
  std::string_view capability;
  std::string_view source;
};

struct NcclRelease {
  std::string_view version;
  std::string_view date;
  std::string_view source;
};
std::span<const NcclRelease> nccl_releases();  // oldest first
const NcclRelease* find_nccl_release(std::string_view version);

// Builds that were seen; the table is evidence and not complete.
struct NcclBuild {
  std::string_view nccl;
  std::span<const std::string_view> cuda;  // "12.4"; "12": of that major
  std::string_view evidence;
  std::string_view source;
};
std::span<const NcclBuild> nccl_builds();

struct FrameworkBuild {
  std::string_view framework;  // "pytorch"
  std::string_view version;
  std::string_view cuda;
  std::string_view nccl;
  std::string_view evidence;
  std::string_view source;
};
std::span<const FrameworkBuild> framework_builds();

struct AdapterFamily {
  std::string_view name;             // "ConnectX-7"
  std::string_view firmware_family;  // first part of its firmware versions: "28"
  std::string_view source;
};
const AdapterFamily* find_adapter_of(std::string_view firmware);

struct DocaFirmware {
  std::string_view adapter;
  std::string_view firmware;
};
struct DocaRelease {
  std::string_view release;
  std::span<const DocaFirmware> firmware;
  std::string_view source;
};
std::span<const DocaRelease> doca_releases();

struct PluginApi {
  std::string_view kind;  // "net", "tuner", "profiler"
  std::string_view since;
  std::uint32_t newest;
  std::uint32_t oldest;
  std::string_view source;
};
// What this NCCL asks of a plugin; null: none, or the release is older than the table.
const PluginApi* find_plugin_api(std::string_view kind, std::string_view nccl);

struct VersionCondition {
  std::string_view part;
  std::string_view since;
  std::string_view until;
  std::string_view is;
};
struct VersionRule {
  std::string_view id;
  std::string_view title;
  std::string_view about;  // parts, separated by blanks
  std::span<const VersionCondition> when;
  std::span<const VersionCondition> needs;
  std::span<const VersionCondition> unless;
  std::string_view text;
  std::string_view fix;
  std::string_view date;
  std::string_view source;
};
std::span<const VersionRule> version_requirements();
std::span<const VersionRule> known_bad_versions();
std::span<const VersionRule> version_remarks();
std::span<const VersionRule> nccl_features();

// since ≤ version ≤ until, where until covers what it begins: "2.10" covers "2.10.3". Empty is open. A short
// version is compared as far as it goes: "2.16" is within since "2.16.2".
// None: version is no version, or a major version alone where a later number decides.
std::optional<bool> version_within(std::string_view version, std::string_view since, std::string_view until);
// By as many numbers as both have: "535" and "535.54.03" are equal.
int compare_as_given(std::string_view left, std::string_view right);
// The numbers a text begins with: "5.15.0-91-generic" → "5.15.0"; four parts at most.
std::string_view leading_version(std::string_view text);

struct Scenario {
  std::string_view id;
  std::string_view title;
  std::uint32_t order;
  std::string_view assumes;
  std::string_view source;
};
struct ScenarioCell {
  std::string_view scenario;
  std::string_view topic;
  std::uint32_t order;
  std::string_view said;     // the popular advice, in few words
  std::string_view verdict;  // on it: "true", "partly", "false"
  std::string_view text;
  std::string_view reason;
  std::string_view since;  // NCCL releases it is for
  std::string_view until;
  std::string_view status;  // "measured", "documented", "heuristic"
  std::string_view source;
};
struct AdviceText {
  std::string_view id;
  std::string_view topic;
  std::uint32_t order;
  std::string_view when;  // words of the job, all must hold; "!word": must not
  std::string_view text;
  std::string_view reason;
  std::string_view since;
  std::string_view until;
  std::string_view status;
  std::string_view source;
};
struct LibraryChoice {
  std::string_view id;
  std::string_view criterion;
  std::uint32_t order;
  std::string_view nccl;
  std::string_view mpi;
  std::string_view ucx;
  std::string_view source;
};
std::span<const Scenario> scenarios();
std::span<const ScenarioCell> scenario_cells();
std::span<const AdviceText> advice_texts();
std::span<const LibraryChoice> library_choices();

}  // namespace angio::knowledge
