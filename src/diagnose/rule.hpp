// The contract of a rule. Its words (summary, severity, fixes, sources …) are data in
// data/rules/<topic>.toml; its check is a function in rules/<topic>.cpp. The engine joins the two.
//
//   void narrow_link(const model::Machine& machine, Outcome& outcome) {
//     for (gpu …) {
//       if (link is unreadable) outcome.undecided("current link width of GPU 5: permission denied", "sudo
//       angio collect"); else if (narrow) outcome.fire({.title = …, .devices = …, .evidence = …, .cost = …});
//     }
//   }
//
// A check that says nothing has held. It reads only the model and knowledge, never the host.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/finding.hpp"
#include "model/machine.hpp"

namespace angio::diagnose {

// What the check knows and the data cannot: which device, which values, what it costs.
struct Draft {
  std::string title;
  std::vector<std::string> devices = {};
  std::vector<model::Evidence> evidence = {};
  model::Cost cost = {};
  double rank = 0;                                // share of bandwidth or hardware lost, 0..1
  std::map<std::string, std::string> words = {};  // fills {name} in the data's fix and disprove texts
  std::optional<model::Severity> severity = {};   // only where the case decides it
};

// Who is asked for a value. Where NVML does not run, collecting again brings nothing: the engine then
// points at NVML's trouble instead.
enum class Asked : std::uint8_t { kMachine, kNvml };

class Outcome {
 public:
  struct Gap {
    std::string missing;
    std::string collect;
    Asked asked = Asked::kMachine;
  };

  void fire(Draft draft) { drafts.push_back(std::move(draft)); }
  void undecided(std::string missing, std::string collect, Asked asked = Asked::kMachine) {
    gaps.push_back({std::move(missing), std::move(collect), asked});
  }
  // The machine has no such hardware or software: the rule did not look.
  void not_applicable() { applicable = false; }

  std::vector<Draft> drafts;
  std::vector<Gap> gaps;
  bool applicable = true;
};

struct Rule {
  const char* id;  // "pcie.link.width-reduced", a key of data/rules
  void (*check)(const model::Machine& machine, Outcome& outcome);
};

// One per rules/<topic>.cpp.
std::span<const Rule> numa_rules();
std::span<const Rule> pcie_rules();
std::span<const Rule> gpu_rules();
std::span<const Rule> system_rules();   // kernel, limits, VM, container, time
std::span<const Rule> version_rules();  // drivers and libraries
std::span<const Rule> rdma_rules();
std::span<const Rule> process_rules();  // bindings and settings of running jobs
std::span<const Rule> memory_rules();   // memory that could not be had, from logs
std::span<const Rule> nccl_rules();     // what the logs of a job say of NCCL
std::span<const Rule> cluster_rules();  // nodes against nodes: peers.hpp asks them

// All of them, by id.
std::span<const Rule> all_rules();

}  // namespace angio::diagnose
