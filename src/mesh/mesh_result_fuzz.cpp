#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "mesh/analysis.hpp"
#include "mesh/messages.hpp"
#include "mesh/result_json.hpp"

// Hosts of measures exist, an order that is accepted names a device that is one, and the judge survives both.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  auto result = angio::mesh::parse_mesh_result(bytes, "f.json");
  if (result) {
    for (const auto& measure : result->measures) {
      if (measure.from >= result->hosts.size() || measure.to >= result->hosts.size()) std::abort();
    }
    (void)angio::mesh::analyse(*result);
  }
  const auto message = angio::mesh::parse_message(bytes);
  if (!message) return 0;
  const auto* order = std::get_if<angio::mesh::Order>(&*message);
  if (order != nullptr && !angio::mesh::program_of(order->tool).empty() &&
      !angio::mesh::is_device_name(order->device))
    std::abort();
  return 0;
}
