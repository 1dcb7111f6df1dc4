#include "dryrun/topology_sketch.hpp"

#include <gtest/gtest.h>

#include "dryrun/node_design.hpp"
#include "import/import.hpp"
#include "nccl/system_graph.hpp"

namespace angio::dryrun {
namespace {

std::size_t count_of(const nccl::Element& element, std::string_view name) {
  std::size_t count = element.name == name ? 1 : 0;
  for (const nccl::Element& child : element.children)
    count += count_of(child, name);
  return count;
}

nccl::PathType path_of(const nccl::System& system, nccl::NodeKind kind, std::size_t from, std::size_t to) {
  return system.path(system.all(nccl::NodeKind::kGpu)[from], system.all(kind)[to]).type;
}

TEST(TopologySketch, EachGpuSharesASwitchWithItsNic) {
  const auto sketch = sketch_words("8xh100-sxm+8x400g/2");
  ASSERT_TRUE(sketch) << sketch.error().message;
  EXPECT_EQ(sketch->gpu, "h100-sxm");
  EXPECT_EQ(count_of(sketch->root, "cpu"), 2U);
  EXPECT_EQ(count_of(sketch->root, "net"), 8U);
  const auto design = design_node(sketch->root, {.gpu = sketch->gpu}, nullptr);
  ASSERT_TRUE(design) << design.error().message;
  ASSERT_EQ(design->hardware.gpus.size(), 8U);
  EXPECT_EQ(design->hardware.gpus[0].sm, 90U);
  EXPECT_EQ(design->hardware.nets.at(3).speed, 400000U);
}

TEST(TopologySketch, FewerNicsAreSharedAndMoreAreDealt) {
  const auto shared = sketch_words("8xa100-sxm-80+4x200g/2");
  ASSERT_TRUE(shared) << shared.error().message;
  EXPECT_EQ(count_of(shared->root, "net"), 4U);
  const auto many = sketch_words("4xa100-sxm-80+8x100g/1");
  ASSERT_TRUE(many) << many.error().message;
  EXPECT_EQ(count_of(many->root, "net"), 8U);
  EXPECT_EQ(count_of(many->root, "cpu"), 1U);
}

TEST(TopologySketch, WrongWordsSayWhatWasExpected) {
  for (const char* text :
       {"8x", "x8", "8xh100-sxm+", "8xh100-sxm+8x400", "8xh100-sxm/0", "0xh100-sxm", "8xh100-sxm/3",
        "33xh100-sxm", "8xh100-sxm+3x400g", "8xh100-sxm+8x0g", "8xh100-sxm+99999999999x400g"}) {
    const auto sketch = sketch_words(text);
    ASSERT_FALSE(sketch) << text;
    EXPECT_FALSE(sketch.error().hint.empty()) << text;
  }
  const auto model = sketch_words("8xh100-smx");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().hint.find("Did you mean h100-sxm?"), std::string::npos) << model.error().hint;
}

TEST(TopologySketch, TellsWordsFromFiles) {
  EXPECT_TRUE(looks_like_words("8xh100-sxm+8x400g/2"));
  EXPECT_TRUE(looks_like_words("2xl40s"));
  EXPECT_FALSE(looks_like_words("node.snap"));
  EXPECT_FALSE(looks_like_words("8x.xml"));
  EXPECT_FALSE(looks_like_words("x8"));
  EXPECT_FALSE(looks_like_words(""));
}

// Four GPUs in two bridged pairs over two nodes, one NIC next to the first GPU.
constexpr std::string_view kMatrix =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
    "GPU0\t X \tNV4\tSYS\tSYS\tPIX\t0-15\t0\n"
    "GPU1\tNV4\t X \tSYS\tSYS\tNODE\t0-15\t0\n"
    "GPU2\tSYS\tSYS\t X \tNV4\tSYS\t16-31\t1\n"
    "GPU3\tSYS\tSYS\tNV4\t X \tSYS\t16-31\t1\n"
    "mlx5_0\tPIX\tNODE\tSYS\tSYS\t X \t\t\n";

TEST(TopologySketch, AMatrixKeepsItsClasses) {
  const auto machine = import::import_machine(kMatrix, "topo.txt");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto sketch = sketch_matrix(*machine, "a100-pcie", 200);
  ASSERT_TRUE(sketch) << sketch.error().message;
  const auto system = nccl::make_system(sketch->root, {.version = "2.28.9", .between_nodes = true});
  ASSERT_TRUE(system) << system.error().message;
  EXPECT_EQ(path_of(*system, nccl::NodeKind::kGpu, 0, 1), nccl::PathType::kNvl);
  EXPECT_EQ(path_of(*system, nccl::NodeKind::kGpu, 2, 3), nccl::PathType::kNvl);
  EXPECT_EQ(path_of(*system, nccl::NodeKind::kGpu, 0, 2), nccl::PathType::kSys);
  EXPECT_EQ(path_of(*system, nccl::NodeKind::kNet, 0, 0), nccl::PathType::kPix);
  EXPECT_EQ(path_of(*system, nccl::NodeKind::kNet, 2, 0), nccl::PathType::kSys);
}

TEST(TopologySketch, SeveralBridgesApartStayApart) {
  const auto machine = import::import_machine(
      "\tGPU0\tGPU1\tmlx5_0\tCPU Affinity\tNUMA Affinity\n"
      "GPU0\t X \tNV4\tPXB\t0-15\t0\n"
      "GPU1\tNV4\t X \tPXB\t0-15\t0\n"
      "mlx5_0\tPXB\tPXB\t X \t\t\n",
      "topo.txt");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto sketch = sketch_matrix(*machine, "a100-sxm-40", 200);
  ASSERT_TRUE(sketch) << sketch.error().message;
  const auto system = nccl::make_system(sketch->root, {.version = "2.28.9", .between_nodes = true});
  ASSERT_TRUE(system) << system.error().message;
  EXPECT_EQ(path_of(*system, nccl::NodeKind::kNet, 0, 0), nccl::PathType::kPxb);
}

TEST(TopologySketch, AMatrixNeedsTheModel) {
  const auto machine = import::import_machine(kMatrix, "topo.txt");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto sketch = sketch_matrix(*machine, "", 200);
  ASSERT_FALSE(sketch);
  EXPECT_NE(sketch.error().hint.find("--gpu "), std::string::npos);
}

}  // namespace
}  // namespace angio::dryrun
