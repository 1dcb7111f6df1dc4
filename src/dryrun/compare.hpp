// Several dry runs beside each other: two settings or two versions (--set-a, --set-b), or the variants of a
// sweep. What changes, at which size; what stays is counted, not repeated. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "model/dryrun.hpp"

namespace angio::dryrun {

// One thing that two runs state differently: "rings", "channels", "GPUDirect RDMA", "memory of a GPU".
struct Difference {
  std::string what;
  std::string a;
  std::string b;
  std::string meaning;  // one sentence, empty when the two values say it all
};

// An operation whose choice differs.
struct ChoiceDifference {
  std::string collective;
  std::uint64_t bytes = 0;
  std::string a;  // "RING LL128, 24 channels"
  std::string b;
  double estimate_ratio = 0;  // b's time over a's, by NCCL's own model; 0: not known
};

struct Comparison {
  std::vector<Difference> facts;
  std::vector<ChoiceDifference> choices;
  std::uint32_t equal_choices = 0;
  std::uint32_t equal_facts = 0;  // of those that both runs show
};
Comparison compare(const model::DryRun& a, const model::DryRun& b);

// The choice of one operation in words: "RING LL128, 24 channels"; "not reached"; "not named" where NCCL says
// nothing (point to point).
std::string choice_text(const model::DryRunOperation& operation);

// A variant of a sweep: "NCCL_ALGO=Ring,Tree" gives two, several --vary their product. Where a value itself
// holds commas, '|' parts the values: "NCCL_IB_HCA=mlx5_0,mlx5_1|mlx5_2"; a single one ends with it.
struct Variant {
  std::string label;  // "NCCL_ALGO=Ring NCCL_PROTO=LL"; "as given" for the first, without a change
  std::vector<std::pair<std::string, std::string>> settings;
};
inline constexpr std::size_t kMostVariants = 64;
Result<std::vector<Variant>> parse_variants(const std::vector<std::string>& vary);

// For a collective of one variant: from which size on which choice holds.
struct ChoiceRange {
  std::uint64_t from = 0;
  std::uint64_t to = 0;  // the last size tried with it
  std::string choice;    // "TREE LL, 8 channels"
  double best_ratio =
      0;  // smallest estimate of the other variants over this one's, over the range; 0: unknown
};
struct SweepRow {
  std::string variant;
  std::string collective;
  std::vector<ChoiceRange> ranges;
};
std::vector<SweepRow> sweep_rows(const std::vector<model::DryRun>& runs);

}  // namespace angio::dryrun
