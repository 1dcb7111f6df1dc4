// NVLinks and peers of a phantom node, as NVML tells them.
#include "export.hpp"
#include "nvml/devices.hpp"

namespace angio::phantom::nvml {

void write_address(const Address& address, PciInfo& info, bool whole);

namespace {

const Link* find_link(const Gpu& gpu, unsigned index) {
  for (const Link& link : gpu.links) {
    if (link.index == index) {
      return &link;
    }
  }
  return nullptr;
}

// nvmlNvlinkVersion_t (nvml.h) of a generation: 1 is NVLink 1.0, 2 is 2.0, 3 is 2.2, 4 is 3.0, 5 is 3.1, 6 is
// 4.0, 7 is 5.0.
unsigned nvlink_version(const Gpu& gpu) {
  constexpr unsigned kBetween = 2;  // 2.2 and 3.1, which no GPU here has
  return gpu.nvlink_version <= 2 ? gpu.nvlink_version
                                 : gpu.nvlink_version + (gpu.nvlink_version == 3 ? 1 : kBetween);
}

// A link that the GPU does not have at all is an error, one that is down is not.
Return check_link(const void* handle, unsigned link, const Gpu*& gpu) {
  gpu = find_gpu(handle);
  if (gpu == nullptr) {
    return kInvalidArgument;
  }
  if (gpu->nvlinks == 0) {
    return kNotSupported;
  }
  return link < gpu->nvlinks || find_link(*gpu, link) != nullptr ? kSuccess : kInvalidArgument;
}

Return remote_address(const void* handle, unsigned link, PciInfo* info, bool whole) {
  const Gpu* gpu = nullptr;
  if (const Return result = check_link(handle, link, gpu); result != kSuccess) {
    return result;
  }
  const Link* const up = find_link(*gpu, link);
  Address address;
  if (info == nullptr) {
    return kInvalidArgument;
  }
  if (up == nullptr || !parse_address(up->remote, address)) {
    return kNotSupported;
  }
  write_address(address, *info, whole);
  return kSuccess;
}

void set(FieldValue& value, unsigned number) {
  value.type = kTypeUnsigned;
  value.value.big = 0;
  value.value.number = number;
  value.result = kSuccess;
}

void fill(const Gpu& gpu, FieldValue& value) {
  value.timestamp = 0;
  value.latency = 0;
  value.result = kNotSupported;
  if (value.field == kC2cCount) {
    set(value, 0);
  } else if (value.field == kNvlinkCount && gpu.nvlinks > 0) {
    set(value, gpu.nvlinks);
  } else if (value.field == kNvlinkState && value.scope < gpu.nvlinks) {
    set(value, find_link(gpu, value.scope) != nullptr ? 1 : 0);
  } else if (value.field == kNvlinkVersion && value.scope < gpu.nvlinks) {
    set(value, nvlink_version(gpu));
  }
}

RemoteType remote_type(const Link& link) {
  switch (link.remote_class) {  // PCI class codes, as NCCL's tclass
    case 0x068000:
      return kRemoteSwitch;
    case 0x068001:
      return kRemoteIbmNpu;
    case 0x030200:
    case 0x030000:
      return kRemoteGpu;
    default:
      return kRemoteUnknown;
  }
}

int status_between(const Gpu& from, const Gpu& to) {
  for (const Peer& peer : from.peers) {
    if (peer.bus == to.bus) {
      return peer.status;
    }
  }
  return 0;
}

}  // namespace
}  // namespace angio::phantom::nvml

using angio::phantom::Gpu;
using angio::phantom::Link;
using namespace angio::phantom::nvml;

ANGIO_STAND_IN Return nvmlDeviceGetNvLinkState(const void* handle, unsigned link, int* active) {
  const Gpu* gpu = nullptr;
  if (const Return result = check_link(handle, link, gpu); result != kSuccess) {
    return result;
  }
  if (active == nullptr) {
    return kInvalidArgument;
  }
  *active = find_link(*gpu, link) != nullptr ? 1 : 0;
  return kSuccess;
}

ANGIO_STAND_IN Return nvmlDeviceGetNvLinkVersion(const void* handle, unsigned link, unsigned* version) {
  const Gpu* gpu = nullptr;
  if (const Return result = check_link(handle, link, gpu); result != kSuccess) {
    return result;
  }
  if (version == nullptr) {
    return kInvalidArgument;
  }
  *version = nvlink_version(*gpu);
  return kSuccess;
}

ANGIO_STAND_IN Return nvmlDeviceGetNvLinkCapability(const void* handle, unsigned link, int capability,
                                                    unsigned* has) {
  const Gpu* gpu = nullptr;
  if (const Return result = check_link(handle, link, gpu); result != kSuccess) {
    return result;
  }
  if (has == nullptr || capability < 0 || capability > kCapabilityValid) {
    return kInvalidArgument;
  }
  const bool up = find_link(*gpu, link) != nullptr;
  *has = up &&
         (capability == kCapabilityP2p || capability == kCapabilityAtomics || capability == kCapabilityValid);
  return kSuccess;
}

ANGIO_STAND_IN Return nvmlDeviceGetNvLinkRemotePciInfo(const void* handle, unsigned link, PciInfo* info) {
  return remote_address(handle, link, info, false);
}
ANGIO_STAND_IN Return nvmlDeviceGetNvLinkRemotePciInfo_v2(const void* handle, unsigned link, PciInfo* info) {
  return remote_address(handle, link, info, true);
}

ANGIO_STAND_IN Return nvmlDeviceGetNvLinkRemoteDeviceType(const void* handle, unsigned link, int* type) {
  const Gpu* gpu = nullptr;
  if (const Return result = check_link(handle, link, gpu); result != kSuccess) {
    return result;
  }
  const Link* const up = find_link(*gpu, link);
  if (type == nullptr) {
    return kInvalidArgument;
  }
  *type = up == nullptr ? kRemoteUnknown : remote_type(*up);
  return kSuccess;
}

// Each value has a result of its own; the call fails only as a whole.
ANGIO_STAND_IN Return nvmlDeviceGetFieldValues(const void* handle, int count, FieldValue* values) {
  const Gpu* const gpu = find_gpu(handle);
  if (gpu == nullptr || count < 0 || (count > 0 && values == nullptr)) {
    return kInvalidArgument;
  }
  for (int index = 0; index < count; ++index) {
    fill(*gpu, values[index]);
  }
  return kSuccess;
}

ANGIO_STAND_IN Return nvmlDeviceGetP2PStatus(const void* first, const void* second, int index, int* status) {
  const Gpu* const from = find_gpu(first);
  const Gpu* const to = find_gpu(second);
  if (from == nullptr || to == nullptr || status == nullptr || index < kP2pRead || index > kP2pProperty) {
    return kInvalidArgument;
  }
  constexpr int kP2pNotSupported = 5;
  const bool linked = !from->links.empty() && !to->links.empty();
  *status = index == kP2pNvlink && !linked ? kP2pNotSupported : status_between(*from, *to);
  return kSuccess;
}
