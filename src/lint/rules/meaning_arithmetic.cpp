// Figures worked out: timeouts, buffers, threads, traffic classes. Constants come from
// data/lint/figures.toml.
#include <fmt/format.h>

#include <cmath>

#include "knowledge/knowledge.hpp"
#include "lint/rules/settings.hpp"

namespace angio::lint {
namespace {

using knowledge::threshold;

std::optional<std::int64_t> default_number(std::string_view name, const Context& context) {
  const knowledge::Variable* variable = knowledge::find_variable(name);
  const auto value =
      variable == nullptr ? std::nullopt : knowledge::default_at(*variable, context.nccl_version);
  if (!value || value->empty() || value->front() == '(') return std::nullopt;
  return read_number(*value).value;
}

std::string seconds_text(double seconds) {
  if (seconds >= 120) return fmt::format("{:.0f} min", seconds / 60);
  return seconds >= 10 ? fmt::format("{:.0f} s", seconds) : fmt::format("{:.2f} s", seconds);
}

// 4.096 us · 2^timeout · retries: InfiniBand's acknowledge timeout as the guide adds it up.
void timeout(const Scope& scope, const Context& context, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IB_TIMEOUT");
  const auto exponent = scope.number("NCCL_IB_TIMEOUT");
  const auto retries = scope.find("NCCL_IB_RETRY_CNT") != nullptr
                           ? scope.number("NCCL_IB_RETRY_CNT")
                           : default_number("NCCL_IB_RETRY_CNT", context);
  if (setting == nullptr || !exponent || !retries || *exponent < 0 || *exponent > 31) return;
  const double watchdog = threshold("lint.pytorch.watchdog");
  if (*exponent == 0) {
    out.push_back(complain("nccl.ib.timeout-long", scope.script(), setting->name_place,
                           fmt::format("{}: 0 waits for ever, a lost message hangs the job", shown(*setting)),
                           "leave it unset"));
    return;
  }
  const double seconds = threshold("lint.ib.timeout-base") * std::pow(2.0, static_cast<double>(*exponent)) *
                         static_cast<double>(*retries);
  if (seconds >= watchdog) {
    out.push_back(
        complain("nccl.ib.timeout-long", scope.script(), setting->name_place,
                 fmt::format("{}: an error shows after about {}, PyTorch's watchdog ends the job after {}",
                             shown(*setting), seconds_text(seconds), seconds_text(watchdog)),
                 "stay below the watchdog, or the cause is lost"));
  } else if (seconds < threshold("lint.ib.timeout-short")) {
    out.push_back(
        complain("nccl.ib.timeout-short", scope.script(), setting->name_place,
                 fmt::format("{}: gives up after about {}; a short pause of the fabric ends the job",
                             shown(*setting), seconds_text(seconds)),
                 fmt::format("the default of {} is {}", nccl_words(context),
                             default_number("NCCL_IB_TIMEOUT", context).value_or(0))));
  }
}

void traffic_class(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_IB_TC");
  const auto value = scope.number("NCCL_IB_TC");
  if (setting == nullptr || !value || *value < 0 || *value > 255) return;
  const std::int64_t dscp = *value >> 2;
  out.push_back(
      complain("nccl.ib.tc-dscp", scope.script(), setting->name_place,
               fmt::format("{}: DSCP {}, ECN bits {}; priority {} where switches trust DSCP as shipped",
                           shown(*setting), dscp, *value & 3, dscp >> 3),
               *value < 64 && *value > 0 ? fmt::format("if DSCP {} is meant, write {}", *value, *value << 2)
                                         : "the switches must map this DSCP to the lossless class"));
}

std::string mebibytes(double bytes) {
  return fmt::format("{:.4g} MiB", bytes / 1048576.0);
}

void buffers(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_BUFFSIZE");
  const auto value = scope.number("NCCL_BUFFSIZE");
  if (setting == nullptr || !value || *value <= 0 || !read_number(setting->value).rest.empty()) return;
  const double standard = threshold("lint.buffer.simple");
  if (static_cast<double>(*value) < threshold("lint.buffer.smallest")) {
    out.push_back(complain(
        "nccl.buffsize.small", scope.script(), setting->value_place,
        fmt::format("{}: {} bytes a connection; every message is cut into crumbs", shown(*setting), *value),
        fmt::format("the default is {:.0f}", standard)));
  } else if (static_cast<double>(*value) > standard) {
    const double all =
        static_cast<double>(*value) + threshold("lint.buffer.ll") + threshold("lint.buffer.ll128");
    out.push_back(complain(
        "nccl.buffsize.memory", scope.script(), setting->value_place,
        fmt::format("{}: {} of GPU memory for each channel and neighbour, {} more than by default",
                    shown(*setting), mebibytes(all), mebibytes(static_cast<double>(*value) - standard)),
        "NCCL_MAX_CTAS bounds the channels"));
  }
}

void channels(const Scope& scope, Complaints& out) {
  const auto either = [&](std::string_view name, std::string_view old) {
    return scope.find(name) != nullptr ? name : old;
  };
  const std::string_view least = either("NCCL_MIN_CTAS", "NCCL_MIN_NCHANNELS");
  const std::string_view most = either("NCCL_MAX_CTAS", "NCCL_MAX_NCHANNELS");
  const auto low = scope.number(least);
  const auto high = scope.number(most);
  const Setting* setting = scope.find(least);
  if (setting == nullptr || !low || !high || *low <= *high) return;
  out.push_back(complain(
      "nccl.ctas.min-above-max", scope.script(), setting->name_place,
      fmt::format("{}={} is above {}={}: the channels are cut to the maximum, then copied up to the minimum",
                  least, *low, most, *high),
      "leave both unset, or put them in order"));
}

void threads(const Scope& scope, Complaints& out) {
  const Setting* setting = scope.find("NCCL_NTHREADS");
  const auto value = scope.number("NCCL_NTHREADS");
  const auto multiple = static_cast<std::int64_t>(threshold("lint.threads.multiple"));
  if (setting != nullptr && value && *value > 0 && multiple > 0 && *value % multiple != 0) {
    out.push_back(
        complain("nccl.nthreads.multiple", scope.script(), setting->value_place,
                 fmt::format("{}: no multiple of {}, NCCL takes another number", shown(*setting), multiple)));
  }
  const Setting* sockets = scope.find("NCCL_NSOCKS_PERTHREAD");
  const auto each = scope.number("NCCL_NSOCKS_PERTHREAD");
  const auto helpers = scope.number("NCCL_SOCKET_NTHREADS");
  if (sockets == nullptr || !each || !helpers || *each <= 0 || *helpers <= 0) return;
  const auto most = static_cast<std::int64_t>(threshold("lint.sockets.most"));
  if (*each > most || *helpers > most || *each * *helpers > most) {
    out.push_back(complain(
        "nccl.socket.too-many", scope.script(), sockets->name_place,
        fmt::format(
            "{} threads with {} sockets each: NCCL allows {} sockets a connection and cuts the number",
            *helpers, *each, most)));
  }
}

}  // namespace

void check_arithmetic(const Scope& scope, const Context& context, Complaints& out) {
  timeout(scope, context, out);
  traffic_class(scope, out);
  buffers(scope, out);
  channels(scope, out);
  threads(scope, out);
}

}  // namespace angio::lint
