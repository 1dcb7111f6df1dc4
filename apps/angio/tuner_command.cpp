#include "tuner_command.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.hpp"
#include "command.hpp"
#include "options.hpp"
#include "views/tuner_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::string file;
  std::string format = "terminal";
  std::optional<std::string> collective;
  std::optional<std::string> bytes;
  std::uint64_t nodes = 1;
  std::uint64_t ranks = 1;
  std::uint64_t pipe_ops = 1;
  bool registered = false;
};

// Hints of a table stand in brackets or on a line of their own; behind an error they are a sentence.
std::string sentence(std::string hint) {
  if (!hint.empty() && hint.front() >= 'a' && hint.front() <= 'z')
    hint.front() = static_cast<char>(hint.front() - 'a' + 'A');
  return hint;
}

Result<views::TunerTable> read_table(const Options& options) {
  const auto bytes = read_input(options.file);
  if (!bytes) return std::unexpected(bytes.error());
  return views::TunerTable{options.file == "-" ? "standard input" : options.file,
                           std::make_shared<const tuner::Table>(tuner::parse_table(*bytes))};
}

int show_either(const Options& options, const Json& json, const report::Document& document) {
  return print(options.format == "json" ? to_text(json) + "\n"
                                        : report::render_terminal(document, terminal_style()));
}

int check(const Options& options) {
  const auto given = read_table(options);
  if (!given) return report_error(given.error());
  const int code = show_either(options, views::tuner_check_json(*given), views::tuner_check_document(*given));
  return code == kOk && !given->table->usable() ? kFindings : code;
}

Result<views::TunerQuestion> question_of(const Options& options) {
  views::TunerQuestion question{.nodes = options.nodes,
                                .ranks = options.ranks,
                                .collective = std::nullopt,
                                .bytes = std::nullopt,
                                .pipe_ops = options.pipe_ops,
                                .registered = options.registered};
  if (options.ranks < options.nodes)
    return fail(ErrorCode::kInvalidInput,
                "a job of " + std::to_string(options.nodes) + " nodes has at least as many ranks",
                "--ranks counts those of all nodes");
  if (options.collective) {
    question.collective = tuner::parse_collective(*options.collective);
    if (!question.collective)
      return fail(ErrorCode::kInvalidInput,
                  "there is no collective \"" + printable(*options.collective) + "\"",
                  sentence(tuner::collective_hint(*options.collective)));
  }
  if (options.bytes) {
    question.bytes = tuner::parse_size(*options.bytes);
    if (!question.bytes)
      return fail(ErrorCode::kInvalidInput, "--bytes \"" + printable(*options.bytes) + "\" is no size",
                  "Write 65536, 64K, 16M or 1G (powers of 1024)");
  }
  return question;
}

// The first of what angio tuner check would list.
Error refusal(const views::TunerTable& given) {
  const tuner::Remark& first = given.table->problems.front();
  const std::string line = first.line == 0 ? "" : ":" + std::to_string(first.line);
  const std::size_t more = given.table->problems.size() - 1 + given.table->more_problems;
  const std::string rest = more == 0 ? "" : "; and " + std::to_string(more) + " more, see angio tuner check";
  return {ErrorCode::kInvalidInput, given.file + line + ": " + first.message + rest, sentence(first.hint)};
}

int show(const Options& options) {
  const auto question = question_of(options);
  if (!question) {
    (void)report_error(question.error());
    return kUsage;
  }
  const auto given = read_table(options);
  if (!given) return report_error(given.error());
  if (!given->table->usable()) return report_error(refusal(*given));
  return show_either(options, views::tuner_choice_json(*given, *question),
                     views::tuner_choice_document(*given, *question));
}

using Run = int (*)(const Options&);

CommandLine add(CommandLine& parent, const std::shared_ptr<Options>& options, const char* name,
                const char* text, Run run, int& exit_code) {
  CommandLine command = parent.subcommand(name, text);
  command.option("file", options->file, "The table, TOML or CSV; - is standard input")
      .type_name("FILE")
      .required();
  command.option("--format", options->format, "How to say it").one_of({"terminal", "json"});
  command.callback([options, run, &exit_code] { exit_code = run(*options); });
  return command;
}

}  // namespace

void setup_tuner(CommandLine& app, int& exit_code) {
  CommandLine command = app.subcommand("tuner", "Check a table for the NCCL tuner plugin, and ask it");
  command.require_subcommand();
  const auto options = std::make_shared<Options>();
  add(command, options, "check", "Say whether the plugin takes the table; exit with 1 if it does not", check,
      exit_code);
  CommandLine shown =
      add(command, options, "show", "Say what the table decides for a communicator", show, exit_code);
  shown.option("--nodes", options->nodes, "Nodes of the communicator")
      .type_name("N")
      .range(1, 1 << 20)
      .required();
  shown.option("--ranks", options->ranks, "Its ranks on all nodes")
      .type_name("N")
      .range(1, 1 << 24)
      .required();
  shown.option("--collective", options->collective, "Only this: allreduce, allgather, …").type_name("NAME");
  shown.option("--bytes", options->bytes, "Only this size: 65536, 64K, 16M, 1G").type_name("SIZE");
  shown.option("--pipe-ops", options->pipe_ops, "Operations that NCCL takes together; 1 for one alone")
      .type_name("N")
      .range(1, 1 << 20);
  shown.flag("--registered", options->registered, "With buffers registered at NCCL");
}

}  // namespace angio::app
