#include "nccl_run/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.hpp"
#include "host/system_roots.hpp"

namespace angio::nccl_run {
namespace {

constexpr std::string_view kLibrary = "libnccl.so.2";
constexpr std::array<std::string_view, 2> kLibraryNames{kLibrary, "libnccl.so"};
constexpr std::string_view kEnvironment = "python environment ";
constexpr std::array<std::string_view, 5> kLinkerFolders{
    "/usr/lib/x86_64-linux-gnu", "/usr/lib/aarch64-linux-gnu", "/usr/lib64", "/usr/lib", "/usr/local/lib"};

class Search {
 public:
  explicit Search(const host::Root& root) : root_(root) {}

  // The library in this folder itself.
  void library_in(const std::string& folder, const std::string& origin) {
    for (const std::string_view name : kLibraryNames) {
      const std::string path = fmt::format("{}/{}", folder, name);
      if (!root_.exists(path)) continue;
      result_.found.push_back({path, origin});
      return;
    }
  }

  // site-packages: the wheel of NVIDIA, then what PyTorch brings along.
  void packages(const std::string& folder, const std::string& origin) {
    library_in(folder + "/nvidia/nccl/lib", origin);
    library_in(folder + "/torch/lib", origin);
  }

  // lib/python3.11/site-packages below a prefix.
  void python_below(const std::string& prefix, const std::string& origin) {
    for (const char* lib : {"/lib", "/lib64"}) {
      const host::Read<host::Names> names = root_.list(prefix + lib);
      if (!names) continue;
      for (const std::string& name : *names) {
        if (!name.starts_with("python3")) continue;
        packages(prefix + lib + "/" + name + "/site-packages", origin);
        packages(prefix + lib + "/" + name + "/dist-packages", origin);
      }
    }
  }

  // An environment, a site-packages folder or a folder of libraries.
  void folder(const std::string& path, const std::string& origin) {
    library_in(path, origin);
    for (const char* below :
         {"/lib", "/lib64", "/nccl/lib", "/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu"})
      library_in(path + below, origin);
    packages(path, origin);
    python_below(path, origin);
  }

  void looked(std::string place) { result_.looked.push_back(std::move(place)); }
  [[nodiscard]] Candidates take() { return std::move(result_); }

 private:
  const host::Root& root_;
  Candidates result_;
};

std::string without_slashes(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/'))
    path.remove_suffix(1);
  return std::string(path);
}

void search_environments(Search& search, std::span<const std::string> environment) {
  for (const char* name : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const std::string prefix = without_slashes(host::find_variable(environment, name));
    if (prefix.empty()) {
      search.looked(std::string(name) + " (not set)");
      continue;
    }
    search.python_below(prefix, std::string(kEnvironment) + prefix);
    search.library_in(prefix + "/lib", std::string(kEnvironment) + prefix);
    search.looked(prefix);
  }
  const std::string list = host::find_variable(environment, "LD_LIBRARY_PATH");
  search.looked(list.empty() ? "LD_LIBRARY_PATH (not set)" : "LD_LIBRARY_PATH");
  for (const std::string_view folder : split(list, ':')) {
    if (!folder.empty()) search.library_in(without_slashes(folder), "LD_LIBRARY_PATH");
  }
}

void search_python(Search& search, std::span<const std::string> environment) {
  const std::string home = without_slashes(host::find_variable(environment, "HOME"));
  if (!home.empty()) search.python_below(home + "/.local", "python packages of " + home + "/.local");
  for (const char* prefix : {"/usr/local", "/usr"})
    search.python_below(prefix, std::string("python packages of ") + prefix);
  search.looked("site-packages of the user and the system");
}

void search_linker(const host::Root& root, Search& search) {
  const host::Read<std::string> cache = root.read("/etc/ld.so.cache");
  const std::string path = cache ? find_in_cache(*cache, kLibrary) : std::string();
  const std::size_t slash = path.rfind('/');
  if (slash != path.npos) search.library_in(path.substr(0, slash), "ld.so.cache");
  for (const std::string_view folder : kLinkerFolders)
    search.library_in(std::string(folder), "the linker's folders");
  search.looked("the linker's cache and folders");
}

// The path at the end of a line of maps; its first five columns have no blanks of their own.
std::string_view mapped_path(std::string_view line) {
  const std::size_t slash = line.find(" /");
  return slash == line.npos ? std::string_view() : line.substr(slash + 1);
}

bool is_library_name(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return name.starts_with("libnccl.so");
}

std::string mapped_library(std::string_view maps) {
  for (const std::string_view line : split_lines(maps)) {
    const std::string_view path = mapped_path(line);
    if (!path.empty() && is_library_name(path)) return std::string(path);
  }
  return {};
}

// Another mount namespace, a container: its paths are not ours.
bool lives_elsewhere(const host::Root& root, const std::string& process) {
  const host::Read<std::string> theirs = root.read_link(process + "/ns/mnt");
  const host::Read<std::string> ours = root.read_link("/proc/self/ns/mnt");
  return theirs && ours && *theirs != *ours;
}

Result<Candidate> of_process(const host::Root& root, std::string_view number) {
  if (!parse_integer<std::uint32_t>(number))
    return fail(ErrorCode::kInvalidInput, fmt::format("\"pid:{}\" names no process", printable(number)),
                "Write pid: and its number");
  const std::string process = fmt::format("/proc/{}", number);
  const host::Read<std::string> maps = root.read(process + "/maps");
  if (!maps && maps.error().error == ENOENT)
    return fail(ErrorCode::kNotFound, fmt::format("there is no process {}", number));
  if (!maps)
    return fail(ErrorCode::kDenied, fmt::format("{}/maps: {}", process, errno_text(maps.error().error)),
                "Run as the user of that process");
  const std::string path = mapped_library(*maps);
  if (path.empty())
    return fail(ErrorCode::kNotFound, fmt::format("process {} has no libnccl loaded", number),
                "It may be linked into another library of that program; name a libnccl.so.2");
  if (path.ends_with(" (deleted)"))
    return fail(ErrorCode::kNotFound,
                fmt::format("process {} runs {}, which was replaced or removed since", number,
                            printable(path.substr(0, path.size() - std::string_view(" (deleted)").size()))),
                "Name the library itself");
  const std::string origin = fmt::format("process {}", number);
  return Candidate{lives_elsewhere(root, process) ? process + "/root" + path : path, origin};
}

// Words of a 64-bit entry of the cache; sizes are those of glibc's dl-cache.h (struct file_entry_new).
constexpr std::string_view kCacheMagic = "glibc-ld.so.cache1.1";
constexpr std::size_t kCacheHeader = 48;
constexpr std::size_t kCacheEntry = 24;
constexpr std::uint32_t kFlag64 = 0x0300;   // FLAG_X8664_LIB64
constexpr std::uint32_t kFlagArm = 0x0a00;  // FLAG_AARCH64_LIB64
constexpr std::uint32_t kFlagMask = 0xff00;

std::uint32_t word_at(std::string_view bytes, std::size_t at) {
  std::uint32_t value = 0;
  for (std::size_t i = 4; i-- > 0;)
    value = value << 8U | static_cast<unsigned char>(bytes[at + i]);
  return value;
}

std::string_view text_at(std::string_view bytes, std::size_t at) {
  if (at >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(at);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

std::string find_in_cache(std::string_view cache, std::string_view library) {
  // An old cache may stand before the new one, which then begins at a multiple of eight.
  const std::size_t begin = cache.find(kCacheMagic);
  if (begin == cache.npos || cache.size() - begin < kCacheHeader) return {};
  const std::string_view own = cache.substr(begin);
  const std::size_t count =
      std::min<std::size_t>(word_at(own, kCacheMagic.size()), (own.size() - kCacheHeader) / kCacheEntry);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = kCacheHeader + i * kCacheEntry;
    const std::uint32_t kind = word_at(own, at) & kFlagMask;
    if (kind != kFlag64 && kind != kFlagArm) continue;
    const std::size_t name = word_at(own, at + 4);
    const bool equal = name < own.size() && own.substr(name).starts_with(library) &&
                       own.substr(name + library.size()).starts_with('\0');
    if (equal) return std::string(text_at(own, word_at(own, at + 8)));
  }
  return {};
}

Candidates search_nccl(const host::Root& root, std::span<const std::string> environment) {
  Search search(root);
  search_environments(search, environment);
  search_python(search, environment);
  search_linker(root, search);
  return search.take();
}

Result<Candidate> named_nccl(const host::Root& root, std::string_view what) {
  constexpr std::string_view kProcess = "pid:";
  if (what.starts_with(kProcess)) return of_process(root, what.substr(kProcess.size()));
  const std::string path = without_slashes(what);
  if (!root.list(path)) {
    if (root.exists(path)) return Candidate{path, "--nccl"};
    return fail(
        ErrorCode::kNotFound, fmt::format("{}: no such file or folder", printable(path)),
        "Name a libnccl.so.2, a folder that holds one (a Python environment, site-packages), or pid:N");
  }
  Search search(root);
  search.folder(path, "--nccl");
  const Candidates found = search.take();
  if (!found.found.empty()) return found.found.front();
  return fail(ErrorCode::kNotFound, fmt::format("{}: no libnccl.so.2 in this folder", printable(path)),
              "Looked into it, lib, lib64, nvidia/nccl/lib, torch/lib, and site-packages below them");
}

}  // namespace angio::nccl_run
