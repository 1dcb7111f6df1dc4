#include "import/fabric/lldpctl.hpp"

#include <fmt/format.h>

#include <set>
#include <unordered_map>
#include <utility>

#include "base/text.hpp"
#include "import/draft.hpp"
#include "import/fabric/cursor.hpp"
#include "import/fabric/json_texts.hpp"
#include "import/fabric/lldp_json.hpp"

namespace angio::import::fabric {
namespace {

bool is_host_letter(char c) {
  return is_letter(c) || is_digit(c) || c == '-' || c == '_' || c == '.';
}

std::string_view host_from(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && is_host_letter(text[end]))
    ++end;
  return text.substr(0, end);
}

// "lldp-gpu-a.json" is no better than nothing; "gpu-a.json" is a name.
std::string host_of_file(std::string_view file) {
  file = file.substr(file.find_last_of("/\\") + 1);
  const std::string_view stem = file.substr(0, file.find('.'));
  return stem.empty() || stem == "-" || contains(to_lower(stem), "lldp") ? std::string() : std::string(stem);
}

class Reader {
 public:
  Reader(FabricDraft&& draft, std::string host_of_file)
      : draft_(std::move(draft)), host_of_file_(std::move(host_of_file)) {
    constexpr std::uint32_t kMostInterfaces = 4096;  // of one chassis; far above any
    draft_.most_number = kMostInterfaces;
    draft_.fabric.kind = model::FabricKind::kEthernet;
  }

  void take(const JsonText& text, bool only_one) {
    line_ = text.line;
    if (text.is_cut) {
      draft_.note("fabric.cut-json", line_, "the output ends in the middle: what is complete was read",
                  "run lldpctl -f json again");
    }
    if (!text.problem.empty()) {
      draft_.note("fabric.no-json", line_, [&] { return text.problem; }, "run lldpctl -f json again");
      return;
    }
    const std::string_view label = host_in_label(text.before);
    take_value(text.value, std::string(label), only_one);
  }

  Result<model::Fabric> finish() && {
    return std::move(draft_).finish(
        "neighbours below \"lldp\", \"interface\"",
        "run lldpctl -f json on each host; lldpd must run there and on the switches");
  }

 private:
  void take_value(const Json& value, const std::string& host, bool only_one) {
    if (const Json::Array* items = value.as_array()) {
      for (const Json& item : *items)
        take_value(item, {}, only_one && items->size() == 1);
      return;
    }
    if (value.as_object() == nullptr) return;
    if (const Json* local = value.find("local-chassis")) take_local(*local);
    if (const Json* lldp = value.find("lldp")) {
      take_output(*lldp, stated_host(value).empty() ? host : stated_host(value), only_one);
      return;
    }
    for (const auto& [name, inside] : *value.as_object()) {
      if (inside.find("lldp") == nullptr) continue;
      const bool is_host = !contains(to_lower(name), "lldp");  // "lldp_status": a report of one host
      take_value(inside, is_host ? clean_name(name) : host, only_one);
    }
  }

  static std::string stated_host(const Json& value) {
    for (const std::string_view key : {"host", "hostname", "name"}) {
      const Json* const found = value.find(key);
      if (found != nullptr && found->as_string() != nullptr) return clean_name(*found->as_string());
    }
    return {};
  }

  void take_local(const Json& json) {
    const Json* const part =
        json.as_array() != nullptr && !json.as_array()->empty() ? &json.as_array()->front() : &json;
    const Json* const inside = part->find("chassis");
    local_ = inside != nullptr ? read_chassis(*inside) : std::nullopt;
  }

  void take_output(const Json& lldp, const std::string& host, bool only_one) {
    LldpChassis own = local_.value_or(LldpChassis{});
    local_.reset();
    if (own.name.empty()) own.name = host;
    if (own.name.empty() && own.mac == 0 && only_one && !host_of_file_.empty()) {
      own.name = host_of_file_;
      draft_.note("fabric.named-after-file", line_,
                  "lldpctl does not say whose output it is: the host has the name of the file",
                  "put `lldpcli -f json show chassis` in front of it");
    }
    if (own.name.empty() && own.mac == 0) {
      own.name = fmt::format("host {}", ++unnamed_);
      draft_.note("fabric.unnamed-host", line_, "lldpctl does not say whose output it is: hosts are numbered",
                  "put `lldpcli -f json show chassis` in front of each, or give a file per host");
    }
    if (own.kind == model::FabricNodeKind::kUnknown) own.kind = model::FabricNodeKind::kAdapter;
    const auto node = node_of(own, true);
    if (!node) return;
    draft_.set_own_block(*node);
    for (const LldpNeighbour& neighbour : read_neighbours(lldp))
      take_neighbour(*node, neighbour);
  }

  // The same chassis by its MAC address, or by a name that had no address yet.
  std::optional<std::uint32_t> node_of(const LldpChassis& chassis, bool is_own) {
    std::optional<std::uint32_t> node = chassis.mac != 0 ? draft_.find_guid(chassis.mac) : std::nullopt;
    const auto named = by_name_.find(chassis.name);
    if (!node && named != by_name_.end() && !chassis.name.empty()) {
      const bool same = chassis.mac == 0 || draft_.node(named->second).guid.value == 0;
      if (same) node = named->second;
    }
    if (!node) node = draft_.new_node(line_);
    if (!node) return node;
    model::FabricNode& found = draft_.node(*node);
    if (found.guid.value == 0) draft_.claim_guid(*node, chassis.mac);
    if (found.description.empty()) found.description = chassis.name;
    // What others hear of a node is surer than what is taken for granted of the place where lldpctl ran.
    const bool known = found.kind != model::FabricNodeKind::kUnknown;
    if (!known || (!is_own && chassis.kind != model::FabricNodeKind::kUnknown)) found.kind = chassis.kind;
    if (!chassis.name.empty()) by_name_.try_emplace(chassis.name, *node);
    return node;
  }

  std::optional<End> end_of(std::uint32_t node, const std::string& name) {
    auto [found, added] = numbers_.try_emplace(
        fmt::format("{} {}", node, name), static_cast<std::uint32_t>(draft_.node(node).ports.size() + 1));
    const End end{node, found->second};
    model::FabricPort* const port = draft_.port(end, line_);
    if (port == nullptr) return std::nullopt;
    if (added) port->name = name;
    return end;
  }

  void take_neighbour(std::uint32_t node, const LldpNeighbour& neighbour) {
    const auto other = node_of(neighbour.chassis, false);
    const auto here = other ? end_of(node, neighbour.interface) : std::nullopt;
    const auto there = here ? end_of(*other, neighbour.port.empty() ? "?" : neighbour.port) : std::nullopt;
    if (!there) return;
    if (const auto before = peer_of_.find(*here); before != peer_of_.end() && before->second != *there) {
      draft_.note(
          "fabric.two-neighbours", line_,
          [&] {
            return fmt::format("{} hears two neighbours; the first counts", quoted(neighbour.interface));
          },
          "an unmanaged switch or a virtual machine stands between: look at lldpctl of that host");
      return;
    }
    peer_of_.emplace(*here, *there);
    draft_.link(*here, *there, line_);
    if (neighbour.rate) draft_.port(*there, line_)->stated_rate = neighbour.rate;
  }

  FabricDraft draft_;
  std::string host_of_file_;
  std::uint32_t line_ = 0;
  std::uint32_t unnamed_ = 0;
  std::optional<LldpChassis> local_;
  std::unordered_map<std::string, std::uint32_t> by_name_;
  std::unordered_map<std::string, std::uint32_t> numbers_;  // of a node's port by name
  std::map<End, End> peer_of_;
};

std::size_t count_outputs(const Json& value) {
  if (value.find("lldp") != nullptr) return 1;
  std::size_t count = 0;
  if (const Json::Array* items = value.as_array()) {
    for (const Json& item : *items)
      count += count_outputs(item);
  } else if (const Json::Object* members = value.as_object()) {
    for (const Json::Member& member : *members)
      count += member.second.find("lldp") != nullptr ? 1 : 0;
  }
  return count;
}

}  // namespace

std::string_view host_in_label(std::string_view label) {
  const std::vector<std::string_view> lines = split_lines(label);
  constexpr std::size_t kLooked = 8;
  for (std::size_t i = lines.size(); i > 0 && lines.size() - i < kLooked; --i) {
    std::string_view line = trim(lines[i - 1]);
    for (const std::string_view before : {std::string_view("@"), std::string_view("ssh ")}) {
      const std::size_t at = line.find(before);
      if (at == std::string_view::npos) continue;
      const std::string_view host = host_from(line.substr(at + before.size()));
      if (!host.empty()) return host;
    }
    while (!line.empty() && !is_host_letter(line.front()))
      line.remove_prefix(1);
    while (line.starts_with('-'))
      line.remove_prefix(1);
    const std::string_view host = host_from(line);
    const std::string_view rest = trim(line.substr(host.size()));
    const bool alone =
        rest.empty() || rest.starts_with('|') || rest.find_first_not_of(":=<>-#* ") == std::string_view::npos;
    if (!host.empty() && alone) return host.substr(0, host.find(".json"));
  }
  return {};
}

Result<model::Fabric> import_lldpctl(std::string_view text, const std::string& file, FabricDraft draft) {
  const std::vector<JsonText> texts = find_json(text);
  std::size_t outputs = 0;
  for (const JsonText& found : texts)
    outputs += count_outputs(found.value);
  Reader reader(std::move(draft), host_of_file(file));
  for (const JsonText& found : texts)
    reader.take(found, outputs == 1);
  return std::move(reader).finish();
}

}  // namespace angio::import::fabric
