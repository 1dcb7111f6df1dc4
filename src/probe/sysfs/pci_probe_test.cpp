#include "probe/sysfs/pci_probe.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "probe/sysfs/iommu.hpp"
#include "probe/sysfs/pci_config.hpp"
#include "probe/sysfs/pci_device.hpp"
#include "probe/sysfs/pci_tree.hpp"
#include "probe/sysfs/probe_fixture.hpp"

namespace angio::probe {
namespace {

using test::Files;
using test::machine_of;

const std::string kPci = "/sys/bus/pci/devices/";

void put(std::string& bytes, std::size_t offset, std::uint32_t value, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i)
    bytes[offset + i] = static_cast<char>((value >> (8 * i)) & 0xffU);
}

// Configuration space of a PCIe device with ACS and ATS.
std::string express_config(std::uint32_t port_type) {
  std::string bytes(4096, '\0');
  put(bytes, 0x06, 0x10, 2);  // has a capability list
  put(bytes, 0x34, 0x40, 1);
  put(bytes, 0x40, 0x5001, 2);  // power management, next 0x50
  put(bytes, 0x50, 0x10, 2);    // PCI Express, last
  put(bytes, 0x52, (port_type << 4U) | 2U, 2);
  put(bytes, 0x54, 2, 4);                         // supports 512-byte payloads
  put(bytes, 0x58, (1U << 5U) | (5U << 12U), 2);  // 256-byte payload, 4096-byte reads
  put(bytes, 0x5c, 5U | (16U << 4U), 4);          // 32 GT/s x16
  put(bytes, 0x62, 4U | (8U << 4U), 2);           // 16 GT/s x8
  put(bytes, 0x100, 0x0dU | (1U << 16U) | (0x120U << 20U), 4);
  put(bytes, 0x106, 0x1d, 2);
  put(bytes, 0x120, 0x0fU | (1U << 16U), 4);
  put(bytes, 0x126, 0x8000, 2);
  return bytes;
}

TEST(PciConfig, ReadsCapabilities) {
  const std::string bytes = express_config(0x6);
  const PciConfig config(bytes);
  const auto express = config.express();
  ASSERT_TRUE(express.has_value());
  EXPECT_EQ(express->port, model::PciPort::kSwitchDownstream);
  EXPECT_EQ(express->max_payload, Bytes{256});
  EXPECT_EQ(express->max_payload_supported, Bytes{512});
  EXPECT_EQ(express->max_read_request, Bytes{4096});
  EXPECT_EQ(express->link_max, (model::PciLink{{32e9}, 16}));
  EXPECT_EQ(express->link, (model::PciLink{{16e9}, 8}));
  const auto acs = config.access_control();
  ASSERT_TRUE(acs.has_value());
  EXPECT_TRUE(acs->source_validation && acs->request_redirect && acs->completion_redirect &&
              acs->upstream_forwarding);
  EXPECT_EQ(config.address_translation(), true);
}

TEST(PciConfig, EndsOnLoopsAndCuts) {
  std::string bytes = express_config(0);
  put(bytes, 0x40, 0x4001, 2);                                  // points at itself
  put(bytes, 0x100, 0x99U | (1U << 16U) | (0x100U << 20U), 4);  // so does this
  EXPECT_FALSE(PciConfig(bytes).express().has_value());
  EXPECT_FALSE(PciConfig(bytes).access_control().has_value());
  const std::string whole = express_config(0);
  for (std::size_t size = 0; size < 0x130; ++size) {
    const PciConfig config(std::string_view(whole).substr(0, size));
    EXPECT_EQ(config.express().has_value(), size >= 0x54) << size;
    EXPECT_EQ(config.access_control().has_value(), size >= 0x108) << size;
    EXPECT_EQ(config.bridge_buses().has_value(), false);
  }
  EXPECT_FALSE(PciConfig(std::string(4096, '\xff')).express().has_value());
}

TEST(PciText, LinkSpeeds) {
  EXPECT_EQ(parse_link_speed("16.0 GT/s PCIe"), TransfersPerSecond{16e9});
  EXPECT_EQ(parse_link_speed("8 GT/s"), TransfersPerSecond{8e9});
  EXPECT_EQ(parse_link_speed("2.5 GT/s"), TransfersPerSecond{2.5e9});
  for (const char* text : {"Unknown speed", "Unknown", "", "16.0", "-1 GT/s", "1e300 GT/s", "nan GT/s"}) {
    EXPECT_FALSE(parse_link_speed(text).has_value()) << text;
  }
}

TEST(PciText, LargestBarIgnoresRomAndPorts) {
  const std::string none = "0x0000000000000000 0x0000000000000000 0x0000000000000000\n";
  EXPECT_EQ(parse_largest_bar("0x00000000e0000000 0x00000000e0ffffff 0x0000000000040200\n" + none +
                              "0x0000200000000000 0x0000201fffffffff 0x000000000014220c\n" + none +
                              "0x0000000000001000 0x00000000ffffffff 0x0000000000040101\n" + none +
                              "0x0000000000000000 0xffffffffffff0000 0x0000000000046200\n"),
            Bytes{std::uint64_t{128} << 30U});
  EXPECT_EQ(parse_largest_bar(none), Bytes{0});
  EXPECT_FALSE(parse_largest_bar("garbage\n").has_value());
}

TEST(PciTree, PathsOfOrdinaryAndNestedHostBridges) {
  const auto plain = parse_device_path("../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0");
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->root_complex, "pci0000:15");
  EXPECT_EQ(plain->parent, parse_pci_address("0000:15:01.0"));
  const auto vmd = parse_device_path("../../../devices/pci0000:5d/0000:5d:05.5/pci10000:00/10000:00:02.0");
  ASSERT_TRUE(vmd.has_value());
  EXPECT_EQ(vmd->root_complex, "pci0000:5d");
  EXPECT_EQ(vmd->parent, parse_pci_address("0000:5d:05.5"));
  const auto hyper_v =
      parse_device_path("../../../devices/LNXSYSTM:00/ACPI0004:00/4750-55/pci0001:00/0001:00:00.0");
  ASSERT_TRUE(hyper_v.has_value());
  EXPECT_EQ(hyper_v->root_complex, "pci0001:00");
  EXPECT_FALSE(hyper_v->parent.has_value());
  EXPECT_FALSE(parse_device_path("../pci_bus/0000:00:00.0").has_value());
}

TEST(PciTree, LyingPathsMakeNoCycle) {
  model::Pci pci;
  pci.devices.resize(2);
  pci.devices[0].address = *parse_pci_address("0000:01:00.0");
  pci.devices[1].address = *parse_pci_address("0000:02:00.0");
  std::vector<PciTreeInput> input(2);
  input[0].path = PciPathPosition{"pci0000:00", pci.devices[1].address};
  input[1].path = PciPathPosition{"pci0000:00", pci.devices[0].address};
  build_pci_tree(input, pci);
  EXPECT_NE(pci.devices[0].parent.has_value(), pci.devices[1].parent.has_value());
}

std::string bridge_config(std::uint32_t secondary, std::uint32_t subordinate) {
  std::string bytes(64, '\0');
  put(bytes, 0x0e, 1, 1);
  put(bytes, 0x19, secondary, 1);
  put(bytes, 0x1a, subordinate, 1);
  return bytes;
}

TEST(PciProbe, TreeWithoutLinksComesFromBusNumbers) {
  const model::Machine machine = machine_of({{kPci + "0000:15:01.0/class", "0x060400\n"},
                                             {kPci + "0000:15:01.0/config", bridge_config(0x16, 0x17)},
                                             {kPci + "0000:16:00.0/class", "0x060400\n"},
                                             {kPci + "0000:16:00.0/config", bridge_config(0x17, 0x17)},
                                             {kPci + "0000:17:00.0/class", "0x030200\n"}},
                                            probe_pci);
  ASSERT_EQ(machine.pci.devices.size(), 3U);
  EXPECT_EQ(machine.pci.devices[1].parent, 0U);
  EXPECT_EQ(machine.pci.devices[2].parent, 1U);
  EXPECT_EQ(machine.pci.devices[2].root_complex, "pci0000:15");
}

host::Recording gpu_machine() {
  const std::string gpu = kPci + "0000:16:00.0/";
  const std::string port = kPci + "0000:15:01.0/";
  host::Recording recording = test::recording_of(
      {{gpu + "uevent", "DRIVER=nvidia\nPCI_CLASS=30200\nPCI_ID=10DE:2330\nPCI_SUBSYS_ID=10DE:16C1\n"},
       {gpu + "numa_node", "-1\n"},
       {gpu + "local_cpulist", "0-55\n"},
       {gpu + "current_link_speed", "2.5 GT/s PCIe\n"},
       {gpu + "current_link_width", "16\n"},
       {gpu + "max_link_speed", "Unknown\n"},
       {gpu + "max_link_width", "255\n"},
       {gpu + "enable", "1\n"},
       {gpu + "config", std::string(64, '\0')},
       {gpu + "aer_dev_correctable", "RxErr 0\nBadTLP 7\nTOTAL_ERR_COR 7\n"},
       {gpu + "aer_dev_fatal", "TOTAL_ERR_FATAL 0\n"},
       {gpu + "sriov_totalvfs", "16\n"},
       {gpu + "sriov_numvfs", "0\n"},
       {gpu + "iommu_group/type", "DMA-FQ\n"},
       {port + "uevent", "PCI_CLASS=60400\nPCI_ID=8086:352A\n"},
       {port + "config", express_config(0x4)},
       {"/sys/bus/pci/slots/7/address", "0000:16:00\n"},
       {"/sys/kernel/iommu_groups/3/type", "DMA-FQ\n"}});
  recording[kPci + "0000:15:01.0"].link = "../../../devices/pci0000:15/0000:15:01.0";
  recording[kPci + "0000:16:00.0"].link = "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0";
  return recording;
}

TEST(PciProbe, GpuBelowARootPort) {
  const model::Machine machine = machine_of(gpu_machine(), probe_pci);
  const auto index = machine.pci.find(*parse_pci_address("16:00.0"));
  ASSERT_EQ(index, 1U);
  const model::PciDevice& gpu = machine.pci.devices[1];
  EXPECT_EQ(gpu.class_code, 0x030200U);
  EXPECT_EQ(gpu.vendor, 0x10de);
  EXPECT_EQ(gpu.subsystem_device, 0x16c1);
  EXPECT_EQ(gpu.parent, 0U);
  EXPECT_TRUE(gpu.driver.is("nvidia"));
  EXPECT_TRUE(gpu.numa.is_absent());  // -1: the kernel does not know
  EXPECT_EQ(to_list(gpu.local_cpus.value_or({})), "0-55");
  EXPECT_TRUE(gpu.link.is(model::PciLink{{2.5e9}, 16}));
  EXPECT_EQ(gpu.link_max.reason(), model::Reason::kUnsupported);
  EXPECT_TRUE(gpu.link_max.is_unreadable());
  EXPECT_TRUE(gpu.enabled.is(true));
  EXPECT_TRUE(gpu.virtual_functions_max.is(16));
  EXPECT_TRUE(gpu.virtual_functions.is(0));
  EXPECT_TRUE(gpu.slot.is("7"));
  ASSERT_TRUE(gpu.aer.is_known());
  EXPECT_EQ(gpu.aer.get()->correctable, (std::map<std::string, std::uint64_t>{{"BadTLP", 7}}));
  EXPECT_EQ(gpu.aer.get()->total_correctable, 7U);
  EXPECT_EQ(gpu.acs.reason(), model::Reason::kDenied);
  EXPECT_EQ(gpu.max_payload.error(), EACCES);
  EXPECT_EQ(cite(machine, gpu.numa.source()), kPci + "0000:16:00.0/numa_node");
  EXPECT_TRUE(machine.pci.iommu.is(model::IommuMode::kTranslated));
}

TEST(PciProbe, PortAboveTellsItsCapabilities) {
  const model::Machine machine = machine_of(gpu_machine(), probe_pci);
  const model::PciDevice& port = machine.pci.devices[0];
  EXPECT_EQ(port.port, model::PciPort::kRootPort);
  EXPECT_TRUE(port.driver.is_absent());
  EXPECT_TRUE(port.link_max.is(model::PciLink{{32e9}, 16}));  // from the capability: no sysfs files
  EXPECT_TRUE(port.acs.is_known());
  EXPECT_TRUE(port.max_payload.is(Bytes{256}));
  EXPECT_TRUE(port.slot.is_absent());
}

TEST(PciProbe, DomainsBeyondSixteenBits) {
  const model::Machine machine =
      machine_of({{kPci + "10000:e1:00.0/class", "0x010802\n"}, {kPci + "junk/class", "0x1\n"}}, probe_pci);
  ASSERT_EQ(machine.pci.devices.size(), 1U);
  EXPECT_EQ(machine.pci.devices[0].address.domain, 0x10000U);
  EXPECT_EQ(machine.pci.devices[0].class_code, 0x010802U);
}

TEST(PciProbe, VirtualFunctionNamesItsPhysicalFunction) {
  host::Recording recording =
      test::recording_of({{kPci + "0000:16:00.2/uevent", "PCI_CLASS=20000\nPCI_ID=15B3:101E\n"}});
  recording[kPci + "0000:16:00.2/physfn"].link = "../0000:16:00.0";
  const model::Machine machine = machine_of(std::move(recording), probe_pci);
  EXPECT_EQ(machine.pci.devices[0].physical_function, parse_pci_address("0000:16:00.0"));
  EXPECT_TRUE(machine.pci.devices[0].virtual_functions.is_absent());
}

TEST(Iommu, CommandLine) {
  using model::IommuMode;
  EXPECT_EQ(iommu_from_command_line("quiet intel_iommu=on iommu=pt"), IommuMode::kPassthrough);
  EXPECT_EQ(iommu_from_command_line("iommu=pt intel_iommu=on"), IommuMode::kPassthrough);
  EXPECT_EQ(iommu_from_command_line("amd_iommu=off iommu=pt"), IommuMode::kOff);
  EXPECT_EQ(iommu_from_command_line("intel_iommu=on,sm_on"), IommuMode::kTranslated);
  EXPECT_EQ(iommu_from_command_line("iommu.passthrough=1"), IommuMode::kPassthrough);
  EXPECT_FALSE(iommu_from_command_line("quiet splash xiommu=off").has_value());
}

TEST(Iommu, EmptyDirectoriesMeanOffAndSilenceMeansUnknown) {
  host::Recording recording;
  recording["/sys/class/iommu"].names = host::Names{};
  recording["/sys/kernel/iommu_groups"].names = host::Names{};
  EXPECT_TRUE(machine_of(recording, probe_pci).pci.iommu.is(model::IommuMode::kOff));
  const auto root = host::make_memory_root({}, host::Scope::kRecorded);
  model::Machine machine;
  probe_pci(*root, machine);
  EXPECT_TRUE(machine.pci.iommu.is_unreadable());
  recording["/sys/class/iommu"].names = host::Names{"dmar0"};  // on, but nothing says how
  EXPECT_TRUE(machine_of(recording, probe_pci).pci.iommu.is_unreadable());
}

}  // namespace
}  // namespace angio::probe
