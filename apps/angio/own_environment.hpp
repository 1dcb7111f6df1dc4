// What this host is, written into a result that `angio history` may keep: results of another environment are
// no past.
#pragma once

#include "base/json.hpp"
#include "history/environment.hpp"

namespace angio::app {

// json with the member "environment" of this host; as it is where the host cannot be looked at.
Json with_environment(Json json, history::Versions versions);

}  // namespace angio::app
