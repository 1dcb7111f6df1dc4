#include "history/store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <deque>
#include <map>
#include <utility>

#include "base/json.hpp"
#include "base/text.hpp"

namespace angio::history {

namespace {

constexpr int kApplication = 0x416e6748;  // "AngH": whose file it is
constexpr int kVersion = 2;               // of the tables below
constexpr int kPatience = 5000;           // ms for another writer

constexpr const char* kTables = R"(
CREATE TABLE record(
  id INTEGER PRIMARY KEY,
  schema TEXT NOT NULL,
  subject TEXT NOT NULL,
  captured TEXT NOT NULL,
  digest TEXT NOT NULL,
  environment INTEGER REFERENCES environment(id),
  UNIQUE(schema, subject, captured, digest));
CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE metric(
  subject INTEGER NOT NULL REFERENCES word(id),
  name INTEGER NOT NULL REFERENCES word(id),
  record INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE,
  kind TEXT NOT NULL,
  unit INTEGER NOT NULL REFERENCES word(id),
  value REAL,
  text INTEGER REFERENCES word(id),
  samples TEXT,
  PRIMARY KEY(subject, name, record)) WITHOUT ROWID;
CREATE INDEX metric_by_name ON metric(name);
CREATE INDEX metric_by_record ON metric(record);
)";

// Facts are a JSON object, the "environment" of a result; named records that others are held against.
constexpr const char* kTablesOfForm2 = R"(
CREATE TABLE environment(id INTEGER PRIMARY KEY, fingerprint TEXT NOT NULL UNIQUE, facts TEXT NOT NULL);
CREATE TABLE baseline(name TEXT PRIMARY KEY, record INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE)
  WITHOUT ROWID;
CREATE INDEX record_by_environment ON record(environment);
)";
constexpr const char* kForm1To2 = R"(
ALTER TABLE record ADD COLUMN environment INTEGER REFERENCES environment(id);
ALTER TABLE metric ADD COLUMN samples TEXT;
)";

Error error_of(const std::string& path, int code, const std::string& words) {
  // The journal of a writer that was killed has to be rolled back before anybody may read, and that is
  // writing.
  if (code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY ||
      code == SQLITE_READONLY_CANTINIT)
    return {ErrorCode::kDenied,
            path +
                ": a writer was interrupted, and what it left has to be rolled back by somebody who may "
                "write there",
            "Nothing is lost: any angio history command of the file's owner does it"};
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return {ErrorCode::kIo, path + ": another process is writing to it, for more than 5 s",
              "Try again later"};
    case SQLITE_READONLY:
      return {ErrorCode::kDenied, path + ": cannot be written (read-only file, folder or disk)",
              "Nothing was changed. --store names another place"};
    case SQLITE_CORRUPT:
      return {ErrorCode::kInvalidInput, path + ": is damaged: " + words,
              "Nothing was changed. Copy it, then: sqlite3 FILE .recover | sqlite3 NEW"};
    case SQLITE_NOTADB:
      return {ErrorCode::kInvalidInput, path + ": is no history of angio (no SQLite database)",
              "Is --store right?"};
    case SQLITE_FULL:
      return {ErrorCode::kIo, path + ": the disk is full; nothing was added", ""};
    case SQLITE_CANTOPEN:
      return {ErrorCode::kNotFound, path + ": cannot be opened: " + words, "Does its folder exist?"};
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return {ErrorCode::kDenied, path + ": access denied: " + words, ""};
    default:
      return {ErrorCode::kIo, path + ": " + words, ""};
  }
}

}  // namespace

struct Store::Database {
  std::string path;
  sqlite3* handle = nullptr;
  std::map<std::string, std::int64_t> words;
  std::int64_t form = kVersion;  // of the file: 1 where it is only read

  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close_v2(handle); }

  mutable int first_trouble = SQLITE_OK;  // extended code, since the file was opened

  [[nodiscard]] std::unexpected<Error> failed() const {
    if (first_trouble == SQLITE_OK) first_trouble = sqlite3_extended_errcode(handle);
    return std::unexpected(error_of(path, sqlite3_extended_errcode(handle), sqlite3_errmsg(handle)));
  }
  [[nodiscard]] Result<void> execute(const char* sql) const {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
    return {};
  }
  [[nodiscard]] Result<std::int64_t> number(const char* sql) const;
  Result<std::int64_t> word(const std::string& text);
  Result<void> add_metric(std::int64_t record, const model::Metric& metric);
  Result<std::optional<std::int64_t>> environment(const Environment& environment);
  Result<bool> add_record(const Record& record);
  Result<void> fill(std::vector<Record>& records) const;
  Result<void> open_as(const std::string& file, int flags);
  Result<void> open_for(const std::string& file, int flags, Access access);
  Result<void> prepare_file(Access access);
  Result<void> make_tables() const;
  Result<void> bring_up() const;
};

namespace {

class Statement {
 public:
  Statement(sqlite3* handle, const char* sql) {
    code_ = sqlite3_prepare_v2(handle, sql, -1, &statement_, nullptr);
  }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;
  ~Statement() { sqlite3_finalize(statement_); }

  Statement& bind(int at, std::string text) {
    const std::string& kept = texts_.emplace_back(std::move(text));  // stays where it is while more are added
    return keep(sqlite3_bind_text(statement_, at, kept.c_str(), static_cast<int>(kept.size()), nullptr));
  }
  Statement& bind(int at, std::int64_t value) { return keep(sqlite3_bind_int64(statement_, at, value)); }
  Statement& bind(int at, double value) { return keep(sqlite3_bind_double(statement_, at, value)); }
  Statement& bind_null(int at) { return keep(sqlite3_bind_null(statement_, at)); }

  // True: a row is there. Look at failed() after false.
  bool step() {
    if (code_ != SQLITE_OK && code_ != SQLITE_ROW) return false;
    code_ = sqlite3_step(statement_);
    return code_ == SQLITE_ROW;
  }
  [[nodiscard]] bool is_done() const { return code_ == SQLITE_DONE; }
  [[nodiscard]] bool is_duplicate() const { return (code_ & 0xff) == SQLITE_CONSTRAINT; }

  [[nodiscard]] std::string text(int at) const {
    const auto* bytes =
        reinterpret_cast<const char*>(sqlite3_column_text(statement_, at));  // UTF-8, as asked
    return bytes != nullptr
               ? std::string(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, at)))
               : std::string();
  }
  [[nodiscard]] std::int64_t integer(int at) const { return sqlite3_column_int64(statement_, at); }
  [[nodiscard]] double real(int at) const { return sqlite3_column_double(statement_, at); }

 private:
  Statement& keep(int code) {
    if (code_ == SQLITE_OK) code_ = code;
    return *this;
  }
  sqlite3_stmt* statement_ = nullptr;
  int code_ = SQLITE_OK;
  std::deque<std::string> texts_;
};

// Rolled back unless committed.
class Transaction {
 public:
  explicit Transaction(sqlite3* handle) : handle_(handle) {}
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  ~Transaction() {
    if (open_) sqlite3_exec(handle_, "ROLLBACK", nullptr, nullptr, nullptr);
  }
  bool begin() {
    open_ = sqlite3_exec(handle_, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr) == SQLITE_OK;
    return open_;
  }
  bool commit() {
    const bool done = sqlite3_exec(handle_, "COMMIT", nullptr, nullptr, nullptr) == SQLITE_OK;
    if (done) open_ = false;
    return done;
  }

 private:
  sqlite3* handle_;
  bool open_ = false;
};

// A snapshot for several questions.
class ReadTransaction {
 public:
  explicit ReadTransaction(sqlite3* handle) : handle_(handle) {
    sqlite3_exec(handle_, "BEGIN", nullptr, nullptr, nullptr);  // if it fails, each question has its own
  }
  ReadTransaction(const ReadTransaction&) = delete;
  ReadTransaction& operator=(const ReadTransaction&) = delete;
  ~ReadTransaction() { sqlite3_exec(handle_, "COMMIT", nullptr, nullptr, nullptr); }

 private:
  sqlite3* handle_;
};

std::string samples_text(const std::vector<double>& samples) {
  return fmt::format("{}", fmt::join(samples, " "));
}

std::vector<double> parse_samples(const std::string& text) {
  std::vector<double> samples;
  for (const std::string_view word : split_words(text))
    if (const auto value = parse_double(word)) samples.push_back(*value);
  return samples;
}

constexpr const char* kMetricColumns = " s.text, n.text, m.kind, u.text, m.value, t.text";
constexpr const char* kMetricTables =
    " FROM metric m JOIN word s ON s.id = m.subject JOIN word n ON n.id = m.name JOIN word u ON u.id = m.unit"
    " JOIN record r ON r.id = m.record LEFT JOIN word t ON t.id = m.text";

// SELECT of figures; samples as the seventh column.
std::string metric_question(std::int64_t version, const std::string& before, const std::string& behind) {
  return "SELECT " + before + kMetricColumns + (version > 1 ? ", m.samples" : ", NULL") + kMetricTables +
         behind;
}

model::Metric metric_at(const Statement& row, int from) {
  model::Metric metric;
  metric.subject = row.text(from);
  metric.name = row.text(from + 1);
  metric.kind = parse_kind(row.text(from + 2)).value_or(model::MetricKind::kState);
  metric.unit = row.text(from + 3);
  metric.value = row.real(from + 4);
  metric.text = row.text(from + 5);
  metric.samples = parse_samples(row.text(from + 6));
  return metric;
}

}  // namespace

Result<std::int64_t> Store::Database::number(const char* sql) const {
  Statement statement(handle, sql);
  if (!statement.step()) return failed();
  return statement.integer(0);
}

Result<std::int64_t> Store::Database::word(const std::string& text) {
  const auto known = words.find(text);
  if (known != words.end()) return known->second;
  Statement insert(handle, "INSERT OR IGNORE INTO word(text) VALUES(?1)");
  insert.bind(1, text).step();
  if (!insert.is_done()) return failed();
  Statement select(handle, "SELECT id FROM word WHERE text = ?1");
  if (!select.bind(1, text).step()) return failed();
  return words[text] = select.integer(0);
}

Result<void> Store::Database::add_metric(std::int64_t record, const model::Metric& metric) {
  const auto subject = word(metric.subject);
  const auto name = word(metric.name);
  const auto unit = word(metric.unit);
  for (const auto* word : {&subject, &name, &unit})
    if (!*word) return std::unexpected(word->error());
  Statement insert(handle,
                   "INSERT INTO metric(subject, name, record, kind, unit, value, text, samples) "
                   "VALUES(?1,?2,?3,?4,?5,?6,?7,?8)");
  insert.bind(1, *subject)
      .bind(2, *name)
      .bind(3, record)
      .bind(4, std::string(kind_word(metric.kind)))
      .bind(5, *unit);
  if (metric.kind == model::MetricKind::kState) {
    const auto text = word(metric.text);
    if (!text) return std::unexpected(text.error());
    insert.bind_null(6).bind(7, *text);
  } else {
    insert.bind(6, metric.value).bind_null(7);
  }
  if (!metric.samples.empty()) insert.bind(8, samples_text(metric.samples));
  insert.step();
  if (!insert.is_done()) return failed();
  return {};
}

Result<std::optional<std::int64_t>> Store::Database::environment(const Environment& environment) {
  if (!environment.is_known()) return std::nullopt;
  const std::string fingerprint = fingerprint_of(environment);
  Statement insert(handle, "INSERT OR IGNORE INTO environment(fingerprint, facts) VALUES(?1, ?2)");
  insert.bind(1, fingerprint).bind(2, to_text(environment_json(environment), -1)).step();
  if (!insert.is_done()) return failed();
  Statement select(handle, "SELECT id FROM environment WHERE fingerprint = ?1");
  if (!select.bind(1, fingerprint).step()) return failed();
  return select.integer(0);
}

Result<bool> Store::Database::add_record(const Record& record) {
  const auto place = environment(record.environment);
  if (!place) return std::unexpected(place.error());
  Statement insert(
      handle, "INSERT INTO record(schema, subject, captured, digest, environment) VALUES(?1,?2,?3,?4,?5)");
  insert.bind(1, record.schema).bind(2, record.subject).bind(3, record.captured).bind(4, digest_of(record));
  if (*place) insert.bind(5, **place);
  insert.step();
  if (insert.is_duplicate()) return false;
  if (!insert.is_done()) return failed();
  const std::int64_t id = sqlite3_last_insert_rowid(handle);
  for (const model::Metric& metric : record.metrics)
    if (auto added = add_metric(id, metric); !added) return std::unexpected(added.error());
  return true;
}

// Figures and environments of records that have an id.
Result<void> Store::Database::fill(std::vector<Record>& records) const {
  std::map<std::int64_t, Environment> known;
  for (Record& record : records) {
    Statement metrics(handle,
                      metric_question(form, "", " WHERE m.record = ?1 ORDER BY s.text, n.text").c_str());
    metrics.bind(1, record.id);
    while (metrics.step())
      record.metrics.push_back(metric_at(metrics, 0));
    if (!metrics.is_done()) return failed();
    if (form < 2) continue;
    Statement place(
        handle,
        "SELECT e.id, e.facts FROM record r JOIN environment e ON e.id = r.environment WHERE r.id = ?1");
    if (!place.bind(1, record.id).step()) {
      if (!place.is_done()) return failed();
      continue;
    }
    const auto [found, is_new] = known.try_emplace(place.integer(0));
    if (is_new)
      if (const auto json = parse_json(place.text(1)))
        if (auto environment = parse_environment(*json)) found->second = std::move(*environment);
    record.environment = found->second;
  }
  return {};
}

// A new file; another writer may have been faster.
Result<void> Store::Database::make_tables() const {
  Transaction transaction(handle);
  if (!transaction.begin()) return failed();
  const auto again = number("SELECT count(*) FROM sqlite_master");
  if (!again) return std::unexpected(again.error());
  if (*again == 0) {
    for (const char* tables : {kTables, kTablesOfForm2})
      if (auto made = execute(tables); !made) return made;
    const std::string marks =
        fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kVersion);
    if (auto marked = execute(marks.c_str()); !marked) return marked;
  }
  if (!transaction.commit()) return failed();
  return {};
}

// Form 1 to form 2, in one transaction; another writer may have been faster.
Result<void> Store::Database::bring_up() const {
  Transaction transaction(handle);
  if (!transaction.begin()) return failed();
  const auto again = number("PRAGMA user_version");
  if (!again) return std::unexpected(again.error());
  if (*again == 1) {
    const std::string mark = fmt::format("PRAGMA user_version = {}", kVersion);
    for (const char* step : {kForm1To2, kTablesOfForm2, mark.c_str()})
      if (auto done = execute(step); !done) return done;
  }
  if (!transaction.commit()) return failed();
  return {};
}

// Makes the tables of a new file; refuses what is not ours or from the future.
Result<void> Store::Database::prepare_file(Access access) {
  const auto application = number("PRAGMA application_id");
  const auto version = number("PRAGMA user_version");
  const auto tables = number("SELECT count(*) FROM sqlite_master");
  if (!application) return std::unexpected(application.error());
  if (!version) return std::unexpected(version.error());
  if (!tables) return std::unexpected(tables.error());
  if (*tables == 0 && *application == 0 && access == Access::kRead)
    return fail(ErrorCode::kInvalidInput, path + ": is empty, nothing was ever added",
                "angio history add FILE");
  if (*tables == 0 && *application == 0) return make_tables();
  if (*application != kApplication)
    return fail(ErrorCode::kInvalidInput, path + ": is a SQLite database of another program",
                "Is --store right?");
  if (*version > kVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: was written by a newer angio (form {}, this one knows {})", path, *version,
                            kVersion),
                "Nothing was changed. Use that angio, or another --store");
  if (*version < 1)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: is of form {}, which no release of angio wrote (this one writes {})", path,
                            *version, kVersion),
                "Nothing was changed");
  if (*version < kVersion && access == Access::kWrite) return bring_up();
  form = *version;
  return {};
}

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

namespace {

// Readable whatever a killed writer left: who may write rolls it back, who may not is told so.
constexpr bool has_to_be_rolled_back(int code) {
  return code == SQLITE_READONLY_ROLLBACK || code == SQLITE_READONLY_RECOVERY ||
         code == SQLITE_READONLY_CANTINIT;
}

}  // namespace

Result<void> Store::Database::open_as(const std::string& file, int flags) {
  sqlite3_close_v2(handle);
  handle = nullptr;
  first_trouble = SQLITE_OK;
  if (sqlite3_open_v2(file.c_str(), &handle, flags, nullptr) != SQLITE_OK) return failed();
  sqlite3_extended_result_codes(handle, 1);
  sqlite3_busy_timeout(handle, kPatience);
  // A rollback journal, not WAL: readable from a read-only disk, and one file when nobody writes.
  return execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL");
}

Result<void> Store::Database::open_for(const std::string& file, int flags, Access access) {
  if (auto opened = open_as(file, flags); !opened) return opened;
  return prepare_file(access);
}

Result<Store> Store::open(const std::string& path, Access access) {
  auto database = std::make_unique<Database>();
  database->path = printable(path);
  const bool reads = access == Access::kRead;
  auto ready = database->open_for(
      path, reads ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, access);
  if (ready) return Store(std::move(database));
  const bool interrupted = reads && has_to_be_rolled_back(database->first_trouble);
  if (interrupted && database->open_for(path, SQLITE_OPEN_READWRITE, access))
    return Store(std::move(database));
  return std::unexpected(std::move(ready.error()));
}

Result<bool> Store::add(const Record& record) {
  const auto added = add_all({record});
  if (!added) return std::unexpected(added.error());
  return *added == 1;
}

Result<std::uint32_t> Store::add_all(const std::vector<Record>& records) {
  Database& database = *database_;
  database.words.clear();  // what a transaction that was rolled back had numbered is gone
  Transaction transaction(database.handle);
  if (!transaction.begin()) return database.failed();
  std::uint32_t fresh = 0;
  for (const Record& record : records) {
    const auto added = database.add_record(record);
    if (!added) return std::unexpected(added.error());
    if (*added) ++fresh;
  }
  if (!transaction.commit()) return database.failed();
  return fresh;
}

namespace {

std::string entry_columns(std::int64_t version) {
  return std::string(
             "r.id, r.schema, r.subject, r.captured, (SELECT count(*) FROM metric m WHERE m.record = "
             "r.id), ") +
         (version > 1 ? "(SELECT e.fingerprint FROM environment e WHERE e.id = r.environment)" : "NULL");
}

Entry entry_at(const Statement& row, int from) {
  Entry entry;
  entry.id = row.integer(from);
  entry.schema = row.text(from + 1);
  entry.subject = row.text(from + 2);
  entry.captured = row.text(from + 3);
  entry.metrics = static_cast<std::uint32_t>(row.integer(from + 4));
  entry.fingerprint = row.text(from + 5);
  return entry;
}

// Of "SELECT id, schema, subject, captured".
std::vector<Record> bare_records(Statement& rows) {
  std::vector<Record> records;
  while (rows.step()) {
    Record& record = records.emplace_back();
    record.id = rows.integer(0);
    record.schema = rows.text(1);
    record.subject = rows.text(2);
    record.captured = rows.text(3);
  }
  return records;
}

}  // namespace

Result<std::vector<Entry>> Store::list() const {
  std::vector<Entry> entries;
  Statement rows(database_->handle, ("SELECT " + entry_columns(database_->form) +
                                     " FROM record r ORDER BY r.schema, r.subject, r.captured, r.id")
                                        .c_str());
  while (rows.step())
    entries.push_back(entry_at(rows, 0));
  if (!rows.is_done()) return database_->failed();
  return entries;
}

Result<std::vector<Record>> Store::records(const std::string& schema, const std::string& subject,
                                           const std::string& before, std::uint32_t newest,
                                           const std::optional<std::string>& fingerprint) const {
  if (database_->form < 2 && fingerprint && !fingerprint->empty()) return std::vector<Record>{};
  const bool by_place = database_->form > 1 && fingerprint;
  const ReadTransaction snapshot(database_->handle);
  Statement rows(
      database_->handle,
      (std::string(
           "SELECT id, schema, subject, captured FROM (SELECT id, schema, subject, captured FROM record"
           " WHERE schema = ?1 AND subject = ?2 AND (?3 = '' OR captured < ?3)") +
       (by_place ? " AND coalesce((SELECT e.fingerprint FROM environment e WHERE e.id = record.environment),"
                   " '') = ?5"
                 : "") +
       " ORDER BY captured DESC, id DESC LIMIT ?4) ORDER BY captured, id")
          .c_str());
  rows.bind(1, schema).bind(2, subject).bind(3, before).bind(4, std::int64_t{newest});
  if (by_place) rows.bind(5, *fingerprint);
  std::vector<Record> records = bare_records(rows);
  if (!rows.is_done()) return database_->failed();
  if (auto filled = database_->fill(records); !filled) return std::unexpected(filled.error());
  return records;
}

Result<Environment> Store::environment_at(const std::string& schema, const std::string& subject,
                                          const std::string& captured) const {
  Environment environment;
  if (database_->form < 2) return environment;
  Statement rows(database_->handle,
                 "SELECT e.facts FROM record r JOIN environment e ON e.id = r.environment WHERE r.schema = ?1"
                 " AND r.subject = ?2 AND r.captured = ?3 ORDER BY r.id LIMIT 1");
  if (rows.bind(1, schema).bind(2, subject).bind(3, captured).step()) {
    if (const auto json = parse_json(rows.text(0)))
      if (auto parsed = parse_environment(*json)) environment = std::move(*parsed);
    return environment;
  }
  if (!rows.is_done()) return database_->failed();
  return environment;
}

Result<std::vector<Record>> Store::all() const {
  const ReadTransaction snapshot(database_->handle);
  Statement rows(database_->handle,
                 "SELECT id, schema, subject, captured FROM record ORDER BY schema, subject, captured, id");
  std::vector<Record> records = bare_records(rows);
  if (!rows.is_done()) return database_->failed();
  if (auto filled = database_->fill(records); !filled) return std::unexpected(filled.error());
  return records;
}

Result<std::optional<Record>> Store::find(std::int64_t id) const {
  const ReadTransaction snapshot(database_->handle);
  Statement rows(database_->handle, "SELECT id, schema, subject, captured FROM record WHERE id = ?1");
  rows.bind(1, id);
  std::vector<Record> records = bare_records(rows);
  if (!rows.is_done()) return database_->failed();
  if (auto filled = database_->fill(records); !filled) return std::unexpected(filled.error());
  return records.empty() ? std::nullopt : std::optional(std::move(records.front()));
}

Result<std::optional<Record>> Store::newest(const std::string& schema, const std::string& subject) const {
  Statement rows(
      database_->handle,
      "SELECT id FROM record WHERE subject = ?1 AND (?2 = '' OR schema = ?2) ORDER BY captured DESC, id DESC"
      " LIMIT 1");
  if (rows.bind(1, subject).bind(2, schema).step()) return find(rows.integer(0));
  if (!rows.is_done()) return database_->failed();
  return std::nullopt;
}

Result<std::optional<Record>> Store::find_same(const Record& record) const {
  Statement rows(
      database_->handle,
      "SELECT id FROM record WHERE schema = ?1 AND subject = ?2 AND captured = ?3 AND digest = ?4");
  rows.bind(1, record.schema).bind(2, record.subject).bind(3, record.captured).bind(4, digest_of(record));
  if (rows.step()) return find(rows.integer(0));
  if (!rows.is_done()) return database_->failed();
  return std::nullopt;
}

Result<void> Store::set_baseline(const std::string& name, std::int64_t record) {
  Statement insert(database_->handle, "INSERT OR REPLACE INTO baseline(name, record) VALUES(?1, ?2)");
  insert.bind(1, name).bind(2, record).step();
  if (insert.is_duplicate())
    return fail(ErrorCode::kNotFound, fmt::format("{}: there is no record {}", database_->path, record),
                "angio history list --all shows their numbers");
  if (!insert.is_done()) return database_->failed();
  return {};
}

Result<bool> Store::clear_baseline(const std::string& name) {
  Statement remove(database_->handle, "DELETE FROM baseline WHERE name = ?1");
  remove.bind(1, name).step();
  if (!remove.is_done()) return database_->failed();
  return sqlite3_changes(database_->handle) > 0;
}

Result<std::vector<Baseline>> Store::baselines() const {
  std::vector<Baseline> baselines;
  if (database_->form < 2) return baselines;
  Statement rows(database_->handle, ("SELECT b.name, " + entry_columns(database_->form) +
                                     " FROM baseline b JOIN record r ON r.id = b.record ORDER BY b.name")
                                        .c_str());
  while (rows.step())
    baselines.push_back({rows.text(0), entry_at(rows, 1)});
  if (!rows.is_done()) return database_->failed();
  return baselines;
}

Result<std::vector<Series>> Store::series(Match match, const std::string& text) const {
  const char* where = match == Match::kOwner     ? " WHERE r.subject = ?1"
                      : match == Match::kSubject ? " WHERE s.text = ?1"
                                                 : " WHERE n.text = ?1";
  Statement rows(
      database_->handle,
      metric_question(database_->form, "r.schema, r.subject, r.captured, ",
                      where + std::string(" ORDER BY r.schema, r.subject, s.text, n.text, r.captured, r.id"))
          .c_str());
  rows.bind(1, text);
  std::vector<Series> all;
  while (rows.step()) {
    const model::Metric metric = metric_at(rows, 3);
    const std::string schema = rows.text(0);
    const std::string owner = rows.text(1);
    const bool same = !all.empty() && all.back().schema == schema && all.back().owner == owner &&
                      all.back().subject == metric.subject && all.back().name == metric.name;
    if (!same) all.push_back({schema, owner, metric.subject, metric.name, metric.unit, metric.kind, {}});
    all.back().samples.push_back({rows.text(2), metric.value, metric.text});
  }
  if (!rows.is_done()) return database_->failed();
  return all;
}

Result<std::vector<std::string>> Store::times(const std::string& schema, const std::string& subject) const {
  std::vector<std::string> times;
  Statement rows(database_->handle,
                 "SELECT DISTINCT captured FROM record WHERE schema = ?1 AND subject = ?2 ORDER BY captured");
  rows.bind(1, schema).bind(2, subject);
  while (rows.step())
    times.push_back(rows.text(0));
  if (!rows.is_done()) return database_->failed();
  return times;
}

Result<std::uint32_t> Store::prune(const std::string& before) {
  Transaction transaction(database_->handle);
  if (!transaction.begin()) return database_->failed();
  Statement remove(
      database_->handle,
      "DELETE FROM record WHERE captured < ?1 AND id NOT IN (SELECT id FROM (SELECT id, row_number() OVER"
      " (PARTITION BY schema, subject ORDER BY captured DESC, id DESC) AS place FROM record)"
      " WHERE place = 1) AND id NOT IN (SELECT record FROM baseline)");
  remove.bind(1, before).step();
  if (!remove.is_done()) return database_->failed();
  const auto removed = static_cast<std::uint32_t>(sqlite3_changes(database_->handle));
  if (auto words =
          database_->execute("DELETE FROM word WHERE id NOT IN (SELECT subject FROM metric UNION SELECT name "
                             "FROM metric UNION SELECT unit FROM metric UNION SELECT text FROM metric WHERE "
                             "text IS NOT NULL)");
      !words)
    return std::unexpected(words.error());
  if (auto places = database_->execute("DELETE FROM environment WHERE id NOT IN (SELECT environment FROM "
                                       "record WHERE environment IS NOT NULL)");
      !places)
    return std::unexpected(places.error());
  if (!transaction.commit()) return database_->failed();
  return removed;
}

}  // namespace angio::history
