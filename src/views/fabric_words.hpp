// Words for nodes, ports and rates of a fabric, the same in every view of it. Not the model's describe(),
// which keeps a switch's whole description: pictures and tables have no room for "MF0;leaf-3:MQM9700/U1".
// Internal to fabric_*.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"
#include "model/fabric.hpp"
#include "model/fabric_report.hpp"
#include "model/finding.hpp"
#include "report/document.hpp"

namespace angio::views {

// As the link runs, and the most that the port can and is allowed to; one direction. None: the source does
// not say.
std::optional<BitsPerSecond> rate_of(const model::FabricPort& port);
std::optional<BitsPerSecond> most_rate_of(const model::FabricPort& port);
// "4x HDR (200 Gb/s)", "400 Gb/s"; "" when nothing is known.
std::string rate_words(const model::FabricPort& port);

// "leaf-3" of "MF0;leaf-3:MQM9700/U1", "director/L01" of one chip of a director; the GUID without a
// description. Printable.
std::string short_name(const model::FabricNode& node);
// "leaf-3 port 12", "gpu-a mlx5_0 port 1". Printable.
std::string short_port(const model::Fabric& fabric, model::PortRef ref);
// What is left of "gpu-a mlx5_0" beside the host's name: "mlx5_0".
std::string adapter_name(const model::FabricNode& node, std::string_view host);

// The same inside a sentence: "MF0;leaf-3:MQM9700/U1 port 12 counts errors" is "leaf-3 port 12 counts
// errors".
std::string with_short_names(std::string_view text);
model::Finding with_short_names(model::Finding finding);

// "leaf-2" before "leaf-10".
bool natural_less(std::string_view a, std::string_view b);

// "a b c and 29 more". Printable.
std::string some_names(const std::vector<std::string>& names, std::size_t most = 4);

// "1 switch", "20 switches".
std::string count_switches(std::size_t count);

report::Tone tone_of(model::Severity severity);

}  // namespace angio::views
