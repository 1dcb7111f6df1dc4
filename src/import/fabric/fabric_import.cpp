#include "import/fabric/fabric_import.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/fabric/angio_fabric.hpp"
#include "import/fabric/fabric_draft.hpp"
#include "import/fabric/ibdiagnet.hpp"
#include "import/fabric/iblinkinfo.hpp"
#include "import/fabric/ibnetdiscover.hpp"
#include "import/fabric/ibqueryerrors.hpp"
#include "import/fabric/lldpctl.hpp"
#include "import/fabric/overlay.hpp"
#include "import/fabric/perfquery.hpp"
#include "import/fabric/refuse.hpp"
#include "import/known_text.hpp"
#include "import/lines.hpp"
#include "model/fabric_words.hpp"

namespace angio::import {
namespace {

struct Sign {
  FabricText kind;
  bool (*is_line)(std::string_view);
};
// In this order: a line of ibqueryerrors -r holds one of iblinkinfo, and so on.
constexpr std::array kSigns = {
    Sign{FabricText::kIbdiagnet, fabric::is_ibdiagnet_line},
    Sign{FabricText::kIbqueryerrors, fabric::is_ibqueryerrors_line},
    Sign{FabricText::kIblinkinfo, fabric::is_iblinkinfo_line},
    Sign{FabricText::kPerfquery, fabric::is_perfquery_line},
    Sign{FabricText::kIbnetdiscover, fabric::is_ibnetdiscover_line},
    Sign{FabricText::kIbnetdiscover, fabric::is_port_list_line},
};

FabricText json_kind(std::string_view text) {
  if (text.find_first_of("{[") == std::string_view::npos) return FabricText::kUnknown;
  if (contains(text, "\"schema\"") && contains(text, model::kFabricSchema)) return FabricText::kAngioFabric;
  const bool lldp =
      contains(text, "\"lldp\"") && (contains(text, "\"interface\"") || contains(text, "\"chassis\""));
  return lldp ? FabricText::kLldpctl : FabricText::kUnknown;
}

// The first line that belongs to a known output decides.
FabricText recognise_lines(std::string_view cleaned, const std::vector<Line>& lines) {
  if (const FabricText kind = json_kind(cleaned); kind != FabricText::kUnknown) return kind;
  for (const Line& line : lines) {
    for (const Sign& sign : kSigns) {
      if (!line.text.empty() && sign.is_line(line.text)) return sign.kind;
    }
  }
  return FabricText::kUnknown;
}

}  // namespace

std::string_view name_of(FabricText kind) {
  switch (kind) {
    case FabricText::kAngioFabric:
      return "angio fabric";
    case FabricText::kIbnetdiscover:
      return "ibnetdiscover";
    case FabricText::kIblinkinfo:
      return "iblinkinfo";
    case FabricText::kIbqueryerrors:
      return "ibqueryerrors";
    case FabricText::kIbdiagnet:
      return "ibdiagnet";
    case FabricText::kPerfquery:
      return "perfquery";
    case FabricText::kLldpctl:
      return "lldpctl";
    case FabricText::kUnknown:
      break;
  }
  return "unknown";
}

FabricText recognise_fabric(std::string_view bytes) {
  if (is_binary(bytes)) return FabricText::kUnknown;
  const std::string cleaned = clean_terminal(bytes);
  return recognise_lines(cleaned, number_lines(cleaned));
}

Result<model::Fabric> import_fabric(std::string_view bytes, const std::string& name) {
  // As it is: cleaning off the traces of terminals could change a name in it.
  if (json_kind(bytes) == FabricText::kAngioFabric) return fabric::import_angio_fabric(bytes, name);
  if (is_binary(bytes)) return std::unexpected(fabric::refuse_text(bytes, name));
  const std::string cleaned = clean_terminal(bytes);
  const std::vector<Line> lines = number_lines(cleaned);
  const FabricText kind = recognise_lines(cleaned, lines);
  switch (kind) {
    case FabricText::kAngioFabric:
      return fabric::import_angio_fabric(cleaned, name);
    case FabricText::kIbnetdiscover:
      return fabric::import_ibnetdiscover(lines, fabric::FabricDraft(kind, name));
    case FabricText::kIblinkinfo:
      return fabric::import_iblinkinfo(lines, fabric::FabricDraft(kind, name));
    case FabricText::kIbqueryerrors:
      return fabric::import_ibqueryerrors(lines, fabric::FabricDraft(kind, name));
    case FabricText::kIbdiagnet:
      return fabric::import_ibdiagnet(lines, fabric::FabricDraft(kind, name));
    case FabricText::kPerfquery:
      return fabric::import_perfquery(lines, fabric::FabricDraft(kind, name));
    case FabricText::kLldpctl:
      return fabric::import_lldpctl(cleaned, name, fabric::FabricDraft(kind, name));
    case FabricText::kUnknown:
      break;
  }
  return std::unexpected(fabric::refuse_text(bytes, name));
}

Result<void> add_to_fabric(model::Fabric& fabric, std::string_view bytes, const std::string& name) {
  // No port above the thresholds is an answer, too: nothing to add.
  if (recognise_fabric(bytes) == FabricText::kIbqueryerrors && !contains(bytes, "GUID 0x")) return {};
  auto more = import_fabric(bytes, name);
  if (!more) return std::unexpected(std::move(more.error()));
  if (more->kind != fabric.kind) {
    return fail(
        ErrorCode::kInvalidInput,
        fmt::format("{}: one is InfiniBand, the other Ethernet: they are never one fabric", printable(name)),
        "show them one by one");
  }
  fabric = fabric::lay_over(std::move(fabric), std::move(*more), name);
  return {};
}

}  // namespace angio::import
