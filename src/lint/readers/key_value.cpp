// KEY=VALUE lines: env files, with the quotes and comments that some of their readers know, and nccl.conf,
// which NCCL takes literally (src/misc/param.cc: '#' only as the first character of a line, no quotes).
#include "base/text.hpp"
#include "lint/readers/source.hpp"

namespace angio::lint::readers {
namespace {

constexpr std::string_view kBlanks = " \t\r";

struct Line {
  std::size_t begin = 0;
  std::size_t end = 0;  // without the line end
};

template <typename Visit>
void for_each_line(const Source& source, std::size_t begin, std::size_t end, Visit visit) {
  while (begin < end) {
    const std::size_t stop = std::min(source.line_end(begin), end);
    const bool carriage = stop > begin && source.text()[stop - 1] == '\r';
    visit(Line{begin, stop - (carriage ? 1 : 0)});
    begin = stop + 1;
  }
}

std::size_t skip(std::string_view text, std::size_t begin, std::size_t end) {
  while (begin < end && kBlanks.find(text[begin]) != std::string_view::npos)
    ++begin;
  return begin;
}

std::size_t trimmed_end(std::string_view text, std::size_t begin, std::size_t end) {
  while (end > begin && kBlanks.find(text[end - 1]) != std::string_view::npos)
    --end;
  return end;
}

// Where a comment behind the value begins; end when there is none.
std::size_t comment_begin(std::string_view text, std::size_t begin, std::size_t end) {
  for (std::size_t i = begin; i + 1 < end; ++i) {
    if ((text[i] == ' ' || text[i] == '\t') && text[i + 1] == '#') return i;
  }
  return end;
}

Setting line_setting(const Source& source, std::size_t name, std::size_t name_end, std::size_t value,
                     std::size_t value_end, std::string_view via) {
  Setting setting;
  setting.name = source.text().substr(name, name_end - name);
  setting.value = source.text().substr(value, value_end - value);
  setting.via = std::string(via);
  setting.name_place = source.place(name, name_end - name);
  setting.value_place = source.place(value, value_end - value);
  setting.statement_place = source.whole_line(name);
  return setting;
}

void take_quotes(Setting& setting) {
  std::string& value = setting.value;
  const bool quoted =
      value.size() >= 2 && (value.front() == '"' || value.front() == '\'') && value.back() == value.front();
  if (quoted) value = value.substr(1, value.size() - 2);
}

void read_env_line(Source& source, const Line& line) {
  const std::string_view text = source.text();
  std::size_t name = skip(text, line.begin, line.end);
  if (name == line.end || text[name] == '#') return;
  std::string_view via = "env file";
  if (text.substr(name, line.end - name).starts_with("export ")) {
    name = skip(text, name + 7, line.end);
    via = "export";
  }
  const std::size_t equals = name + std::min(text.substr(name, line.end - name).find('='), line.end - name);
  const std::size_t name_end = trimmed_end(text, name, equals);
  if (equals == line.end || !is_name(text.substr(name, name_end - name))) {
    source.note(name, "no NAME=value");
    return;
  }
  const std::size_t value = skip(text, equals + 1, line.end);
  const bool quoted = value < line.end && (text[value] == '"' || text[value] == '\'');
  std::size_t end = trimmed_end(text, value, line.end);
  bool glued = false;
  if (quoted) {
    const std::size_t close = text.substr(0, line.end).find(text[value], value + 1);
    glued = close != std::string_view::npos && skip(text, close + 1, line.end) < line.end;
    if (close != std::string_view::npos) end = close + 1;
  } else if (const std::size_t comment = comment_begin(text, equals, line.end); comment < line.end) {
    glued = true;
    end = std::max(value, trimmed_end(text, value, comment));
  }
  Setting setting = line_setting(source, name, name_end, std::min(value, end), end, via);
  take_quotes(setting);
  setting.dynamic =
      text[std::min(value, text.size() - 1)] != '\'' && setting.value.find('$') != std::string::npos;
  setting.comment_glued = glued;
  source.add(std::move(setting));
}

void read_conf_line(Source& source, const Line& line) {
  const std::string_view text = source.text();
  std::size_t name = skip(text, line.begin, line.end);
  if (name == line.end || text[line.begin] == '#') return;
  // Part of the name to NCCL; what was meant is judged, and that it stands there.
  if (text.substr(name, line.end - name).starts_with("export ")) name = skip(text, name + 7, line.end);
  const std::size_t equals = name + std::min(text.substr(name, line.end - name).find('='), line.end - name);
  if (equals == line.end) {
    if (text[name] != '#') source.note(name, "no NAME=value: NCCL skips the line");
    return;
  }
  const std::size_t name_end = trimmed_end(text, name, equals);
  Setting setting = line_setting(source, name, name_end, equals + 1, line.end, "nccl.conf");
  if (!is_name(setting.name)) return;
  setting.comment_glued = comment_begin(text, equals, line.end) < line.end;
  source.add(std::move(setting));
}

}  // namespace

void read_env_file(Source& source, std::size_t begin, std::size_t end) {
  for_each_line(source, begin, end, [&](const Line& line) { read_env_line(source, line); });
}

void read_nccl_conf(Source& source, std::size_t begin, std::size_t end) {
  for_each_line(source, begin, end, [&](const Line& line) { read_conf_line(source, line); });
}

}  // namespace angio::lint::readers
