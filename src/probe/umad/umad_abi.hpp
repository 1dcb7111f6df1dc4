// The part of libibumad's binary interface that Angio calls: our own declarations of IBUMAD_1.0, after
// libibumad/umad.h of rdma-core (GPL-2.0 OR BSD-2-Clause). Shared with the tests' stand-in library.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace angio::probe::umad {

inline constexpr int kMostAdapters = 32;
inline constexpr std::size_t kNameBytes = 20;
inline constexpr std::size_t kMostPorts = 10;  // by number, 0 to 9

using Name = std::array<char, kNameBytes>;

struct Port {
  Name adapter;
  std::int32_t number;
  std::uint32_t base_lid;
  std::uint32_t lmc;
  std::uint32_t sm_lid;
  std::uint32_t sm_sl;
  std::uint32_t state;  // PortInfo:PortState
  std::uint32_t physical_state;
  std::uint32_t rate;  // Gb/s
  std::uint32_t capabilities;
  std::uint64_t gid_prefix;
  std::uint64_t guid;
  std::uint32_t pkeys_size;
  std::uint16_t* pkeys;
  Name link_layer;  // "InfiniBand", "Ethernet"; "IB" where the kernel does not say
};
static_assert(offsetof(Port, state) == 40);
static_assert(offsetof(Port, guid) == 64);
static_assert(offsetof(Port, link_layer) == 88);
static_assert(sizeof(Port) == 112);

struct Adapter {
  Name name;
  std::uint32_t node_type;
  std::int32_t ports_count;
  std::array<char, 20> firmware;
  std::array<char, 40> type;
  std::array<char, 20> hardware;
  std::uint64_t node_guid;
  std::uint64_t system_guid;
  std::array<Port*, kMostPorts> ports;
};
static_assert(offsetof(Adapter, node_guid) == 112);
static_assert(offsetof(Adapter, ports) == 128);
static_assert(sizeof(Adapter) == 208);

using Init = int (*)();
using GetAdapterNames = int (*)(Name*, int);
using GetAdapter = int (*)(const char*, Adapter*);
using ReleaseAdapter = int (*)(Adapter*);
using OpenPort = int (*)(const char*, int);
using ClosePort = int (*)(int);
// port, class, version of the class, RMPP version, methods of requests to be handed over (none: null)
using Register = int (*)(int, int, int, std::uint8_t, long*);
using Unregister = int (*)(int, int);
// port, agent, buffer, length of the MAD, milliseconds until it comes back with ETIMEDOUT, retries
using Send = int (*)(int, int, void*, int, int, int);
using Receive = int (*)(int, void*, int*, int);  // port, buffer, length, milliseconds; the agent or -errno
using BufferSize = std::size_t (*)();            // what stands before the MAD
using GetMad = void* (*)(void*);
using GetStatus = int (*)(void*);                       // an errno value; 0: an answer
using SetAddress = int (*)(void*, int, int, int, int);  // LID, QP, service level, Q_Key
using SetKeyIndex = int (*)(void*, int);

}  // namespace angio::probe::umad
