// Hostile ELF files: what is read of them lies inside them, and the same bytes give the same facts.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "nccl_run/elf.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto once = angio::nccl_run::read_elf(angio::nccl_run::make_elf_source(bytes));
  const auto again = angio::nccl_run::read_elf(angio::nccl_run::make_elf_source(bytes));
  if (once.has_value() != again.has_value()) std::abort();
  if (!once) return 0;
  if (once->version != again->version || once->needed != again->needed) std::abort();
  if (!once->version.empty() && bytes.find(once->version) == bytes.npos) std::abort();
  for (const auto& name : once->needed) {
    if (bytes.find(name) == bytes.npos) std::abort();
  }
  (void)angio::nccl_run::cuda_major_of(once->version);
  return 0;
}
