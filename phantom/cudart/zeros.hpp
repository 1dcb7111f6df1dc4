// Zeros without memory: a range of a memory file whose pages are given back reads as zeros and takes no room.
// NCCL clears gigabytes of buffers that no kernel will ever use here.
#pragma once

#include <cstddef>

namespace angio::phantom {

// True when the range now reads as zeros; false when it is too small to be worth a system call or is no
// shared mapping of a memory file: nothing has changed then.
bool zero_by_hole(void* address, std::size_t size);

}  // namespace angio::phantom
