#include "import/import.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/text.hpp"
#include "import/lines.hpp"
#include "support/samples.hpp"

namespace angio::import {
namespace {

using test::sample;

TEST(Recognise, LooksAtContent) {
  EXPECT_EQ(recognise(sample("smi_topo/whole.txt")), ForeignKind::kNvidiaSmiTopo);
  EXPECT_EQ(recognise(sample("smi_topo/broken.txt")), ForeignKind::kNvidiaSmiTopo);
  EXPECT_EQ(recognise(sample("smi_p2p/whole.txt")), ForeignKind::kNvidiaSmiP2p);
  EXPECT_EQ(recognise(sample("smi_query/whole.txt")), ForeignKind::kNvidiaSmiQuery);
  EXPECT_EQ(recognise(sample("lscpu/old.txt")), ForeignKind::kLscpu);
  EXPECT_EQ(recognise(sample("lscpu/json.txt")), ForeignKind::kLscpu);
  EXPECT_EQ(recognise(sample("numactl/whole.txt")), ForeignKind::kNumactl);
  EXPECT_EQ(recognise(sample("nccl_topology/whole.xml")), ForeignKind::kNcclTopology);
  EXPECT_EQ(recognise(sample("nccl_topology/piece.xml")), ForeignKind::kNcclTopology);
  EXPECT_EQ(recognise(sample("nccl_topology/graph.xml")), ForeignKind::kNcclGraph);
  EXPECT_EQ(recognise(sample("hwloc_xml/whole.xml")), ForeignKind::kHwlocXml);
  EXPECT_EQ(recognise(sample("lspci/whole.txt")), ForeignKind::kLspci);
}

TEST(Recognise, IsNotFooledBySingleWords) {
  EXPECT_EQ(recognise("GPU0 and GPU1 are slow, NODE says SYS\n"), ForeignKind::kUnknown);
  EXPECT_EQ(recognise("Model: 3\nFlags: a b\n"), ForeignKind::kUnknown);
  EXPECT_EQ(recognise("12:30.5 something: happened\n"), ForeignKind::kUnknown);
  EXPECT_EQ(recognise("<system><temperature/></system>"), ForeignKind::kUnknown);
  EXPECT_EQ(recognise("GPU 0: NVIDIA A100\n\t Link 0: 25 GB/s\n"), ForeignKind::kUnknown);
}

void expect_refusal(std::string_view bytes, std::string_view cause) {
  const auto machine = import_machine(bytes, "x.txt");
  ASSERT_FALSE(machine.has_value());
  EXPECT_TRUE(contains(machine.error().message, cause)) << machine.error().message;
  EXPECT_TRUE(machine.error().message.starts_with("x.txt: "));
  EXPECT_FALSE(machine.error().hint.empty());
}

TEST(ImportMachine, SaysWhatItCouldNotRead) {
  expect_refusal("", "the file is empty");
  expect_refusal("\x1F\x8B\x08", "compressed (gzip)");
  expect_refusal("hello", "not a file that describes a machine");
  expect_refusal("hello\nworld\n", "x.txt: not a file that describes a machine");
  expect_refusal(std::string("\x7F") + "ELF GPU UUID : a\nVBIOS Version : b\n", "it is a program (ELF)");
  expect_refusal(std::string("GPU UUID : a\nVBIOS Version : b\n") + std::string(40, '\0') + "z",
                 "a binary file");
  expect_refusal("\xFF\xFEh\n", "UTF-16");
  expect_refusal("[1.0] NVRM: Xid (PCI:0000:9b:00): 119", "it looks like a kernel log");
  expect_refusal("{\"pci\": {}}", "it is JSON");
  expect_refusal("nvbandwidth Version: v0.6\n", "a result of nvbandwidth");
  expect_refusal(sample("nccl_topology/graph.xml"), "search results");
}

TEST(ImportMachine, ARefusalNamesWhatIsKnown) {
  const auto machine = import_machine("hello", "x.txt");
  ASSERT_FALSE(machine.has_value());
  for (const char* known :
       {"snapshots of angio collect", "nvidia-smi topo -m", "lscpu", "numactl", "lspci", "NCCL"}) {
    EXPECT_TRUE(contains(machine.error().hint, known)) << known;
  }
  EXPECT_LT(machine.error().message.size() + machine.error().hint.size(), 250U);
}

TEST(ImportMachine, NulBytesOfDamageAreNotBinary) {
  EXPECT_TRUE(
      import_machine(std::string("node 0 cpus: 0 1\nnode 0 size: 1024 MB\n") + std::string(100, '\0'), "t"));
  EXPECT_TRUE(import_machine(std::string("node 0 \0cpus: 0 1\nnode 0 size: 1024 MB\n", 39), "t"));
  std::string utf16 = "\xFF\xFE";
  for (const char c : std::string_view("\nnode 0 cpus: 0 1\n"))
    utf16 += {c, '\0'};
  EXPECT_TRUE(import_machine(utf16, "t"));
}

TEST(ImportMachine, NothingReadableIsAnError) {
  for (const char* file :
       {"smi_topo/empty.txt", "smi_p2p/empty.txt", "smi_query/empty.txt", "lscpu/empty.txt",
        "numactl/empty.txt", "nccl_topology/empty.xml", "hwloc_xml/empty.xml", "lspci/empty.txt"}) {
    const auto machine = import_machine(sample(file), file);
    ASSERT_FALSE(machine.has_value()) << file;
    EXPECT_TRUE(machine.error().message.starts_with(file)) << machine.error().message;
    EXPECT_FALSE(machine.error().hint.empty()) << file;
  }
}

TEST(CleanTerminal, RemovesCodesAndKeepsLines) {
  EXPECT_EQ(clean_terminal("\x1B[4mGPU0\x1B[0m\tX"), "GPU0\tX");
  EXPECT_EQ(clean_terminal("^[[4mGPU0^[[0m"), "GPU0");
  EXPECT_EQ(clean_terminal("[0;31mGPU0[0m [1]"), "GPU0 [1]");
  EXPECT_EQ(clean_terminal("_\bG_\bP"), "GP");
  EXPECT_EQ(clean_terminal("\x1B]0;title\x07ok\n\x1B]no end\nok"), "ok\n\nok");
  EXPECT_EQ(clean_terminal("\xEF\xBB\xBF"
                           "a\xC2\xA0"
                           "b\x1B"),
            "a b");
}

TEST(ImportMachine, GarbageIsCountedNotListed) {
  for (const std::string_view unit :
       {"node 0 cpus: 1\n", "<a b='", "<!-- ", "\x1B[", "GPU0 GPU1\n", "Architecture: x\n",
        "40:01.0 PCI bridge: x\n", "<system version='1'><pci busid='0:0:0.0'>", "<"}) {
    std::string text;
    while (text.size() < 2'000'000)
      text += unit;
    const auto machine = import_machine(text, "garbage");
    EXPECT_LT(machine ? machine->notes.size() : machine.error().message.size(), 1000U)
        << unit;  // counted, not listed
  }
}

std::string repeated(const std::string& head, const std::string& unit, std::size_t count) {
  std::string text = head;
  text.reserve(head.size() + unit.size() * count);
  for (std::size_t i = 0; i < count; ++i)
    text += unit;
  return text;
}

TEST(ImportMachine, EveryRepeatIsCountedTheFirstIsTold) {
  struct Case {
    const char* id;
    std::string head;
    std::string unit;
    std::string text;  // of the note
  };
  const Case cases[] = {
      {"numactl.wrapped", "node 0 cpus: 0\n", "1 2\n", "t:2: the line continues"},
      {"numactl.node-twice", "node 0 cpus: 0\n", "node 0 cpus: 1\n", "t:2: node 0 is listed twice"},
      {"numactl.unknown-line", "node 0 cpus: 0\n", "prose\n", "t:2: not understood: \"prose\""},
      {"lspci.device-twice", "40:01.0 PCI bridge: x\n", "40:01.0 PCI bridge: x\n",
       "t:2: 0000:40:01.0 is listed"},
      {"lspci.value-unreadable", "40:01.0 PCI bridge: x\n", "\tLnkCap: bad\n", "t:2: \"LnkCap: bad\""},
      {"smi-query.unknown-field", "==NVSMI LOG==\nGPU 00000000:1B:00.0\n", "    Foo Bar : 1\n",
       "t:3: Foo Bar: \"1\""},
      {"lscpu.unknown-line", "Vendor ID: x\nByte Order: y\n", "Foo: 1\n", "t:3: not understood"},
      {"smi-topo.row-twice", "GPU0 GPU1\nGPU0 X NV1\n", "GPU0 X NV1\n", "t:3: a second row for GPU0"},
      {"xml.broken-tag", "<topology><object type='Machine'>", "<a b\n", "t:1: not understood"},
  };
  constexpr std::size_t kRepeats = 200'000;
  for (const Case& each : cases) {
    const model::Machine machine = test::import_text(repeated(each.head, each.unit, kRepeats));
    EXPECT_EQ(test::note_count(machine, each.id), kRepeats) << each.id;
    const auto note = std::ranges::find(machine.notes, each.id, &model::Note::id);
    ASSERT_NE(note, machine.notes.end()) << each.id;
    EXPECT_TRUE(note->text.starts_with(each.text)) << note->text;
  }
}

TEST(ImportMachine, NoMoreGpusThanANodeCanHave) {
  const std::string query = repeated("==NVSMI LOG==\n", "GPU 00000000:1B:00.0\n    GPU UUID : x\n", 20'000);
  const model::Machine machine = test::import_text(query);
  EXPECT_EQ(machine.gpus.size(), 512U);
  EXPECT_EQ(test::note_count(machine, "import.too-many-gpus"), 20'000U - 512U);
}

}  // namespace
}  // namespace angio::import
