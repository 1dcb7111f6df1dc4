#include "nccl/topology_edit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "base/text.hpp"
#include "nccl/system_graph.hpp"

namespace angio::nccl {
namespace {

constexpr std::size_t kNamed = 8;  // of what there is, in an error

// What names an element among those of its kind.
std::string_view key_of(const Element& element) {
  if (element.name == "cpu") return element.get("numaid");
  if (element.name == "pci") return element.get("busid");
  if (element.name == "gpu") return element.get("dev");
  if (element.name == "net") return element.get("name");
  if (element.name == "nvlink" || element.name == "xgmi" || element.name == "pcilink")
    return element.get("target");
  return {};
}

bool same_key(const Element& element, std::string_view wanted, std::string_view bus) {
  if (wanted == "*") return true;
  if (element.name == "nic") return bus_number(bus) == bus_number(wanted) && !bus.empty();
  const std::string_view key = key_of(element);
  if (element.name == "pci" || element.name == "nvlink" || element.name == "xgmi") {
    return !key.empty() && (to_lower(key) == to_lower(wanted) ||
                            (contains(wanted, ":") && bus_number(key) == bus_number(wanted)));
  }
  return key == wanted;
}

struct Found {
  Element* element;
  std::string bus;
};

void find_all(Element& element, std::string_view name, const std::string& bus, std::vector<Found>& found) {
  const std::string below = element.name == "pci" ? std::string(element.get("busid")) : bus;
  for (Element& child : element.children) {
    if (child.name == name) found.push_back({&child, below});
    find_all(child, name, below, found);
  }
}

std::string known_keys(const std::vector<Found>& found, std::string_view name) {
  std::string text;
  for (std::size_t index = 0; index < found.size() && index < kNamed; ++index) {
    const std::string_view key =
        name == "nic" ? std::string_view(found[index].bus) : key_of(*found[index].element);
    text += (index == 0 ? "" : ", ") + printable(key);
  }
  if (found.size() > kNamed) text += fmt::format(" and {} more", found.size() - kNamed);
  return text;
}

constexpr std::string_view kSelectorHint =
    "Write gpu:NUMBER, pci:BUSID, nic:BUSID, net:NAME, cpu:NUMBER, gpu:* for all of a kind, or system";

Element* find_child(Element& parent, const ChildSelector& selector) {
  const auto found = std::ranges::find_if(parent.children, [&](const Element& child) {
    return child.name == selector.name && (selector.key.empty() || same_key(child, selector.key, ""));
  });
  return found == parent.children.end() ? nullptr : &*found;
}

// The attribute that names a child, when a new one is made.
std::string_view key_attribute(std::string_view name) {
  if (name == "nvlink" || name == "xgmi" || name == "pcilink") return "target";
  return name == "net" ? "name" : "";
}

Result<std::size_t> change_child(Element& parent, const Change& change) {
  auto selector = parse_child(change.child);
  if (!selector) return std::unexpected(std::move(selector.error()));
  if (selector->key.empty() && !key_attribute(selector->name).empty()) {
    for (const auto& [name, value] : change.values)
      if (name == key_attribute(selector->name)) selector->key = value;
    const auto alike = std::ranges::count(parent.children, selector->name, &Element::name);
    if (selector->key.empty() && alike > 1) {
      return fail(
          ErrorCode::kInvalidInput,
          fmt::format("{} has {} children <{}>", describe(parent), alike, selector->name),
          fmt::format("Say which: {}:{}", selector->name, selector->name == "net" ? "NAME" : "TARGET"));
    }
  }
  Element* child = find_child(parent, *selector);
  if (child == nullptr) {
    Element made;
    made.name = selector->name;
    if (!selector->key.empty()) made.set(key_attribute(made.name), selector->key);
    parent.children.push_back(std::move(made));
    child = &parent.children.back();
  }
  for (const auto& [name, value] : change.values)
    child->set(name, value);
  return 1;
}

std::size_t remove_element(Element& parent, const Element* gone) {
  std::size_t removed = std::erase_if(parent.children, [&](const Element& child) { return &child == gone; });
  for (std::size_t index = 0; removed == 0 && index < parent.children.size(); ++index)
    removed = remove_element(parent.children[index], gone);
  return removed;
}

// Every element under the name it has in any file of the same machine.
void flatten(const Element& element, const std::string& bus, const std::string& parent, const std::string& at,
             std::map<std::string, std::pair<const Element*, std::string>>& found) {
  const std::string below = element.name == "pci" ? to_lower(element.get("busid")) : bus;
  std::string own = describe(element, below);
  if (element.name == "nvlink" || element.name == "xgmi" || element.name == "c2c" ||
      element.name == "pcilink")
    own = at + ", " + own;
  std::string unique = own;
  for (std::size_t again = 2; found.contains(unique); ++again) {
    if (again > 64) return;  // a file that says one thing that often has no names to compare by
    unique = fmt::format("{} ({})", own, again);
  }
  found.emplace(unique, std::pair(&element, parent));
  for (const Element& child : element.children)
    flatten(child, below, element.name == "nic" ? parent : unique, own, found);
}

void compare_attributes(const std::string& what, const Element& left, const Element& right,
                        std::vector<TreeDifference>& differences) {
  const auto text = [](const std::string* value) { return value == nullptr ? std::string("-") : *value; };
  for (const Attribute& attribute : left.attributes) {
    if (left.find(attribute.name) != &attribute.value) continue;  // written twice: the first counts
    const std::string* other = right.find(attribute.name);
    if (other == nullptr || *other != attribute.value)
      differences.push_back({what, attribute.name, attribute.value, text(other)});
  }
  for (const Attribute& attribute : right.attributes)
    if (left.find(attribute.name) == nullptr && right.find(attribute.name) == &attribute.value)
      differences.push_back({what, attribute.name, "-", attribute.value});
}

bool alike(const Element& one, const Element& other) {
  if (one.name != other.name || one.attributes.size() != other.attributes.size()) return false;
  return std::ranges::all_of(one.attributes, [&](const Attribute& attribute) {
    const std::string* value = other.find(attribute.name);
    return value != nullptr && *value == attribute.value;
  });
}

void collect_gpus(const Element& element, std::vector<const Element*>& gpus) {
  if (element.name == "gpu") gpus.push_back(&element);
  for (const Element& child : element.children)
    collect_gpus(child, gpus);
}

bool keep_below(const Element& element, Element& copy, const std::function<bool(const Element&)>& keep) {
  copy.name = element.name;
  copy.place = element.place;
  copy.attributes = element.attributes;
  bool kept = keep(element);
  for (const Element& child : element.children) {
    Element below;
    const bool link = child.children.empty() && child.name != "gpu" && child.name != "net" &&
                      child.name != "nic" && child.name != "pci" && child.name != "cpu";
    const bool inside = keep_below(child, below, keep);
    kept = kept || inside;
    if (inside || link) copy.children.push_back(std::move(below));
  }
  return kept;
}

}  // namespace

Result<std::vector<Element*>> select(Element& root, std::string_view selector) {
  if (selector == "system") return std::vector<Element*>{&root};
  const std::size_t colon = selector.find(':');
  const std::string_view name = selector.substr(0, colon);
  constexpr std::array<std::string_view, 5> kKinds{"cpu", "pci", "gpu", "nic", "net"};
  if (colon == std::string_view::npos || std::ranges::find(kKinds, name) == kKinds.end()) {
    return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" selects nothing", printable(selector)),
                std::string(kSelectorHint));
  }
  std::vector<Found> found;
  find_all(root, name, "", found);
  std::vector<Element*> chosen;
  for (const Found& each : found)
    if (same_key(*each.element, selector.substr(colon + 1), each.bus)) chosen.push_back(each.element);
  if (!chosen.empty()) return chosen;
  return fail(ErrorCode::kNotFound, fmt::format("no {} in the file", printable(selector)),
              found.empty() ? fmt::format("It has no <{}> at all", name)
                            : fmt::format("There is {}", known_keys(found, name)));
}

Result<ChildSelector> parse_child(std::string_view text) {
  const std::size_t colon = text.find(':');
  ChildSelector selector{std::string(text.substr(0, colon)),
                         colon == std::string_view::npos ? "" : std::string(text.substr(colon + 1))};
  constexpr std::array<std::string_view, 8> kNames{"nvlink", "xgmi", "c2c", "pcilink",
                                                   "nic",    "net",  "gpu", "pci"};
  if (std::ranges::find(kNames, selector.name) != kNames.end()) return selector;
  return fail(ErrorCode::kInvalidInput,
              fmt::format("\"{}\" is no element of a topology file", printable(text)),
              "A value is written NAME=VALUE; an element below is nvlink, c2c, pcilink, nic or net");
}

Result<std::size_t> apply(Element& root, const Change& change) {
  for (const auto& [name, value] : change.values) {
    if (!can_stand_in_attribute(value) || name.empty() ||
        name.find_first_of(" \t\n\r\"'=</>") != std::string::npos) {
      return fail(
          ErrorCode::kInvalidInput, fmt::format("{} cannot be written so", printable(name)),
          fmt::format("Names are words, values at most {} characters with one kind of quotes", kLongestText));
    }
  }
  auto chosen = select(root, change.selector);
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  std::size_t changed = 0;
  for (Element* element : *chosen) {
    if (change.child.empty()) {
      for (const auto& [name, value] : change.values)
        element->set(name, value);
      ++changed;
      continue;
    }
    auto done = change_child(*element, change);
    if (!done) return done;
    changed += *done;
  }
  return changed;
}

Result<std::size_t> remove_from(Element& root, std::string_view selector, std::string_view child,
                                const std::vector<std::string>& attributes) {
  if (selector == "system" && child.empty() && attributes.empty()) {
    return fail(ErrorCode::kInvalidInput, "the root element cannot be removed",
                "Remove elements below it (gpu:0, pci:BUSID …) or its attributes");
  }
  auto chosen = select(root, selector);
  if (!chosen) return std::unexpected(std::move(chosen.error()));
  std::size_t removed = 0;
  for (Element* element : *chosen) {
    if (child.empty() && attributes.empty()) {
      removed += remove_element(root, element);
      break;  // the others may have moved
    }
    if (child.empty()) {
      for (const std::string& name : attributes)
        removed += element->remove(name) ? 1U : 0U;
      continue;
    }
    auto which = parse_child(child);
    if (!which) return std::unexpected(std::move(which.error()));
    removed += std::erase_if(element->children, [&](const Element& each) {
      return each.name == which->name && (which->key.empty() || same_key(each, which->key, ""));
    });
  }
  if (removed > 0 && child.empty() && attributes.empty() && chosen->size() > 1) {
    auto more = remove_from(root, selector, child, attributes);
    return removed + (more ? *more : 0U);
  }
  if (removed > 0) return removed;
  return fail(ErrorCode::kNotFound, fmt::format("{} has nothing like that", printable(selector)),
              "List what there is: angio nccl-topo show FILE");
}

std::string describe(const Element& element, std::string_view bus) {
  const std::string key = printable(key_of(element));
  if (element.name == "gpu")
    return bus.empty() ? "gpu " + key : fmt::format("gpu {} ({})", key, printable(bus));
  if (element.name == "nic") return bus.empty() ? std::string("nic") : "nic of " + printable(bus);
  if (element.name == "nvlink") return "nvlink to " + key;
  if (element.name == "xgmi") return "xgmi to " + key;
  if (element.name == "pcilink") return "pcilink to " + key;
  if (element.name == "pci") return "pci " + to_lower(key);
  return key.empty() ? printable(element.name) : fmt::format("{} {}", printable(element.name), key);
}

std::vector<TreeDifference> compare_trees(const Element& left, const Element& right) {
  std::map<std::string, std::pair<const Element*, std::string>> one;
  std::map<std::string, std::pair<const Element*, std::string>> other;
  flatten(left, "", "", "", one);
  flatten(right, "", "", "", other);
  std::vector<TreeDifference> differences;
  for (const auto& [what, found] : one) {
    const auto match = other.find(what);
    if (match == other.end()) {
      differences.push_back({what, "", "there", "-"});
      continue;
    }
    if (found.second != match->second.second)
      differences.push_back({what, "below", found.second, match->second.second});
    compare_attributes(what, *found.first, *match->second.first, differences);
  }
  for (const auto& [what, found] : other)
    if (!one.contains(what)) differences.push_back({what, "", "-", "there"});
  return differences;
}

void fuse(Element& into, const Element& from) {
  for (const Element& child : from.children) {
    const auto match =
        std::ranges::find_if(into.children, [&](const Element& each) { return alike(each, child); });
    if (match == into.children.end()) {
      into.children.push_back(child);
    } else {
      fuse(*match, child);
    }
  }
}

std::size_t count_elements(const Element& root) {
  std::size_t count = 1;
  for (const Element& child : root.children)
    count += count_elements(child);
  return count;
}

Element trimmed(const Element& root, const std::function<bool(const Element&)>& keep) {
  Element copy;
  keep_below(root, copy, keep);
  return copy;
}

Element as_ranks_see(const Element& root) {
  std::vector<const Element*> gpus;
  collect_gpus(root, gpus);
  constexpr std::size_t kMostWork = 4000000;  // ours, for hostile files: elements that are copied in all
  if (gpus.size() < 2 || gpus.size() * count_elements(root) > kMostWork) return root;
  const bool ranked =
      std::ranges::all_of(gpus, [](const Element* gpu) { return gpu->find("rank") != nullptr; });
  std::ranges::stable_sort(
      gpus, {}, [&](const Element* gpu) { return read_number(gpu->get(ranked ? "rank" : "dev")); });
  Element fused;
  for (const Element* own : gpus) {
    const Element seen =
        trimmed(root, [&](const Element& element) { return &element == own || element.name == "net"; });
    if (fused.name.empty()) {
      fused = seen;
    } else {
      fuse(fused, seen);
    }
  }
  return fused;
}

}  // namespace angio::nccl
