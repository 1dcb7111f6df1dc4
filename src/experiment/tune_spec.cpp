#include "experiment/tune_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "base/text.hpp"
#include "experiment/privileged.hpp"
#include "experiment/spec_reader.hpp"
#include "experiment/spec_toml.hpp"
#include "experiment/tune_arms.hpp"

namespace angio::experiment {
namespace {

constexpr std::size_t kMostArms = 64;
constexpr std::uint32_t kBlocksByDefault = 40;

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && std::ranges::all_of(name, fits) && !(name[0] >= '0' && name[0] <= '9');
}

class Builder {
 public:
  explicit Builder(const std::string& name) : read_(name) {}

  Result<TuneSpec> build(const SpecValue& top) {
    read_.allow(top, "the description",
                {"hypothesis", "command", "launcher", "run", "better", "confidence",
                 "smallest_effect_percent", "seed", "warm_up", "run_limit_seconds", "design", "metric",
                 "budget", "factor", "combination", "watch"});
    command(top);
    general(top);
    measure(top);
    for (const SpecValue* table : read_.tables(top, "factor"))
      factor(*table);
    if (!read_.failed() && spec_.factors.empty())
      read_.object(top, "no [[factor]]: nothing to try", "a factor names what is set and its levels");
    design(top);
    for (const SpecValue* table : read_.tables(top, "watch"))
      watch(*table);
    finish(top);
    if (read_.failed()) return std::unexpected(read_.error());
    return std::move(spec_);
  }

 private:
  void command(const SpecValue& top) {
    const SpecValue* value = top.find("command");
    if (value == nullptr) return read_.object(top, "no command", R"(command = ["./train", "--steps", "50"])");
    if (std::holds_alternative<std::string>(value->value)) {
      spec_.shell = true;
      spec_.command = {read_.text(top, "command").value_or("")};
    } else {
      spec_.command = read_.words(top, "command");
    }
    if (!read_.failed() && (spec_.command.empty() || trim(spec_.command[0]).empty()))
      read_.object(*value, "command is empty");
    spec_.launcher = read_.words(top, "launcher");
    spec_.run_options = read_.words(top, "run");
    spec_.behind_run = top.find("run") != nullptr;
    refuse_privileged(*value, spec_.command);
    refuse_privileged(*value, spec_.launcher);
  }

  void refuse_privileged(const SpecValue& at, const std::vector<std::string>& words) {
    const auto found = find_privileged(words);
    if (!found) return;
    read_.object(
        at,
        fmt::format("\"{}\" has {} in it: angio tune touches no privileged setting",
                    printable(join(words, " ")), found->what),
        fmt::format("The risk: {}. Set it by hand, and run a campaign before and one after", found->risk));
  }

  void general(const SpecValue& top) {
    constexpr double kPercent = 100;
    spec_.hypothesis = read_.text(top, "hypothesis").value_or("");
    spec_.wish.better = better(top, Better::kUnstated);
    spec_.wish.confidence = read_.number(top, "confidence", 0.5, 0.9999).value_or(0.95);
    spec_.wish.worthwhile = read_.number(top, "smallest_effect_percent", 0.01, 100).value_or(1) / kPercent;
    if (const auto seed = read_.whole(top, "seed", 0, INT64_MAX)) {
      spec_.wish.seed = static_cast<std::uint64_t>(*seed);
      spec_.seed_given = true;
    }
    spec_.wish.warm_up = static_cast<std::uint32_t>(read_.whole(top, "warm_up", 0, 100).value_or(1));
    spec_.run_limit_seconds = read_.number(top, "run_limit_seconds", 0.01, 1e7);
  }

  Better better(const SpecValue& table, Better otherwise) {
    const auto word = read_.text(table, "better");
    if (!word) return otherwise;
    if (*word == "higher") return Better::kHigher;
    if (*word == "lower") return Better::kLower;
    read_.object(*table.find("better"),
                 fmt::format("better = \"{}\", expected \"higher\" or \"lower\"", printable(*word)));
    return otherwise;
  }

  void measure(const SpecValue& top) {
    const SpecValue* table = top.find("metric");
    if (table == nullptr)
      return read_.object(top, "no [metric]: what a run is judged by",
                          "for example [metric] with pattern = 'tokens/s: ([0-9.]+)', or wall_time = true");
    read_.allow(
        *table, "[metric]",
        {"pattern", "json", "figure", "subject", "level", "last_number", "wall_time", "name", "unit"});
    spec_.measure = figure_of(*table, "[metric]");
    const bool time = !spec_.measure.figure && spec_.measure.metric.kind == MetricKind::kWallTime;
    if (time && spec_.wish.better == Better::kUnstated) spec_.wish.better = Better::kLower;
    if (time && spec_.wish.better == Better::kHigher)
      read_.object(*table, "better = \"higher\" of a wall time");
    if (spec_.wish.better == Better::kUnstated)
      read_.object(top, "better is not said", "better = \"higher\" or better = \"lower\"");
  }

  MeasureWish figure_of(const SpecValue& table, const std::string& where) {
    MeasureWish made;
    std::size_t kinds = 0;
    if (const auto pattern = read_.text(table, "pattern")) {
      ++kinds;
      made.metric = {MetricKind::kPattern, *pattern, Better::kUnstated};
      made.name = *pattern;
      if (auto tried = Metric::make(made.metric); !tried)
        read_.object(*table.find("pattern"), without_option(tried.error().message), tried.error().hint);
    }
    if (read_.truth(table, "last_number").value_or(false)) {
      ++kinds;
      made.metric.kind = MetricKind::kLastNumber;
      made.name = "the last number printed";
    }
    if (read_.truth(table, "wall_time").value_or(false)) {
      ++kinds;
      made.name = "wall time";
      made.unit = "s";
    }
    if (const auto path = read_.text(table, "json")) {
      ++kinds;
      made.figure = FigureWish{*path, {}, {}, {}};
      made.name = *path;
      if (const std::string wrong = wrong_path(*path); !wrong.empty())
        read_.object(*table.find("json"), fmt::format("json = \"{}\": {}", printable(*path), wrong));
    }
    if (const auto name = read_.text(table, "figure")) {
      ++kinds;
      made.figure = FigureWish{{}, *name, read_.text(table, "subject").value_or(""), schema_of(table)};
      made.name = *name;
    } else if (table.find("level") != nullptr || table.find("subject") != nullptr) {
      read_.object(table, fmt::format("{} has a level or a subject, but no figure", where));
    }
    if (kinds != 1)
      read_.object(table, fmt::format("{} names {} ways to find its figure, expected one", where, kinds),
                   "one of pattern, json, figure, last_number" +
                       std::string(where == "[metric]" ? ", wall_time" : ""));
    if (const auto name = read_.text(table, "name")) made.name = *name;
    if (const auto unit = read_.text(table, "unit")) made.unit = *unit;
    return made;
  }

  static std::string without_option(std::string words) {
    constexpr std::string_view kOption = "--metric ";
    if (words.starts_with(kOption)) words.replace(0, kOption.size(), "pattern ");
    return words;
  }

  std::string schema_of(const SpecValue& table) {
    const auto level = read_.whole(table, "level", 1, 2);
    if (!level) return "";
    return *level == 1 ? "angio.bench-collective/" : "angio.bench-step/";
  }

  void factor(const SpecValue& table) {
    read_.allow(table, "[[factor]]",
                {"name", "environment", "run_option", "launcher_option", "argument", "levels", "baseline",
                 "sysctl", "write", "nvidia_smi", "tc", "ip_link", "ethtool", "module"});
    refuse_kind(table);
    Factor made;
    constexpr std::array kKinds{std::pair{"environment", FactorKind::kEnvironment},
                                std::pair{"run_option", FactorKind::kRunOption},
                                std::pair{"launcher_option", FactorKind::kLauncherOption},
                                std::pair{"argument", FactorKind::kArgument}};
    std::size_t kinds = 0;
    for (const auto& [key, kind] : kKinds) {
      const auto target = read_.text(table, key);
      if (!target) continue;
      ++kinds;
      made.kind = kind;
      made.target = *target;
    }
    if (kinds != 1)
      read_.object(table, fmt::format("a [[factor]] sets {} things, expected one", kinds),
                   "one of environment, run_option, launcher_option, argument");
    made.name = read_.text(table, "name").value_or(made.target);
    check_target(table, made);
    levels(table, made);
    for (const Factor& other : spec_.factors) {
      if (other.name == made.name || (other.kind == made.kind && other.target == made.target))
        read_.object(table, fmt::format("the factor \"{}\" is there twice", printable(made.name)));
    }
    spec_.factors.push_back(std::move(made));
  }

  void refuse_kind(const SpecValue& table) {
    for (const RefusedKind& kind : refused_kinds()) {
      const auto name = read_.text(table, kind.key);
      if (!name) continue;
      std::string level = "LEVEL";
      if (const auto* value = table.find("levels")) {
        const auto* list = std::get_if<SpecValue::List>(&value->value);
        if (list != nullptr && !list->empty()) level = scalar_text(list->back()).value_or(level);
      }
      std::string by_hand;
      for (const std::string_view word : split_words(kind.command))
        by_hand += (by_hand.empty() ? "" : " ") + filled_in(word, *name, level);
      read_.object(
          table, fmt::format("\"{}\" needs root: angio tune touches no privileged setting", printable(*name)),
          fmt::format("By hand: {} (the risk: {}); run a campaign before and one after", printable(by_hand),
                      kind.risk));
    }
  }

  static std::string filled_in(std::string_view word, const std::string& name, const std::string& level) {
    std::string made(word);
    for (const auto& [mark, text] :
         {std::pair<std::string_view, const std::string&>{"{name}", name}, {"{level}", level}}) {
      if (const std::size_t at = made.find(mark); at != std::string::npos)
        made.replace(at, mark.size(), text);
    }
    return made;
  }

  void check_target(const SpecValue& table, const Factor& factor) {
    if (read_.failed()) return;
    const std::string shown = printable(factor.target);
    switch (factor.kind) {
      case FactorKind::kEnvironment:
        if (!is_name(factor.target)) read_.object(table, "\"" + shown + "\" is no name of a variable");
        break;
      case FactorKind::kRunOption:
        spec_.behind_run = true;
        [[fallthrough]];
      case FactorKind::kLauncherOption:
        if (!factor.target.starts_with('-'))
          read_.object(table, fmt::format("the option \"{}\" does not begin with \"-\"", shown));
        if (factor.kind == FactorKind::kLauncherOption && spec_.launcher.empty())
          read_.object(table, "a launcher_option, but no launcher", R"(launcher = ["mpirun", "-np", "8"])");
        break;
      case FactorKind::kArgument: {
        const std::string mark = "{" + factor.target + "}";
        const bool there =
            std::ranges::any_of(spec_.command, [&](const std::string& word) { return contains(word, mark); });
        if (!there) read_.object(table, fmt::format("the command has no \"{}\"", printable(mark)));
        break;
      }
    }
  }

  std::optional<Level> level_of(const SpecValue& value, const Factor& factor) {
    if (const auto* truth = std::get_if<bool>(&value.value)) {
      const bool option = factor.kind == FactorKind::kRunOption || factor.kind == FactorKind::kLauncherOption;
      if (!*truth) return Level{false, {}, false};
      if (option) return Level{true, {}, true};
      read_.object(value, "the level true is for options without a value",
                   "a text: \"true\"; the level false leaves the setting out");
      return std::nullopt;
    }
    if (auto text = scalar_text(value)) return Level{true, std::move(*text), false};
    read_.object(value, fmt::format("a level is {}, expected a text, a number, true or false", value.kind()));
    return std::nullopt;
  }

  void levels(const SpecValue& table, Factor& factor) {
    const SpecValue* value = table.find("levels");
    const auto* list = value == nullptr ? nullptr : std::get_if<SpecValue::List>(&value->value);
    if (list == nullptr || list->size() < 2)
      return read_.object(value == nullptr ? table : *value, "levels is no list of at least two");
    std::set<std::string> seen;
    for (const SpecValue& item : *list) {
      const auto level = level_of(item, factor);
      if (!level) return;
      if (!seen.insert(fmt::format("{}{}{}", level->given, level->bare, level->value)).second)
        return read_.object(item, fmt::format("the level {} is there twice", in_words(*level)));
      refuse_privileged(item, {level->value});
      factor.levels.push_back(*level);
    }
    if (const SpecValue* baseline = table.find("baseline")) {
      if (const auto at = find_level(*baseline, factor)) factor.baseline = *at;
    }
  }

  std::optional<std::size_t> find_level(const SpecValue& value, const Factor& factor) {
    const auto wanted = level_of(value, factor);
    if (!wanted) return std::nullopt;
    for (std::size_t at = 0; at < factor.levels.size(); ++at) {
      const Level& level = factor.levels[at];
      if (level.given == wanted->given && level.bare == wanted->bare && level.value == wanted->value)
        return at;
    }
    read_.object(
        value, fmt::format("{} is none of the levels of \"{}\"", in_words(*wanted), printable(factor.name)));
    return std::nullopt;
  }

  void design(const SpecValue& top) {
    const std::string design = read_.text(top, "design").value_or("one factor");
    const auto tables = read_.tables(top, "combination");
    if (read_.failed()) return;
    if (design != "one factor" && design != "combinations")
      return read_.object(*top.find("design"), fmt::format("design = \"{}\"", printable(design)),
                          R"("one factor" (one at a time), or "combinations" ([[combination]] tables))");
    if ((design == "combinations") == tables.empty())
      return read_.object(top, tables.empty() ? "design = \"combinations\", but no [[combination]]"
                                              : "[[combination]] without design = \"combinations\"");
    for (const SpecValue* table : tables)
      combination(*table);
  }

  void combination(const SpecValue& table) {
    ArmSetting made;
    for (const Factor& factor : spec_.factors)
      made.levels.push_back(factor.baseline);
    std::vector<std::string> words;
    for (const auto& [key, value] : std::get<SpecValue::Table>(table.value)) {
      if (key == "name") continue;
      const auto at = std::ranges::find(spec_.factors, key, &Factor::name);
      if (at == spec_.factors.end()) return unknown_factor(value, key);
      const auto level = find_level(value, *at);
      if (!level) return;
      made.levels[static_cast<std::size_t>(at - spec_.factors.begin())] = *level;
      words.push_back(key + "=" + in_words(at->levels[*level]));
    }
    made.name = read_.text(table, "name").value_or(join(words, " "));
    const bool twice = std::ranges::any_of(spec_.combinations, [&](const ArmSetting& other) {
      return other.name == made.name || other.levels == made.levels;
    });
    const bool baseline = std::ranges::equal(made.levels, spec_.factors, {}, {}, &Factor::baseline);
    if (twice || baseline || made.name.empty() || made.name == "baseline")
      return read_.object(table, baseline ? "this combination is the baseline"
                                          : "this combination, or its name, is there twice");
    spec_.combinations.push_back(std::move(made));
  }

  void unknown_factor(const SpecValue& value, const std::string& key) {
    std::vector<std::string_view> names;
    for (const Factor& factor : spec_.factors)
      names.push_back(factor.name);
    const auto meant = did_you_mean(key, names);
    read_.object(value, fmt::format("there is no factor \"{}\"", printable(key)),
                 meant ? fmt::format("Did you mean \"{}\"?", printable(*meant)) : "");
  }

  void watch(const SpecValue& table) {
    read_.allow(table, "[[watch]]",
                {"name", "unit", "pattern", "json", "figure", "subject", "level", "last_number", "better",
                 "limit", "budget_percent"});
    MeasureWish measure = figure_of(table, "[[watch]]");
    WatchRule rule{measure.name,
                   measure.unit,
                   better(table, Better::kLower),
                   read_.number(table, "limit", -1e300, 1e300),
                   {}};
    if (const auto budget = read_.number(table, "budget_percent", 0, 1e6)) rule.budget = *budget / 100;
    if (!rule.limit && !rule.budget)
      read_.object(
          table,
          fmt::format("[[watch]] \"{}\" has neither a limit nor a budget_percent", printable(rule.name)),
          "limit = 80 (no run may be beyond), budget_percent = 5 (against the baseline)");
    spec_.wish.watches.push_back(std::move(rule));
    spec_.watched.push_back(std::move(measure));
  }

  void finish(const SpecValue& top) {
    if (read_.failed()) return;
    for (const ArmSetting& arm : arms_of(spec_)) {
      spec_.wish.arms.push_back(arm.name);
      refuse_privileged(top, build_start(spec_, arm, "angio").command);
    }
    if (spec_.wish.arms.size() > kMostArms)
      return read_.object(
          top, fmt::format("{} settings to try, at most {}", spec_.wish.arms.size() - 1, kMostArms - 1));
    const auto arms = static_cast<std::uint32_t>(spec_.wish.arms.size());
    spec_.wish.most_runs = (kBlocksByDefault + spec_.wish.warm_up) * arms;
    const SpecValue* budget = top.find("budget");
    if (budget == nullptr) return;
    read_.allow(*budget, "[budget]", {"runs", "seconds", "minutes", "hours"});
    if (const auto runs = read_.whole(*budget, "runs", 1, 1000000))
      spec_.wish.most_runs = static_cast<std::uint32_t>(*runs);
    for (const auto& [key, seconds] : {std::pair{"seconds", 1.0}, {"minutes", 60.0}, {"hours", 3600.0}}) {
      if (const auto value = read_.number(*budget, key, 0.001, 1e7)) {
        spec_.wish.most_seconds = *value * seconds + spec_.wish.most_seconds.value_or(0);
        if (budget->find("runs") == nullptr) spec_.wish.most_runs = 1000000;
      }
    }
    if (spec_.wish.most_runs < arms * (spec_.wish.warm_up + 1))
      read_.object(*budget, fmt::format("a budget of {} runs is less than the warm-up and one block: {} runs",
                                        spec_.wish.most_runs, arms * (spec_.wish.warm_up + 1)));
  }

  SpecReader read_;
  TuneSpec spec_;
};

}  // namespace

Result<TuneSpec> parse_tune_spec(std::string_view text, const std::string& name) {
  const auto tree = parse_spec_toml(text, name);
  if (!tree) return std::unexpected(tree.error());
  return Builder(name).build(*tree);
}

}  // namespace angio::experiment
