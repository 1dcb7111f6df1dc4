#include "collective/wish.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.hpp"

namespace angio::collective {
namespace {

using model::NcclCollective;

constexpr std::array<std::pair<std::string_view, NcclCollective>, 9> kWords = {
    {{"all_reduce", NcclCollective::kAllReduce},
     {"all_gather", NcclCollective::kAllGather},
     {"reduce_scatter", NcclCollective::kReduceScatter},
     {"broadcast", NcclCollective::kBroadcast},
     {"reduce", NcclCollective::kReduce},
     {"alltoall", NcclCollective::kAllToAll},
     {"gather", NcclCollective::kGather},
     {"scatter", NcclCollective::kScatter},
     {"sendrecv", NcclCollective::kSendRecv}}};

std::string bare(std::string_view word) {
  std::string result = to_lower(word);
  if (result.ends_with("_perf")) result.resize(result.size() - std::string_view("_perf").size());
  std::erase(result, '_');
  std::erase(result, '-');
  return result;
}

// Reads members and remembers the first that is not what it should be.
class Reader {
 public:
  explicit Reader(const Json& json) : json_(json) {}

  template <typename Number>
  void number(std::string_view key, Number& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    const std::int64_t* whole = value->as_integer();
    if (whole == nullptr || !std::in_range<Number>(*whole)) return blame(key);
    to = static_cast<Number>(*whole);
  }
  void bytes(std::string_view key, Bytes& to) { number(key, to.value); }
  void truth(std::string_view key, bool& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    if (value->as_bool() == nullptr) return blame(key);
    to = *value->as_bool();
  }
  void text(std::string_view key, std::string& to) {
    const Json* value = json_.find(key);
    if (value == nullptr) return;
    if (value->as_string() == nullptr) return blame(key);
    to = *value->as_string();
  }
  template <typename Value, typename Parse>
  void word(std::string_view key, Value& to, const Parse& parse) {
    std::string said;
    text(key, said);
    if (said.empty()) return;
    const auto value = parse(said);
    if (!value) return blame(key);
    to = *value;
  }
  void blame(std::string_view key) {
    if (wrong_.empty()) wrong_ = key;
  }
  [[nodiscard]] const std::string& wrong() const { return wrong_; }

 private:
  const Json& json_;
  std::string wrong_;
};

void read_collectives(const Json& json, Reader& reader, Wish& wish) {
  const Json* list = json.find("collectives");
  if (list == nullptr) return;
  if (list->as_array() == nullptr) return reader.blame("collectives");
  wish.collectives.clear();
  for (const Json& one : *list->as_array()) {
    const auto collective = parse_collective(one.as_string() == nullptr ? "" : *one.as_string());
    if (!collective) return reader.blame("collectives");
    wish.collectives.push_back(*collective);
  }
}

}  // namespace

Result<NcclCollective> parse_collective(std::string_view word) {
  const std::string wanted = bare(word);
  for (const auto& [name, collective] : kWords) {
    if (bare(name) == wanted) return collective;
  }
  const auto words = collective_words();
  const auto nearest = did_you_mean(to_lower(word), words);
  return fail(ErrorCode::kInvalidInput, fmt::format("\"{}\" is no collective", printable(word)),
              nearest ? "did you mean " + *nearest + "?"
                      : "all_reduce, all_gather, reduce_scatter, broadcast, reduce, alltoall, gather, "
                        "scatter or sendrecv");
}

std::string_view word_of(NcclCollective collective) {
  const auto found =
      std::ranges::find(kWords, collective, &std::pair<std::string_view, NcclCollective>::second);
  return found == kWords.end() ? std::string_view() : found->first;
}

std::vector<std::string_view> collective_words() {
  std::vector<std::string_view> words;
  for (const auto& [name, collective] : kWords)
    words.push_back(name);
  return words;
}

bool reduces(NcclCollective collective) {
  return collective == NcclCollective::kAllReduce || collective == NcclCollective::kReduceScatter ||
         collective == NcclCollective::kReduce;
}

bool has_root(NcclCollective collective) {
  return collective == NcclCollective::kBroadcast || collective == NcclCollective::kReduce ||
         collective == NcclCollective::kGather || collective == NcclCollective::kScatter;
}

Result<std::vector<Bytes>> sizes_of(const Wish& wish) {
  constexpr std::size_t kMost = 4096;
  if (wish.least > wish.most) {
    return fail(ErrorCode::kInvalidInput, fmt::format("the least size ({} B) is above the most ({} B)",
                                                      wish.least.value, wish.most.value));
  }
  if (wish.step ? wish.step->value == 0 : wish.factor < 2 || wish.least.value == 0) {
    if (wish.least == wish.most) return std::vector<Bytes>{wish.least};
    return fail(ErrorCode::kInvalidInput, wish.step
                                              ? "a step of 0 B leads nowhere"
                                              : "a factor below 2, or a least size of 0 B, leads nowhere");
  }
  std::vector<Bytes> sizes;
  std::uint64_t size = wish.least.value;
  while (size <= wish.most.value) {
    if (sizes.size() == kMost)
      return fail(ErrorCode::kInvalidInput, fmt::format("more than {} sizes", kMost), "a larger step");
    sizes.push_back(Bytes{size});
    const std::uint64_t more = wish.step ? wish.step->value : size * (wish.factor - 1);
    const bool overflows = !wish.step && size > wish.most.value / wish.factor;
    if (overflows || more > wish.most.value - size) break;
    size += more;
  }
  return sizes;
}

Json to_json(const Wish& wish) {
  Json collectives = Json::array();
  for (const NcclCollective collective : wish.collectives)
    collectives.push_back(word_of(collective));
  Json json = Json::object({{"collectives", std::move(collectives)},
                            {"least", wish.least.value},
                            {"most", wish.most.value},
                            {"factor", wish.factor},
                            {"element", label(wish.element)},
                            {"reduction", label(wish.reduction)},
                            {"root", wish.root},
                            {"iterations", wish.iterations},
                            {"warm_up", wish.warm_up},
                            {"out_of_place", wish.out_of_place},
                            {"in_place", wish.in_place},
                            {"check", wish.check},
                            {"samples", wish.samples},
                            {"pairs", wish.pairs},
                            {"pair_size", wish.pair_size.value},
                            {"patience", wish.patience},
                            {"nccl", wish.nccl}});
  if (wish.step) json.set("step", wish.step->value);
  return json;
}

Result<Wish> parse_wish(std::string_view text) {
  auto json = parse_json(text);
  if (!json) return std::unexpected(std::move(json.error()).with_context("the work of the benchmark"));
  if (json->as_object() == nullptr)
    return fail(ErrorCode::kInvalidInput, "the work of the benchmark is no JSON object");
  Wish wish;
  Reader reader(*json);
  read_collectives(*json, reader, wish);
  reader.bytes("least", wish.least);
  reader.bytes("most", wish.most);
  if (json->find("step") != nullptr) reader.bytes("step", wish.step.emplace());
  reader.number("factor", wish.factor);
  reader.word("element", wish.element, parse_element);
  reader.word("reduction", wish.reduction, parse_reduction);
  reader.number("root", wish.root);
  reader.number("iterations", wish.iterations);
  reader.number("warm_up", wish.warm_up);
  reader.truth("out_of_place", wish.out_of_place);
  reader.truth("in_place", wish.in_place);
  reader.truth("check", wish.check);
  reader.truth("samples", wish.samples);
  reader.truth("pairs", wish.pairs);
  reader.bytes("pair_size", wish.pair_size);
  reader.number("patience", wish.patience);
  reader.text("nccl", wish.nccl);
  if (!reader.wrong().empty()) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("the work of the benchmark: \"{}\" is not what it should be", reader.wrong()));
  }
  if (wish.iterations == 0 || wish.patience == 0)
    return fail(ErrorCode::kInvalidInput, "the work of the benchmark: no iterations, or no patience");
  return wish;
}

}  // namespace angio::collective
