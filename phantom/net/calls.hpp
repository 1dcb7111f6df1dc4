// What versions of NCCL's network plugin interface call alike: arguments that nothing here needs are dropped
// on the way to core.hpp. Where only types of arguments changed, the functions bear one name and the table of
// a version takes the one that fits it. Only for net_v<N>.cpp.
#pragma once

#include <cstddef>
#include <cstdint>

#include "net/abi.hpp"
#include "net/core.hpp"

namespace angio::phantom::net {

// Versions 11 and 12.
inline Result listen_here(void* /*context*/, int device, void* handle, void** listener) {
  return listen(device, handle, listener);
}

// Versions 7 to 9.
inline Result connect_there(int device, void* handle, void** sender, DeviceHandle** device_handle) {
  if (device_handle != nullptr) {
    *device_handle = nullptr;
  }
  return connect(device, handle, sender);
}

// Versions 11 and 12.
inline Result connect_there(void* /*context*/, int device, void* handle, void** sender,
                            DeviceHandle** device_handle) {
  if (device_handle != nullptr) {
    *device_handle = nullptr;
  }
  return connect(device, handle, sender);
}

// Version 6.
inline Result connect_there(int device, void* handle, void** sender) {
  return connect(device, handle, sender);
}

// Versions 7 to 12.
inline Result accept_here(void* listener, void** receiver, DeviceHandle** device_handle) {
  if (device_handle != nullptr) {
    *device_handle = nullptr;
  }
  return accept(listener, receiver);
}

// Versions 6 and 7.
inline Result remember(void* comm, void* /*data*/, int /*size*/, int /*type*/, void** handle) {
  return register_memory(comm, handle);
}

// Versions 8 to 12.
inline Result remember(void* comm, void* /*data*/, std::size_t /*size*/, int /*type*/, void** handle) {
  return register_memory(comm, handle);
}

// Versions 6 to 12.
inline Result remember_dmabuf(void* comm, void* /*data*/, std::size_t /*size*/, int /*type*/,
                              std::uint64_t /*offset*/, int /*fd*/, void** handle) {
  return register_memory(comm, handle);
}

// Versions 6 to 12.
inline Result forget(void* /*comm*/, void* /*handle*/) {
  return deregister_memory();
}

// Versions 6 to 8.
inline Result send(void* sender, void* data, int size, int tag, void* /*handle*/, void** request) {
  return isend(sender, data, static_cast<std::size_t>(size), tag, request);
}

// Versions 10 to 12.
inline Result send(void* sender, void* data, std::size_t size, int tag, void* /*handle*/, void* /*profile*/,
                   void** request) {
  return isend(sender, data, size, tag, request);
}

// Version 9.
inline Result send(void* sender, void* data, std::size_t size, int tag, void* /*handle*/, void** request) {
  return isend(sender, data, size, tag, request);
}

// Versions 6 to 8.
inline Result receive(void* receiver, int count, void** data, int* sizes, int* tags, void** /*handles*/,
                      void** request) {
  return irecv(receiver, count, data, sizes, tags, request);
}

// Versions 10 to 12.
inline Result receive(void* receiver, int count, void** data, std::size_t* sizes, int* tags,
                      void** /*handles*/, void** /*profiles*/, void** request) {
  return irecv(receiver, count, data, sizes, tags, request);
}

// Version 9.
inline Result receive(void* receiver, int count, void** data, std::size_t* sizes, int* tags,
                      void** /*handles*/, void** request) {
  return irecv(receiver, count, data, sizes, tags, request);
}

// Versions 6 to 12.
inline Result flush(void* /*receiver*/, int /*count*/, void** /*data*/, int* /*sizes*/, void** /*handles*/,
                    void** request) {
  return iflush(request);
}

// Versions 11 and 12.
inline Result finalize(void* /*context*/) {
  return kSuccess;
}

}  // namespace angio::phantom::net
