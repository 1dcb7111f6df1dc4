// The stand-ins of phantom/ as whole shared libraries inside the program: `angio dryrun` hands them to its
// node processes as memory files, so that nothing has to be installed or written to disk. Not their code:
// they are never linked into the program.
#pragma once

#include <span>

namespace angio::phantom {

std::span<const unsigned char> cudart12();
std::span<const unsigned char> cudart13();
std::span<const unsigned char> nvml();
std::span<const unsigned char> net();

}  // namespace angio::phantom
