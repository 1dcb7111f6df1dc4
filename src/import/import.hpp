// Foreign files to a Machine: what people paste into tickets. One folder per format below; this is the
// door that recognises the kind. Damaged input gives what was readable plus notes, never a crash.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/machine.hpp"

namespace angio::import {

enum class ForeignKind {
  kUnknown,
  kNvidiaSmiTopo,   // topo -m, old SOC form and NIC legend included
  kNvidiaSmiP2p,    // topo -p2p r|w|n|a|p
  kNvidiaSmiQuery,  // -q
  kLscpu,
  kNumactl,       // --hardware
  kNcclTopology,  // <system version="1">
  kNcclGraph,     // <graphs version="1">: recognised, has no machine in it
  kHwlocXml,
  kLspci,   // -vvv, -nn
  kJobLog,  // of a job or of the kernel, with lines about memory that could not be had
};

std::string_view name_of(ForeignKind kind);  // "nvidia-smi topo -m"
ForeignKind recognise(std::string_view bytes);

// name is the file's name, for messages and the machine's name. Fails when the kind is unknown (the
// error lists what is known) or nothing at all could be read.
Result<model::Machine> import_machine(std::string_view bytes, const std::string& name);

}  // namespace angio::import
