// NCCL's lists of device names, as NCCL_IB_HCA has them (NCCL user guide 2.30): a leading ^ excludes, a
// leading = makes names exact, then prefixes apart by commas, each with ":port" if wanted. No device here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace angio::model {

struct NameList {
  bool exclude = false;
  bool exact = false;
  std::vector<std::string_view> names;  // with ":port" where the list has it
};
NameList parse_names(std::string_view value);
std::string_view device_part(std::string_view name);  // without ":port"
bool takes(const NameList& list, std::string_view name);
bool takes(const NameList& list, std::string_view name, std::uint32_t port);

}  // namespace angio::model
