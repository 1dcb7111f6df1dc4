// The few facts of an ELF file that decide how a libnccl can be run. Reads through a function, so that a
// file of hundreds of megabytes is not read whole and tests need no file. Nothing is trusted: every offset
// and size is held against the file and against a limit.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace angio::nccl_run {

struct ElfSource {
  std::uint64_t size = 0;
  // Fills the whole of to from offset on; false when it cannot.
  std::function<bool(std::uint64_t offset, std::span<char> to)> read;
};
ElfSource make_elf_source(std::string_view bytes);  // which must outlive it

struct ElfFacts {
  std::string machine;              // "x86-64", "aarch64", "machine 243"
  std::string soname;               // DT_SONAME
  std::vector<std::string> needed;  // DT_NEEDED
  bool has_symbols = false;         // a .symtab that can be read
  bool runtime_inside = false;      // it names functions of the CUDA runtime that are defined in this file
  bool is_nccl = false;             // exports ncclCommInitRank
  std::string version;              // "2.28.9+cuda13.0", from .rodata
};

// Errors: no ELF, not 64 bits, big-endian, no shared library, damaged headers.
Result<ElfFacts> read_elf(const ElfSource& source);

// The machine this program was built for, in ElfFacts::machine's words.
std::string_view own_machine();

// "2.28.9+cuda13.0" of the first "NCCL version 2.28.9+cuda13.0" in text; a version without the CUDA part
// only if there is none with it; empty when there is neither.
std::string find_version_text(std::string_view text);

// 13 of "2.28.9+cuda13.0"; 0 when it names none.
std::uint32_t cuda_major_of(std::string_view version);

}  // namespace angio::nccl_run
