#include "cudart/kernel_names.hpp"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdlib>
#include <map>
#include <mutex>

#include "cudart/elf_file.hpp"

namespace angio::phantom {
namespace {

struct Names {
  std::mutex mutex;
  std::map<const void*, std::string> all;
};
Names& names() {
  static Names& all = *new Names;
  return all;
}

std::string demangled(const std::string& mangled) {
  int status = 0;
  char* const text = abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status);
  std::string name = text == nullptr ? mangled : text;
  std::free(text);
  // A kernel is no member and no template here: what follows the first bracket are its arguments.
  return name.substr(0, name.find('('));
}

std::string look_up(const void* symbol) {
  Dl_info info{};
  if (dladdr(symbol, &info) == 0 || info.dli_fname == nullptr) {
    return "?";
  }
  if (info.dli_saddr == symbol && info.dli_sname != nullptr) {
    return demangled(info.dli_sname);
  }
  const ElfFile file(info.dli_fname);
  const auto offset =
      reinterpret_cast<std::uintptr_t>(symbol) - reinterpret_cast<std::uintptr_t>(info.dli_fbase);
  const std::string_view name = file.function_at(file.first_address() + offset);
  return name.empty() ? "?" : demangled(std::string(name));
}

}  // namespace

void register_kernel(const void* symbol, const char* name) {
  Names& all = names();
  const std::lock_guard lock(all.mutex);
  all.all[symbol] = demangled(name);
}

const std::string& kernel_name(const void* symbol) {
  Names& all = names();
  const std::lock_guard lock(all.mutex);
  const auto found = all.all.find(symbol);
  return found != all.all.end() ? found->second : all.all.emplace(symbol, look_up(symbol)).first->second;
}

}  // namespace angio::phantom
