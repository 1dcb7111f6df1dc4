// A .snap file: what a Root answered, as plain text. Capture is recording, so a snapshot holds what the
// probes asked, failures included, and nothing else. Written here, read here, one file per node.
//
//   angio snapshot 1
//   tool angio 0.1.0
//   host gpu-a
//   captured 2026-11-29T12:00:00Z
//   scope recorded                              or "complete": what is not mentioned is not there
//   scrubbed                                    only when it is
//   = /sys/devices/system/node/online 0-1       one line of content
//   - /@nvml/driver_version 570.86.15           one line without a newline at its end
//   + /proc/meminfo                             lines of content follow, each behind "|"
//   |MemTotal:       16384 kB
//   ~no newline at the end of the last one      instead of "|"
//   0 /proc/77/cmdline                          as "+", but each line ends in NUL instead of a newline
//   > /sys/class/net/eth0/device ../../../0000:00:05.0
//   : /sys/devices/system/node node0 node1 online   names in a directory
//   ! /sys/bus/pci/devices/0000:00:05.0/config EACCES
//   ! /@nvml/init EIO Driver/library version mismatch    a library's own words behind the error
//   ! /proc/9/fd list EACCES                    "list", "link" and "exists" name the question if not content
//   ? /dev/nvidia0                              it exists
//   % /sys/bus/pci/devices/0000:00:05.0/config 8680...   bytes in hexadecimal
//   # comment
//   end 11                                      number of records; its absence means a file cut off
//
// In paths, names and links blanks, backslashes and control characters are written \xNN.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

struct Snapshot {
  std::string tool;
  std::string host;
  std::string captured;  // RFC 3339, UTC
  bool scrubbed = false;
  host::Scope scope = host::Scope::kRecorded;
  host::Recording recording;       // job artefacts live under "/@job/<name>"
  std::vector<model::Note> notes;  // what the reader had to skip
};

std::string render_snapshot(const Snapshot& snapshot);

// Reads what is readable. Fails only when bytes are no snapshot at all or of a newer version.
Result<Snapshot> parse_snapshot(std::string_view bytes, const std::string& name);

// Probes the recorded machine. name is the file's, for messages and for a machine without a host name.
model::Machine machine_of(Snapshot snapshot, const std::string& name);

// Number of answers in a recording, failures included.
std::size_t count_answers(const host::Recording& recording);

}  // namespace angio::probe
