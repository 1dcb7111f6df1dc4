#include "options.hpp"

#include <CLI/CLI.hpp>

#include <utility>

#include "command.hpp"

namespace angio::app {
namespace {

constexpr std::size_t kHelpColumn = 24;  // where the words on an option begin

template <typename Value>
Option add(CLI::App& app, std::string_view name, Value& variable, std::string_view help) {
  return Option(*app.add_option(std::string(name), variable, std::string(help)));
}

}  // namespace

Option& Option::type_name(const char* name) {
  option_->type_name(name);
  return *this;
}
Option& Option::one_of(const std::vector<std::string>& words) {
  option_->check(CLI::IsMember(words));
  return *this;
}
Option& Option::range(int least, int most) {
  option_->check(CLI::Range(least, most));
  return *this;
}
Option& Option::range(double least, double most) {
  option_->check(CLI::Range(least, most));
  // "nan" is neither below the least nor above the most.
  option_->check(CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const bool is_nan = CLI::detail::lexical_cast(text, value) && value != value;
        return is_nan ? "Value " + text + " is no number" : std::string();
      },
      ""));
  return *this;
}
Option& Option::required() {
  option_->required();
  return *this;
}
Option& Option::expected(int count) {
  option_->expected(count);
  return *this;
}
Option& Option::expected(int least, int most) {
  option_->expected(least, most);
  return *this;
}
Option& Option::one_value() {
  option_->allow_extra_args(false);
  return *this;
}
Option& Option::delimiter(char character) {
  option_->delimiter(character);
  return *this;
}
Option& Option::take_all() {
  option_->take_all();
  return *this;
}
Option& Option::default_value(const char* value) {
  option_->default_str(value);
  return *this;
}
Option& Option::excludes(const Option& other) {
  option_->excludes(other.option_);
  return *this;
}
bool Option::given() const {
  return option_->count() > 0;
}

CommandLine CommandLine::subcommand(std::string_view name, std::string_view help) {
  return CommandLine(*app_->add_subcommand(std::string(name), std::string(help)));
}
void CommandLine::require_subcommand() {
  app_->require_subcommand(1);
}
Option CommandLine::option(std::string_view name, std::string& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::optional<std::string>& variable,
                           std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::vector<std::string>& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, int& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::uint32_t& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::optional<std::uint32_t>& variable,
                           std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::vector<std::uint32_t>& variable,
                           std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::uint64_t& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::optional<std::uint64_t>& variable,
                           std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, double& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
Option CommandLine::option(std::string_view name, std::optional<double>& variable, std::string_view help) {
  return add(*app_, name, variable, help);
}
void CommandLine::flag(std::string_view name, bool& variable, std::string_view help) {
  app_->add_flag(std::string(name), variable, std::string(help));
}
void CommandLine::version_flag(const char* name, const char* version) {
  app_->set_version_flag(name, version);
}
void CommandLine::footer(const char* text) {
  app_->footer(text);
}
void CommandLine::callback(std::function<void()> call) {
  app_->callback(std::move(call));
}
bool CommandLine::chosen() const {
  return app_->parsed();
}
bool CommandLine::takes_value(const std::string& option) const {
  const CLI::Option* found = std::as_const(*app_).get_option_no_throw(option);
  return found != nullptr && found->get_items_expected_max() > 0;
}
std::string CommandLine::help() const {
  return app_->help();
}

Parser::Parser(const char* description) : app_(std::make_unique<CLI::App>(description, "angio")) {
  app_->get_formatter()->column_width(kHelpColumn);
}
Parser::~Parser() = default;

CommandLine Parser::top() const {
  return CommandLine(*app_);
}

int Parser::run(int argc, char** argv, const int& exit_code) {
  try {
    app_->parse(argc, argv);
    return exit_code;
  } catch (const CLI::CallForHelp&) {
    return print(app_->help());
  } catch (const CLI::CallForAllHelp&) {
    return print(app_->help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion& version) {
    return print(std::string(version.what()) + "\n");
  } catch (const CLI::ParseError& error) {
    const auto chosen = app_->get_subcommands();
    const std::string command = chosen.empty() ? "angio" : "angio " + chosen.front()->get_name();
    (void)report_error({ErrorCode::kInvalidInput, error.what(), command + " --help lists the options"});
    return kUsage;
  }
}

}  // namespace angio::app
