// The words by which a failure is known. NCCL 2.4 to 2.30; the first row that fits wins, so the special stand
// before the general. Sources: nccl/src (bootstrap.cc, init.cc, transport/*.cc, misc/*.cc, graph/*.cc,
// ras/*.cc).
#include <array>

#include "import/nccl_log/events.hpp"

namespace angio::import::nccl_log {

namespace {

using Kind = model::NcclEventKind;

struct Pattern {
  std::string_view words;
  Kind kind;
};

constexpr auto kPatterns = std::to_array<Pattern>({
    {"Duplicate GPU detected", Kind::kDuplicateGpu},
    {"Multiple Ranks are using the same GPU", Kind::kDuplicateGpu},
    {"ranks are using the same GPU", Kind::kDuplicateGpu},
    {"Mismatched NCCL version", Kind::kVersionMismatch},
    {"mismatched NCCL version", Kind::kVersionMismatch},
    {"driver version is insufficient", Kind::kDriver},
    {"CUDA driver is too old", Kind::kDriver},
    {"Cuda driver is too old", Kind::kDriver},
    {"Cuda failure", Kind::kCudaFailure},
    {"CUDA failure", Kind::kCudaFailure},
    {"HIP failure", Kind::kCudaFailure},
    {"[Proxy Service", Kind::kProxyEcho},
    {"[Service thread]", Kind::kServiceThread},
    {"[Service UDS]", Kind::kServiceThread},
    {"[Proxy Thread]", Kind::kProxyEcho},
    {"Proxy Call to rank", Kind::kProxyEcho},
    {"Socket recv failed while polling", Kind::kProxyEcho},
    {"Async transport error", Kind::kProxyEcho},
    {"retcode", Kind::kProxyEcho},
    {"Got completion", Kind::kCompletionError},
    {"Got CQE with error", Kind::kCompletionError},
    {"vendor_err=", Kind::kCompletionError},
    {"vendor err ", Kind::kCompletionError},
    {"async fatal event", Kind::kAsyncFatal},
    {"port error", Kind::kAsyncPort},
    {"port down", Kind::kAsyncPort},
    {"async event", Kind::kAsyncOther},
    {"GID table changed", Kind::kAsyncOther},  // 2.23+ says that without "async event"
    {"ibv_create_qp", Kind::kQpCreate},
    {"ibv_modify_qp", Kind::kQpModify},
    {"ibv_reg_mr", Kind::kRegisterMemory},
    {"ibv_reg_dmabuf_mr", Kind::kRegisterMemory},
    {"Unable to register memory", Kind::kRegisterMemory},
    {"regMr failed", Kind::kRegisterMemory},
    {"cudaHostRegister", Kind::kRegisterMemory},
    {"Call to ibv_", Kind::kVerbsCall},
    {"Call to mlx5dv_", Kind::kVerbsCall},
    {"no socket interface found", Kind::kNoInterface},
    {"no interface found", Kind::kNoInterface},
    {"No IP interface found", Kind::kNoInterface},
    {"No interface found in the same subnet", Kind::kNoInterface},
    {"No usable listening interface found", Kind::kNoInterface},
    {"Could not find any local interface", Kind::kNoSuchInterface},
    {"interface not found", Kind::kNoSuchInterface},
    {"No such interface", Kind::kNoSuchInterface},
    {"error encountered when getting address info", Kind::kNameResolution},
    {"Message truncated", Kind::kMessageTruncated},
    {"wrong magic", Kind::kWrongMagic},
    {"wrong type", Kind::kWrongMagic},
    {"invalid magic", Kind::kWrongMagic},
    {"mismatch in magic", Kind::kWrongMagic},
    {"retries (", Kind::kConnectTimeout},
    {"exceeded retries", Kind::kConnectTimeout},
    {"exceeded error retry count", Kind::kConnectTimeout},
    {"timeout waiting", Kind::kBootstrapTimeout},
    {"Bootstrap timeout", Kind::kBootstrapTimeout},
    {"Connection closed by remote peer", Kind::kConnectionClosed},
    {"connection closed by remote peer", Kind::kConnectionClosed},
    {"Connection reset by peer", Kind::kConnectionReset},
    {"Broken pipe", Kind::kConnectionReset},
    {"Call to recv from", Kind::kConnectionReset},
    {"Call to send to", Kind::kConnectionReset},
    {"Call to connect", Kind::kConnectRefused},
    {"connect returned", Kind::kConnectRefused},
    {"connect to ", Kind::kConnectRefused},
    {"Connect to ", Kind::kConnectRefused},
    {"Connection refused", Kind::kConnectRefused},
    {"No route to host", Kind::kConnectRefused},
    {"remote process exited", Kind::kRemoteError},
    {"failed to extend", Kind::kSharedMemory},
    {"shared memory", Kind::kSharedMemory},
    {"/dev/shm", Kind::kSharedMemory},
    {"Failed to bind NVLink SHARP", Kind::kNvls},
    {"Multicast", Kind::kNvls},
    {"multicast", Kind::kNvls},
    {"NVLS", Kind::kNvls},
    {"IMEX", Kind::kMnnvlImex},
    {"MNNVL", Kind::kMnnvlImex},
    {"P2P is disabled between", Kind::kP2pDisabled},
    {"No transport found", Kind::kNoTransport},
    {"peer query failed", Kind::kPeerQuery},
    {"failed to peer with device", Kind::kPeerQuery},
    {"Could not enable P2P", Kind::kPeerQuery},
    {"libnvidia-ml", Kind::kNvml},
    {"nvml", Kind::kNvml},
    {"Could not find a path for pattern", Kind::kNoPath},
    {"too many XML nodes", Kind::kTopologyLimit},
    {"too many nodes", Kind::kTopologyLimit},
    {"Could not open XML", Kind::kTopologyFile},
    {"XML Parse", Kind::kTopologyFile},
    {"XML parse", Kind::kTopologyFile},
    {"XML Import", Kind::kTopologyFile},
    {"XML Topology", Kind::kTopologyOther},
    {"XML", Kind::kTopologyOther},
    {"opology", Kind::kTopologyOther},
    {"No IB device", Kind::kNoIbDevice},
    {"No device found", Kind::kNoIbDevice},
    {"ollNet", Kind::kCollnet},
    {"SHARP", Kind::kCollnet},
    {"nvalid argument", Kind::kInvalidArgument},
    {" : invalid ", Kind::kInvalidArgument},
    {"nvalid usage", Kind::kInvalidArgument},
    {"nvalid config", Kind::kInvalidArgument},
    {"is not a valid pointer", Kind::kInvalidArgument},
    {"is different from comm", Kind::kInvalidArgument},
    {"nvalid value", Kind::kInvalidSetting},
    {"NCCL_", Kind::kInvalidSetting},
    {"out of memory", Kind::kHostMemory},
    {"Failed to malloc", Kind::kHostMemory},
    {"Failed to calloc", Kind::kHostMemory},
    {"Call to malloc", Kind::kHostMemory},
    {"Call to posix_memalign", Kind::kHostMemory},
    {"Cannot allocate memory", Kind::kHostMemory},
    {"NET/OFI", Kind::kPlugin},
    {"Plugin", Kind::kPlugin},
    {"plugin", Kind::kPlugin},
    {"RAS", Kind::kRasNotice},
    {"Call to ", Kind::kSystemCall},
    {"failed: ", Kind::kSystemCall},
});

}  // namespace

model::NcclEventKind classify(std::string_view text) {
  text = text.substr(0, kMaxText);
  for (const Pattern& pattern : kPatterns) {
    if (text.find(pattern.words) != std::string_view::npos) return pattern.kind;
  }
  return Kind::kOtherWarning;
}

}  // namespace angio::import::nccl_log
