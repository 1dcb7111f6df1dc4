// What `angio profile` shows: the document for terminal and HTML, the JSON of schema angio.profile/1, and the
// events themselves in the format of trace viewers (chrome://tracing, Perfetto).
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "profile/profile.hpp"
#include "report/document.hpp"

namespace angio::views {

struct ProfileReport {
  const std::vector<profile::Input>* inputs = nullptr;
  const profile::Profile* profile = nullptr;
};

report::Document profile_document(const ProfileReport& report);
Json profile_json(const ProfileReport& report);
// One process a rank, one row a kind of event and channel; wall time, hosts' clocks as they are.
std::string profile_trace(const ProfileReport& report);

// "running", "finished", "ended without closing", "unknown": the process behind the file.
std::string state_words(const profile::Input& input);

}  // namespace angio::views
