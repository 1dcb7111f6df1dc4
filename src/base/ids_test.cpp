#include "base/ids.hpp"

#include <gtest/gtest.h>

namespace angio {
namespace {

TEST(PciAddress, ReadsTheFormsInUse) {
  const PciAddress expected{0, 0x1b, 0, 0};
  EXPECT_EQ(parse_pci_address("0000:1b:00.0"), expected);
  EXPECT_EQ(parse_pci_address("1b:00.0"), expected);
  EXPECT_EQ(parse_pci_address("00000000:1B:00.0"), expected);                         // NVML
  EXPECT_EQ(parse_pci_address("10000:e1:1f.7"), (PciAddress{0x10000, 0xe1, 31, 7}));  // VMD
}

TEST(PciAddress, PrintsAsTheKernel) {
  EXPECT_EQ(to_string({0, 0x1b, 0, 0}), "0000:1b:00.0");
  EXPECT_EQ(to_string({0x10000, 0xe1, 31, 7}), "10000:e1:1f.7");
}

TEST(PciAddress, RefusesOthers) {
  for (const char* text : {"", "1b", "1b:00", "1b:00.8", "1b:20.0", "100:00.0", "0:0:0:0.0", "1b:00.0.0",
                           ":1b:00.0", "zz:00.0", "1b:-1.0", "100000000:1b:00.0"}) {
    EXPECT_EQ(parse_pci_address(text), std::nullopt) << text;
  }
}

TEST(PciAddress, OrdersByDomainThenBus) {
  EXPECT_LT((PciAddress{0, 0xff, 31, 7}), (PciAddress{1, 0, 0, 0}));
  EXPECT_LT((PciAddress{0, 1, 31, 7}), (PciAddress{0, 2, 0, 0}));
}

}  // namespace
}  // namespace angio
