#include "advise_command.hpp"

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/text.hpp"
#include "command.hpp"
#include "knowledge/knowledge.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "views/advice_view.hpp"

namespace angio::app {
namespace {

struct Options {
  plan::JobShape job;
  std::string parameters, message, bucket, link, network, type = "bf16", sharding = "ddp";
  std::optional<std::uint32_t> nodes;
  std::string snapshot;
  bool table = false;
  bool libraries = false;
  bool sources = false;
  std::string format = "terminal";
};

template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

constexpr std::array kLinks{Word{"pcie", plan::IntraLink::kPcie}, Word{"nvlink", plan::IntraLink::kNvlink},
                            Word{"nvswitch", plan::IntraLink::kNvswitch}};
constexpr std::array kNetworks{Word{"none", plan::Network::kNone}, Word{"ib", plan::Network::kInfiniBand},
                               Word{"roce", plan::Network::kRoce}, Word{"ethernet", plan::Network::kEthernet},
                               Word{"efa", plan::Network::kEfa}};
constexpr std::array kTypes{Word{"fp32", 4U}, Word{"tf32", 4U}, Word{"bf16", 2U}, Word{"fp16", 2U},
                            Word{"fp8", 1U}};

template <typename Value, std::size_t N>
void take(const std::array<Word<Value>, N>& words, const std::string& text, Value& value) {
  for (const Word<Value>& one : words)
    if (one.word == text) value = one.value;
}

Result<std::optional<std::uint64_t>> size_of(const char* option, const std::string& text) {
  if (text.empty()) return std::nullopt;
  const auto bytes = parse_byte_count(text);
  if (bytes && *bytes > 0) return *bytes;
  return fail(ErrorCode::kInvalidInput, std::string(option) + " \"" + printable(text) + "\" is no size",
              "Write 25MiB or 26214400");
}

Result<plan::JobShape> shape_of(const Options& options) {
  plan::JobShape job = options.job;
  take(kLinks, options.link, job.link);
  take(kNetworks, options.network, job.network);
  take(kTypes, options.type, job.bytes_per_value);
  if (options.sharding == "fsdp") job.sharding = plan::Sharding::kFsdp;
  if (!options.parameters.empty()) {
    job.parameters = plan::parse_parameters(options.parameters);
    if (!job.parameters)
      return fail(ErrorCode::kInvalidInput,
                  "--params \"" + printable(options.parameters) + "\" is no number of parameters",
                  "Write 7B, 1.5T or 350M");
  }
  if (!job.gpu.empty()) {
    const auto gpu = plan::gpu_named(job.gpu);
    if (!gpu) return std::unexpected(gpu.error());
    job.gpu = (*gpu)->match;
  }
  if (!job.nccl.empty() && knowledge::leading_version(job.nccl) != job.nccl)
    return fail(ErrorCode::kInvalidInput, "--nccl \"" + printable(job.nccl) + "\" is no release",
                "Write 2.28.9");
  auto message = size_of("--message", options.message);
  if (!message) return std::unexpected(std::move(message.error()));
  auto bucket = size_of("--bucket", options.bucket);
  if (!bucket) return std::unexpected(std::move(bucket.error()));
  job.message = *message;
  job.bucket = *bucket;
  return job;
}

// GPUs, GPUs a node and nodes: any two give the third.
Result<void> settle_counts(const Options& options, plan::JobShape& job) {
  if (!options.nodes) return {};
  const std::uint32_t nodes = *options.nodes;
  const std::string over = " do not divide over " + count_of(nodes, "node");
  if (job.gpus == 0 && job.gpus_per_node == 0)
    return fail(ErrorCode::kInvalidInput, "--nodes alone does not say how many GPUs there are",
                "Give --gpus or --gpus-per-node too");
  if (job.gpus == 0) job.gpus = job.gpus_per_node * nodes;
  if (job.gpus_per_node == 0 && job.gpus % nodes != 0)
    return fail(ErrorCode::kInvalidInput, count_of(job.gpus, "GPU") + over,
                "Give a number of nodes that divides them, or --gpus-per-node without --nodes");
  if (job.gpus_per_node == 0) job.gpus_per_node = job.gpus / nodes;
  if (job.gpus != job.gpus_per_node * nodes)
    return fail(ErrorCode::kInvalidInput,
                "--gpus " + std::to_string(job.gpus) + ", but " + count_of(nodes, "node") + " with " +
                    count_of(job.gpus_per_node, "GPU") + " each have " +
                    std::to_string(job.gpus_per_node * nodes),
                "Give two of --gpus, --gpus-per-node and --nodes");
  return {};
}

int show(const Options& options, const report::Document& document, const Json& json) {
  return print(options.format == "json" ? to_text(json) + "\n"
                                        : report::render_terminal(document, terminal_style()));
}

int usage(const Error& error) {
  (void)report_error(error);
  return kUsage;
}

int run(const Options& options) {
  if (options.table) return show(options, views::scenario_document(options.sources), views::scenario_json());
  if (options.libraries)
    return show(options, views::libraries_document(options.sources), views::libraries_json());
  auto job = shape_of(options);
  if (!job) return usage(job.error());
  if (!options.snapshot.empty()) {
    const auto machine = load_machine(options.snapshot);
    if (!machine) return report_error(machine.error());
    plan::describe_hardware(*machine, *job);
  }
  if (auto settled = settle_counts(options, *job); !settled) return usage(settled.error());
  const auto advice = plan::advise(*job);
  if (!advice) return usage(advice.error());
  return show(options, views::advice_document(*job, *advice, options.sources),
              views::advice_json(*job, *advice));
}

void add_shape(CommandLine& command, Options& options) {
  constexpr int kMost = 1 << 20;
  plan::JobShape& job = options.job;
  command.option("--gpus", job.gpus, "GPUs of the job").type_name("N").range(1, kMost);
  command.option("--gpus-per-node", job.gpus_per_node, "GPUs of one node").type_name("N").range(1, 1024);
  command.option("--nodes", options.nodes, "Nodes of the job").type_name("N").range(1, kMost);
  command.option("--params", options.parameters, "Parameters of the model: 7B, 1.5T").type_name("N");
  command.option("--dtype", options.type, "Type of gradients and activations")
      .one_of({"fp32", "tf32", "bf16", "fp16", "fp8"});
  command.option("--tp", job.tensor, "Tensor-parallel ranks").type_name("N").range(1, kMost);
  command.option("--pp", job.pipeline, "Pipeline stages").type_name("N").range(1, kMost);
  command.option("--ep", job.expert, "Expert-parallel ranks").type_name("N").range(1, kMost);
  command.option("--top-k", job.top_k, "Experts a token goes to").type_name("N").range(1, 1024);
  command.option("--sharding", options.sharding, "Data parallelism").one_of({"ddp", "fsdp"});
  command.option("--bucket", options.bucket, "Gradient bucket of DDP, 25MiB without it").type_name("SIZE");
  command.option("--layers", job.layers, "Layers of the model").type_name("N").range(1, kMost);
  command.option("--hidden", job.hidden, "Hidden size").type_name("N").range(1, kMost);
  command.option("--seq", job.sequence, "Tokens of a sequence").type_name("N").range(1, 1 << 28);
  command.option("--micro-batch", job.micro_batch, "Sequences at a time").type_name("N").range(1, kMost);
  command.flag("--inference", job.inference, "Decoding, not training");
  command.option("--message", options.message, "One AllReduce of this size instead of a model")
      .type_name("SIZE");
}

}  // namespace

void setup_advise(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("advise", "Say what to bind, set and leave unset for a job");
  const auto options = std::make_shared<Options>();
  add_shape(command, *options);
  command.option("--snap", options->snapshot, "Take the hardware of a node from here").type_name("FILE");
  command.option("--gpu", options->job.gpu, "GPU model, for the bandwidth of its links").type_name("NAME");
  command.option("--link", options->link, "Between the GPUs of a node")
      .one_of({"pcie", "nvlink", "nvswitch"});
  command.option("--network", options->network, "Between the nodes")
      .one_of({"none", "ib", "roce", "ethernet", "efa"});
  command.option("--nics", options->job.adapters, "Adapters of one node").type_name("N").range(1, 256);
  command.option("--nic-gbps", options->job.adapter_gbits, "Rate of one adapter, Gb/s")
      .type_name("GBPS")
      .range(0.1, 1e5);
  command.option("--nccl", options->job.nccl, "Release of NCCL").type_name("VERSION");
  command.flag("--table", options->table, "Known scenarios, beside what popular advice says, and end");
  command.flag("--libraries", options->libraries, "NCCL, MPI or UCX: criteria, and end");
  command.flag("--sources", options->sources, "Name the source of every line");
  command.option("--format", options->format, "How to say it").one_of({"terminal", "json"});
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
