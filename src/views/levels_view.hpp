// What `angio bench all` found, level by level, and its one verdict. JSON: "angio.bench-all/1".
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "judge/levels.hpp"
#include "report/document.hpp"

namespace angio::views {

struct LevelsShow {
  std::vector<judge::LevelResult> levels;  // one each, in the order of the walk
  judge::WalkVerdict verdict;
  std::vector<std::string> notes;
  std::string subject;   // the host, or what the results are of
  std::string captured;  // RFC 3339, UTC
  std::string tool;      // "angio 0.1.0"
  Json environment;      // of this host if something was measured; null
  bool interrupted = false;
};

report::Document levels_document(const LevelsShow& show);
Json levels_json(const LevelsShow& show);

}  // namespace angio::views
