// A whole machine from one line, for tests, documents and simulation. Not a parser of anything real.
//
//   topology("2 numa { 4 gpu nvlink:full pcie:5x16; 4 hca ndr }")
//
//   machine  = item { ";" item } [ ";" ]
//   item     = [ count ] kind { option } [ "{" machine "}" ]
//   kind     = node | package | numa | bridge | switch | gpu | hca | nvme
//              node: the machine itself, at most one; numa without package: a package each; bridge: a PCIe
//              host bridge; a switch outside a bridge gets its own; devices directly in numa share one
//   option   = gpu:  nvlink:full[:links] (through NVSwitch, 18) | nvlink:mesh:links (to every other GPU)
//                    | nvlink:pairs:links (0-1, 2-3, …) | c2c | name:WORD
//              hca:  edr | hdr | ndr | xdr | roce
//              gpu, hca, nvme, switch: pcie:GENERATIONxLANES[/LANES], the second number is what it runs at
//              numa: cores:N mem:SIZE (512GiB)
#pragma once

#include <string_view>

#include "base/error.hpp"
#include "model/machine.hpp"

namespace angio::model {

// Errors name the column: `topology: column 12: "gpus" is no kind; did you mean "gpu"?`
Result<Machine> topology(std::string_view description);

}  // namespace angio::model
