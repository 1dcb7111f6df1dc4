#include "cudart/allocations.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <vector>

#include "cudart/node.hpp"
#include "cudart/progress.hpp"
#include "cudart/zeros.hpp"
#include "export.hpp"

namespace angio::phantom {
namespace {

constexpr std::size_t kPage = 4096;  // a smaller one than the machine's is rounded up by the kernel

struct Allocation {
  std::size_t size = 0;
  AllocationKind kind = AllocationKind::kDevice;
  int device = 0;
  bool counted = false;
  int file = -1;
  std::size_t offset = 0;
  cuda::Physical* physical = nullptr;
};

struct Allocations {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> all;
  std::vector<Usage> usage;
};

// Leaked: threads of NCCL free memory after static destructors ran.
Allocations& allocations() {
  static Allocations& all = *new Allocations;
  return all;
}

// Set by the node program around allocations of its own.
thread_local bool t_own = false;

std::uintptr_t number(const void* address) {
  return reinterpret_cast<std::uintptr_t>(address);
}

std::size_t round_up(std::size_t size) {
  return (size + kPage - 1) / kPage * kPage;
}

Usage& usage_of(Allocations& all, int device) {
  const auto index = static_cast<std::size_t>(std::max(device, 0));
  if (all.usage.size() <= index) {
    all.usage.resize(index + 1);
  }
  return all.usage[index];
}

// False when the GPU has no such memory left. Holds the mutex.
bool take_device_memory(Allocations& all, int device, std::size_t size, bool counted) {
  Usage& use = usage_of(all, device);
  if (!counted) {
    use.own += size;
    return true;
  }
  const Gpu* const gpu = angio::phantom::gpu(device);
  if (gpu != nullptr && (size > gpu->memory || use.device_now > gpu->memory - size)) {
    return false;
  }
  use.device_now += size;
  use.device_peak = std::max(use.device_peak, use.device_now);
  return true;
}

void give_device_memory(Allocations& all, int device, std::size_t size, bool counted) {
  Usage& use = usage_of(all, device);
  (counted ? use.device_now : use.own) -= size;
}

// errno stays: it says why the descriptor is given up.
void close_quietly(int file) {
  const int error = errno;
  ::close(file);
  errno = error;
}

int make_file(const char* name, std::size_t size) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file >= 0 && ftruncate(file, static_cast<off_t>(round_up(size))) != 0) {
    close_quietly(file);
    return -1;
  }
  return file;
}

// Where an allocation of this address is, or the end. Holds the mutex.
std::map<std::uintptr_t, Allocation>::iterator find(Allocations& all, const void* address) {
  auto after = all.all.upper_bound(number(address));
  if (after == all.all.begin()) {
    return all.all.end();
  }
  --after;
  const std::size_t size = std::max<std::size_t>(after->second.size, 1);
  return number(address) - after->first < size ? after : all.all.end();
}

bool is_host(const Allocation& allocation) {
  if (allocation.physical != nullptr) {
    return allocation.physical->properties.location.type != cuda::kLocationDevice;
  }
  return allocation.kind == AllocationKind::kHost || allocation.kind == AllocationKind::kRegistered;
}

cuda::Error out_of_memory(const char* what) {
  complain(what, errno);
  return fail(cuda::kOutOfMemory);
}

void drop_reference(Allocations& all, cuda::Physical* physical) {
  if (--physical->references > 0) {
    return;
  }
  const bool host = physical->properties.location.type != cuda::kLocationDevice;
  if (host && physical->counted) {
    usage_of(all, physical->device).host_now -= physical->size;
  } else if (!host && !physical->multicast && physical->counted) {
    give_device_memory(all, physical->device, physical->size, true);
  }
  if (physical->file >= 0) {
    ::close(physical->file);
  }
  delete physical;
}

}  // namespace

std::optional<FoundAllocation> find_allocation(const void* address) {
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  const auto found = find(all, address);
  if (found == all.all.end()) {
    return std::nullopt;
  }
  const Allocation& allocation = found->second;
  FoundAllocation result;
  result.begin = reinterpret_cast<void*>(found->first);  // NOLINT(performance-no-int-to-ptr): a map's key
  result.size = allocation.size;
  result.kind = allocation.kind;
  result.device = allocation.device;
  result.host = is_host(allocation);
  result.file = allocation.physical != nullptr ? allocation.physical->file : allocation.file;
  result.offset = allocation.offset;
  result.physical = allocation.physical;
  return result;
}

cuda::Error allocate_device(void** address, std::size_t size) {
  *address = nullptr;
  if (size == 0) {
    return cuda::kSuccess;
  }
  Allocations& all = allocations();
  const int device = current_device();
  const bool counted = !t_own;
  {
    const std::lock_guard lock(all.mutex);
    if (!take_device_memory(all, device, size, counted)) {
      return fail(cuda::kOutOfMemory);
    }
  }
  const int file = make_file("angio-phantom", size);
  void* const mapped =
      file < 0 ? MAP_FAILED
               : mmap(nullptr, round_up(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  const std::lock_guard lock(all.mutex);
  if (mapped == MAP_FAILED) {
    give_device_memory(all, device, size, counted);
    if (file >= 0) {
      close_quietly(file);
    }
    return out_of_memory("device memory");
  }
  all.all[number(mapped)] = {size, AllocationKind::kDevice, device, counted, file, 0, nullptr};
  *address = mapped;
  return cuda::kSuccess;
}

cuda::Error allocate_host(void** address, std::size_t size) {
  *address = nullptr;
  if (size == 0) {
    return cuda::kSuccess;
  }
  // Shared, though with nobody, so that zero_by_hole works on it.
  void* const mapped = mmap(nullptr, round_up(size), PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) {
    return out_of_memory("pinned memory");
  }
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  const int device = current_device();
  all.all[number(mapped)] = {size, AllocationKind::kHost, device, !t_own, -1, 0, nullptr};
  if (!t_own) {
    usage_of(all, device).host_now += size;
  }
  *address = mapped;
  return cuda::kSuccess;
}

cuda::Error register_host(void* address, std::size_t size) {
  if (address == nullptr || size == 0) {
    return fail(cuda::kInvalidValue);
  }
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  if (find(all, address) != all.all.end()) {
    return fail(cuda::kHostMemoryAlreadyRegistered);
  }
  const int device = current_device();
  all.all[number(address)] = {size, AllocationKind::kRegistered, device, !t_own, -1, 0, nullptr};
  if (!t_own) {
    usage_of(all, device).host_now += size;
  }
  return cuda::kSuccess;
}

cuda::Error release(void* address, AllocationKind kind, AllocationKind other) {
  if (address == nullptr) {
    return cuda::kSuccess;
  }
  Allocations& all = allocations();
  Allocation gone;
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.all.find(number(address));
    if (found == all.all.end() || (found->second.kind != kind && found->second.kind != other)) {
      return fail(cuda::kInvalidValue);
    }
    gone = found->second;
    all.all.erase(found);
    if (gone.kind == AllocationKind::kDevice) {
      give_device_memory(all, gone.device, gone.size, gone.counted);
    } else if (is_host(gone) && gone.counted) {
      usage_of(all, gone.device).host_now -= gone.size;
    }
  }
  // The range is still mapped, so nobody else can get it before it is forgotten.
  progress_forget(address, gone.size);
  if (gone.kind != AllocationKind::kRegistered) {
    munmap(address, round_up(gone.size));
  }
  if (gone.file >= 0) {
    ::close(gone.file);
  }
  return cuda::kSuccess;
}

cuda::Error open_shared(void** address, int file, std::size_t size) {
  void* const mapped = mmap(nullptr, round_up(size), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (mapped == MAP_FAILED) {
    close_quietly(file);
    return out_of_memory("shared device memory");
  }
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  all.all[number(mapped)] = {size, AllocationKind::kShared, current_device(), false, file, 0, nullptr};
  *address = mapped;
  return cuda::kSuccess;
}

void copy_memory(void* to, const void* from, std::size_t size) {
  if (size > 0 && to != from) {
    std::memmove(to, from, size);
  }
}

void set_memory(void* to, int value, std::size_t size) {
  if (size > 0 && (value != 0 || !zero_by_hole(to, size))) {
    std::memset(to, value, size);
  }
}

cuda::Error create_physical(cuda::Physical** physical, std::size_t size,
                            const cuda::AllocationProperties& properties, bool multicast) {
  const bool host = properties.location.type != cuda::kLocationDevice;
  const int device = host ? current_device() : properties.location.id;
  const bool counted = !t_own && !multicast;  // A multicast object has addresses, no memory of its own.
  if (size == 0 || (!host && gpu(device) == nullptr)) {
    return size == 0 ? cuda::kInvalidValue : cuda::kInvalidDevice;
  }
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  if (host && counted) {
    usage_of(all, device).host_now += size;
  } else if (counted && !take_device_memory(all, device, size, true)) {
    return cuda::kOutOfMemory;
  }
  auto* const made = new cuda::Physical{
      make_file("angio-phantom-physical", size), size, 1, properties, multicast, counted, device};
  if (made->file < 0) {
    complain("physical memory", errno);
    drop_reference(all, made);
    return cuda::kOutOfMemory;
  }
  *physical = made;
  return cuda::kSuccess;
}

cuda::Error import_physical(cuda::Physical** physical, int file) {
  const int copy = fcntl(file, F_DUPFD_CLOEXEC, 0);
  struct stat state{};
  if (copy < 0 || fstat(copy, &state) != 0) {
    complain("import of memory", errno);
    if (copy >= 0) {
      ::close(copy);
    }
    return cuda::kInvalidValue;
  }
  cuda::AllocationProperties properties{};
  properties.type = 1;  // CU_MEM_ALLOCATION_TYPE_PINNED
  properties.handle_types = cuda::kHandlePosixFileDescriptor;
  properties.location = {cuda::kLocationDevice, current_device()};
  // Its maker counts it.
  *physical = new cuda::Physical{
      copy, static_cast<std::size_t>(state.st_size), 1, properties, false, false, current_device()};
  return cuda::kSuccess;
}

cuda::Error map_physical(void* address, std::size_t size, std::size_t offset, cuda::Physical* physical) {
  if (mmap(address, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, physical->file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    complain("mapping of memory", errno);
    return cuda::kOutOfMemory;
  }
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  ++physical->references;
  const cuda::Location where = physical->properties.location;
  const int device = where.type == cuda::kLocationDevice ? where.id : -1;
  all.all[number(address)] = {size, AllocationKind::kMapped, device, false, -1, offset, physical};
  return cuda::kSuccess;
}

cuda::Error unmap_physical(void* address, std::size_t size) {
  Allocations& all = allocations();
  {
    const std::lock_guard lock(all.mutex);
    const auto found = all.all.find(number(address));
    if (found == all.all.end() || found->second.kind != AllocationKind::kMapped) {
      return cuda::kInvalidValue;
    }
  }
  progress_forget(address, size);
  const std::lock_guard lock(all.mutex);
  const auto found = all.all.find(number(address));
  if (found == all.all.end()) {
    return cuda::kInvalidValue;
  }
  // The reservation stays.
  mmap(address, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  drop_reference(all, found->second.physical);
  all.all.erase(found);
  return cuda::kSuccess;
}

void retain_physical(cuda::Physical* physical) {
  const std::lock_guard lock(allocations().mutex);
  ++physical->references;
}

void release_physical(cuda::Physical* physical) {
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  drop_reference(all, physical);
}

Usage usage(int device) {
  Allocations& all = allocations();
  const std::lock_guard lock(all.mutex);
  return usage_of(all, device);
}

}  // namespace angio::phantom

// 1: what this thread allocates from now on is the node program's and not NCCL's. Returns what held before.
ANGIO_STAND_IN int angio_phantom_own(int on) {
  const bool before = angio::phantom::t_own;
  angio::phantom::t_own = on != 0;
  return before ? 1 : 0;
}

ANGIO_STAND_IN void angio_phantom_memory(unsigned device, unsigned long long* now, unsigned long long* peak,
                                         unsigned long long* host) {
  const bool known = device < static_cast<unsigned>(angio::phantom::device_count());
  const angio::phantom::Usage usage =
      known ? angio::phantom::usage(static_cast<int>(device)) : angio::phantom::Usage{};
  *now = usage.device_now;
  *peak = usage.device_peak;
  *host = usage.host_now;
}
