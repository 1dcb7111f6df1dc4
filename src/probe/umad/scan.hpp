// One pass over an InfiniBand subnet through libibumad (dlopen): every node, port, link and counter, with
// many MADs in flight. Reads only: SMP Get by directed route and PMA Get; never a Set. Needs
// /dev/infiniband/umadN, usually root or the group that owns it: a refusal says so and how to go on without
// it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/libraries.hpp"
#include "model/fabric.hpp"

namespace angio::probe {

struct ScanPort {
  std::string device;  // "mlx5_0"
  std::uint32_t port = 1;
};

struct ScanOptions {
  std::uint32_t in_flight = 64;             // MADs that wait for an answer at once
  std::chrono::milliseconds patience{200};  // for one MAD before it is sent again
  std::uint32_t tries = 3;
  std::chrono::seconds limit{600};  // for the whole scan; what is there then is the result, with a note
  bool counters = true;
  std::uint32_t most_nodes = 100000;  // a fabric that loops or lies ends here, with a note
  std::function<void(std::uint32_t nodes, std::uint32_t waiting)> progress = {};
  std::function<bool()> stop = {};  // Ctrl-C: what is there is the result, with a note
};

struct ScanWork {  // what the scan cost
  std::uint64_t sent = 0, answered = 0, resent = 0, given_up = 0;
  double seconds = 0;
};

struct Scan {
  model::Fabric fabric;
  ScanWork work;
};

// Active InfiniBand ports of this host that a scan can start from, as libibumad lists them.
Result<std::vector<ScanPort>> list_scan_ports(const host::LibraryLoader& loader);

// An error only where nothing is known: no library, no such port, a refusal, a port that says nothing about
// itself. All else is in the Fabric: `trouble` of ports and nodes, and notes by kind, with a count and the
// first example: scan.no-answer (a link is up, nobody answers behind it), scan.silent-node,
// scan.counters-unanswered, scan.counters-unreachable, scan.guid-duplicate, scan.guid-zero,
// scan.port-guid-duplicate, scan.lid-duplicate, scan.lid-range, scan.two-peers, scan.loop-plug,
// scan.port-number, scan.node-info, scan.hops, scan.limit, scan.time-limit, scan.stopped, scan.misfit,
// scan.stray-answer, scan.short-answer, scan.send, scan.receive. Counters are reached with service level 0.
Result<Scan> scan_fabric(const host::LibraryLoader& loader, const ScanPort& from, const ScanOptions& options);

}  // namespace angio::probe
