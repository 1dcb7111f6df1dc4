// One loaded and initialised NVML: finds functions by name, turns return codes into read errors with
// NVML's own words. Knows nothing of paths; nvml_leaves.cpp gives each question its function.
#pragma once

#include <cerrno>
#include <memory>
#include <string>
#include <utility>

#include "host/libraries.hpp"
#include "host/root.hpp"
#include "probe/nvml/nvml_abi.hpp"

namespace angio::probe::nvml {

// make's answer where read has one, else read's error. (expected::transform came with GCC 13.)
template <typename Make>
auto answered(const host::Read<void>& read, Make make) -> host::Read<decltype(make())> {
  if (!read) return std::unexpected(read.error());
  return make();
}
template <typename T, typename Make>
auto answered(const host::Read<T>& read, Make make) -> host::Read<decltype(make(*read))> {
  if (!read) return std::unexpected(read.error());
  return make(*read);
}

class Calls {
 public:
  explicit Calls(std::unique_ptr<host::Library> library) : library_(std::move(library)) {}
  Calls(const Calls&) = delete;
  Calls& operator=(const Calls&) = delete;
  ~Calls();  // shuts NVML down when it was initialised

  // nvmlInit, once: "0", or the code and NVML's words: "18 Driver/library version mismatch".
  const std::string& init();  // must end before any other call begins
  [[nodiscard]] bool ready() const { return init_answer_ == "0"; }
  [[nodiscard]] const std::string& library_path() const { return library_->path(); }

  // Calls symbol with arguments; success, or why not. Function is one of the shapes of nvml_abi.hpp.
  template <typename Function, typename... Arguments>
  [[nodiscard]] host::Read<void> call(const char* symbol, Arguments... arguments) const {
    const auto function = find<Function>(symbol);
    if (function == nullptr) return std::unexpected(lacks(symbol));
    return checked(function(arguments...));
  }
  template <typename Function>
  [[nodiscard]] Function find(const char* symbol) const {
    return reinterpret_cast<Function>(library_->find(symbol));  // dlsym's answer: POSIX allows exactly this
  }

  [[nodiscard]] host::Read<void> checked(int code) const;
  [[nodiscard]] host::Read<Device> device(unsigned index) const;
  [[nodiscard]] host::Read<unsigned> device_count() const;
  [[nodiscard]] std::string words(int code) const;  // NVML's own

 private:
  [[nodiscard]] host::ReadError lacks(const char* symbol) const;
  std::unique_ptr<host::Library> library_;
  std::string init_answer_;  // empty: not asked yet
};

}  // namespace angio::probe::nvml
