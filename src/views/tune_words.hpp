// The words and figures that the document, the drawing and the JSON of angio tune share.
#pragma once

#include <string>

#include "views/tune_view.hpp"

namespace angio::views {

std::string signed_percent(double part);  // "+3.2 %"
std::string tune_percent(double part);    // "3.2 %", without a sign
std::string between_words(const experiment::Interval& interval);
std::string tune_state_words(const TuneReport& report, std::uint32_t arm);
std::string tune_end_words(const TuneReport& report);
std::string tune_measure_words(const experiment::TuneSpec& spec);
const char* tune_state_word(experiment::ArmState state);  // of the JSON
report::Tone tune_tone(const TuneReport& report, std::uint32_t arm);
report::Drawing tune_picture(const TuneReport& report);

}  // namespace angio::views
