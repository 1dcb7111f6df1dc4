// Foreign texts of fabrics to a Fabric: what fabric tools print and people keep. This is the door that
// recognises the kind. A text that only adds (counters, link states) is laid over the topology it is given
// with. Damaged input gives what was readable plus notes, never a crash; nothing is quadratic in its size.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.hpp"
#include "model/fabric.hpp"

namespace angio::import {

enum class FabricText : std::uint8_t {
  kUnknown,
  kAngioFabric,    // what `angio fabric scan --format json` wrote: "schema": "angio.fabric/1"
  kIbnetdiscover,  // also ibsim's net files
  kIblinkinfo,     // the default form and --line (-l)
  kIbqueryerrors,  // counters above thresholds; with --report-port, --details
  kIbdiagnet,      // ibdiagnet2.db_csv, .lst, .pm
  kPerfquery,      // one port's counters
  kLldpctl,        // lldpctl -f json, of one host or several
};
std::string_view name_of(FabricText kind);
FabricText recognise_fabric(std::string_view bytes);

Result<model::Fabric> import_fabric(std::string_view bytes, const std::string& name);
// Counters and states of another text over a fabric that is there: nodes by GUID, then by name and LID. What
// fits nowhere is counted in a note.
Result<void> add_to_fabric(model::Fabric& fabric, std::string_view bytes, const std::string& name);

}  // namespace angio::import
