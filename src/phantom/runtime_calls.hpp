// When a library has a CUDA runtime of its own inside: one rule for those who look at the file before it is
// run (nccl_run) and for the stand-in that redirects it (phantom/cudart). Both read .symtab, each in its own
// way: the one through a function and bounded, for any file; the other mapped, for a file that the loader
// took.
#pragma once

#include <array>
#include <string_view>

namespace angio::phantom {

// Functions that are defined in the file itself, all of them: no user of a runtime lacks either.
inline constexpr std::array<std::string_view, 2> kRuntimeInside{"cudaGetDevice", "cudaMalloc"};

}  // namespace angio::phantom
