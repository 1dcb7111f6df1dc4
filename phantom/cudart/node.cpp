#include "cudart/node.hpp"

#include <strings.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <set>
#include <string_view>

#include "export.hpp"
#include "hardware_file.hpp"

namespace angio::phantom {
namespace {

thread_local int t_device = 0;
thread_local cuda::Error t_error = cuda::kSuccess;

void say(std::string text) {
  text = "angio phantom CUDA: " + text + "\n";
  // Nothing can be done about a stderr that is gone.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
}

bool same_text(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// The GPU that one word of CUDA_VISIBLE_DEVICES means: an index, or a UUID or its beginning. -1: none.
int find_visible(const Node& node, std::string_view word) {
  if (word.starts_with("GPU-")) {
    int found = -1;
    for (std::size_t index = 0; index < node.hardware.gpus.size(); ++index) {
      const std::string uuid = gpu_uuid_text(node.host, node.hardware.gpus[index].bus);
      if (uuid.size() >= word.size() && same_text(std::string_view(uuid).substr(0, word.size()), word)) {
        if (found >= 0) {
          return -1;  // CUDA takes an ambiguous beginning for an invalid one.
        }
        found = static_cast<int>(index);
      }
    }
    return found;
  }
  int index = -1;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  const bool whole = error == std::errc{} && end == word.data() + word.size();
  return whole && index >= 0 && index < static_cast<int>(node.hardware.gpus.size()) ? index : -1;
}

// CUDA C++ Programming Guide, CUDA environment variables: only the devices before the first invalid word are
// visible; a device that is named twice makes none visible.
std::vector<unsigned> find_visible_all(const Node& node, const char* words) {
  std::vector<unsigned> visible;
  std::set<int> seen;
  std::string_view rest = words;
  while (true) {
    const std::size_t end = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, end);
    while (word.starts_with(' ')) {
      word.remove_prefix(1);
    }
    while (word.ends_with(' ')) {
      word.remove_suffix(1);
    }
    const int index = find_visible(node, word);
    if (index < 0) {
      return visible;
    }
    if (!seen.insert(index).second) {
      return {};
    }
    visible.push_back(static_cast<unsigned>(index));
    if (end == rest.size()) {
      return visible;
    }
    rest.remove_prefix(end + 1);
  }
}

// Each allocation of device memory is a descriptor.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

// A runtime needs a driver of its own major version or a later one (CUDA Compatibility, minor version
// compatibility); the compatibility package would change the driver's version itself.
bool too_old(const Node& node) {
  return static_cast<int>(node.hardware.cuda_driver) / 1000 < runtime_major();
}

const Node* read_node() {
  raise_descriptor_limit();
  auto* const node = new Node;
  const char* const verbose = std::getenv(kVerboseVariable);
  node->verbose = verbose != nullptr && std::string_view(verbose) == "1";
  const char* const host = std::getenv("NCCL_HOSTID");
  node->host = host == nullptr ? "" : host;
  node->problem = read_hardware_file(node->hardware);
  if (!node->problem.empty()) {
    say(node->problem);
    node->hardware = Hardware{};
  }
  if (too_old(*node)) {
    return node;
  }
  if (const char* const words = std::getenv("CUDA_VISIBLE_DEVICES"); words != nullptr) {
    node->visible = find_visible_all(*node, words);
  } else {
    for (unsigned index = 0; index < node->hardware.gpus.size(); ++index) {
      node->visible.push_back(index);
    }
  }
  return node;
}

struct Refusals {
  std::mutex mutex;
  std::set<std::string> names;
};
Refusals& refusals() {
  static Refusals& all = *new Refusals;
  return all;
}

}  // namespace

const Node& node() {
  static const Node& node = *read_node();
  return node;
}

const Gpu* gpu(int device) {
  const Node& all = node();
  if (device < 0 || device >= device_count()) {
    return nullptr;
  }
  return &all.hardware.gpus[all.visible[static_cast<std::size_t>(device)]];
}

cuda::Error no_device() {
  return too_old(node()) ? cuda::kInsufficientDriver : cuda::kNoDevice;
}

int current_device() {
  return t_device;
}
void set_current_device(int device) {
  t_device = device;
}

cuda::Error fail(cuda::Error error) {
  if (error != cuda::kSuccess) {
    t_error = error;
  }
  return error;
}

cuda::Error refuse(const char* name) {
  bool first = false;
  {
    Refusals& all = refusals();
    const std::lock_guard lock(all.mutex);
    first = all.names.insert(name).second;
  }
  if (first && node().verbose) {
    say("refused " + std::string(name));
  }
  return fail(cuda::kNotSupported);
}

void complain(const char* what, int error_number) {
  if (node().verbose) {
    say(std::string(what) + ": " + std::strerror(error_number));
  }
}

}  // namespace angio::phantom

using angio::phantom::cuda::Error;

ANGIO_STAND_IN Error cudaGetLastError() {
  const Error error = angio::phantom::t_error;
  angio::phantom::t_error = angio::phantom::cuda::kSuccess;
  return error;
}

ANGIO_STAND_IN Error cudaPeekAtLastError() {
  return angio::phantom::t_error;
}

// Copies as much as fits, with an end; returns how long the whole text is.
static std::size_t copy_text(const std::string& text, char* to, std::size_t size) {
  if (to != nullptr && size > 0) {
    const std::size_t taken = std::min(size - 1, text.size());
    std::memcpy(to, text.data(), taken);
    to[taken] = '\0';
  }
  return text.size();
}

// Why there are no GPUs; empty when the node's hardware was read.
ANGIO_STAND_IN std::size_t angio_phantom_problem(char* text, std::size_t size) {
  return copy_text(angio::phantom::node().problem, text, size);
}

// The names of the refused calls so far, a line each; returns how long the whole text is.
ANGIO_STAND_IN std::size_t angio_phantom_refused(char* names, std::size_t size) {
  angio::phantom::Refusals& all = angio::phantom::refusals();
  const std::lock_guard lock(all.mutex);
  std::string text;
  for (const std::string& name : all.names) {
    text += name + "\n";
  }
  return copy_text(text, names, size);
}
