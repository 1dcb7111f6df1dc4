#include "import/smi_query/smi_query.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "import/smi_query/field.hpp"
#include "import/smi_query/gpu_fields.hpp"

namespace angio::import::smi_query {
namespace {

constexpr std::string_view kRunAgain = "run 'nvidia-smi -q > query.txt' again and send the whole file";
constexpr std::size_t kMaxDepth = 16;  // of headings; nvidia-smi uses five

// "GPU 00000000:53:00.0"; MIG and vGPU lines look different.
std::optional<PciAddress> gpu_heading(std::string_view text) {
  if (!text.starts_with("GPU ")) return std::nullopt;
  return parse_pci_address(text.substr(4));
}

class QueryImport {
 public:
  explicit QueryImport(Draft& draft) : draft_(draft) {}

  void take(const Line& line) {
    if (is_blank(line.text)) return;
    const std::string_view text = trim(line.text);
    if (text.starts_with("=====") || (text.find("nvidia-smi") != std::string_view::npos && !in_gpu_)) return;
    if (const auto address = gpu_heading(text)) {
      open_gpu(*address, line.number);
    } else if (!surplus_) {
      take_field(line);
    }
  }

  void finish() {
    const std::size_t found = draft_.machine.gpus.size();
    if (attached_ && *attached_ != found) {
      draft_.note(
          "smi-query.gpus-missing", attached_line_,
          [&] {
            return fmt::format("Attached GPUs says {}, {} described: the text is cut or several were joined",
                               *attached_, found);
          },
          kRunAgain);
    }
    for (auto& [id, process] : processes_)
      draft_.machine.processes.push_back(std::move(process));
  }

 private:
  struct Heading {
    std::size_t indent = 0;
    std::size_t path_length = 0;  // of path_ before this heading
  };

  void open_gpu(const PciAddress& address, std::uint32_t line) {
    surplus_ = !draft_.has_room_for_gpu(line);
    if (surplus_) return;
    model::Gpu gpu;
    gpu.index = static_cast<std::uint32_t>(draft_.machine.gpus.size());
    gpu.vendor = model::GpuVendor::kNvidia;
    gpu.address = draft_.known(address, line);
    draft_.machine.gpus.push_back(std::move(gpu));
    in_gpu_ = true;
    headings_.clear();
    path_.clear();
    process_ = nullptr;
  }

  void take_field(const Line& line) {
    const std::size_t indent = indentation(line.text);
    while (!headings_.empty() && headings_.back().indent >= indent) {
      path_.resize(headings_.back().path_length);
      headings_.pop_back();
    }
    KeyValue pair;
    const bool valued = split_key_value(line.text, " : ", pair) || split_empty(line.text, pair);
    const std::string_view name = valued ? pair.key : trim(line.text);
    if (valued) deliver({path_ + std::string(name), pair.value, line.number});
    if (valued && pair.value.empty() && !in_gpu_) return;
    if (headings_.size() < kMaxDepth && name.size() < 200) {
      headings_.push_back({indent, path_.size()});
      path_ += std::string(name) + "/";
    }
    if (!valued && (!in_gpu_ || indent == 0)) draft_.note_unknown_line("smi-query", line.number, line.text);
  }

  // "Serial Number   :" without a value.
  static bool split_empty(std::string_view text, KeyValue& pair) {
    const std::string_view trimmed = trim(text);
    if (!trimmed.ends_with(" :")) return false;
    pair = {trim(trimmed.substr(0, trimmed.size() - 2)), {}};
    return true;
  }

  void deliver(const Field& field) {
    if (!in_gpu_) {
      take_head(field);
    } else if (field.path.starts_with("Processes")) {
      take_process(field);
    } else if (!take_gpu_field(draft_, field, draft_.machine.gpus.back())) {
      draft_.note(
          "smi-query.unknown-field", field.line,
          [&] { return fmt::format("{}: {}", printable(field.path), quoted(field.value)); },
          "newer drivers print fields that are not used here");
    }
  }

  void take_head(const Field& field) {
    model::Software& software = draft_.machine.software;
    if (field.path == "Driver Version") {
      software.nvml_driver = observe<std::string>(draft_, field, parse_text);
    } else if (field.path == "CUDA Version") {
      software.cuda_driver = observe<std::uint32_t>(draft_, field, parse_cuda_version);
    } else if (field.path == "Attached GPUs") {
      attached_ = parse_integer<std::uint32_t>(field.value);
      attached_line_ = field.line;
      if (!attached_) note_unreadable(draft_, field);
    } else if (field.path != "Timestamp") {  // local time without a zone: no moment
      draft_.note_unknown_line("smi-query", field.line, field.path);
    }
  }

  void take_process(const Field& field) {
    const std::string_view name = std::string_view(field.path).substr(field.path.rfind('/') + 1);
    if (name == "Process ID") {
      const auto id = parse_integer<std::uint32_t>(field.value);
      if (!id) return note_unreadable(draft_, field);
      process_ = &processes_[*id];
      process_->id = *id;
      const std::uint32_t gpu = draft_.machine.gpus.back().index;
      if (process_->gpus.empty() || process_->gpus.back() != gpu) process_->gpus.push_back(gpu);
    } else if (name == "Name" && process_ != nullptr && process_->command.empty()) {
      process_->command =
          printable(field.value.substr(0, field.value.find(' ')));  // arguments may hold secrets
    }
  }

  Draft& draft_;
  bool in_gpu_ = false;
  bool surplus_ = false;  // the lines belong to a GPU that is not kept
  std::vector<Heading> headings_;
  std::string path_;
  std::optional<std::uint32_t> attached_;
  std::uint32_t attached_line_ = 0;
  std::map<std::uint32_t, model::Process> processes_;
  model::Process* process_ = nullptr;
};

void check_order(Draft& draft) {
  const auto address = [](const model::Gpu& gpu) { return gpu.address.value_or({}); };
  auto& gpus = draft.machine.gpus;
  if (std::ranges::is_sorted(gpus, {}, address)) return;
  draft.note("smi-query.order", 0,
             "the GPUs are not in the order of their addresses; the order of the text is kept",
             "give one file per node");
}

}  // namespace

bool looks_like(const std::vector<Line>& lines) {
  int signs = 0;
  for (const Line& line : lines) {
    KeyValue pair;
    if (line.text.find("==NVSMI LOG==") != std::string_view::npos) return true;
    if (!split_key_value(line.text, " : ", pair)) continue;
    const bool sign = pair.key == "GPU UUID" || pair.key == "Attached GPUs" || pair.key == "Product Name" ||
                      pair.key == "Driver Version" || pair.key == "VBIOS Version" ||
                      pair.key == "Performance State";
    if (sign && ++signs == 2) return true;
  }
  return false;
}

Result<model::Machine> import_query(const std::vector<Line>& lines, Draft draft) {
  QueryImport query(draft);
  for (const Line& line : lines)
    query.take(line);
  query.finish();
  const auto& software = draft.machine.software;
  if (draft.machine.gpus.empty() && !software.nvml_driver.is_known() && !software.cuda_driver.is_known()) {
    return draft.nothing_read("a line such as 'GPU 00000000:1B:00.0' and 'name : value' lines below it",
                              kRunAgain);
  }
  check_order(draft);
  return std::move(draft.machine);
}

}  // namespace angio::import::smi_query
