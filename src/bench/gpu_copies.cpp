#include "bench/gpu_copies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "base/text.hpp"
#include "bench/cuda_api.hpp"
#include "bench/node_buffer.hpp"
#include "bench/numa_calls.hpp"
#include "bench/timing.hpp"

namespace angio::bench {
namespace {

using Clock = std::chrono::steady_clock;
using model::CopyDirection;

constexpr std::chrono::seconds kPatience{30};
constexpr Bytes kMostSize{std::uint64_t{256} << 20U};
constexpr double kShare = 0.5;  // of the time of a figure
constexpr std::uint32_t kLeastRepeats = 5;

// The primary context of one device, current on this thread while it lives.
class Context {
 public:
  static Result<Context> open(const Cuda& cuda, CudaDevice device) {
    CudaContext context = nullptr;
    auto done = cuda.check(cuda.api().retain_context(&context, device), "cuDevicePrimaryCtxRetain");
    if (!done) return std::unexpected(std::move(done.error()));
    Context held(cuda, device);
    done = cuda.check(cuda.api().use_context(context), "cuCtxSetCurrent");
    if (!done) return std::unexpected(std::move(done.error()));
    return held;
  }
  Context(Context&& other) noexcept : cuda_(std::exchange(other.cuda_, nullptr)), device_(other.device_) {}
  Context& operator=(Context&&) = delete;
  ~Context() {
    if (cuda_ == nullptr) return;
    (void)cuda_->api().use_context(nullptr);
    (void)cuda_->api().release_context(device_);
  }

 private:
  Context(const Cuda& cuda, CudaDevice device) : cuda_(&cuda), device_(device) {}
  const Cuda* cuda_;
  CudaDevice device_;
};

// What one GPU needs for copies: memory, a stream, two events.
class GpuSide {
 public:
  explicit GpuSide(const Cuda& cuda) : cuda_(cuda) {}
  GpuSide(const GpuSide&) = delete;
  GpuSide& operator=(const GpuSide&) = delete;
  ~GpuSide() {
    if (begin != nullptr) (void)cuda_.api().drop_event(begin);
    if (end != nullptr) (void)cuda_.api().drop_event(end);
    if (stream != nullptr) (void)cuda_.api().drop_stream(stream);
    if (memory != 0) (void)cuda_.api().release(memory);
  }
  Result<void> take(std::size_t size) {
    const CudaApi& api = cuda_.api();
    constexpr unsigned kNonBlocking = 1;  // CU_STREAM_NON_BLOCKING
    auto done = cuda_.check(api.allocate(&memory, size), "cuMemAlloc_v2");
    if (done) done = cuda_.check(api.make_stream(&stream, kNonBlocking), "cuStreamCreate");
    if (done) done = cuda_.check(api.make_event(&begin, 0), "cuEventCreate");
    if (done) done = cuda_.check(api.make_event(&end, 0), "cuEventCreate");
    return done;
  }

  CudaAddress memory = 0;
  CudaStream stream = nullptr;
  CudaEvent begin = nullptr;
  CudaEvent end = nullptr;

 private:
  const Cuda& cuda_;
};

class PinnedRange {
 public:
  PinnedRange(const Cuda& cuda, std::span<std::byte> bytes) : cuda_(cuda), bytes_(bytes) {
    state_ = cuda.check(cuda.api().pin(bytes.data(), bytes.size(), 0), "cuMemHostRegister_v2");
  }
  PinnedRange(const PinnedRange&) = delete;
  PinnedRange& operator=(const PinnedRange&) = delete;
  ~PinnedRange() {
    if (state_) (void)cuda_.api().unpin(bytes_.data());
  }
  [[nodiscard]] const Result<void>& state() const { return state_; }

 private:
  const Cuda& cuda_;
  std::span<std::byte> bytes_;
  Result<void> state_;
};

class Copies {
 public:
  Copies(const Cuda& cuda, const MemoryPlan& plan, const BenchTools& tools, model::MemoryBench& bench)
      : cuda_(cuda), plan_(plan), tools_(tools), bench_(bench) {}

  void measure(std::uint32_t gpu, CudaDevice device) {
    auto context = Context::open(cuda_, device);
    GpuSide side(cuda_);
    Result<void> ready;
    if (!context) {
      ready = std::unexpected(context.error());
    } else {
      ready = side.take(size());
    }
    for (const CpuSide& cpus : plan_.cpu_sides) {
      if (stopped()) return;
      const auto node = std::ranges::find(plan_.memory_nodes, cpus.node, &model::NumaNode::id);
      if (node == plan_.memory_nodes.end()) continue;  // CPUs without memory: nothing to copy from
      if (ready) {
        measure_from(*node, cpus.cpus.front(), gpu, side);
      } else {
        all_missing(cpus.node, gpu, ready.error().message);
      }
    }
  }

 private:
  [[nodiscard]] bool stopped() const { return tools_.interrupts.pending() != 0; }
  [[nodiscard]] std::size_t size() const { return std::min(plan_.size, kMostSize).value; }

  void add(NumaId node, std::uint32_t gpu, bool pinned, CopyDirection direction, model::BenchFigure figure) {
    bench_.gpu_copies.push_back({node, gpu, pinned, direction, std::move(figure)});
  }

  void kind_missing(NumaId node, std::uint32_t gpu, bool pinned, const std::string& why) {
    for (const CopyDirection direction : {CopyDirection::kToGpu, CopyDirection::kFromGpu})
      add(node, gpu, pinned, direction, model::BenchFigure{{}, why});
  }

  void all_missing(NumaId node, std::uint32_t gpu, const std::string& why) {
    kind_missing(node, gpu, true, why);
    kind_missing(node, gpu, false, why);
  }

  void measure_from(const model::NumaNode& node, std::uint32_t cpu, std::uint32_t gpu, const GpuSide& side) {
    tools_.progress(fmt::format("copies between memory of node {} and GPU {}", node.id.value, gpu));
    const KeptAffinity kept;
    (void)bind_this_thread(cpu);
    // Base pages, as a program's own buffers are.
    const BufferWish wish{&node, Bytes{size()}, plan_.one_memory, false};
    auto buffer = make_node_buffer(wish, tools_.root, tools_.interrupts);
    if (!buffer) return all_missing(node.id, gpu, buffer.error().message);
    measure_kind(node.id, gpu, false, buffer->bytes(), side);
    if (stopped()) return;
    const PinnedRange pinned(cuda_, buffer->bytes());
    if (!pinned.state()) return kind_missing(node.id, gpu, true, pinned.state().error().message);
    measure_kind(node.id, gpu, true, buffer->bytes(), side);
  }

  void measure_kind(NumaId node, std::uint32_t gpu, bool pinned, std::span<std::byte> bytes,
                    const GpuSide& side) {
    for (const CopyDirection direction : {CopyDirection::kToGpu, CopyDirection::kFromGpu}) {
      auto rates = repeat(pinned, direction, bytes, side);
      add(node, gpu, pinned, direction,
          rates ? figure_of(std::move(*rates)) : model::BenchFigure{{}, rates.error().message});
    }
  }

  Result<std::vector<double>> repeat(bool pinned, CopyDirection direction, std::span<std::byte> bytes,
                                     const GpuSide& side) {
    std::vector<double> rates;
    const Clock::time_point start = Clock::now();
    for (std::uint32_t turn = 0; !stopped(); ++turn) {
      const auto seconds = pinned ? one_pinned(direction, bytes, side) : one_pageable(direction, bytes, side);
      if (!seconds) return std::unexpected(seconds.error());
      // The first copy sets up staging buffers and page tables.
      if (turn > 0 && *seconds > 0) rates.push_back(static_cast<double>(bytes.size()) / *seconds);
      const double spent = std::chrono::duration<double>(Clock::now() - start).count();
      if (turn >= kLeastRepeats && spent >= plan_.seconds * kShare) break;
    }
    return rates;
  }

  // By the GPU's own clock.
  Result<double> one_pinned(CopyDirection direction, std::span<std::byte> bytes, const GpuSide& side) {
    const CudaApi& api = cuda_.api();
    auto done = cuda_.check(api.record(side.begin, side.stream), "cuEventRecord");
    if (done && direction == CopyDirection::kToGpu) {
      done = cuda_.check(api.to_gpu_async(side.memory, bytes.data(), bytes.size(), side.stream),
                         "cuMemcpyHtoDAsync_v2");
    } else if (done) {
      done = cuda_.check(api.from_gpu_async(bytes.data(), side.memory, bytes.size(), side.stream),
                         "cuMemcpyDtoHAsync_v2");
    }
    float milliseconds = 0;
    if (done) done = cuda_.check(api.record(side.end, side.stream), "cuEventRecord");
    if (done) done = cuda_.check(api.await(side.end), "cuEventSynchronize");
    if (done) done = cuda_.check(api.elapsed(&milliseconds, side.begin, side.end), "cuEventElapsedTime");
    if (!done) return std::unexpected(std::move(done.error()));
    return static_cast<double>(milliseconds) / 1e3;
  }

  // The driver copies by way of its own pinned buffers, with the CPU's time: the caller's clock counts.
  Result<double> one_pageable(CopyDirection direction, std::span<std::byte> bytes, const GpuSide& side) {
    const CudaApi& api = cuda_.api();
    const Clock::time_point begin = Clock::now();
    const auto done =
        direction == CopyDirection::kToGpu
            ? cuda_.check(api.to_gpu(side.memory, bytes.data(), bytes.size()), "cuMemcpyHtoD_v2")
            : cuda_.check(api.from_gpu(bytes.data(), side.memory, bytes.size()), "cuMemcpyDtoH_v2");
    if (!done) return std::unexpected(done.error());
    return std::chrono::duration<double>(Clock::now() - begin).count();
  }

  const Cuda& cuda_;
  const MemoryPlan& plan_;
  const BenchTools& tools_;
  model::MemoryBench& bench_;
};

std::optional<NumaId> node_of(const model::Machine& machine, const std::string& pci) {
  const auto address = parse_pci_address(pci);
  if (!address) return std::nullopt;
  for (const model::Gpu& gpu : machine.gpus) {
    if (gpu.address.is(*address) && gpu.numa.is_known()) return *gpu.numa.get();
  }
  return std::nullopt;
}

model::BenchGpu describe(const Cuda& cuda, const model::Machine& machine, std::uint32_t ordinal,
                         CudaDevice device) {
  model::BenchGpu gpu;
  gpu.ordinal = ordinal;
  std::array<char, 128> text{};
  if (cuda.api().device_name(text.data(), static_cast<int>(text.size()) - 1, device) == 0) {
    gpu.name = printable(text.data());
  }
  text.fill('\0');
  if (cuda.api().device_pci(text.data(), static_cast<int>(text.size()) - 1, device) == 0) {
    gpu.pci = to_lower(printable(text.data()));
  }
  gpu.node = node_of(machine, gpu.pci);
  return gpu;
}

}  // namespace

void measure_gpu_copies(const model::Machine& machine, const MemoryPlan& plan, const BenchTools& tools,
                        model::MemoryBench& bench) {
  if (tools.interrupts.pending() != 0) return;
  const auto cuda = Cuda::load(tools.libraries, kPatience);
  if (!cuda) {
    bench.gpu_note = cuda.error().message;
    return;
  }
  const CudaApi& api = (*cuda)->api();
  int count = 0;
  if (auto done = (*cuda)->check(api.device_count(&count), "cuDeviceGetCount"); !done) {
    bench.gpu_note = done.error().message;
    return;
  }
  if (count <= 0) bench.gpu_note = "the CUDA driver shows no GPU (CUDA_VISIBLE_DEVICES may hide them)";
  Copies copies(**cuda, plan, tools, bench);
  for (int ordinal = 0; ordinal < count && tools.interrupts.pending() == 0; ++ordinal) {
    CudaDevice device = 0;
    const auto number = static_cast<std::uint32_t>(ordinal);
    if (auto done = (*cuda)->check(api.device(&device, ordinal), "cuDeviceGet"); !done) {
      bench.gpu_note = fmt::format("GPU {}: {}", ordinal, done.error().message);
      continue;
    }
    bench.gpus.push_back(describe(**cuda, machine, number, device));
    copies.measure(number, device);
  }
}

}  // namespace angio::bench
