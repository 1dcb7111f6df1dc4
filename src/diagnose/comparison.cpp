// Nodes into groups of like nodes, and what sets a group apart.
#include <algorithm>
#include <string>

#include "diagnose/doctor.hpp"

namespace angio::diagnose {

namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

// Calls visit(name, a, b) for each trait both have; stops when it returns false.
template <typename Visit>
void for_common(const Values& a, const Values& b, Visit visit) {
  auto left = a.begin();
  auto right = b.begin();
  while (left != a.end() && right != b.end()) {
    const int order = left->first.compare(right->first);
    if (order < 0) {
      ++left;
    } else if (order > 0) {
      ++right;
    } else {
      if (!visit(left->first, left->second, right->second)) return;
      ++left;
      ++right;
    }
  }
}

// A trait only one of them has is unknown for the other, which is no difference.
bool alike(const Values& a, const Values& b) {
  bool same = true;
  for_common(a, b,
             [&](const std::string&, const std::string& x, const std::string& y) { return same = x == y; });
  return same;
}

std::vector<NodeGroup::Difference> differences(const Values& here, const Values& majority) {
  std::vector<NodeGroup::Difference> found;
  for_common(here, majority, [&](const std::string& name, const std::string& x, const std::string& y) {
    if (x != y) found.push_back({name, x, y});
    return true;
  });
  return found;
}

struct Draft {
  Values values;  // of the members together: what one could not read, another may have
  NodeGroup group;
};

void join_group(Draft& draft, const Traits& node) {
  Values merged;
  merged.reserve(std::max(draft.values.size(), node.values.size()));
  std::ranges::set_union(draft.values, node.values, std::back_inserter(merged), {},
                         &Values::value_type::first, &Values::value_type::first);
  draft.values = std::move(merged);
  draft.group.nodes.push_back(node.node);
}

}  // namespace

std::vector<NodeGroup> group_nodes(const std::vector<Traits>& nodes) {
  std::vector<Draft> drafts;
  for (const Traits& node : nodes) {
    const auto home =
        std::ranges::find_if(drafts, [&](const Draft& d) { return alike(d.values, node.values); });
    if (home == drafts.end()) {
      drafts.push_back({node.values, {{node.node}, {}}});
    } else if (home->values.size() == node.values.size()) {
      home->group.nodes.push_back(node.node);  // the usual case: nothing to learn
    } else {
      join_group(*home, node);
    }
  }
  std::ranges::stable_sort(drafts, std::ranges::greater(),
                           [](const Draft& d) { return d.group.nodes.size(); });
  std::vector<NodeGroup> groups;
  for (Draft& draft : drafts) {
    if (!groups.empty()) draft.group.differences = differences(draft.values, drafts.front().values);
    groups.push_back(std::move(draft.group));
  }
  return groups;
}

std::vector<NodeGroup::Difference> changes(const Traits& before, const Traits& now) {
  return differences(now.values, before.values);
}

}  // namespace angio::diagnose
