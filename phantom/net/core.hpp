// The network plugin itself, apart from the shape of its interface: the NICs of the phantom node, and
// connections between them over messages.hpp. Each net_v<N>.cpp puts one version's shape around it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "net/abi.hpp"

namespace angio::phantom::net {

inline constexpr const char* kName = "Phantom";

// What all versions tell of a NIC; the strings live as long as the process.
struct Properties {
  char* name = nullptr;
  char* pci_path = nullptr;
  std::uint64_t guid = 0;
  int pointers = kPointerHost;
  int force_flush = 0;
  int speed = 0;  // Mb/s
  int port = 1;
  float latency = 0;  // us
  int max_comms = 1;
  int max_receives = 1;
};

Result start(Log log);
Result count_devices(int* count);
Result get_properties(int device, Properties& properties);

Result listen(int device, void* handle, void** listener);
Result connect(int device, const void* handle, void** sender);  // success with nullptr: ask again
Result accept(void* listener, void** receiver);                 // likewise

// Memory needs no registration.
Result register_memory(void* comm, void** handle);
Result deregister_memory();

// success with a request of nullptr: cannot be taken now, ask again.
Result isend(void* sender, const void* data, std::size_t size, int tag, void** request);
Result irecv(void* receiver, int count, void* const* data, const std::size_t* sizes, const int* tags,
             void** request);
Result irecv(void* receiver, int count, void* const* data, const int* sizes, const int* tags, void** request);
// Nothing is under way to a GPU: done at once, which a request of nullptr says.
Result iflush(void** request);
Result test(void* request, int* done, int* sizes);

Result close_send(void* sender);
Result close_receive(void* receiver);
Result close_listen(void* listener);

}  // namespace angio::phantom::net
