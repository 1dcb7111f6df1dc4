#include "cudart/elf_file.hpp"

#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace angio::phantom {
namespace {

#if defined(__x86_64__)
constexpr Elf64_Half kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr Elf64_Half kMachine = EM_AARCH64;
#else
#error "the stand-ins run on x86-64 and aarch64"
#endif

constexpr std::uint64_t kPage = 4096;

bool is_elf(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_machine == kMachine && header.e_shentsize == sizeof(Elf64_Shdr) &&
         header.e_phentsize == sizeof(Elf64_Phdr);
}

}  // namespace

ElfFile::ElfFile(const char* path) {
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  struct stat state{};
  if (file < 0 || fstat(file, &state) != 0) {
    problem_ = errno;
  } else if (state.st_size < static_cast<off_t>(sizeof(Elf64_Ehdr))) {
    problem_ = ENOEXEC;
  } else {
    size_ = static_cast<std::size_t>(state.st_size);
    void* const mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapped == MAP_FAILED) {
      problem_ = errno;
    } else {
      data_ = static_cast<const unsigned char*>(mapped);
    }
  }
  if (file >= 0) {
    ::close(file);
  }
  if (problem_ == 0 && !is_elf(*at<Elf64_Ehdr>(0))) {
    problem_ = ENOEXEC;
  }
  if (problem_ == 0) {
    find_segments();
    find_symbols();
  }
}

ElfFile::~ElfFile() {
  if (data_ != nullptr) {
    munmap(const_cast<unsigned char*>(data_), size_);
  }
}

// Null unless this many are wholly inside and aligned.
template <class Value>
const Value* ElfFile::at(std::uint64_t offset, std::uint64_t count) const {
  if (offset > size_ || count > (size_ - offset) / sizeof(Value) || offset % alignof(Value) != 0) {
    return nullptr;
  }
  return reinterpret_cast<const Value*>(data_ + offset);
}

void ElfFile::find_segments() {
  const auto* const header = at<Elf64_Ehdr>(0);
  const auto* const segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (std::size_t index = 0; segments != nullptr && index < header->e_phnum; ++index) {
    if (segments[index].p_type == PT_LOAD) {
      first_address_ = segments[index].p_vaddr / kPage * kPage;
      return;
    }
  }
}

void ElfFile::find_symbols() {
  problem_ = ENODATA;
  const auto* const header = at<Elf64_Ehdr>(0);
  const auto* const sections = at<Elf64_Shdr>(header->e_shoff, header->e_shnum);
  for (std::size_t index = 0; sections != nullptr && index < header->e_shnum; ++index) {
    const Elf64_Shdr& section = sections[index];
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= header->e_shnum) {
      continue;
    }
    const Elf64_Shdr& strings = sections[section.sh_link];
    const std::size_t count = section.sh_size / sizeof(Elf64_Sym);
    const char* const text = at<char>(strings.sh_offset, strings.sh_size);
    symbols_ = at<Elf64_Sym>(section.sh_offset, count);
    if (symbols_ == nullptr || text == nullptr) {
      return;
    }
    symbol_count_ = count;
    strings_ = std::string_view(text, strings.sh_size);
    problem_ = 0;
    return;
  }
}

bool ElfFile::function_of(std::size_t index, Function& function) const {
  const Elf64_Sym& symbol = static_cast<const Elf64_Sym*>(symbols_)[index];
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
      symbol.st_name >= strings_.size()) {
    return false;
  }
  // Longer than any mangled name; a table without ends must not be read to its end for each symbol.
  constexpr std::size_t kMostName = 65536;
  const std::string_view rest = strings_.substr(symbol.st_name, kMostName);
  function.name = rest.substr(0, std::min(rest.find('\0'), rest.size()));
  function.address = symbol.st_value;
  function.size = symbol.st_size;
  return true;
}

std::span<const unsigned char> ElfFile::bytes_at(std::uint64_t address, std::size_t size) const {
  const auto* const header = at<Elf64_Ehdr>(0);
  const auto* const segments = at<Elf64_Phdr>(header->e_phoff, header->e_phnum);
  for (std::size_t index = 0; segments != nullptr && index < header->e_phnum; ++index) {
    const Elf64_Phdr& segment = segments[index];
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr && size <= segment.p_filesz &&
        address - segment.p_vaddr <= segment.p_filesz - size) {
      const auto* const bytes = at<unsigned char>(segment.p_offset + (address - segment.p_vaddr), size);
      return bytes == nullptr ? std::span<const unsigned char>{} : std::span(bytes, size);
    }
  }
  return {};
}

std::string_view ElfFile::function_at(std::uint64_t address) const {
  std::string_view found;
  each_function([&](std::string_view name, std::uint64_t begin, std::uint64_t /*size*/) {
    if (begin == address && found.empty()) {
      found = name;
    }
  });
  return found;
}

}  // namespace angio::phantom
