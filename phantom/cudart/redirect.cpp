// Takes the place of a CUDA runtime that is linked into libnccl: after the library was loaded and before
// anything in it was called, the entry of each of its public cudaXxx functions is overwritten, in the memory
// of this one process, with a jump to ours of the same name, or to one that refuses and keeps the name. The
// file stays as it is. The registration of kernels (__cuda*) is left alone: it only fills tables. A page is
// never writable and executable at once.
#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "cudart/elf_file.hpp"
#include "cudart/jump.hpp"
#include "cudart/node.hpp"
#include "export.hpp"
#include "phantom/runtime_calls.hpp"

namespace angio::phantom {
namespace {

// What angio_phantom_redirect returns.
enum Outcome : int {
  kDone = 0,
  kNotLoaded = 1,      // no such library in this process
  kUnreadable = 2,     // its file cannot be read, or is no ELF file of this machine
  kNoSymbols = 3,      // stripped of its symbol table
  kNothingInside = 4,  // no runtime of its own (kRuntimeInside): it is linked dynamically
  kOtherFile = 5,      // the file is not what was loaded
  kNotWritable = 6,    // the system forbids changing code (SELinux, seccomp)
};

struct Loaded {
  std::string wanted;  // as given; empty: any libnccl
  std::string path;
  std::uintptr_t bias = 0;
  bool found = false;
};

bool same_file(const char* a, const char* b) {
  struct stat first{};
  struct stat second{};
  return stat(a, &first) == 0 && stat(b, &second) == 0 && first.st_dev == second.st_dev &&
         first.st_ino == second.st_ino;
}

bool is_nccl(std::string_view path) {
  return path.substr(path.rfind('/') + 1).starts_with("libnccl.so");  // npos + 1 is 0
}

int look_at(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  Loaded& loaded = *static_cast<Loaded*>(data);
  const char* const name = object->dlpi_name;
  if (name == nullptr || *name == '\0') {
    return 0;
  }
  const bool fits =
      loaded.wanted.empty() ? is_nccl(name) : loaded.wanted == name || same_file(loaded.wanted.c_str(), name);
  if (!fits) {
    return 0;
  }
  loaded.path = name;
  loaded.bias = object->dlpi_addr;
  loaded.found = true;
  return 1;
}

// cudaMalloc, not cudart123 and not __cudaRegisterVar.
bool is_runtime_call(std::string_view name) {
  return name.size() > 4 && name.starts_with("cuda") && name[4] >= 'A' && name[4] <= 'Z';
}

struct Patch {
  std::uintptr_t address;
  const void* target;
};

// Pages of small functions that refuse, made writable first and executable when all are there.
class Refusers {
 public:
  explicit Refusers(std::size_t most) : size_(std::max<std::size_t>(most, 1) * kCallSize) {
    void* const mapped = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    code_ = mapped == MAP_FAILED ? nullptr : static_cast<unsigned char*>(mapped);
  }

  [[nodiscard]] bool usable() const { return code_ != nullptr; }

  const void* add(std::string_view name) {
    // For the life of the process, as the code that holds its address.
    const char* const kept = (new std::string(name))->c_str();
    const auto code = call_with(reinterpret_cast<const void*>(&refuse), kept);
    unsigned char* const place = code_ + used_;
    std::memcpy(place, code.data(), code.size());
    used_ += code.size();
    return place;
  }

  bool seal() {
    __builtin___clear_cache(reinterpret_cast<char*>(code_), reinterpret_cast<char*>(code_) + size_);
    return mprotect(code_, size_, PROT_READ | PROT_EXEC) == 0;
  }

 private:
  std::size_t size_;
  unsigned char* code_ = nullptr;
  std::size_t used_ = 0;
};

std::uintptr_t page_of(std::uintptr_t address) {
  static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
  return address / page * page;
}
std::uintptr_t page_size() {
  return static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
}

struct Range {
  std::uintptr_t begin;
  std::uintptr_t end;
};

// The pages that the patches touch, neighbours together. patches are sorted.
std::vector<Range> pages_of(const std::vector<Patch>& patches) {
  std::vector<Range> ranges;
  for (const Patch& patch : patches) {
    const std::uintptr_t begin = page_of(patch.address);
    const std::uintptr_t end = page_of(patch.address + kJumpSize - 1) + page_size();
    if (!ranges.empty() && begin <= ranges.back().end) {
      ranges.back().end = std::max(ranges.back().end, end);
    } else {
      ranges.push_back({begin, end});
    }
  }
  return ranges;
}

bool protect(const std::vector<Range>& ranges, int protection) {
  for (const Range& range : ranges) {
    void* const begin = reinterpret_cast<void*>(range.begin);  // NOLINT(performance-no-int-to-ptr): a page
    if (mprotect(begin, range.end - range.begin, protection) != 0) {
      complain("redirection", errno);
      return false;
    }
  }
  return true;
}

bool write_patches(const std::vector<Patch>& patches) {
  const std::vector<Range> ranges = pages_of(patches);
  const bool writable = protect(ranges, PROT_READ | PROT_WRITE);
  for (const Patch& patch : patches) {
    if (!writable) {
      break;
    }
    const auto code = jump_to(patch.target);
    auto* const entry =
        reinterpret_cast<char*>(patch.address);  // NOLINT(performance-no-int-to-ptr): an entry
    std::memcpy(entry, code.data(), code.size());
    __builtin___clear_cache(entry, entry + code.size());
  }
  // Also when it failed half way: what was executable has to be so again.
  return protect(ranges, PROT_READ | PROT_EXEC) && writable;
}

struct Redirection {
  std::vector<Patch> patches;
  unsigned provided = 0;
  unsigned refused = 0;
  bool other_file = false;
};

// Room up to the next function: a short one is padded to 16 bytes when it begins on 16.
std::size_t room(std::uint64_t address, std::uint64_t size) {
  return address % 16 == 0 ? static_cast<std::size_t>((size + 15) / 16 * 16) : static_cast<std::size_t>(size);
}

bool is_as_in_file(const ElfFile& file, std::uint64_t address, std::uintptr_t bias) {
  const auto bytes = file.bytes_at(address, kJumpSize);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the loaded library
  return !bytes.empty() &&
         std::memcmp(bytes.data(), reinterpret_cast<const void*>(bias + address), kJumpSize) == 0;
}

// This library and what it needs, which is only the C library: a name that we lack must not be found in a
// real runtime that happens to be loaded too.
void* own_symbols() {
  Dl_info info{};
  return dladdr(reinterpret_cast<const void*>(&own_symbols), &info) == 0
             ? nullptr
             : dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
}

void collect(const ElfFile& file, std::uintptr_t bias, Refusers& refusers, Redirection& result) {
  void* const own = own_symbols();
  file.each_function([&](std::string_view name, std::uint64_t address, std::uint64_t size) {
    if (!is_runtime_call(name) || result.other_file || room(address, size) < kJumpSize) {
      return;
    }
    if (!is_as_in_file(file, address, bias)) {
      result.other_file = true;
      return;
    }
    const void* ours = dlsym(own, std::string(name).c_str());
    if (ours == nullptr) {
      ours = refusers.add(name);
      ++result.refused;
    } else {
      ++result.provided;
    }
    result.patches.push_back({bias + address, ours});
  });
  std::sort(result.patches.begin(), result.patches.end(),
            [](const Patch& a, const Patch& b) { return a.address < b.address; });
}

// How many calls of a runtime are inside; 0: there is none.
std::size_t count_calls(const ElfFile& file) {
  std::size_t count = 0;
  std::set<std::string_view> telling;
  file.each_function([&](std::string_view name, std::uint64_t /*address*/, std::uint64_t /*size*/) {
    count += is_runtime_call(name) ? 1 : 0;
    if (std::find(kRuntimeInside.begin(), kRuntimeInside.end(), name) != kRuntimeInside.end()) {
      telling.insert(name);
    }
  });
  return telling.size() == kRuntimeInside.size() ? count : 0;
}

// Libraries that are redirected already, by where they are loaded.
struct Redirected {
  std::mutex mutex;
  std::map<std::uintptr_t, Redirection> all;
};
Redirected& redirected() {
  static Redirected& all = *new Redirected;
  return all;
}

Outcome redirect_loaded(const Loaded& loaded, Redirection& result) {
  const ElfFile file(loaded.path.c_str());
  if (file.problem() != 0) {
    return file.problem() == ENODATA ? kNoSymbols : kUnreadable;
  }
  const std::size_t count = count_calls(file);
  if (count == 0) {
    return kNothingInside;
  }
  auto& refusers = *new Refusers(count);  // its code is used as long as the process lives
  if (!refusers.usable()) {
    return kNotWritable;
  }
  collect(file, loaded.bias, refusers, result);
  if (result.other_file) {
    return kOtherFile;
  }
  return refusers.seal() && write_patches(result.patches) ? kDone : kNotWritable;
}

Outcome redirect(const char* library, unsigned& provided, unsigned& refused) {
  Loaded loaded;
  loaded.wanted = library == nullptr ? "" : library;
  dl_iterate_phdr(look_at, &loaded);
  if (!loaded.found) {
    return kNotLoaded;
  }
  Redirected& before = redirected();
  const std::lock_guard lock(before.mutex);
  const auto [place, fresh] = before.all.try_emplace(loaded.bias);
  const Outcome outcome = fresh ? redirect_loaded(loaded, place->second) : kDone;
  provided = place->second.provided;
  refused = place->second.refused;
  if (outcome != kDone) {
    before.all.erase(place);
    provided = refused = 0;
  }
  return outcome;
}

}  // namespace
}  // namespace angio::phantom

// library: the path it was loaded by, or another of the same file; null: any libnccl of this process.
ANGIO_STAND_IN int angio_phantom_redirect(const char* library, double* milliseconds, unsigned* provided,
                                          unsigned* refused) {
  const auto begin = std::chrono::steady_clock::now();
  unsigned given = 0;
  unsigned rest = 0;
  const int outcome = angio::phantom::redirect(library, given, rest);
  if (milliseconds != nullptr) {
    *milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
  if (provided != nullptr) {
    *provided = given;
  }
  if (refused != nullptr) {
    *refused = rest;
  }
  return outcome;
}
