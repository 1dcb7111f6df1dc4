#include "views/explain_words.hpp"

#include <fmt/format.h>

#include <array>
#include <limits>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::views {

using knowledge::Variable;
using knowledge::VariableKind;
using knowledge::VariableLife;

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 18> kComponents = {{
    {"nccl", "NCCL"},
    {"pytorch", "PyTorch"},
    {"ucx", "UCX"},
    {"cuda", "CUDA"},
    {"container", "the NVIDIA container runtime"},
    {"openmp", "OpenMP"},
    {"openmpi", "Open MPI"},
    {"slurm", "Slurm"},
    {"verbs", "libibverbs"},
    {"build", "build scripts"},
    {"sharp-plugin", "the HPC-X (SHARP) net plugin"},
    {"aws-ofi-plugin", "the AWS OFI net plugin"},
    {"gpudirect-tcpx", "the GPUDirect-TCPX plugin (Google)"},
    {"gpudirect-tcpxo", "the GPUDirect-TCPXO plugin (Google)"},
    {"nccl-tests", "nccl-tests"},
    {"inspector", "the NCCL Inspector"},
    {"tuner-example", "NCCL's example tuner"},
    {"profiler-example", "NCCL's example profiler"},
}};

// A maximum that only means "any": data/env gives none greater.
constexpr std::int64_t kNoMaximum = std::numeric_limits<std::int32_t>::max();

std::string what_it_takes(VariableKind kind) {
  switch (kind) {
    case VariableKind::kBool:
      return "0 or 1";
    case VariableKind::kInteger:
      return "a whole number without suffix";
    case VariableKind::kSize:
      return "a size";
    case VariableKind::kTime:
      return "a time with its unit";
    case VariableKind::kEnum:
      return "one of its words";
    case VariableKind::kEnumList:
      return "a list of its words";
    case VariableKind::kPathClass:
      return "a path class";
    case VariableKind::kList:
      return "a list";
    case VariableKind::kPath:
      return "a path";
    case VariableKind::kPlugin:
      return "a library";
    case VariableKind::kText:
      return "text";
  }
  return {};
}

std::string range_words(const Variable& variable) {
  if (!variable.has_range) return {};
  return variable.maximum >= kNoMaximum ? fmt::format("{} and more", variable.minimum)
                                        : fmt::format("{} to {}", variable.minimum, variable.maximum);
}

}  // namespace

std::string component_in_words(std::string_view component) {
  for (const auto& [name, words] : kComponents) {
    if (name == component) return std::string(words);
  }
  return std::string(component);
}

std::string kind_in_words(std::string_view kind) {
  if (kind == "completion") return "completion status of verbs (ibv_wc_status)";
  if (kind == "result") return "result of an NCCL call";
  if (kind == "ibstat") return "line of ibstat";
  if (kind == "dcgm-field") return "field of DCGM";
  if (kind == "xid") return "Xid of the NVIDIA driver";
  if (kind == "log-line") return "line of a log";
  std::string words(kind);
  for (char& c : words) {
    if (c == '-') c = ' ';
  }
  return words;
}

std::string_view in_words(VariableKind kind) {
  constexpr std::array<std::string_view, 11> kWords = {
      "bool", "integer", "size", "time", "enum", "enum-list", "path-class", "list", "path", "plugin", "text"};
  return kWords[static_cast<std::size_t>(kind)];
}

std::string_view in_words(VariableLife life) {
  switch (life) {
    case VariableLife::kNotYet:
      return "not yet";
    case VariableLife::kRemoved:
      return "removed";
    case VariableLife::kRead:
      break;
  }
  return "read";
}

std::string kind_line(const Variable& variable) {
  std::string words = "variable of " + component_in_words(variable.component);
  if (!variable.subsystem.empty()) words += ", " + std::string(variable.subsystem);
  return words;
}

std::string takes_words(const Variable& variable) {
  if (!variable.grammar.empty()) return std::string(variable.grammar);
  std::string words = range_words(variable);
  if (words.empty()) words = what_it_takes(variable.kind);
  for (const std::string_view value : variable.special_values)
    words += ", or " + std::string(value);
  return words;
}

namespace {

// NCCL_PARAM's convention.
std::string value_words(const Variable& variable, std::string_view value) {
  return std::string(value) + (variable.component == "nccl" && value == "-2" ? " (automatic)" : "");
}

}  // namespace

std::string default_words(const Variable& variable, std::string_view version) {
  if (!version.empty()) return value_words(variable, default_at(variable, version).value_or(""));
  std::vector<std::string> parts;
  for (std::size_t i = variable.defaults.size(); i-- > 0;) {
    const knowledge::VariableDefault& row = variable.defaults[i];
    parts.push_back(value_words(variable, row.value) + (!row.since.empty()
                                                            ? " since " + std::string(row.since)
                                                        : i + 1 < variable.defaults.size() ? " before"
                                                                                           : ""));
  }
  return join(parts, ", ");
}

namespace {

std::string history_words(const Variable& variable) {
  const std::string reader = component_in_words(variable.component);
  if (!variable.since.empty() && !variable.until.empty())
    return fmt::format("{} {} to {}, not by newer ones", reader, variable.since, variable.until);
  if (!variable.until.empty()) return fmt::format("{} up to {}, not by newer ones", reader, variable.until);
  if (!variable.since.empty()) return fmt::format("{} since {}", reader, variable.since);
  return reader;
}

std::string deprecation_words(const Variable& variable) {
  if (variable.deprecated_since.empty()) return {};
  return variable.deprecated_since == "?" ? "; deprecated"
                                          : fmt::format("; deprecated since {}", variable.deprecated_since);
}

}  // namespace

std::string life_words(const Variable& variable, std::string_view version) {
  if (!variable.not_read.empty()) return {};
  if (version.empty()) return history_words(variable) + deprecation_words(variable);
  const std::string release = component_in_words(variable.component) + " " + std::string(version);
  switch (life_at(variable, version)) {
    case VariableLife::kNotYet:
      return fmt::format("not by {}: since {}", release, variable.since);
    case VariableLife::kRemoved:
      return fmt::format("not by {}: {} was the last", release, variable.until);
    case VariableLife::kRead:
      break;
  }
  return release + deprecation_words(variable);
}

std::string word_sentence(const Variable& variable, const knowledge::VariableWord& word,
                          std::string_view version) {
  std::string text(word.word);
  const bool from_start = word.since == variable.since;
  if (!version.empty()) {
    const bool early =
        !word.since.empty() && knowledge::compare_versions(version, word.since).value_or(0) < 0;
    const bool late = !word.until.empty() && knowledge::compare_versions(version, word.until).value_or(0) > 0;
    if (early) text += fmt::format(" (not in {}: since {})", version, word.since);
    if (late) text += fmt::format(" (not in {}: up to {})", version, word.until);
  } else if (!word.since.empty() && !word.until.empty()) {
    text += fmt::format(" ({} to {})", word.since, word.until);
  } else if (!word.since.empty() && !from_start) {
    text += fmt::format(" (since {})", word.since);
  }
  return word.meaning.empty() ? text : text + ": " + std::string(word.meaning);
}

namespace {

// The words of "Ring,^Tree;allreduce:NVLS"; what stands before a colon is a collective's name.
std::vector<std::string> list_words(std::string_view value) {
  std::vector<std::string> words;
  std::string word;
  const auto end_word = [&](char separator) {
    if (!word.empty() && separator != ':') words.push_back(word);
    word.clear();
  };
  for (const char c : value) {
    if (std::string_view(",;:|^ \"'").find(c) == std::string_view::npos) {
      word += c;
    } else {
      end_word(c);
    }
  }
  end_word(' ');
  return words;
}

bool is_decimal(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

// NCCL_PARAM reads by strtoll(…, 0) and ignores what follows the number.
std::string number_remark(const Variable& variable, std::string_view value) {
  if (variable.component != "nccl" || value.empty()) return {};
  if (variable.kind != VariableKind::kInteger && variable.kind != VariableKind::kBool) return {};
  if (value.starts_with("0x") || value.starts_with("0X")) return {};
  if (!is_decimal(value))
    return ": NCCL reads the number at its beginning and ignores the rest; without one it is 0";
  return value.size() > 1 && value.starts_with('0') ? ": the 0 in front makes it octal" : "";
}

}  // namespace

std::vector<std::string> value_sentences(const Variable& variable, const std::string& value) {
  std::vector<std::string> sentences;
  if (value.empty()) return sentences;
  const knowledge::VariableWord* whole = find_word(variable, value);
  if (whole != nullptr) return {word_sentence(variable, *whole, {})};
  if (variable.kind == VariableKind::kEnumList && !variable.words.empty()) {
    for (const std::string& word : list_words(value)) {
      const knowledge::VariableWord* known = find_word(variable, word);
      sentences.push_back(known != nullptr ? word_sentence(variable, *known, {})
                                           : printable(word) + ": none of the words below");
    }
  }
  sentences.insert(sentences.begin(), printable(value) + number_remark(variable, value));
  return sentences;
}

std::string status_words(const Variable& variable) {
  if (variable.documented) return "documented";
  return variable.component == "nccl" && variable.not_read.empty()
             ? "undocumented: may change or go without notice"
             : "";
}

}  // namespace angio::views
