#include "host/addresses_root.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>

namespace angio::host {
namespace {

// getifaddrs asks this machine's kernel; every Linux has a loopback, though perhaps without addresses.
TEST(AddressesRoot, LinesOfInterfaceAndPrefix) {
  const auto root = make_addresses_root();
  EXPECT_EQ(root->list("/"), Names{"addresses"});
  EXPECT_EQ(root->read("/other").error().error, ENOENT);
  const Read<std::string> content = root->read("/addresses");
  ASSERT_TRUE(content.has_value());
  for (std::size_t at = 0; at < content->size();) {
    const std::size_t end = content->find('\n', at);
    ASSERT_NE(end, std::string::npos);
    const std::string line = content->substr(at, end - at);
    EXPECT_EQ(std::count(line.begin(), line.end(), ' '), 1) << line;
    EXPECT_EQ(std::count(line.begin(), line.end(), '/'), 1) << line;
    EXPECT_TRUE(!line.starts_with("lo 127.0.0.1/") || line == "lo 127.0.0.1/8") << line;
    at = end + 1;
  }
}

}  // namespace
}  // namespace angio::host
