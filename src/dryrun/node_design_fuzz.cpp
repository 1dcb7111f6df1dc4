// Any topology, model and change: a design or an error with words. What is designed reads back: the file as
// the same tree, the hardware as the same text, and every rank has a GPU of its own.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "dryrun/node_design.hpp"
#include "dryrun/sizes.hpp"

namespace {

using namespace angio;

void hold(bool condition) {
  if (!condition) std::abort();
}

void check(const dryrun::NodeDesign& design) {
  phantom::Hardware read;
  const std::string text = phantom::write_hardware(design.hardware);
  hold(phantom::parse_hardware(text, read).empty());
  hold(phantom::write_hardware(read) == text);
  nccl::Remarks remarks;
  const auto file = nccl::read_topology_xml(design.topology, remarks);
  hold(file.roots.size() == 1 && nccl::write_topology_xml(file.roots[0]) == design.topology);
  hold(!design.devices.empty());
  hold(std::set(design.devices.begin(), design.devices.end()).size() == design.devices.size());
  for (const std::uint32_t device : design.devices)
    hold(device < design.hardware.gpus.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // The first line is the change of a node, the rest the file.
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t end = std::min(all.find('\n'), all.size());
  const std::string_view first = all.substr(0, end);
  if (const auto sizes = dryrun::parse_sizes(first); !sizes) hold(!sizes.error().message.empty());
  const auto change = dryrun::parse_node_change(first);
  nccl::Remarks remarks;
  const auto text = nccl::read_topology_xml(all.substr(end), remarks);
  for (const nccl::Element& root : text.roots)
    for (const std::string_view model : {"", "h100-sxm", "v100-sxm2"}) {
      dryrun::DesignOptions options;
      options.gpu = model;
      options.node = static_cast<std::uint32_t>(size % 3);
      const auto design = dryrun::design_node(root, options, change ? &*change : nullptr);
      if (design) {
        check(*design);
      } else {
        hold(!design.error().message.empty());
      }
    }
  return 0;
}
