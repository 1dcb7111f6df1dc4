// Runs a real libnccl on phantom GPUs in one process: ncclCommInitAll over the GPUs of a topology file, three
// AllReduce, destroy. The stand-ins are preloaded by whoever starts it (LD_PRELOAD). For tests and for
// looking at one NCCL by itself; `angio dryrun` is the tool.
//
//   phantom_run LIBNCCL TOPOLOGY [ranks]
//
// Prints what it did on stderr, one "phantom_run: " line a step; NCCL's own log goes where NCCL_DEBUG_FILE
// says.
#include <dlfcn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "phantom/hardware.hpp"

namespace {

using Comm = void*;
using Clock = std::chrono::steady_clock;

constexpr int kFloat = 7;  // ncclFloat32

double milliseconds_since(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

template <class Function>
Function* find(void* library, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) {
    std::fprintf(stderr, "phantom_run: no %s\n", name);
    std::_Exit(3);
  }
  return reinterpret_cast<Function*>(found);
}

std::string attribute(std::string_view element, std::string_view name) {
  const std::string key = " " + std::string(name) + "=\"";
  const std::size_t begin = element.find(key);
  if (begin == std::string_view::npos) {
    return {};
  }
  const std::string_view value = element.substr(begin + key.size());
  return std::string(value.substr(0, value.find('"')));
}

// The GPUs of NCCL's topology file, in its order.
angio::phantom::Hardware read_topology(const char* path) {
  std::ifstream stream(path);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  angio::phantom::Hardware hardware;
  for (std::size_t at = text.find('<'); at != std::string::npos; at = text.find('<', at + 1)) {
    const std::string_view element = std::string_view(text).substr(at, text.find('>', at) - at);
    if (element.starts_with("<pci ") && attribute(element, "class").starts_with("0x0302")) {
      angio::phantom::Gpu gpu;
      gpu.bus = attribute(element, "busid");
      gpu.name = "Phantom GPU";
      hardware.gpus.push_back(gpu);
    } else if (element.starts_with("<gpu ") && !hardware.gpus.empty()) {
      const std::string sm = attribute(element, "sm");
      hardware.gpus.back().sm = sm.empty() ? 80 : static_cast<std::uint32_t>(std::stoul(sm));
      hardware.gpus.back().multicast = hardware.gpus.back().sm >= 90;
    }
  }
  return hardware;
}

// Into a memory file that the stand-ins find by the environment.
void publish(const angio::phantom::Hardware& hardware) {
  const std::string text = write_hardware(hardware);
  const int file = memfd_create("hardware", 0);
  if (file < 0 || write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    std::perror("phantom_run: hardware");
    std::_Exit(3);
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  setenv(angio::phantom::kHardwareVariable, path.c_str(), 1);
}

struct Nccl {
  explicit Nccl(void* library)
      : version(find<int(int*)>(library, "ncclGetVersion")),
        init_all(find<int(Comm*, int, const int*)>(library, "ncclCommInitAll")),
        all_reduce(
            find<int(const void*, void*, std::size_t, int, int, Comm, void*)>(library, "ncclAllReduce")),
        group_start(find<int()>(library, "ncclGroupStart")),
        group_end(find<int()>(library, "ncclGroupEnd")),
        destroy(find<int(Comm)>(library, "ncclCommDestroy")),
        error_string(find<const char*(int)>(library, "ncclGetErrorString")) {}

  void check(int result, const char* call) const {
    if (result != 0) {
      std::fprintf(stderr, "phantom_run: %s: %d %s\n", call, result, error_string(result));
      std::_Exit(1);
    }
  }

  int (*version)(int*);
  int (*init_all)(Comm*, int, const int*);
  int (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, void*);
  int (*group_start)();
  int (*group_end)();
  int (*destroy)(Comm);
  const char* (*error_string)(int);
};

void redirect(const char* path) {
  auto* const redirect =
      find<int(const char*, double*, unsigned*, unsigned*)>(RTLD_DEFAULT, "angio_phantom_redirect");
  double milliseconds = 0;
  unsigned provided = 0;
  unsigned refused = 0;
  const int outcome = redirect(path, &milliseconds, &provided, &refused);
  std::fprintf(stderr, "phantom_run: redirect %d, %.2f ms, %u provided, %u refused\n", outcome, milliseconds,
               provided, refused);
  if (outcome != 0 && outcome != 4) {
    std::_Exit(3);
  }
}

void all_reduce(const Nccl& nccl, const std::vector<Comm>& comms, std::size_t bytes,
                const std::vector<void*>& buffers) {
  const auto begin = Clock::now();
  nccl.check(nccl.group_start(), "ncclGroupStart");
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    nccl.check(nccl.all_reduce(buffers[rank], buffers[rank], bytes / 4, kFloat, 0, comms[rank], nullptr),
               "ncclAllReduce");
  }
  nccl.check(nccl.group_end(), "ncclGroupEnd");
  auto* const last_launch = find<int(unsigned, char*, std::size_t, unsigned*, unsigned*)>(
      RTLD_DEFAULT, "angio_phantom_last_launch");
  char kernel[256] = "none";
  unsigned grid = 0;
  unsigned block = 0;
  last_launch(0, kernel, sizeof kernel, &grid, &block);
  std::fprintf(stderr, "phantom_run: AllReduce %zu bytes: %.1f ms, kernel %s, grid %u, block %u\n", bytes,
               milliseconds_since(begin), kernel, grid, block);
}

void report() {
  auto* const memory = find<void(unsigned, unsigned long long*, unsigned long long*, unsigned long long*)>(
      RTLD_DEFAULT, "angio_phantom_memory");
  unsigned long long now = 0;
  unsigned long long peak = 0;
  unsigned long long host = 0;
  memory(0, &now, &peak, &host);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  char refused[4096] = "";
  find<std::size_t(char*, std::size_t)>(RTLD_DEFAULT, "angio_phantom_refused")(refused, sizeof refused);
  std::fprintf(stderr,
               "phantom_run: device 0: %llu bytes, peak %llu, pinned %llu; RSS %ld KiB; refused: %s\n", now,
               peak, host, usage.ru_maxrss, *refused == '\0' ? "none\n" : refused);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "phantom_run LIBNCCL TOPOLOGY [ranks]\n");
    return 2;
  }
  const angio::phantom::Hardware hardware = read_topology(argv[2]);
  publish(hardware);
  setenv("NCCL_TOPO_FILE", argv[2], 1);
  void* const library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    std::fprintf(stderr, "phantom_run: %s\n", dlerror());
    return 3;
  }
  redirect(argv[1]);
  const Nccl nccl(library);
  int version = 0;
  nccl.check(nccl.version(&version), "ncclGetVersion");
  std::vector<Comm> comms(argc > 3 ? static_cast<std::size_t>(std::atoi(argv[3])) : hardware.gpus.size());
  const auto begin = Clock::now();
  nccl.check(nccl.init_all(comms.data(), static_cast<int>(comms.size()), nullptr), "ncclCommInitAll");
  std::fprintf(stderr, "phantom_run: NCCL %d, %zu ranks, init %.3f s\n", version, comms.size(),
               milliseconds_since(begin) / 1e3);
  constexpr std::size_t kLargest = std::size_t{64} << 20U;
  auto* const own = find<int(int)>(RTLD_DEFAULT, "angio_phantom_own");
  auto* const set_device = find<int(int)>(RTLD_DEFAULT, "cudaSetDevice");
  auto* const allocate = find<int(void**, std::size_t)>(RTLD_DEFAULT, "cudaMalloc");
  std::vector<void*> buffers(comms.size());
  own(1);
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    set_device(static_cast<int>(rank));
    nccl.check(allocate(&buffers[rank], kLargest), "cudaMalloc");
  }
  own(0);
  for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20U, kLargest}) {
    all_reduce(nccl, comms, bytes, buffers);
  }
  report();
  const auto end = Clock::now();
  for (Comm comm : comms) {
    nccl.check(nccl.destroy(comm), "ncclCommDestroy");
  }
  std::fprintf(stderr, "phantom_run: destroyed in %.3f s\n", milliseconds_since(end) / 1e3);
  std::_Exit(0);
}
