#include "import/fabric/perfquery.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/link_words.hpp"

namespace angio::import::fabric {
namespace {

constexpr std::string_view kCounters = " counters: ";
constexpr std::uint32_t kAllPorts = 255;  // AllPortSelect (IBA 16.1.3.5)

struct Heading {
  bool has_model_counters = false;  // not PortRcvErrorDetails and the like
  bool is_extended = false;
  std::optional<std::uint32_t> lid;
  std::optional<std::uint32_t> number;
};

// "# Port extended counters: Lid 134 port 1 (…)", "# Port counters: DR path slid 0; dlid 0; 0,1 port 2"
std::optional<Heading> parse_heading(std::string_view text) {
  const std::size_t mark = text.find("# Port");
  const std::size_t at = mark == std::string_view::npos ? mark : text.find(kCounters, mark);
  if (at == std::string_view::npos) return std::nullopt;
  Heading heading;
  const std::string_view kind = text.substr(mark + 2, at - mark - 2);
  heading.is_extended = contains(kind, "extended");
  heading.has_model_counters = kind == "Port" || heading.is_extended;
  Cursor cursor(text.substr(at + kCounters.size()));
  if (cursor.eat("Lid ")) heading.lid = cursor.take_number();
  if (cursor.skip_past("port ")) heading.number = cursor.take_number();
  return heading;
}

struct Field {
  std::string_view name;
  std::string_view value;
};
// "SymbolErrorCounter:..............0"
std::optional<Field> parse_field(std::string_view text) {
  const std::size_t dots = text.find(":...");
  if (dots == std::string_view::npos) return std::nullopt;
  std::size_t start = dots;
  while (start > 0 && (is_letter(text[start - 1]) || is_digit(text[start - 1])))
    --start;
  const std::size_t value = text.find_first_not_of('.', dots + 1);
  Field field;
  field.name = text.substr(start, dots - start);
  field.value = value == std::string_view::npos ? std::string_view{} : trim(text.substr(value));
  return field;
}

class Reader {
 public:
  explicit Reader(FabricDraft&& draft) : draft_(std::move(draft)) {}

  void take(const Line& line) {
    if (line.text.empty()) return;
    if (const auto heading = parse_heading(line.text)) {
      take_heading(*heading, line.number);
    } else if (const auto field = parse_field(line.text)) {
      take_field(*field, line.number);
    } else {
      draft_.note_unknown_line(line.number, line.text);
    }
  }

  Result<model::Fabric> finish() && {
    if (!draft_.fabric.nodes.empty()) {
      draft_.note("fabric.no-cables", 0, "perfquery tells counters of a LID, not whose it is",
                  "give ibnetdiscover with it, or a scan");
    }
    return std::move(draft_).finish(
        has_details_ ? "the counters themselves, not their details"
                     : "# Port counters: Lid 5 port 1, and lines such as SymbolErrorCounter:....0",
        "run perfquery -x LID PORT, or ibqueryerrors for all ports");
  }

 private:
  void take_heading(const Heading& heading, std::uint32_t number) {
    current_.reset();
    is_extended_ = heading.is_extended;
    if (!heading.has_model_counters) {
      has_details_ = true;
      draft_.note("fabric.details-left-out", number,
                  "details of an error counter are not read, only the counters themselves", "");
      return;
    }
    if (!heading.number || *heading.number == kAllPorts) {
      draft_.note("fabric.sum-left-out", number, "counters of all ports together are left out",
                  "perfquery -l asks port by port");
      return;
    }
    if (!heading.lid || !to_lid(*heading.lid)) {
      draft_.note("fabric.no-lid", number, "the heading names no LID: whose counters these are is not known",
                  "ask by LID or GUID: perfquery -x LID PORT");
      return;
    }
    const auto node = draft_.node_of_id(fmt::format("lid {}", *heading.lid), number);
    if (!node) return;
    model::FabricPort* const port = draft_.port({*node, *heading.number}, number);
    if (port == nullptr) return;
    port->lid = to_lid(*heading.lid);
    draft_.node(*node).description = fmt::format("LID {}", *heading.lid);
    draft_.set_own_block(*node);
    current_ = End{*node, *heading.number};
  }

  void take_field(const Field& field, std::uint32_t number) {
    if (!current_) return;
    const auto counter = model::find_fabric_counter(field.name);
    if (!counter) return;  // selectors, and counters that the model has not
    model::FabricPort* const port = draft_.port(*current_, number);
    const auto count = parse_integer<std::uint64_t>(field.value);
    if (count && port != nullptr) {
      set_counter(port->counters, *counter, *count, !is_extended_);
    } else {
      draft_.note(
          "fabric.no-count", number, [&] { return quoted(field.value) + " is no count"; },
          "run perfquery again");
    }
  }

  FabricDraft draft_;
  std::optional<End> current_;
  bool is_extended_ = false;
  bool has_details_ = false;
};

}  // namespace

bool is_perfquery_line(std::string_view text) {
  return parse_heading(text).has_value();
}

Result<model::Fabric> import_perfquery(const std::vector<Line>& lines, FabricDraft draft) {
  Reader reader(std::move(draft));
  for (const Line& line : lines)
    reader.take(line);
  return std::move(reader).finish();
}

}  // namespace angio::import::fabric
