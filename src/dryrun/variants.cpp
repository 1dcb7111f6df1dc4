// The words of --vary: a variable with its values, and the product of several.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "base/text.hpp"
#include "dryrun/compare.hpp"

namespace angio::dryrun {
namespace {

struct Vary {
  std::string name;
  std::vector<std::string> values;
};

constexpr std::string_view kForm =
    "Write --vary NAME=VALUE,VALUE…, or NAME='VALUE|VALUE' when values hold commas";

bool is_name(std::string_view text) {
  const auto may_stand = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) == 0 &&
         std::ranges::all_of(text, may_stand);
}

// '|' parts the values where there is one, for NCCL's own lists (NCCL_IB_HCA, NCCL_ALGO) hold commas; else
// ','.
Result<Vary> parse_vary(std::string_view text) {
  const std::size_t equal = text.find('=');
  if (equal == std::string_view::npos || !is_name(text.substr(0, equal)))
    return fail(ErrorCode::kInvalidInput,
                fmt::format("--vary \"{}\": no variable and values", printable(text)), std::string(kForm));
  Vary vary{std::string(text.substr(0, equal)), {}};
  std::string_view values = text.substr(equal + 1);
  const char separator = values.find('|') != std::string_view::npos ? '|' : ',';
  if (values.size() > 1 && values.ends_with('|')) values.remove_suffix(1);  // one list: "mlx5_0,mlx5_1|"
  std::set<std::string_view> seen;
  for (const std::string_view value : split(values, separator)) {
    if (value.empty())
      return fail(ErrorCode::kInvalidInput, fmt::format("--vary \"{}\": a value is empty", printable(text)),
                  "the first run is always the one as given, without the change");
    if (!seen.insert(value).second)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("--vary \"{}\": {} stands twice", printable(text), printable(value)),
                  std::string(kForm));
    vary.values.emplace_back(value);
  }
  return vary;
}

Result<std::vector<Vary>> parse_all(const std::vector<std::string>& texts) {
  std::vector<Vary> all;
  std::size_t product = 1;
  for (const std::string& text : texts) {
    Result<Vary> vary = parse_vary(text);
    if (!vary) return std::unexpected(std::move(vary.error()));
    for (const Vary& known : all)
      if (known.name == vary->name)
        return fail(ErrorCode::kInvalidInput, fmt::format("--vary {} stands twice", vary->name),
                    "put all of its values into one");
    // Each factor is bounded before it is multiplied: no overflow.
    product *= std::min(vary->values.size(), kMostVariants);
    if (product >= kMostVariants)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("--vary makes more than {} variants, each a run of its own", kMostVariants),
                  "vary fewer variables at a time, or fewer values");
    all.push_back(std::move(*vary));
  }
  return all;
}

}  // namespace

Result<std::vector<Variant>> parse_variants(const std::vector<std::string>& vary) {
  const Result<std::vector<Vary>> parsed = parse_all(vary);
  if (!parsed) return std::unexpected(parsed.error());
  std::vector<Variant> product;
  if (!parsed->empty()) product.emplace_back();
  for (const Vary& one : *parsed) {
    std::vector<Variant> longer;
    for (const Variant& base : product)
      for (const std::string& value : one.values) {
        Variant variant = base;
        variant.label += (base.label.empty() ? "" : " ") + one.name + "=" + value;
        variant.settings.emplace_back(one.name, value);
        longer.push_back(std::move(variant));
      }
    product = std::move(longer);
  }
  std::vector<Variant> variants{{"as given", {}}};
  std::ranges::move(product, std::back_inserter(variants));
  return variants;
}

}  // namespace angio::dryrun
