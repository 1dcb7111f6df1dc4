// What a command sets and contains: export and its kin, launchers that carry variables, shells in shells.
#include <algorithm>
#include <array>

#include "lint/readers/source.hpp"

namespace angio::lint::readers {
namespace {

using Words = std::vector<RawWord>;

template <std::size_t N>
using Names = std::array<std::string_view, N>;

constexpr Names<5> kDeclaring{"export", "declare", "typeset", "readonly", "local"};
constexpr Names<5> kMpi{"mpirun", "mpiexec", "orterun", "prterun", "mpiexec.hydra"};
constexpr Names<3> kSlurm{"srun", "sbatch", "salloc"};
constexpr Names<3> kDocker{"docker", "podman", "nerdctl"};
constexpr Names<3> kApptainer{"apptainer", "singularity", "enroot"};
constexpr Names<2> kKube{"kubectl", "oc"};
constexpr Names<5> kShells{"bash", "sh", "zsh", "dash", "ksh"};
constexpr Names<5> kTransparent{"exec", "nohup", "time", "command", "builtin"};

template <std::size_t N>
bool is_one_of(std::string_view word, const Names<N>& names) {
  return std::ranges::find(names, word) != names.end();
}

std::string_view base_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

std::string_view text_of(const RawWord& word) {
  return word.word.text;
}
std::size_t end_of(const RawWord& word) {
  return word.word.place.offset + word.word.place.length;
}

bool sets_variable(const RawWord& word) {
  if (word.equals == kNone) return false;
  std::string_view name = text_of(word).substr(0, word.equals_text);
  if (name.ends_with('+')) name.remove_suffix(1);
  return is_name(name);
}

// From begin to the end of the word with the blanks behind it, so that what follows moves up.
Place removable(const Source& source, std::size_t begin, const RawWord& word) {
  std::size_t end = end_of(word);
  const std::string_view text = source.text();
  std::size_t next = end;
  while (next < text.size() && (text[next] == ' ' || text[next] == '\t'))
    ++next;
  if (next < text.size() && text[next] != '\n' && text[next] != '\r') end = next;
  return source.place(begin, end - begin);
}

// The part of a word behind "--env=", quotes of the part taken off.
RawWord tail(const Source& source, const RawWord& word, std::size_t length) {
  std::size_t begin = word.word.place.offset + length;
  std::size_t end = end_of(word);
  const std::string_view text = source.text();
  const bool quotes =
      end > begin + 1 && (text[begin] == '"' || text[begin] == '\'') && text[end - 1] == text[begin];
  if (quotes) {
    ++begin;
    --end;
  }
  RawWord part = make_word(source, begin, std::max(begin, end), Escapes::kPlain);
  part.word.dynamic = word.word.dynamic;
  if (!quotes && part.equals != kNone && part.equals + 1 < end &&
      (text[part.equals + 1] == '"' || text[part.equals + 1] == '\'')) {
    std::string& value = part.word.text;
    std::erase(value, text[part.equals + 1]);
  }
  return part;
}

// The text inside a quoted word, to be read as commands.
std::optional<Range> inside(const Source& source, const RawWord& word, const Range& range) {
  Range inner = range;
  inner.begin = word.word.place.offset;
  inner.end = end_of(word);
  if (word.bare) {
    inner.escapes = word.escapes;
    inner.folded = word.folded;
    return inner;
  }
  const std::string_view text = source.text();
  const bool escaped = range.escapes != Escapes::kPlain && text[inner.begin] == '\\';
  const std::size_t quote = inner.begin + (escaped ? 1 : 0);
  if (quote >= inner.end || (text[quote] != '"' && text[quote] != '\'')) {
    return word.quoted && range.escapes != Escapes::kPlain ? std::optional(inner) : std::nullopt;
  }
  inner.begin = quote + 1;
  inner.end = std::max(inner.begin, inner.end - (escaped ? 2U : 1U));
  if (range.escapes == Escapes::kPlain && text[quote] == '"') inner.escapes = Escapes::kDoubleQuoted;
  return inner;
}

// One command on its way to becoming settings and a Command.
struct Reading {
  Source& source;
  const RawCommand& raw;
  const Range& range;
  Words words;
  Command command;

  std::string via(std::string_view how) const { return range.via_prefix + std::string(how); }
  void add_setting(const RawWord& word, std::string_view how, std::size_t statement_begin);
};

void Reading::add_setting(const RawWord& word, std::string_view how, std::size_t statement_begin) {
  Setting setting = make_setting(source, word, via(how));
  setting.statement_place = removable(source, statement_begin, word);
  source.add(std::move(setting));
}

void add_unset(Reading& reading, const RawWord& word, std::string_view how) {
  Setting setting;
  setting.name = word.word.text;
  setting.unset = true;
  setting.dynamic = word.word.dynamic;
  setting.via = reading.via(how);
  setting.name_place = word.word.place;
  setting.value_place = reading.source.place(end_of(word), 0);
  setting.statement_place = reading.source.place(word.word.place.offset, 0);
  reading.source.add(std::move(setting));
}

// NAME=value alone: a shell variable until something exports it.
void add_assignments(Source& source, const RawCommand& raw, const Range& range) {
  for (const RawWord& word : raw.assignments) {
    Setting setting = make_setting(source, word, range.via_prefix + "assignment");
    setting.exported = raw.all_exported;
    if (raw.alone && raw.assignments.size() == 1)
      setting.statement_place = source.whole_line(word.word.place.offset);
    source.add(std::move(setting));
  }
}

void add_declaration(Reading& reading) {
  const std::string_view how = text_of(reading.words[0]);
  bool exporting = how == "export";
  bool removing = false;
  std::size_t values = 0;
  for (const RawWord& word : reading.words)
    values += word.equals != kNone ? 1 : 0;
  for (std::size_t i = 1; i < reading.words.size(); ++i) {
    const RawWord& word = reading.words[i];
    const std::string_view text = text_of(word);
    if (text.starts_with('-')) {
      exporting = exporting || text.find('x') != std::string_view::npos;
      removing = removing || (how == "export" && text == "-n");
    } else if (sets_variable(word)) {
      Setting setting = make_setting(reading.source, word, reading.via(how));
      setting.exported = (exporting && !removing) || reading.raw.all_exported;
      const bool only = values == 1 && reading.words.size() == 2;
      if (reading.raw.alone && only) setting.statement_place = reading.source.whole_line(reading.raw.begin);
      if (values > 1 && reading.raw.alone)
        setting.statement_place = removable(reading.source, word.word.place.offset, word);
      if (setting.exported) reading.source.exports(setting.name);
      reading.source.add(std::move(setting));
    } else if (removing) {
      add_unset(reading, word, "export -n");
    } else if (exporting && is_name(text)) {
      reading.source.exports(text);
    }
  }
}

void add_removals(Reading& reading) {
  if (reading.words.size() > 1 && text_of(reading.words[1]) == "-f") return;
  for (std::size_t i = 1; i < reading.words.size(); ++i) {
    if (is_name(text_of(reading.words[i]))) add_unset(reading, reading.words[i], "unset");
  }
}

// csh: setenv NAME value.
void add_setenv(Reading& reading) {
  if (reading.words.size() < 3) return;
  const RawWord& name = reading.words[1];
  const RawWord& value = reading.words[2];
  Setting setting;
  setting.name = name.word.text;
  setting.value = value.word.text;
  setting.dynamic = value.word.dynamic;
  setting.via = reading.via("setenv");
  setting.name_place = name.word.place;
  setting.value_place = value.word.place;
  setting.statement_place = reading.raw.alone ? reading.source.whole_line(reading.raw.begin)
                                              : reading.source.place(name.word.place.offset, 0);
  reading.source.add(std::move(setting));
}

// "-e NAME=value", "--env NAME=value", "--env=NAME=value" and their kin: the option at index i.
bool add_option(Reading& reading, std::size_t i, std::string_view short_name, std::string_view long_name,
                std::string_view how) {
  const RawWord& word = reading.words[i];
  const std::string_view text = text_of(word);
  if (text == short_name || text == long_name) {
    if (i + 1 < reading.words.size() && sets_variable(reading.words[i + 1])) {
      reading.add_setting(reading.words[i + 1], how, word.word.place.offset);
    }
    return true;
  }
  if (!long_name.empty() && text.starts_with(long_name) && text.substr(long_name.size()).starts_with('=')) {
    const RawWord part = tail(reading.source, word, long_name.size() + 1);
    if (sets_variable(part)) {
      Setting setting = make_setting(reading.source, part, reading.via(how));
      setting.statement_place = removable(reading.source, word.word.place.offset, word);
      reading.source.add(std::move(setting));
    }
    return true;
  }
  if (!short_name.empty() && short_name.size() == 2 && text.starts_with(short_name) &&
      sets_variable(tail(reading.source, word, 2))) {
    reading.add_setting(tail(reading.source, word, 2), how, word.word.place.offset);
    return true;
  }
  return false;
}

// Intel MPI and MPICH: -genv NAME value, -genv NAME=value.
void add_hydra(Reading& reading, std::size_t i) {
  const Words& words = reading.words;
  if (i + 1 < words.size() && sets_variable(words[i + 1])) {
    reading.add_setting(words[i + 1], "mpirun -genv", words[i].word.place.offset);
  } else if (i + 2 < words.size() && is_name(text_of(words[i + 1]))) {
    Setting setting;
    setting.name = words[i + 1].word.text;
    setting.value = words[i + 2].word.text;
    setting.dynamic = words[i + 2].word.dynamic;
    setting.via = reading.via("mpirun -genv");
    setting.name_place = words[i + 1].word.place;
    setting.value_place = words[i + 2].word.place;
    setting.statement_place =
        reading.source.place(words[i].word.place.offset, end_of(words[i + 2]) - words[i].word.place.offset);
    reading.source.add(std::move(setting));
  }
}

void add_mpi(Reading& reading, std::size_t launcher) {
  const Words& words = reading.words;
  for (std::size_t i = launcher + 1; i < words.size(); ++i) {
    const std::string_view text = text_of(words[i]);
    if (text == "-x") {
      add_option(reading, i, "-x", "", "mpirun -x");
      ++i;
    } else if (text == "-genv" || text == "-env") {
      add_hydra(reading, i);
    } else if (text == "mca_base_env_list" && i + 1 < words.size()) {
      const RawWord list = tail(reading.source, words[i + 1], 0);
      add_list(reading.source, list, list.word.place.offset, ';',
               reading.via("mpirun --mca mca_base_env_list"));
    } else if (!text.starts_with('-') &&
               (is_one_of(base_name(text), kShells) || base_name(text).starts_with("python"))) {
      return;  // its own options follow
    }
  }
}

void add_slurm(Reading& reading, std::size_t launcher) {
  const std::string how = std::string(base_name(text_of(reading.words[launcher]))) + " --export";
  constexpr std::string_view kOption = "--export";
  for (std::size_t i = launcher + 1; i < reading.words.size(); ++i) {
    const std::string_view text = text_of(reading.words[i]);
    if (!text.starts_with('-')) continue;
    if (text == kOption && i + 1 < reading.words.size()) {
      const RawWord list = tail(reading.source, reading.words[i + 1], 0);
      add_list(reading.source, list, list.word.place.offset, ',', reading.via(how));
    } else if (text.starts_with("--export=")) {
      const RawWord list = tail(reading.source, reading.words[i], kOption.size() + 1);
      add_list(reading.source, list, list.word.place.offset, ',', reading.via(how));
    }
  }
}

void add_container(Reading& reading, std::size_t launcher) {
  const std::string_view name = base_name(text_of(reading.words[launcher]));
  const bool lists = is_one_of(name, kApptainer);  // --env A=b,C=d
  const std::string how = std::string(name) + " --env";
  for (std::size_t i = launcher + 1; i < reading.words.size(); ++i) {
    const std::string_view text = text_of(reading.words[i]);
    if (is_one_of(base_name(text), kShells) || base_name(text).starts_with("python")) return;
    if (!lists) {
      if (add_option(reading, i, "-e", "--env", how) && (text == "-e" || text == "--env")) ++i;
    } else if (text == "--env" && i + 1 < reading.words.size()) {
      const RawWord list = tail(reading.source, reading.words[++i], 0);
      add_list(reading.source, list, list.word.place.offset, ',', reading.via(how));
    } else if (text.starts_with("--env=")) {
      const RawWord list = tail(reading.source, reading.words[i], 6);
      add_list(reading.source, list, list.word.place.offset, ',', reading.via(how));
    }
  }
}

// kubectl set env deployment/x NAME=value NAME-
void add_kube(Reading& reading, std::size_t launcher) {
  const Words& words = reading.words;
  if (launcher + 2 >= words.size() || text_of(words[launcher + 1]) != "set" ||
      text_of(words[launcher + 2]) != "env")
    return;
  for (std::size_t i = launcher + 3; i < words.size(); ++i) {
    if (sets_variable(words[i])) reading.add_setting(words[i], "kubectl set env", words[i].word.place.offset);
  }
}

void queue_inside(Reading& reading, std::size_t i) {
  if (i >= reading.words.size()) return;
  if (const auto inner = inside(reading.source, reading.words[i], reading.range))
    reading.source.queue(*inner);
}

// ssh [options] host command…: the command is read by a shell there.
void queue_remote(Reading& reading, std::size_t launcher) {
  constexpr std::string_view kWithValue = "BbcDEeFIiJLlmOopQRSWw";
  const Words& words = reading.words;
  std::size_t i = launcher + 1;
  while (i < words.size() && text_of(words[i]).starts_with('-')) {
    const std::string_view option = text_of(words[i]);
    i += option.size() == 2 && kWithValue.find(option[1]) != std::string_view::npos ? 2 : 1;
  }
  ++i;  // the host
  if (i >= words.size()) return;
  if (i + 1 == words.size() && words[i].quoted) {
    queue_inside(reading, i);
    return;
  }
  Range inner = reading.range;
  inner.begin = words[i].word.place.offset;
  inner.end = end_of(words.back());
  reading.source.queue(inner);
}

void queue_shells(Reading& reading) {
  const Words& words = reading.words;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string_view name = base_name(text_of(words[i]));
    if (is_one_of(name, kShells) || name == "su") {
      for (std::size_t k = i + 1; k + 1 < words.size() && k < i + 6 && text_of(words[k]).starts_with('-');
           ++k) {
        const std::string_view option = text_of(words[k]);
        if (option.ends_with('c') && !option.starts_with("--")) {
          queue_inside(reading, k + 1);
          break;
        }
      }
    }
  }
  const std::string_view first = base_name(text_of(words[0]));
  if (first == "ssh") queue_remote(reading, 0);
  if (first == "eval") {
    for (std::size_t i = 1; i < words.size(); ++i)
      queue_inside(reading, i);
  }
  if ((first == "pdsh" || first == "clush" || first == "pssh" || first == "parallel-ssh") &&
      words.size() > 1) {
    queue_inside(reading, words.size() - 1);
  }
}

void add_launchers(Reading& reading) {
  for (std::size_t i = 0; i < reading.words.size(); ++i) {
    const std::string_view name = base_name(text_of(reading.words[i]));
    if (is_one_of(name, kMpi)) {
      add_mpi(reading, i);
      return;
    }
    if (is_one_of(name, kSlurm)) add_slurm(reading, i);
    if (is_one_of(name, kDocker) || is_one_of(name, kApptainer)) {
      add_container(reading, i);
      return;
    }
    if (is_one_of(name, kKube)) add_kube(reading, i);
  }
}

void add_in_front(Reading& reading, const RawWord& word, std::string_view how) {
  Setting setting = make_setting(reading.source, word, reading.via(how));
  setting.statement_place = removable(reading.source, word.word.place.offset, word);
  reading.command.environment.push_back(setting);
  reading.source.add(std::move(setting));
}

// Options of sudo and env that take a value.
bool takes_value(std::string_view wrapper, std::string_view option) {
  if (option.size() != 2) return false;
  const std::string_view letters = wrapper == "sudo" ? "ughpCDTRrt" : "uSC";
  return letters.find(option[1]) != std::string_view::npos;
}

// Takes "sudo -E", "env A=b", "exec" and their kin off the front.
void take_wrappers(Reading& reading) {
  Words& words = reading.words;
  std::size_t i = 0;
  while (i < words.size()) {
    const std::string wrapper(base_name(text_of(words[i])));
    const bool carries = wrapper == "sudo" || wrapper == "env";
    if (!carries && !is_one_of(std::string_view(wrapper), kTransparent)) break;
    if (wrapper == "sudo") reading.command.sudo = true;
    ++i;
    while (i < words.size() && text_of(words[i]).starts_with('-')) {
      const std::string_view option = text_of(words[i]);
      const bool value = carries && takes_value(wrapper, option);
      if (wrapper == "env" && option == "-u" && i + 1 < words.size())
        add_unset(reading, words[i + 1], "env -u");
      i += value ? 2 : 1;
    }
    while (carries && i < words.size() && sets_variable(words[i]))
      add_in_front(reading, words[i++], "env");
  }
  words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(std::min(i, words.size())));
}

}  // namespace

void add_command(Source& source, RawCommand raw, const Range& range) {
  if (raw.words.empty()) {
    add_assignments(source, raw, range);
    return;
  }
  Reading reading{source, raw, range, raw.words, {}};
  for (const RawWord& word : raw.assignments)
    add_in_front(reading, word, "command");
  take_wrappers(reading);
  if (reading.words.empty()) return;
  const std::string_view first = text_of(reading.words[0]);
  if (is_one_of(first, kDeclaring)) {
    add_declaration(reading);
  } else if (first == "unset") {
    add_removals(reading);
  } else if (first == "setenv") {
    add_setenv(reading);
  } else {
    add_launchers(reading);
    queue_shells(reading);
  }
  Command& command = reading.command;
  for (RawWord& word : reading.words)
    command.words.push_back(std::move(word.word));
  const Place& last = command.words.back().place;
  command.place = source.place(raw.begin, std::max(last.offset + last.length, raw.begin) - raw.begin);
  command.background = raw.background;
  command.pipeline = raw.pipeline;
  command.comment_after_backslash = std::move(raw.comment_after_backslash);
  source.add(std::move(command));
}

void add_argument_list(Source& source, std::vector<RawWord> words, const Range& range) {
  if (words.empty()) return;
  RawCommand raw;
  raw.begin = words.front().word.place.offset;
  raw.end = end_of(words.back());
  raw.pipeline = source.next_pipeline();
  raw.words = std::move(words);
  add_command(source, std::move(raw), range);
}

}  // namespace angio::lint::readers
