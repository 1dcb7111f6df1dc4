#include "plan/advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <tuple>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::plan {
namespace {

std::uint32_t node_count(const JobShape& job) {
  return job.gpus == 0 || job.gpus_per_node == 0 ? 0 : (job.gpus + job.gpus_per_node - 1) / job.gpus_per_node;
}

void add_network_words(const JobShape& job, std::vector<std::string>& words) {
  switch (job.network) {
    case Network::kInfiniBand:
      words.insert(words.end(), {"ib", "rdma"});
      break;
    case Network::kRoce:
      words.insert(words.end(), {"roce", "rdma"});
      break;
    case Network::kEthernet:
      words.emplace_back("ethernet");
      break;
    case Network::kEfa:
      words.emplace_back("efa");
      break;
    case Network::kUnknown:
    case Network::kNone:
      break;
  }
}

std::vector<std::string> words_of(const JobShape& job) {
  std::vector<std::string> words{job.inference ? "inference" : "training"};
  const std::uint32_t nodes = node_count(job);
  if (nodes == 1) words.emplace_back("single-node");
  if (nodes > 1) words.emplace_back("multi-node");
  if (nodes == 2) words.emplace_back("two-nodes");
  if (job.link == IntraLink::kPcie) words.emplace_back("pcie");
  if (job.link == IntraLink::kNvlink || job.link == IntraLink::kNvswitch) words.emplace_back("nvlink");
  if (job.link == IntraLink::kNvswitch) words.emplace_back("nvswitch");
  add_network_words(job, words);
  if (job.tensor > 1) words.emplace_back("tp");
  if (job.expert > 1) words.emplace_back("moe");
  if (job.gpus_per_node > 0 && job.tensor > job.gpus_per_node) words.emplace_back("tp-across");
  if (job.gpus_per_node > 0 && job.expert > 1 && job.tensor * job.expert > job.gpus_per_node)
    words.emplace_back("ep-across");
  if (job.virtual_machine) words.emplace_back("vm");
  return words;
}

bool applies(const knowledge::AdviceText& text, const std::vector<std::string>& words) {
  return std::ranges::all_of(split_words(text.when), [&](std::string_view word) {
    const bool inverted = word.starts_with('!');
    if (inverted) word.remove_prefix(1);
    return (std::ranges::find(words, word) != words.end()) != inverted;
  });
}

// A setting that some releases want and others do not.
std::optional<AdviceLine> line_for(const knowledge::AdviceText& text, const std::string& nccl) {
  if (text.since.empty() && text.until.empty()) return AdviceLine{&text, false};
  const auto within = knowledge::version_within(nccl, text.since, text.until);
  if (within && !*within) return std::nullopt;
  return AdviceLine{&text, !within};
}

std::vector<AdviceLine> lines_for(const JobShape& job, const std::vector<std::string>& words) {
  std::vector<AdviceLine> lines;
  for (const knowledge::AdviceText& text : knowledge::advice_texts()) {
    if (!applies(text, words)) continue;
    if (auto line = line_for(text, job.nccl)) lines.push_back(*line);
  }
  std::ranges::stable_sort(lines, {}, [](const AdviceLine& line) { return line.text->order; });
  return lines;
}

Result<void> check_shape(const JobShape& job) {
  const std::uint64_t model = std::uint64_t{job.tensor} * job.pipeline;
  if (job.gpus == 0) return {};
  if (job.gpus % model != 0)
    return fail(ErrorCode::kInvalidInput,
                fmt::format("{} GPUs do not divide into {} tensor-parallel x {} pipeline-parallel ranks",
                            job.gpus, job.tensor, job.pipeline));
  const std::uint64_t data = job.gpus / model;
  if (data % job.expert != 0)
    return fail(
        ErrorCode::kInvalidInput,
        fmt::format("{} data-parallel ranks do not divide into expert groups of {}", data, job.expert),
        "The expert-parallel size divides GPUs / (tp x pp)");
  return {};
}

std::vector<std::string> missing_of(const JobShape& job, const std::vector<std::string>& words) {
  std::vector<std::string> missing;
  const bool several = std::ranges::find(words, "multi-node") != words.end();
  if (job.gpus == 0) missing.emplace_back("number of GPUs (--gpus)");
  if (job.gpus_per_node == 0) missing.emplace_back("GPUs a node (--gpus-per-node, or --snap of a node)");
  if (several && job.network == Network::kUnknown)
    missing.emplace_back("network between the nodes (--network)");
  if (job.link == IntraLink::kUnknown)
    missing.emplace_back("links between the GPUs of a node (--link, or --gpu)");
  if (job.nccl.empty()) missing.emplace_back("release of NCCL (--nccl): advice that depends on it says so");
  return missing;
}

void take_gpus(const model::Machine& machine, JobShape& job) {
  if (machine.gpus.empty()) return;
  if (job.gpus_per_node == 0) {
    job.gpus_per_node = static_cast<std::uint32_t>(machine.gpus.size());
    job.seen.push_back(fmt::format("{} GPUs a node", machine.gpus.size()));
  }
  if (const std::string* name = machine.gpus[0].name.get(); name != nullptr && job.gpu.empty()) {
    job.gpu = *name;
    job.seen.push_back(*name);
  }
  bool to_switch = false;
  bool any = false;
  for (const model::Gpu& gpu : machine.gpus) {
    any = any || !gpu.linked.empty();
    for (const model::GpuLink& link : gpu.links) {
      any = any || link.state == model::LinkState::kActive;
      to_switch = to_switch ||
                  (link.state == model::LinkState::kActive && link.peer_kind == model::PeerKind::kSwitch);
    }
  }
  if (job.link != IntraLink::kUnknown || !any) return;
  job.link = to_switch ? IntraLink::kNvswitch : IntraLink::kNvlink;
  job.seen.emplace_back(to_switch ? "NVLink through NVSwitch" : "NVLink");
}

// Adapters of the fastest rate: management and storage ports are slower, and are not counted.
void take_adapters(const model::Machine& machine, JobShape& job) {
  double best = 0;
  std::uint32_t count = 0;
  bool infiniband = false;
  for (const model::RdmaDevice& device : machine.rdma) {
    for (const model::RdmaPort& port : device.ports) {
      const BitsPerSecond* rate = port.rate.get();
      if (rate == nullptr || !port.state.is("ACTIVE")) continue;
      if (rate->value > best) count = 0;
      best = std::max(best, rate->value);
      if (rate->value < best) continue;
      ++count;
      infiniband = port.link_layer == model::LinkLayer::kInfiniBand;
    }
  }
  if (count == 0) return;
  if (!job.adapters) job.adapters = count;
  if (!job.adapter_gbits) job.adapter_gbits = best / 1e9;
  if (job.network == Network::kUnknown) job.network = infiniband ? Network::kInfiniBand : Network::kRoce;
  job.seen.push_back(
      fmt::format("{} {} ports of {:g} Gb/s", count, infiniband ? "InfiniBand" : "RoCE", best / 1e9));
}

// The one that a process has mapped counts before those on disk; two of them tell nothing.
void take_nccl(const model::Machine& machine, JobShape& job) {
  if (!job.nccl.empty()) return;
  std::vector<std::string> loaded, installed;
  const auto add = [](const std::vector<model::LibraryFile>& libraries, std::vector<std::string>& versions) {
    for (const model::LibraryFile& library : libraries)
      if (library.name.starts_with("libnccl.so") && !library.version.empty() &&
          std::ranges::find(versions, library.version) == versions.end())
        versions.push_back(library.version);
  };
  for (const model::Process& process : machine.processes)
    add(process.libraries, loaded);
  add(machine.software.libraries, installed);
  const std::vector<std::string>& versions = loaded.empty() ? installed : loaded;
  if (versions.size() != 1) return;
  job.nccl = versions.front();
  job.seen.push_back("NCCL " + job.nccl);
}

}  // namespace

void describe_hardware(const model::Machine& machine, JobShape& job) {
  take_gpus(machine, job);
  take_adapters(machine, job);
  take_nccl(machine, job);
  if (const std::string* kind = machine.software.virtual_machine.get()) {
    job.virtual_machine = true;
    job.seen.push_back("virtual machine (" + *kind + ")");
  }
}

namespace {

// `part` stands in `whole` as words: "A10" in "NVIDIA A10", not in "A100-SXM".
bool holds_words(std::string_view whole, std::string_view part) {
  const auto in_word = [&](std::size_t at) {
    return at < whole.size() && std::isalnum(static_cast<unsigned char>(whole[at])) != 0;
  };
  for (std::size_t at = whole.find(part); at != std::string_view::npos; at = whole.find(part, at + 1))
    if ((at == 0 || !in_word(at - 1)) && !in_word(at + part.size())) return true;
  return false;
}

bool same_links(const knowledge::GpuModel& left, const knowledge::GpuModel& right) {
  const auto links = [](const knowledge::GpuModel& one) {
    return std::tuple(one.nvlinks, one.nvlink_optional, one.nvswitch, one.c2c, one.pcie_generation,
                      one.pcie_width);
  };
  return links(left) == links(right);
}

}  // namespace

Result<const knowledge::GpuModel*> gpu_named(std::string_view name) {
  name = trim(name);
  if (const auto* model = knowledge::find_gpu(name)) return model;
  std::vector<const knowledge::GpuModel*> fitting;
  const std::string lower = to_lower(name);
  for (const knowledge::GpuModel& model : knowledge::gpu_models())
    if (!lower.empty() && holds_words(to_lower(model.match), lower)) fitting.push_back(&model);
  // Longer names of a model, as NVML has them: "L40S" is an L40.
  if (fitting.empty())
    for (const char* maker : {"NVIDIA ", "NVIDIA GeForce ", "Tesla "})
      if (const auto* model = knowledge::find_gpu(maker + std::string(name))) return model;
  if (fitting.empty())
    return fail(ErrorCode::kInvalidInput, "--gpu \"" + printable(name) + "\" is no GPU of the table",
                "Name it as nvidia-smi does, for example H100 or A100-SXM4-80GB");
  std::vector<std::string> names;
  for (const auto* model : fitting)
    names.emplace_back(model->match);
  if (std::ranges::all_of(fitting, [&](const auto* one) { return same_links(*one, *fitting.front()); }))
    return fitting.front();
  return fail(ErrorCode::kInvalidInput,
              "--gpu \"" + printable(name) + "\" may be several models: " + join(names, ", "),
              "Their links differ: name one of them");
}

Result<Advice> advise(const JobShape& given) {
  JobShape job = given;
  if (auto fits = check_shape(job); !fits) return std::unexpected(std::move(fits.error()));
  // Without more, up to one node's worth of GPUs is one node.
  if (job.gpus == 0 && job.gpus_per_node > 0) job.gpus = job.gpus_per_node;
  if (job.link == IntraLink::kUnknown) {
    const knowledge::GpuModel* model = job.gpu.empty() ? nullptr : knowledge::find_gpu(job.gpu);
    if (model != nullptr && model->nvswitch) job.link = IntraLink::kNvswitch;
  }
  Advice advice;
  advice.words = words_of(job);
  advice.traffic = traffic_of(job);
  advice.lines = lines_for(job, advice.words);
  advice.missing = missing_of(job, advice.words);
  return advice;
}

std::optional<double> parse_parameters(std::string_view text) {
  text = trim(text);
  if (text.empty()) return std::nullopt;
  double factor = 1;
  switch (text.back()) {
    case 'M':
    case 'm':
      factor = 1e6;
      break;
    case 'B':
    case 'b':
      factor = 1e9;
      break;
    case 'T':
    case 't':
      factor = 1e12;
      break;
    default:
      break;
  }
  if (factor > 1) text.remove_suffix(1);
  const auto number = parse_double(text);
  constexpr double kLargest = 1e16;  // far beyond any model; keeps bytes within 64 bits
  if (!number || *number <= 0 || *number * factor > kLargest) return std::nullopt;
  return *number * factor;
}

std::string_view in_words(Regime regime) {
  switch (regime) {
    case Regime::kLatency:
      return "latency";
    case Regime::kBandwidth:
      return "bandwidth";
    case Regime::kBoth:
      return "both";
    case Regime::kUnknown:
      break;
  }
  return "unknown";
}

}  // namespace angio::plan
