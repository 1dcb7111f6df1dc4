// Whatever the text, a record is read or refused; one that was read has a digest of its own content.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "history/drift.hpp"
#include "history/record.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  (void)angio::history::parse_export(text, "fuzz");
  const auto record = angio::history::parse_record(text, "fuzz", "2026-11-30T10:00:00Z");
  if (!record) return 0;
  if (angio::history::digest_of(*record).size() != 16) __builtin_trap();
  const std::vector<angio::history::Record> past(6, *record);
  for (const auto& change : angio::history::compare(*record, past).changes)
    if (change.judgement == angio::history::Judgement::kWorse) __builtin_trap();  // equal is never worse
  return 0;
}
