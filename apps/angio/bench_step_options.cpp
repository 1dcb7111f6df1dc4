#include "bench_step_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/text.hpp"
#include "bench/child.hpp"
#include "bench/interrupts.hpp"
#include "host/system_roots.hpp"
#include "launch/rank.hpp"
#include "options.hpp"
#include "step/shape.hpp"

namespace angio::app {
namespace {

using step::RunRequest;
using step::Starter;
using step::StepSpec;

// Assumed where nobody says how fast the ranks compute; every result says so.
constexpr double kGpuTeraflops = 200;
constexpr double kCpuTeraflops = 0.1;
constexpr double kTera = 1e12;

Error wrong(std::string message, std::string hint = {}) {
  return {ErrorCode::kInvalidInput, std::move(message), std::move(hint)};
}

std::uint32_t gpus_here() {
  std::uint32_t count = 0;
  std::error_code error;
  while (std::filesystem::exists(fmt::format("/dev/nvidia{}", count), error))
    ++count;
  return count;
}

// ------------------------------------------------------------------ shape and layout

Result<model::StepShape> shape_of(const StepOptions& options, bool gpus) {
  const bool own = options.layers || options.hidden || options.heads || options.vocabulary;
  auto shape = step::shape_by_name(!options.model.empty() ? options.model : gpus ? "gpt2-small" : "tiny");
  if (!shape) return shape;
  if (!shape->transformer && (own || options.sequence))
    return std::unexpected(
        wrong("layers, hidden, heads, vocabulary and sequence are of a transformer, not of " + shape->name));
  if (shape->transformer && options.image) return std::unexpected(wrong("--image is for --model resnet50"));
  if (own) shape->name = "custom";
  shape->layers = options.layers.value_or(shape->layers);
  shape->hidden = options.hidden.value_or(shape->hidden);
  shape->heads = options.heads.value_or(shape->heads);
  shape->vocabulary = options.vocabulary.value_or(shape->vocabulary);
  shape->sequence = options.sequence.value_or(shape->sequence);
  shape->image = options.image.value_or(shape->image);
  shape->parameters = step::parameters_of(step::layers_of(*shape));
  return shape;
}

// The dimensions that are said, the one of the strategy filled up to the ranks that there are.
Result<model::StepLayout> layout_of(const StepOptions& options, std::uint32_t ranks) {
  model::StepLayout layout;
  layout.data = options.data.value_or(1);
  layout.tensor = options.tensor.value_or(1);
  layout.pipeline = options.pipeline.value_or(1);
  layout.expert = options.expert.value_or(1);
  layout.sharded = options.strategy == "fsdp";
  const std::uint64_t said =
      std::uint64_t{layout.tensor} * layout.pipeline * (options.data ? layout.data : 1);
  if (said > ranks || ranks % said != 0)
    return std::unexpected(
        wrong(fmt::format("{} ranks do not divide into groups of {} (--dp x --tp x --pp)", ranks, said)));
  const auto rest = static_cast<std::uint32_t>(ranks / said);
  if (options.strategy == "tensor") {
    layout.tensor *= rest;
  } else if (options.strategy == "pipeline") {
    layout.pipeline *= rest;
  } else {
    layout.data *= rest;
    if (options.strategy == "expert" && !options.expert) layout.expert = layout.data;
  }
  if (options.data && layout.data != *options.data)
    return std::unexpected(wrong(
        fmt::format("{} ranks, and --dp {} with the other groups makes {}", ranks, *options.data, said)));
  constexpr std::uint32_t kFilled =
      4;  // micro-batches a stage, so that the pipeline is full most of the time
  layout.micro_batches = options.micro_batches.value_or(layout.pipeline > 1 ? kFilled : 1);
  return layout;
}

Result<void> take_slow(const StepOptions& options, StepSpec& spec) {
  if (options.slow.empty()) return {};
  const std::size_t colon = options.slow.find(':');
  const auto rank = parse_integer<std::uint32_t>(options.slow.substr(0, colon));
  const auto factor = colon == std::string::npos
                          ? std::nullopt
                          : parse_double(std::string_view(options.slow).substr(colon + 1));
  constexpr double kMostSlow = 1000;
  if (!rank || !factor || *factor < 1 || *factor > kMostSlow)
    return std::unexpected(wrong("--slow \"" + printable(options.slow) + "\" is no rank and factor",
                                 "for example --slow 1:1.5"));
  spec.slow_rank = rank;
  spec.slow_factor = *factor;
  return {};
}

Result<StepSpec> spec_of(const StepOptions& options, std::uint32_t ranks, bool gpus) {
  StepSpec spec;
  auto shape = shape_of(options, gpus);
  if (!shape) return std::unexpected(shape.error());
  auto layout = layout_of(options, ranks);
  if (!layout) return std::unexpected(layout.error());
  constexpr double kMib = 1 << 20;
  spec.shape = *std::move(shape);
  spec.layout = *layout;
  spec.batch = options.batch.value_or(spec.batch);
  spec.steps = options.steps;
  spec.warm_up = options.warm_up;
  spec.compare = options.compare;
  spec.backend = options.backend;
  spec.type = options.type;
  spec.bucket = Bytes{static_cast<std::uint64_t>(options.bucket_mib * kMib)};
  spec.experts_a_token = options.experts_a_token;
  spec.compute_ms = options.compute_ms;
  spec.flops_per_second = options.teraflops.value_or(gpus ? kGpuTeraflops : kCpuTeraflops) * kTera;
  if (!options.compute.empty())
    spec.compute = options.compute == "idle" ? step::Compute::kIdle : step::Compute::kWork;
  spec.loader = {options.loader_ms, options.loader_workers, options.prefetch};
  if (auto taken = take_slow(options, spec); !taken) return std::unexpected(taken.error());
  return spec;
}

// ------------------------------------------------------------------ who starts what

bool has_torch(const std::string& python) {
  const bench::Interrupts interrupts;
  const auto done = bench::run_child(
      {python, "-c", "import importlib.util as u, sys; sys.exit(0 if u.find_spec('torch') else 3)"},
      interrupts);
  return done && done->exit_code == 0;
}

Result<std::string> find_python(const StepOptions& options) {
  constexpr const char* kHint =
      "install it (Debian: python3-torch; else pip install torch), name a Python that has it with --python, "
      "or "
      "measure the traffic without it: --framework traffic";
  if (!options.python.empty()) {
    if (has_torch(options.python)) return options.python;
    return fail(ErrorCode::kNotFound, printable(options.python) + " has no PyTorch", kHint);
  }
  for (const char* python : {"python3", "/usr/bin/python3"}) {
    if (has_torch(python)) return std::string(python);
  }
  return fail(ErrorCode::kNotFound, "no PyTorch: neither python3 nor /usr/bin/python3 has it", kHint);
}

// Beside this program where it is installed, beside it where it is built, else in PATH.
std::string rank_program(const std::string& name) {
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  std::string folder = name;
  std::ranges::replace(folder, '-', '_');
  for (const auto& place : {own.parent_path() / name, own.parent_path().parent_path() / folder / name}) {
    if (!error && std::filesystem::exists(place, error)) return place.string();
  }
  return name;
}

Result<void> take_program(const StepOptions& options, RunRequest& request) {
  if (options.framework == "torch") {
    auto python = find_python(options);
    if (!python) return std::unexpected(python.error());
    request.python = *std::move(python);
    return {};
  }
  std::error_code error;
  const std::filesystem::path own = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string& backend = request.spec.backend;
  if (!options.program.empty()) {
    request.rank_program = {options.program};
  } else if (backend == "nccl") {
    request.rank_program = {error ? "angio" : own.string()};
  } else {
    request.rank_program = {rank_program("angio-" + backend)};
  }
  return {};
}

Starter starter_of(const StepOptions& options, bool around) {
  if (around) return Starter::kAround;
  if (options.launcher == "mpirun") return Starter::kMpirun;
  if (options.launcher == "angio") return Starter::kAngio;
  if (options.launcher == "torchrun" || options.framework == "torch") return Starter::kTorchrun;
  return options.backend == "mpi" ? Starter::kMpirun : Starter::kAngio;
}

Result<void> check_options(const StepOptions& options) {
  if (options.framework == "torch" && options.backend == "mpi")
    return std::unexpected(wrong("PyTorch is built without MPI nearly everywhere",
                                 "--framework traffic --backend mpi measures MPI"));
  if (options.framework == "traffic" && options.launcher == "torchrun")
    return std::unexpected(wrong("torchrun starts Python programs", "--launcher angio or mpirun"));
  if (options.framework == "torch" && (options.compute_ms || options.teraflops || !options.compute.empty()))
    return std::unexpected(
        wrong("--compute, --compute-ms and --tflops are for --framework traffic: PyTorch computes what it "
              "computes"));
  if (options.framework == "traffic" && options.backend == "mpi" && options.launcher == "angio")
    return std::unexpected(wrong("ranks of MPI are started by its own launcher", "--launcher mpirun"));
  return {};
}

// The part of the batch that one replica has at this number of ranks.
Result<void> scale_batch(const StepOptions& options, StepSpec& spec) {
  if (options.scaling == "weak") return {};
  if (spec.batch % spec.layout.data != 0)
    return std::unexpected(wrong(
        fmt::format("a batch of {} in all does not divide among {} replicas", spec.batch, spec.layout.data),
        "--batch is the whole batch with strong scaling; --scaling weak keeps it for each replica"));
  spec.batch /= spec.layout.data;
  if (spec.compute_ms) *spec.compute_ms /= spec.layout.data;
  return {};
}

void add_rank_options(CommandLine& command, StepOptions& options) {
  command.option("--framework", options.framework, "PyTorch, or the same traffic without it; else torch")
      .one_of({"torch", "traffic"});
  command.option("--backend", options.backend, "What moves the data; else NCCL with GPUs, gloo without")
      .one_of({"nccl", "gloo", "mpi"});
  command.option("--ranks", options.ranks, "Else the GPUs here, or 2; below a launcher its ranks")
      .type_name("N")
      .range(1, 65536);
  command.option("--launcher", options.launcher, "Who starts the ranks; else what fits")
      .one_of({"torchrun", "angio", "mpirun"});
  command.option("--python", options.python, "A Python with PyTorch; else python3").type_name("FILE");
  command
      .option("--program", options.program,
              "Rank program of the traffic; else angio-gloo, angio-mpi or angio")
      .type_name("FILE");
  command.option("--strategy", options.strategy, "How the ranks share the model; else ddp")
      .one_of({"ddp", "fsdp", "tensor", "pipeline", "expert"});
  command.option("--dp", options.data, "Ranks of a data group").type_name("N").range(1, 65536);
  command.option("--tp", options.tensor, "Ranks of a tensor group").type_name("N").range(1, 65536);
  command.option("--pp", options.pipeline, "Stages of the pipeline").type_name("N").range(1, 65536);
  command.option("--ep", options.expert, "Ranks of an expert group, within a data group")
      .type_name("N")
      .range(1, 65536);
  command.option("--micro-batches", options.micro_batches, "Parts of a batch; else 1, 4 with a pipeline")
      .type_name("N")
      .range(1, 65536);
  command.option("--top-k", options.experts_a_token, "Experts for each token; else 2")
      .type_name("N")
      .range(1, 64);
}

void add_shape_options(CommandLine& command, StepOptions& options) {
  command.option("--model", options.model, "tiny, gpt2-small, -medium, -large, -xl, resnet50")
      .type_name("NAME");
  command.option("--layers", options.layers, "Or a transformer of one's own: this,")
      .type_name("N")
      .range(1, 65536);
  command.option("--hidden", options.hidden, "width,").type_name("N").range(1, 1048576);
  command.option("--heads", options.heads, "heads,").type_name("N").range(1, 65536);
  command.option("--vocabulary", options.vocabulary, "vocabulary").type_name("N").range(1, 1048576);
  command.option("--sequence", options.sequence, "Tokens of a sample").type_name("N").range(1, 1048576);
  command.option("--image", options.image, "Pixels of a side, resnet50; else 224")
      .type_name("N")
      .range(32, 4096);
  command.option("--batch", options.batch, "Samples of a replica in a step; else 8")
      .type_name("N")
      .range(1, 1048576);
  command.option("--type", options.type, "Of gradients and activations; else float")
      .one_of({"float", "bfloat16", "half"});
  command.option("--bucket", options.bucket_mib, "DDP's bucket in MiB; else 25")
      .type_name("MIB")
      .range(0.001, 65536.0);
  command.option("--steps", options.steps, "Measured; else 20").type_name("N").range(1, 1000000);
  command.option("--warmup", options.warm_up, "Before them; else 3").type_name("N").range(0, 1000000);
  command.flag("--compare-no-comm", options.compare, "Every step again with communication left out");
}

}  // namespace

void add_step_options(CommandLine& command, StepOptions& options) {
  add_rank_options(command, options);
  add_shape_options(command, options);
  command
      .option("--compute", options.compute,
              "Traffic: arithmetic of a calibrated amount, or idle as though a GPU worked")
      .one_of({"work", "idle"});
  command.option("--compute-ms", options.compute_ms, "Traffic: forward of a layer, the whole batch")
      .type_name("MS")
      .range(0.0, 1e6);
  command
      .option("--tflops", options.teraflops,
              "Traffic: how fast a rank computes; else 200 with NCCL, 0.1 without")
      .type_name("TFLOPS")
      .range(1e-6, 1e6);
  command.option("--loader-ms", options.loader_ms, "Time to load a batch, of one worker; else 0")
      .type_name("MS")
      .range(0.0, 1e6);
  command
      .option("--loader-workers", options.loader_workers,
              "Workers of each rank's loader; else 0, the step loads")
      .type_name("N")
      .range(0, 1024);
  command.option("--prefetch", options.prefetch, "Batches a worker may be ahead; else 2")
      .type_name("N")
      .range(1, 1024);
  command.option("--slow", options.slow, "Plant a slow rank: its number and how much longer it computes")
      .type_name("RANK:FACTOR");
  command.option("--scale", options.scale, "The same at several numbers of ranks: 1,2,4")
      .type_name("LIST")
      .delimiter(',');
  command
      .option("--scaling", options.scaling,
              "Whether the whole batch stays, or that of a replica; else strong")
      .one_of({"strong", "weak"});
  command.option("--format", options.format, "How to show it").one_of({"terminal", "json", "html", "svg"});
  command.option("--out", options.out, "Write here, not to standard output").type_name("FILE");
}

Result<StepPlan> step_plan(const StepOptions& given) {
  StepOptions options = given;
  if (auto good = check_options(options); !good) return std::unexpected(good.error());
  const std::uint32_t gpus = gpus_here();
  const auto environment = host::read_environment();
  const auto around = launch::find_local_rank({}, environment);
  StepPlan plan;
  // A shell within an allocation has rank variables, too: then --ranks says that the ranks are started here.
  plan.around = around && around->global_count.value_or(1) > 1 && !options.ranks &&
                options.launcher.empty() && options.scale.empty();
  if (!around && around.error().code == ErrorCode::kInvalidInput) return std::unexpected(around.error());
  const std::uint32_t said =
      options.data.value_or(1) * options.tensor.value_or(1) * options.pipeline.value_or(1);
  const std::uint32_t ranks = plan.around ? *around->global_count
                                          : options.ranks.value_or(said > 1   ? said
                                                                   : gpus > 0 ? gpus
                                                                              : 2);
  if (options.framework == "traffic" && options.backend.empty())
    options.backend = gpus >= ranks ? "nccl" : "gloo";
  const bool on_gpus = options.backend == "nccl" || (options.backend.empty() && gpus > 0);
  if (!options.scale.empty() && options.ranks)
    return std::unexpected(wrong("--scale says how many ranks: no --ranks besides"));
  RunRequest first;
  first.starter = starter_of(options, plan.around);
  first.spec.backend = options.backend;
  for (const std::uint32_t count : options.scale.empty() ? std::vector{ranks} : options.scale) {
    if (count == 0) return std::unexpected(wrong("--scale begins at 1 rank"));
    auto spec = spec_of(options, count, on_gpus);
    if (!spec) return std::unexpected(spec.error());
    if (!options.scale.empty()) {
      if (auto scaled = scale_batch(options, *spec); !scaled) return std::unexpected(scaled.error());
    }
    if (auto good = step::check_spec(*spec); !good) return std::unexpected(good.error());
    plan.runs.push_back(first);
    plan.runs.back().spec = *std::move(spec);
  }
  // Last: it starts a Python.
  RunRequest program = plan.runs.front();
  if (auto taken = take_program(options, program); !taken) return std::unexpected(taken.error());
  for (RunRequest& run : plan.runs) {
    run.python = program.python;
    run.rank_program = program.rank_program;
  }
  return plan;
}

}  // namespace angio::app
