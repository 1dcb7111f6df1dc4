// One call of a collective by gloo, from its arguments to its end. Exceptions of gloo end here.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

#include "collective/transport.hpp"
#include "gloo_transport.hpp"
#include "mesh.hpp"

namespace angio::gloo_backend {

// What a group keeps between its calls. One call at a time.
struct GroupState {
  Mesh mesh;
  std::uint32_t tag = 0;  // of the next collective; the same on every member
  // Algorithms of gloo's older kind are made for one buffer; the last one is kept.
  using Key = std::tuple<collective::Memory, std::uint64_t, collective::Element, collective::Reduction>;
  std::pair<Key, std::shared_ptr<gloo::Algorithm>> algorithm;
  std::vector<std::byte> scratch;
};

// Error: what gloo said and which rank it concerns.
Result<void> run_call(const collective::Call& call, GroupState& group, const GlooOptions& options);

}  // namespace angio::gloo_backend
