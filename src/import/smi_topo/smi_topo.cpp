#include "import/smi_topo/smi_topo.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_map>

#include "base/text.hpp"
#include "import/smi_p2p/smi_p2p.hpp"
#include "import/smi_topo/affinity.hpp"
#include "import/smi_topo/matrix.hpp"

namespace angio::import::smi_topo {
namespace {

using model::Path;
using model::PathClass;

constexpr std::string_view kRunAgain =
    "run 'nvidia-smi topo -m' again into a file: nvidia-smi topo -m > topo.txt";
constexpr std::uint32_t kMaxLinks = 64;  // of one GPU pair; NVLink 5 has 18

bool is_p2p(const Matrix& matrix) {
  for (const MatrixRow& row : matrix.rows) {
    if (std::ranges::any_of(row.cells, is_p2p_word)) return true;
  }
  return contains(matrix.command, "-p2p");
}

bool is_topo(const Matrix& matrix) {
  return !matrix.rows.empty() && !is_p2p(matrix);
}

Path path_of(std::string_view word) {
  static const std::map<std::string_view, PathClass> kClasses{
      {"X", PathClass::kSelf},  {"C2C", PathClass::kC2c}, {"PIX", PathClass::kPix},
      {"PXB", PathClass::kPxb}, {"PHB", PathClass::kPhb}, {"NODE", PathClass::kNode},
      {"SYS", PathClass::kSys}, {"SOC", PathClass::kSys}};  // the word of old drivers
  if (word.starts_with("NV")) {
    const auto links = parse_integer<std::uint32_t>(word.substr(2));
    if (links && *links > 0 && *links <= kMaxLinks) return {PathClass::kNvLink, *links, {}};
  }
  const auto found = kClasses.find(word);
  if (found != kClasses.end()) return {found->second, 0, {}};
  return {PathClass::kUnknown, 0, fmt::format("{} is no class of nvidia-smi", quoted(word))};
}

class TopoImport {
 public:
  TopoImport(const Matrix& matrix, const MatrixText& text, Draft& draft)
      : matrix_(matrix), text_(text), draft_(draft) {}

  void run() {
    for (const std::string_view device : matrix_.devices)
      add_device(device, matrix_.line);
    add_devices_of_rows();
    size_ = order_.size();
    cells_.assign(size_ * size_, Path{PathClass::kUnknown, 0, "not in the text"});
    for (const MatrixRow& row : matrix_.rows)
      fill_row(row);
    complete();
    draft_.machine.stated_paths = model::StatedPaths{order_, std::move(cells_), draft_.at(matrix_.line)};
    note_missing_rows();
  }

 private:
  void add_device(std::string_view label, std::uint32_t line) {
    if (index_.contains(label)) return;
    index_.emplace(label, static_cast<std::uint32_t>(order_.size()));
    if (is_gpu_label(label)) {
      order_.push_back(smi_p2p::add_gpu(draft_, label, line));
    } else {
      order_.push_back(add_rdma(label, line));
    }
  }

  // The header may be cut: rows name the devices that it lost.
  void add_devices_of_rows() {
    for (const MatrixRow& row : matrix_.rows) {
      if (index_.contains(row.label)) continue;
      if (order_.size() >= std::min(2 * matrix_.devices.size() + 16, kMaxDevices)) break;
      add_device(row.label, row.line);
      draft_.note(
          "smi-topo.column-missing", row.line,
          [&] { return fmt::format("{} has a row but no column: the table is cut at the right", row.label); },
          kRunAgain);
    }
  }

  model::DeviceRef add_rdma(std::string_view label, std::uint32_t line) {
    const auto name = text_.nic_names.find(label);
    model::RdmaDevice device;
    device.name = printable(name != text_.nic_names.end() ? name->second : label);
    if (is_nic_label(label) && name == text_.nic_names.end()) {
      draft_.note(
          "smi-topo.nic-legend-missing", line,
          [&] { return fmt::format("no NIC legend names {}: its device (mlx5_…) is not known", label); },
          "paste the whole output, down to the last line of 'NIC Legend:'");
    }
    draft_.machine.rdma.push_back(std::move(device));
    return {model::DeviceKind::kRdma, static_cast<std::uint32_t>(draft_.machine.rdma.size() - 1)};
  }

  void fill_row(const MatrixRow& row) {
    const auto found = index_.find(row.label);
    if (found == index_.end()) return;
    if (!filled_.emplace(found->second, row.line).second) {
      draft_.note(
          "smi-topo.row-twice", row.line,
          [&] { return fmt::format("a second row for {}; the first counts", row.label); }, kRunAgain);
      return;
    }
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      Path path = path_of(row.cells[i]);
      if (path.kind == PathClass::kUnknown) {
        draft_.note(
            "smi-topo.unknown-class", row.line,
            [&] { return fmt::format("{}, column {}: {}", row.label, matrix_.devices[i], path.why); },
            kRunAgain);
      }
      cells_[found->second * size_ + index_.at(matrix_.devices[i])] = std::move(path);
    }
    if (row.cells.size() < matrix_.devices.size()) {
      draft_.note(
          "smi-topo.row-short", row.line,
          [&] {
            return fmt::format("{} has {} of {} cells", row.label, row.cells.size(), matrix_.devices.size());
          },
          kRunAgain);
    }
    fill_affinity(row, found->second);
  }

  void fill_affinity(const MatrixRow& row, std::uint32_t position) {
    const Affinity affinity = split_affinity(matrix_, row);
    if (affinity.ambiguous) {
      draft_.note(
          "smi-topo.affinity-ambiguous", row.line,
          [&] {
            return fmt::format("{}: fewer words than columns behind the cells: {}", row.label,
                               quoted(row.rest));
          },
          "paste with tabs, or redirect the output into a file");
    }
    if (!affinity.surplus.empty()) {
      draft_.note(
          "smi-topo.surplus", row.line,
          [&] { return fmt::format("{}: {} has no column", row.label, quoted(affinity.surplus)); },
          kRunAgain);
    }
    if (order_[position].kind != model::DeviceKind::kGpu || affinity.ambiguous) return;
    model::Gpu& gpu = draft_.machine.gpus[order_[position].index];
    const std::optional<CpuSet> cpus = read_cpus(row, affinity);
    if (affinity.numa) gpu.numa = read_node(row, "NUMA Affinity", *affinity.numa);
    if (affinity.gpu_numa) gpu.memory_numa = read_node(row, "GPU NUMA ID", *affinity.gpu_numa);
    if (cpus) draft_.machine.cpus.online |= *cpus;
    if (const NumaId* node = gpu.numa.get()) add_node(row, *node, cpus.value_or(CpuSet()));
    if (const NumaId* node = gpu.memory_numa.get()) nodes_[node->value].gpu_memory = true;
  }

  std::optional<CpuSet> read_cpus(const MatrixRow& row, const Affinity& affinity) {
    const std::string_view word = affinity.cpus.value_or("");
    if (word.empty() || word == "N/A") {
      if (word.empty() && !matrix_.columns.empty()) {
        draft_.note(
            "smi-topo.affinity-empty", row.line,
            [&] { return fmt::format("{} has no CPU affinity", row.label); },
            "none of the CPUs near to it is allowed here (cgroup), or the paste lost it: run it on the host");
      }
      return std::nullopt;
    }
    auto cpus = parse_cpu_list(word);
    if (!cpus) {
      draft_.note(
          "smi-topo.affinity-unreadable", row.line,
          [&] { return fmt::format("{}: CPU Affinity {} is no list of CPUs", row.label, quoted(word)); },
          kRunAgain);
    }
    return cpus;
  }

  model::Observed<NumaId> read_node(const MatrixRow& row, std::string_view column, std::string_view word) {
    if (word == "N/A") return draft_.absent<NumaId>(row.line);
    if (word.empty()) return {};
    if (const auto node = parse_integer<std::uint32_t>(word); node && *node <= CpuSet::kMaxCpu) {
      return draft_.known(NumaId{*node}, row.line);
    }
    const bool list = parse_cpu_list(word).has_value();
    draft_.note(
        list ? "smi-topo.several-nodes" : "smi-topo.node-unreadable", row.line,
        [&] {
          return fmt::format("{}: {} {} {}", row.label, column, quoted(word),
                             list ? "names several nodes, the nearest is not told" : "is no NUMA node");
        },
        list ? "run angio collect on the node" : kRunAgain);
    return draft_.unreadable<NumaId>(model::Reason::kUnparsable, row.line);
  }

  void add_node(const MatrixRow& row, NumaId id, const CpuSet& cpus) {
    Node& node = nodes_[id.value];
    if (!cpus.empty() && !node.cpus.empty() && !(node.cpus == cpus)) {
      draft_.note(
          "smi-topo.affinity-differs", row.line,
          [&] {
            return fmt::format("{}: CPUs {} on NUMA node {}, another GPU of that node has {}", row.label,
                               to_list(cpus), id.value, to_list(node.cpus));
          },
          kRunAgain);
    }
    node.cpus |= cpus;
  }

  // A path is the same in both directions: a cell that is missing is taken from its mirror.
  void complete() {
    for (std::size_t a = 0; a < size_; ++a) {
      cells_[a * size_ + a] = Path{PathClass::kSelf, 0, {}};
      for (std::size_t b = a + 1; b < size_; ++b)
        complete_pair(cells_[a * size_ + b], cells_[b * size_ + a], a, b);
    }
    for (auto& [id, node] : nodes_) {
      model::NumaNode numa;
      numa.id = NumaId{id};
      numa.cpus = node.cpus;
      numa.kind =
          node.gpu_memory && node.cpus.empty() ? model::NumaKind::kGpuMemory : model::NumaKind::kOrdinary;
      draft_.machine.numa.nodes.push_back(std::move(numa));
    }
  }

  void complete_pair(Path& there, Path& back, std::size_t a, std::size_t b) {
    const bool known = there.kind != PathClass::kUnknown;
    const bool known_back = back.kind != PathClass::kUnknown;
    const std::uint32_t line = line_of(a) > 0 ? line_of(a) : line_of(b);
    if (known && known_back && !(there == back)) {
      draft_.note(
          "smi-topo.asymmetric", line,
          [&] {
            return fmt::format("{} one way, {} the other way (devices {} and {} of the table)", label(there),
                               label(back), a, b);
          },
          kRunAgain);
    } else if (known != known_back) {
      (known ? back : there) = known ? there : back;
      draft_.note("smi-topo.mirrored", line,
                  "a missing cell was taken from the other direction of the same pair", kRunAgain);
    } else if (!known) {
      draft_.note(
          "smi-topo.path-missing", line,
          [&] { return fmt::format("no readable cell for devices {} and {} of the table", a, b); },
          kRunAgain);
    }
  }

  std::uint32_t line_of(std::size_t position) const {
    const auto found = filled_.find(static_cast<std::uint32_t>(position));
    return found != filled_.end() ? found->second : 0;
  }

  void note_missing_rows() {
    for (const std::string_view device : matrix_.devices) {
      if (filled_.contains(index_.at(device))) continue;
      draft_.note(
          "smi-topo.row-missing", matrix_.line,
          [&] { return fmt::format("{} has a column but no row", device); }, kRunAgain);
    }
  }

  struct Node {
    CpuSet cpus;
    bool gpu_memory = false;
  };

  const Matrix& matrix_;
  const MatrixText& text_;
  Draft& draft_;
  std::unordered_map<std::string_view, std::uint32_t> index_;
  std::unordered_map<std::uint32_t, std::uint32_t> filled_;  // device → line of its row
  std::vector<model::DeviceRef> order_;
  std::vector<Path> cells_;
  std::map<std::uint32_t, Node> nodes_;
  std::size_t size_ = 0;
};

void note_text(const MatrixText& text, Draft& draft) {
  for (const Line& line : text.not_understood)
    draft.note_unknown_line("smi-topo", line.number, line.text);
  for (const std::uint32_t line : text.joined) {
    draft.note("smi-topo.wrapped", line, "the line continues the one above and was joined to it",
               "redirect the output into a file instead of copying from a terminal");
  }
  for (const std::uint32_t line : text.further) {
    draft.note("smi-topo.further-table", line, "a further table; only the first of its kind is read",
               "give one file per node");
  }
}

void note_matrix(const Matrix& matrix, Draft& draft) {
  if (matrix.rows.empty()) {
    draft.note("smi-topo.no-rows", matrix.line, "a header without rows", kRunAgain);
  }
  for (std::size_t i = 0; i < matrix.too_many_devices; ++i) {
    draft.note("smi-topo.too-many-devices", matrix.line,
               "more devices than any node has; the rest is not read", kRunAgain);
  }
}

ForeignKind first_kind(const MatrixText& text) {
  for (const Matrix& matrix : text.matrices) {
    if (!matrix.rows.empty())
      return is_p2p(matrix) ? ForeignKind::kNvidiaSmiP2p : ForeignKind::kNvidiaSmiTopo;
  }
  return ForeignKind::kUnknown;
}

}  // namespace

ForeignKind first_table(const std::vector<Line>& lines) {
  constexpr std::ptrdiff_t kBefore = 64;   // lines that may hold the command
  constexpr std::ptrdiff_t kAfter = 4096;  // a table is shorter
  const auto header = std::ranges::find_if(lines, [](const Line& line) { return is_header(line.text); });
  if (header == lines.end()) return ForeignKind::kUnknown;
  const std::vector<Line> near(header - std::min(kBefore, header - lines.begin()),
                               header + std::min(kAfter, lines.end() - header));
  const ForeignKind kind = first_kind(read_matrices(near));
  return kind != ForeignKind::kUnknown ? kind : first_kind(read_matrices(lines));
}

Result<model::Machine> import_tables(const std::vector<Line>& lines, Draft draft) {
  const MatrixText text = read_matrices(lines);
  const auto topo = std::ranges::find_if(text.matrices, is_topo);
  const auto p2p =
      std::ranges::find_if(text.matrices, [](const Matrix& m) { return !m.rows.empty() && is_p2p(m); });
  if (topo == text.matrices.end() && p2p == text.matrices.end()) {
    return draft.nothing_read("a header with GPU0, GPU1, … and one row for each of them", kRunAgain);
  }
  if (topo != text.matrices.end()) TopoImport(*topo, text, draft).run();
  if (p2p != text.matrices.end()) smi_p2p::import_matrix(*p2p, draft);
  for (auto matrix = text.matrices.begin(); matrix != text.matrices.end(); ++matrix) {
    note_matrix(*matrix, draft);
    if (matrix == topo || matrix == p2p || matrix->rows.empty()) continue;
    draft.note("smi-topo.further-table", matrix->line, "a further table; only the first of its kind is read",
               "give one file per node");
  }
  note_text(text, draft);
  return std::move(draft.machine);
}

}  // namespace angio::import::smi_topo
