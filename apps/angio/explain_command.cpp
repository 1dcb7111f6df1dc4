#include "explain_command.hpp"

#include <memory>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "knowledge/glossary.hpp"
#include "options.hpp"
#include "views/explain_view.hpp"

namespace angio::app {

namespace {

struct Options {
  std::vector<std::string> words;
  std::string kind;
  std::string version;
  std::string format = "text";
};

std::string hint_of(const std::string& word) {
  const std::vector<std::string> near = knowledge::suggestions(word);
  if (!near.empty()) return "Did you mean " + join(near, ", ") + "?";
  if (to_lower(trim(word)).starts_with("nccl_"))
    return "No release of NCCL in the catalogue reads it, and NCCL never complains of unknown names";
  return "angio explain lists the kinds of words it knows";
}

Error unknown_word(const std::string& word) {
  return {ErrorCode::kNotFound, "nothing is known of \"" + printable(word) + "\"", hint_of(word)};
}

Error unknown_kind(const std::string& kind) {
  std::vector<std::string> names;
  std::vector<std::string_view> views;
  for (const views::ExplainKind& known : views::explain_kinds())
    names.push_back(known.name);
  views.assign(names.begin(), names.end());
  const auto near = did_you_mean(kind, views);
  return {ErrorCode::kInvalidInput, "--kind: there is no kind \"" + printable(kind) + "\"",
          near ? "Did you mean " + *near + "?" : "The kinds are " + join(names, ", ")};
}

int show(const Options& options, const Json& json, const report::Document& document) {
  if (options.format == "json") return print(to_text(json) + "\n");
  return print(render_terminal(document, terminal_style()));
}

int list_kind(const Options& options) {
  const report::Document document = views::kind_document(options.kind);
  if (document.blocks.empty()) {
    report_error(unknown_kind(options.kind));
    return kUsage;
  }
  return show(options, views::kind_json(options.kind), document);
}

// One thing of several words, else each word on its own.
Result<std::vector<knowledge::Meanings>> look_up_words(const std::vector<std::string>& words) {
  std::vector<knowledge::Meanings> found = {knowledge::look_up(join(words, " "))};
  if (!found.front().empty()) return found;
  if (words.size() == 1) return std::unexpected(unknown_word(words.front()));
  found.clear();
  for (const std::string& word : words) {
    found.push_back(knowledge::look_up(word));
    if (found.back().empty()) return std::unexpected(unknown_word(word));
  }
  return found;
}

int explain_words(const Options& options) {
  const auto words = look_up_words(options.words);
  if (!words) {
    report_error(words.error());
    return kUsage;
  }
  return show(options, views::explain_json(*words, options.version),
              views::explain_document(*words, options.version));
}

int explain(const Options& options) {
  if (!options.version.empty() && !knowledge::compare_versions(options.version, "2")) {
    report_error({ErrorCode::kInvalidInput, "--nccl \"" + printable(options.version) + "\" is no version",
                  "write it as 2.28.9"});
    return kUsage;
  }
  if (!options.kind.empty() && !options.words.empty()) {
    report_error({ErrorCode::kInvalidInput, "--kind lists all words of a kind and takes no word", {}});
    return kUsage;
  }
  if (!options.kind.empty()) return list_kind(options);
  if (!options.words.empty()) return explain_words(options);
  return show(options, views::kinds_json(), views::kinds_document());
}

}  // namespace

void setup_explain(CommandLine& app, int& exit_code) {
  CommandLine command =
      app.subcommand("explain", "Say what a variable, rule, counter, status or line of a log means");
  const auto options = std::make_shared<Options>();
  command.option("word", options->words, "A name, a number or a line in quotes; none: the kinds")
      .type_name("WORD");
  command.option("--nccl", options->version, "Say what this release of NCCL does").type_name("VERSION");
  command.option("--kind", options->kind, "List all words of one kind").type_name("KIND");
  command.option("--format", options->format, "How to say it").one_of({"text", "json"});
  command.callback([options, &exit_code] { exit_code = explain(*options); });
}

}  // namespace angio::app
