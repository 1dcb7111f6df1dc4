#include "import/job_evidence/job_evidence.hpp"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/text.hpp"
#include "import/job_log/job_log.hpp"
#include "import/nccl_inspector/nccl_inspector.hpp"
#include "import/nccl_log/nccl_log.hpp"
#include "import/nccl_ras/nccl_ras.hpp"
#include "import/nccl_tests/nccl_tests.hpp"
#include "import/watchdog/watchdog.hpp"

namespace angio::import::job_evidence {
namespace {

// What tells the forms of JSON apart stands in the first bytes.
constexpr std::size_t kHead = std::size_t{64} << 10U;
constexpr std::size_t kRecordHead = 4096;  // of a line of the Inspector
constexpr std::size_t kMostJson = std::size_t{1} << 30U;

// The readers that a file has to itself.
struct FileReaders {
  explicit FileReaders(std::uint32_t its_place)
      : place(its_place), tables(its_place), ras(its_place), memory(its_place) {}

  std::uint32_t place;
  nccl_tests::TableReader tables;
  nccl_ras::RasReader ras;
  job_log::MemoryReader memory;
};

enum class Form : std::uint8_t { kUndecided, kText, kTestsJson, kRasJson };

struct OpenFile {
  OpenFile(std::string name, std::uint32_t place) : readers(place) { summary.name = std::move(name); }

  FileSummary summary;
  FileReaders readers;
  Form form = Form::kUndecided;
  std::string kept;  // the head until the form is known, then JSON
  std::uint64_t watchdog_lines_before = 0;
};

Form form_of(std::string_view head) {
  if (nccl_log::is_gzip(head)) return Form::kText;
  if (nccl_tests::looks_like_json(head)) return Form::kTestsJson;
  return nccl_ras::looks_like_json(head) ? Form::kRasJson : Form::kText;
}

}  // namespace

bool Evidence::empty() const {
  return std::ranges::all_of(files, [](const FileSummary& file) { return file.holds_nothing(); });
}

struct Reader::State {
  State() {
    log.on_other_line([this](std::uint32_t number, std::string_view text) { read_line(number, text); });
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() = default;

  nccl_log::Log log;
  nccl_inspector::RecordReader inspector;
  watchdog::LineReader watchdog;
  std::optional<OpenFile> open;
  Evidence evidence;

  void read_line(std::uint32_t number, std::string_view text);
  void decide();
  void end_text();
  void end_json();
  void add_log_facts(Evidence& to);
};

Reader::Reader() : state_(std::make_unique<State>()) {}
Reader::~Reader() = default;
Reader::Reader(Reader&&) noexcept = default;
Reader& Reader::operator=(Reader&&) noexcept = default;

// Every line that NCCL's own reader has not understood as one of its own.
void Reader::State::read_line(std::uint32_t number, std::string_view text) {
  FileReaders& readers = open->readers;
  if (text.starts_with('{') && contains(text.substr(0, kRecordHead), "_perf\"")) {
    inspector.read(readers.place, number, text);
    ++open->summary.records;
    return;
  }
  readers.tables.read(number, text);
  readers.ras.read(number, text);
  readers.memory.read(number, text);
  watchdog.read(readers.place, number, text);
}

void Reader::State::decide() {
  OpenFile& file = *open;
  file.form = form_of(file.kept);
  if (file.form != Form::kText) return;
  file.summary.gzip = nccl_log::is_gzip(file.kept);
  log.begin(file.summary.name);
  log.feed(std::exchange(file.kept, {}));
}

void Reader::State::end_text() {
  log.end();
  OpenFile& file = *open;
  auto tables = file.readers.tables.take();
  auto reports = file.readers.ras.take();
  file.summary.tables = static_cast<std::uint32_t>(tables.size());
  file.summary.reports = static_cast<std::uint32_t>(reports.size());
  file.summary.watchdog_lines = watchdog.lines() - file.watchdog_lines_before;
  std::ranges::move(tables, std::back_inserter(evidence.facts.tests));
  std::ranges::move(reports, std::back_inserter(evidence.facts.ras));
  if (auto events = file.readers.memory.take(); !events.empty())
    evidence.memory.push_back({file.summary.name, std::move(events)});
}

void Reader::State::end_json() {
  OpenFile& file = *open;
  const auto refused = [&](const Error& error) { file.summary.trouble = error.message + ". " + error.hint; };
  if (file.kept.size() >= kMostJson) {
    file.summary.trouble = file.summary.name + ": JSON of more than 1 GiB. Give the part that matters";
  } else if (file.form == Form::kTestsJson) {
    auto table = nccl_tests::parse_json_table(file.kept, file.summary.name, file.readers.place);
    if (!table) return refused(table.error());
    file.summary.tables = 1;
    evidence.facts.tests.push_back(*std::move(table));
  } else {
    auto reports = nccl_ras::parse_json_report(file.kept, file.summary.name, file.readers.place);
    if (!reports) return refused(reports.error());
    file.summary.reports = static_cast<std::uint32_t>(reports->size());
    std::ranges::move(*reports, std::back_inserter(evidence.facts.ras));
  }
}

void Reader::begin(const std::string& name) {
  end();
  State& state = *state_;
  state.open.emplace(name, state.evidence.facts.places.add(name));
  state.open->watchdog_lines_before = state.watchdog.lines();
}

void Reader::feed(std::string_view bytes) {
  State& state = *state_;
  if (!state.open) return;
  OpenFile& file = *state.open;
  file.summary.bytes += bytes.size();
  if (file.form == Form::kUndecided) {
    const std::string_view head = bytes.substr(0, kHead - file.kept.size());
    file.kept += head;
    bytes.remove_prefix(head.size());
    if (file.kept.size() == kHead) state.decide();
  }
  if (file.form == Form::kText) {
    state.log.feed(bytes);
  } else {
    file.kept.append(bytes.substr(0, kMostJson - file.kept.size()));
  }
}

void Reader::end() {
  State& state = *state_;
  if (!state.open) return;
  if (state.open->form == Form::kUndecided) state.decide();
  if (state.open->form == Form::kText) {
    state.end_text();
  } else {
    state.end_json();
  }
  state.evidence.files.push_back(std::move(state.open->summary));
  state.open.reset();
}

void Reader::add(std::string_view bytes, const std::string& name) {
  begin(name);
  feed(bytes);
  end();
}

void Reader::State::add_log_facts(Evidence& to) {
  model::NcclLog facts = log.take();
  std::uint64_t lines = 0;
  for (const model::NcclFile& read : facts.files) {
    lines += read.nccl_lines;
    const auto file = std::ranges::find(to.files, read.name, &FileSummary::name);
    if (file == to.files.end()) continue;
    file->lines = read.lines;
    file->log_lines = read.nccl_lines;
    if (read.gzip_cut) file->trouble = "the compressed data is cut off or damaged: read up to there";
  }
  if (lines != 0 || !facts.events.empty() || !facts.processes.empty()) to.facts.log = std::move(facts);
}

Evidence Reader::take() {
  end();
  State& state = *state_;
  Evidence evidence = std::move(state.evidence);
  state.add_log_facts(evidence);
  if (!state.inspector.empty()) evidence.facts.inspector = state.inspector.take();
  if (!state.watchdog.empty()) evidence.facts.watchdog = state.watchdog.take();
  state_ = std::make_unique<State>();
  return evidence;
}

}  // namespace angio::import::job_evidence
