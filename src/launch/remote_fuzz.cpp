#include <cstddef>
#include <cstdint>
#include <string_view>

#include "launch/remote.hpp"
#include "launch/rendezvous.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto hosts = angio::launch::expand_hostlist(text);
  if (hosts && (hosts->empty() || hosts->size() > angio::launch::kMaxHosts)) __builtin_trap();
  (void)angio::launch::parse_hostfile(text);
  const auto master = angio::launch::parse_master(text);
  if (master && master->address.empty()) __builtin_trap();
  (void)angio::launch::recognise_mpirun(text);
  return 0;
}
