// A stand-in for libibumad.so.3: mlx5_0 at a small InfiniBand fabric, mlx5_1 Ethernet, mlx5_2 without a
// cable. UMAD_STANDIN in the environment bends it: "phantom" names an adapter that is none, "denied" opens
// nothing, "unregistered" takes no class, "liar" mixes hostile answers in, "dead" fails after 10 datagrams.
// Loaded through the same dlopen as the real one.
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <optional>
#include <string_view>

#include "probe/umad/test_fabric.hpp"
#include "probe/umad/umad_abi.hpp"

using namespace angio::probe::umad;

#define ANGIO_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

struct Head {  // what stands before a MAD; the real one has other members at other places
  int agent;
  int status;
  int lid;
  int reserved[13];
};

struct Reply {
  int status = 0;
  int length = static_cast<int>(kMadBytes);
  MadBytes mad{};
};

std::deque<Reply> g_replies;
Port g_ports[3];
unsigned g_sent;

std::string_view mood() {
  const char* word = std::getenv("UMAD_STANDIN");
  return word != nullptr ? word : "";
}

TestFabric make_fabric() {
  TestFabric fabric;
  const auto host = fabric.add_adapter(0x100, "gpu-a mlx5_0", 1);
  const auto leaf = fabric.add_switch(0x10, "leaf-1", 4, 2);
  const auto other = fabric.add_adapter(0x200, "gpu-b mlx5_0", 3);
  fabric.cable(host, 1, leaf, 1);
  fabric.cable(other, 1, leaf, 2);
  fabric.nodes[other].ports[1].counters[5] = 42;
  return fabric;
}

void lie(const Reply& reply) {
  Reply other = reply;
  switch (g_sent % 6) {
    case 0:  // nobody's
      other.mad[12] = 0xee;
      break;
    case 1:
      other.length = 100;
      break;
    case 2:  // of another class and attribute
      other.mad[1] = 0x07;
      other.mad[17] = 0x33;
      break;
    case 3:  // a request
      other.mad[3] = 0x01;
      break;
    case 4:
      other.mad.fill(0xff);
      break;
    default:
      other.mad.fill(0);
      break;
  }
  g_replies.push_back(other);
}

}  // namespace

ANGIO_EXPORT int umad_init() {
  g_replies.clear();
  g_sent = 0;
  return 0;
}
ANGIO_EXPORT int umad_get_cas_names(Name* names, int) {
  const bool phantom = mood() == "phantom";
  for (int i = 0; i < 3; ++i) {
    std::strcpy(names[i].data(), phantom ? "mthca0" : "mlx5_0");
    if (!phantom) names[i][5] = static_cast<char>('0' + i);
  }
  return phantom ? 1 : 3;
}
ANGIO_EXPORT int umad_get_ca(const char* name, Adapter* adapter) {
  if (mood() == "phantom") return -ENODEV;
  const int index = name[5] - '0';
  Port& port = g_ports[index];
  port = {};
  port.number = 1;
  port.state = index == 2 ? 1 : 4;
  std::strcpy(port.link_layer.data(), index == 1 ? "Ethernet" : "InfiniBand");
  adapter->ports.fill(nullptr);
  adapter->ports_count = 1;
  adapter->ports[1] = &port;
  return 0;
}
ANGIO_EXPORT int umad_release_ca(Adapter*) {
  return 0;
}
ANGIO_EXPORT int umad_open_port(const char*, int) {
  if (mood() != "denied") return 7;
  errno = EACCES;
  return -EIO;
}
ANGIO_EXPORT int umad_close_port(int) {
  return 0;
}
ANGIO_EXPORT int umad_register(int, int mad_class, int version, std::uint8_t, long*) {
  if (mood() == "unregistered") {
    errno = EPERM;
    return -EPERM;
  }
  return version == 1 ? mad_class : -EINVAL;
}
ANGIO_EXPORT int umad_unregister(int, int) {
  return 0;
}
ANGIO_EXPORT std::size_t umad_size() {
  return sizeof(Head);
}
ANGIO_EXPORT void* umad_get_mad(void* buffer) {
  return static_cast<Head*>(buffer) + 1;
}
ANGIO_EXPORT int umad_status(void* buffer) {
  return static_cast<Head*>(buffer)->status;
}
ANGIO_EXPORT int umad_set_addr(void* buffer, int lid, int, int, int) {
  static_cast<Head*>(buffer)->lid = lid;
  return 0;
}
ANGIO_EXPORT int umad_set_pkey(void*, int) {
  return 0;
}

ANGIO_EXPORT int umad_send(int port, int agent, void* buffer, int length, int, int) {
  if (port != 7 || length != static_cast<int>(kMadBytes)) return -EINVAL;
  if (mood() == "dead" && g_sent >= 10) {
    errno = ENODEV;
    return -EIO;
  }
  ++g_sent;
  Reply reply;
  std::memcpy(reply.mad.data(), umad_get_mad(buffer), kMadBytes);
  if (reply.mad[1] != agent || reply.mad[3] != 1) std::abort();  // another agent's class, or no Get
  if (mood() == "liar") lie(reply);
  static const TestFabric kFabric = make_fabric();
  const auto lid = static_cast<std::uint16_t>(static_cast<Head*>(buffer)->lid);
  const std::optional<MadBytes> answer = kFabric.answer(reply.mad, lid);
  if (answer) {
    reply.mad = *answer;
  } else {
    reply.status = ETIMEDOUT;
  }
  g_replies.push_back(reply);
  if (mood() == "liar") lie(reply);
  return 0;
}

ANGIO_EXPORT int umad_recv(int, void* buffer, int* length, int) {
  if (g_replies.empty()) {
    errno = ETIMEDOUT;
    return -ETIMEDOUT;
  }
  const Reply reply = g_replies.front();
  g_replies.pop_front();
  auto* head = static_cast<Head*>(buffer);
  head->status = reply.status;
  std::memcpy(head + 1, reply.mad.data(), kMadBytes);
  *length = reply.length;
  return reply.mad[1];
}
