#include "import/collective_run/collective_run.hpp"

#include <cmath>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::import::collective_run {
namespace {

using model::CollectiveRun;
using model::NcclCollective;

constexpr std::size_t kHead = 1U << 16U;
constexpr std::size_t kMostItems = 1U << 20U;
constexpr std::size_t kLongestText = 400;

double number(const Json* value) {
  if (value == nullptr) return 0;
  if (const auto* whole = value->as_integer()) return static_cast<double>(*whole);
  const auto* real = value->as_double();
  return real != nullptr && std::isfinite(*real) ? *real : 0;
}

template <typename Number = std::uint32_t>
Number natural(const Json* value) {
  const auto* whole = value != nullptr ? value->as_integer() : nullptr;
  return whole != nullptr && std::in_range<Number>(*whole) ? static_cast<Number>(*whole) : 0;
}

std::string text(const Json* value) {
  const auto* words = value != nullptr ? value->as_string() : nullptr;
  return words != nullptr ? printable(std::string_view(*words).substr(0, kLongestText)) : std::string();
}

bool flag(const Json* value) {
  const auto* truth = value != nullptr ? value->as_bool() : nullptr;
  return truth != nullptr && *truth;
}

template <typename Use>
void each(const Json& json, std::string_view key, Use use) {
  const Json* list = json.find(key);
  if (list == nullptr || list->as_array() == nullptr) return;
  std::size_t used = 0;
  for (const Json& item : *list->as_array()) {
    if (++used > kMostItems) return;
    use(item);
  }
}

NcclCollective collective_of(const std::string& name) {
  constexpr auto kLast = static_cast<int>(NcclCollective::kAllToAllV);
  for (int i = 1; i <= kLast; ++i)
    if (name == model::name_of(static_cast<NcclCollective>(i))) return static_cast<NcclCollective>(i);
  return NcclCollective::kUnknown;
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  const std::string_view head = trim(bytes.substr(0, kHead));
  return head.starts_with('{') && contains(head, "\"angio.bench-collective/");
}

Result<CollectiveRun> parse(std::string_view bytes, const std::string& name) {
  const auto json = parse_json(bytes);
  if (!json) return std::unexpected(Error(json.error()).with_context(name));
  const std::string schema = text(json->find("schema"));
  if (schema != "angio.bench-collective/1")
    return fail(ErrorCode::kInvalidInput,
                name + ": schema \"" + schema + "\", expected \"angio.bench-collective/1\"",
                "Give the output of angio bench collective --format json");
  CollectiveRun run;
  run.backend = text(json->find("backend"));
  run.version = text(json->find("version"));
  run.ranks = natural(json->find("ranks"));
  run.nodes = natural(json->find("nodes"));
  run.phantom = flag(json->find("phantom"));
  run.interrupted = flag(json->find("interrupted"));
  each(*json, "members", [&run](const Json& item) {
    model::CollectiveRank rank;
    rank.rank = natural(item.find("rank"));
    rank.host = text(item.find("host"));
    rank.device = text(item.find("device"));
    rank.address = text(item.find("address"));
    run.members.push_back(std::move(rank));
  });
  each(*json, "rows", [&run](const Json& item) {
    model::CollectiveRow row;
    row.collective = collective_of(text(item.find("collective")));
    row.size = Bytes{natural<std::uint64_t>(item.find("bytes"))};
    row.in_place = flag(item.find("in_place"));
    row.iterations = natural(item.find("iterations"));
    row.time_us = number(item.find("time_us"));
    row.algorithm = BytesPerSecond{number(item.find("algorithm_bytes_per_second"))};
    row.bus = BytesPerSecond{number(item.find("bus_bytes_per_second"))};
    if (const Json* wrong = item.find("wrong"); wrong != nullptr && wrong->as_integer() != nullptr)
      row.wrong = natural<std::uint64_t>(wrong);
    run.rows.push_back(std::move(row));
  });
  return run;
}

}  // namespace angio::import::collective_run
