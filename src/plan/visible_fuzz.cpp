// The visible-devices variables with hostile text: nothing crashes, every GPU named exists.
#include <cstdint>
#include <string>

#include "model/synthetic.hpp"
#include "plan/visible.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio;
  auto machine = model::topology("2 numa { 4 gpu }");
  for (model::Gpu& gpu : machine->gpus) {
    gpu.uuid = model::Observed<std::string>::known("GPU-" + std::to_string(gpu.index) + "f", {});
    if (size % 2 == 1) gpu.vendor = model::GpuVendor::kAmd;
  }
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = text.find('\n');
  plan::VisibleDevices variables;
  variables.cuda = text.substr(0, cut);
  if (size % 2 == 1) variables.rocr = cut == std::string::npos ? text : text.substr(cut + 1);
  const auto visible = plan::find_visible(*machine, variables);
  if (!visible) return 0;
  for (const plan::VisibleGpu& each : visible->gpus) {
    if (each.gpu && *each.gpu >= machine->gpus.size()) __builtin_trap();
  }
  return 0;
}
