// Nodes into groups of like nodes, and what sets a group apart.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

#include "diagnose/doctor.hpp"

namespace angio::diagnose {

namespace {

// The same with numbers for the texts; numbers of names go in their order. Where all of a thousand nodes
// differ, half a million pairs of them are compared.
using Coded = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

// Calls visit(name, a, b) for each trait both have; stops when it returns false.
template <typename List, typename Visit>
void for_common(const List& a, const List& b, Visit visit) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    if (left->first < right->first) {
      ++left;
    } else if (right->first < left->first) {
      ++right;
    } else {
      if (!visit(left->first, left->second, right->second)) return;
      ++left;
      ++right;
    }
  }
}

// A trait only one of them has is unknown for the other, which is no difference.
bool alike(const Coded& a, const Coded& b) {
  bool same = true;
  for_common(a, b, [&](std::uint32_t, std::uint32_t x, std::uint32_t y) { return same = x == y; });
  return same;
}

class Texts {
 public:
  explicit Texts(const std::vector<Traits>& nodes) {
    std::set<std::string_view> names;
    for (const Traits& node : nodes) {
      for (const auto& [name, value] : node.values)
        names.insert(name);
    }
    names_.assign(names.begin(), names.end());
    for (std::uint32_t i = 0; i < names_.size(); ++i)
      name_numbers_.emplace(names_[i], i);
  }

  Coded code(const Traits& node) {
    Coded coded;
    coded.reserve(node.values.size());
    for (const auto& [name, value] : node.values) {
      const auto [place, is_new] = value_numbers_.emplace(value, static_cast<std::uint32_t>(values_.size()));
      if (is_new) values_.push_back(place->first);
      coded.emplace_back(name_numbers_.at(name), place->second);
    }
    return coded;
  }
  [[nodiscard]] std::string name(std::uint32_t number) const { return std::string(names_[number]); }
  [[nodiscard]] std::string value(std::uint32_t number) const { return std::string(values_[number]); }

 private:
  std::vector<std::string_view> names_;
  std::vector<std::string_view> values_;
  std::unordered_map<std::string_view, std::uint32_t> name_numbers_;
  std::unordered_map<std::string_view, std::uint32_t> value_numbers_;
};

struct Draft {
  Coded values;  // of the members together: what one could not read, another may have
  NodeGroup group;
};

void join_group(Draft& draft, const Coded& values) {
  Coded merged;
  merged.reserve(std::max(draft.values.size(), values.size()));
  std::ranges::set_union(draft.values, values, std::back_inserter(merged), {}, &Coded::value_type::first,
                         &Coded::value_type::first);
  draft.values = std::move(merged);
}

std::vector<NodeGroup::Difference> differences(const Texts& texts, const Coded& here, const Coded& majority) {
  std::vector<NodeGroup::Difference> found;
  for_common(here, majority, [&](std::uint32_t name, std::uint32_t x, std::uint32_t y) {
    if (x != y) found.push_back({texts.name(name), texts.value(x), texts.value(y)});
    return true;
  });
  return found;
}

}  // namespace

std::vector<NodeGroup> group_nodes(const std::vector<Traits>& nodes) {
  Texts texts(nodes);
  std::vector<Draft> drafts;
  for (const Traits& node : nodes) {
    Coded values = texts.code(node);
    const auto home = std::ranges::find_if(drafts, [&](const Draft& d) { return alike(d.values, values); });
    if (home == drafts.end()) {
      drafts.push_back({std::move(values), {{node.node}, {}}});
      continue;
    }
    home->group.nodes.push_back(node.node);
    if (home->values.size() != values.size())
      join_group(*home, values);  // else nothing to learn: the usual case
  }
  std::ranges::stable_sort(drafts, std::ranges::greater(),
                           [](const Draft& d) { return d.group.nodes.size(); });
  std::vector<NodeGroup> groups;
  for (Draft& draft : drafts) {
    if (!groups.empty()) draft.group.differences = differences(texts, draft.values, drafts.front().values);
    groups.push_back(std::move(draft.group));
  }
  return groups;
}

std::vector<NodeGroup::Difference> changes(const Traits& before, const Traits& now) {
  std::vector<NodeGroup::Difference> found;
  for_common(now.values, before.values,
             [&](const std::string& name, const std::string& x, const std::string& y) {
               if (x != y) found.push_back({name, x, y});
               return true;
             });
  return found;
}

}  // namespace angio::diagnose
