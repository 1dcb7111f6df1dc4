// Versions in the output of other tools, line by line. Each reader below knows one tool and says whether the
// line was its own. Forms are those of the tools named; nothing is guessed from a line that nobody knows.
#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "compat/stack.hpp"
#include "knowledge/versions.hpp"

namespace angio::compat {
namespace {

struct Text {
  std::string_view line;
  std::string_view previous;  // the line above, that was not empty
  std::string where;
};

constexpr std::size_t kLongestLine = 4096;  // longer lines are no tool's version line

bool put_found(Stack& stack, Part part, std::string_view text, const std::string& where) {
  return put(stack, part, text, where).has_value();
}

// The text behind a label, up to a blank, '|' or the end; empty: no such label.
std::string_view after(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return {};
  const std::string_view rest = trim(line.substr(at + label.size()));
  return rest.substr(0, rest.find_first_of(" \t|,;"));
}

bool take_after(Stack& stack, const Text& text, std::string_view label, Part part) {
  const std::string_view found = after(text.line, label);
  return !found.empty() && put_found(stack, part, found, text.where);
}

// ---- nvidia-smi, /proc/driver/nvidia/version, nvcc

bool add_named_gpu(Stack& stack, std::string_view name, const std::string& where) {
  const std::string capability(knowledge::capability_of(name));
  if (capability.empty()) return false;
  stack.add_gpu({std::string(name), capability, where});
  return true;
}

// nvidia-smi's table: "|   0  NVIDIA B200                    On  |   00000000:1B:00.0 Off |".
bool gpu_row(Stack& stack, const Text& text) {
  if (!text.line.starts_with('|')) return false;
  std::string_view cell = trim(text.line.substr(1, text.line.find('|', 1) - 1));
  const auto words = split_words(cell);
  if (words.size() < 3 || !parse_integer<std::uint32_t>(words.front())) return false;
  const std::string_view persistence = words.back();
  if (persistence != "On" && persistence != "Off" && persistence != "N/A") return false;
  cell.remove_prefix(words.front().size());
  cell.remove_suffix(persistence.size());
  return add_named_gpu(stack, trim(cell), text.where);
}

// nvidia-smi --query-gpu=name,… --format=csv: "NVIDIA B200, 570.86.15".
bool gpu_csv(Stack& stack, const Text& text) {
  constexpr std::size_t kLongestName = 6;  // words
  const std::string_view name = trim(text.line.substr(0, text.line.find(',')));
  return name.starts_with("NVIDIA ") && split_words(name).size() <= kLongestName &&
         name.find_first_of(":.|;") == std::string_view::npos && add_named_gpu(stack, name, text.where);
}

bool nvidia_smi(Stack& stack, const Text& text) {
  if (contains(text.line, "Driver/library version mismatch")) {
    stack.mismatch = true;
    return true;
  }
  if (take_after(stack, text, "NVML library version:", Part::kUserDriver)) return true;
  if (take_after(stack, text, "Fabric Manager version is :", Part::kFabricManager)) return true;
  if (gpu_row(stack, text) || gpu_csv(stack, text)) return true;
  // nvidia-smi -q: "Driver Version       : 535.54.03".
  const std::size_t colon = text.line.find(':');
  const std::string_view label_q = trim(text.line.substr(0, std::min(colon, text.line.size())));
  if (colon != std::string_view::npos && label_q == "Driver Version")
    return put_found(stack, Part::kDriver, trim(text.line.substr(colon + 1)), text.where);
  if (colon != std::string_view::npos && label_q == "Product Name")
    return add_named_gpu(stack, trim(text.line.substr(colon + 1)), text.where);
  if (colon != std::string_view::npos && label_q == "CUDA Version")
    return put_found(stack, Part::kCudaDriver, trim(text.line.substr(colon + 1)), text.where);
  if (contains(text.line, "CUDA Driver Version")) return false;  // nvbandwidth: a number of the CUDA API
  bool any = false;
  if (contains(text.line, "NVIDIA-SMI")) {
    // The tool's own version is that of the user libraries; newer ones say so by themselves.
    any = take_after(stack, text, "NVIDIA-SMI", Part::kUserDriver);
  }
  for (const std::string_view label : {"Driver Version:", "KMD Version:", "Nvidia driver version:"})
    any = take_after(stack, text, label, Part::kDriver) || any;
  for (const std::string_view label : {"| CUDA Version:", "  CUDA Version:", "CUDA UMD Version:"})
    any = take_after(stack, text, label, Part::kCudaDriver) || any;
  return any;
}

bool kernel_module(Stack& stack, const Text& text) {
  if (!text.line.starts_with("NVRM version:")) return false;
  if (contains(text.line, "Open Kernel Module")) stack.set(Part::kModule, "open", text.where);
  const std::string_view rest = text.line.substr(
      text.line.find("Module") == std::string_view::npos ? text.line.size() : text.line.find("Module") + 6);
  for (const std::string_view word : split_words(rest)) {
    if (knowledge::leading_version(word) == word && contains(word, "."))
      return put_found(stack, Part::kDriver, word, text.where);
  }
  return true;
}

bool nvcc(Stack& stack, const Text& text) {
  return contains(text.line, "Cuda compilation tools") && take_after(stack, text, "release ", Part::kCuda);
}

// ---- torch: collect_env, torch.__config__

// What quotes, brackets and signs of equality enclose.
std::string_view bare(std::string_view text) {
  constexpr std::string_view kAround = " \t:='\"(),";
  const std::size_t start = std::min(text.find_first_not_of(kAround), text.size());
  const std::size_t end = text.find_last_not_of(kAround);
  return end == std::string_view::npos || end < start ? std::string_view()
                                                      : text.substr(start, end + 1 - start);
}

bool starts_with_digit(std::string_view text) {
  return !text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0;
}

struct Printed {
  std::string_view name;
  Part part;
};
constexpr std::array kPrinted{Printed{"torch.version.cuda", Part::kPytorchCuda},
                              Printed{"torch.__version__", Part::kPytorch},
                              Printed{"torch.cuda.nccl.version()", Part::kNccl}};

struct Named {
  std::vector<Part> parts;  // in their order
  std::string_view rest;    // behind the last
};

Named names_in(std::string_view line) {
  std::vector<std::pair<std::size_t, const Printed*>> found;
  for (const Printed& one : kPrinted)
    if (const std::size_t at = line.find(one.name); at != std::string_view::npos)
      found.emplace_back(at, &one);
  std::ranges::sort(found);
  Named named;
  for (const auto& [at, one] : found) {
    named.parts.push_back(one->part);
    named.rest = line.substr(at + one->name.size());
  }
  return named;
}

bool put_printed(Stack& stack, Part part, std::string_view text, const std::string& where) {
  std::string value(bare(text));
  if (part == Part::kNccl && contains(value, ", ")) {  // "(2, 20, 5)"
    std::ranges::replace(value, ',', '.');
    std::erase(value, ' ');
  }
  return starts_with_digit(value) && !contains(value, " ") &&
         contains(knowledge::leading_version(value), ".") && put_found(stack, part, value, where);
}

// "'2.4.0+cu121'" alone is what torch.__version__ shows; its companions count from 0.
bool quoted_wheel(Stack& stack, const Text& text) {
  const std::string_view line = text.line;
  const bool quoted =
      line.size() > 2 && line.front() == line.back() && (line.front() == '\'' || line.front() == '"');
  const std::string_view value = bare(line);
  return quoted && !value.starts_with('0') && contains(value, "+cu") &&
         put_printed(stack, Part::kPytorch, value, text.where);
}

// Python at a prompt or by a script: the value stands behind the name, or on the line below.
bool torch_printed(Stack& stack, const Text& text) {
  const Named here = names_in(text.line);
  if (here.parts.size() == 1 && put_printed(stack, here.parts[0], here.rest, text.where)) return true;
  const Named above = names_in(text.previous);
  if (above.parts.empty() || !bare(above.rest).empty()) return quoted_wheel(stack, text);
  if (above.parts.size() == 1) return put_printed(stack, above.parts[0], text.line, text.where);
  const auto words = split_words(text.line);
  bool any = false;
  for (std::size_t i = 0; i < words.size() && words.size() == above.parts.size(); ++i)
    any = put_printed(stack, above.parts[i], words[i], text.where) || any;
  return any;
}

// CUDA's own number of a version, 12040: major x 1000 + minor x 10.
bool put_api_version(Stack& stack, std::string_view text, const std::string& where) {
  const auto number = parse_integer<std::uint32_t>(knowledge::leading_version(text));
  if (!number || *number < 1000) return false;
  stack.set(Part::kCudaDriver, std::to_string(*number / 1000) + "." + std::to_string(*number % 1000 / 10),
            where);
  return true;
}

bool torch_words(Stack& stack, const Text& text) {
  if (take_after(stack, text, "PyTorch version:", Part::kPytorch)) return true;
  if (take_after(stack, text, "CUDA used to build PyTorch:", Part::kPytorchCuda)) return true;
  if (take_after(stack, text, "CUDA runtime version:", Part::kCuda)) return true;
  if (take_after(stack, text, "- CUDA Runtime ", Part::kPytorchCuda)) return true;
  if (contains(text.line, "driver on your system is too old"))
    return put_api_version(stack, after(text.line, "found version "), text.where);
  if (torch_printed(stack, text)) return true;
  // "GPU 0: NVIDIA H100 80GB HBM3 (UUID: …)", also of nvidia-smi -L; of one GPU collect_env says it behind a
  // title.
  std::string_view line = text.line;
  constexpr std::string_view kTitle = "GPU models and configuration:";
  if (line.starts_with(kTitle)) line.remove_prefix(kTitle.size());
  const std::size_t at = line.find("GPU ");
  const std::size_t colon = at == std::string_view::npos ? at : line.find(": ", at);
  if (colon == std::string_view::npos || colon - at > 8) return false;
  if (!parse_integer<std::uint32_t>(line.substr(at + 4, colon - at - 4))) return false;
  const std::string_view name = line.substr(colon + 2);
  return add_named_gpu(stack, trim(name.substr(0, name.find('('))), text.where);
}

// ---- NCCL's own lines

bool nccl_lines(Stack& stack, const Text& text) {
  if (contains(text.line, "NCCL version ") && !contains(text.line, "Mismatched"))
    return take_after(stack, text, "NCCL version ", Part::kNccl);
  for (const std::string_view label : {"cudaDriverVersion ", "CUDA Driver Version:"})  // NCCL, nvbandwidth
    if (put_api_version(stack, after(text.line, label), text.where)) return true;
  return false;
}

// ---- OFED, DOCA, UCX, adapters

bool network_tools(Stack& stack, const Text& text) {
  for (const std::string_view label : {"MLNX_OFED_LINUX-", "OFED-internal-", "MLNX_EN_LINUX-"})
    if (text.line.starts_with(label)) return take_after(stack, text, label, Part::kOfed);
  if (text.line.starts_with("#") || text.line.starts_with("Library version"))
    for (const std::string_view label : {"Library version:", "UCT version=", "# Version "})
      if (take_after(stack, text, label, Part::kUcx)) return true;
  for (const std::string_view label : {"fw_ver:", "firmware-version:", "Firmware version:", "FW Version:"}) {
    const std::string_view found = after(text.line, label);
    if (found.empty() || knowledge::leading_version(found) != found) continue;
    constexpr std::size_t kKept = 256;  // ports of one node
    if (stack.firmware.size() < kKept) stack.firmware.push_back({"", std::string(found), text.where});
    return true;
  }
  const std::string_view device = after(text.line, "hca_id:");
  return !device.empty() && put_found(stack, Part::kAdapter, device.substr(0, device.find('_')), text.where);
}

bool kernel_release(Stack& stack, const Text& text) {
  const auto words = split_words(text.line);
  if (words.size() > 2 && words[0] == "Linux" && words[2].find('.') != std::string_view::npos)
    return put_found(stack, Part::kKernel, words[2], text.where);
  // uname -r alone: "5.15.0-91-generic".
  if (words.size() != 1) return false;
  const std::string_view number = knowledge::leading_version(words[0]);
  const auto major = parse_integer<std::uint32_t>(number.substr(0, number.find('.')));
  constexpr std::uint32_t kOldest = 3,
                          kNewest = 9;  // Linux in use; a package's bare version is mostly outside
  if (!major || *major < kOldest || *major > kNewest) return false;
  return split(number, '.').size() == 3 && number.size() < words[0].size() &&
         words[0][number.size()] == '-' && put_found(stack, Part::kKernel, number, text.where);
}

// ---- packages: pip, conda, poetry, dpkg, rpm

struct Package {
  std::string_view name;
  Part part;
};
constexpr std::array kPackages{
    Package{"torch", Part::kPytorch},
    Package{"pytorch", Part::kPytorch},
    Package{"pytorch-cuda", Part::kPytorchCuda},
    Package{"nvidia-nccl-cu11", Part::kNcclInstalled},
    Package{"nvidia-nccl-cu12", Part::kNcclInstalled},
    Package{"nvidia-nccl-cu13", Part::kNcclInstalled},
    Package{"nccl", Part::kNcclInstalled},
    Package{"libnccl2", Part::kNcclInstalled},
    Package{"libnccl", Part::kNcclInstalled},
    Package{"nvidia-cuda-runtime-cu11", Part::kCuda},
    Package{"nvidia-cuda-runtime-cu12", Part::kCuda},
    Package{"nvidia-cuda-runtime", Part::kCuda},
    Package{"cuda-cudart", Part::kCuda},
    Package{"cudatoolkit", Part::kCuda},
    Package{"ucx", Part::kUcx},
    Package{"rdma-core", Part::kRdmaCore},
    Package{"libibverbs1", Part::kRdmaCore},
    Package{"doca-ofed", Part::kDoca},
    Package{"doca-host", Part::kDoca},
    Package{"aws-ofi-nccl", Part::kOfi},
};

// The driver's packages are named with its branch and kind: "nvidia-driver-535-server-open".
std::string_view without_branch(std::string_view name) {
  for (std::size_t dash = name.rfind('-'); dash != std::string_view::npos; dash = name.rfind('-')) {
    const std::string_view tail = name.substr(dash + 1);
    const bool branch = !tail.empty() && tail.find_first_not_of("0123456789") == std::string_view::npos;
    if (!branch && tail != "server" && tail != "open") break;
    name = name.substr(0, dash);
  }
  return name;
}

// Packages whose version is the driver's: of Ubuntu, of NVIDIA's repositories for Debian and RHEL.
constexpr std::array<std::string_view, 9> kDriverPackages{
    "nvidia-driver", "nvidia-driver-cuda",      "nvidia-headless",
    "nvidia-dkms",   "nvidia-kernel-dkms",      "nvidia-kernel-open-dkms",
    "cuda-drivers",  "kmod-nvidia-latest-dkms", "kmod-nvidia-open-dkms"};
constexpr std::array<std::string_view, 3> kFabricPackages{"nvidia-fabricmanager", "nvidia-fabric-manager",
                                                          "cuda-drivers-fabricmanager"};

bool take_driver_package(Stack& stack, std::string_view name, std::string_view version,
                         const std::string& where) {
  if (knowledge::leading_version(version).find('.') == std::string_view::npos) return false;
  const std::string_view plain = without_branch(name);
  if (std::ranges::find(kFabricPackages, plain) != kFabricPackages.end())
    return put_found(stack, Part::kFabricManager, version, where);
  const bool driver = std::ranges::find(kDriverPackages, plain) != kDriverPackages.end() ||
                      (plain == "nvidia" && name.starts_with("nvidia-open"));
  return driver && put_found(stack, Part::kDiskDriver, version, where);
}

// "12.1.105-1+cuda12.1" of one package; names that carry a version of their own end in it.
bool take_package(Stack& stack, std::string_view name, std::string_view version, const std::string& where) {
  name = name.substr(0, name.find(':'));  // dpkg: "libnccl2:amd64"
  if (name.starts_with("cuda-compat-"))
    return put_found(stack, Part::kCudaCompat, name.substr(sizeof("cuda-compat-") - 1), where);
  if (const auto colon = version.find(':'); colon != std::string_view::npos) version.remove_prefix(colon + 1);
  if (name.starts_with("cuda-cudart-") && !name.starts_with("cuda-cudart-dev"))
    return put_found(stack, Part::kCuda, version, where);
  if (take_driver_package(stack, name, version, where)) return true;
  const auto* found = std::ranges::find(kPackages, name, &Package::name);
  if (found == kPackages.end() || knowledge::leading_version(version).empty()) return false;
  if (found->part == Part::kNcclInstalled) {
    const std::size_t tag = version.find("+cuda");
    if (tag != std::string_view::npos) (void)put(stack, Part::kNcclCuda, version.substr(tag + 5), where);
    // conda counts its own builds in a fourth number: 2.21.5.1.
    const auto parts = split(knowledge::leading_version(version), '.');
    if (parts.size() == 4)
      version = version.substr(0, version.rfind('.', version.find_first_not_of("0123456789.")));
  }
  return put_found(stack, found->part, version, where);
}

// conda list and its --export: name, version, build. PyTorch's build names its CUDA.
bool take_conda(Stack& stack, std::string_view name, std::string_view version, std::string_view build,
                const std::string& where) {
  if (name != "pytorch") return take_package(stack, name, version, where);
  return take_package(stack, name, std::string(version) + "=" + std::string(build), where);
}

// key = "value"; empty: another key.
std::string_view value_of(std::string_view line, std::string_view key) {
  if (!line.starts_with(key)) return {};
  std::string_view rest = trim(line.substr(key.size()));
  if (!rest.starts_with('=')) return {};
  rest = trim(rest.substr(1));
  if (!rest.starts_with('"')) return {};
  return rest.substr(1, rest.find('"', 1) - 1);
}

// pyproject.toml: torch = "2.4.0", torch = {version = "2.4.0"}; poetry.lock and uv.lock: name and version on
// two lines. A range ("^2.4") is no version.
bool poetry(Stack& stack, const Text& text) {
  const std::string_view name = value_of(text.previous, "name");
  const std::string_view locked = value_of(text.line, "version");
  if (!name.empty() && !locked.empty()) return take_package(stack, name, locked, text.where);
  const std::size_t equals = text.line.find(" = ");
  if (equals == std::string_view::npos) return false;
  const std::string_view key = text.line.substr(0, equals);
  const std::string_view rest = text.line.substr(equals + 3);
  const std::string_view table = "{version";
  const std::string_view version =
      rest.starts_with(table) ? value_of(rest.substr(1), "version") : value_of(text.line, key);
  return !version.empty() && take_package(stack, key, version, text.where);
}

// rpm: name-version-release.arch.
bool rpm(Stack& stack, const Text& text, std::string_view word) {
  for (std::size_t dash = word.find('-'); dash != std::string_view::npos; dash = word.find('-', dash + 1)) {
    if (starts_with_digit(word.substr(dash + 1)) &&
        take_package(stack, word.substr(0, dash), word.substr(dash + 1), text.where))
      return true;
  }
  return false;
}

bool packages(Stack& stack, const Text& text) {
  std::string_view line = text.line;
  line = line.substr(0, line.find(" ;"));                        // pip: environment markers
  for (const std::string_view prefix : {"[pip3] ", "[conda] "})  // collect_env
    if (line.starts_with(prefix)) line.remove_prefix(prefix.size());
  if (const std::size_t equals = line.find("=="); equals != std::string_view::npos)
    return take_package(stack, trim(line.substr(0, equals)), trim(line.substr(equals + 2)), text.where);
  if (poetry(stack, text)) return true;
  auto words = split_words(line);
  if (words.size() > 2 && (words[0] == "ii" || words[0] == "hi")) words.erase(words.begin());
  if (words.size() >= 3) return take_conda(stack, words[0], words[1], words[2], text.where);
  if (words.size() == 2) return take_package(stack, words[0], words[1], text.where);
  if (words.size() != 1) return false;
  const auto exported = split(words[0], '=');
  if (exported.size() == 3) return take_conda(stack, exported[0], exported[1], exported[2], text.where);
  return rpm(stack, text, words[0]);
}

// ---- ldconfig -p, ldd, /proc/<pid>/maps, ls: the number in a library's name

struct Library {
  std::string_view stem;
  Part part;
};
constexpr std::array kLibraries{
    Library{"libcuda.so.", Part::kUserDriver},    Library{"libnvidia-ml.so.", Part::kUserDriver},
    Library{"libcudart.so.", Part::kCuda},        Library{"libnccl.so.", Part::kNcclInstalled},
    Library{"libibverbs.so.1.", Part::kRdmaCore},
};

bool libraries(Stack& stack, const Text& text) {
  bool any = false;
  const bool compat = contains(text.line, "/compat/");
  for (const Library& library : kLibraries) {
    const std::size_t at = text.line.rfind(library.stem);
    if (at == std::string_view::npos) continue;
    any = true;
    const std::string_view number = knowledge::leading_version(text.line.substr(at + library.stem.size()));
    if (compat && library.part == Part::kUserDriver) continue;
    if (library.part == Part::kRdmaCore) {  // libibverbs.so.1.14.39.0 is of rdma-core 39
      const auto parts = split(number, '.');
      if (parts.size() == 3) (void)put(stack, Part::kRdmaCore, parts[1], text.where);
    } else if (number.find('.') != std::string_view::npos || library.part == Part::kCuda) {
      (void)put(stack, library.part, number, text.where);
    }
  }
  return any;
}

// Every word is one of ours: "driver=535.54.03 cuda=12.3".
bool own_words(Stack& stack, const Text& text) {
  std::vector<std::string> words;
  for (const std::string_view word : split_words(text.line)) {
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos || word.find('=', equals + 1) != std::string_view::npos)
      return false;
    if (word.substr(0, equals) != "firmware" && !find_part(word.substr(0, equals))) return false;
    words.emplace_back(word);
  }
  if (words.empty()) return false;
  auto parsed = parse_words(words);
  if (!parsed) return false;
  for (auto& [part, value] : parsed->values)
    value.where = text.where;
  merge(stack, *parsed);
  return true;
}

}  // namespace

ParsedStack parse_stack(std::string_view text) {
  ParsedStack parsed;
  std::size_t number = 0;
  std::string_view previous;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty()) continue;
    ++parsed.lines;
    if (line.size() > kLongestLine) continue;
    const Text one{line, previous, "line " + std::to_string(number)};
    previous = line;
    for (const auto reader : {own_words, nvidia_smi, kernel_module, nvcc, torch_words, nccl_lines,
                              network_tools, kernel_release, libraries, packages}) {
      if (!reader(parsed.stack, one)) continue;
      ++parsed.understood;
      break;
    }
  }
  return parsed;
}

}  // namespace angio::compat
