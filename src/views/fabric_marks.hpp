// What the findings say of each port, node and host, so that pictures and tables need not search: the worst
// mark, and the first finding of that severity. Internal to fabric_*.
#pragma once

#include <cstdint>
#include <vector>

#include "model/fabric.hpp"
#include "model/fabric_report.hpp"
#include "report/document.hpp"

namespace angio::views {

struct Mark {
  // From quiet to loud; kUnknown: nobody knows how it is.
  enum Level : std::uint8_t { kNone, kInfo, kUnknown, kWarning, kCritical };
  static constexpr std::uint32_t kNoFinding = ~std::uint32_t{0};

  Level level = kNone;
  std::uint32_t finding = kNoFinding;  // in FabricReport::findings
};
// The louder of two; of equals the first.
Mark louder(Mark a, Mark b);
// Plain where nothing is wrong; remarks are quiet.
report::Tone tone_of(Mark mark);

class FabricMarks {
 public:
  FabricMarks(const model::Fabric& fabric, const model::FabricReport& report);

  [[nodiscard]] Mark port(model::PortRef ref) const;
  // Of a port and of the port at the other end.
  [[nodiscard]] Mark link(model::PortRef ref) const;
  // What is said of the node itself, and of its ports that lead nowhere.
  [[nodiscard]] Mark node(std::uint32_t node) const;
  // What is said of the host as a whole, and of no port or single adapter of it.
  [[nodiscard]] Mark host(std::uint32_t host) const;
  // Whether the link is down, or slower than both its ends can or than a finding says it should be: what
  // pictures dash.
  [[nodiscard]] bool is_degraded(model::PortRef ref) const;

 private:
  void add(std::uint32_t number, const std::vector<std::uint32_t>& host_of);

  const model::Fabric& fabric_;
  const model::FabricReport& report_;
  std::vector<std::uint32_t> first_port_;  // of each node, in ports_
  std::vector<Mark> ports_;
  std::vector<Mark> nodes_;
  std::vector<Mark> hosts_;
};

}  // namespace angio::views
