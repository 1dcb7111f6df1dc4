// Place: one directory of one Root, whose leaves become Observed values that know where they came from.
// Libraries' answers are files for the probes ("/@nvml/init") and words for the reader ("NVML, nvmlInit").
// The one spot where errno turns into known, absent or unreadable. Used by every probe.
#pragma once

#include <concepts>
#include <optional>
#include <string>
#include <string_view>

#include "base/text.hpp"
#include "host/root.hpp"
#include "model/machine.hpp"

namespace angio::probe {

template <typename T>
using Observed = model::Observed<T>;

// A path of a Root as a person would call it: "/@limits/memlock" is "ulimit -l"; files keep their path.
std::string name_of_path(std::string_view path);

class Place {
 public:
  // Registers directory in the machine's table of places.
  Place(const host::Root& root, model::Machine& machine, std::string directory);

  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const host::Root& root() const { return root_; }
  [[nodiscard]] std::string path(std::string_view leaf) const;
  [[nodiscard]] model::Source source(const char* leaf) const;

  // leaf must be a string literal; "" reads the place itself. Content comes trimmed.
  [[nodiscard]] Observed<std::string> text(const char* leaf) const;
  [[nodiscard]] Observed<host::Names> names(const char* leaf) const;

  template <std::integral Number>
  [[nodiscard]] Observed<Number> integer(const char* leaf, int base = 10) const {
    return parsed(leaf, [base](std::string_view text) { return parse_integer<Number>(text, base); });
  }

  // parse: std::string_view → std::optional<T>; nullopt makes the value unparsable.
  template <typename Parse>
  [[nodiscard]] auto parsed(const char* leaf, Parse parse) const
      -> Observed<typename decltype(parse(std::string_view{}))::value_type> {
    using Value = typename decltype(parse(std::string_view{}))::value_type;
    const host::Read<std::string> content = root_.read(path(leaf));
    if (!content) return missing<Value>(leaf, content.error());
    std::optional<Value> value = parse(trim(*content));
    if (!value) return Observed<Value>::unreadable(model::Reason::kUnparsable, source(leaf));
    return Observed<Value>::known(std::move(*value), source(leaf));
  }

  template <typename T>
  [[nodiscard]] Observed<T> missing(const char* leaf, const host::ReadError& error) const {
    if (is_absence(error)) return Observed<T>::absent(source(leaf));
    return Observed<T>::unreadable(reason_of(error), source(leaf), error.error);
  }

 private:
  static bool is_absence(const host::ReadError& error);
  static model::Reason reason_of(const host::ReadError& error);

  const host::Root& root_;
  std::string directory_;
  std::uint32_t id_;
  bool is_file_;  // false: below a library's mount, "/@…"
};

}  // namespace angio::probe
