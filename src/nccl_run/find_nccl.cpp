#include "nccl_run/find_nccl.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>

#include "base/text.hpp"
#include "host/descriptor.hpp"
#include "nccl_run/candidates.hpp"
#include "nccl_run/elf.hpp"
#include "nccl_run/working_folder.hpp"

namespace angio::nccl_run {
namespace {

bool read_fully(int fd, std::uint64_t offset, std::span<char> to) {
  while (!to.empty()) {
    const ssize_t count = pread(fd, to.data(), to.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    offset += static_cast<std::uint64_t>(count);
    to = to.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

std::unexpected<Error> cannot_open(const std::string& path, int error) {
  const bool missing = error == ENOENT || error == ENOTDIR;
  const bool denied = error == EACCES || error == EPERM;
  const ErrorCode code = missing ? ErrorCode::kNotFound : denied ? ErrorCode::kDenied : ErrorCode::kIo;
  return fail(code, fmt::format("{}: {}", printable(path), errno_text(error)));
}

Result<ElfFacts> read_file(const std::string& path) {
  // O_NONBLOCK: a FIFO of this name must not hang.
  const host::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status{};
  if (file.get() < 0 || fstat(file.get(), &status) != 0) return cannot_open(path, errno);
  if (!S_ISREG(status.st_mode))
    return fail(ErrorCode::kInvalidInput, fmt::format("{}: not a file", printable(path)));
  const ElfSource source{
      static_cast<std::uint64_t>(status.st_size),
      [&file](std::uint64_t offset, std::span<char> to) { return read_fully(file.get(), offset, to); }};
  Result<ElfFacts> facts = read_elf(source);
  if (!facts) return std::unexpected(Error(facts.error()).with_context(printable(path)));
  return facts;
}

// 13 of "libcudart.so.13"; 0 when the library needs none.
std::uint32_t needed_runtime(const ElfFacts& facts) {
  constexpr std::string_view kName = "libcudart.so.";
  for (const std::string& name : facts.needed) {
    if (!name.starts_with(kName)) continue;
    const std::string_view number = std::string_view(name).substr(kName.size());
    return parse_integer<std::uint32_t>(number.substr(0, number.find('.'))).value_or(0);
  }
  return 0;
}

std::string looked_at(const std::vector<std::string>& places) {
  return fmt::format("Looked in this order: {}. Name one: --nccl FILE, a folder, or pid:N",
                     join(places, ", "));
}

}  // namespace

Result<NcclLibrary> inspect_nccl(const std::string& path) {
  const Result<ElfFacts> facts = read_file(path);
  if (!facts) return std::unexpected(facts.error());
  const std::string shown = printable(path);
  if (facts->machine != own_machine()) {
    return fail(ErrorCode::kUnsupported,
                fmt::format("{}: built for {}, this machine is {}", shown, facts->machine, own_machine()));
  }
  if (!facts->is_nccl) {
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{}: no libnccl: it does not export ncclCommInitRank", shown));
  }
  NcclLibrary library;
  library.path = path;
  library.version = facts->version;
  library.machine = facts->machine;
  library.cuda_major = needed_runtime(*facts);
  if (library.cuda_major != 0) {
    library.runtime = Runtime::kDynamic;
    return library;
  }
  library.cuda_major = cuda_major_of(facts->version);
  library.runtime = facts->runtime_inside ? Runtime::kInside : Runtime::kStripped;
  return library;
}

Result<NcclLibrary> find_nccl(const host::Root& root, std::string_view what,
                              std::span<const std::string> environment) {
  std::vector<Candidate> candidates;
  if (what.empty()) {
    Candidates searched = search_nccl(root, environment);
    if (searched.found.empty())
      return fail(ErrorCode::kNotFound, "no libnccl.so.2 found", looked_at(searched.looked));
    candidates = std::move(searched.found);
  } else {
    const std::string place = what.starts_with("pid:") ? std::string(what) : path_from_here(what);
    Result<Candidate> named = named_nccl(root, place);
    if (!named) {
      Error error = named.error();
      if (error.message.starts_with(place)) error.message.replace(0, place.size(), printable(what));
      return std::unexpected(std::move(error));
    }
    candidates.push_back(std::move(*named));
  }
  // The first that can be read counts: a broken link in one place must not hide the library in the next.
  Error first;
  for (const Candidate& candidate : candidates) {
    Result<NcclLibrary> library = inspect_nccl(candidate.path);
    if (library) {
      library->origin = candidate.origin;
      return library;
    }
    if (first.message.empty()) first = library.error();
  }
  return std::unexpected(first);
}

}  // namespace angio::nccl_run
