// Vendor libraries by dlopen, never linked. Tests point search paths at stand-ins; the door is the same.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace angio::host {

class Library {
 public:
  Library() = default;
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;
  // Address of an exported symbol; null when this version lacks it.
  [[nodiscard]] virtual void* find(const char* symbol) const = 0;
  [[nodiscard]] virtual const std::string& path() const = 0;
};

class LibraryLoader {
 public:
  LibraryLoader() = default;
  LibraryLoader(const LibraryLoader&) = delete;
  LibraryLoader& operator=(const LibraryLoader&) = delete;
  virtual ~LibraryLoader() = default;
  // The first of names that loads. The error carries the loader's own words of the last one.
  [[nodiscard]] virtual Result<std::unique_ptr<Library>> open(
      const std::vector<std::string>& names) const = 0;
};

// dlopen(RTLD_LAZY | RTLD_LOCAL). With a directory, only libraries in it are found: for tests.
std::unique_ptr<LibraryLoader> make_library_loader(std::string directory = {});

}  // namespace angio::host
