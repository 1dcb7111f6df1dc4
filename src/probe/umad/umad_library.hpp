// libibumad by dlopen: the InfiniBand ports that it lists, and an opened one as a MadWire.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "host/libraries.hpp"
#include "probe/umad/exchange.hpp"
#include "probe/umad/umad_abi.hpp"

namespace angio::probe::umad {

struct UmadCalls {  // none is null
  Init init;
  GetAdapterNames names;
  GetAdapter get;
  ReleaseAdapter release;
  OpenPort open;
  ClosePort close;
  Register register_class;
  Unregister unregister;
  Send send;
  Receive receive;
  BufferSize size;
  GetMad mad;
  GetStatus status;
  SetAddress set_address;
  SetKeyIndex set_key_index;
};

// What libibumad says of one port.
struct ListedPort {
  std::string adapter;
  std::uint32_t number = 0;
  std::uint32_t state = 0;  // PortInfo:PortState; 4 is active
  bool ethernet = false;
};
std::string words_of(const ListedPort& port);  // "mlx5_0 port 1 is Down"

class UmadLibrary {
 public:
  static Result<std::unique_ptr<UmadLibrary>> load(const host::LibraryLoader& loader);
  [[nodiscard]] std::vector<ListedPort> ports() const;
  // The port must not outlive the library.
  [[nodiscard]] Result<std::unique_ptr<MadWire>> open(const std::string& adapter, std::uint32_t port) const;

 private:
  explicit UmadLibrary(std::unique_ptr<host::Library> library) : library_(std::move(library)) {}
  std::unique_ptr<host::Library> library_;
  UmadCalls calls_{};
};

}  // namespace angio::probe::umad
