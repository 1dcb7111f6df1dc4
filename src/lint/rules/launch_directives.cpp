// What #SBATCH lines ask for.
#include "base/text.hpp"
#include "lint/rules/launch_line.hpp"

namespace angio::lint {
namespace {

// The words of "#SBATCH --nodes=2 -n 16  # comment" after the marker.
std::vector<std::string_view> directive_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (const auto word : split_words(text)) {
    if (word.starts_with('#')) {
      if (words.empty() && word == "#SBATCH") continue;
      break;
    }
    words.push_back(word);
  }
  return words;
}

struct DirectiveOption {
  std::string_view name;
  std::string_view value;
};

std::optional<std::string_view> directive_value(std::span<const DirectiveOption> options,
                                                std::string_view name, std::string_view letter) {
  std::optional<std::string_view> value;
  for (const auto& option : options)
    if (option.name == name || (!letter.empty() && option.name == letter)) value = option.value;
  return value;
}

std::vector<DirectiveOption> directive_options(std::string_view text) {
  std::vector<DirectiveOption> options;
  const auto words = directive_words(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = words[i];
    if (!word.starts_with('-')) continue;
    const auto equals = word.find('=');
    if (word.starts_with("--") && equals != std::string_view::npos) {
      options.push_back({word.substr(0, equals), word.substr(equals + 1)});
    } else if (!word.starts_with("--") && word.size() > 2) {
      options.push_back({word.substr(0, 2), word.substr(word[2] == '=' ? 3 : 2)});
    } else {
      const bool value = i + 1 < words.size() && !words[i + 1].starts_with('-');
      options.push_back({word, value ? words[i + 1] : std::string_view()});
    }
  }
  return options;
}

// "gpu:a100:4", "gpu:4,nvme:1", "a100:4", "4"; "gpu" alone is one.
std::optional<long> gpu_count(std::string_view text, bool gres) {
  std::optional<long> sum;
  for (auto part : split(text, ',')) {
    if (gres && part != "gpu" && !part.starts_with("gpu:") && !part.starts_with("gres/gpu")) continue;
    const auto colon = part.find_last_of(":=");
    const auto last = colon == std::string_view::npos ? part : part.substr(colon + 1);
    auto count = parse_integer<long>(last);
    if (!count && gres && (part == "gpu" || part.starts_with("gpu:"))) count = 1;
    if (!count) return std::nullopt;
    sum = sum.value_or(0) + *count;
  }
  return sum;
}

std::optional<long> plain_number(std::optional<std::string_view> text) {
  return text ? parse_integer<long>(*text) : std::nullopt;
}

void read_directive(const Directive& directive, Allocation& out, std::optional<long>& all_gpus) {
  const auto options = directive_options(directive.text);
  const auto value = [&](std::string_view name, std::string_view letter = {}) {
    return directive_value(options, name, letter);
  };
  if (const auto nodes = value("--nodes", "-N")) {
    out.nodes = plain_number(nodes);
    out.nodes_directive = &directive;
  }
  if (const auto tasks = value("--ntasks", "-n")) out.tasks = plain_number(tasks);
  if (const auto tasks = value("--ntasks-per-node")) out.tasks_per_node = plain_number(tasks);
  if (const auto cpus = value("--cpus-per-task", "-c")) out.cpus_per_task = plain_number(cpus);
  if (const auto gpus = value("--gpus-per-node")) out.gpus_per_node = gpu_count(*gpus, false);
  if (const auto gres = value("--gres")) out.gpus_per_node = gpu_count(*gres, true);
  if (const auto gpus = value("--gpus", "-G")) all_gpus = gpu_count(*gpus, false);
  if (value("--gpus-per-task")) out.gpus_per_task_directive = &directive;
  if (const auto bind = value("--gpu-bind")) {
    out.gpu_bind_directive = &directive;
    out.gpu_bind = std::string(*bind);
  }
  if (const auto exported = value("--export")) {
    out.export_directive = &directive;
    out.exported = std::string(*exported);
  }
  if (value("--exclusive")) out.exclusive = true;
}

}  // namespace

Allocation allocation_of(const Script& script) {
  Allocation out;
  std::optional<long> all_gpus;
  for (const auto& directive : script.directives) {
    if (contains(directive.text, "#PBS") || contains(directive.text, "#BSUB") ||
        directive.text.starts_with("#$")) {
      out.other = true;
      continue;
    }
    out.slurm = true;
    if (directive.late) continue;
    if (contains(directive.text, "hetjob") || contains(directive.text, "packjob")) out.heterogeneous = true;
    read_directive(directive, out, all_gpus);
  }
  if (out.heterogeneous) {
    Allocation unknown;
    unknown.slurm = unknown.heterogeneous = true;
    return unknown;
  }
  if (!out.gpus_per_node && all_gpus && out.nodes && *out.nodes > 0 && *all_gpus % *out.nodes == 0)
    out.gpus_per_node = *all_gpus / *out.nodes;
  if (!out.tasks_per_node && out.tasks && out.nodes && *out.nodes > 0 && *out.tasks % *out.nodes == 0)
    out.tasks_per_node = *out.tasks / *out.nodes;
  return out;
}

}  // namespace angio::lint
