// NCCL_ALGO and NCCL_PROTO as text: entries, functions, words. The grammar of 2.24 and newer,
// [function:][^]word,word;… of which the older comma list is the first entry. Parsing only.
#pragma once

#include <string_view>
#include <vector>

namespace angio::lint {

struct AlgorithmEntry {
  std::string_view function;  // empty: all
  bool excluded = false;      // ^
  std::vector<std::string_view> words;
};

std::vector<AlgorithmEntry> parse_algorithms(std::string_view value, bool entries);

}  // namespace angio::lint
