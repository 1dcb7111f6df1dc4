// What a back end does with elements itself: add, multiply and compare two buffers where its library does not
// know the type (half, bfloat16), divide for the average. Used by angio-mpi, angio-gloo and their check.
#pragma once

#include <cstddef>
#include <cstdint>

#include "collective/transport.hpp"

namespace angio::backend {

// out[i] = a[i] op b[i]; out may be a or b.
using Combine = void (*)(void* out, const void* a, const void* b, std::size_t count);
// kAverage: the sum; divide() makes the average of it.
Combine combine_of(collective::Element element, collective::Reduction reduction);
// As NCCL: integers are divided without a rest.
void divide(collective::Element element, void* data, std::size_t count, std::uint32_t by);

double load(collective::Element element, const void* at);
void store(collective::Element element, void* at, double value);

}  // namespace angio::backend
