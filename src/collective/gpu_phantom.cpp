// Phantom GPUs: memory that nothing touches, calls that complete at once.
#include <fmt/format.h>

#include "base/text.hpp"
#include "collective/gpu_side.hpp"
#include "nccl_run/nccl_api.hpp"

namespace angio::collective {
namespace {

class PhantomSide final : public GpuSide {
 public:
  explicit PhantomSide(const nccl_run::StandInApi& api) : api_(api) {}

  Result<void> begin(const std::string& library, bool redirect) {
    std::string problem(api_.problem(nullptr, 0) + 1, '\0');
    api_.problem(problem.data(), problem.size());
    problem.pop_back();
    if (!problem.empty()) return fail(ErrorCode::kInvalidInput, "the phantom GPUs: " + printable(problem));
    if (redirect) {
      double milliseconds = 0;
      unsigned provided = 0;
      unsigned refused = 0;
      if (api_.redirect(library.c_str(), &milliseconds, &provided, &refused) != 0)
        return fail(
            ErrorCode::kUnsupported,
            fmt::format("{}: the entries of its CUDA runtime could not be redirected", printable(library)));
    }
    if (auto done = check(api_.set_device(0), "cudaSetDevice"); !done) return done;
    constexpr unsigned kNonBlocking = 1;
    return check(api_.make_stream(&stream_, kNonBlocking), "cudaStreamCreateWithFlags");
  }

  [[nodiscard]] bool phantom() const override { return true; }
  [[nodiscard]] std::string name() const override { return "phantom GPU"; }
  [[nodiscard]] std::string address() const override { return {}; }
  [[nodiscard]] void* stream() const override { return stream_; }
  Result<Memory> allocate(Bytes size) override {
    void* address = nullptr;
    api_.own(1);
    auto done = check(api_.allocate(&address, size.value), "cudaMalloc");
    api_.own(0);
    if (!done) return std::unexpected(std::move(done.error()));
    return reinterpret_cast<Memory>(address);  // NOLINT: an address is what Memory is
  }
  void release(Memory) override {}
  Result<void> write(Memory, std::span<const std::byte>) override { return {}; }
  Result<void> read(Memory, std::span<std::byte>) override { return {}; }
  Result<void> finish() override { return {}; }
  Result<void> mark() override { return {}; }
  Result<std::vector<double>> take_marks() override { return std::vector<double>{}; }

 private:
  [[nodiscard]] Result<void> check(int result, const char* call) const {
    if (result == 0) return {};
    return fail(ErrorCode::kIo, fmt::format("{}: {} (of the phantom GPUs)", call, api_.error_string(result)));
  }

  nccl_run::StandInApi api_;
  nccl_run::Stream stream_ = nullptr;
};

}  // namespace

bool has_phantom() {
  return nccl_run::find_stand_in().has_value();
}

Result<std::unique_ptr<GpuSide>> make_phantom_side(const std::string& library, bool redirect) {
  const auto api = nccl_run::find_stand_in();
  if (!api) return std::unexpected(api.error());
  auto side = std::make_unique<PhantomSide>(*api);
  if (auto begun = side->begin(library, redirect); !begun) return std::unexpected(std::move(begun.error()));
  return side;
}

bool begin_phantom_progress(int nccl_version) {
  const auto api = nccl_run::find_stand_in();
  return api && api->progress(nccl_version) == 1;
}

void settle_phantom() {
  if (const auto api = nccl_run::find_stand_in()) api->settle();
}

}  // namespace angio::collective
