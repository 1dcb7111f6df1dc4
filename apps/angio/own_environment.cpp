#include "own_environment.hpp"

#include <utility>

#include "load_machine.hpp"

namespace angio::app {

Json with_environment(Json json, history::Versions versions) {
  const auto machine = load_machine("");
  if (!machine) return json;
  versions.emplace_back("angio", ANGIO_VERSION);
  json.set("environment", history::environment_json(history::environment_of(*machine, versions)));
  return json;
}

}  // namespace angio::app
