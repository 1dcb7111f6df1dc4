// The text of iblinkinfo, in its default form and with --line, and the "Link info:" lines of ibqueryerrors
// -r. The default form names the other end of a cable by LID, port and name only; --line has its port's GUID.
// Knows the output of infiniband-diags of rdma-core, with speeds up to XDR.
//   Switch: 0x0002c903006e1430 leaf-1:
//         10   21[  ] ==( 4X      25.78125 Gbps Active/  LinkUp)==>      40    1[  ] "gpu-a HCA-1" ( Could be
//         53.125 Gbps)
#pragma once

#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "import/fabric/fabric_draft.hpp"
#include "import/fabric/link_words.hpp"
#include "import/lines.hpp"

namespace angio::import::fabric {

struct LinkEnd {
  std::uint64_t guid = 0;  // of the port
  std::uint64_t lid = 0;
  std::uint32_t number = 0;
  std::string_view name;
};
struct LinkLine {
  LinkEnd here;
  std::optional<LinkEnd> there;
  LinkRate rate;
  LinkRate could_be;  // the best that both ends can, where the link runs below it
  model::PortState state = model::PortState::kUnknown;
  model::PortPhysicalState physical_state = model::PortPhysicalState::kUnknown;
  bool no_answer = false;  // "Port not available"
};
std::optional<LinkLine> parse_link_line(std::string_view text);

// Cables whose other end is named by LID or GUID, until all nodes are known.
class OpenEnds {
 public:
  void add(End from, const LinkEnd& to, std::uint32_t line);
  void join(FabricDraft& draft);

 private:
  struct Open {
    End from;
    LinkEnd to;
    std::uint32_t line = 0;
  };
  using ByLid = std::unordered_map<std::uint64_t, std::uint32_t>;
  using ByName = std::unordered_map<std::string, std::uint32_t>;
  static std::string name_key(std::uint64_t lid, std::string_view name);
  std::optional<std::uint32_t> find(const Open& open, FabricDraft& draft);

  std::vector<Open> open_;
  ByLid by_lid_;
  ByName by_name_;
};

// State, width and speed of a port, as its line says.
void set_link_state(const LinkLine& line, model::FabricPort& port);

bool is_iblinkinfo_line(std::string_view text);
Result<model::Fabric> import_iblinkinfo(const std::vector<Line>& lines, FabricDraft draft);

}  // namespace angio::import::fabric
