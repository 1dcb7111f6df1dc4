// From a job in coarse words (GPUs, nodes, model, parallelism, network) to its messages and to advice: what
// it sends, whether latency or bandwidth rules, what to bind and what to leave alone. Facts and figures are
// those of data/scenarios.toml and data/links.toml; what was not given is said to be missing, never assumed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/versions.hpp"
#include "model/machine.hpp"

namespace angio::plan {

enum class Sharding : std::uint8_t { kDdp, kFsdp };
enum class IntraLink : std::uint8_t { kUnknown, kPcie, kNvlink, kNvswitch };
enum class Network : std::uint8_t { kUnknown, kNone, kInfiniBand, kRoce, kEthernet, kEfa };

struct JobShape {
  std::uint32_t gpus = 0;           // of the whole job; 0: not given
  std::uint32_t gpus_per_node = 0;  // 0: not given
  std::uint32_t tensor = 1;
  std::uint32_t pipeline = 1;
  std::uint32_t expert = 1;
  std::optional<double> parameters;
  std::uint32_t bytes_per_value = 2;  // bf16
  std::optional<std::uint32_t> layers, hidden, sequence;
  std::uint32_t micro_batch = 1;  // sequences a forward pass
  std::uint32_t top_k = 2;        // experts a token goes to
  std::optional<std::uint64_t> bucket;
  Sharding sharding = Sharding::kDdp;
  bool inference = false;
  std::optional<std::uint64_t> message;  // a single AllReduce of this size instead of a model
  IntraLink link = IntraLink::kUnknown;
  Network network = Network::kUnknown;
  std::string gpu;                        // model name, for its NVLinks
  std::optional<double> adapter_gbits;    // of one adapter
  std::optional<std::uint32_t> adapters;  // of one node
  std::string nccl;                       // empty: not given
  bool virtual_machine = false;
  std::vector<std::string> seen;  // what a snapshot told, in words
};

// Fills what is not given from the hardware of one node.
void describe_hardware(const model::Machine& machine, JobShape& job);

enum class Regime : std::uint8_t { kUnknown, kLatency, kBoth, kBandwidth };

// One kind of message of one step.
struct Traffic {
  std::string what{};        // "gradients, data parallel"
  std::string collective{};  // "AllReduce"
  std::optional<std::uint64_t> bytes{};
  std::optional<std::uint64_t> calls{};  // a step, or a token in inference
  std::uint32_t group = 0;
  bool across_nodes = false;
  Regime regime = Regime::kUnknown;
  std::optional<double> latency_us{};   // fixed cost in NCCL's model, the better of Ring and Tree in LL
  std::optional<double> transfer_us{};  // bytes at the bandwidth of the narrowest link
  std::string arithmetic{};             // how bytes came about
  std::string grounds{};                // of the regime, or what is missing for it
  std::string source{};
};

struct AdviceLine {
  const knowledge::AdviceText* text = nullptr;
  bool version_open = false;  // it depends on the NCCL release, which is not known
};

struct Advice {
  std::vector<std::string> words;  // of the job, as `when` in the data names them
  std::vector<Traffic> traffic;
  std::vector<AdviceLine> lines;  // by order
  std::vector<std::string> missing;
};

// By NVML's name or a part of it ("H100", "RTX 4090"). Errors name the models that fit when their links
// differ.
Result<const knowledge::GpuModel*> gpu_named(std::string_view name);

// Errors: numbers that do not divide.
Result<Advice> advise(const JobShape& job);

// "7B", "70e9", "1.5T" → number of parameters.
std::optional<double> parse_parameters(std::string_view text);
std::string_view in_words(Regime regime);

// What the job sends; used by advise().
std::vector<Traffic> traffic_of(const JobShape& job);

}  // namespace angio::plan
