#include "phantom/stand_ins.hpp"

// Labels of stand_ins.S: the address of each is what counts.
#define ANGIO_EMBEDDED(name)                                             \
  extern "C" const unsigned char angio_stand_in_##name##_begin[];        \
  extern "C" const unsigned char angio_stand_in_##name##_end[];          \
  std::span<const unsigned char> angio::phantom::name() {                \
    return {angio_stand_in_##name##_begin, angio_stand_in_##name##_end}; \
  }

ANGIO_EMBEDDED(cudart12)
ANGIO_EMBEDDED(cudart13)
ANGIO_EMBEDDED(nvml)
ANGIO_EMBEDDED(net)
