#include "nccl_run/elf.hpp"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>

namespace angio::nccl_run {
namespace {

template <typename T>
void append(std::string& bytes, const T& value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
void write_at(std::string& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

struct Wanted {
  std::uint16_t machine = EM_X86_64;
  std::vector<std::string> needed;
  std::vector<std::string> exported{"ncclGetVersion", "ncclCommInitRank"};
  std::vector<std::string> local;
  bool symbols = true;
  std::string rodata = "NCCL version %d\0NCCL version 2.99.1+cuda13.0";
};

// A shared library that has what is read and nothing else: header, one segment over the whole file, dynamic
// section, names, symbols, .rodata, sections.
class Builder {
 public:
  std::string build(const Wanted& wanted) {
    bytes_.assign(sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr), '\0');
    add_section({}, "", SHT_NULL);
    names_ = std::string(1, '\0');
    const std::uint64_t dynamic = add_dynamic(wanted);
    add_symbols(SHT_DYNSYM, wanted.exported);
    if (wanted.symbols) add_symbols(SHT_SYMTAB, wanted.local);
    add_section(wanted.rodata, ".rodata", SHT_PROGBITS);
    finish(wanted.machine, dynamic);
    return bytes_;
  }

 private:
  std::uint32_t name(const std::string& text) {
    const auto at = static_cast<std::uint32_t>(names_.size());
    names_ += text + '\0';
    return at;
  }
  std::uint64_t add_section(const std::string& content, const std::string& title, std::uint32_t type) {
    while (bytes_.size() % 8 != 0)
      bytes_ += '\0';
    Elf64_Shdr header{};
    header.sh_name = title.empty() ? 0 : name(title);
    header.sh_type = type;
    header.sh_offset = bytes_.size();
    header.sh_size = content.size();
    sections_.push_back(header);
    bytes_ += content;
    return header.sh_offset;
  }
  std::uint64_t add_dynamic(const Wanted& wanted) {
    std::string texts(1, '\0');
    std::string entries;
    const auto put = [&](std::int64_t tag, std::uint64_t value) {
      Elf64_Dyn entry{};
      entry.d_tag = tag;
      entry.d_un.d_val = value;
      append(entries, entry);
    };
    for (const std::string& library : wanted.needed) {
      put(DT_NEEDED, texts.size());
      texts += library + '\0';
    }
    put(DT_SONAME, texts.size());
    texts += std::string("libnccl.so.2") + '\0';
    put(DT_STRTAB, add_section(texts, ".dynstr", SHT_STRTAB));  // addresses are offsets here
    put(DT_STRSZ, texts.size());
    put(DT_NULL, 0);
    dynamic_size_ = entries.size();
    return add_section(entries, ".dynamic", SHT_DYNAMIC);
  }
  void add_symbols(std::uint32_t type, const std::vector<std::string>& functions) {
    std::string texts(1, '\0');
    std::string entries(sizeof(Elf64_Sym), '\0');
    for (const std::string& function : functions) {
      Elf64_Sym symbol{};
      symbol.st_name = static_cast<std::uint32_t>(texts.size());
      symbol.st_info = ELF64_ST_INFO(STB_LOCAL, STT_FUNC);
      symbol.st_shndx = 1;
      append(entries, symbol);
      texts += function + '\0';
    }
    add_section(entries, ".symbols", type);
    sections_.back().sh_link = static_cast<std::uint32_t>(sections_.size());
    add_section(texts, ".names", SHT_STRTAB);
  }
  void finish(std::uint16_t machine, std::uint64_t dynamic) {
    const std::uint32_t last = name(".shstrtab");
    add_section(names_, "", SHT_STRTAB);
    sections_.back().sh_name = last;
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_type = ET_DYN;
    header.e_machine = machine;
    header.e_phoff = sizeof header;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 2;
    header.e_shoff = bytes_.size();
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = static_cast<std::uint16_t>(sections_.size());
    header.e_shstrndx = static_cast<std::uint16_t>(sections_.size() - 1);
    for (const Elf64_Shdr& section : sections_)
      append(bytes_, section);
    write_at(bytes_, 0, header);
    Elf64_Phdr load{};
    load.p_type = PT_LOAD;
    load.p_filesz = bytes_.size();
    write_at(bytes_, sizeof header, load);
    Elf64_Phdr segment{};
    segment.p_type = PT_DYNAMIC;
    segment.p_offset = dynamic;
    segment.p_filesz = dynamic_size_;
    write_at(bytes_, sizeof header + sizeof load, segment);
  }

  std::string bytes_;
  std::string names_;
  std::vector<Elf64_Shdr> sections_;
  std::uint64_t dynamic_size_ = 0;
};

std::string build(const Wanted& wanted) {
  return Builder().build(wanted);
}

TEST(Elf, RuntimeInsideWithSymbols) {
  Wanted wanted;
  wanted.needed = {"libpthread.so.0", "libc.so.6"};
  wanted.local = {"cudaGetDevice", "cudaMalloc", "ncclDevKernel"};
  constexpr std::string_view kWithNul("NCCL version mismatch\0NCCL version 2.99.1+cuda13.0\0more", 55);
  wanted.rodata = kWithNul;
  const std::string bytes = build(wanted);
  const Result<ElfFacts> facts = read_elf(make_elf_source(bytes));
  ASSERT_TRUE(facts) << facts.error().message;
  EXPECT_EQ(facts->machine, "x86-64");
  EXPECT_EQ(facts->soname, "libnccl.so.2");
  EXPECT_EQ(facts->needed, (std::vector<std::string>{"libpthread.so.0", "libc.so.6"}));
  EXPECT_TRUE(facts->is_nccl);
  EXPECT_TRUE(facts->has_symbols);
  EXPECT_TRUE(facts->runtime_inside);
  EXPECT_EQ(facts->version, "2.99.1+cuda13.0");
}

TEST(Elf, RuntimeAsALibrary) {
  Wanted wanted;
  wanted.needed = {"libcudart.so.12"};
  const std::string bytes = build(wanted);
  const Result<ElfFacts> facts = read_elf(make_elf_source(bytes));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->needed, std::vector<std::string>{"libcudart.so.12"});
  EXPECT_FALSE(facts->runtime_inside);
}

TEST(Elf, Stripped) {
  Wanted wanted;
  wanted.symbols = false;
  const std::string bytes = build(wanted);
  const Result<ElfFacts> facts = read_elf(make_elf_source(bytes));
  ASSERT_TRUE(facts);
  EXPECT_TRUE(facts->is_nccl);
  EXPECT_FALSE(facts->has_symbols);
  EXPECT_FALSE(facts->runtime_inside);
}

TEST(Elf, AnotherLibraryAndAnotherMachine) {
  Wanted wanted;
  wanted.exported = {"main"};
  wanted.machine = EM_AARCH64;
  const std::string bytes = build(wanted);
  const Result<ElfFacts> facts = read_elf(make_elf_source(bytes));
  ASSERT_TRUE(facts);
  EXPECT_EQ(facts->machine, "aarch64");
  EXPECT_FALSE(facts->is_nccl);
}

TEST(Elf, RefusesWhatIsNone) {
  EXPECT_EQ(read_elf(make_elf_source("")).error().message, "no ELF file");
  EXPECT_EQ(read_elf(make_elf_source("#!/bin/sh\n")).error().message, "no ELF file");
  std::string bytes = build({});
  bytes[EI_CLASS] = ELFCLASS32;
  EXPECT_EQ(read_elf(make_elf_source(bytes)).error().message, "not a 64-bit little-endian ELF file");
  bytes = build({});
  write_at(bytes, offsetof(Elf64_Ehdr, e_type), std::uint16_t{ET_EXEC});
  EXPECT_EQ(read_elf(make_elf_source(bytes)).error().message, "no shared library");
}

// Every length of the file, and every byte of headers and tables turned over: an answer or an error.
TEST(Elf, SurvivesDamage) {
  Wanted wanted;
  wanted.needed = {"libc.so.6"};
  wanted.local = {"cudaMalloc", "cudaGetDevice"};
  const std::string whole = build(wanted);
  int readable = 0;
  for (std::size_t size = 0; size < whole.size(); ++size)
    readable += read_elf(make_elf_source(std::string_view(whole).substr(0, size))) ? 1 : 0;
  EXPECT_GT(readable, 0);  // the table of sections is last and not needed
  int refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(~damaged[at]);
    refused += read_elf(make_elf_source(damaged)) ? 0 : 1;
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, static_cast<int>(whole.size()));
}

TEST(Elf, HugeTablesAreRefused) {
  std::string bytes = build({});
  write_at(bytes, offsetof(Elf64_Ehdr, e_phoff), UINT64_MAX - 8);
  EXPECT_FALSE(read_elf(make_elf_source(bytes)));
  bytes = build({});
  write_at(bytes, offsetof(Elf64_Ehdr, e_shoff), UINT64_MAX - 8);
  const Result<ElfFacts> facts = read_elf(make_elf_source(bytes));
  ASSERT_TRUE(facts);
  EXPECT_FALSE(facts->is_nccl);
}

TEST(Version, TheOneWithCudaCounts) {
  EXPECT_EQ(find_version_text("NCCL version 2.18.3+cuda12.1"), "2.18.3+cuda12.1");
  EXPECT_EQ(find_version_text("NCCL version 2.28.9 compiled with CUDA 13.0"), "2.28.9");
  EXPECT_EQ(find_version_text("NCCL version 2.28.9 compiled\nNCCL version 2.28.9+cuda13.0\n"),
            "2.28.9+cuda13.0");
  EXPECT_EQ(find_version_text("NCCL version %d and NCCL version mismatch"), "");
  EXPECT_EQ(find_version_text(""), "");
}

TEST(Version, MajorOfCuda) {
  EXPECT_EQ(cuda_major_of("2.28.9+cuda13.0"), 13U);
  EXPECT_EQ(cuda_major_of("2.18.3+cuda12.1"), 12U);
  EXPECT_EQ(cuda_major_of("2.28.9"), 0U);
  EXPECT_EQ(cuda_major_of("2.28.9+cudaX"), 0U);
}

}  // namespace
}  // namespace angio::nccl_run
