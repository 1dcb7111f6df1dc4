// One node as Angio knows it, whatever the source: live, .snap, hwloc XML, nvidia-smi text.
// Everything above probes and importers reads only this.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/cpu.hpp"
#include "model/gpu.hpp"
#include "model/job.hpp"
#include "model/network.hpp"
#include "model/observed.hpp"
#include "model/path.hpp"
#include "model/pci.hpp"
#include "model/software.hpp"

namespace angio::model {

struct RdmaHost;  // rdma_host.hpp

// A remark about the source itself: what could not be read, what was repaired.
struct Note {
  std::string id;    // "snap.truncated", "numa.overlapping-maps"
  std::string text;  // first example, with the line
  std::uint32_t count = 1;
  std::string remedy;
};

struct Machine {
  std::string name;    // host name, or the file's name
  std::string origin;  // "live", "snapshot node-3.snap", "nvidia-smi topo -m topo.txt"
  bool live = false;
  bool imported = false;           // made of another tool's text: nothing in it was read from /sys or NVML
  bool scrubbed = false;           // names and serials are stand-ins, other ones in each snapshot
  Observed<std::string> captured;  // when, RFC 3339 UTC
  Places places;
  Cpus cpus;
  Numa numa;
  Pci pci;
  std::vector<Gpu> gpus;
  std::vector<RdmaDevice> rdma;
  std::vector<NetDevice> networks;
  std::shared_ptr<const RdmaHost> rdma_host = nullptr;  // null: nothing of it in the source
  Software software;
  std::vector<Process> processes;
  std::vector<JobLog> logs;                 // of the job that ran here, and of the kernel
  std::optional<StatedPaths> stated_paths;  // a topology matrix someone else computed
  std::vector<Note> notes;
};

// Where a value was seen, in words for evidence: "/sys/…/numa_node", "topo.txt:12", "nvmlDeviceGetName, GPU
// 0".
inline std::string cite(const Machine& machine, const Source& source) {
  return machine.places.text(source);
}

}  // namespace angio::model
