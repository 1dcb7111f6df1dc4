// Which libnccl there is and how it can be run on phantom GPUs: searched in a Python environment, a running
// process, or the system, and read as an ELF file. Nothing is loaded here.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/root.hpp"

namespace angio::nccl_run {

enum class Runtime : std::uint8_t {
  kDynamic,   // needs libcudart.so.N: the stand-in takes its place by its name
  kInside,    // linked in, and the symbol table names its entries: they can be redirected
  kStripped,  // linked in without a symbol table: cannot be run here
};

struct NcclLibrary {
  std::string path;
  std::string origin;   // "--nccl", "python environment /opt/venv", "process 4711", "ld.so.cache"
  std::string version;  // "2.28.9+cuda13.0", from its text; empty: not found
  Runtime runtime = Runtime::kStripped;
  std::uint32_t cuda_major = 0;  // ABI of the runtime it was built for: 12, 13; 0: not known
  std::string machine;           // "x86-64", "aarch64" …
};

// what: empty (search in this order: VIRTUAL_ENV, CONDA_PREFIX, LD_LIBRARY_PATH, Python's site-packages of
// the user and the system, the linker's directories), a library, a folder to search (an environment,
// site-packages, lib), "pid:4711". root is the live host. Errors say where was looked.
Result<NcclLibrary> find_nccl(const host::Root& root, std::string_view what,
                              std::span<const std::string> environment);

// Reads the ELF file. Errors: not there, not ELF, not libnccl, another machine's.
Result<NcclLibrary> inspect_nccl(const std::string& path);

}  // namespace angio::nccl_run
