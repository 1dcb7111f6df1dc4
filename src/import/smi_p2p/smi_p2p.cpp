#include "import/smi_p2p/smi_p2p.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>
#include <vector>

#include "base/text.hpp"

namespace angio::import::smi_p2p {
namespace {

using model::P2pStatus;

constexpr std::string_view kRunAgain = "run 'nvidia-smi topo -p2p r' again into a file";

// The legend of nvidia-smi topo -p2p; the order of nvmlGpuP2PStatus_t.
const std::map<std::string_view, P2pStatus>& status_words() {
  static const std::map<std::string_view, P2pStatus> kWords{{"OK", P2pStatus::kOk},
                                                            {"CNS", P2pStatus::kChipsetNotSupported},
                                                            {"GNS", P2pStatus::kGpuNotSupported},
                                                            {"TNS", P2pStatus::kTopologyNotSupported},
                                                            {"DR", P2pStatus::kDisabledByRegkey},
                                                            {"NS", P2pStatus::kNotSupported},
                                                            {"U", P2pStatus::kUnknown}};
  return kWords;
}

// "r" of "nvidia-smi topo -p2p r"; empty when the text does not show the command.
std::string_view capability(std::string_view command) {
  const auto words = split_words(command);
  const auto option = std::ranges::find(words, std::string_view("-p2p"));
  return option != words.end() && option + 1 != words.end() ? *(option + 1) : std::string_view();
}

// False when the table answers another question than "can they read and write each other?".
bool is_about_access(const smi_topo::Matrix& matrix, Draft& draft) {
  const std::string_view asked = capability(matrix.command);
  if (asked == "r" || asked == "w") return true;
  if (asked.empty()) {
    draft.note("smi-p2p.capability-unknown", matrix.line,
               "the text does not show which capability was asked; read as peer reads and writes",
               "keep the command with the output: nvidia-smi topo -p2p r");
    return true;
  }
  draft.note(
      "smi-p2p.other-capability", matrix.line,
      [&] {
        return fmt::format(
            "the table is about {} (n: NVLink, a: atomics, p: properties), not about reads and writes; "
            "peer access stays unknown",
            quoted(asked));
      },
      "run nvidia-smi topo -p2p r");
  return false;
}

void fill_row(const smi_topo::MatrixRow& row, const std::vector<std::uint32_t>& gpu_of_column,
              model::Gpu& gpu, Draft& draft) {
  for (std::size_t i = 0; i < row.cells.size() && i < gpu_of_column.size(); ++i) {
    model::Observed<P2pStatus>& status = gpu.p2p[gpu_of_column[i]];
    const auto found = status_words().find(row.cells[i]);
    if (row.cells[i] == "X") {
      status = draft.known(P2pStatus::kOk, row.line);
    } else if (found != status_words().end()) {
      status = draft.known(found->second, row.line);
    } else {
      status = draft.unreadable<P2pStatus>(model::Reason::kUnparsable, row.line);
      draft.note(
          "smi-p2p.unknown-status", row.line,
          [&] { return fmt::format("{}: {} is no status of nvidia-smi", row.label, quoted(row.cells[i])); },
          kRunAgain);
    }
  }
  if (row.cells.size() < gpu_of_column.size()) {
    draft.note(
        "smi-p2p.row-short", row.line,
        [&] {
          return fmt::format("{} has {} of {} cells", row.label, row.cells.size(), gpu_of_column.size());
        },
        kRunAgain);
  }
}

}  // namespace

model::DeviceRef add_gpu(Draft& draft, std::string_view label, std::uint32_t line) {
  auto& gpus = draft.machine.gpus;
  const auto number = parse_integer<std::uint32_t>(label.substr(3));
  if (number) {
    const auto found =
        std::ranges::find_if(gpus, [&](const auto& gpu) { return gpu.library_index.is(*number); });
    if (found != gpus.end()) return {model::DeviceKind::kGpu, found->index};
  }
  model::Gpu gpu;
  gpu.index = static_cast<std::uint32_t>(gpus.size());
  gpu.vendor = model::GpuVendor::kNvidia;
  if (number) gpu.library_index = draft.known(*number, line);
  gpus.push_back(std::move(gpu));
  return {model::DeviceKind::kGpu, gpus.back().index};
}

void import_matrix(const smi_topo::Matrix& matrix, Draft& draft) {
  std::vector<std::uint32_t> gpu_of_column;
  std::unordered_map<std::string_view, std::uint32_t> gpu_of_label;
  for (const std::string_view device : matrix.devices) {
    if (!smi_topo::is_gpu_label(device)) {
      draft.note(
          "smi-p2p.not-a-gpu", matrix.line,
          [&] { return fmt::format("{} is no GPU; the table ends there", quoted(device)); }, kRunAgain);
      break;
    }
    gpu_of_column.push_back(add_gpu(draft, device, matrix.line).index);
    gpu_of_label.emplace(device, gpu_of_column.back());
  }
  if (!is_about_access(matrix, draft)) return;
  std::map<std::uint32_t, const smi_topo::MatrixRow*> rows;
  for (const smi_topo::MatrixRow& row : matrix.rows) {
    const auto gpu = gpu_of_label.find(row.label);
    if (gpu == gpu_of_label.end() || !rows.emplace(gpu->second, &row).second) {
      draft.note(
          "smi-p2p.row-unexpected", row.line,
          [&] { return fmt::format("{}: no column for it, or a second row", row.label); }, kRunAgain);
    }
  }
  for (const std::uint32_t index : gpu_of_column) {
    model::Gpu& gpu = draft.machine.gpus[index];
    gpu.p2p.assign(draft.machine.gpus.size(), {});
    if (const auto row = rows.find(index); row != rows.end()) {
      fill_row(*row->second, gpu_of_column, gpu, draft);
    } else {
      draft.note(
          "smi-p2p.row-missing", matrix.line,
          [&] { return fmt::format("GPU {} has a column but no row", index); }, kRunAgain);
    }
  }
}

}  // namespace angio::import::smi_p2p
