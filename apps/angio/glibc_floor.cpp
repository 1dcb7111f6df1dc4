// Two functions of newer glibc, so that a binary built on Debian 12 also starts on glibc 2.34 (RHEL 9)
// and 2.35 (Ubuntu 22.04). Nothing of ours calls them: Debian's static libstdc++ and libgcc do, and the
// loader of an older system refuses a binary that names one function it lacks. The linker takes what the
// executable defines before it looks into glibc. The file stands beside main and not in a library, of which
// the linker takes a member only if something before it misses it; libangio.so takes it too. It can go when
// glibc 2.36 is the oldest that Angio runs on. ./dev test looks at the versions needed.
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <span>

// For std::random_device, which the old half of std::string pulls in; in glibc since 2.36.
extern "C" std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  ssize_t got = -1;
  do {
    got = getrandom(&value, sizeof value, 0);
  } while (got < 0 && errno == EINTR);
  // A caller of arc4random cannot be told of a failure, and a predictable number is worse than none.
  if (got != static_cast<ssize_t>(sizeof value)) {
    std::abort();
  }
  return value;
}

// For the unwinder of exceptions; in glibc since 2.35, which declares it together with this macro. Without it
// libgcc walks over the loaded objects in this way itself.
#ifdef DLFO_STRUCT_HAS_EH_DBASE
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* result;
};

void* pointer_to(std::uintptr_t address) {
  return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): ELF headers hold numbers.
}

// Called for each loaded object; 1 ends the walk.
int look_into(dl_phdr_info* object, std::size_t /*size*/, void* data) {
  const Search& search = *static_cast<const Search*>(data);
  dl_find_object found{};
  for (const ElfW(Phdr) & header : std::span(object->dlpi_phdr, object->dlpi_phnum)) {
    const std::uintptr_t begin = object->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_GNU_EH_FRAME) {
      found.dlfo_eh_frame = pointer_to(begin);
    } else if (header.p_type == PT_LOAD && search.address >= begin &&
               search.address - begin < header.p_memsz) {
      found.dlfo_map_start = pointer_to(begin);
      found.dlfo_map_end = pointer_to(begin + header.p_memsz);
    }
  }
  if (found.dlfo_map_start == nullptr || found.dlfo_eh_frame == nullptr) {
    return 0;
  }
  *search.result = found;
  return 1;
}

}  // namespace

// NOLINTNEXTLINE(bugprone-reserved-identifier): the name is glibc's.
extern "C" int _dl_find_object(void* address, dl_find_object* result) noexcept {
  Search search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
#endif
