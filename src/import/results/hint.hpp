// Which collective a table is of, where it does not say itself: by the name of its file, else by the only
// collective that the text around it names.
#pragma once

#include <string>
#include <string_view>

#include "model/nccl_tests.hpp"

namespace angio::import::results {

struct CollectiveHint {
  model::NcclCollective collective = model::NcclCollective::kUnknown;
  std::string from;  // "the file's name"
};
CollectiveHint collective_hint(std::string_view text, std::string_view name);

// "all_reduce", "AllReduce", "alltoall_perf"; kUnknown: no such word.
model::NcclCollective collective_named(std::string_view word);

}  // namespace angio::import::results
