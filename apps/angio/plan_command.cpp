#include "plan_command.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/cpu_set.hpp"
#include "command.hpp"
#include "host/system_roots.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "place/own_place.hpp"
#include "placement_options.hpp"
#include "plan/export/export.hpp"
#include "views/placement_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string file;
  std::optional<std::uint32_t> ranks;
  PlacementOptions placement;
  std::string format = "text";
  std::optional<std::string> visible;
  std::optional<std::string> allowed_cpus;
  std::optional<std::string> allowed_memory;
  bool why = false;
  std::string out = "-";
};

Result<std::optional<CpuSet>> parse_set(const char* option, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  const std::optional<CpuSet> set = parse_cpu_list(*text);
  if (set) return set;
  return fail(ErrorCode::kInvalidInput, std::string(option) + " \"" + *text + "\" is no list of numbers",
              "write it as the kernel does: 0-13,112-125");
}

// The variables of the ranks: this process's for this host, none for a captured one; --visible is for both.
std::vector<std::string> environment_of(const Options& options, const model::Machine& machine) {
  std::vector<std::string> environment;
  if (machine.live) environment = host::read_environment();
  if (!options.visible) return environment;
  const bool amd = !machine.gpus.empty() && machine.gpus[0].vendor == model::GpuVendor::kAmd;
  environment.insert(environment.begin(),
                     (amd ? "ROCR_VISIBLE_DEVICES=" : "CUDA_VISIBLE_DEVICES=") + *options.visible);
  return environment;
}

Result<plan::PlanRequest> request_of(const Options& options, const model::Machine& machine) {
  plan::PlanRequest request = to_request(options.placement);
  request.visible = place::visible_in(environment_of(options, machine));
  request.ranks = options.ranks;
  auto cpus = parse_set("--allowed-cpus", options.allowed_cpus);
  if (!cpus) return std::unexpected(std::move(cpus.error()));
  auto memory = parse_set("--allowed-memory", options.allowed_memory);
  if (!memory) return std::unexpected(std::move(memory.error()));
  request.allowed_cpus = *std::move(cpus);
  request.allowed_memory = *std::move(memory);
  return request;
}

std::string render(const Options& options, const model::Machine& machine, const model::Placement& placement) {
  if (options.format == "json") return to_text(views::placement_json(machine, placement)) + "\n";
  if (const auto format = plan::parse_export_format(options.format)) {
    plan::Export made = plan::export_placement(machine, placement, *format);
    for (const std::string& remark : made.remarks)
      say("angio: " + remark);
    return made.text;
  }
  const report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
  return report::render_terminal(views::placement_document(machine, placement, options.why), style);
}

int run(const Options& options) {
  auto machine = load_machine(options.file);
  if (!machine) return report_error(machine.error());
  const auto request = request_of(options, *machine);
  if (!request) return report_error(request.error());
  const auto placement = plan::make_placement(*machine, *request);
  if (!placement) return report_error(placement.error());
  const std::string text = render(options, *machine, *placement);
  if (options.out == "-") return print(text);
  if (auto done = write_output(options.out, text); !done) return report_error(done.error());
  return kOk;
}

}  // namespace

void setup_plan(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("plan", "Say where each rank belongs: GPU, CPUs, memory, NIC, threads");
  const auto options = std::make_shared<Options>();
  command.option("file", options->file, "Snapshot, tree or foreign text; none: this host").type_name("FILE");
  command
      .option("--ranks", options->ranks, "Ranks on the machine; else one for each visible GPU, or each node")
      .type_name("N")
      .range(1, 65536);
  add_placement_options(command, options->placement);
  command.option("--format", options->format, "How to say it")
      .one_of({"text", "json", "numactl", "taskset", "slurm", "mpirun-rankfile", "torchrun", "systemd",
               "kubernetes", "env"});
  command.option("--visible", options->visible, "GPUs the ranks see, as CUDA_VISIBLE_DEVICES")
      .type_name("LIST");
  command.option("--allowed-cpus", options->allowed_cpus, "CPUs the scheduler grants").type_name("LIST");
  command.option("--allowed-memory", options->allowed_memory, "NUMA nodes the scheduler grants")
      .type_name("LIST");
  command.flag("--why", options->why, "Give the grounds of every choice");
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
