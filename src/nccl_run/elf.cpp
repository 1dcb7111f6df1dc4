#include "nccl_run/elf.hpp"

#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/text.hpp"
#include "phantom/runtime_calls.hpp"

namespace angio::nccl_run {
namespace {

// Limits of what is read, well above any libnccl: 2.32 has 0.9 MB of .rodata and 0.8 MB of names.
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20U;
constexpr std::uint64_t kMostSymbols = std::uint64_t{4} << 20U;
constexpr std::size_t kMostDynamic = 4096;
constexpr std::size_t kMostNeeded = 256;
constexpr std::size_t kLongestName = 4096;

using Sections = std::vector<Elf64_Shdr>;

std::unexpected<Error> damaged(std::string_view what) {
  return fail(ErrorCode::kInvalidInput, fmt::format("damaged ELF file: {}", what),
              "It may be cut off: compare its size with the package it came from");
}

bool lies_inside(const ElfSource& source, std::uint64_t offset, std::uint64_t size) {
  return offset <= source.size && size <= source.size - offset;
}

template <typename T>
std::optional<std::vector<T>> read_table(const ElfSource& source, std::uint64_t offset, std::uint64_t count) {
  if (count > kMostSymbols || !lies_inside(source, offset, count * sizeof(T))) return std::nullopt;
  std::vector<T> table(count);
  const std::span<char> bytes(reinterpret_cast<char*>(table.data()), count * sizeof(T));
  if (!source.read(offset, bytes)) return std::nullopt;
  return table;
}

std::optional<std::string> read_text(const ElfSource& source, std::uint64_t offset, std::uint64_t size) {
  if (!lies_inside(source, offset, size)) return std::nullopt;
  std::string text(std::min(size, kMostText), '\0');
  if (!source.read(offset, text)) return std::nullopt;
  return text;
}

// The name at an offset of a table of names; empty when it lies outside.
std::string_view name_at(std::string_view names, std::uint64_t offset) {
  if (offset >= names.size()) return {};
  const std::string_view rest = names.substr(offset, kLongestName);
  return rest.substr(0, rest.find('\0'));
}

std::string machine_name(std::uint16_t machine) {
  if (machine == EM_X86_64) return "x86-64";
  if (machine == EM_AARCH64) return "aarch64";
  if (machine == EM_PPC64) return "ppc64";
  return fmt::format("machine {}", machine);
}

Result<Elf64_Ehdr> read_header(const ElfSource& source) {
  Elf64_Ehdr header{};
  const std::span<char> bytes(reinterpret_cast<char*>(&header), sizeof header);
  if (source.size < sizeof header || !source.read(0, bytes) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return fail(ErrorCode::kInvalidInput, "no ELF file", "Name a shared library, libnccl.so.2");
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return fail(ErrorCode::kUnsupported, "not a 64-bit little-endian ELF file");
  if (header.e_type != ET_DYN) return fail(ErrorCode::kInvalidInput, "no shared library");
  return header;
}

// Without a table of sections, or with one that cannot be read: empty. The loader does not need it.
Sections read_sections(const ElfSource& source, const Elf64_Ehdr& header) {
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return {};
  return read_table<Elf64_Shdr>(source, header.e_shoff, header.e_shnum).value_or(Sections{});
}

const Elf64_Shdr* section_of_type(const Sections& sections, std::uint32_t type) {
  const auto found = std::ranges::find(sections, type, &Elf64_Shdr::sh_type);
  return found == sections.end() ? nullptr : &*found;
}

std::optional<std::string> names_of(const ElfSource& source, const Sections& sections,
                                    const Elf64_Shdr& table) {
  if (table.sh_link >= sections.size()) return std::nullopt;
  const Elf64_Shdr& names = sections[table.sh_link];
  return names.sh_type == SHT_STRTAB ? read_text(source, names.sh_offset, names.sh_size) : std::nullopt;
}

struct Symbols {
  std::vector<Elf64_Sym> entries;
  std::string names;
};

std::optional<Symbols> read_symbols(const ElfSource& source, const Sections& sections, std::uint32_t type) {
  const Elf64_Shdr* table = section_of_type(sections, type);
  if (table == nullptr) return std::nullopt;
  std::optional<std::string> names = names_of(source, sections, *table);
  std::optional<std::vector<Elf64_Sym>> entries =
      read_table<Elf64_Sym>(source, table->sh_offset, table->sh_size / sizeof(Elf64_Sym));
  if (!names || !entries) return std::nullopt;
  return Symbols{std::move(*entries), std::move(*names)};
}

// Compares in place: a hostile table may point a million symbols at one long name.
bool is_name(std::string_view names, std::uint64_t offset, std::string_view name) {
  return offset < names.size() && names.substr(offset).starts_with(name) &&
         names.substr(offset + name.size(), 1) == std::string_view("\0", 1);
}

bool defines_function(const Symbols& symbols, std::string_view name) {
  return std::ranges::any_of(symbols.entries, [&](const Elf64_Sym& symbol) {
    return ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF &&
           is_name(symbols.names, symbol.st_name, name);
  });
}

// Where in the file an address of the loaded library is.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments, std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments) {
    const bool holds = segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
                       address - segment.p_vaddr < segment.p_filesz;
    if (holds && segment.p_offset <= UINT64_MAX - (address - segment.p_vaddr))
      return segment.p_offset + (address - segment.p_vaddr);
  }
  return std::nullopt;
}

struct Dynamic {
  std::uint64_t names = 0;  // address
  std::uint64_t names_size = 0;
  std::uint64_t soname = 0;
  std::vector<std::uint64_t> needed;
};

Dynamic sort_dynamic(const std::vector<Elf64_Dyn>& entries) {
  Dynamic dynamic;
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL) break;
    if (entry.d_tag == DT_STRTAB) dynamic.names = entry.d_un.d_ptr;
    if (entry.d_tag == DT_STRSZ) dynamic.names_size = entry.d_un.d_val;
    if (entry.d_tag == DT_SONAME) dynamic.soname = entry.d_un.d_val;
    if (entry.d_tag == DT_NEEDED && dynamic.needed.size() < kMostNeeded)
      dynamic.needed.push_back(entry.d_un.d_val);
  }
  return dynamic;
}

Result<void> read_dynamic(const ElfSource& source, const Elf64_Ehdr& header, ElfFacts& facts) {
  if (header.e_phentsize != sizeof(Elf64_Phdr)) return damaged("its segments have an unknown size");
  const auto segments = read_table<Elf64_Phdr>(source, header.e_phoff, header.e_phnum);
  if (!segments) return damaged("the table of segments lies outside");
  const auto found = std::ranges::find(*segments, std::uint32_t{PT_DYNAMIC}, &Elf64_Phdr::p_type);
  if (found == segments->end()) return damaged("no dynamic section");
  const std::uint64_t count = std::min<std::uint64_t>(found->p_filesz / sizeof(Elf64_Dyn), kMostDynamic);
  const auto entries = read_table<Elf64_Dyn>(source, found->p_offset, count);
  if (!entries) return damaged("the dynamic section lies outside");
  const Dynamic dynamic = sort_dynamic(*entries);
  const std::optional<std::uint64_t> at = offset_of(*segments, dynamic.names);
  const std::optional<std::string> names =
      at ? read_text(source, *at, dynamic.names_size) : std::optional<std::string>();
  if (!names) return damaged("the names of the dynamic section lie outside");
  facts.soname = name_at(*names, dynamic.soname);
  for (const std::uint64_t offset : dynamic.needed)
    facts.needed.emplace_back(name_at(*names, offset));
  return {};
}

std::string read_version(const ElfSource& source, const Elf64_Ehdr& header, const Sections& sections) {
  if (header.e_shstrndx >= sections.size()) return {};
  const Elf64_Shdr& names_section = sections[header.e_shstrndx];
  const std::optional<std::string> names = read_text(source, names_section.sh_offset, names_section.sh_size);
  if (!names) return {};
  for (const Elf64_Shdr& section : sections) {
    if (section.sh_type != SHT_PROGBITS || name_at(*names, section.sh_name) != ".rodata") continue;
    if (const auto text = read_text(source, section.sh_offset, section.sh_size))
      return find_version_text(*text);
  }
  return {};
}

bool is_version_letter(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '+' || c == '-';
}

}  // namespace

ElfSource make_elf_source(std::string_view bytes) {
  return {bytes.size(), [bytes](std::uint64_t offset, std::span<char> to) {
            if (offset > bytes.size() || to.size() > bytes.size() - offset) return false;
            std::ranges::copy(bytes.substr(offset, to.size()), to.begin());
            return true;
          }};
}

std::string_view own_machine() {
#if defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

std::string find_version_text(std::string_view text) {
  constexpr std::string_view kBefore = "NCCL version ";
  constexpr std::size_t kLongest = 64;
  std::string plain;
  for (std::size_t at = text.find(kBefore); at != text.npos; at = text.find(kBefore, at + 1)) {
    const std::string_view rest = text.substr(at + kBefore.size(), kLongest);
    if (rest.empty() || rest[0] < '0' || rest[0] > '9') continue;
    std::size_t length = 0;
    while (length < rest.size() && is_version_letter(rest[length]))
      ++length;
    const std::string_view version = rest.substr(0, length);
    if (version.find("+cuda") != version.npos) return std::string(version);
    if (plain.empty()) plain = version;
  }
  return plain;
}

std::uint32_t cuda_major_of(std::string_view version) {
  constexpr std::string_view kBefore = "+cuda";
  const std::size_t at = version.find(kBefore);
  if (at == version.npos) return 0;
  const std::string_view number = version.substr(at + kBefore.size());
  return parse_integer<std::uint32_t>(number.substr(0, number.find('.'))).value_or(0);
}

Result<ElfFacts> read_elf(const ElfSource& source) {
  const Result<Elf64_Ehdr> header = read_header(source);
  if (!header) return std::unexpected(header.error());
  ElfFacts facts;
  facts.machine = machine_name(header->e_machine);
  if (const Result<void> dynamic = read_dynamic(source, *header, facts); !dynamic)
    return std::unexpected(dynamic.error());
  const Sections sections = read_sections(source, *header);
  if (const auto exported = read_symbols(source, sections, SHT_DYNSYM))
    facts.is_nccl = defines_function(*exported, "ncclCommInitRank");
  if (!facts.is_nccl) return facts;
  if (const auto local = read_symbols(source, sections, SHT_SYMTAB)) {
    facts.has_symbols = true;
    facts.runtime_inside = std::ranges::all_of(
        phantom::kRuntimeInside, [&](std::string_view name) { return defines_function(*local, name); });
  }
  facts.version = read_version(source, *header, sections);
  return facts;
}

}  // namespace angio::nccl_run
