// angio nccl-topo set, remove, diff and merge: files changed, compared and joined.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "knowledge/nccl_topology.hpp"
#include "nccl/topology_doubts.hpp"
#include "nccl/topology_edit.hpp"
#include "nccl_topo_command_input.hpp"
#include "views/nccl_topo_view.hpp"

namespace angio::app::nccl_topo {
namespace {

void say_remark(const nccl::Remark& remark) {
  const char* const weight = remark.weight == nccl::Weight::kError     ? "ERROR"
                             : remark.weight == nccl::Weight::kWarning ? "WARNING"
                                                                       : "NOTE";
  const std::string line = remark.place.line > 0 ? "line " + std::to_string(remark.place.line) + ": " : "";
  say("angio: " + std::string(weight) + " " + line + remark.text + ". NCCL " + remark.nccl +
      "; instead: " + remark.instead);
}

// Writes the tree and says what is wrong with it that was not before. Lines are those of what is written.
int write_checked(const Options& options, const nccl::Element& root,
                  const std::vector<nccl::Remark>& before) {
  const int written = write(options, nccl::write_topology_xml(root));
  if (written != kOk) return written;
  std::vector<nccl::Remark> remarks = nccl::new_remarks(before, nccl::remarks_about(root, release(options)));
  if (std::ranges::find(remarks, "merge.net-twice", &nccl::Remark::id) != remarks.end())  // it says more
    std::erase_if(remarks, [](const nccl::Remark& remark) { return remark.id == "net.twice"; });
  for (const nccl::Remark& remark : remarks)
    say_remark(remark);
  const bool worse = std::ranges::any_of(
      remarks, [](const nccl::Remark& remark) { return remark.weight != nccl::Weight::kNote; });
  return worse ? kFindings : kOk;
}

Error nothing_to_set() {
  return {ErrorCode::kInvalidInput, "what to set is missing",
          "Write NAME=VALUE behind the selector, e.g. angio nccl-topo set topo.xml pci:0000:17:00.0 "
          "link_width=16"};
}

// [CHILD] NAME=VALUE… : the first word without "=" names an element below.
Result<nccl::Change> change_of(const Options& options) {
  nccl::Change change{options.selector, "", {}};
  for (const std::string& word : options.words) {
    const std::size_t at = word.find('=');
    if (at != std::string::npos) {
      change.values.emplace_back(word.substr(0, at), word.substr(at + 1));
    } else if (change.child.empty() && change.values.empty()) {
      change.child = word;
    } else {
      return fail(ErrorCode::kInvalidInput, "\"" + printable(word) + "\" has no \"=\"", "Write NAME=VALUE");
    }
  }
  if (change.values.empty()) return std::unexpected(nothing_to_set());
  return change;
}

// What belongs to one host: two equal nodes differ in it.
bool is_of_one_host(const nccl::TreeDifference& difference) {
  return difference.attribute == "guid" || difference.attribute == "host_hash";
}

}  // namespace

int set(const Options& options) {
  const auto change = change_of(options);
  if (!change) return usage(change.error());
  auto input = read_topology(options.file);
  if (!input) return report_error(input.error());
  const auto before = nccl::remarks_about(*input->root, release(options));
  const auto changed = nccl::apply(*input->root, *change);
  if (!changed) return fail_with(changed.error());
  say("angio: " + count_of(*changed, "element") + " changed");
  return write_checked(options, *input->root, before);
}

int remove(const Options& options) {
  auto input = read_topology(options.file);
  if (!input) return report_error(input.error());
  std::string child;
  std::vector<std::string> attributes;
  for (const std::string& word : options.words) {
    const bool element = nccl::parse_child(word).has_value();
    if (element && child.empty()) {
      child = word;
    } else {
      attributes.push_back(word);
    }
  }
  if (!child.empty() && !attributes.empty())
    return usage(
        {ErrorCode::kInvalidInput, "either elements or attributes", "Remove them one after the other"});
  const auto before = nccl::remarks_about(*input->root, release(options));
  const auto removed = nccl::remove_from(*input->root, options.selector, child, attributes);
  if (!removed) return fail_with(removed.error());
  say("angio: " + count_of(*removed, attributes.empty() ? "element" : "attribute") + " removed");
  return write_checked(options, *input->root, before);
}

int diff(const Options& options) {
  auto left = read_topology(options.files[0]);
  if (!left) return report_error(left.error());
  auto right = read_topology(options.files[1]);
  if (!right) return report_error(right.error());
  auto differences = nccl::compare_trees(*left->root, *right->root);
  const std::size_t left_out = options.all ? 0 : std::erase_if(differences, is_of_one_host);
  const int written =
      show(options,
           views::topology_differences_document(differences, options.files[0], options.files[1], left_out),
           views::topology_differences_json(differences, options.files[0], options.files[1], left_out));
  if (written != kOk) return written;
  return differences.empty() ? kOk : kFindings;
}

int merge(const Options& options) {
  if (auto checked = check_release(options); !checked) return usage(checked.error());
  say_newer(options);
  constexpr std::size_t kMost = 20000;  // elements; one host has some hundreds
  std::optional<nccl::Element> joined;
  std::vector<nccl::Remark> before;
  for (const std::string& file : options.files) {
    auto input = read_topology(file);
    if (!input) return report_error(input.error());
    if (nccl::count_elements(*input->root) > kMost)
      return report_error(
          {ErrorCode::kUnsupported, file + ": more than 20000 elements", "No host has that many"});
    for (nccl::Remark& remark : nccl::remarks_about(*input->root, release(options)))
      before.push_back(std::move(remark));
    if (joined) {
      nccl::fuse(*joined, *input->root);
    } else {
      joined = std::move(*input->root);
    }
  }
  return write_checked(options, *joined, before);
}

}  // namespace angio::app::nccl_topo
