// What the doctor found, as versioned JSON: {"schema": "angio.findings/1", …}. The keys are the words of the
// terminal's output in snake_case. Additions keep the number; a changed or removed key raises it.
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

Json findings_json(const DoctorReport& report);
// Its parts, for results that say more of a finding than a machine's report does.
Json finding_json(const model::Finding& finding);
Json undecided_json(const model::Undecided& gap);
Json strings(const std::vector<std::string>& items);

}  // namespace angio::views
