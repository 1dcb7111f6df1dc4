#include "probe/nvml/nvml_calls.hpp"

#include <algorithm>

namespace angio::probe::nvml {
namespace {

int errno_of(int code) {
  switch (code) {
    case kNotSupported:
      return EOPNOTSUPP;
    case kNoPermission:
      return EACCES;
    case kNotFound:
      return ENOENT;
    case kFunctionNotFound:
      return ENOSYS;
    case kTimeout:
      return ETIMEDOUT;
    default:
      return EIO;
  }
}

}  // namespace

Calls::~Calls() {
  if (!ready()) return;
  if (const auto shutdown = find<Init>("nvmlShutdown")) shutdown();
}

const std::string& Calls::init() {
  if (!init_answer_.empty()) return init_answer_;
  const auto function = find<Init>("nvmlInit_v2");
  if (function == nullptr)
    return init_answer_ = std::to_string(kFunctionNotFound) + " nvmlInit_v2 is missing";
  const int code = function();
  return init_answer_ = code == kSuccess ? std::string("0") : std::to_string(code) + " " + words(code);
}

std::string Calls::words(int code) const {
  const auto text = find<ErrorString>("nvmlErrorString");
  const char* answer = text != nullptr ? text(code) : nullptr;
  return answer != nullptr ? answer : "NVML error " + std::to_string(code);
}

host::ReadError Calls::lacks(const char* symbol) const {
  return {ENOSYS, std::string(symbol) + " is not in " + library_->path()};
}

host::Read<void> Calls::checked(int code) const {
  if (code == kSuccess) return {};
  return std::unexpected(host::ReadError{errno_of(code), words(code)});
}

host::Read<Device> Calls::device(unsigned index) const {
  const host::Read<unsigned> count = device_count();
  if (!count) return std::unexpected(count.error());
  if (index >= *count) return std::unexpected(host::ReadError{ENOENT, {}});
  Device device = nullptr;
  const host::Read<void> done = call<DeviceHandle>("nvmlDeviceGetHandleByIndex_v2", index, &device);
  if (!done) return std::unexpected(done.error());
  return device;
}

host::Read<unsigned> Calls::device_count() const {
  if (!ready()) return std::unexpected(host::ReadError{EIO, init_answer_});
  unsigned count = 0;
  const host::Read<void> done = call<DeviceCount>("nvmlDeviceGetCount_v2", &count);
  if (!done) return std::unexpected(done.error());
  return std::min(count, kMostDevices);
}

}  // namespace angio::probe::nvml
