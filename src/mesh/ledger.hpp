// The measures of a mesh while it runs: which tests a pair still needs, and what their ends mean for the
// result. Pure; not how tests are run.
#pragma once

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "mesh/messages.hpp"
#include "mesh/schedule.hpp"
#include "model/mesh.hpp"

namespace angio::mesh {

// One test: `from` sends to `to`, or plays ping-pong with it.
struct Step {
  Tool tool = Tool::kTcpBandwidth;
  model::MeshTransport transport = model::MeshTransport::kTcp;
  std::uint32_t from = 0, from_nic = 0, to = 0, to_nic = 0;
};

class Ledger {
 public:
  // retry_failed: what failed in an earlier run is wanted again.
  Ledger(model::MeshResult& result, bool retry_failed);

  // Whether something of the pair has not been measured yet.
  [[nodiscard]] bool needs(const HostPair& pair) const;
  // The tests of a pair, in the order in which they run; forgets what failed before.
  std::vector<Step> open(const HostPair& pair, std::uint32_t round);
  void record(const Step& step, const Outcome& sender, const Outcome& receiver);
  // Returns the measures that it touched.
  std::vector<std::size_t> record_failure(const Step& step, const std::string& trouble);
  // As if the pair had not been begun: interrupted.
  void reset(const HostPair& pair);
  void reset(std::size_t measure);
  [[nodiscard]] std::uint32_t failed() const;

 private:
  using Key = std::tuple<model::MeshTransport, std::uint32_t, std::uint32_t, std::uint32_t, std::uint32_t>;
  using Lane =
      std::tuple<model::MeshTransport, std::uint32_t, std::uint32_t>;  // NIC of the first, of the second
  [[nodiscard]] std::vector<Lane> lanes(const HostPair& pair) const;
  [[nodiscard]] const model::MeshMeasure* find(const Key& key) const;
  model::MeshMeasure& at(const Key& key);
  [[nodiscard]] bool is_wanted(const Key& key) const;
  std::vector<std::size_t> touched(const Step& step);

  model::MeshResult& result_;
  bool retry_failed_;
  std::map<Key, std::size_t> places_;
};

bool is_latency(Tool tool);

}  // namespace angio::mesh
