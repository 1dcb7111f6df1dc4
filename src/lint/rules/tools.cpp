// Commands that do not exist, do not print what is looked for, or mean something else than written.
#include "base/text.hpp"
#include "lint/rules/tools_rules.hpp"

namespace angio::lint {

const Word* grepped(const Job& job, const Line& line, std::initializer_list<std::string_view> patterns) {
  for (const auto* other : pipeline_of(job, line)) {
    const auto& stage = other->stages.back();
    if (stage.program != "grep" && stage.program != "egrep" && stage.program != "awk" &&
        stage.program != "rg")
      continue;
    for (std::size_t i = 1; i < stage.words.size(); ++i) {
      const auto& word = *stage.words[i];
      if (word.text.starts_with('-')) continue;
      const auto lower = to_lower(word.text);
      for (const auto pattern : patterns)
        if (contains(lower, pattern)) return &word;
    }
  }
  return nullptr;
}

void check_tools(const Input& input, Complaints& out) {
  const auto from = out.size();
  for (const auto& script : input.scripts) {
    const auto job = job_of(script);
    check_fabric_tools(job, input.context, out);
    check_gpu_tools(job, out);
    check_profilers(job, out);
    check_phrases(job, out);
  }
  drop_repeats(out, from);
}

}  // namespace angio::lint
