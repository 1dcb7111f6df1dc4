#include "compat/stack.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/versions.hpp"

namespace angio::compat {
namespace {

constexpr std::array kParts{
    PartName{Part::kDriver, "driver", "NVIDIA driver"},
    PartName{Part::kUserDriver, "user-driver", "driver libraries"},
    PartName{Part::kDiskDriver, "disk-driver", "driver on disk"},
    PartName{Part::kFabricManager, "fabric-manager", "Fabric Manager"},
    PartName{Part::kModule, "module", "kernel module"},
    PartName{Part::kPeermem, "peermem", "nvidia_peermem"},
    PartName{Part::kCudaDriver, "cuda-driver", "CUDA of the driver"},
    PartName{Part::kCuda, "cuda", "CUDA"},
    PartName{Part::kCudaCompat, "cuda-compat", "cuda-compat"},
    PartName{Part::kGpu, "gpu", "compute capability"},
    PartName{Part::kNccl, "nccl", "NCCL"},
    PartName{Part::kNcclInstalled, "nccl-installed", "installed NCCL"},
    PartName{Part::kNcclCuda, "nccl-cuda", "NCCL's CUDA"},
    PartName{Part::kPytorch, "pytorch", "PyTorch"},
    PartName{Part::kPytorchCuda, "pytorch-cuda", "PyTorch's CUDA"},
    PartName{Part::kUcx, "ucx", "UCX"},
    PartName{Part::kOfi, "aws-ofi-nccl", "aws-ofi-nccl"},
    PartName{Part::kOfed, "ofed", "OFED"},
    PartName{Part::kDoca, "doca", "DOCA"},
    PartName{Part::kRdmaCore, "rdma-core", "rdma-core"},
    PartName{Part::kKernel, "kernel", "Linux"},
    PartName{Part::kAdapter, "adapter", "RDMA adapter"},
    PartName{Part::kCpu, "cpu", "CPU vendor"},
    PartName{Part::kNetPlugin, "net-plugin", "interface of the net plugin"},
    PartName{Part::kTunerPlugin, "tuner-plugin", "interface of the tuner plugin"},
    PartName{Part::kProfilerPlugin, "profiler-plugin", "interface of the profiler plugin"},
};

Error bad_value(std::string_view word, std::string_view text, const std::string& wanted) {
  return {ErrorCode::kInvalidInput,
          std::string(word) + "=\"" + printable(text) + "\" is not understood, expected " + wanted,
          {}};
}

std::string cuda_of_tag(std::string_view tag) {  // "cu121" → "12.1", "cuda12.4" → "12.4"
  if (tag.starts_with("cuda")) return std::string(knowledge::leading_version(tag.substr(4)));
  if (!tag.starts_with("cu")) return {};
  const std::string digits(knowledge::leading_version(tag.substr(2)));
  if (digits.size() < 3 || digits.find('.') != std::string::npos) return {};
  return digits.substr(0, digits.size() - 1) + "." + digits.back();
}

// conda's names of builds: "py3.10_cuda12.1_cudnn8.9.2_0", "cuda120_py310h0" → "12.1", "12.0".
std::string cuda_of_build(std::string_view text) {
  for (std::size_t at = text.find("cuda"); at != std::string_view::npos; at = text.find("cuda", at + 4)) {
    std::string_view rest = text.substr(at + 4);
    if (rest.starts_with('_') || rest.starts_with('-')) rest.remove_prefix(1);
    const auto parts = split(knowledge::leading_version(rest), '.');
    if (parts.size() > 1) return std::string(parts[0]) + "." + std::string(parts[1]);
    if (parts[0].size() == 3) return std::string(parts[0].substr(0, 2)) + "." + parts[0].back();
  }
  return {};
}

// "9.0", "sm90", "sm_100", "compute_90" → "9.0"; a name by the table; else empty.
std::string capability_in(std::string_view text) {
  std::string_view rest = text;
  for (const std::string_view prefix : {"sm_", "sm", "compute_"}) {
    if (!rest.starts_with(prefix)) continue;
    rest.remove_prefix(prefix.size());
    if (!rest.empty() && std::isalpha(static_cast<unsigned char>(rest.back())) != 0) rest.remove_suffix(1);
    if (rest.size() < 2 || !parse_integer<std::uint32_t>(rest)) return {};
    return std::string(rest.substr(0, rest.size() - 1)) + "." + rest.back();
  }
  const auto parts = split(text, '.');
  if (parts.size() == 2 && parse_integer<std::uint32_t>(parts[0]) && parse_integer<std::uint32_t>(parts[1]))
    return std::string(text);
  return std::string(knowledge::capability_of(text));
}

bool is_word_part(Part part) {
  return part == Part::kModule || part == Part::kPeermem || part == Part::kAdapter || part == Part::kCpu;
}

// "yes", "true", "loaded" and "1" are one answer, and so on.
std::string plain_word(Part part, std::string_view text) {
  const std::string word = to_lower(trim(text));
  if (part == Part::kPeermem) {
    if (word == "yes" || word == "true" || word == "1" || word == "loaded") return "yes";
    if (word == "no" || word == "false" || word == "0") return "no";
    return {};
  }
  if (part == Part::kModule) {
    if (word == "open") return "open";
    return word == "closed" || word == "proprietary" ? "closed" : std::string();
  }
  if (part == Part::kAdapter && (word.starts_with("mlx5") || word.starts_with("connectx"))) return "mlx5";
  const bool plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  return plain ? word : std::string();
}

Result<void> put_gpu(Stack& stack, std::string_view text, std::string where) {
  const std::string capability = capability_in(text);
  if (capability.empty())
    return std::unexpected(
        bad_value("gpu", text, "a compute capability (9.0, sm90) or a model such as H100"));
  const bool named = std::ranges::any_of(text, [](unsigned char c) { return std::isupper(c) != 0; });
  stack.add_gpu({named ? std::string(text) : std::string(), capability, std::move(where)});
  return {};
}

}  // namespace

std::span<const PartName> part_names() {
  return kParts;
}

std::string_view word_of(Part part) {
  return std::ranges::find(kParts, part, &PartName::part)->word;
}
std::string_view title_of(Part part) {
  return std::ranges::find(kParts, part, &PartName::part)->title;
}

std::optional<Part> find_part(std::string_view word) {
  const auto found = std::ranges::find(kParts, word, &PartName::word);
  if (found == kParts.end()) return std::nullopt;
  return found->part;
}

const std::string* Stack::get(Part part) const {
  const auto found = values.find(part);
  return found == values.end() ? nullptr : &found->second.text;
}

void Stack::set(Part part, std::string text, std::string where) {
  if (text.empty()) return;
  const auto [at, fresh] = values.try_emplace(part, Value{text, where});
  if (fresh || at->second.text == text) return;
  constexpr std::size_t kConflictsKept = 64;  // a file of thousands of lists must not grow without bound
  const auto same = [&](const Conflict& one) { return one.part == part && one.other.text == text; };
  if (conflicts.size() < kConflictsKept && std::ranges::none_of(conflicts, same))
    conflicts.push_back({part, at->second, {std::move(text), std::move(where)}});
}

void Stack::add_gpu(StackGpu gpu) {
  const auto same = [&](const StackGpu& one) {
    return one.name == gpu.name && one.capability == gpu.capability;
  };
  if (std::ranges::any_of(gpus, same)) return;
  constexpr std::size_t kKindsKept = 64;  // kinds of GPU in one stack
  if (gpus.size() == kKindsKept) return;
  const std::string* lowest = get(Part::kGpu);
  const bool lower =
      lowest == nullptr ||
      (!gpu.capability.empty() && knowledge::compare_versions(gpu.capability, *lowest).value_or(0) < 0);
  if (lower && !gpu.capability.empty()) values[Part::kGpu] = {gpu.capability, gpu.where};
  gpus.push_back(std::move(gpu));
}

Result<void> put(Stack& stack, Part part, std::string_view text, std::string where) {
  text = trim(text);
  if (part == Part::kGpu) return put_gpu(stack, text, std::move(where));
  if (is_word_part(part)) {
    const std::string word = plain_word(part, text);
    if (word.empty())
      return std::unexpected(bad_value(word_of(part), text,
                                       part == Part::kPeermem  ? "yes or no"
                                       : part == Part::kModule ? "open or closed"
                                                               : "one word"));
    stack.set(part, word, std::move(where));
    return {};
  }
  if (text.starts_with('v') || text.starts_with('V')) text.remove_prefix(1);
  // cuda-compat-12-8 is named with a hyphen.
  std::string number(text);
  if (part == Part::kCudaCompat) std::ranges::replace(number, '-', '.');
  number = knowledge::leading_version(number);
  if (number.empty()) return std::unexpected(bad_value(word_of(part), text, "a version such as 12.4"));
  const std::size_t plus = text.find('+');
  const std::string tag =
      plus == std::string_view::npos ? cuda_of_build(text) : cuda_of_tag(text.substr(plus + 1));
  if (!tag.empty() && part == Part::kNccl) stack.set(Part::kNcclCuda, tag, where);
  if (!tag.empty() && part == Part::kPytorch) stack.set(Part::kPytorchCuda, tag, where);
  stack.set(part, number, std::move(where));
  return {};
}

Result<Stack> parse_words(std::span<const std::string> words) {
  Stack stack;
  for (const std::string& word : words) {
    const std::size_t equals = word.find('=');
    if (equals == std::string::npos || equals == 0)
      return fail(ErrorCode::kInvalidInput, "\"" + printable(word) + "\" is no PART=VERSION",
                  "For example driver=535.54.03; angio compat --parts lists the parts");
    const std::string name = to_lower(word.substr(0, equals));
    const std::string value = word.substr(equals + 1);
    if (name == "firmware") {
      if (knowledge::leading_version(value) != value)
        return std::unexpected(bad_value(name, value, "a version such as 28.43.2026"));
      stack.firmware.push_back({"", value, ""});
      continue;
    }
    const auto part = find_part(name);
    if (!part) {
      std::vector<std::string_view> known{"firmware"};
      for (const PartName& each : kParts)
        known.push_back(each.word);
      const auto near = did_you_mean(name, known);
      return fail(ErrorCode::kInvalidInput, "there is no part \"" + printable(name) + "\"",
                  near ? "Did you mean " + *near + "?" : "angio compat --parts lists the parts");
    }
    if (auto done = put(stack, *part, value, ""); !done) return std::unexpected(std::move(done.error()));
  }
  return stack;
}

void merge(Stack& into, const Stack& more) {
  for (const auto& [part, value] : more.values)
    if (part != Part::kGpu) into.set(part, value.text, value.where);
  for (const StackGpu& gpu : more.gpus)
    into.add_gpu(gpu);
  into.firmware.insert(into.firmware.end(), more.firmware.begin(), more.firmware.end());
  into.conflicts.insert(into.conflicts.end(), more.conflicts.begin(), more.conflicts.end());
  into.mismatch = into.mismatch || more.mismatch;
}

}  // namespace angio::compat
