// Tables of nccl-tests: a line a table (what ran, where, the peak and where it lies, the average named as
// what it is), the sizes of one table in full, and the same as JSON.
#pragma once

#include "base/json.hpp"
#include "model/nccl_evidence.hpp"
#include "report/document.hpp"

namespace angio::views {

void add_nccl_tests(const model::NcclEvidence& evidence, report::Document& document);
Json nccl_tests_json(const model::NcclEvidence& evidence);

}  // namespace angio::views
