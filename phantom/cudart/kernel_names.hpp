// Which kernel a host symbol stands for: from its registration (a libnccl whose runtime is this stand-in), or
// from the symbol table of the library it lies in.
#pragma once

#include <string>

namespace angio::phantom {

// From __cudaRegisterFunction; name is the kernel's mangled name.
void register_kernel(const void* symbol, const char* name);

// Demangled, without arguments: "ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)" gives what is before the
// bracket. "?" when nothing names it. Looked up once a symbol.
const std::string& kernel_name(const void* symbol);

}  // namespace angio::phantom
