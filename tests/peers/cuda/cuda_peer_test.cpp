// Copies between nodes and GPUs over a stand-in libcuda.so.1, loaded as the real one is.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <tuple>

#include "bench/cuda_api.hpp"
#include "bench/gpu_copies.hpp"
#include "bench/numa_calls.hpp"
#include "host/libraries.hpp"
#include "host/root.hpp"

namespace angio::bench {
namespace {

using namespace std::chrono_literals;

class CudaPeer : public testing::Test {
 protected:
  CudaPeer() {
    // Two nodes on any machine: their memory and CPUs are this machine's, and nothing is bound.
    const CpuSet cpus = affinity_of_this_thread().value_or(CpuSet{});
    for (const std::uint32_t number : {0U, 1U}) {
      model::NumaNode node;
      node.id = NumaId{number};
      node.cpus = cpus;
      plan_.memory_nodes.push_back(node);
      plan_.cpu_sides.push_back({NumaId{number}, {cpus.first().value_or(0)}});
    }
    plan_.size = Bytes{std::uint64_t{1} << 20U};
    plan_.seconds = 0.001;
    model::Gpu gpu;
    gpu.address = model::Observed<PciAddress>::known(*parse_pci_address("0000:1c:00.0"), {});
    gpu.numa = model::Observed<NumaId>::known(NumaId{1}, {});
    machine_.gpus.push_back(gpu);
    // Keeps the library's books beyond the measurement.
    library_ = host::make_library_loader(directory())->open({"libcuda.so.1"}).value_or(nullptr);
  }
  ~CudaPeer() override { unsetenv("ANGIO_CUDA_STANDIN"); }

  static std::string directory() { return std::string(ANGIO_PEERS) + "/cuda"; }

  model::MemoryBench measure(const std::string& mood, const std::string& where = directory()) {
    setenv("ANGIO_CUDA_STANDIN", mood.c_str(), 1);
    model::MemoryBench bench;
    const auto root = host::make_memory_root({}, host::Scope::kComplete);
    const auto loader = host::make_library_loader(where);
    const Interrupts interrupts;
    measure_gpu_copies(machine_, plan_, {*root, *loader, interrupts, [](const std::string&) {}}, bench);
    return bench;
  }

  int count(const char* name) const {
    const auto function = reinterpret_cast<int (*)()>(library_->find(name));
    return function == nullptr ? -1 : function();
  }

  model::Machine machine_;
  MemoryPlan plan_;
  std::unique_ptr<host::Library> library_;
};

TEST_F(CudaPeer, EveryNodeGpuKindAndDirectionIsMeasuredAndGivenBack) {
  ASSERT_NE(library_, nullptr);
  const model::MemoryBench bench = measure("");
  EXPECT_EQ(bench.gpu_note, "");
  ASSERT_EQ(bench.gpus.size(), 2U);
  EXPECT_EQ(bench.gpus[0].pci, "0000:1b:00.0");
  EXPECT_EQ(bench.gpus[0].name, "Stand-in GPU");
  EXPECT_FALSE(bench.gpus[0].node);
  EXPECT_EQ(bench.gpus[1].node, NumaId{1});
  std::set<std::tuple<std::uint32_t, std::uint32_t, bool, model::CopyDirection>> seen;
  for (const model::GpuCopyCell& cell : bench.gpu_copies) {
    seen.insert({cell.node.value, cell.gpu, cell.pinned, cell.direction});
    ASSERT_TRUE(cell.rate.value) << cell.rate.missing;
    EXPECT_GT(cell.rate.value->median, 0);
    EXPECT_GE(cell.rate.value->repeats, 5U);
  }
  EXPECT_EQ(seen.size(), 2U * 2U * 2U * 2U);
  EXPECT_EQ(bench.gpu_copies.size(), seen.size());
  EXPECT_EQ(count("standin_held"), 0);
  EXPECT_GE(count("standin_pins"), 4);
  EXPECT_GE(count("standin_copies"), 16 * 6);
}

TEST_F(CudaPeer, PinningThatFailsLeavesThePageableFigures) {
  const model::MemoryBench bench = measure("no-pin");
  ASSERT_EQ(bench.gpu_copies.size(), 16U);
  for (const model::GpuCopyCell& cell : bench.gpu_copies) {
    EXPECT_EQ(cell.rate.value.has_value(), !cell.pinned);
    EXPECT_EQ(cell.rate.missing,
              cell.pinned ? "cuMemHostRegister_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY)" : "");
  }
  EXPECT_EQ(count("standin_held"), 0);
}

TEST_F(CudaPeer, AGpuWithoutMemorySaysSo) {
  const model::MemoryBench bench = measure("no-memory");
  ASSERT_EQ(bench.gpu_copies.size(), 16U);
  EXPECT_EQ(bench.gpu_copies[0].rate.missing, "cuMemAlloc_v2: out of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  EXPECT_EQ(count("standin_held"), 0);
}

TEST_F(CudaPeer, ACopyThatFailsIsGivenBackToo) {
  const model::MemoryBench bench = measure("copy-fails");
  ASSERT_EQ(bench.gpu_copies.size(), 16U);
  EXPECT_TRUE(bench.gpu_copies.back().rate.missing.ends_with(
      "an illegal memory access was encountered (CUDA_ERROR_ILLEGAL_ADDRESS)"))
      << bench.gpu_copies.back().rate.missing;
  EXPECT_EQ(count("standin_held"), 0);
}

TEST_F(CudaPeer, NoDriverIsOneLine) {
  EXPECT_EQ(measure("no-init").gpu_note,
            "no CUDA driver: cuInit: no CUDA-capable device is detected (CUDA_ERROR_NO_DEVICE)");
  EXPECT_EQ(measure("no-device").gpu_note,
            "the CUDA driver shows no GPU (CUDA_VISIBLE_DEVICES may hide them)");
  const model::MemoryBench none = measure("", std::string(ANGIO_PEERS) + "/none");
  EXPECT_TRUE(none.gpu_note.starts_with("no CUDA driver: ")) << none.gpu_note;
  EXPECT_EQ(none.gpu_note.find('\n'), std::string::npos);
}

TEST_F(CudaPeer, ADriverThatHangsIsGivenUp) {
  setenv("ANGIO_CUDA_STANDIN", "hang", 1);
  const auto cuda = Cuda::load(*host::make_library_loader(directory()), 50ms);
  ASSERT_FALSE(cuda);
  EXPECT_EQ(cuda.error().message, "no CUDA driver: cuInit did not answer within 0.05 s");
}

}  // namespace
}  // namespace angio::bench
