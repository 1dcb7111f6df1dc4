// What one event costs in the profiler plugin, called as NCCL calls it (version 5, through the loaded
// library): start and stop of a collective, of a proxy step with its three states, and from several threads
// on one communicator. Beside it the same events in a vector behind a mutex, and a plugin that does nothing.
#include <benchmark/benchmark.h>
#include <dlfcn.h>

#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <vector>

namespace {

// The begin of ncclProfilerEventDescr_v5_t and its collective (src/include/plugin/profiler/profiler_v5.h).
struct Descriptor {
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send;
      void* receive;
      std::size_t count;
      int root;
      const char* data_type;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
      void* group;
    } coll;
    struct {
      int pid;
      std::uint8_t channel;
      int peer;
      int steps;
      int chunk;
      int is_send;
    } op;
    int step;
  };
};
union Arguments {
  std::size_t transferred;
};
struct Plugin {
  const char* name;
  int (*init)(void**, std::uint64_t, int*, const char*, int, int, int, void*);
  int (*start)(void*, void**, Descriptor*);
  int (*stop)(void*);
  int (*state)(void*, int, Arguments*);
  int (*finalize)(void*);
};
constexpr std::uint64_t kColl = 2;
constexpr std::uint64_t kOp = 8;
constexpr std::uint64_t kStep = 16;

Descriptor collective() {
  Descriptor event{};
  event.type = kColl;
  event.coll = {.sequence = 1,
                .function = "AllReduce",
                .send = nullptr,
                .receive = nullptr,
                .count = 1024,
                .root = 0,
                .data_type = "ncclFloat32",
                .channels = 8,
                .warps = 16,
                .algorithm = "RING",
                .protocol = "SIMPLE",
                .group = nullptr};
  return event;
}

// The peer: what a plain plugin would do.
struct Recorded {
  Descriptor event;
  std::uint64_t start;
  std::uint64_t stop;
  std::uint64_t times[3];
};
struct MutexRecorder {
  std::mutex mutex;
  std::vector<Recorded> events;
};
MutexRecorder peer;

std::uint64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(time.tv_nsec);
}

int peer_start(void*, void** handle, Descriptor* event) {
  const std::lock_guard lock(peer.mutex);
  if (peer.events.size() == 1U << 16U) peer.events.clear();  // as bounded as the ring
  peer.events.push_back({*event, now(), 0, {}});
  *handle = reinterpret_cast<void*>(peer.events.size());
  return 0;
}
int peer_stop(void* handle) {
  const std::lock_guard lock(peer.mutex);
  const std::size_t index = reinterpret_cast<std::size_t>(handle) - 1;
  if (index < peer.events.size()) peer.events[index].stop = now();
  return 0;
}
int peer_state(void* handle, int, Arguments*) {
  const std::lock_guard lock(peer.mutex);
  const std::size_t index = reinterpret_cast<std::size_t>(handle) - 1;
  if (index < peer.events.size()) peer.events[index].times[0] = now();
  return 0;
}
int empty_start(void*, void** handle, Descriptor* event) {
  benchmark::DoNotOptimize(event);
  *handle = nullptr;
  return 0;
}
int empty_stop(void* handle) {
  benchmark::DoNotOptimize(handle);
  return 0;
}
int empty_state(void* handle, int, Arguments*) {
  benchmark::DoNotOptimize(handle);
  return 0;
}

const Plugin kPeer{"peer", nullptr, peer_start, peer_stop, peer_state, nullptr};
const Plugin kEmpty{"empty", nullptr, empty_start, empty_stop, empty_state, nullptr};
const Plugin* angio = nullptr;
void* context = nullptr;

void collectives(benchmark::State& state, const Plugin* plugin) {
  Descriptor event = collective();
  for (auto _ : state) {
    void* handle = nullptr;
    plugin->start(context, &handle, &event);
    plugin->stop(handle);
  }
}

void steps(benchmark::State& state, const Plugin* plugin) {
  Descriptor op{};
  op.type = kOp;
  op.op = {.pid = 0, .channel = 1, .peer = 2, .steps = 8, .chunk = 524288, .is_send = 1};
  void* parent = nullptr;
  plugin->start(context, &parent, &op);
  Descriptor event{};
  event.type = kStep;
  event.parent = parent;
  Arguments arguments{.transferred = 524288};
  for (auto _ : state) {
    void* handle = nullptr;
    plugin->start(context, &handle, &event);
    for (const int each : {8, 20, 9})
      plugin->state(handle, each, &arguments);
    plugin->stop(handle);
  }
  plugin->stop(parent);
}

}  // namespace

int main(int count, char** words) {
  if (count < 2) return 2;
  setenv("ANGIO_PROFILER_EVENTS", "steps", 1);
  void* library = dlopen(words[1], RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return 3;
  angio = static_cast<const Plugin*>(dlsym(library, "ncclProfiler_v5"));
  int mask = 0;
  angio->init(&context, 1, &mask, "benchmark", 1, 1, 0, nullptr);
  if (context == nullptr) return 3;
  for (const int threads : {1, 2}) {
    for (const auto& [name, plugin] :
         {std::pair{"angio", angio}, {"mutex and vector", &kPeer}, {"empty", &kEmpty}}) {
      const std::string end = std::string(" ") + name;
      benchmark::RegisterBenchmark(("start+stop" + end).c_str(), collectives, plugin)
          ->Threads(threads)
          ->UseRealTime();
      benchmark::RegisterBenchmark(("step: start, 3 states, stop" + end).c_str(), steps, plugin)
          ->Threads(threads)
          ->UseRealTime();
    }
  }
  --count;
  benchmark::Initialize(&count, words + 1);
  benchmark::RunSpecifiedBenchmarks();
  angio->finalize(context);
  return 0;
}
