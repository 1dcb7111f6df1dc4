// The JSON of the RAS service: an answer to STATUS, or a stream of the monitor's events, one object after the
// other.
#include "base/json.hpp"

#include <utility>

#include "base/text.hpp"
#include "import/nccl_ras/nccl_ras.hpp"

namespace angio::import::nccl_ras {
namespace {

using model::RasCommunicator;
using model::RasProblem;
using model::RasRank;
using model::RasReport;

constexpr std::size_t kHead = 4096;
constexpr std::size_t kMostEvents = 65'536;

template <typename Number>
std::optional<Number> natural(const Json* value) {
  if (value == nullptr || value->as_integer() == nullptr) return std::nullopt;
  const std::int64_t whole = *value->as_integer();
  if (!std::in_range<Number>(whole)) return std::nullopt;
  return static_cast<Number>(whole);
}

std::string text(const Json* value) {
  return value != nullptr && value->as_string() != nullptr ? printable(*value->as_string()) : std::string();
}

bool flag(const Json* object, std::string_view key) {
  const Json* value = object != nullptr ? object->find(key) : nullptr;
  return value != nullptr && value->as_bool() != nullptr && *value->as_bool();
}

RasRank read_rank(const Json& one, std::uint32_t place) {
  RasRank rank;
  rank.rank = natural<std::uint32_t>(one.find("rank")).value_or(0);
  rank.host = text(one.find("host"));
  rank.pid = natural<std::uint64_t>(one.find("pid")).value_or(0);
  if (const auto gpu = natural<std::uint32_t>(one.find("cuda_dev"))) rank.gpus = std::to_string(*gpu);
  rank.source = {place, 0, ""};
  const Json* status = one.find("status");
  if (status != nullptr) rank.async_error = natural<int>(status->find("async_error"));
  rank.aborted = flag(status, "abort_flag");
  rank.unresponsive = flag(status, "unresponsive");
  rank.dead = flag(status, "considered_dead");
  const Json* counts = one.find("collective_counts");
  if (counts != nullptr && counts->as_object() != nullptr) {
    for (const auto& [name, count] : *counts->as_object())
      if (const auto value = natural<std::uint64_t>(&count)) rank.launched[printable(name)] = *value;
  }
  return rank;
}

RasCommunicator read_communicator(const Json& one, std::uint32_t place) {
  RasCommunicator communicator;
  communicator.hash = text(one.find("hash"));
  communicator.size = natural<std::uint32_t>(one.find("size"));
  communicator.missing_count = natural<std::uint32_t>(one.find("missing_ranks_count"));
  communicator.source = {place, 0, ""};
  for (const auto& [key, list] :
       {std::pair{"ranks", &communicator.ranks}, std::pair{"missing_ranks", &communicator.missing}}) {
    const Json* ranks = one.find(key);
    if (ranks == nullptr || ranks->as_array() == nullptr) continue;
    for (const Json& rank : *ranks->as_array())
      list->push_back(read_rank(rank, place));
  }
  return communicator;
}

RasReport read_answer(const Json& root, std::uint32_t place) {
  RasReport report;
  report.json = report.saw_errors = true;
  report.library = "NCCL";
  report.version = text(root.find("nccl_version"));
  report.time = text(root.find("timestamp"));
  report.source = {place, 0, ""};
  if (const Json* list = root.find("communicators"); list != nullptr && list->as_array() != nullptr) {
    for (const Json& one : *list->as_array())
      report.communicators.push_back(read_communicator(one, place));
  }
  if (const Json* ras = root.find("ras"))
    report.timeouts = natural<std::uint32_t>(ras->find("timeouts_count"));
  return report;
}

void read_event(const Json& root, std::uint32_t place, RasReport& report) {
  if (report.problems.size() >= kMostEvents) return;
  RasProblem problem;
  problem.kind = text(root.find("event"));
  problem.source = {place, 0, ""};
  RasRank process;
  if (const Json* peer = root.find("peer")) {
    process = read_rank(*peer, place);
    if (const Json* gpus = peer->find("cuda_devs"); gpus != nullptr && gpus->as_array() != nullptr) {
      for (const Json& gpu : *gpus->as_array()) {
        const auto index = natural<std::uint32_t>(&gpu);
        if (index) process.gpus += (process.gpus.empty() ? "" : ",") + std::to_string(*index);
      }
    }
  }
  problem.text = "[" + text(root.find("timestamp")) + "] " + problem.kind + ": process " +
                 std::to_string(process.pid) + " on node " + process.host;
  problem.processes.push_back(std::move(process));
  report.problems.push_back(std::move(problem));
}

// Objects that stand one after the other; strings may hold braces.
std::vector<std::string_view> split_objects(std::string_view bytes) {
  std::vector<std::string_view> objects;
  std::size_t start = 0;
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < bytes.size() && objects.size() < kMostEvents; ++i) {
    const char c = bytes[i];
    if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '{') {
      if (depth++ == 0) start = i;
    } else if (c == '}' && depth > 0 && --depth == 0) {
      objects.push_back(bytes.substr(start, i - start + 1));
    }
  }
  if (depth > 0) objects.push_back(bytes.substr(start));  // cut off: its parser words the error
  return objects;
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  const std::string_view head = trim(bytes.substr(0, kHead));
  if (!head.starts_with("{")) return false;
  const bool answer = contains(head, "\"nccl_version\"") && contains(head, "\"communicators\"");
  return answer || (contains(head, "\"event\"") && contains(head, "\"peer\"") && contains(head, "\"group\""));
}

Result<std::vector<RasReport>> parse_json_report(std::string_view bytes, const std::string& name,
                                                 std::uint32_t place) {
  std::vector<RasReport> reports;
  RasReport events;
  events.json = true;
  events.source = {place, 0, ""};
  for (const std::string_view object : split_objects(bytes)) {
    const auto root = parse_json(object);
    if (!root) {
      if (!reports.empty() || !events.problems.empty()) break;  // the end is cut off: what was whole counts
      return fail(ErrorCode::kInvalidInput, name + ": " + root.error().message,
                  "Save the whole answer: ncclras -f json > ras.json");
    }
    if (root->find("communicators") != nullptr) {
      reports.push_back(read_answer(*root, place));
    } else if (root->find("event") != nullptr) {
      read_event(*root, place, events);
    }
  }
  if (!events.problems.empty()) reports.push_back(std::move(events));
  return reports;
}

}  // namespace angio::import::nccl_ras
