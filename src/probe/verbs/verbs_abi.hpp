// The part of libibverbs' binary interface that Angio calls: our own declarations of version IBVERBS_1.1,
// after libibverbs/verbs.h of rdma-core (GPL-2.0 OR BSD-2-Clause). Shared with the tests' stand-in library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace angio::probe::verbs {

struct OpaqueDevice;
struct OpaqueContext;
using Device = OpaqueDevice*;
using Context = OpaqueContext*;

// What the exported ibv_query_port fills. The name is a compatibility symbol: programs compiled against
// verbs.h reach the provider through the context instead and hand over the size of their struct. The symbol
// takes no size and writes struct _compat_ibv_port_attr, 48 bytes: all below but the reserve. Later fields
// (port_cap_flags2, active_speed_ex) are never written through it; the reserve is for libraries that err.
struct PortAttributes {
  std::int32_t state;
  std::int32_t max_mtu;     // enum ibv_mtu
  std::int32_t active_mtu;  // enum ibv_mtu
  std::int32_t gid_table_length;
  std::uint32_t capabilities;
  std::uint32_t max_message_size;
  std::uint32_t bad_pkeys;
  std::uint32_t qkey_violations;
  std::uint16_t pkey_table_length;
  std::uint16_t lid;
  std::uint16_t sm_lid;
  std::uint8_t lmc;
  std::uint8_t max_vl_num;
  std::uint8_t sm_sl;
  std::uint8_t subnet_timeout;
  std::uint8_t init_type_reply;
  std::uint8_t active_width;
  std::uint8_t active_speed;
  std::uint8_t physical_state;
  std::uint8_t link_layer;
  std::uint8_t flags;
  std::array<std::uint32_t, 20> reserve;
};
static_assert(offsetof(PortAttributes, active_mtu) == 8);
static_assert(offsetof(PortAttributes, flags) == 47);

using GetDeviceList = Device* (*)(int*);
using FreeDeviceList = void (*)(Device*);
using GetDeviceName = const char* (*)(Device);
using OpenDevice = Context (*)(Device);
using CloseDevice = int (*)(Context);
using QueryPort = int (*)(Context, std::uint8_t, PortAttributes*);

}  // namespace angio::probe::verbs
