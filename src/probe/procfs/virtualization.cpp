#include <algorithm>
#include <array>

#include "probe/procfs/software_parts.hpp"

namespace angio::probe::software {
namespace {

using Text = Observed<std::string>;

struct Mark {
  std::string_view text;
  std::string_view product;
};

// What hypervisors write into DMI; the same table as systemd's src/basic/virt.c.
constexpr std::array<Mark, 12> kDmiMarks{{
    {"Amazon EC2", "Nitro"},
    {"KVM", "KVM"},
    {"OpenStack", "KVM"},
    {"KubeVirt", "KVM"},
    {"QEMU", "KVM"},
    {"Google Compute Engine", "KVM"},
    {"Alibaba Cloud", "KVM"},
    {"VMware", "VMware"},
    {"Virtual Machine", "Hyper-V"},
    {"innotek GmbH", "VirtualBox"},
    {"VirtualBox", "VirtualBox"},
    {"Xen", "Xen"},
}};

// Clocks that only a hypervisor offers: drivers/clocksource and arch/x86/kernel/kvmclock.c.
constexpr std::array<Mark, 4> kClockMarks{
    {{"kvm-clock", "KVM"}, {"hyperv_clocksource", "Hyper-V"}, {"xen", "Xen"}, {"vmware", "VMware"}}};

constexpr std::array<Mark, 7> kGroupMarks{{
    {"kubepods", "kubernetes"},
    {"docker", "docker"},
    {"libpod", "podman"},
    {"crio", "cri-o"},
    {"containerd", "containerd"},
    {"lxc", "lxc"},
    {"garden", "garden"},
}};

template <std::size_t count>
std::optional<std::string> match(const std::array<Mark, count>& marks, std::string_view text) {
  for (const Mark& mark : marks) {
    if (contains(text, mark.text)) return std::string(mark.product);
  }
  return std::nullopt;
}

// The kernel version that gVisor answers: pkg/sentry/kernel, linux.Version of its source.
constexpr std::string_view kGvisorVersion = "#1 SMP Sun Jan 10 15:06:54 PST 2016";

// Known: the flag says a hypervisor runs below. Only x86 has it.
Observed<bool> hypervisor_flag(const Place& proc) {
  return proc.parsed("cpuinfo", [](std::string_view text) -> std::optional<bool> {
    const std::size_t flags = text.find("\nflags");
    if (flags == text.npos) return std::nullopt;
    const std::string_view line = text.substr(flags + 1, text.find('\n', flags + 1) - flags - 1);
    return contains(line, " hypervisor");
  });
}

struct Evidence {
  Text version, vendor, product, hypervisor, clocks, device_tree;
  Observed<bool> flag;
};

Text virtual_machine(const Evidence& seen) {
  const auto text = [](const Text& value) { return value.value_or(""); };
  if (contains(text(seen.version), kGvisorVersion)) return Text::known("gVisor", seen.version.source());
  const std::string machine = text(seen.vendor) + " " + text(seen.product);
  // Amazon's *.metal types are whole machines.
  if (contains(machine, "Amazon EC2") && contains(machine, ".metal"))
    return Text::absent(seen.product.source());
  if (contains(text(seen.hypervisor), "xen")) return Text::known("Xen", seen.hypervisor.source());
  if (seen.flag.is(false)) return Text::absent(seen.flag.source());
  if (const auto product = match(kDmiMarks, machine)) return Text::known(*product, seen.vendor.source());
  if (const auto product = match(kClockMarks, text(seen.clocks)))
    return Text::known(*product, seen.clocks.source());
  if (contains(text(seen.device_tree), "kvm")) return Text::known("KVM", seen.device_tree.source());
  if (seen.flag.is(true)) return Text::known("unknown hypervisor", seen.flag.source());
  if (seen.vendor.is_known()) return Text::absent(seen.vendor.source());
  return seen.flag.is_unreadable() ? Text::unreadable(model::Reason::kNotCollected, seen.flag.source())
                                   : Text();
}

void probe_virtual_machine(const host::Root& root, model::Machine& machine) {
  const Place proc(root, machine, "/proc");
  const Place dmi(root, machine, "/sys/class/dmi/id");
  const Place hypervisor(root, machine, "/sys/hypervisor");
  const Place clocks(root, machine, "/sys/devices/system/clocksource/clocksource0");
  const Place tree(root, machine, "/proc/device-tree/hypervisor");
  Evidence seen;
  seen.version = proc.text("version");
  seen.vendor = dmi.text("sys_vendor");
  seen.product = dmi.text("product_name");
  seen.hypervisor = hypervisor.text("type");
  seen.clocks = clocks.text("available_clocksource");
  seen.device_tree = tree.text("compatible");
  seen.flag = hypervisor_flag(proc);
  machine.software.virtual_machine = virtual_machine(seen);
}

// The root file system's line of mountinfo: engines show in the path of their overlay.
std::optional<std::string> engine_of_root_mount(std::string_view mountinfo) {
  constexpr std::array<Mark, 5> kMarks{{{"/docker/", "docker"},
                                        {"/containers/storage/", "podman"},
                                        {"io.containerd", "containerd"},
                                        {"/enroot/", "enroot"},
                                        {"singularity", "singularity"}}};
  for (const std::string_view line : split_lines(mountinfo)) {
    const std::vector<std::string_view> words = split_words(line);
    if (words.size() < 5 || words[4] != "/") continue;
    if (auto engine = match(kMarks, line)) return engine;
  }
  return std::string();
}

}  // namespace

void probe_virtualization(const host::Root& root, model::Machine& machine) {
  probe_virtual_machine(root, machine);
  Text& container = machine.software.container;
  const Place env(root, machine, "/@env");
  const Place top(root, machine, "");  // leaves are whole paths
  const Place proc(root, machine, "/proc");
  const auto known = [&](std::string engine, const Place& place, const char* leaf) {
    container = Text::known(std::move(engine), place.source(leaf));
  };
  if (root.exists("/@env/KUBERNETES_SERVICE_HOST"))
    return known("kubernetes", env, "KUBERNETES_SERVICE_HOST");
  if (root.exists("/.dockerenv")) return known("docker", top, ".dockerenv");
  if (root.exists("/run/.containerenv")) return known("podman", top, "run/.containerenv");
  if (root.exists("/.singularity.d")) return known("apptainer", top, ".singularity.d");
  if (const auto named = env.text("container"); named.is_known())
    return known(*named.get(), env, "container");
  const auto groups = proc.text("1/cgroup");
  if (const auto engine = match(kGroupMarks, groups.value_or(""))) return known(*engine, proc, "1/cgroup");
  const auto mounts = proc.parsed("self/mountinfo", engine_of_root_mount);
  if (!mounts.value_or("").empty()) return known(*mounts.get(), proc, "self/mountinfo");
  container = mounts.is_known() || groups.is_known()
                  ? Text::absent(mounts.source())
                  : Text::unreadable(mounts.reason(), mounts.source(), mounts.error());
}

}  // namespace angio::probe::software
