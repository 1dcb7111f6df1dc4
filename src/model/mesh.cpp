#include "model/mesh.hpp"

namespace angio::model {

std::string_view name_of(MeshTransport transport) {
  return transport == MeshTransport::kTcp ? "TCP" : "RDMA";
}

std::string_view name_of(MeshState state) {
  switch (state) {
    case MeshState::kMissing:
      return "missing";
    case MeshState::kDone:
      return "done";
    case MeshState::kFailed:
      return "failed";
  }
  return "";
}

std::string_view name_of(MeshVerdict verdict) {
  switch (verdict) {
    case MeshVerdict::kUnknown:
      return "unknown";
    case MeshVerdict::kNormal:
      return "normal";
    case MeshVerdict::kLow:
      return "low";
    case MeshVerdict::kImpossible:
      return "impossible";
  }
  return "";
}

}  // namespace angio::model
