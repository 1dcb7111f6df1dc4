#include "import/results/hint.hpp"

#include <array>

#include "base/text.hpp"

namespace angio::import::results {
namespace {

using model::NcclCollective;

struct Word {
  std::string_view letters;  // lower case, without _ and -
  NcclCollective collective;
};
// Longer ones first: "allreduce" before "reduce".
constexpr std::array kWords{
    Word{"reducescatter", NcclCollective::kReduceScatter},
    Word{"allreduce", NcclCollective::kAllReduce},
    Word{"allgather", NcclCollective::kAllGather},
    Word{"alltoall", NcclCollective::kAllToAll},
    Word{"broadcast", NcclCollective::kBroadcast},
    Word{"sendrecv", NcclCollective::kSendRecv},
    Word{"reduce", NcclCollective::kReduce},
};

// The one collective that is named in it; kUnknown: none, or several.
NcclCollective only_one(std::string_view text) {
  std::string letters;
  for (const char c : text) {
    if (c == '_' || c == '-') continue;
    letters += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  NcclCollective found = NcclCollective::kUnknown;
  for (const Word& word : kWords) {
    bool here = false;
    for (std::size_t at = letters.find(word.letters); at != std::string::npos;
         at = letters.find(word.letters, at)) {
      letters.replace(at, word.letters.size(), " ");  // not seen again as a part
      here = true;
    }
    if (!here) continue;
    if (found != NcclCollective::kUnknown) return NcclCollective::kUnknown;
    found = word.collective;
  }
  return found;
}

}  // namespace

CollectiveHint collective_hint(std::string_view text, std::string_view name) {
  if (const NcclCollective by_name = only_one(name); by_name != NcclCollective::kUnknown)
    return {by_name, "the file's name"};
  constexpr std::size_t kHead = std::size_t{1} << 18U;  // commands stand before their tables
  if (const NcclCollective by_text = only_one(text.substr(0, kHead)); by_text != NcclCollective::kUnknown)
    return {by_text, "the text around it names no other, which"};
  return {};
}

NcclCollective collective_named(std::string_view word) {
  return only_one(word);
}

}  // namespace angio::import::results
