// Where a libnccl may be: the places that find_nccl looks into, in its order. Reads through Root; nothing is
// opened as a library, Python is not run.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "host/root.hpp"

namespace angio::nccl_run {

struct Candidate {
  std::string path;    // of a file that is there
  std::string origin;  // "python environment /opt/venv"
};

struct Candidates {
  std::vector<Candidate> found;
  std::vector<std::string> looked;  // places without one, for the error
};

// The whole search when nothing was named.
Candidates search_nccl(const host::Root& root, std::span<const std::string> environment);

// A file, a folder, or "pid:4711". Errors: neither, a process that is not there, not ours to read, or without
// libnccl; a folder without one.
Result<Candidate> named_nccl(const host::Root& root, std::string_view what);

// The path that the linker's cache (ld.so.cache, glibc's format 1.1) has for a library of 64-bit x86 or
// ARM; empty when there is none or the cache cannot be read.
std::string find_in_cache(std::string_view cache, std::string_view library);

}  // namespace angio::nccl_run
