#include "knowledge/phantom_gpus.hpp"

#include <gtest/gtest.h>

#include <map>

#include "knowledge/knowledge.hpp"
#include "knowledge/versions.hpp"

namespace angio::knowledge {
namespace {

TEST(PhantomGpus, AreFoundByNameAndByPciDevice) {
  const PhantomGpu* gpu = find_phantom_gpu("h100-sxm");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->product, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(find_phantom_gpu_of(0x2330), gpu);
  EXPECT_EQ(find_phantom_gpu("h100"), nullptr);
  EXPECT_EQ(find_phantom_gpu_of(0xffff), nullptr);
}

TEST(PhantomGpus, HaveADesignAndACapability) {
  for (const PhantomGpu& gpu : phantom_gpus()) {
    EXPECT_NE(find_gpu(gpu.product), nullptr) << gpu.name;
    EXPECT_FALSE(capability_of(gpu.product).empty()) << gpu.name;
    EXPECT_GE(gpu.memory_gb, 16U) << gpu.name;
    EXPECT_LE(gpu.memory_gb, 288U) << gpu.name;
  }
}

TEST(PhantomGpus, OnlySwitchedHopperAndNewerMulticast) {
  for (const PhantomGpu& gpu : phantom_gpus()) {
    if (!gpu.multicast) continue;
    EXPECT_TRUE(find_gpu(gpu.product)->nvswitch) << gpu.name;
    EXPECT_GE(compare_versions(capability_of(gpu.product), "9.0").value_or(-1), 0) << gpu.name;
  }
  EXPECT_FALSE(find_phantom_gpu("a100-sxm-80")->multicast);
}

TEST(PhantomGpus, WiresUseAllLinksOfEveryGpu) {
  for (const PhantomGpu& gpu : phantom_gpus()) {
    std::map<std::uint32_t, std::uint32_t> links;
    for (const PhantomWire& wire : gpu.wires) {
      links[wire.first] += wire.links;
      links[wire.second] += wire.links;
    }
    for (const auto& [number, count] : links)
      EXPECT_EQ(count, find_gpu(gpu.product)->nvlinks) << gpu.name << " GPU " << number;
  }
  EXPECT_EQ(find_phantom_gpu("v100-sxm2")->wires.size(), 16U);
}

}  // namespace
}  // namespace angio::knowledge
