// A node with more devices than the stand-ins read.
#include <gtest/gtest.h>

#include "base/text.hpp"
#include "dryrun/node_design.hpp"

namespace angio::dryrun {
namespace {

Result<NodeDesign> design(std::string_view text) {
  nccl::Remarks remarks;
  return design_node(nccl::read_topology_xml(text, remarks).roots.at(0), {}, nullptr);
}

std::string error_of(std::string_view text) {
  const auto made = design(text);
  return made ? "no error" : made.error().message;
}

std::string many_nics(std::size_t count, const std::string& name) {
  std::string text =
      "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\">"
      "<pci busid=\"0000:10:00.0\" class=\"0x030200\"><gpu dev=\"0\" sm=\"90\"/></pci><nic>";
  for (std::size_t i = 0; i < count; ++i)
    text += "<net name=\"" + name + std::to_string(i) + "\"/>";
  return text + "</nic></cpu></system>";
}

TEST(NodeDesign, MoreThanTheStandInsReadIsRefused) {
  EXPECT_EQ(design(many_nics(4096, "n"))->hardware.nets.size(), 4096U);
  EXPECT_EQ(error_of(many_nics(5000, "n")), "5000 NICs in one node; a phantom node has at most 4096");
  EXPECT_TRUE(contains(error_of(many_nics(4000, std::string(600, 'n'))), "the stand-ins read 4 MiB"));
}

}  // namespace
}  // namespace angio::dryrun
