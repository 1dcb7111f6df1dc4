#include "compat_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "command.hpp"
#include "compat/check.hpp"
#include "load_machine.hpp"
#include "options.hpp"
#include "views/compat_view.hpp"

namespace angio::app {
namespace {

struct Options {
  std::vector<std::string> words;
  std::vector<std::string> machines;
  std::vector<std::string> texts;
  bool live = false;
  bool features = false;
  bool parts = false;
  std::string format = "terminal";
  std::string fail_on = "never";
};

// What holds for every machine: versions given by hand and pasted text.
struct Common {
  compat::Stack stack;
  std::string subject;
  std::string remark;
};

void name_subject(std::string& subject, const std::string& name) {
  subject += (subject.empty() ? "" : ", ") + name;
}

Result<void> add_text(const std::string& file, Common& common) {
  const auto bytes = read_input(file);
  if (!bytes) return std::unexpected(bytes.error());
  const compat::ParsedStack parsed = compat::parse_stack(*bytes);
  const std::string name = file == "-" ? "standard input" : file;
  if (parsed.understood == 0)
    common.remark =
        parsed.lines == 0
            ? name + " is empty"
            : fmt::format("{}: none of its {} lines names a version that angio knows", name, parsed.lines);
  compat::merge(common.stack, parsed.stack);
  name_subject(common.subject, name);
  return {};
}

// What was given by hand counts before what was found.
Result<Common> common_of(const Options& options, compat::Stack given) {
  Common common{.stack = std::move(given), .subject = {}, .remark = {}};
  if (!options.words.empty()) name_subject(common.subject, "as given");
  for (const std::string& file : options.texts)
    if (auto done = add_text(file, common); !done) return std::unexpected(std::move(done.error()));
  return common;
}

// One of several goes by its name alone: what was given by hand is the same for all.
Result<views::CompatStack> add_machine(const Common& common, const std::string& file, bool several) {
  const auto machine = load_machine(file);
  if (!machine) return std::unexpected(machine.error());
  views::CompatStack one{
      .stack = common.stack, .report = {}, .subject = common.subject, .remark = common.remark};
  compat::merge(one.stack, compat::stack_of(*machine));
  if (several) one.subject.clear();
  name_subject(one.subject, file.empty()                        ? "this host"
                            : several && !machine->name.empty() ? machine->name
                                                                : file);
  return one;
}

Result<std::vector<views::CompatStack>> collect(const Options& options, compat::Stack given) {
  const auto common = common_of(options, std::move(given));
  if (!common) return std::unexpected(common.error());
  std::vector<std::string> machines = options.machines;
  if (options.live || (machines.empty() && common->subject.empty())) machines.emplace_back();
  std::vector<views::CompatStack> stacks;
  for (const std::string& file : machines) {
    auto one = add_machine(*common, file, machines.size() > 1);
    if (!one) return std::unexpected(std::move(one.error()));
    stacks.push_back(*std::move(one));
  }
  if (stacks.empty())
    stacks.push_back(
        {.stack = common->stack, .report = {}, .subject = common->subject, .remark = common->remark});
  for (views::CompatStack& one : stacks)
    one.report = compat::check(one.stack);
  return stacks;
}

int verdict_code(const Options& options, const std::vector<views::CompatStack>& stacks) {
  if (options.fail_on == "never") return kOk;
  for (const views::CompatStack& one : stacks) {
    for (const compat::Constraint& constraint : one.report.constraints) {
      if (constraint.verdict == compat::Verdict::kFails) return kFindings;
      if (constraint.verdict == compat::Verdict::kUnknown && options.fail_on == "unknown") return kFindings;
    }
  }
  return kOk;
}

int run(const Options& options) {
  if (options.parts) return print(report::render_terminal(views::compat_parts_document(), terminal_style()));
  auto given = compat::parse_words(options.words);
  if (!given) {
    (void)report_error(given.error());
    return kUsage;
  }
  const auto stacks = collect(options, *std::move(given));
  if (!stacks) return report_error(stacks.error());
  const int code = options.format == "json"
                       ? print(to_text(views::compat_json(*stacks)) + "\n")
                       : print(report::render_terminal(views::compat_document(*stacks, options.features),
                                                       terminal_style()));
  return code == kOk ? verdict_code(options, *stacks) : code;
}

// --snap takes all that follows: a word such as driver=535.54.03 behind the files is no file.
void sort_words(Options& options) {
  const auto is_word = [](const std::string& text) {
    const std::string name = text.substr(0, text.find('='));
    return name.size() < text.size() && (name == "firmware" || compat::find_part(name));
  };
  std::ranges::copy_if(options.machines, std::back_inserter(options.words), is_word);
  std::erase_if(options.machines, is_word);
}

}  // namespace

void setup_compat(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("compat", "Say whether driver, CUDA, NCCL and the rest fit each other");
  const auto options = std::make_shared<Options>();
  command.option("version", options->words, "driver=535.54.03 cuda=12.3 nccl=2.16.2 …; none: this host")
      .type_name("PART=VERSION");
  command.option("--snap", options->machines, "Versions of these snapshots or captured trees")
      .type_name("FILE");
  command.flag("--live", options->live, "Versions of this host, together with the others named");
  command
      .option("--file", options->texts, "Pasted output of pip, nvidia-smi, ofed_info …; - is standard input")
      .type_name("TEXT")
      .one_value()
      .take_all();
  command.flag("--features", options->features, "List what the NCCL brings, by release");
  command.flag("--parts", options->parts, "List the words for PART and end");
  command.option("--format", options->format, "How to say it").one_of({"terminal", "json"});
  command.option("--fail-on", options->fail_on, "Exit with 1 for this or worse")
      .one_of({"never", "fails", "unknown"});
  command.callback([options, &exit_code] {
    sort_words(*options);
    exit_code = run(*options);
  });
}

}  // namespace angio::app
