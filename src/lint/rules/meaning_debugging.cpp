// NCCL_DEBUG and its kin: what floods, what stays silent.
#include <fmt/format.h>

#include "base/text.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

bool shows_info(const Scope& scope) {
  const auto level = scope.text("NCCL_DEBUG");
  const std::string word = to_lower(level.value_or(""));
  return word == "info" || word == "trace";
}

bool level_unknown(const Scope& scope) {
  const Setting* level = scope.find("NCCL_DEBUG");
  return level != nullptr && level->dynamic;
}

void level(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_DEBUG");
  if (setting == nullptr || setting->dynamic) return;
  const std::string word = to_lower(setting->value);
  if (word == "trace") {
    out.push_back(complain("nccl.debug.trace", scope.script(), setting->name_place,
                           fmt::format("{}: a line for every call of every rank; release builds of NCCL have "
                                       "no TRACE lines and print INFO",
                                       shown(*setting)),
                           "NCCL_DEBUG=INFO with NCCL_DEBUG_SUBSYS shows what is there"));
  } else if (word == "info" && scope.find("NCCL_DEBUG_FILE") == nullptr) {
    out.push_back(
        complain("nccl.debug.left-on", scope.script(), setting->name_place,
                 fmt::format("{}: every rank prints it into the job's output", shown(*setting)),
                 "WARN for production; for a look NCCL_DEBUG_FILE=nccl.%h.%p keeps the ranks apart"));
  }
}

void file(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_DEBUG_FILE");
  if (setting == nullptr || setting->dynamic || setting->value.empty()) return;
  if (setting->value.find("%p") == std::string::npos && setting->value.find("%h") == std::string::npos &&
      !setting->value.starts_with("/dev/")) {
    out.push_back(complain("nccl.debug.file-shared", scope.script(), setting->value_place,
                           fmt::format("{}: all ranks write this one file over each other", shown(*setting)),
                           "put %h (host) and %p (process) into the name"));
  }
}

void subsystems(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_DEBUG_SUBSYS");
  if (setting == nullptr || shows_info(scope) || level_unknown(scope)) return;
  const bool other_level = scope.find("NCCL_DEBUG") != nullptr;
  out.push_back(complain(
      "nccl.debug.subsys-alone", scope.script(), setting->name_place,
      fmt::format("{}: selects among INFO lines, {}", shown(*setting),
                  other_level ? "which this NCCL_DEBUG does not print" : "and NCCL_DEBUG is not set here"),
      "add NCCL_DEBUG=INFO, or remove it"));
}

void checks(const Scope& scope, Complaints& out) {
  const Setting* pointers = scope.find("NCCL_CHECK_POINTERS");
  const Setting* mode = scope.find("NCCL_CHECK_MODE");
  const bool debug = mode != nullptr && to_lower(mode->value).starts_with("debug");
  if (pointers != nullptr && scope.number("NCCL_CHECK_POINTERS").value_or(0) == 0 && !debug) return;
  const Setting* setting = debug ? mode : pointers;
  if (setting == nullptr) return;
  out.push_back(
      complain("nccl.check.left-on", scope.script(), setting->name_place,
               fmt::format("{}: checks the arguments of every call, which costs latency", shown(*setting)),
               "for finding a fault only; remove it"));
}

}  // namespace

void check_debugging(const Scope& scope, Complaints& out) {
  level(scope, out);
  file(scope, out);
  subsystems(scope, out);
  checks(scope, out);
}

}  // namespace angio::lint
