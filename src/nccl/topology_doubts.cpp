#include "nccl/topology_doubts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "base/text.hpp"
#include "knowledge/knowledge.hpp"
#include "nccl/system_graph.hpp"
#include "nccl/topology_check.hpp"

namespace angio::nccl {
namespace {

// maxNvLinks of src/graph/xml.cc (ncclTopoGetXmlFromGpu) is 0 below this compute capability.
constexpr std::int64_t kFirstWithNvlink = 60;

// Calls take(element, bus id of the nearest pci) for each element below.
template <typename Take>
void walk(const Element& element, std::string_view bus, const Take& take) {
  for (const Element& child : element.children) {
    const std::string_view below = child.name == "pci" ? child.get("busid") : bus;
    take(child, below);
    walk(child, below, take);
  }
}

const model::Gpu* gpu_at(const model::Machine& machine, std::string_view bus) {
  const auto address = parse_pci_address(bus);
  if (!address) return nullptr;
  const auto found =
      std::ranges::find_if(machine.gpus, [&](const model::Gpu& gpu) { return gpu.address.is(*address); });
  return found == machine.gpus.end() ? nullptr : &*found;
}

// Links that are listed were put into the tree where they are active. A model that is not known but was asked
// through NVML has shown what it has.
bool tells_links(const model::Gpu& gpu) {
  if (!gpu.links.empty() || !gpu.linked.empty()) return true;
  const std::string* name = gpu.name.get();
  const knowledge::GpuModel* model = name == nullptr ? nullptr : knowledge::find_gpu(*name);
  return model != nullptr ? model->nvlinks == 0 : gpu.library_index.is_known();
}

bool can_have_links(const Element& gpu) {
  return gpu.find("sm") == nullptr || read_number(gpu.get("sm")) >= kFirstWithNvlink;
}

struct Bare {
  const Element* gpu;
  std::string name;
};

std::vector<Bare> without_links(const Element& root, const model::Machine* machine) {
  std::vector<Bare> found;
  if (is_rccl(root)) return found;
  walk(root, "", [&](const Element& element, std::string_view bus) {
    if (element.name != "gpu" || element.child("nvlink") != nullptr || !can_have_links(element)) return;
    const model::Gpu* real = machine == nullptr ? nullptr : gpu_at(*machine, bus);
    if (real != nullptr && (tells_links(*real) || real->vendor == model::GpuVendor::kAmd)) return;
    found.push_back({&element, printable(element.get("dev").empty() ? bus : element.get("dev"))});
  });
  return found;
}

std::string named(const std::vector<Bare>& gpus) {
  constexpr std::size_t kNamed = 8;
  std::string text;
  for (std::size_t index = 0; index < gpus.size() && index < kNamed; ++index)
    text += (index == 0 ? "" : ", ") + gpus[index].name;
  return gpus.size() > kNamed ? fmt::format("{} and {} more", text, gpus.size() - kNamed) : text;
}

void check_hosts(const Element& root, Remarks& remarks) {
  std::set<std::string> hashes;
  const Element* second = nullptr;
  for (const Element& cpu : root.children) {
    if (cpu.name != "cpu" || cpu.get("host_hash").empty()) continue;
    if (hashes.insert(std::string(cpu.get("host_hash"))).second && hashes.size() == 2) second = &cpu;
  }
  if (second == nullptr) return;
  remarks.add({Weight::kWarning, "merge.hosts", second->place,
               fmt::format("{} different host_hash: files of that many hosts", hashes.size()),
               "takes them for hosts of one NVLink domain, each with its own devices",
               "merge the files of one host only, unless that is meant"});
}

std::string difference(const Element& one, const Element& other) {
  for (const Attribute& attribute : one.attributes) {
    const std::string* value = other.find(attribute.name);
    if (value == nullptr || *value != attribute.value)
      return fmt::format("{} \"{}\" and \"{}\"", printable(attribute.name), printable(attribute.value),
                         value == nullptr ? "" : printable(*value));
  }
  for (const Attribute& attribute : other.attributes)
    if (one.find(attribute.name) == nullptr)
      return fmt::format("{} \"\" and \"{}\"", printable(attribute.name), printable(attribute.value));
  return {};
}

void check_nets(const Element& root, Remarks& remarks) {
  std::map<std::array<std::string, 3>, const Element*> nets;  // by bus id, name and port
  walk(root, "", [&](const Element& net, std::string_view bus) {
    if (net.name != "net" || net.get("name").empty()) return;
    const auto [at, fresh] =
        nets.try_emplace({to_lower(bus), std::string(net.get("name")), std::string(net.get("port"))}, &net);
    if (fresh) return;
    const std::string differs = difference(*at->second, net);
    if (differs.empty()) return;  // the check of the elements says net.twice
    remarks.add({Weight::kWarning, "merge.net-twice", net.place,
                 fmt::format("net {} at {} twice, with {}", printable(net.get("name")),
                             bus.empty() ? "no bus id" : printable(bus), differs),
                 "adds both to its graph as two NICs",
                 "a guid belongs to one NIC: the files may be of two hosts; keep one net"});
  });
}

// "… is in line 7 already": the number moves with the lines.
std::string_view stable_text(const Remark& remark) {
  const std::string_view text = remark.text;
  return text.substr(0, text.find(" is in line "));
}

}  // namespace

std::vector<std::string> gpus_of_unknown_links(const Element& root, const model::Machine* machine) {
  std::vector<std::string> names;
  for (Bare& gpu : without_links(root, machine))
    names.push_back(std::move(gpu.name));
  return names;
}

void check_nvlinks(const Element& root, const model::Machine* machine, Remarks& remarks) {
  const std::vector<Bare> gpus = without_links(root, machine);
  if (gpus.empty()) return;
  remarks.add({Weight::kNote, "gpu.no-nvlink", gpus.front().gpu->place,
               fmt::format("no <nvlink> in GPU {}", named(gpus)),
               "asks NVML for the links of these GPUs when it loads the file",
               "nothing where it runs; paths and graph know none without --snap FILE of the machine"});
}

bool refuses(const Remark& remark) {
  // What NCCL reads on with: a device it does not find, a value it takes for empty, a hash of another host.
  constexpr std::array<std::string_view, 3> kSurvived{"pci.busid", "xml.equal-sign", "cpu.host-hash"};
  return remark.weight == Weight::kError && std::ranges::find(kSurvived, remark.id) == kSurvived.end();
}

void check_joined(const Element& root, Remarks& remarks) {
  check_hosts(root, remarks);
  check_nets(root, remarks);
}

std::vector<Remark> remarks_about(const Element& root, std::string_view version) {
  Remarks remarks;
  const XmlText text = read_topology_xml(write_topology_xml(root), remarks);
  check_topology(text, version, remarks);
  if (const Element* read = root_of(text)) check_joined(*read, remarks);
  return remarks.take();
}

std::vector<Remark> new_remarks(const std::vector<Remark>& before, const std::vector<Remark>& after) {
  std::map<std::pair<std::string_view, std::string_view>, std::size_t> known;
  for (const Remark& remark : before)
    known[{remark.id, stable_text(remark)}] += remark.count;
  std::vector<Remark> fresh;
  for (const Remark& remark : after) {
    const auto found = known.find({remark.id, stable_text(remark)});
    if (found != known.end() && found->second > 0) {
      found->second -= std::min<std::size_t>(found->second, remark.count);
      continue;
    }
    fresh.push_back(remark);
  }
  return fresh;
}

}  // namespace angio::nccl
