#include "probe/nvml/nvml_root.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <optional>
#include <set>

#include "base/text.hpp"
#include "probe/bounded_calls.hpp"
#include "probe/nvml/nvml_leaves.hpp"

namespace angio::probe {
namespace {

constexpr std::string_view kLibrary = "libnvidia-ml.so.1";
constexpr std::size_t kMostSilent = 3;  // so many GPUs gave no answer: it is the driver, stop asking

// Whom a silence is blamed on: "/gpu/3" for "/gpu/3/name"; for "/gpu/0/p2p/3" the peer, as GPU 0 has answered
// other questions by then; "/", the library, for everything else.
std::string subject_of(std::string_view path) {
  constexpr std::string_view kGpu = "/gpu/";
  constexpr std::string_view kPeer = "/p2p/";
  if (!path.starts_with(kGpu)) return "/";
  const std::size_t peer = path.find(kPeer);
  if (peer != std::string_view::npos) return std::string(kGpu).append(path.substr(peer + kPeer.size()));
  return std::string(path.substr(0, path.find('/', kGpu.size())));
}

class NvmlRoot final : public host::Root {
 public:
  NvmlRoot(const host::LibraryLoader& loader, std::chrono::milliseconds patience) : bounded_(patience) {
    Result<std::unique_ptr<host::Library>> library = loader.open({std::string(kLibrary)});
    if (library) {
      calls_ = std::make_shared<nvml::Calls>(std::move(*library));
    } else {
      // The loader says "…: cannot open shared object file: No such file…" of the library itself, or of one
      // it needs, or that it is no library at all: only the first means there is no NVML.
      const std::string_view words = library.error().message;
      const bool itself = contains(words.substr(0, words.find(':')), kLibrary);
      const bool none = itself && contains(words, "No such file");
      missing_ = {none ? ENOENT : ELIBBAD, std::string(words)};
    }
  }

  [[nodiscard]] host::Read<std::string> read(std::string_view path) const override {
    if (path == "/init") return init();
    return ask<std::string>(
        path, [file = std::string(path)](nvml::Calls& calls) { return nvml::read_leaf(calls, file); });
  }

  [[nodiscard]] host::Read<host::Names> list(std::string_view path) const override {
    return ask<host::Names>(
        path, [file = std::string(path)](nvml::Calls& calls) { return nvml::list_directory(calls, file); });
  }

  [[nodiscard]] host::Read<std::string> read_link(std::string_view) const override {
    return std::unexpected(host::ReadError{EINVAL, {}});
  }

  [[nodiscard]] bool exists(std::string_view path) const override {
    const host::Read<host::Names> names = list(path);
    if (names || names.error().error != ENOENT) return calls_ != nullptr;
    const host::Read<std::string> content = read(path);
    return content || content.error().error != ENOENT;
  }

  [[nodiscard]] bool is_live() const override { return true; }

 private:
  // Alone and first: nothing else may run in the library until it has answered.
  [[nodiscard]] const host::Read<std::string>& init() const {
    if (!init_) {
      init_ =
          bounded<std::string>("/", [](nvml::Calls& calls) { return host::Read<std::string>(calls.init()); });
    }
    return *init_;
  }

  template <typename T, typename Question>
  [[nodiscard]] host::Read<T> ask(std::string_view path, Question question) const {
    const host::Read<std::string>& state = init();
    if (!state) return std::unexpected(state.error());
    if (*state != "0") return std::unexpected(host::ReadError{EIO, *state});
    return bounded<T>(subject_of(path), question);
  }

  template <typename T, typename Question>
  [[nodiscard]] host::Read<T> bounded(const std::string& subject, Question question) const {
    if (calls_ == nullptr) return std::unexpected(missing_);
    if (silent_.contains(subject)) return std::unexpected(no_answer(subject));
    if (silent_.contains("/") || silent_.size() >= kMostSilent) return std::unexpected(no_answer("/"));
    auto answer = std::make_shared<host::Read<T>>();
    const bool done = bounded_.run([answer, calls = calls_, question] { *answer = question(*calls); });
    if (done) return std::move(*answer);
    silent_.insert(subject);
    return std::unexpected(no_answer(subject));
  }

  [[nodiscard]] host::ReadError no_answer(const std::string& subject) const {
    const std::string who =
        subject == "/" ? "NVML" : "GPU " + subject.substr(std::string_view("/gpu/").size());
    return {ETIMEDOUT, fmt::format("{} gave no answer within {} ms", who, bounded_.patience().count())};
  }

  std::shared_ptr<nvml::Calls> calls_;  // shared with a call that never came back
  host::ReadError missing_;
  mutable BoundedCalls bounded_;
  mutable std::optional<host::Read<std::string>> init_;
  mutable std::set<std::string> silent_;
};

}  // namespace

std::unique_ptr<host::Root> make_nvml_root(const host::LibraryLoader& loader,
                                           std::chrono::milliseconds patience) {
  return std::make_unique<NvmlRoot>(loader, patience);
}

}  // namespace angio::probe
