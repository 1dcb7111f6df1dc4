// Lists and masks: what parses prints as a list that parses to the same set. Addresses ride along.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/cpu_set.hpp"
#include "base/ids.hpp"
#include "base/text.hpp"

namespace {

void check(const std::optional<angio::CpuSet>& set) {
  if (set && angio::parse_cpu_list(angio::to_list(*set)) != set) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(angio::parse_cpu_list(text));
  check(angio::parse_cpu_mask(text));
  if (const auto address = angio::parse_pci_address(text)) {
    if (angio::parse_pci_address(angio::to_string(*address)) != address) std::abort();
  }
  const std::string safe = angio::printable(text);
  if (angio::printable(safe) != safe) std::abort();
  (void)angio::parse_byte_count(text);
  (void)angio::parse_double(text);
  return 0;
}
