#include "import/results/results.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "import/collective_run/collective_run.hpp"
#include "import/dcgm_metrics/dcgm_metrics.hpp"
#include "import/gzip.hpp"
#include "import/job_evidence/job_evidence.hpp"
#include "import/known_text.hpp"
#include "import/memory_run/memory_run.hpp"
#include "import/nccl_tests/nccl_tests.hpp"
#include "import/nvbandwidth/nvbandwidth.hpp"
#include "import/osu/osu.hpp"
#include "import/perftest/perftest.hpp"

namespace angio::import::results {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 30U;
constexpr std::string_view kKnown =
    "Known are results of nccl-tests and rccl-tests (text, -J), OSU micro-benchmarks, perftest, nvbandwidth "
    "(text, "
    "-j), angio bench collective and angio bench memory (--format json)";

// JSON of one known form; none when it is something else.
std::optional<Result<void>> read_json(std::string_view text, Results& results) {
  const auto take = [](auto&& parsed, auto& list) -> Result<void> {
    if (!parsed) return std::unexpected(std::move(parsed.error()));
    list.push_back(*std::move(parsed));
    return {};
  };
  if (memory_run::looks_like_json(text)) return take(memory_run::parse(text, results.name), results.memory);
  if (collective_run::looks_like_json(text))
    return take(collective_run::parse(text, results.name), results.collective);
  if (nvbandwidth::looks_like_json(text))
    return take(nvbandwidth::parse_json_run(text, results.name), results.nvbandwidth);
  if (nccl_tests::looks_like_json(text)) {
    const std::uint32_t place = results.nccl.places.add(results.name);
    return take(nccl_tests::parse_json_table(text, results.name, place), results.nccl.tests);
  }
  return std::nullopt;
}

// "NCCL Test Succeeded: Avg bus bandwidth is 230.167": the average without its table.
void read_average(std::string_view text, Results& results) {
  std::uint32_t number = 0;
  for (const std::string_view line : split_lines(text)) {
    ++number;
    constexpr std::string_view kMark = "Avg bus bandwidth";
    const std::size_t at = line.find(kMark);
    if (at == std::string_view::npos) continue;
    for (const std::string_view word : split_words(line.substr(at + kMark.size()))) {
      const auto value = parse_double(word);
      if (!value || *value <= 0) continue;
      constexpr double kGigabyte = 1e9;
      model::NcclTestsTable table;
      table.average = BytesPerSecond{*value * kGigabyte};
      table.average_source = table.source = {results.nccl.places.add(results.name), number, ""};
      results.nccl.tests.push_back(std::move(table));
      return;
    }
  }
}

void read_text(std::string_view text, Results& results) {
  job_evidence::Reader reader;
  reader.add(text, results.name);
  job_evidence::Evidence evidence = reader.take();
  results.nccl = std::move(evidence.facts);
  for (const job_evidence::FileSummary& file : evidence.files)
    if (!file.trouble.empty()) results.notes.push_back(printable(file.trouble) + ".");
  if (results.nccl.tests.empty()) read_average(text, results);
  results.hint = collective_hint(text, results.name);
  if (osu::looks_like(text)) results.osu = osu::parse(text);
  if (nvbandwidth::looks_like(text)) results.nvbandwidth = nvbandwidth::parse(text);
  if (dcgm_metrics::looks_like(text)) {
    auto metrics = dcgm_metrics::parse(text);
    if (!metrics.rates.empty()) results.dcgm.push_back(std::move(metrics));
  }
  if (perftest::looks_like(text)) {
    results.perftest = perftest::parse(text);
    std::erase_if(results.perftest, [](const model::PerftestRun& run) {
      return run.rows.empty() && (run.errors.empty() || run.title.empty());
    });
  }
}

Error refuse(std::string_view text, const Results& results) {
  const std::string name = printable(results.name);
  if (trim(text).empty()) return {ErrorCode::kInvalidInput, name + ": empty", std::string(kKnown)};
  if (!results.notes.empty())
    return {ErrorCode::kInvalidInput, name + ": no result that could be read; " + results.notes.front(),
            std::string(kKnown)};
  if (results.nccl.log)
    return {ErrorCode::kInvalidInput, name + ": lines of NCCL's and no table of results",
            "angio log says what they tell. " + std::string(kKnown)};
  if (is_binary(text)) return {ErrorCode::kInvalidInput, name + ": no text", std::string(kKnown)};
  return {ErrorCode::kInvalidInput, name + ": no result of a benchmark in it", std::string(kKnown)};
}

}  // namespace

bool Results::empty() const {
  return nccl.tests.empty() && osu.empty() && perftest.empty() && nvbandwidth.empty() && collective.empty() &&
         memory.empty() && dcgm.empty();
}

Result<Results> read(std::string_view bytes, const std::string& name) {
  Results results;
  results.name = name;
  Unpacked unpacked;
  if (is_gzip(bytes)) {
    unpacked = gunzip(bytes, kMostText);
    bytes = unpacked.text;
    if (unpacked.cut)
      results.notes.emplace_back("The compressed data is cut off or damaged: read up to there.");
    if (unpacked.full) results.notes.emplace_back("Only the first GiB of the unpacked text was read.");
  }
  if (const auto json = read_json(bytes, results)) {
    if (!*json) return std::unexpected(json->error());
  } else {
    read_text(bytes, results);
  }
  if (results.empty()) return std::unexpected(refuse(bytes, results));
  return results;
}

}  // namespace angio::import::results
