#include "host/libraries.hpp"

#include <dlfcn.h>

namespace angio::host {
namespace {

class DlLibrary final : public Library {
 public:
  DlLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  ~DlLibrary() override { dlclose(handle_); }
  [[nodiscard]] void* find(const char* symbol) const override { return dlsym(handle_, symbol); }
  [[nodiscard]] const std::string& path() const override { return path_; }

 private:
  void* handle_;
  std::string path_;
};

class DlLoader final : public LibraryLoader {
 public:
  explicit DlLoader(std::string directory) : directory_(std::move(directory)) {}

  [[nodiscard]] Result<std::unique_ptr<Library>> open(const std::vector<std::string>& names) const override {
    std::string words = "no name given";
    for (const std::string& name : names) {
      const std::string path = directory_.empty() ? name : directory_ + "/" + name;
      if (void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL)) {
        return std::make_unique<DlLibrary>(handle, path);
      }
      const char* why = dlerror();
      words = why != nullptr ? why : "unknown loader error";
    }
    return fail(ErrorCode::kNotFound, words);
  }

 private:
  std::string directory_;
};

}  // namespace

std::unique_ptr<LibraryLoader> make_library_loader(std::string directory) {
  return std::make_unique<DlLoader>(std::move(directory));
}

}  // namespace angio::host
