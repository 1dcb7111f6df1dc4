// A number out of the JSON that a command prints: by its path ("result.times[3]"), or by its name in the
// "metrics" that Angio's own results carry. The JSON is the whole output, or its last line that is an object.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"

namespace angio::experiment {

struct FigureWish {
  std::string path;     // of any JSON; or:
  std::string name;     // of a figure in "metrics"
  std::string subject;  // of that figure; empty: the only one of that name
  std::string schema;   // what "schema" must begin with; empty: anything
};

// A mistake in a path, in words; empty: none.
std::string wrong_path(std::string_view path);

Result<double> read_figure(const FigureWish& wish, std::string_view output);

}  // namespace angio::experiment
