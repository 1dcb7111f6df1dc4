// Changes to a topology tree: select elements and set or remove what they say, compare two files by what
// their elements are rather than by line, and put files together and trim them as NCCL does.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "nccl/topology_xml.hpp"

namespace angio::nccl {

// "gpu:0" (device number), "gpu:*", "pci:0000:17:00.0", "nic:0000:18:00.0" (the PCI device's), "net:mlx5_0",
// "cpu:1" (NUMA number), "system". Errors name what there is.
Result<std::vector<Element*>> select(Element& root, std::string_view selector);

// "nvlink", "nvlink:0000:1b:00.0" (by target), "c2c", "net:mlx5_0": a child of what was selected.
struct ChildSelector {
  std::string name;
  std::string key;  // empty: the only one, or all for removal
};
Result<ChildSelector> parse_child(std::string_view text);

struct Change {
  std::string selector;
  std::string child;  // empty: the element itself
  std::vector<std::pair<std::string, std::string>> values;
};
// Sets attributes; a child that is not there is made. Returns how many elements changed.
Result<std::size_t> apply(Element& root, const Change& change);

// Removes attributes of the selected, or children, or (attributes and child empty) the selected themselves.
Result<std::size_t> remove_from(Element& root, std::string_view selector, std::string_view child,
                                const std::vector<std::string>& attributes);

// What differs, in words: {"gpu 0 (0000:1b:00.0)", "sm", "90", "100"}; an element that one side lacks has no
// attribute and "-" for that side.
struct TreeDifference {
  std::string what;
  std::string attribute;
  std::string left;
  std::string right;
};
std::vector<TreeDifference> compare_trees(const Element& left, const Element& right);

// NCCL's fusion of what the ranks of one host (or NVLink domain) found: an element is the same if its name
// and all its attributes are (src/graph/xml.h, xmlFindNode); anything else is added.
void fuse(Element& into, const Element& from);

std::size_t count_elements(const Element& root);  // itself included

// What NCCL keeps of a tree: elements with a kept gpu or net below, or themselves kept.
Element trimmed(const Element& root, const std::function<bool(const Element&)>& keep);

// The tree as the ranks see it after loading it, from 2.22 on: each keeps its own GPU and the NICs it found,
// and the trees are fused in the order of the ranks. The order decides which GPU is which in NCCL's lists.
Element as_ranks_see(const Element& root);

// "gpu 0 (0000:1b:00.0)", "pci 0000:17:00.0", "net mlx5_0", "cpu 1".
std::string describe(const Element& element, std::string_view bus = {});

}  // namespace angio::nccl
