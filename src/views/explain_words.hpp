// Sentences about variables of the catalogue, for the terminal and the JSON of `angio explain`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "knowledge/variables.hpp"

namespace angio::views {

std::string component_in_words(std::string_view component);  // "nccl": "NCCL"
std::string kind_in_words(std::string_view kind);            // "path-class": "path class"
std::string_view in_words(knowledge::VariableKind kind);     // as data/env has it: "path-class"
std::string_view in_words(knowledge::VariableLife life);     // "read", "not yet", "removed"

std::string kind_line(const knowledge::Variable& variable);    // "variable of NCCL, NET/IB"
std::string takes_words(const knowledge::Variable& variable);  // kind, range, special values, grammar
// "20 since 2.23.4, 18 since 2.14.3, 14 before", or the value in one release.
std::string default_words(const knowledge::Variable& variable, std::string_view version);
// "NCCL 2.13.4 to 2.21.5", or whether one release reads it.
std::string life_words(const knowledge::Variable& variable, std::string_view version);
// "NVLS (since 2.17.1): …"; in a release that does not know it that is said.
std::string word_sentence(const knowledge::Variable& variable, const knowledge::VariableWord& word,
                          std::string_view version);
// What a value means: each word of a list on its own, a number that NCCL would not read as it looks.
std::vector<std::string> value_sentences(const knowledge::Variable& variable, const std::string& value);
// Whether it is documented; empty where the catalogue does not know.
std::string status_words(const knowledge::Variable& variable);

}  // namespace angio::views
