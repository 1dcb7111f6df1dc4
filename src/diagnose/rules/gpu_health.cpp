// Memory errors, clocks, heat and power of GPUs.
#include <algorithm>

#include "base/format.hpp"
#include "diagnose/rules/gpu.hpp"
#include "diagnose/rules/support.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::diagnose::gpu {

using model::Gpu;
using model::Machine;

namespace {

// nvml.h, nvmlClocksEventReason…: what a healthy board never shows for long.
constexpr std::uint64_t kHwSlowdown = 0x8;
constexpr std::uint64_t kSwThermal = 0x20;
constexpr std::uint64_t kHwThermal = 0x40;
constexpr std::uint64_t kHwPowerBrake = 0x80;
// And the ordinary power cap, which explains low clocks without being a fault.
constexpr std::uint64_t kSwPowerCap = 0x4;
// nvmlClocksEventReasonApplicationsClocksSetting: somebody set application clocks.
constexpr std::uint64_t kApplicationClocks = 0x2;

std::string reasons_in_words(std::uint64_t bits) {
  std::vector<std::string> words;
  if ((bits & kHwThermal) != 0) words.emplace_back("hardware thermal slowdown");
  if ((bits & kSwThermal) != 0) words.emplace_back("software thermal slowdown");
  if ((bits & kHwPowerBrake) != 0) words.emplace_back("power brake");
  if (words.empty() && (bits & kHwSlowdown) != 0) words.emplace_back("hardware slowdown");
  return list_of(words);
}

// Runs `judge` on each NVIDIA GPU whose value is known; the others are one gap.
template <typename T, typename Judge>
void each_known(const Machine& machine, Outcome& outcome, const char* what, model::Observed<T> Gpu::* member,
                Judge judge) {
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  Gaps gaps(what, Asked::kNvml);
  for (const Gpu& gpu : machine.gpus) {
    if (!is_nvidia(gpu) || is_unlisted(machine, gpu)) continue;
    const model::Observed<T>& value = gpu.*member;
    if (value.is_known()) {
      judge(gpu, *value.get());
    } else if (value.is_unreadable() && value.reason() != model::Reason::kUnsupported) {
      gaps.add(gpu_label(gpu), value);
    }
  }
  gaps.report(outcome);
}

}  // namespace

void pcie_replays(const Machine& machine, Outcome& outcome) {
  const double limit = knowledge::threshold("pcie.replays");
  each_known(machine, outcome, "PCIe replay counter", &Gpu::pcie_replays,
             [&](const Gpu& gpu, std::uint64_t replays) {
               if (!(static_cast<double>(replays) > limit)) return;
               const std::string count = std::to_string(replays);
               Draft draft =
                   draft_for(gpu, "PCIe link of " + gpu_label(gpu) + " replayed " + count + " packets");
               draft.evidence = {
                   seen(machine, gpu.pcie_replays.source(), count + " replays since the driver was loaded")};
               outcome.fire(std::move(draft));
             });
}

namespace {

const char* cause_of(std::uint64_t faults) {
  if ((faults & (kSwThermal | kHwThermal)) != 0) return "thermal";
  return (faults & kHwPowerBrake) != 0 ? "power" : "unnamed";
}

Trouble throttled(const Machine& machine, const Gpu& gpu, std::uint64_t faults) {
  const std::string words = reasons_in_words(faults);
  Trouble trouble{&gpu, " slows itself down: " + words, " slow themselves down: " + words};
  std::string state = gpu_label(gpu) + ": " + words;
  if (const Celsius* heat = gpu.temperature.get()) state += ", " + in_words(*heat);
  if (const Watts* power = gpu.power.get()) state += ", " + in_words(*power);
  const Hertz* now = gpu.sm_clock.get();
  const Hertz* most = gpu.sm_clock_max.get();
  if (now != nullptr && most != nullptr && most->value > 0) {
    state += ", SM clock " + in_words(*now) + " of " + in_words(*most);
    trouble.draft.rank = std::clamp(1 - now->value / most->value, 0.0, 1.0);
    if (now->value >= most->value) {
      trouble.one = " reports " + words + " at full clock";
      trouble.many = " report " + words + " at full clock";
      trouble.draft.severity = model::Severity::kInfo;
    }
  }
  trouble.draft.evidence = {seen(machine, gpu.throttle_reasons.source(), std::move(state))};
  trouble.draft.words[cause_of(faults)] = "yes";
  return trouble;
}

void fire_all(std::vector<Draft> drafts, Outcome& outcome) {
  for (Draft& draft : drafts)
    outcome.fire(std::move(draft));
}

}  // namespace

void clock_throttled(const Machine& machine, Outcome& outcome) {
  std::vector<Trouble> troubles;
  each_known(machine, outcome, "clock event reasons", &Gpu::throttle_reasons,
             [&](const Gpu& gpu, std::uint64_t reasons) {
               const std::uint64_t faults = reasons & (kHwSlowdown | kSwThermal | kHwThermal | kHwPowerBrake);
               if (faults != 0) troubles.push_back(throttled(machine, gpu, faults));
             });
  fire_all(group(std::move(troubles)), outcome);
}

void clock_locked_low(const Machine& machine, Outcome& outcome) {
  const double busy = knowledge::threshold("gpu.busy");
  std::vector<Trouble> troubles;
  each_known(machine, outcome, "SM clock", &Gpu::sm_clock, [&](const Gpu& gpu, Hertz now) {
    const Hertz* most = gpu.sm_clock_max.get();
    const std::uint64_t* reasons = gpu.throttle_reasons.get();
    const std::uint32_t* load = gpu.utilization.get();
    if (most == nullptr || reasons == nullptr || load == nullptr || !(*load >= busy)) return;
    const bool explained =
        (*reasons & (kHwSlowdown | kSwThermal | kHwThermal | kHwPowerBrake | kSwPowerCap)) != 0;
    const bool set = (*reasons & kApplicationClocks) != 0;
    const double share =
        set ? knowledge::threshold("gpu.clock.set-share") : knowledge::threshold("gpu.clock.low-share");
    if (explained || !(now.value < share * most->value)) return;
    const std::string clocks = in_words(now) + " of " + in_words(*most);
    Trouble trouble{&gpu, " works at " + clocks, " work at " + clocks};
    trouble.draft.evidence = {seen(machine, gpu.sm_clock.source(),
                                   gpu_label(gpu) + ": SM clock " + in_words(now) + " at " +
                                       std::to_string(*load) + " % utilisation, " +
                                       (set ? "application clocks are set" : "no heat or power reason"))};
    trouble.draft.rank = 1 - now.value / most->value;
    troubles.push_back(std::move(trouble));
  });
  fire_all(group(std::move(troubles)), outcome);
}

void ecc_uncorrected(const Machine& machine, Outcome& outcome) {
  each_known(machine, outcome, "uncorrectable ECC errors", &Gpu::ecc_uncorrected,
             [&](const Gpu& gpu, std::uint64_t errors) {
               if (errors == 0) return;
               Draft draft =
                   draft_for(gpu, gpu_label(gpu) + " had " + count_of(errors, "uncorrectable memory error"));
               draft.evidence = {seen(machine, gpu.ecc_uncorrected.source(),
                                      std::to_string(errors) + " since the driver was loaded")};
               outcome.fire(std::move(draft));
             });
}

void row_remap(const Machine& machine, Outcome& outcome) {
  if (!has_nvidia_gpu(machine)) return outcome.not_applicable();
  Gaps gaps("row remapping state", Asked::kNvml);
  for (const Gpu& gpu : machine.gpus) {
    if (!is_nvidia(gpu) || is_unlisted(machine, gpu)) continue;
    const bool failed = gpu.remap_failed.is(true);
    if (failed || gpu.remap_pending.is(true)) {
      const auto& source = failed ? gpu.remap_failed : gpu.remap_pending;
      Draft draft = draft_for(
          gpu, gpu_label(gpu) + (failed ? ": row remapping failed" : ": row remapping waits for a reset"));
      draft.evidence = {
          seen(machine, source.source(), failed ? "a remapping failed: no spare row" : "remapping pending")};
      if (const std::uint64_t* rows = gpu.remapped_rows.get()) {
        draft.evidence.push_back(
            seen(machine, gpu.remapped_rows.source(), count_of(*rows, "row") + " remapped so far"));
      }
      draft.words[failed ? "failed" : "pending"] = "yes";
      if (failed) draft.severity = model::Severity::kCritical;
      outcome.fire(std::move(draft));
    } else if (gpu.remap_pending.is_unreadable() &&
               gpu.remap_pending.reason() != model::Reason::kUnsupported) {
      gaps.add(gpu_label(gpu), gpu.remap_pending);
    }
  }
  gaps.report(outcome);
}

// One limit for all is somebody's choice; one of its own makes a straggler.
void power_limit_low(const Machine& machine, Outcome& outcome) {
  const double slack = knowledge::threshold("gpu.power.slack");
  std::vector<Trouble> troubles;
  std::size_t judged = 0;
  each_known(machine, outcome, "power limit", &Gpu::power_limit, [&](const Gpu& gpu, Watts limit) {
    const Watts* standard = gpu.power_limit_default.get();
    if (standard == nullptr) return;
    ++judged;
    if (!(limit.value < standard->value * slack)) return;
    const std::string watts = in_words(limit);
    Trouble trouble{&gpu, " may use " + watts + ", its default is " + in_words(*standard),
                    " may use " + watts + " each, their default is " + in_words(*standard)};
    trouble.draft.evidence = {
        seen(machine, gpu.power_limit.source(), gpu_label(gpu) + ": limit " + watts),
        seen(machine, gpu.power_limit_default.source(), gpu_label(gpu) + ": default " + in_words(*standard))};
    trouble.draft.rank = 1 - limit.value / standard->value;
    trouble.draft.words["default"] = std::to_string(static_cast<long long>(standard->value));
    troubles.push_back(std::move(trouble));
  });
  const std::size_t limited = troubles.size();
  std::vector<Draft> drafts = group(std::move(troubles));
  const bool all_alike = drafts.size() == 1 && limited == judged && judged > 1;
  if (all_alike) drafts.front().severity = model::Severity::kInfo;
  fire_all(std::move(drafts), outcome);
}

}  // namespace angio::diagnose::gpu
