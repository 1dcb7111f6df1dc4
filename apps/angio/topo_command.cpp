#include "topo_command.hpp"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "command.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "views/machine_json.hpp"
#include "views/topology_diff.hpp"
#include "views/topology_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string file;
  std::string format = "text";
  std::vector<std::string> diff;
  bool ascii = false;
  bool explain = false;
  std::optional<std::uint32_t> width;
  std::string out = "-";
};

report::TerminalStyle style_of(const Options& options) {
  // A file is no terminal: plain text of the usual width.
  report::TerminalStyle style = options.out == "-" ? terminal_style() : report::TerminalStyle{};
  if (options.ascii) style.ascii = true;
  if (options.width) style.width = *options.width;
  return style;
}

int write(const Options& options, const std::string& data) {
  if (options.out == "-") return print(data);
  if (auto done = write_output(options.out, data); !done) return report_error(done.error());
  return kOk;
}

Json difference_json(const views::TopologyComparison& comparison, const model::Machine& left,
                     const model::Machine& right) {
  Json differences = Json::array();
  for (const views::TopologyDifference& each : comparison.differences) {
    differences.push_back(Json::object({{"what", each.subject}, {"left", each.left}, {"right", each.right}}));
  }
  Json incomparable = Json::array();
  for (const std::string& each : comparison.incomparable)
    incomparable.push_back(each);
  return Json::object({{"schema", "angio.topology-diff/1"},
                       {"left", left.name},
                       {"right", right.name},
                       {"same", comparison.same()},
                       {"differences", std::move(differences)},
                       {"not_compared", std::move(incomparable)}});
}

int show_difference(const Options& options) {
  auto left = load_machine(options.diff[0]);
  if (!left) return report_error(left.error());
  auto right = load_machine(options.diff[1]);
  if (!right) return report_error(right.error());
  const views::TopologyComparison comparison = views::compare_topologies(*left, *right);
  const bool namesakes = left->name == right->name;
  const report::Document document = views::comparison_document(
      comparison, namesakes ? options.diff[0] : left->name, namesakes ? options.diff[1] : right->name);
  std::string text;
  if (options.format == "json") {
    text = to_text(difference_json(comparison, *left, *right)) + "\n";
  } else if (options.format == "html") {
    text = report::render_html(document);
  } else {
    text = report::render_terminal(document, style_of(options));
  }
  const int written = write(options, text);
  if (written != kOk) return written;
  return comparison.same() ? kOk : kFindings;
}

int show_machine(const Options& options) {
  auto machine = load_machine(options.file);
  if (!machine) return report_error(machine.error());
  if (options.format == "json") return write(options, to_text(views::machine_json(*machine)) + "\n");
  if (options.format == "svg") return write(options, report::render_svg(views::topology_drawing(*machine)));
  const bool page = options.format == "html";
  const report::Document document = views::topology_document(*machine, {options.explain, page});
  return write(options,
               page ? report::render_html(document) : report::render_terminal(document, style_of(options)));
}

int run(const Options& options) {
  if (options.diff.empty()) return show_machine(options);
  const Error* wrong = nullptr;
  static const Error kNoPicture{ErrorCode::kUnsupported, "a difference has no picture",
                                "use --format text, json or html"};
  static const Error kTwice{ErrorCode::kInvalidInput,
                            "--diff takes its two machines itself, and no FILE besides", ""};
  if (options.format == "svg") wrong = &kNoPicture;
  if (!options.file.empty()) wrong = &kTwice;
  if (wrong == nullptr) return show_difference(options);
  report_error(*wrong);
  return kUsage;
}

}  // namespace

void setup_topo(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("topo", "Show how CPUs, memory, GPUs, NICs and drives hang together");
  const auto options = std::make_shared<Options>();
  command.option("file", options->file, "Snapshot, tree or foreign text; none: this host").type_name("FILE");
  command.option("--format", options->format, "How to show it").one_of({"text", "json", "svg", "html"});
  command.flag("--ascii", options->ascii, "Only ASCII characters");
  command.flag("--explain", options->explain, "Say what each class and unusual pair means");
  command.option("--diff", options->diff, "What differs; exit with 1 if something does")
      .type_name("A B")
      .expected(2);
  command.option("--width", options->width, "Width of the text, 40 to 1000")
      .type_name("COLUMNS")
      .range(40, 1000);
  command.option("--out", options->out, "Write here, not to standard output").type_name("FILE");
  command.callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace angio::app
