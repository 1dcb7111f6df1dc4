// For tests of the rules about commands: a text is read as its kind and judged by these four topics.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>
#include <string_view>

#include "lint/rule.hpp"
#include "model/synthetic.hpp"

namespace angio::lint::testing {

inline Complaints judged(std::string_view text, FileKind kind = FileKind::kShell,
                         const Context& context = {}) {
  const std::vector<Script> scripts{read_script("job", std::string(text), kind)};
  const Input input{scripts, context};
  Complaints complaints;
  check_placement(input, complaints);
  check_launch(input, complaints);
  check_tools(input, complaints);
  check_system(input, complaints);
  return complaints;
}

inline const Complaint* find(const Complaints& complaints, std::string_view rule) {
  for (const auto& complaint : complaints)
    if (complaint.rule == rule) return &complaint;
  return nullptr;
}

// Everything but information, for messages of failed tests.
inline std::string told(const Complaints& complaints, bool information = true) {
  std::string text;
  for (const auto& complaint : complaints)
    if (information || complaint.severity != model::Severity::kInfo)
      text += std::to_string(complaint.place.line) + " " + complaint.rule + ": " + complaint.message + "\n";
  return text;
}

// One rule, a text that it must complain of, and its healthy neighbour.
struct Case {
  std::string_view rule;
  std::string_view bad;
  std::string_view good;
  FileKind kind = FileKind::kShell;
};

inline void expect_cases(std::span<const Case> cases, const Context& context = {}) {
  for (const auto& one : cases) {
    const auto bad = judged(one.bad, one.kind, context);
    EXPECT_NE(find(bad, one.rule), nullptr) << one.rule << " is silent on:\n"
                                            << one.bad << "\nsaid:\n"
                                            << told(bad);
    const auto good = judged(one.good, one.kind, context);
    EXPECT_EQ(find(good, one.rule), nullptr) << one.rule << " speaks on:\n"
                                             << one.good << "\nsaid:\n"
                                             << told(good);
  }
}

inline Context on(std::string_view machine, std::string name = "gpu-a") {
  Context context;
  auto made = model::topology(machine);
  EXPECT_TRUE(made.has_value());
  if (made) {
    made->name = std::move(name);
    context.machines.push_back(std::move(*made));
  }
  return context;
}

}  // namespace angio::lint::testing
