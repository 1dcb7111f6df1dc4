#include "nccl/topology_edit.hpp"

#include <gtest/gtest.h>

#include "model/synthetic.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_generate.hpp"
#include "nccl/topology_hardware.hpp"

namespace angio::nccl {
namespace {

constexpr std::string_view kText =
    "<system version=\"1\">\n"
    "  <cpu numaid=\"0\">\n"
    "    <pci busid=\"0000:21:00.0\" class=\"0x030200\" link_width=\"16\">\n"
    "      <gpu dev=\"0\" sm=\"90\">\n"
    "        <nvlink target=\"0000:22:00.0\" count=\"4\" tclass=\"0x030200\"/>\n"
    "      </gpu>\n"
    "    </pci>\n"
    "    <pci busid=\"0000:23:00.0\" class=\"0x020700\" link_width=\"16\">\n"
    "      <nic>\n"
    "        <net name=\"mlx9_0\" dev=\"0\" speed=\"400000\"/>\n"
    "      </nic>\n"
    "    </pci>\n"
    "  </cpu>\n"
    "</system>\n";

Element tree(std::string_view text = kText) {
  Remarks remarks;
  return read_topology_xml(text, remarks).roots.at(0);
}

TEST(TopologyEdit, SetsAttributesInTheirPlace) {
  Element root = tree();
  ASSERT_EQ(apply(root, {"pci:0000:21:00.0", "", {{"link_width", "8"}}}), 1U);
  EXPECT_EQ(write_topology_xml(root).find("class=\"0x030200\" link_width=\"8\""), 70U);
  ASSERT_EQ(apply(root, {"net:mlx9_0", "", {{"speed", "200000"}}}), 1U);
  EXPECT_EQ((*select(root, "net:mlx9_0"))[0]->get("speed"), "200000");
}

TEST(TopologyEdit, ChangesOrMakesChildren) {
  Element root = tree();
  ASSERT_EQ(apply(root, {"gpu:0", "nvlink", {{"target", "0000:22:00.0"}, {"count", "8"}}}), 1U);
  ASSERT_EQ(
      apply(root, {"gpu:0", "nvlink", {{"target", "0000:24:00.0"}, {"count", "2"}, {"tclass", "0x030200"}}}),
      1U);
  const Element& gpu = *(*select(root, "gpu:0"))[0];
  ASSERT_EQ(gpu.children.size(), 2U);
  EXPECT_EQ(gpu.children[0].get("count"), "8");
  EXPECT_EQ(gpu.children[1].get("target"), "0000:24:00.0");
  const auto which = apply(root, {"gpu:0", "nvlink", {{"count", "1"}}});
  ASSERT_FALSE(which);
  EXPECT_EQ(which.error().message, "gpu 0 has 2 children <nvlink>");
}

TEST(TopologyEdit, Removes) {
  Element root = tree();
  EXPECT_EQ(remove_from(root, "gpu:0", "nvlink", {}), 1U);
  EXPECT_EQ(remove_from(root, "pci:0000:21:00.0", "", {"link_width"}), 1U);
  EXPECT_EQ(remove_from(root, "net:mlx9_0", "", {}), 1U);
  EXPECT_FALSE(remove_from(root, "net:mlx9_0", "", {}));
  EXPECT_EQ(remove_from(root, "pci:*", "", {}), 2U);
  EXPECT_EQ(write_topology_xml(root), "<system version=\"1\">\n  <cpu numaid=\"0\"/>\n</system>\n");
}

TEST(TopologyEdit, ErrorsNameWhatThereIs) {
  Element root = tree();
  const auto missing = select(root, "gpu:7");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().hint, "There is 0");
  const auto whole = remove_from(root, "system", "", {});
  ASSERT_FALSE(whole);
  EXPECT_EQ(whole.error().message, "the root element cannot be removed");
  EXPECT_EQ(remove_from(root, "system", "", {"version"}), 1U);
  EXPECT_FALSE(select(root, "gpu"));
  EXPECT_FALSE(select(root, "disk:0"));
  EXPECT_FALSE(apply(root, {"gpu:0", "", {{"a b", "1"}}}));
  EXPECT_FALSE(apply(root, {"gpu:0", "", {{"a", std::string(300, 'x')}}}));
}

TEST(TopologyDiff, ComparesByWhatThingsAre) {
  Element other = tree();
  std::swap(other.children[0].children[0], other.children[0].children[1]);
  EXPECT_TRUE(compare_trees(tree(), other).empty());
  ASSERT_EQ(apply(other, {"pci:0000:21:00.0", "", {{"link_width", "8"}}}), 1U);
  ASSERT_EQ(remove_from(other, "net:mlx9_0", "", {}), 1U);
  const auto differences = compare_trees(tree(), other);
  ASSERT_EQ(differences.size(), 2U);
  EXPECT_EQ(differences[0].what, "net mlx9_0");
  EXPECT_EQ(differences[0].right, "-");
  EXPECT_EQ(differences[1].what, "pci 0000:21:00.0");
  EXPECT_EQ(differences[1].attribute, "link_width");
  EXPECT_EQ(differences[1].left, "16");
  EXPECT_EQ(differences[1].right, "8");
}

TEST(TopologyDiff, AnAttributeThatIsWrittenTwiceDoesNotDifferFromItself) {
  Element twice = tree();
  twice.attributes.push_back({"version", "9", {}});
  EXPECT_TRUE(compare_trees(twice, twice).empty());
  EXPECT_TRUE(compare_trees(tree(), twice).empty());
}

TEST(TopologyMerge, AddsWhatIsNotTheSame) {
  Element root = tree();
  fuse(root, tree());
  EXPECT_EQ(write_topology_xml(root), kText);
  Element other = tree();
  ASSERT_EQ(apply(other, {"gpu:0", "", {{"dev", "1"}}}), 1U);
  fuse(root, other);
  EXPECT_EQ(count_elements(root), 10U);  // the other gpu with its nvlink beside the first
}

TEST(TopologyMerge, RanksSeeTheirOwnGpuFirst) {
  const Element seen = as_ranks_see(
      tree("<system version=\"1\"><cpu numaid=\"0\">"
           "<pci busid=\"0000:21:00.0\" class=\"0x030200\"><gpu dev=\"1\" sm=\"90\"/></pci>"
           "<pci busid=\"0000:22:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"/></pci></cpu></system>"));
  EXPECT_EQ(seen.children[0].children[0].get("busid"), "0000:22:00.0");
}

TEST(TopologyGenerate, IsWhatNcclReads) {
  const auto machine = model::topology("2 numa { 1 switch { 2 gpu nvlink:full pcie:5x16; 2 hca ndr } }");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto made = generate_topology(*machine);
  ASSERT_TRUE(made) << made.error().message;
  const std::string text = write_topology_xml(made->root);
  Remarks remarks;
  const XmlText read = read_topology_xml(text, remarks);
  check_topology(read, "2.30.7", remarks);
  for (const Remark& remark : remarks.all())
    ADD_FAILURE() << remark.id << ": " << remark.text;
  EXPECT_EQ(write_topology_xml(read.roots.at(0)), text);  // generate, read, generate
  const TopologyCounts counts = count(read.roots.at(0));
  EXPECT_EQ(counts.cpus, 2U);
  EXPECT_EQ(counts.gpus, 4U);
  EXPECT_EQ(counts.nets, 4U);
  Remarks hardware;
  check_hardware(made->root, *machine, hardware);
  for (const Remark& remark : hardware.all())
    EXPECT_EQ(remark.id, "machine.bare-metal");
}

TEST(TopologyGenerate, LeavesOutWhatIsNotKnown) {
  model::Machine machine;
  EXPECT_EQ(generate_topology(machine).error().message, "no GPU on this machine");
  model::Gpu gpu;
  gpu.address = model::Observed<PciAddress>::known(*parse_pci_address("0000:21:00.0"), {});
  machine.gpus.push_back(gpu);
  const auto made = generate_topology(machine);
  ASSERT_TRUE(made);
  EXPECT_EQ(write_topology_xml(made->root),
            "<system version=\"1\">\n"
            "  <cpu numaid=\"-1\">\n"
            "    <pci busid=\"0000:21:00.0\" class=\"0x030200\">\n"
            "      <gpu dev=\"0\"/>\n"
            "    </pci>\n"
            "  </cpu>\n"
            "</system>\n");
  EXPECT_GE(made->unknown.size(), 4U);
}

TEST(TopologyGenerate, SpellsAsSysfsAndNccl) {
  EXPECT_EQ(link_speed_text({32e9}), "32.0 GT/s PCIe");
  EXPECT_EQ(link_speed_text({2.5e9}), "2.5 GT/s PCIe");
  EXPECT_EQ(affinity_text(*parse_cpu_list("0-3,32"), 63), "00000001,0000000f");
  EXPECT_EQ(nccl_family(6), 6U);
  EXPECT_EQ(nccl_family(25), 175U);
}

TEST(TopologyGenerate, CompletesAFileWithoutGpus) {
  Element file = tree(
      "<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"ffff:ff:01.0\" class=\"0x060400\">"
      "<pci busid=\"0000:21:00.0\" class=\"0x030200\"/></pci></cpu></system>");
  EXPECT_EQ(complete(file, tree()), 2U);  // the GPU at its element, the NIC below the CPU
  EXPECT_NE((*select(file, "pci:0000:21:00.0"))[0]->child("gpu"), nullptr);
  EXPECT_TRUE(select(file, "net:mlx9_0"));
  EXPECT_EQ(complete(file, tree()), 0U);
}

std::vector<std::string> hardware_ids(const Element& root, const model::Machine& machine) {
  Remarks remarks;
  check_hardware(root, machine, remarks);
  std::vector<std::string> ids;
  for (const Remark& remark : remarks.all())
    if (remark.id != "machine.bare-metal") ids.push_back(remark.id);
  return ids;
}

TEST(TopologyHardware, SaysWhatDiffers) {
  const auto machine = model::topology("1 numa { 1 switch { 2 gpu nvlink:full pcie:5x16; 1 hca ndr } }");
  ASSERT_TRUE(machine);
  const auto made = generate_topology(*machine);
  ASSERT_TRUE(made);
  const std::string bus = to_string(*machine->gpus[0].address.get());
  const auto with = [&](const Change& change) {
    Element root = made->root;
    EXPECT_TRUE(apply(root, change));
    return hardware_ids(root, *machine);
  };
  using Ids = std::vector<std::string>;
  EXPECT_EQ(hardware_ids(made->root, *machine), Ids{});
  EXPECT_EQ(with({"pci:" + bus, "", {{"link_speed", "8.0 GT/s PCIe"}}}), Ids{"machine.link-speed"});
  EXPECT_EQ(with({"pci:" + bus, "", {{"link_width", "8"}}}), Ids{"machine.link-width"});
  EXPECT_EQ(with({"pci:" + bus, "", {{"busid", "0000:fe:00.0"}}}),
            (Ids{"machine.no-device", "machine.gpu-missing"}));
  EXPECT_EQ(with({"net:*", "", {{"speed", "100000"}}}), Ids{"machine.nic-speed"});
  EXPECT_EQ(with({"net:*", "", {{"name", "mlx9_9"}}}), Ids{"machine.no-nic"});
}

}  // namespace
}  // namespace angio::nccl
