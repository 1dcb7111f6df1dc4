// What is known of a hop between two ranks, for the pictures: the way, whether it is slower than it need be,
// the words.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "model/nccl_log.hpp"
#include "report/document.hpp"

namespace angio::views {

enum class HopKind : std::uint8_t {
  kUnknown,
  kNvlink,
  kPeer,
  kHostMemory,
  kNetwork,
  kStagedNetwork,
  kSocket
};

struct Hop {
  HopKind kind = HopKind::kUnknown;
  std::string words;  // "P2P/CUMEM"
  bool degraded = false;
};

// The ways of one communicator by (from, to).
class Hops {
 public:
  Hops(const model::NcclLog& log, const model::NcclCommunicator& communicator);

  [[nodiscard]] Hop between(std::uint32_t from, std::uint32_t to) const;
  [[nodiscard]] const std::string& host(std::uint32_t rank) const;  // empty: the log does not say
  [[nodiscard]] std::string gpu(std::uint32_t rank) const;          // "GPU 3"; empty: the log does not say

 private:
  bool nvlink_ = false;  // the GPUs of a node have it, as NCCL's own topology or patterns say
  std::map<std::pair<std::uint32_t, std::uint32_t>, const model::NcclConnection*> ways_;
  std::map<std::uint32_t, std::string> hosts_;
  std::map<std::uint32_t, int> gpus_;
};

report::Connector connector_of(const Hop& hop);  // style and tooltip, no points yet
const char* name_of(HopKind kind);               // "host memory"

}  // namespace angio::views
