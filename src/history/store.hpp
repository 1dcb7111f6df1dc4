// The store of kept results: one SQLite file. Each call is one transaction: writers wait for each other, a
// reader sees whole records only, and what was interrupted leaves the store as it was. Form 2; whoever writes
// brings a file of form 1 up to it, who only reads does without. What is wrong with a file (damaged, of
// another program, of a newer version, locked, read-only) is told, and nothing in it is changed then.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "history/record.hpp"

namespace angio::history {

enum class Access : std::uint8_t { kRead, kWrite };  // kWrite makes the file if it is not there

struct Entry {
  std::int64_t id = 0;
  std::string schema;
  std::string subject;
  std::string captured;
  std::uint32_t metrics = 0;
  std::string fingerprint;  // of the environment; empty: not known
};

// A record that others are held against, by name.
struct Baseline {
  std::string name;
  Entry entry;
};

// One figure over time.
struct Sample {
  std::string captured;
  double value = 0;
  std::string text;  // of a state
};
struct Series {
  std::string schema;  // of the results it was in
  std::string owner;   // their subject
  std::string subject;
  std::string name;
  std::string unit;
  model::MetricKind kind = model::MetricKind::kHigherIsBetter;
  std::vector<Sample> samples;  // oldest first
};

enum class Match : std::uint8_t { kOwner, kSubject, kName };

class Store {
 public:
  static Result<Store> open(const std::string& path, Access access);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  // False: exactly this result is already kept.
  Result<bool> add(const Record& record);
  // All or none of them. How many were new.
  Result<std::uint32_t> add_all(const std::vector<Record>& records);
  Result<std::vector<Entry>> list() const;  // by schema, subject and time
  // Every record of one subject, oldest first; before: only earlier ones; at most newest of them;
  // fingerprint: only of this environment, an empty one is that of records that do not say.
  Result<std::vector<Record>> records(const std::string& schema, const std::string& subject,
                                      const std::string& before, std::uint32_t newest,
                                      const std::optional<std::string>& fingerprint = {}) const;
  // Where the record of this time was measured; not known where it does not say.
  Result<Environment> environment_at(const std::string& schema, const std::string& subject,
                                     const std::string& captured) const;
  // Every record there is, by schema, subject and time.
  Result<std::vector<Record>> all() const;
  Result<std::optional<Record>> find(std::int64_t id) const;
  // The newest of a subject, whatever its schema if that is empty.
  Result<std::optional<Record>> newest(const std::string& schema, const std::string& subject) const;
  Result<std::optional<Record>> find_same(const Record& record) const;  // by its digest

  Result<void> set_baseline(const std::string& name, std::int64_t record);
  Result<bool> clear_baseline(const std::string& name);  // false: there was none
  Result<std::vector<Baseline>> baselines() const;       // by name

  // Figures of the results about `text`, of the thing `text`, or with the name `text`.
  Result<std::vector<Series>> series(Match match, const std::string& text) const;
  // Times of all results of a schema and subject, oldest first: a figure that is missing in one was zero.
  Result<std::vector<std::string>> times(const std::string& schema, const std::string& subject) const;
  // Removes what was captured before this moment, but neither the newest of a subject nor a baseline. How
  // many.
  Result<std::uint32_t> prune(const std::string& before);

 private:
  struct Database;
  explicit Store(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace angio::history
