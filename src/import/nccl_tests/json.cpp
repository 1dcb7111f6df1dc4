// The file that nccl-tests writes with -J. Booleans stand in it as the strings "true" and "false", and
// numbers may be strings too, as "root" is.
#include "base/json.hpp"

#include <cmath>
#include <utility>

#include "base/text.hpp"
#include "import/nccl_tests/check.hpp"
#include "import/nccl_tests/nccl_tests.hpp"

namespace angio::import::nccl_tests {
namespace {

using model::NcclTestsDevice;
using model::NcclTestsRow;
using model::NcclTestsTable;
using model::NcclTestsTiming;

constexpr double kGigabyte = 1e9;
constexpr std::size_t kHead = 1U << 16U;  // keys of the top level that tell the kind
constexpr std::size_t kLongestText = 400;

std::optional<double> number(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* real = value->as_double())
    return std::isfinite(*real) ? std::optional(*real) : std::nullopt;
  if (const auto* whole = value->as_integer()) return static_cast<double>(*whole);
  if (const auto* text = value->as_string()) return parse_double(trim(*text));
  return std::nullopt;
}

std::optional<std::int64_t> integer(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* whole = value->as_integer()) return *whole;
  if (const auto* text = value->as_string()) return parse_integer<std::int64_t>(trim(*text));
  if (const auto* real = value->as_double();
      real != nullptr && std::abs(*real) < 9e18 && *real == std::floor(*real))
    return static_cast<std::int64_t>(*real);
  return std::nullopt;
}

template <typename Number>
std::optional<Number> natural(const Json* value) {
  const auto whole = integer(value);
  if (!whole || *whole < 0) return std::nullopt;
  if (!std::in_range<Number>(*whole)) return std::nullopt;
  return static_cast<Number>(*whole);
}

std::optional<bool> truth(const Json* value) {
  if (value == nullptr) return std::nullopt;
  if (const auto* flag = value->as_bool()) return *flag;
  if (const auto* text = value->as_string(); text != nullptr && (*text == "true" || *text == "false"))
    return *text == "true";
  if (const auto* whole = value->as_integer()) return *whole != 0;
  return std::nullopt;
}

std::string text(const Json* value) {
  if (value == nullptr) return {};
  if (const auto* string = value->as_string())
    return printable(std::string_view(*string).substr(0, kLongestText));
  if (const auto* whole = value->as_integer()) return std::to_string(*whole);
  return {};
}

std::optional<NcclTestsTiming> read_half(const Json* half, bool& cpu_time) {
  if (half == nullptr || half->as_object() == nullptr) return std::nullopt;
  const Json* time = half->find("time");
  if (time == nullptr) {
    time = half->find("cpu_time");
    cpu_time = cpu_time || time != nullptr;
  }
  const auto time_us = number(time);
  const auto algorithm = number(half->find("alg_bw"));
  const auto bus = number(half->find("bus_bw"));
  if (!time_us || !algorithm || !bus) return std::nullopt;
  return NcclTestsTiming{*time_us,
                         {*algorithm * kGigabyte},
                         {*bus * kGigabyte},
                         natural<std::uint64_t>(half->find("nwrong")),
                         {}};
}

void read_rows(const Json* results, std::uint32_t place, NcclTestsTable& table) {
  if (results == nullptr || results->as_array() == nullptr) return;
  for (const Json& one : *results->as_array()) {
    NcclTestsRow row;
    const auto size = natural<std::uint64_t>(one.find("size"));
    row.out_of_place = read_half(one.find("out_of_place"), table.cpu_time);
    row.in_place = read_half(one.find("in_place"), table.cpu_time);
    if (!size || (!row.out_of_place && !row.in_place)) {
      ++table.damaged_rows;
      continue;
    }
    row.size = {*size};
    row.count = natural<std::uint64_t>(one.find("count")).value_or(0);
    row.type = text(one.find("type"));
    row.reduction = text(one.find("redop"));
    if (row.reduction == "none") row.reduction.clear();
    row.root = integer(one.find("root"));
    row.source = {place, 0, ""};
    table.rows.push_back(std::move(row));
  }
}

void read_devices(const Json* devices, NcclTestsTable& table) {
  if (devices == nullptr || devices->as_array() == nullptr) return;
  for (const Json& one : *devices->as_array()) {
    const auto rank = natural<std::uint32_t>(one.find("rank"));
    if (!rank || *rank > 1'000'000) continue;
    NcclTestsDevice device;
    device.rank = *rank;
    device.group = natural<std::uint32_t>(one.find("group")).value_or(0);
    device.pid = natural<std::uint64_t>(one.find("pid")).value_or(0);
    device.host = text(one.find("hostname"));
    device.device = natural<std::uint32_t>(one.find("device")).value_or(0);
    device.address = text(one.find("device_hex"));
    device.name = text(one.find("device_info"));
    table.devices.push_back(std::move(device));
  }
}

void read_configuration(const Json& root, NcclTestsTable& table) {
  const Json* config = root.find("config");
  if (config == nullptr) return;
  table.threads = natural<std::uint32_t>(config->find("nthreads"));
  table.gpus_per_thread = natural<std::uint32_t>(config->find("ngpus"));
  if (const auto bytes = natural<std::uint64_t>(config->find("minimum_bytes"))) table.minimum = Bytes{*bytes};
  if (const auto bytes = natural<std::uint64_t>(config->find("maximum_bytes"))) table.maximum = Bytes{*bytes};
  if (const Json* factor = config->find("step_factor")) {
    table.step = text(factor) + "(factor)";
  } else if (const Json* bytes = config->find("step_bytes")) {
    table.step = text(bytes) + "(bytes)";
  }
  table.warmup = natural<std::uint32_t>(config->find("warmup_iters"));
  table.iterations = natural<std::uint32_t>(config->find("iterations"));
  table.validated = truth(config->find("validation"));
  if (!table.validated) {
    if (const auto checks = natural<std::uint32_t>(config->find("validation")))
      table.validated = *checks != 0;
  }
  read_devices(config->find("devices"), table);
}

// "2.29.2", or NCCL_VERSION_CODE.
std::string library_version(const Json* value) {
  const auto code = integer(value);
  if (!code || *code < 10000 || *code > 10'000'000) return text(value);
  return std::to_string(*code / 10000) + "." + std::to_string(*code % 10000 / 100) + "." +
         std::to_string(*code % 100);
}

// The first of args is the program as it was called.
std::string program_of(const Json* arguments) {
  if (arguments == nullptr) return {};
  std::string first;
  if (const auto* list = arguments->as_array(); list != nullptr && !list->empty())
    first = text(&list->front());
  if (const auto* string = arguments->as_string()) first = *string;
  first = first.substr(0, first.find(' '));
  return printable(first.substr(first.rfind('/') == std::string::npos ? 0 : first.rfind('/') + 1));
}

}  // namespace

bool looks_like_json(std::string_view bytes) {
  const std::string_view head = trim(bytes.substr(0, kHead));
  return head.starts_with("{") && contains(head, "\"config\"") &&
         (contains(head, "\"minimum_bytes\"") || contains(head, "\"nthreads\""));
}

Result<NcclTestsTable> parse_json_table(std::string_view bytes, const std::string& name,
                                        std::uint32_t place) {
  const auto root = parse_json(bytes);
  if (!root)
    return fail(ErrorCode::kInvalidInput, name + ": " + root.error().message,
                "A run that was stopped leaves the file unfinished: use the text that nccl-tests printed");
  NcclTestsTable table;
  table.json = true;
  table.source = table.average_source = {place, 0, ""};
  table.version = text(root->find("tests_version"));
  table.library_version = library_version(root->find("nccl_version"));
  table.program = program_of(root->find("args"));
  read_configuration(*root, table);
  read_rows(root->find("results"), place, table);
  if (const Json* bounds = root->find("out_of_bounds"))
    table.out_of_bounds = natural<std::uint64_t>(bounds->find("count"));
  if (const Json* average = root->find("average_bus_bandwidth")) {
    if (const auto value = number(average->find("bandwidth")))
      table.average = BytesPerSecond{*value * kGigabyte};
    table.average_okay = truth(average->find("okay"));
  }
  if (const Json* errors = root->find("errors"); errors != nullptr && errors->as_array() != nullptr) {
    for (const Json& error : *errors->as_array())
      table.errors.push_back(
          {error.as_string() != nullptr ? text(&error) : printable(to_text(error, -1)), {place, 0, ""}});
  }
  check_table(table);
  return table;
}

}  // namespace angio::import::nccl_tests
