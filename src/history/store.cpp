#include "history/store.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <deque>
#include <map>
#include <utility>

#include "base/text.hpp"

namespace angio::history {

namespace {

constexpr int kApplication = 0x416e6748;  // "AngH": whose file it is
constexpr int kVersion = 1;               // of the tables below
constexpr int kPatience = 5000;           // ms for another writer

constexpr const char* kTables = R"(
CREATE TABLE record(
  id INTEGER PRIMARY KEY,
  schema TEXT NOT NULL,
  subject TEXT NOT NULL,
  captured TEXT NOT NULL,
  digest TEXT NOT NULL,
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
  PRIMARY KEY(subject, name, record)) WITHOUT ROWID;
CREATE INDEX metric_by_name ON metric(name);
CREATE INDEX metric_by_record ON metric(record);
)";

Error error_of(const std::string& path, int code, const std::string& words) {
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

  Database() = default;
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() { sqlite3_close_v2(handle); }

  [[nodiscard]] std::unexpected<Error> failed() const {
    return std::unexpected(error_of(path, sqlite3_extended_errcode(handle), sqlite3_errmsg(handle)));
  }
  [[nodiscard]] Result<void> execute(const char* sql) const {
    if (sqlite3_exec(handle, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return failed();
    return {};
  }
  [[nodiscard]] Result<std::int64_t> number(const char* sql) const;
  Result<std::int64_t> word(const std::string& text);
  Result<void> add_metric(std::int64_t record, const model::Metric& metric);
  Result<void> prepare_file(Access access);
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

constexpr const char* kMetricColumns =
    " s.text, n.text, m.kind, u.text, m.value, t.text"
    " FROM metric m JOIN word s ON s.id = m.subject JOIN word n ON n.id = m.name JOIN word u ON u.id = m.unit"
    " JOIN record r ON r.id = m.record LEFT JOIN word t ON t.id = m.text";

model::Metric metric_at(const Statement& row, int from) {
  model::Metric metric;
  metric.subject = row.text(from);
  metric.name = row.text(from + 1);
  metric.kind = parse_kind(row.text(from + 2)).value_or(model::MetricKind::kState);
  metric.unit = row.text(from + 3);
  metric.value = row.real(from + 4);
  metric.text = row.text(from + 5);
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
  Statement insert(
      handle,
      "INSERT INTO metric(subject, name, record, kind, unit, value, text) VALUES(?1,?2,?3,?4,?5,?6,?7)");
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
  insert.step();
  if (!insert.is_done()) return failed();
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
  if (*tables == 0 && *application == 0) {
    Transaction transaction(handle);
    if (!transaction.begin()) return failed();
    // Another writer may have been faster.
    const auto again = number("SELECT count(*) FROM sqlite_master");
    if (!again) return std::unexpected(again.error());
    if (*again == 0) {
      if (auto made = execute(kTables); !made) return made;
      const std::string marks =
          fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplication, kVersion);
      if (auto marked = execute(marks.c_str()); !marked) return marked;
    }
    if (!transaction.commit()) return failed();
    return {};
  }
  if (*application != kApplication)
    return fail(ErrorCode::kInvalidInput, path + ": is a SQLite database of another program",
                "Is --store right?");
  if (*version > kVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: was written by a newer angio (form {}, this one knows {})", path, *version,
                            kVersion),
                "Nothing was changed. Use that angio, or another --store");
  if (*version < kVersion)
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: is of form {}, which no release of angio wrote (this one writes {})", path,
                            *version, kVersion),
                "Nothing was changed");
  return {};
}

Store::Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}
Store::Store(Store&&) noexcept = default;
Store& Store::operator=(Store&&) noexcept = default;
Store::~Store() = default;

Result<Store> Store::open(const std::string& path, Access access) {
  auto database = std::make_unique<Database>();
  database->path = printable(path);
  const int flags =
      access == Access::kRead ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
  if (sqlite3_open_v2(path.c_str(), &database->handle, flags, nullptr) != SQLITE_OK)
    return database->failed();
  sqlite3_extended_result_codes(database->handle, 1);
  sqlite3_busy_timeout(database->handle, kPatience);
  // A rollback journal, not WAL: readable from a read-only disk, and one file when nobody writes.
  if (auto set = database->execute("PRAGMA foreign_keys = ON; PRAGMA synchronous = FULL"); !set)
    return std::unexpected(set.error());
  if (auto ready = database->prepare_file(access); !ready) return std::unexpected(ready.error());
  return Store(std::move(database));
}

Result<bool> Store::add(const Record& record) {
  Database& database = *database_;
  database.words.clear();  // what a transaction that was rolled back had numbered is gone
  Transaction transaction(database.handle);
  if (!transaction.begin()) return database.failed();
  Statement insert(database.handle,
                   "INSERT INTO record(schema, subject, captured, digest) VALUES(?1,?2,?3,?4)");
  insert.bind(1, record.schema)
      .bind(2, record.subject)
      .bind(3, record.captured)
      .bind(4, digest_of(record))
      .step();
  if (insert.is_duplicate()) return false;
  if (!insert.is_done()) return database.failed();
  const std::int64_t id = sqlite3_last_insert_rowid(database.handle);
  for (const model::Metric& metric : record.metrics)
    if (auto added = database.add_metric(id, metric); !added) return std::unexpected(added.error());
  if (!transaction.commit()) return database.failed();
  return true;
}

Result<std::vector<Entry>> Store::list() const {
  std::vector<Entry> entries;
  Statement rows(
      database_->handle,
      "SELECT r.schema, r.subject, r.captured, (SELECT count(*) FROM metric m WHERE m.record = r.id)"
      " FROM record r ORDER BY r.schema, r.subject, r.captured, r.id");
  while (rows.step())
    entries.push_back(
        {rows.text(0), rows.text(1), rows.text(2), static_cast<std::uint32_t>(rows.integer(3))});
  if (!rows.is_done()) return database_->failed();
  return entries;
}

Result<std::vector<Record>> Store::records(const std::string& schema, const std::string& subject,
                                           const std::string& before, std::uint32_t newest) const {
  std::vector<Record> records;
  Statement rows(
      database_->handle,
      "SELECT id, captured FROM (SELECT id, captured FROM record WHERE schema = ?1 AND subject = ?2"
      " AND (?3 = '' OR captured < ?3) ORDER BY captured DESC, id DESC LIMIT ?4) ORDER BY captured, id");
  rows.bind(1, schema).bind(2, subject).bind(3, before).bind(4, std::int64_t{newest});
  while (rows.step()) {
    Record& record = records.emplace_back();
    record.id = rows.integer(0);
    record.schema = schema;
    record.subject = subject;
    record.captured = rows.text(1);
  }
  if (!rows.is_done()) return database_->failed();
  for (Record& record : records) {
    Statement metrics(
        database_->handle,
        (std::string("SELECT") + kMetricColumns + " WHERE m.record = ?1 ORDER BY s.text, n.text").c_str());
    metrics.bind(1, record.id);
    while (metrics.step())
      record.metrics.push_back(metric_at(metrics, 0));
    if (!metrics.is_done()) return database_->failed();
  }
  return records;
}

Result<std::vector<Series>> Store::series(Match match, const std::string& text) const {
  const char* where = match == Match::kOwner     ? " WHERE r.subject = ?1"
                      : match == Match::kSubject ? " WHERE s.text = ?1"
                                                 : " WHERE n.text = ?1";
  Statement rows(database_->handle,
                 (std::string("SELECT r.schema, r.subject, r.captured,") + kMetricColumns + where +
                  " ORDER BY r.schema, r.subject, s.text, n.text, r.captured, r.id")
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
      " WHERE place = 1)");
  remove.bind(1, before).step();
  if (!remove.is_done()) return database_->failed();
  const auto removed = static_cast<std::uint32_t>(sqlite3_changes(database_->handle));
  if (auto words =
          database_->execute("DELETE FROM word WHERE id NOT IN (SELECT subject FROM metric UNION SELECT name "
                             "FROM metric UNION SELECT unit FROM metric UNION SELECT text FROM metric WHERE "
                             "text IS NOT NULL)");
      !words)
    return std::unexpected(words.error());
  if (!transaction.commit()) return database_->failed();
  return removed;
}

}  // namespace angio::history
