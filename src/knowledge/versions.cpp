#include "knowledge/versions.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"

namespace angio::knowledge {
namespace {

#include "version_tables.inc"

int compare(std::string_view left, std::string_view right) {
  return compare_versions(leading_version(left), leading_version(right)).value_or(0);
}

// The first `parts` numbers of a version.
std::string_view cut(std::string_view version, std::size_t parts) {
  std::size_t end = 0;
  for (std::size_t seen = 0; seen < parts; ++seen) {
    end = version.find('.', seen == 0 ? 0 : end + 1);
    if (end == std::string_view::npos) return version;
  }
  return version.substr(0, end);
}

std::size_t parts_of(std::string_view version) {
  return static_cast<std::size_t>(std::ranges::count(version, '.')) + 1;
}

}  // namespace

std::span<const CudaToolkit> cuda_toolkits() {
  return kCudaToolkits;
}
std::span<const ForwardCompat> forward_compat() {
  return kForwardCompat;
}
std::span<const NcclRelease> nccl_releases() {
  return kNcclReleases;
}
std::span<const NcclBuild> nccl_builds() {
  return kNcclBuilds;
}
std::span<const FrameworkBuild> framework_builds() {
  return kFrameworkBuilds;
}
std::span<const DocaRelease> doca_releases() {
  return kDocaReleases;
}
std::span<const VersionRule> version_requirements() {
  return kRequirements;
}
std::span<const VersionRule> known_bad_versions() {
  return kKnownBad;
}
std::span<const VersionRule> version_remarks() {
  return kRemarks;
}
std::span<const VersionRule> nccl_features() {
  return kNcclFeatures;
}
std::span<const Scenario> scenarios() {
  return kScenarios;
}
std::span<const ScenarioCell> scenario_cells() {
  return kScenarioCells;
}
std::span<const AdviceText> advice_texts() {
  return kAdviceTexts;
}
std::span<const LibraryChoice> library_choices() {
  return kLibraryChoices;
}

std::string_view leading_version(std::string_view text) {
  std::size_t end = 0;
  std::size_t dots = 0;
  while (end < text.size()) {
    const char c = text[end];
    if (c == '.' && (++dots == 4 || end + 1 == text.size())) break;
    if (c == '.' && (end == 0 || std::isdigit(static_cast<unsigned char>(text[end + 1])) == 0)) break;
    if (c != '.' && std::isdigit(static_cast<unsigned char>(c)) == 0) break;
    ++end;
  }
  return text.substr(0, end);
}

std::optional<bool> version_within(std::string_view version, std::string_view since, std::string_view until) {
  const std::string_view number = leading_version(version);
  if (number.empty()) return std::nullopt;
  if (!since.empty()) {
    const auto low = compare_versions(number, cut(since, parts_of(number)));
    if (!low) return std::nullopt;
    if (*low < 0) return false;
    // A major version alone may be any of its releases.
    if (*low == 0 && parts_of(number) == 1 && compare(number, since) < 0) return std::nullopt;
  }
  if (until.empty()) return true;
  const auto high = compare_versions(cut(number, parts_of(until)), until);
  if (!high) return std::nullopt;
  return *high <= 0;
}

int compare_as_given(std::string_view left, std::string_view right) {
  left = leading_version(left);
  right = leading_version(right);
  const std::size_t parts = std::min(parts_of(left), parts_of(right));
  return compare(cut(left, parts), cut(right, parts));
}

const CudaToolkit* find_cuda_toolkit(std::string_view version) {
  std::string_view number = leading_version(version);
  // The third number of a toolkit is its update, below 10; that of a component ("12.1.105") tells nothing.
  const auto pieces = split(number, '.');
  if (pieces.size() > 2 && pieces[2].size() > 1) number = cut(number, 2);
  const CudaToolkit* best = nullptr;
  for (const CudaToolkit& row : kCudaToolkits) {
    if (number.empty() || cut(row.version, 2) != cut(number, 2)) continue;
    if (best == nullptr || (compare(row.version, number) <= 0 && compare(row.version, best->version) > 0) ||
        (compare(best->version, number) > 0 && compare(row.version, best->version) < 0)) {
      best = &row;
    }
  }
  return best;
}

namespace {

struct Offer {
  std::string cuda;    // "12.4"
  std::string driver;  // the first known to have it
};

// The package cuda-compat-<version> is made of the libraries of a driver branch: it tells what the branch
// has where no toolkit was released with it.
std::vector<Offer> offers() {
  std::vector<Offer> all;
  for (const CudaToolkit& row : kCudaToolkits)
    all.push_back({std::string(cut(row.version, 2)), std::string(row.driver)});
  for (const ForwardCompat& row : kForwardCompat)
    all.push_back({std::string(row.package), std::to_string(row.own)});
  return all;
}

const Offer* newest_offer(const std::vector<Offer>& all, std::string_view driver) {
  const Offer* best = nullptr;
  if (leading_version(driver).empty()) return nullptr;
  for (const Offer& one : all) {
    if (compare_as_given(one.driver, driver) > 0) continue;
    const int order = best == nullptr ? 1 : compare(one.cuda, best->cuda);
    if (order > 0) best = &one;
  }
  return best;
}

// No release lies between: 12.3 and 12.4, 12.9 and 13.0.
bool follows(std::string_view next, std::string_view version) {
  const auto number = [](std::string_view text, std::size_t part) {
    const auto pieces = split(text, '.');
    return part < pieces.size() ? parse_integer<std::uint32_t>(pieces[part]).value_or(0) : 0;
  };
  if (number(next, 0) == number(version, 0)) return number(next, 1) == number(version, 1) + 1;
  return number(next, 0) == number(version, 0) + 1 && number(next, 1) == 0;
}

}  // namespace

std::string newest_cuda_of(std::string_view driver) {
  const std::vector<Offer> all = offers();
  const Offer* best = newest_offer(all, driver);
  if (best == nullptr) return {};
  if (cut(best->driver, 1) == cut(driver, 1)) return best->cuda;
  const Offer* next = nullptr;
  for (const Offer& one : all)
    if (compare(one.cuda, best->cuda) > 0 && (next == nullptr || compare(one.cuda, next->cuda) < 0))
      next = &one;
  return next != nullptr && follows(next->cuda, best->cuda) ? best->cuda : std::string();
}

std::string least_cuda_of(std::string_view driver) {
  const std::vector<Offer> all = offers();
  const Offer* best = newest_offer(all, driver);
  return best == nullptr ? std::string() : best->cuda;
}

const CudaFloor* find_cuda_floor(std::uint32_t major) {
  for (const CudaFloor& row : kCudaFloors)
    if (row.major == major) return &row;
  return nullptr;
}

const ForwardCompat* find_forward_compat(std::string_view package) {
  for (const ForwardCompat& row : kForwardCompat)
    if (row.package == package) return &row;
  return nullptr;
}

const DriverBranch* find_driver_branch(std::uint32_t branch) {
  for (const DriverBranch& row : kDriverBranches)
    if (row.branch == branch) return &row;
  return nullptr;
}

const GpuArchitecture* find_architecture(std::string_view capability) {
  for (const GpuArchitecture& row : kArchitectures)
    if (row.capability == capability) return &row;
  return nullptr;
}

std::string_view capability_of(std::string_view gpu_name) {
  const GpuCapability* best = nullptr;
  for (const GpuCapability& row : kGpuCapabilities) {
    const std::size_t at = gpu_name.find(row.match);
    if (at == std::string_view::npos) continue;
    const std::size_t end = at + row.match.size();
    const auto word = [&](std::size_t i) {
      return std::isalnum(static_cast<unsigned char>(gpu_name[i])) != 0;
    };
    if ((at > 0 && word(at - 1)) || (end < gpu_name.size() && word(end))) continue;
    if (best == nullptr || row.match.size() > best->match.size()) best = &row;
  }
  return best == nullptr ? std::string_view() : best->capability;
}

const NcclRelease* find_nccl_release(std::string_view version) {
  for (const NcclRelease& row : kNcclReleases)
    if (row.version == version) return &row;
  return nullptr;
}

const AdapterFamily* find_adapter_of(std::string_view firmware) {
  const std::string_view family = firmware.substr(0, firmware.find('.'));
  for (const AdapterFamily& row : kAdapters)
    if (row.firmware_family == family) return &row;
  return nullptr;
}

const PluginApi* find_plugin_api(std::string_view kind, std::string_view nccl) {
  const PluginApi* best = nullptr;
  if (leading_version(nccl).empty()) return nullptr;
  for (const PluginApi& row : kPluginApis) {
    if (row.kind != kind || compare(row.since, nccl) > 0) continue;
    if (best == nullptr || compare(row.since, best->since) > 0) best = &row;
  }
  return best;
}

}  // namespace angio::knowledge
