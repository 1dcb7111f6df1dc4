#include "import/fabric/ibqueryerrors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/iblinkinfo.hpp"
#include "import/fabric/link_words.hpp"

namespace angio::import::fabric {
namespace {

constexpr std::array<std::string_view, 2> kHeadings = {"Errors for ", "Data Counters for "};
constexpr std::string_view kLinkInfo = "Link info:";

struct Heading {
  std::uint64_t guid = 0;
  std::string_view name;
  bool is_switch = false;  // "Errors for 0x… "name"": only switches have the GUID there
};

std::optional<Heading> parse_heading(std::string_view text) {
  for (const std::string_view word : kHeadings) {
    const std::size_t at = text.find(word);
    if (at == std::string_view::npos) continue;
    Cursor cursor(text.substr(at + word.size()));
    Heading heading;
    heading.guid = cursor.rest().starts_with("0x") ? cursor.take_hex().value_or(0) : 0;
    heading.is_switch = heading.guid != 0 && word == kHeadings[0];
    cursor.skip_gaps();
    const std::string_view rest = trim(cursor.rest());
    if (!rest.starts_with('"')) return heading.guid != 0 ? std::optional(heading) : std::nullopt;
    const std::size_t close = rest.rfind('"');
    heading.name = close > 0 ? rest.substr(1, close - 1) : rest.substr(1);
    return heading;
  }
  return std::nullopt;
}

struct PortLine {
  std::uint64_t guid = 0;
  std::optional<std::uint32_t> number;  // none: the sum of all ports
  std::string_view counters;
};

// "GUID 0x2c903006e29b0 port 5: [SymbolErrorCounter == 65535] [PortXmitWait == 8 (8.000)]"
std::optional<PortLine> parse_port(std::string_view text) {
  constexpr std::string_view kGuid = "GUID 0x";
  const std::size_t at = text.find(kGuid);
  if (at == std::string_view::npos) return std::nullopt;
  Cursor cursor(text.substr(at + 5));
  const auto guid = cursor.take_hex();
  cursor.skip_gaps();
  if (!guid || !cursor.eat("port ")) return std::nullopt;
  PortLine line;
  line.guid = *guid;
  if (!cursor.eat("ALL")) {
    line.number = cursor.take_number();
    if (!line.number) return std::nullopt;
  }
  if (!cursor.eat(":")) return std::nullopt;
  line.counters = cursor.rest();
  return line;
}

class Reader {
 public:
  explicit Reader(FabricDraft&& draft) : draft_(std::move(draft)) {}

  void take(const Line& line) {
    if (line.text.empty()) return;
    if (const auto port = parse_port(line.text)) {
      take_port(*port, line.number);
    } else if (contains(line.text, kLinkInfo)) {
      take_link(line);
    } else if (const auto heading = parse_heading(line.text)) {
      heading_ = *heading;
      current_.reset();
    } else if (contains(line.text, "##")) {
      take_summary(line);
    } else {
      draft_.note_unknown_line(line.number, line.text);
    }
  }

  Result<model::Fabric> finish() && {
    const std::string remedy =
        has_summary_
            ? "no port is above the thresholds: nothing to show; give ibnetdiscover for the fabric itself"
            : "run ibqueryerrors > errors.txt on a node of the fabric, as root";
    ends_.join(draft_);
    if (!draft_.fabric.nodes.empty() && !has_links_) {
      draft_.note("fabric.no-cables", 0, "ibqueryerrors tells counters, not cables",
                  "give ibnetdiscover with it, or a scan");
    }
    return std::move(draft_).finish(
        has_summary_ ? "a port with errors" : "lines such as GUID 0x… port 5: [SymbolErrorCounter == 7]",
        remedy);
  }

 private:
  std::optional<std::uint32_t> node_of(const PortLine& line, std::uint32_t number) {
    const std::uint32_t port = line.number.value_or(0);
    const bool same_as_node = heading_.guid == line.guid;
    const auto node = same_as_node
                          ? draft_.node_of_guid(line.guid, number)
                          : draft_.node_of_port_guid(line.guid, port, clean_name(heading_.name), number);
    if (!node) return node;
    model::FabricNode& found = draft_.node(*node);
    if (found.description.empty()) found.description = clean_name(heading_.name);
    if (heading_.is_switch) {
      found.kind = model::FabricNodeKind::kSwitch;
      draft_.claim_port_guid(*node, line.guid);
    } else if (found.kind == model::FabricNodeKind::kUnknown && heading_.guid == 0 &&
               !heading_.name.empty()) {
      found.kind = model::FabricNodeKind::kAdapter;
    }
    draft_.set_own_block(*node);
    return node;
  }

  void take_port(const PortLine& line, std::uint32_t number) {
    current_.reset();
    if (!line.number) return;  // the sum: its parts follow
    const auto node = node_of(line, number);
    if (!node) return;
    model::FabricPort* const port = draft_.port({*node, *line.number}, number);
    if (port == nullptr) return;
    current_ = End{*node, *line.number};
    if (draft_.node(*node).kind != model::FabricNodeKind::kSwitch) port->guid = line.guid;
    take_counters(line.counters, number, port->counters);
  }

  // "[Name == value]", "[Name == value (1.234GB)]": with the second form the counter has 64 bits.
  void take_counters(std::string_view text, std::uint32_t number, model::CounterSet& counters) {
    Cursor cursor(text);
    while (cursor.skip_past("[")) {
      const std::string_view rest = cursor.rest();
      const std::size_t sign = rest.find(" == ");
      const std::size_t end = rest.find(']');
      if (sign == std::string_view::npos || end == std::string_view::npos || end < sign) {
        draft_.note("fabric.cut-line", number, "the line is cut off in a counter", "run ibqueryerrors again");
        return;
      }
      const std::string_view value = rest.substr(sign + 4, end - sign - 4);
      const std::string_view digits = value.substr(0, value.find(' '));
      const auto counter = model::find_fabric_counter(rest.substr(0, sign));
      const auto count = parse_integer<std::uint64_t>(digits);
      if (counter && count) set_counter(counters, *counter, *count, digits.size() == value.size());
      if (!count) {
        draft_.note(
            "fabric.no-count", number, [&] { return quoted(value) + " is no count"; },
            "run ibqueryerrors again");
      }
    }
  }

  void take_link(const Line& line) {
    const auto link = parse_link_line(line.text);
    if (!link || !current_ || link->here.number != current_->number) {
      draft_.note("fabric.cut-line", line.number, "link information that belongs to no port",
                  "run ibqueryerrors again");
      return;
    }
    model::FabricPort* const port = draft_.port(*current_, line.number);
    if (port == nullptr) return;
    set_link_state(*link, *port);
    const bool is_switch = draft_.node(current_->node).kind == model::FabricNodeKind::kSwitch;
    model::FabricPort* const owner = is_switch ? draft_.port({current_->node, 0}, line.number) : port;
    if (owner != nullptr && !owner->lid) owner->lid = to_lid(link->here.lid);
    if (!link->there) return;
    has_links_ = true;
    ends_.add(*current_, *link->there, line.number);
  }

  void take_summary(const Line& line) {
    has_summary_ = true;
    Cursor cursor(line.text);
    cursor.skip_past("##");
    cursor.skip_gaps();
    const auto failures = cursor.take_number();
    if (!failures || !contains(line.text, "PMA query failures")) return;
    draft_.note(
        "fabric.unanswered-counters", line.number,
        [&] { return fmt::format("{} questions for counters had no answer", *failures); },
        "ask those nodes again with perfquery; a node that never answers is hung");
  }

  FabricDraft draft_;
  Heading heading_;
  OpenEnds ends_;
  std::optional<End> current_;
  bool has_links_ = false;
  bool has_summary_ = false;
};

}  // namespace

bool is_ibqueryerrors_line(std::string_view text) {
  if (parse_port(text) || contains(text, kLinkInfo)) return true;
  const bool summary = contains(text, "## Summary: ") && contains(text, "nodes checked");
  const bool heading = std::ranges::any_of(kHeadings, [&](std::string_view word) {
    return contains(text, word) && (contains(text, "\"") || contains(text, "0x"));
  });
  return summary || (heading && parse_heading(text).has_value());
}

Result<model::Fabric> import_ibqueryerrors(const std::vector<Line>& lines, FabricDraft draft) {
  Reader reader(std::move(draft));
  for (const Line& line : lines)
    reader.take(line);
  return std::move(reader).finish();
}

}  // namespace angio::import::fabric
