#include "nccl/topology_doubts.hpp"

#include <gtest/gtest.h>

#include "model/synthetic.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_edit.hpp"
#include "nccl/topology_generate.hpp"

namespace angio::nccl {
namespace {

using Names = std::vector<std::string>;

std::string gpu(const std::string& bus, const std::string& words, const std::string& below = "") {
  return "<pci busid=\"" + bus + "\" class=\"0x030200\"><gpu " + words + ">" + below + "</gpu></pci>";
}
std::string nic(const std::string& bus, const std::string& words) {
  return "<pci busid=\"" + bus + "\" class=\"0x020700\"><nic><net " + words + "/></nic></pci>";
}
Element tree(const std::string& below, const std::string& cpu = "") {
  Remarks remarks;
  return read_topology_xml("<system version=\"1\"><cpu numaid=\"0\"" + cpu + ">" + below + "</cpu></system>",
                           remarks)
      .roots.at(0);
}
Names ids(const std::vector<Remark>& remarks) {
  Names names;
  for (const Remark& remark : remarks)
    names.push_back(remark.id);
  return names;
}

TEST(TopologyDoubts, GpusWhoseLinksTheFileDoesNotState) {
  const std::string link = "<nvlink target=\"fffffff:ffff:ff\" count=\"18\" tclass=\"0x068000\"/>";
  const Element root =
      tree(gpu("0000:21:00.0", "dev=\"0\" sm=\"90\"", link) + gpu("0000:22:00.0", "dev=\"1\" sm=\"90\"") +
           gpu("0000:23:00.0", "dev=\"2\" sm=\"52\"") + gpu("0000:24:00.0", "sm=\"70\""));
  EXPECT_EQ(gpus_of_unknown_links(root, nullptr), (Names{"1", "0000:24:00.0"}));
  Remarks remarks;
  check_nvlinks(root, nullptr, remarks);
  ASSERT_EQ(remarks.all().size(), 1U);
  EXPECT_EQ(remarks.all()[0].id, "gpu.no-nvlink");
  EXPECT_EQ(remarks.all()[0].weight, Weight::kNote);
  EXPECT_EQ(remarks.all()[0].text, "no <nvlink> in GPU 1, 0000:24:00.0");
}

TEST(TopologyDoubts, AMachineMayTellThatThereAreNone) {
  model::Machine machine;
  model::Gpu real;
  real.address = model::Observed<PciAddress>::known(*parse_pci_address("0000:21:00.0"), {});
  machine.gpus.push_back(real);
  const Element root = tree(gpu("0000:21:00.0", "dev=\"0\" sm=\"89\""));
  EXPECT_EQ(gpus_of_unknown_links(root, &machine), Names{"0"});
  machine.gpus[0].name = model::Observed<std::string>::known("NVIDIA L40S", {});
  EXPECT_EQ(gpus_of_unknown_links(root, &machine), Names{});
  machine.gpus[0].name = model::Observed<std::string>::known("NVIDIA H100 80GB HBM3", {});
  EXPECT_EQ(gpus_of_unknown_links(root, &machine), Names{"0"});
  machine.gpus[0].links.emplace_back();  // listed, and none of it active
  EXPECT_EQ(gpus_of_unknown_links(root, &machine), Names{});
}

TEST(TopologyDoubts, ASnapshotGivesTheLinksTheFileLacks) {
  const auto machine = model::topology("1 numa { 1 switch { 2 gpu nvlink:full pcie:5x16 } }");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto made = generate_topology(*machine);
  ASSERT_TRUE(made);
  Element file = made->root;
  ASSERT_EQ(remove_from(file, "gpu:0", "nvlink", {}), 1U);
  EXPECT_EQ(gpus_of_unknown_links(file, nullptr), Names{"0"});
  EXPECT_EQ(complete(file, made->root), 0U);
  EXPECT_EQ(complete_links(file, made->root), 1U);
  EXPECT_EQ(write_topology_xml(file), write_topology_xml(made->root));
  EXPECT_EQ(complete_links(file, made->root), 0U);
}

TEST(TopologyDoubts, WhatNcclRefuses) {
  const auto refused = [](const std::string& text) {
    Remarks remarks;
    const XmlText read = read_topology_xml(text, remarks);
    check_topology(read, "2.30.7", remarks);
    Names names;
    for (const Remark& remark : remarks.all())
      if (refuses(remark)) names.push_back(remark.id);
    return names;
  };
  EXPECT_EQ(refused("<system version=\"1\"><cpu numaid=\"0\"/></system>"), Names{});
  EXPECT_EQ(refused("<system version=\"2\"><cpu numaid=\"0\"/></system>"), Names{"system.version"});
  EXPECT_EQ(refused("<system version=\"1\"><cpu numaid=\"0\">"),
            (Names{"xml.unterminated", "xml.unterminated"}));
  EXPECT_EQ(refused("<system version=\"1\"><cpu numaid=\"0\"><pci busid=\"17:00.0\" class=\"0x060400\"/>"
                    "</cpu></system>"),
            Names{});
}

TEST(TopologyDoubts, AChangeIsBlamedForWhatItBrought) {
  Element root = tree(gpu("0000:21:00.0", "dev=\"0\" sm=\"90\"", "<odd/>"));
  const auto before = remarks_about(root, "2.30.7");
  EXPECT_EQ(ids(before), Names{"element.ignored"});
  const auto after = [&](const Change& change) {
    Element changed = root;
    EXPECT_TRUE(apply(changed, change));
    return ids(new_remarks(before, remarks_about(changed, "2.30.7")));
  };
  EXPECT_EQ(after({"pci:0000:21:00.0", "", {{"link_width", "8"}}}), Names{});
  EXPECT_EQ(after({"pci:0000:21:00.0", "", {{"link_width", "abc"}}}), Names{"pci.width"});
  EXPECT_EQ(after({"cpu:0", "", {{"affinity", "0-31"}}}), Names{"cpu.affinity"});
  EXPECT_EQ(after({"system", "", {{"version", "3"}}}), Names{"system.version"});
  EXPECT_EQ(after({"gpu:0", "nvlink:fffffff:ffff:ff", {{"count", "-5"}, {"tclass", "0x068000"}}}),
            Names{"link.count"});
}

TEST(TopologyDoubts, FilesOfTwoHosts) {
  const std::string net = "name=\"mlx9_0\" dev=\"0\" port=\"1\" guid=\"0xa1\"";
  const std::string other = "name=\"mlx9_0\" dev=\"0\" port=\"1\" guid=\"0xb1\"";
  const auto joined = [](Element one, const Element& two) {
    fuse(one, two);
    Remarks remarks;
    check_joined(one, remarks);
    return remarks.take();
  };
  EXPECT_TRUE(joined(tree(nic("0000:31:00.0", net)), tree(nic("0000:31:00.0", net))).empty());
  EXPECT_TRUE(joined(tree(nic("0000:31:00.0", net)), tree(nic("0000:32:00.0", other))).empty());
  const auto twice = joined(tree(nic("0000:31:00.0", net)), tree(nic("0000:31:00.0", other)));
  ASSERT_EQ(ids(twice), Names{"merge.net-twice"});
  EXPECT_EQ(twice[0].text, "net mlx9_0 at 0000:31:00.0 twice, with guid \"0xa1\" and \"0xb1\"");
  EXPECT_EQ(ids(joined(tree("", " host_hash=\"0x1\""), tree("", " host_hash=\"0x2\""))),
            Names{"merge.hosts"});
  EXPECT_TRUE(joined(tree("", " host_hash=\"0x1\""), tree("", " host_hash=\"0x1\"")).empty());
}

TEST(TopologyDoubts, ANarrowLinkIsANoteOfTheGenerator) {
  auto machine = model::topology("1 numa { 1 switch { 3 gpu pcie:5x16; 1 hca ndr } }");
  ASSERT_TRUE(machine) << machine.error().message;
  const auto narrow = [&](std::uint32_t device) {
    machine->pci.devices[device].link = model::Observed<model::PciLink>::known({{32e9}, 8}, {});
  };
  EXPECT_TRUE(generate_topology(*machine)->notes.empty());
  narrow(*machine->gpus[0].pci);
  narrow(*machine->gpus[2].pci);
  const auto made = generate_topology(*machine);
  EXPECT_EQ(made->notes, Names{"GPU 0, 2 now x8; NCCL counts x16"});
  narrow(*machine->rdma[0].pci);
  EXPECT_EQ(generate_topology(*machine)->notes.size(), 2U);
}

}  // namespace
}  // namespace angio::nccl
