// The ledger of a campaign on disk: each line is written whole and synced before the next run begins, and one
// process at a time holds it. What the lines say: experiment/tune_ledger.hpp.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "base/error.hpp"

namespace angio::app {

class LedgerFile {
 public:
  // A new file; one that is there is an error.
  static Result<LedgerFile> create(const std::string& path);
  // Goes on behind its first `whole` bytes; what stood behind is cut away. `size`: of what was read of it; a
  // ledger that another process wrote to since is an error.
  static Result<LedgerFile> go_on(const std::string& path, std::size_t whole, std::size_t size);
  LedgerFile(LedgerFile&& other) noexcept;
  LedgerFile& operator=(LedgerFile&& other) noexcept;
  ~LedgerFile();

  Result<void> append(std::string_view line);
  // Of a ledger that has nothing in it.
  void remove() const;

 private:
  LedgerFile(std::string path, int fd);
  Result<void> lock() const;
  std::string path_;
  int fd_;
};

}  // namespace angio::app
