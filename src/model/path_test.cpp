#include "model/path.hpp"

#include <gtest/gtest.h>

#include "model/machine.hpp"
#include "model/synthetic.hpp"

namespace angio::model {
namespace {

Machine machine_of(const char* description) {
  Result<Machine> machine = topology(description);
  EXPECT_TRUE(machine.has_value()) << (machine ? "" : machine.error().message);
  return machine ? *machine : Machine{};
}

std::string between(const Machine& machine, DeviceRef a, DeviceRef b) {
  const std::string forth = label(path_between(machine, a, b));
  EXPECT_EQ(forth, label(path_between(machine, b, a)));
  return forth;
}

DeviceRef gpu(std::uint32_t index) {
  return {DeviceKind::kGpu, index};
}
DeviceRef nic(std::uint32_t index) {
  return {DeviceKind::kRdma, index};
}

GpuLink link_to(PeerKind kind, LinkState state = LinkState::kActive) {
  GpuLink link;
  link.peer_kind = kind;
  link.state = state;
  return link;
}

TEST(Path, SelfIsX) {
  EXPECT_EQ(between(machine_of("numa { 1 gpu }"), gpu(0), gpu(0)), "X");
}

TEST(Path, OneSwitchIsPix) {
  EXPECT_EQ(between(machine_of("numa { switch { 2 gpu } }"), gpu(0), gpu(1)), "PIX");
}

TEST(Path, OneSwitchIsPixWhenPortTypesAreUnreadable) {
  Machine machine = machine_of("numa { switch { 2 gpu; hca } }");
  for (PciDevice& device : machine.pci.devices)
    device.port = PciPort::kUnknown;
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "PIX");
  EXPECT_EQ(between(machine, gpu(0), nic(0)), "PIX");
}

TEST(Path, SwitchBehindSwitchIsPxb) {
  Machine machine = machine_of("numa { switch { 2 switch { 2 gpu; hca } } }");
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "PIX");
  EXPECT_EQ(between(machine, gpu(0), gpu(2)), "PXB");
  EXPECT_EQ(between(machine, gpu(0), nic(0)), "PIX");
  EXPECT_EQ(between(machine, gpu(0), nic(1)), "PXB");
  for (PciDevice& device : machine.pci.devices)
    device.port = PciPort::kUnknown;
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "PIX");
  EXPECT_EQ(between(machine, gpu(0), gpu(2)), "PXB");
}

TEST(Path, DeviceBesideASwitchInASwitchIsPxb) {
  EXPECT_EQ(between(machine_of("numa { switch { hca; switch { gpu } } }"), gpu(0), nic(0)), "PXB");
}

TEST(Path, RootPortsOfOneHostBridgeArePhb) {
  EXPECT_EQ(between(machine_of("numa { 2 gpu }"), gpu(0), gpu(1)), "PHB");
}

TEST(Path, HostBridgesOfOneNodeAreNode) {
  EXPECT_EQ(between(machine_of("numa { 2 bridge { gpu } }"), gpu(0), gpu(1)), "NODE");
}

TEST(Path, NumaNodesAreSys) {
  EXPECT_EQ(between(machine_of("2 numa { gpu; hca }"), gpu(0), gpu(1)), "SYS");
  EXPECT_EQ(between(machine_of("2 numa { gpu; hca }"), gpu(0), nic(1)), "SYS");
}

TEST(Path, FunctionsOfOneCardArePixEvenOnTheRootBus) {
  Machine machine;
  for (std::uint8_t function = 0; function < 2; ++function) {
    PciDevice device;
    device.address = {0, 0, 5, function};
    device.root_complex = "pci0000:00";
    machine.pci.devices.push_back(device);
    RdmaDevice rdma;
    rdma.name = "mlx5_" + std::to_string(function);
    rdma.pci = function;
    machine.rdma.push_back(rdma);
  }
  EXPECT_EQ(between(machine, nic(0), nic(1)), "PIX");
}

TEST(Path, DirectNvLinksAreCounted) {
  const Machine machine = machine_of("numa { 4 gpu nvlink:mesh:4 }");
  EXPECT_EQ(between(machine, gpu(0), gpu(3)), "NV4");
  EXPECT_EQ(path_between(machine, gpu(0), gpu(3)).links, 4U);
}

TEST(Path, NvLinkPairsLeaveTheOthersOnPcie) {
  const Machine machine = machine_of("numa { 4 gpu nvlink:pairs:2 }");
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "NV2");
  EXPECT_EQ(between(machine, gpu(1), gpu(2)), "PHB");
}

TEST(Path, SwitchedNvLinksTakeTheSmallerEnd) {
  Machine machine = machine_of("2 numa { 2 gpu nvlink:full:18 }");
  EXPECT_EQ(between(machine, gpu(0), gpu(3)), "NV18");
  machine.gpus[3].links[0].state = LinkState::kInactive;
  machine.gpus[3].links[1].state = LinkState::kUnknown;
  EXPECT_EQ(between(machine, gpu(0), gpu(3)), "NV16");
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "NV18");
}

TEST(Path, InactiveNvLinksAreNoPath) {
  Machine machine = machine_of("2 numa { gpu nvlink:full:2 }");
  for (GpuLink& link : machine.gpus[1].links)
    link.state = LinkState::kInactive;
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "SYS");
}

TEST(Path, NvLinksWithUnknownEndsAreUnknownNotPcie) {
  Machine machine = machine_of("numa { 2 gpu }");
  for (Gpu& each : machine.gpus)
    each.links.push_back(link_to(PeerKind::kUnknown));
  const Path path = path_between(machine, gpu(0), gpu(1));
  EXPECT_EQ(path.kind, PathClass::kUnknown);
  EXPECT_EQ(path.why, "both have active NVLinks, but the source does not say where they end");
}

TEST(Path, MissingNumaNodeIsUnknownAndNamed) {
  Machine machine = machine_of("2 numa { gpu }");
  for (PciDevice& device : machine.pci.devices)
    device.numa = {};
  machine.gpus[1].numa = {};
  const Path path = path_between(machine, gpu(0), gpu(1));
  EXPECT_EQ(label(path), "?");
  EXPECT_EQ(path.why, "the NUMA node of GPU 1 is not known");
}

TEST(Path, MissingNumaNodeIsNoQuestionOnAOneNodeMachine) {
  Machine machine = machine_of("numa { 2 bridge { gpu } }");
  for (PciDevice& device : machine.pci.devices)
    device.numa = Observed<NumaId>::absent({});
  for (Gpu& each : machine.gpus)
    each.numa = Observed<NumaId>::absent({});
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "NODE");
}

TEST(Path, BridgeNumaCountsForTheDeviceBelow) {
  Machine machine = machine_of("2 numa { switch { gpu } }");
  for (Gpu& each : machine.gpus) {
    each.numa = {};
    machine.pci.devices[*each.pci].numa = Observed<NumaId>::absent({});
  }
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "SYS");
}

TEST(Path, NoPciPlaceIsUnknownAndNamed) {
  Machine machine = machine_of("numa { gpu; hca }");
  machine.rdma[0].pci = {};
  machine.rdma[0].name = "rxe0";
  EXPECT_EQ(path_between(machine, gpu(0), nic(0)).why, "the PCI place of rxe0 is not known");
}

TEST(Path, UnknownHostBridgesOnOneNodeStayUnknown) {
  Machine machine = machine_of("2 numa { 2 gpu }");
  for (PciDevice& device : machine.pci.devices) {
    device.parent = {};
    device.root_complex.clear();
  }
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "?");
  EXPECT_EQ(between(machine, gpu(0), gpu(2)), "SYS");
}

TEST(Path, StatedMatrixWins) {
  Machine machine = machine_of("numa { 2 gpu }");
  StatedPaths stated;
  stated.devices = {gpu(0), gpu(1)};
  stated.cells = {{PathClass::kSelf, 0, {}},
                  {PathClass::kNvLink, 12, {}},
                  {PathClass::kNvLink, 12, {}},
                  {PathClass::kSelf, 0, {}}};
  machine.stated_paths = stated;
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "NV12");
  machine.stated_paths->cells.resize(1);  // cut off: the tree answers
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "PHB");
}

TEST(Path, NoSuchDevice) {
  const Machine machine = machine_of("numa { gpu }");
  EXPECT_EQ(path_between(machine, gpu(0), gpu(7)).why, "no such device");
}

TEST(Path, ParentsInARingEnd) {
  Machine machine = machine_of("numa { 2 switch { gpu } }");
  for (PciDevice& device : machine.pci.devices)
    device.parent = device.parent ? device.parent : 0U;
  machine.pci.devices[0].parent = 0U;
  EXPECT_FALSE(label(path_between(machine, gpu(0), gpu(1))).empty());
}

TEST(Path, CoherentGpuReachesItsCpuByC2c) {
  Machine machine = machine_of("numa { gpu }");
  EXPECT_EQ(label(path_to_cpu(machine, 0)), "PHB");
  machine.gpus[0].links = {link_to(PeerKind::kCpu), link_to(PeerKind::kCpu),
                           link_to(PeerKind::kCpu, LinkState::kInactive)};
  EXPECT_EQ(label(path_to_cpu(machine, 0)), "NV2");
  machine.gpus[0].coherent_link = Observed<bool>::known(true, {});
  EXPECT_EQ(label(path_to_cpu(machine, 0)), "C2C");
}

TEST(Path, HasPathsOnlyWithATreeOrAMatrix) {
  EXPECT_TRUE(has_paths(machine_of("numa { gpu }")));
  EXPECT_FALSE(has_paths(machine_of("2 numa")));
}

TEST(Path, UnreadNvLinksAreNotCalledPcie) {
  Machine machine = machine_of("numa { switch { 2 gpu; hca } }");
  machine.software.nvml_error = Observed<std::string>::known("Driver/library version mismatch", {});
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "?");
  EXPECT_EQ(path_between(machine, gpu(0), gpu(1)).why, "whether NVLinks join them was not read");
  EXPECT_EQ(between(machine, gpu(0), nic(0)), "PIX");
  machine.gpus[0].library_index = Observed<std::uint32_t>::known(0, {});  // NVML saw one of them after all
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "PIX");
}

TEST(Path, ForeignFileWithPciAloneDoesNotTellOfNvLinks) {
  Machine machine = machine_of("2 numa { gpu }");
  for (Gpu& each : machine.gpus)
    each.address = Observed<PciAddress>::known(each.address.value_or({}), {0, 7, ""});
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "?");
  for (Gpu& each : machine.gpus)
    each.vendor = GpuVendor::kAmd;
  EXPECT_EQ(between(machine, gpu(0), gpu(1)), "SYS");
}

}  // namespace
}  // namespace angio::model
