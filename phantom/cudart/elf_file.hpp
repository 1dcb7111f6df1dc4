// The symbol table (.symtab) of an ELF file on disk, mapped while the object lives. Every number of the file
// is held against its size: a file that is cut off has fewer symbols, or none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace angio::phantom {

class ElfFile {
 public:
  explicit ElfFile(const char* path);
  ~ElfFile();
  ElfFile(const ElfFile&) = delete;
  ElfFile& operator=(const ElfFile&) = delete;

  // An errno, or 0; ENOEXEC: no ELF file of this machine's kind; ENODATA: no symbol table.
  [[nodiscard]] int problem() const { return problem_; }

  // Address of the first loadable segment as the file gives it, rounded down to a page.
  [[nodiscard]] std::uint64_t first_address() const { return first_address_; }

  // take(name, address, size) for each function that is defined here.
  template <class Take>
  void each_function(const Take& take) const {
    for (std::size_t index = 0; index < symbol_count_; ++index) {
      Function function;
      if (function_of(index, function)) {
        take(function.name, function.address, function.size);
      }
    }
  }

  // The bytes of the file that are loaded at this address; empty when they are not all there.
  [[nodiscard]] std::span<const unsigned char> bytes_at(std::uint64_t address, std::size_t size) const;

  // The name of the function that begins at the address, or empty.
  [[nodiscard]] std::string_view function_at(std::uint64_t address) const;

 private:
  struct Function {
    std::string_view name;
    std::uint64_t address = 0;
    std::uint64_t size = 0;
  };
  [[nodiscard]] bool function_of(std::size_t index, Function& function) const;
  void find_segments();
  void find_symbols();
  template <class Value>
  [[nodiscard]] const Value* at(std::uint64_t offset, std::uint64_t count = 1) const;

  const unsigned char* data_ = nullptr;
  std::size_t size_ = 0;
  int problem_ = 0;
  std::uint64_t first_address_ = 0;
  const void* symbols_ = nullptr;
  std::size_t symbol_count_ = 0;
  std::string_view strings_;
};

}  // namespace angio::phantom
