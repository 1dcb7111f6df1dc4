// What the doctor found, as versioned JSON: {"schema": "angio.findings/1", …}. The keys are the words of the
// terminal's output in snake_case. Additions keep the number; a changed or removed key raises it.
#pragma once

#include "base/json.hpp"
#include "views/doctor_report.hpp"

namespace angio::views {

Json findings_json(const DoctorReport& report);

}  // namespace angio::views
