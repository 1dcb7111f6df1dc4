// How a command says what options it has, and the parser that reads them. Not the parser's library: only
// options.cpp includes CLI11, whose templates cost seconds in every source that sees them. Here are the
// types of value and the checks that commands use; another one is a line here and a line there.
// CommandLine and Option are handles into a Parser and may be copied; they live as long as it does.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace angio::app {

class Option {
 public:
  explicit Option(CLI::Option& option) : option_(&option) {}

  // What stands for the value in the help: FILE, N.
  Option& type_name(const char* name);
  Option& one_of(const std::vector<std::string>& words);
  // Both included.
  Option& range(int least, int most);
  Option& range(double least, double most);
  Option& required();
  // So many values.
  Option& expected(int count);
  Option& expected(int least, int most);
  // A list takes one value each time it is given, and not the words behind it.
  Option& one_value();
  // Values may be joined by this, too.
  Option& delimiter(char character);
  // Given several times, all values count.
  Option& take_all();
  // Used where the option is given without a value.
  Option& default_value(const char* value);
  Option& excludes(const Option& other);

  [[nodiscard]] bool given() const;

 private:
  CLI::Option* option_;
};

// One command: "angio", "angio topo", "angio bench compare".
class CommandLine {
 public:
  explicit CommandLine(CLI::App& app) : app_(&app) {}

  CommandLine subcommand(std::string_view name, std::string_view help);
  void require_subcommand();

  // "--name" or "--name,--other"; without dashes it goes by its place. The variable keeps its value as the
  // default.
  Option option(std::string_view name, std::string& variable, std::string_view help);
  Option option(std::string_view name, std::optional<std::string>& variable, std::string_view help);
  Option option(std::string_view name, std::vector<std::string>& variable, std::string_view help);
  Option option(std::string_view name, int& variable, std::string_view help);
  Option option(std::string_view name, std::uint32_t& variable, std::string_view help);
  Option option(std::string_view name, std::optional<std::uint32_t>& variable, std::string_view help);
  Option option(std::string_view name, std::vector<std::uint32_t>& variable, std::string_view help);
  Option option(std::string_view name, std::uint64_t& variable, std::string_view help);
  Option option(std::string_view name, std::optional<std::uint64_t>& variable, std::string_view help);
  Option option(std::string_view name, double& variable, std::string_view help);
  Option option(std::string_view name, std::optional<double>& variable, std::string_view help);
  void flag(std::string_view name, bool& variable, std::string_view help);

  void version_flag(const char* name, const char* version);
  // Below the options in the help.
  void footer(const char* text);
  // Called after parsing if the command was chosen.
  void callback(std::function<void()> call);

  [[nodiscard]] bool chosen() const;
  // Whether the option of this name is one of the command's and wants a value.
  [[nodiscard]] bool takes_value(const std::string& option) const;
  [[nodiscard]] std::string help() const;

 private:
  CLI::App* app_;
};

class Parser {
 public:
  explicit Parser(const char* description = "");
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;
  ~Parser();

  // "angio" itself, where commands are added.
  [[nodiscard]] CommandLine top() const;

  // Parses argv, calls back the chosen command and returns the exit code it stored; prints help, version and
  // usage errors.
  int run(int argc, char** argv, const int& exit_code);

 private:
  std::unique_ptr<CLI::App> app_;
};

}  // namespace angio::app
