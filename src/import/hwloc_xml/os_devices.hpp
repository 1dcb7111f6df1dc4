// hwloc's OS devices below one PCI device: what they say about a GPU, an RDMA device, an interface.
#pragma once

#include <optional>

#include "import/draft.hpp"
#include "import/hwloc_xml/words.hpp"
#include "import/xml.hpp"

namespace angio::import::hwloc_xml {

// Everything one object can be attached to.
struct Place {
  std::optional<std::uint32_t> package;
  std::optional<std::uint32_t> bridge;  // in pci.devices: nearest PCI bridge above
  std::optional<std::uint32_t> device;  // in pci.devices: the PCI device whose child this is
  std::string root_complex;
  model::Observed<NumaId> numa;
};

// CUDA, NVML, RSMI and OpenCL show the same GPU under several names: their facts come together here.
struct GpuFacts {
  bool seen = false;
  model::Gpu gpu;
};

void take_gpu_facts(const Draft& draft, const XmlElement& object, GpuFacts& facts);
void take_interface(Draft& draft, const XmlElement& object, const Place& place);
void take_rdma(Draft& draft, const XmlElement& object, const Place& place);

}  // namespace angio::import::hwloc_xml
