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
// Each record with its number.
report::Document history_records_document(const std::vector<history::Entry>& entries,
                                          const std::string& store);
// records: as the baselines.
report::Document history_baselines_document(const std::vector<history::Baseline>& baselines,
                                            const std::vector<history::Record>& records);
Json history_baselines_json(const std::vector<history::Baseline>& baselines,
                            const std::vector<history::Record>& records);

// Everything that is kept, to be read again: schema "angio.history-export/1". CSV: a row for each figure, as
// RFC 4180.
Json history_export_json(const std::vector<history::Record>& records,
                         const std::vector<history::Baseline>& baselines);
std::string history_export_csv(const std::vector<history::Record>& records);

report::Document history_series_document(const std::vector<history::Series>& series);
Json history_series_json(const std::vector<history::Series>& series);

// all: figures that are as they were, too.
report::Document history_compare_document(const history::Comparison& comparison, bool all);
Json history_compare_json(const history::Comparison& comparison);

report::Document history_since_document(const std::vector<history::Since>& answers);
Json history_since_json(const std::vector<history::Since>& answers);

}  // namespace angio::views
