// What a benchmark of collectives is to do: the same on every rank, handed to the rank processes as one word
// of JSON. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"
#include "base/json.hpp"
#include "base/units.hpp"
#include "collective/transport.hpp"
#include "model/nccl_tests.hpp"

namespace angio::collective {

struct Wish {
  std::vector<model::NcclCollective> collectives{model::NcclCollective::kAllReduce};
  Bytes least{8};
  Bytes most{std::uint64_t{128} << 20U};
  std::optional<Bytes> step;  // added; none: times factor
  std::uint32_t factor = 2;
  Element element = Element::kFloat;
  Reduction reduction = Reduction::kSum;
  std::uint32_t root = 0;
  std::uint32_t iterations = 20;
  std::uint32_t warm_up = 5;
  bool out_of_place = true;
  bool in_place = true;
  bool check = true;
  bool samples = true;  // each iteration by itself, too: percentiles and outliers
  bool pairs = false;   // every rank to every other
  Bytes pair_size{std::uint64_t{64} << 20U};
  std::uint32_t patience = 120;  // s, for ranks that do not come or fall silent
  std::string nccl;              // library, folder, "pid:N"; empty: search
  bool operator==(const Wish&) const = default;
};

// "all_reduce", "all_reduce_perf", "AllReduce", "alltoall"; the names of the programs of nccl-tests.
Result<model::NcclCollective> parse_collective(std::string_view word);
std::string_view word_of(model::NcclCollective collective);  // "all_reduce"; "" for what is not measured here
std::vector<std::string_view> collective_words();

bool reduces(model::NcclCollective collective);  // it has a reduction
bool has_root(model::NcclCollective collective);

// Sizes from least to most. Errors: least above most, no step, more than 4096 sizes.
Result<std::vector<Bytes>> sizes_of(const Wish& wish);

Json to_json(const Wish& wish);
// Errors name the member.
Result<Wish> parse_wish(std::string_view text);

}  // namespace angio::collective
