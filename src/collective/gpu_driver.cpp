// GPUs by the CUDA driver.
#include <fmt/format.h>

#include <array>
#include <chrono>
#include <utility>

#include "base/text.hpp"
#include "bench/cuda_api.hpp"
#include "collective/gpu_side.hpp"
#include "host/libraries.hpp"

namespace angio::collective {
namespace {

using bench::Cuda;
using bench::CudaApi;

class DriverSide final : public GpuSide {
 public:
  explicit DriverSide(std::shared_ptr<const Cuda> cuda) : cuda_(std::move(cuda)) {}
  DriverSide(const DriverSide&) = delete;
  DriverSide& operator=(const DriverSide&) = delete;
  ~DriverSide() override {
    for (const bench::CudaEvent event : marks_)
      (void)api().drop_event(event);
    if (done_ != nullptr) (void)api().drop_event(done_);
    if (stream_ != nullptr) (void)api().drop_stream(stream_);
    if (retained_) (void)api().release_context(device_);
  }

  Result<void> begin(std::uint32_t local_rank) {
    int count = 0;
    if (auto done = check(api().device_count(&count), "cuDeviceGetCount"); !done) return done;
    if (count == 0) return fail(ErrorCode::kNotFound, "the CUDA driver shows no GPU");
    // A launcher that shows each rank its own GPU only.
    const std::uint32_t ordinal = count == 1 ? 0 : local_rank;
    if (ordinal >= static_cast<std::uint32_t>(count)) {
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("rank {} of this host has no GPU: CUDA shows {}", local_rank, count),
                  "One rank a GPU: --ranks, or CUDA_VISIBLE_DEVICES");
    }
    auto done = check(api().device(&device_, static_cast<int>(ordinal)), "cuDeviceGet");
    if (done) done = check(api().retain_context(&context_, device_), "cuDevicePrimaryCtxRetain");
    if (!done) return done;
    retained_ = true;
    done = check(api().use_context(context_), "cuCtxSetCurrent");
    constexpr unsigned kBlocking = 0;  // CU_STREAM_DEFAULT: in order with the copies
    if (done) done = check(api().make_stream(&stream_, kBlocking), "cuStreamCreate");
    if (done) done = check(api().make_event(&done_, 0), "cuEventCreate");
    return done;
  }

  [[nodiscard]] bool phantom() const override { return false; }
  [[nodiscard]] std::string name() const override {
    std::array<char, 256> text{};
    if (api().device_name(text.data(), static_cast<int>(text.size()), device_) != 0) return "GPU";
    return printable(text.data());
  }
  [[nodiscard]] std::string address() const override {
    std::array<char, 64> text{};
    if (api().device_pci(text.data(), static_cast<int>(text.size()), device_) != 0) return {};
    return to_lower(printable(text.data()));
  }
  [[nodiscard]] void* stream() const override { return stream_; }

  Result<Memory> allocate(Bytes size) override {
    bench::CudaAddress address = 0;
    if (auto done = check(api().allocate(&address, size.value), "cuMemAlloc"); !done) {
      return std::unexpected(
          std::move(done.error()).with_context(fmt::format("{} bytes on {}", size.value, name())));
    }
    return address;
  }
  void release(Memory memory) override { (void)api().release(memory); }

  // Copies go through the default stream, after which and before which the blocking stream of the calls
  // stands.
  Result<void> write(Memory to, std::span<const std::byte> data) override {
    return data.empty() ? Result<void>{} : check(api().to_gpu(to, data.data(), data.size()), "cuMemcpyHtoD");
  }
  Result<void> read(Memory from, std::span<std::byte> data) override {
    return data.empty() ? Result<void>{}
                        : check(api().from_gpu(data.data(), from, data.size()), "cuMemcpyDtoH");
  }
  Result<void> finish() override {
    auto done = check(api().record(done_, stream_), "cuEventRecord");
    return done ? check(api().await(done_), "cuEventSynchronize") : done;
  }

  Result<void> mark() override {
    if (used_ == marks_.size()) {
      bench::CudaEvent event = nullptr;
      if (auto made = check(api().make_event(&event, 0), "cuEventCreate"); !made) return made;
      marks_.push_back(event);
    }
    return check(api().record(marks_[used_++], stream_), "cuEventRecord");
  }
  Result<std::vector<double>> take_marks() override {
    std::vector<double> times;
    const std::size_t count = std::exchange(used_, 0);
    if (auto done = finish(); !done) return std::unexpected(std::move(done.error()));
    constexpr double kMicrosecondsOfMillisecond = 1000;
    for (std::size_t i = 1; i < count; ++i) {
      float milliseconds = 0;
      if (auto done = check(api().elapsed(&milliseconds, marks_[i - 1], marks_[i]), "cuEventElapsedTime");
          !done)
        return std::unexpected(std::move(done.error()));
      times.push_back(static_cast<double>(milliseconds) * kMicrosecondsOfMillisecond);
    }
    return times;
  }

 private:
  [[nodiscard]] const CudaApi& api() const { return cuda_->api(); }
  [[nodiscard]] Result<void> check(bench::CudaResult result, const char* call) const {
    return cuda_->check(result, call);
  }

  std::shared_ptr<const Cuda> cuda_;
  bench::CudaDevice device_ = 0;
  bench::CudaContext context_ = nullptr;
  bench::CudaStream stream_ = nullptr;
  bench::CudaEvent done_ = nullptr;
  std::vector<bench::CudaEvent> marks_;
  std::size_t used_ = 0;
  bool retained_ = false;
};

}  // namespace

Result<std::unique_ptr<GpuSide>> make_driver_side(std::uint32_t local_rank) {
  constexpr std::chrono::seconds kPatience{
      60};  // cuInit of many GPUs without persistence mode takes its time
  const auto loader = host::make_library_loader();
  auto cuda = Cuda::load(*loader, kPatience);
  if (!cuda) return std::unexpected(std::move(cuda.error()));
  auto side = std::make_unique<DriverSide>(std::move(*cuda));
  if (auto begun = side->begin(local_rank); !begun) return std::unexpected(std::move(begun.error()));
  return side;
}

}  // namespace angio::collective
