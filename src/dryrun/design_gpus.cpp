#include "dryrun/design_gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/ids.hpp"
#include "base/text.hpp"
#include "dryrun/node_design.hpp"
#include "knowledge/knowledge.hpp"
#include "knowledge/phantom_gpus.hpp"
#include "knowledge/versions.hpp"
#include "nccl/system_graph.hpp"
#include "nccl/topology_check.hpp"
#include "nccl/topology_doubts.hpp"

namespace angio::dryrun {
namespace {

using knowledge::PhantomGpu;
using nccl::Element;

constexpr std::string_view kSwitchClass = "0x068000";  // PCI_NVSWITCH_CLASS, src/graph/topo.h
constexpr std::string_view kGpuClass = "0x030200";
constexpr std::string_view kHidden = "fffffff:ffff:ff";  // an NVSwitch that is not seen, in NCCL's files
constexpr std::string_view kHiddenInNvml = "ffff:ff:ff.f";
constexpr std::uint32_t kMostLinks = 18;  // NVML_NVLINK_MAX_LINKS, nvml.h
constexpr std::uint32_t kNvidia = 0x10de;
constexpr std::int64_t kMostLanes = 32;               // of a link, PCI Express Base Specification
constexpr std::int64_t kLeastSm = 30, kMostSm = 999;  // compute capability 3.0 is the oldest NCCL 2 ran on

// "9.0" is 90.
std::uint32_t sm_of(std::string_view capability) {
  const std::size_t dot = capability.find('.');
  if (dot == std::string_view::npos) return 0;
  return parse_integer<std::uint32_t>(capability.substr(0, dot)).value_or(0) * 10 +
         parse_integer<std::uint32_t>(capability.substr(dot + 1)).value_or(0);
}

std::uint32_t sm_of(const PhantomGpu& model) {
  return sm_of(knowledge::capability_of(model.product));
}

// The oldest compute capability whose GPUs do NVLS.
std::uint32_t first_multicast() {
  std::uint32_t first = kMostSm + 1;
  for (const PhantomGpu& each : knowledge::phantom_gpus())
    if (each.multicast) first = std::min(first, sm_of(each));
  return first;
}

Result<const PhantomGpu*> named_model(std::string_view word) {
  if (word.empty()) return nullptr;
  if (const PhantomGpu* model = knowledge::find_phantom_gpu(to_lower(word))) return model;
  const std::vector<std::string> names = gpu_models();
  const auto meant = did_you_mean(to_lower(word), std::vector<std::string_view>(names.begin(), names.end()));
  return fail(ErrorCode::kInvalidInput,
              fmt::format("--gpu: no model \"{}\" is known{}", printable(word),
                          meant ? "; did you mean " + *meant + "?" : ""),
              "Known are " + join(names, ", "));
}

class GpuDesigner {
 public:
  GpuDesigner(const Scan& scan, std::vector<std::string>& notes) : scan_(scan), notes_(notes) {}

  Result<std::vector<DesignedGpu>> run(std::string_view word) {
    auto model = named_model(word);
    if (!model) return std::unexpected(std::move(model.error()));
    named_ = *model;
    if (scan_.gpus.size() > kMostGpus)
      return fail(ErrorCode::kUnsupported, fmt::format("{} GPUs in one node; NCCL asks NVML for at most {}",
                                                       scan_.gpus.size(), kMostGpus));
    for (const ScannedGpu& each : scan_.gpus)
      if (auto added = add(each); !added) return std::unexpected(std::move(added.error()));
    if (auto sorted = sort(); !sorted) return std::unexpected(std::move(sorted.error()));
    link();
    for (Draft& draft : drafts_)
      draft.designed.gpu.multicast = multicast(draft);
    say();
    std::vector<DesignedGpu> gpus;
    for (Draft& draft : drafts_)
      gpus.push_back(std::move(draft.designed));
    return gpus;
  }

 private:
  struct Draft {
    DesignedGpu designed;
    const ScannedGpu* found = nullptr;
    const PhantomGpu* model = nullptr;
    PciAddress address;
    std::optional<std::int64_t> number;  // dev of the file
  };

  Result<void> add(const ScannedGpu& found) {
    const ScannedPci& pci = scan_.pcis[found.pci];
    Draft draft;
    draft.found = &found;
    draft.model = named_ != nullptr ? named_ : model_of(pci);
    const std::string bus = to_lower(pci.bus);
    const auto address = parse_pci_address(bus);
    if (!address || !nccl::is_bus_id(bus))
      return fail(ErrorCode::kInvalidInput, fmt::format("a GPU at busid \"{}\"", printable(pci.bus)),
                  "A bus id is written 0000:1b:00.0");
    if (!buses_.insert(*address).second)
      return fail(ErrorCode::kUnsupported, fmt::format("two GPUs at {}", bus),
                  "Several hosts in one file, or partitions of a GPU: give one node with whole GPUs");
    draft.address = *address;
    draft.designed.in_file = found.element != nullptr;
    draft.designed.gpu.bus = bus;
    draft.designed.gpu.numa = pci.numa;
    if (auto known = fill(draft); !known) return known;
    drafts_.push_back(std::move(draft));
    return {};
  }

  static const PhantomGpu* model_of(const ScannedPci& pci) {
    return pci.vendor == kNvidia ? knowledge::find_phantom_gpu_of(pci.device) : nullptr;
  }

  Result<void> fill(Draft& draft) {
    phantom::Gpu& gpu = draft.designed.gpu;
    gpu.sm = draft.model == nullptr ? 0 : sm_of(*draft.model);
    draft.designed.sm_of_model =
        gpu.sm != 0 && (draft.found->element == nullptr || draft.found->element->find("sm") == nullptr);
    if (const Element* element = draft.found->element) {
      if (element->find("dev") != nullptr) draft.number = nccl::read_number(element->get("dev"));
      if (element->find("gdr") != nullptr) gpu.gdr = nccl::read_number(element->get("gdr")) != 0;
      if (auto same = take_sm(*element, draft); !same) return same;
      take_links(*element, gpu);
    }
    if (gpu.sm == 0) return unknown_model(draft);
    if (draft.model != nullptr) {
      gpu.name = draft.model->product;
      gpu.memory = std::uint64_t{draft.model->memory_gb} << 30U;
    } else {
      gpu.name = fmt::format("GPU of compute capability {}.{}", gpu.sm / 10, gpu.sm % 10);
    }
    return {};
  }

  Result<void> take_sm(const Element& element, Draft& draft) {
    if (element.find("sm") == nullptr) return {};
    const std::int64_t stated = nccl::read_number(element.get("sm"));
    if (stated < kLeastSm || stated > kMostSm)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("GPU {}: sm=\"{}\" is no compute capability", draft.designed.gpu.bus,
                              printable(element.get("sm"))),
                  "sm is the compute capability times ten, e.g. 90");
    if (named_ != nullptr && sm_of(*named_) != stated)
      return fail(ErrorCode::kInvalidInput,
                  fmt::format("--gpu {} is sm {}, but the topology says sm {} for the GPU at {}",
                              named_->name, sm_of(*named_), stated, draft.designed.gpu.bus),
                  "Leave out --gpu, or name the model that the topology describes");
    draft.designed.gpu.sm = static_cast<std::uint32_t>(stated);
    return {};
  }

  std::unexpected<Error> unknown_model(const Draft& draft) const {
    return fail(ErrorCode::kNotFound,
                fmt::format("{}, but not what they are (the first is {})",
                            scan_.placed ? "the topology names " + counted(scan_.gpus.size(), "PCI device") +
                                               " for GPUs"
                                         : "the topology names GPUs without sm",
                            draft.designed.gpu.bus),
                "Name the model: --gpu " + join(gpu_models(), ", "));
  }

  // What NVML would tell of the links of the file. NCCL does not ask for them there.
  void take_links(const Element& element, phantom::Gpu& gpu) {
    for (const Element& child : element.children) {
      if (child.name != "nvlink") continue;
      const std::string target = to_lower(child.get("target"));
      const auto address = parse_pci_address(target);
      const bool hidden = nccl::is_hidden_target(target) || !address;
      const auto kind = parse_integer<std::uint32_t>(child.get("tclass"), 16);
      const std::uint32_t target_class =
          kind.value_or(hidden || !is_gpu(target) ? switch_class() : gpu_class());
      const std::int64_t count =
          std::clamp<std::int64_t>(nccl::read_number(child.get("count")), 0, kMostLinks);
      add_links(gpu, hidden ? std::string(kHiddenInNvml) : to_string(*address), target_class,
                static_cast<std::uint32_t>(count));
    }
  }

  [[nodiscard]] bool is_gpu(std::string_view bus) const {
    return std::ranges::any_of(scan_.gpus, [&](const ScannedGpu& each) {
      return nccl::bus_number(scan_.pcis[each.pci].bus) == nccl::bus_number(bus);
    });
  }

  static std::uint32_t switch_class() { return *parse_integer<std::uint32_t>(kSwitchClass, 16); }
  static std::uint32_t gpu_class() { return *parse_integer<std::uint32_t>(kGpuClass, 16); }

  static void add_links(phantom::Gpu& gpu, const std::string& remote, std::uint32_t remote_class,
                        std::uint32_t count) {
    for (std::uint32_t link = 0; link < count && gpu.links.size() < kMostLinks; ++link)
      gpu.links.push_back({static_cast<std::uint32_t>(gpu.links.size()), remote, remote_class});
  }

  // NVML's numbers of the file; where it has none, or not for all, bus ids, by which NVML numbers.
  Result<void> sort() {
    std::set<std::int64_t> numbers;
    for (const Draft& draft : drafts_)
      if (draft.number && !numbers.insert(*draft.number).second)
        return fail(ErrorCode::kInvalidInput, fmt::format("two GPUs with dev=\"{}\"", *draft.number),
                    "Files of several hosts in one? Give the topology of one node, and --nodes");
    if (numbers.size() == drafts_.size()) {
      std::ranges::sort(drafts_, {}, [](const Draft& draft) { return *draft.number; });
    } else {
      std::ranges::sort(drafts_, {}, &Draft::address);
    }
    return {};
  }

  // Links are added only where no GPU of the file has any, and only by the user's word where the file
  // describes GPUs: a GPU without NVLink in a dump may be one that has lost them.
  void link() {
    for (Draft& draft : drafts_) {
      const knowledge::GpuModel* built =
          draft.model == nullptr ? nullptr : knowledge::find_gpu(draft.model->product);
      const auto stated = static_cast<std::uint32_t>(draft.designed.gpu.links.size());
      draft.designed.gpu.nvlinks = built == nullptr ? stated : std::max(stated, built->nvlinks);
      set_generations(built, draft);
      if (scan_.states_links || built == nullptr || (named_ == nullptr && !scan_.placed)) continue;
      if (!draft.model->wires.empty()) {
        wire(draft);
      } else if (built->nvswitch) {
        add_links(draft.designed.gpu, std::string(kHiddenInNvml), switch_class(), built->nvlinks);
        draft.designed.added.push_back({std::string(kHidden), kSwitchClass, built->nvlinks});
      }
    }
  }

  // PCIe as built, else as the file has its link; what neither states stays as the stand-in has it.
  void set_generations(const knowledge::GpuModel* built, Draft& draft) const {
    phantom::Gpu& gpu = draft.designed.gpu;
    const Element& pci = *scan_.pcis[draft.found->pci].element;
    const std::string_view speed = pci.get("link_speed");
    const double transfers = parse_double(speed.substr(0, speed.find(' '))).value_or(0) * 1e9;
    const auto generation = built != nullptr && built->pcie_generation != 0
                                ? std::optional(built->pcie_generation)
                                : knowledge::pcie_generation(TransfersPerSecond{transfers});
    if (generation) gpu.pcie_generation = *generation;
    const std::int64_t width = built != nullptr && built->pcie_width != 0
                                   ? built->pcie_width
                                   : nccl::read_number(pci.get("link_width"));
    if (width > 0 && width <= kMostLanes) gpu.pcie_width = static_cast<std::uint32_t>(width);
    const std::string capability = fmt::format("{}.{}", gpu.sm / 10, gpu.sm % 10);
    const knowledge::GpuArchitecture* architecture = knowledge::find_architecture(capability);
    if (architecture != nullptr && architecture->nvlink_version != 0)
      gpu.nvlink_version = architecture->nvlink_version;
  }

  void wire(Draft& draft) {
    const auto own = static_cast<std::size_t>(&draft - drafts_.data());
    for (const knowledge::PhantomWire& wire : draft.model->wires) {
      if (wire.first != own && wire.second != own) continue;
      const std::size_t other = wire.first == own ? wire.second : wire.first;
      if (other >= drafts_.size()) continue;
      const std::string& peer = drafts_[other].designed.gpu.bus;
      add_links(draft.designed.gpu, peer, gpu_class(), wire.links);
      draft.designed.added.push_back({peer, kGpuClass, wire.links});
      draft.designed.wired = true;
    }
  }

  static bool multicast(const Draft& draft) {
    const phantom::Gpu& gpu = draft.designed.gpu;
    const bool switched = !gpu.links.empty() && std::ranges::all_of(gpu.links, [](const phantom::Link& link) {
      return link.remote_class == switch_class();
    });
    return switched && (draft.model != nullptr ? draft.model->multicast : gpu.sm >= first_multicast());
  }

  void say() {
    if (scan_.placed) say_placed();
    if (scan_.bare_slots > 0)
      notes_.push_back(
          fmt::format("{} of a GPU without <gpu> left out: NCCL dumps name the GPUs of their job only",
                      counted(scan_.bare_slots, "PCI device")));
    say_links();
  }

  void say_placed() {
    const PhantomGpu* model = drafts_.front().model;
    const std::string reason =
        named_ != nullptr
            ? std::string("the model's name")
            : fmt::format("PCI device {}",
                          printable(scan_.pcis[drafts_.front().found->pci].element->get("device")));
    notes_.push_back(
        fmt::format("The topology has no <gpu>: {} placed on its PCI devices by bus id, {} by {}",
                    counted(drafts_.size(), "GPU"), model == nullptr ? "" : model->product, reason));
  }

  void say_links() {
    const auto added =
        std::ranges::find_if(drafts_, [](const Draft& each) { return !each.designed.added.empty(); });
    if (added != drafts_.end()) {
      notes_.push_back(
          added->designed.wired
              ? fmt::format(
                    "The topology has no NVLink: {} wired as in a DGX-1 in the order of bus ids, which is an "
                    "assumption",
                    added->model->product)
              : fmt::format("The topology has no NVLink: {} of each GPU to NVSwitch, as {} has by design",
                            counted(added->designed.gpu.links.size(), "link"), added->model->product));
      return;
    }
    if (scan_.states_links) return say_without();
    const auto bridge =
        std::ranges::find_if(drafts_, [](const Draft& each) { return each.designed.gpu.nvlinks > 0; });
    if (bridge != drafts_.end()) {
      notes_.push_back(fmt::format("The topology has no NVLink, though {} can have {}: none assumed; {}",
                                   bridge->designed.gpu.name, bridge->designed.gpu.nvlinks,
                                   named_ == nullptr ? "if there are, name the model with --gpu"
                                                     : "bridges are an option, write them as <nvlink>"));
    } else if (may_have_links()) {
      notes_.push_back(
          "The topology has no NVLink, and NCCL would ask NVML: none assumed; if there are, name the "
          "model with --gpu");
    }
  }

  [[nodiscard]] bool may_have_links() const {
    return std::ranges::any_of(drafts_, [](const Draft& each) { return each.model == nullptr; });
  }

  void say_without() {
    std::vector<std::string> names;
    for (const Draft& draft : drafts_)
      if (draft.designed.gpu.links.empty()) names.push_back(draft.designed.gpu.bus);
    if (!names.empty())
      notes_.push_back(
          fmt::format("No NVLink at {}, though other GPUs have some: taken as it is", listed(names)));
  }

  const Scan& scan_;
  std::vector<std::string>& notes_;
  const PhantomGpu* named_ = nullptr;
  std::set<PciAddress> buses_;
  std::vector<Draft> drafts_;
};

void add_gpu(const DesignedGpu& designed, std::size_t number, Element& pci) {
  const auto old = std::ranges::find(pci.children, "gpu", &Element::name);
  Element made;
  made.name = "gpu";
  made.set("dev", std::to_string(number));
  made.set("sm", std::to_string(designed.gpu.sm));
  made.set("gdr", designed.gpu.gdr ? "1" : "0");
  Element& gpu = old != pci.children.end() ? *old : pci.children.emplace_back(std::move(made));
  for (const AddedLinks& links : designed.added) {
    Element link;
    link.name = "nvlink";
    link.set("target", links.target);
    link.set("count", std::to_string(links.count));
    link.set("tclass", links.target_class);
    gpu.children.push_back(std::move(link));
  }
}

void visit(Element& element, std::map<std::string, std::size_t>& wanted,
           const std::vector<DesignedGpu>& gpus) {
  for (Element& child : element.children)
    visit(child, wanted, gpus);
  if (element.name != "pci") return;
  const auto found = wanted.find(to_lower(element.get("busid")));
  if (found == wanted.end()) return;
  add_gpu(gpus[found->second], found->second, element);
  wanted.erase(found);
}

}  // namespace

Result<std::vector<DesignedGpu>> design_gpus(const Scan& scan, std::string_view model,
                                             std::vector<std::string>& notes) {
  return GpuDesigner(scan, notes).run(model);
}

void add_to_tree(const std::vector<DesignedGpu>& gpus, bool wired_only, Element& root) {
  std::map<std::string, std::size_t> wanted;
  for (std::size_t index = 0; index < gpus.size(); ++index) {
    const bool incomplete = !gpus[index].in_file || !gpus[index].added.empty();
    if (incomplete && (gpus[index].wired || !wired_only)) wanted.emplace(gpus[index].gpu.bus, index);
  }
  visit(root, wanted, gpus);
}

std::vector<std::string> gpu_models() {
  std::vector<std::string> names;
  for (const PhantomGpu& model : knowledge::phantom_gpus())
    names.emplace_back(model.name);
  return names;
}

}  // namespace angio::dryrun
