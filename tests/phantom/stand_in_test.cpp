// The CUDA stand-in in a process of its own: this program runs with it preloaded
// (tests/phantom/CMakeLists.txt), on the hardware of hardware.txt. PHANTOM_INSIDE and PHANTOM_LINKED name the
// two libraries that meet it.
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

constexpr int kInvalidValue = 1;    // cudaErrorInvalidValue
constexpr int kNotSupported = 801;  // cudaErrorNotSupported
constexpr int kInvalidDevice = 101;
constexpr std::size_t kGranularity = std::size_t{2} << 20U;

template <class Function>
Function* find(const char* name, void* library = RTLD_DEFAULT) {
  void* const found = dlsym(library, name);
  EXPECT_NE(found, nullptr) << name;
  return reinterpret_cast<Function*>(found);
}

void* load(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << path;
  return library;
}

template <class Function>
Function* driver(const char* name, int version = 12000) {
  void* found = nullptr;
  int status = 1;
  find<int(const char*, void**, unsigned, unsigned long long, int*)>("cudaGetDriverEntryPointByVersion")(
      name, &found, static_cast<unsigned>(version), 0, &status);
  EXPECT_EQ(status, 0) << name;
  return reinterpret_cast<Function*>(found);
}

struct Memory {
  unsigned long long now = 0;
  unsigned long long peak = 0;
  unsigned long long host = 0;
};
Memory memory(unsigned device) {
  Memory use;
  find<void(unsigned, unsigned long long*, unsigned long long*, unsigned long long*)>("angio_phantom_memory")(
      device, &use.now, &use.peak, &use.host);
  return use;
}

std::string refused() {
  std::array<char, 4096> names{};
  find<std::size_t(char*, std::size_t)>("angio_phantom_refused")(names.data(), names.size());
  return names.data();
}

int set_device(int device) {
  return find<int(int)>("cudaSetDevice")(device);
}

// Mappings that are writable and executable at once.
int writable_code() {
  std::ifstream maps("/proc/self/maps");
  int count = 0;
  for (std::string line; std::getline(maps, line);) {
    count += line.find(" rwx") != std::string::npos ? 1 : 0;
  }
  return count;
}

int redirect(const char* path, unsigned& provided, unsigned& rest) {
  double milliseconds = -1;
  const int outcome = find<int(const char*, double*, unsigned*, unsigned*)>("angio_phantom_redirect")(
      path, &milliseconds, &provided, &rest);
  EXPECT_GE(milliseconds, 0);
  return outcome;
}

TEST(Redirection, TakesTheCallsOfARuntimeInside) {
  void* const library = load(PHANTOM_INSIDE);
  auto* const device_count = find<int(int*)>("inside_device_count", library);
  int count = 0;
  ASSERT_EQ(device_count(&count), 4711);
  unsigned provided = 0;
  unsigned rest = 0;
  ASSERT_EQ(redirect(PHANTOM_INSIDE, provided, rest), 0);
  EXPECT_EQ(provided, 3U);
  EXPECT_EQ(rest, 1U);
  EXPECT_EQ(device_count(&count), 0);
  EXPECT_EQ(count, 2);
  void* address = nullptr;
  EXPECT_EQ(find<int(void**, std::size_t)>("inside_malloc", library)(&address, 4096), 0);
  ASSERT_NE(address, nullptr);
  EXPECT_EQ(find<int(void*)>("cudaFree")(address), 0);
  EXPECT_EQ(find<int()>("inside_left_alone", library)(), 2 * 4711);
  EXPECT_EQ(writable_code(), 0);
  EXPECT_EQ(find<int()>("inside_refused", library)(), kNotSupported);
  EXPECT_NE(refused().find("cudaArrayGetPlane\n"), std::string::npos);
  EXPECT_EQ(find<int()>("cudaGetLastError")(), kNotSupported);
  // A second time nothing is left to do, and the same is said.
  ASSERT_EQ(redirect(PHANTOM_INSIDE, provided, rest), 0);
  EXPECT_EQ(provided, 3U);
}

TEST(Redirection, SaysWhyItCannot) {
  unsigned provided = 0;
  unsigned rest = 0;
  EXPECT_EQ(redirect("/nowhere/libnccl.so.2", provided, rest), 1);
  load(PHANTOM_LINKED);
  EXPECT_EQ(redirect(PHANTOM_LINKED, provided, rest), 4);
  EXPECT_EQ(provided, 0U);
}

TEST(Runtime, IsFoundByItsName) {
  int count = 0;
  EXPECT_EQ(find<int(int*)>("linked_device_count", load(PHANTOM_LINKED))(&count), 0);
  EXPECT_EQ(count, 2);
}

TEST(Devices, AnswerFromTheHardware) {
  auto* const attribute = find<int(int*, int, int)>("cudaDeviceGetAttribute");
  int value = -1;
  EXPECT_EQ(attribute(&value, 75, 0), 0);  // major of the compute capability
  EXPECT_EQ(value, 9);
  EXPECT_EQ(attribute(&value, 116, 1), 0);  // GPUDirect RDMA
  EXPECT_EQ(value, 0);
  EXPECT_EQ(attribute(&value, 132, 0), 0);  // multicast
  EXPECT_EQ(value, 1);
  EXPECT_EQ(attribute(&value, 132, 1), 0);
  EXPECT_EQ(value, 0);
  EXPECT_EQ(attribute(&value, 75, 2), kInvalidDevice);
  std::array<char, 16> bus{};
  EXPECT_EQ(find<int(char*, int, int)>("cudaDeviceGetPCIBusId")(bus.data(), bus.size(), 1), 0);
  EXPECT_STREQ(bus.data(), "0000:9A:00.0");
  EXPECT_EQ(find<int(int*, const char*)>("cudaDeviceGetByPCIBusId")(&value, "0000:9a:00.0"), 0);
  EXPECT_EQ(value, 1);
  EXPECT_EQ(find<int(int*, int, int)>("cudaDeviceCanAccessPeer")(&value, 0, 1), 0);
  EXPECT_EQ(value, 0);  // p2p status=4
  EXPECT_EQ(find<int(int*, int, int)>("cudaDeviceCanAccessPeer")(&value, 1, 0), 0);
  EXPECT_EQ(value, 1);
}

TEST(Memory, CountsWhatIsNotTheProgramsOwn) {
  ASSERT_EQ(set_device(1), 0);
  auto* const allocate = find<int(void**, std::size_t)>("cudaMalloc");
  auto* const release = find<int(void*)>("cudaFree");
  auto* const own = find<int(int)>("angio_phantom_own");
  const Memory before = memory(1);
  void* counted = nullptr;
  void* uncounted = nullptr;
  ASSERT_EQ(allocate(&counted, 1000000), 0);
  EXPECT_EQ(own(1), 0);
  ASSERT_EQ(allocate(&uncounted, 5000000), 0);
  EXPECT_EQ(own(0), 1);
  EXPECT_EQ(memory(1).now - before.now, 1000000U);
  void* pinned = nullptr;
  ASSERT_EQ(find<int(void**, std::size_t, unsigned)>("cudaHostAlloc")(&pinned, 4096, 0), 0);
  EXPECT_EQ(memory(1).host - before.host, 4096U);
  EXPECT_EQ(memory(1).now - before.now, 1000000U);
  EXPECT_EQ(find<int(void*)>("cudaFreeHost")(pinned), 0);
  EXPECT_EQ(release(counted), 0);
  EXPECT_EQ(release(uncounted), 0);
  EXPECT_EQ(memory(1).now, before.now);
  EXPECT_EQ(memory(1).host, before.host);
  EXPECT_GE(memory(1).peak, before.now + 1000000U);
  EXPECT_EQ(release(counted), 1);  // cudaErrorInvalidValue: it is gone
  EXPECT_EQ(memory(77).now, 0U);
}

TEST(Memory, IsAsLargeAsTheGpu) {
  ASSERT_EQ(set_device(1), 0);
  void* address = nullptr;
  EXPECT_EQ(find<int(void**, std::size_t)>("cudaMalloc")(&address, (std::size_t{16} << 30U) + 1), 2);
  EXPECT_EQ(address, nullptr);
}

TEST(Memory, ZerosAreHoles) {
  constexpr std::size_t kSize = std::size_t{32} << 20U;
  ASSERT_EQ(set_device(0), 0);
  void* address = nullptr;
  ASSERT_EQ(find<int(void**, std::size_t)>("cudaMalloc")(&address, kSize), 0);
  auto* const bytes = static_cast<unsigned char*>(address);
  auto* const set = find<int(void*, int, std::size_t)>("cudaMemset");
  EXPECT_EQ(set(bytes, 0xab, kSize), 0);
  EXPECT_EQ(bytes[kSize - 1], 0xab);
  EXPECT_EQ(set(bytes + 100, 0, kSize - 200), 0);
  EXPECT_EQ(bytes[99], 0xab);
  EXPECT_EQ(bytes[100], 0);
  EXPECT_EQ(bytes[kSize / 2], 0);
  EXPECT_EQ(bytes[kSize - 101], 0);
  EXPECT_EQ(bytes[kSize - 100], 0xab);
  std::array<unsigned char, 1> resident{};
  const auto middle = (reinterpret_cast<std::uintptr_t>(bytes) + kSize / 2) / 65536 * 65536;
  EXPECT_EQ(set(bytes + 100, 0, kSize - 200), 0);
  ASSERT_EQ(mincore(reinterpret_cast<void*>(middle), 1, resident.data()), 0);
  EXPECT_EQ(resident[0] & 1, 0);
  EXPECT_EQ(find<int(void*)>("cudaFree")(address), 0);
}

// CUmemAllocationProp
struct AllocationProperties {
  int type = 1;
  int handle_types = 1;
  int location_type = 1;
  int device = 0;
  void* metadata = nullptr;
  std::uint64_t flags = 0;
};

TEST(VirtualMemory, TwoMappingsOfOneAllocationAreOne) {
  using Handle = void*;
  const Memory before = memory(0);
  Handle handle = nullptr;
  AllocationProperties properties;
  ASSERT_EQ((driver<int(Handle*, std::size_t, const AllocationProperties*, unsigned long long)>(
                "cuMemCreate")(&handle, kGranularity, &properties, 0)),
            0);
  EXPECT_EQ(memory(0).now - before.now, kGranularity);
  int file = -1;
  ASSERT_EQ((driver<int(void*, Handle, int, unsigned long long)>("cuMemExportToShareableHandle")(
                &file, handle, 1, 0)),
            0);
  Handle imported = nullptr;
  ASSERT_EQ((driver<int(Handle*, void*, int)>("cuMemImportFromShareableHandle")(
                &imported, reinterpret_cast<void*>(static_cast<std::intptr_t>(file)), 1)),
            0);
  close(file);
  EXPECT_EQ(memory(0).now - before.now, kGranularity);  // counted once
  auto* const reserve =
      driver<int(unsigned long long*, std::size_t, std::size_t, unsigned long long, unsigned long long)>(
          "cuMemAddressReserve");
  auto* const map =
      driver<int(unsigned long long, std::size_t, std::size_t, Handle, unsigned long long)>("cuMemMap");
  auto* const unmap = driver<int(unsigned long long, std::size_t)>("cuMemUnmap");
  auto* const release = driver<int(Handle)>("cuMemRelease");
  EXPECT_EQ(release(nullptr), kInvalidValue);
  unsigned long long first = 0;
  unsigned long long second = 0;
  ASSERT_EQ(reserve(&first, kGranularity, 0, 0, 0), 0);
  ASSERT_EQ(reserve(&second, kGranularity, 0, 0, 0), 0);
  EXPECT_EQ(first % kGranularity, 0U);
  ASSERT_EQ(map(first, kGranularity, 0, handle, 0), 0);
  ASSERT_EQ(map(second, kGranularity, 0, imported, 0), 0);
  *reinterpret_cast<int*>(first) = 42;
  EXPECT_EQ(*reinterpret_cast<int*>(second), 42);
  unsigned long long begin = 0;
  std::size_t size = 0;
  EXPECT_EQ((driver<int(unsigned long long*, std::size_t*, unsigned long long)>("cuMemGetAddressRange")(
                &begin, &size, first + 5000)),
            0);
  EXPECT_EQ(begin, first);
  EXPECT_EQ(size, kGranularity);
  EXPECT_EQ(release(handle), 0);
  EXPECT_EQ(memory(0).now - before.now, kGranularity);  // still mapped
  EXPECT_EQ(unmap(first, kGranularity), 0);
  EXPECT_EQ(memory(0).now, before.now);
  EXPECT_EQ(unmap(second, kGranularity), 0);
  EXPECT_EQ(release(imported), 0);
  EXPECT_EQ(unmap(second, kGranularity), 1);
}

TEST(VirtualMemory, RefusesFabricHandles) {
  void* handle = nullptr;
  AllocationProperties properties;
  properties.handle_types = 8;
  EXPECT_EQ((driver<int(void**, std::size_t, const AllocationProperties*, unsigned long long)>("cuMemCreate")(
                &handle, kGranularity, &properties, 0)),
            kNotSupported);
}

TEST(Multicast, NeedsAGpuThatHasIt) {
  struct Properties {
    unsigned devices = 2;
    std::size_t size = kGranularity;
    unsigned long long handle_types = 1;
    unsigned long long flags = 0;
  } properties;
  auto* const create = driver<int(void**, const Properties*)>("cuMulticastCreate");
  void* handle = nullptr;
  ASSERT_EQ(set_device(1), 0);
  EXPECT_EQ(create(&handle, &properties), kNotSupported);
  ASSERT_EQ(set_device(0), 0);
  const Memory before = memory(0);
  EXPECT_EQ(create(&handle, &properties), 0);
  EXPECT_EQ(memory(0).now, before.now);  // addresses, no memory
  EXPECT_EQ(driver<int(void*)>("cuMemRelease")(handle), 0);
}

TEST(Driver, OldNcclFindsItWithoutItsLibrary) {
  void* const library = dlopen("libcuda.so", RTLD_LAZY);
  ASSERT_NE(library, nullptr);
  auto* const get = find<int(const char*, void**, int, unsigned long long)>("cuGetProcAddress", library);
  void* found = nullptr;
  EXPECT_EQ(get("cuMemCreate", &found, 10020, 0), 0);
  EXPECT_NE(found, nullptr);
  EXPECT_EQ(get("cuNoSuchFunction", &found, 10020, 0), 500);
  EXPECT_EQ(found, nullptr);
}

TEST(Launches, AreRememberedOnceWithTheKernelsName) {
  ASSERT_EQ(set_device(0), 0);
  const void* const kernel = find<const void*()>("inside_kernel", load(PHANTOM_INSIDE))();
  auto* const launch = driver<int(const void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                  unsigned, void*, void**, void**)>("cuLaunchKernel");
  ASSERT_EQ(launch(kernel, 24, 1, 1, 512, 1, 1, 0, nullptr, nullptr, nullptr), 0);
  auto* const last =
      find<int(unsigned, char*, std::size_t, unsigned*, unsigned*)>("angio_phantom_last_launch");
  std::array<char, 64> name{};
  unsigned grid = 0;
  unsigned block = 0;
  ASSERT_EQ(last(0, name.data(), name.size(), &grid, &block), 1);
  EXPECT_STREQ(name.data(), "exampleKernel");
  EXPECT_EQ(grid, 24U);
  EXPECT_EQ(block, 512U);
  EXPECT_EQ(last(0, name.data(), name.size(), &grid, &block), 0);
}

TEST(SharedMemory, GoesToTheFolder) {
  std::string folder = testing::TempDir() + "angio-phantom-XXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  ASSERT_EQ(setenv("ANGIO_PHANTOM_SHM", folder.c_str(), 1), 0);
  std::string name = "/dev/shm/nccl-XXXXXX";
  const int file = mkstemp(name.data());
  ASSERT_GE(file, 0);
  EXPECT_EQ(name.substr(0, 14), "/dev/shm/nccl-");
  EXPECT_NE(name.substr(14), "XXXXXX");
  const std::string real = folder + name.substr(8);
  EXPECT_EQ(access(real.c_str(), F_OK), 0);
  const int again = open(name.c_str(), O_RDWR);
  EXPECT_GE(again, 0);
  // Its size is there, its pages are not.
  EXPECT_EQ(fallocate(file, 0, 0, 1 << 20), 0);
  struct stat state{};
  EXPECT_EQ(fstat(again, &state), 0);
  EXPECT_EQ(state.st_size, 1 << 20);
  EXPECT_EQ(state.st_blocks, 0);
  EXPECT_EQ(unlink(name.c_str()), 0);
  EXPECT_NE(access(real.c_str(), F_OK), 0);
  close(file);
  close(again);
  unsetenv("ANGIO_PHANTOM_SHM");
  EXPECT_EQ(rmdir(folder.c_str()), 0);
}

TEST(Sockets, AnEmptyOneSaysSo) {
  std::array<int, 2> ends{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends.data()), 0);
  char letter = 0;
  EXPECT_EQ(recv(ends[0], &letter, 1, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
  ASSERT_EQ(write(ends[1], "x", 1), 1);
  EXPECT_EQ(recv(ends[0], &letter, 1, MSG_DONTWAIT), 1);
  EXPECT_EQ(letter, 'x');
  close(ends[0]);
  close(ends[1]);
}

TEST(SystemCalls, PciDevicesOfThisMachineAreNotTheNodes) {
  std::array<char, PATH_MAX> resolved{};
  EXPECT_EQ(realpath("/sys/class/pci_bus/0000:00/../../0000:00:00.0", resolved.data()), nullptr);
  EXPECT_EQ(errno, ENOENT);
  EXPECT_NE(realpath("/proc", resolved.data()), nullptr);
  // With NCCL's own NET/IB they are.
  ASSERT_EQ(setenv("NCCL_NET", "IB", 1), 0);
  const bool has_bus = access("/sys/class/pci_bus", F_OK) == 0;
  EXPECT_EQ(realpath("/sys/class/pci_bus/", resolved.data()) != nullptr, has_bus);
  unsetenv("NCCL_NET");
}

}  // namespace

// Runs once more with CUDA_VISIBLE_DEVICES: the environment is read at the first call.
TEST(Visible, DISABLED_OnlyTheNamedGpu) {
  int count = 0;
  ASSERT_EQ(find<int(int*)>("cudaGetDeviceCount")(&count), 0);
  EXPECT_EQ(count, 1);
  std::array<char, 16> bus{};
  EXPECT_EQ(find<int(char*, int, int)>("cudaDeviceGetPCIBusId")(bus.data(), bus.size(), 0), 0);
  EXPECT_STREQ(bus.data(), "0000:9A:00.0");
}

// And with a description of the node that is not there.
TEST(Problem, DISABLED_WithoutHardwareItIsSaidWhy) {
  std::array<char, 256> text{};
  const std::size_t size =
      find<std::size_t(char*, std::size_t)>("angio_phantom_problem")(text.data(), text.size());
  EXPECT_STREQ(text.data(), "/nonexistent/hardware: No such file or directory");
  EXPECT_EQ(size, std::strlen(text.data()));
  int count = -1;
  EXPECT_EQ(find<int(int*)>("cudaGetDeviceCount")(&count), 100);
  EXPECT_EQ(count, 0);
}
