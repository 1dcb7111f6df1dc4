// The store of kept results: one SQLite file. Each call is one transaction: two writers wait for each other,
// and what was interrupted leaves the store as it was. What is wrong with a file (damaged, of another
// program, of a newer version, locked, read-only) is told, and nothing in it is changed then.
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
  std::string schema;
  std::string subject;
  std::string captured;
  std::uint32_t metrics = 0;
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
  Result<std::vector<Entry>> list() const;  // by schema, subject and time
  // Every record of one subject, oldest first; before: only earlier ones; at most newest of them.
  Result<std::vector<Record>> records(const std::string& schema, const std::string& subject,
                                      const std::string& before, std::uint32_t newest) const;
  // Figures of the results about `text`, of the thing `text`, or with the name `text`.
  Result<std::vector<Series>> series(Match match, const std::string& text) const;
  // Times of all results of a schema and subject, oldest first: a figure that is missing in one was zero.
  Result<std::vector<std::string>> times(const std::string& schema, const std::string& subject) const;
  // Removes what was captured before this moment, but never the newest of a subject. How many.
  Result<std::uint32_t> prune(const std::string& before);

 private:
  struct Database;
  explicit Store(std::unique_ptr<Database> database);
  std::unique_ptr<Database> database_;
};

}  // namespace angio::history
