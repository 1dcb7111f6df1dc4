// The parts of the document of `angio profile`: its tables, and the lines about slow connections.
// Not the document as a whole (profile_view.cpp), nor the JSON.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "profile/profile.hpp"
#include "report/document.hpp"
#include "views/profile_view.hpp"

namespace angio::views {

std::string time_words(double ns);
std::string rank_words(std::int32_t rank);  // "?" when it is not known
report::Line number_cell(double ns, bool known);
std::size_t shown_rows();
bool has_timed_pair(const profile::Communicator& communicator);

// Each with all its rows, most important first. Ranks alike are folded until there are no more rows than
// most.
report::Table member_table(const profile::Communicator& communicator, const ProfileReport& report,
                           std::size_t most);
report::Table worst_table(const profile::Communicator& communicator);
report::Table link_table(const profile::Communicator& communicator);
report::Table pair_table(const profile::Communicator& communicator);

void add_slow_links(const profile::Communicator& communicator, const ProfileReport& report,
                    report::Fields& fields);

}  // namespace angio::views
