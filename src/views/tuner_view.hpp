// A tuner's table as it was understood, with what is wrong in it, and what it decides for one communicator;
// the same as versioned JSON. Used by `angio tuner`.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/json.hpp"
#include "report/document.hpp"
#include "tuner/table.hpp"

namespace angio::views {

struct TunerTable {
  std::string file;
  std::shared_ptr<const tuner::Table> table;
};

struct TunerQuestion {
  std::uint64_t nodes = 1;
  std::uint64_t ranks = 1;
  std::optional<tuner::Collective> collective;  // none: all
  std::optional<std::uint64_t> bytes;           // none: all sizes
  std::uint64_t pipe_ops = 1;
  bool registered = false;
};

report::Document tuner_check_document(const TunerTable& given);
Json tuner_check_json(const TunerTable& given);  // {"schema": "angio.tuner-table/1", …}

report::Document tuner_choice_document(const TunerTable& given, const TunerQuestion& question);
Json tuner_choice_json(const TunerTable& given, const TunerQuestion& question);  // "angio.tuner-choice/1"

}  // namespace angio::views
