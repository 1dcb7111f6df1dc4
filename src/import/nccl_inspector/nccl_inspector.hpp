// Records of NCCL's Inspector (profiler plugin, 2.28 and newer): one JSON object a line. They are added up as
// they come, so that memory depends on communicators, operations and sizes, not on the length of the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>

#include "model/nccl_inspector.hpp"

namespace angio::import::nccl_inspector {

bool looks_like(std::string_view bytes);

class RecordReader {
 public:
  // Lines of several files, each with its own place.
  void read(std::uint32_t place, std::uint32_t number, std::string_view line);
  [[nodiscard]] model::InspectorSummary take();
  [[nodiscard]] bool empty() const { return summary_.records == 0 && summary_.damaged == 0; }

 private:
  using Key = std::tuple<std::string, std::string, std::uint64_t>;  // communicator, operation, bucket
  void damaged(const model::Source& source);

  model::InspectorSummary summary_;
  std::map<Key, model::InspectorAggregate> aggregates_;
  std::set<std::string> hosts_;
};

}  // namespace angio::import::nccl_inspector
