#include "knowledge/fabric_limits.hpp"

#include <algorithm>
#include <array>
#include <iterator>

namespace angio::knowledge {
namespace {

#include "fabric_tables.inc"

template <typename Table, typename Key, typename Member>
auto find_in(const Table& table, const Key& key, Member member) -> decltype(std::begin(table)) {
  const auto found = std::ranges::find(table, key, member);
  return found == std::end(table) ? nullptr : found;
}

}  // namespace

const LinkErrorLimit* find_link_errors(std::string_view speed) {
  return find_in(kLinkErrorLimits, speed, &LinkErrorLimit::speed);
}

const WaitTick* find_wait_tick(std::uint32_t device) {
  return find_in(kWaitTicks, device, &WaitTick::device);
}

}  // namespace angio::knowledge
