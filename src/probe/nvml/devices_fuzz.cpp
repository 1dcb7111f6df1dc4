// Hostile machines for the GPU and network probes: each input line "path<TAB>content" is a file, "path" alone
// a refusal, "path<TAB>>target" a link.
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "host/root.hpp"
#include "model/machine.hpp"
#include "probe/nvml/gpu_probe.hpp"
#include "probe/sysfs/network_probe.hpp"
#include "probe/sysfs/pci_probe.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace angio;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  host::Recording recording;
  for (const std::string_view line : split_lines(text)) {
    const std::size_t tab = line.find('\t');
    host::Answers& answers = recording["/" + std::string(line.substr(0, tab))];
    if (tab == std::string_view::npos) {
      answers.content = std::unexpected(host::ReadError{EIO, {}});
    } else if (line.substr(tab + 1).starts_with('>')) {
      answers.link = std::string(line.substr(tab + 2));
    } else {
      answers.content = std::string(line.substr(tab + 1));
    }
  }
  const auto root = host::make_memory_root(std::move(recording), host::Scope::kComplete);
  model::Machine machine;
  probe::probe_pci(*root, machine);
  probe::probe_network(*root, machine);
  probe::probe_gpus(*root, machine);
  return 0;
}
