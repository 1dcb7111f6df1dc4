// The kept results: what there is, a figure over time, today against the past, and since when. JSON: schema
// "angio.history/1" with the member "what".
#pragma once

#include <string>
#include <vector>

#include "base/json.hpp"
#include "history/drift.hpp"
#include "history/store.hpp"
#include "report/document.hpp"

namespace angio::views {

report::Document history_list_document(const std::vector<history::Entry>& entries, const std::string& store);
Json history_list_json(const std::vector<history::Entry>& entries);

report::Document history_series_document(const std::vector<history::Series>& series);
Json history_series_json(const std::vector<history::Series>& series);

// all: figures that are as they were, too.
report::Document history_compare_document(const history::Comparison& comparison, bool all);
Json history_compare_json(const history::Comparison& comparison);

report::Document history_since_document(const std::vector<history::Since>& answers);
Json history_since_json(const std::vector<history::Since>& answers);

}  // namespace angio::views
