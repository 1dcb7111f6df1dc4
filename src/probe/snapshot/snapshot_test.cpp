#include "probe/snapshot/snapshot.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <random>

#include "probe/machine_probe.hpp"

namespace angio::probe {
namespace {

using namespace std::string_literals;
using host::ReadError;

Snapshot parse(const std::string& text) {
  auto snapshot = parse_snapshot(text, "t.snap");
  EXPECT_TRUE(snapshot.has_value()) << (snapshot ? "" : snapshot.error().message);
  return snapshot ? std::move(*snapshot) : Snapshot{};
}

std::string note_ids(const Snapshot& snapshot) {
  std::string ids;
  for (const model::Note& note : snapshot.notes)
    ids += note.id + "*" + std::to_string(note.count) + " ";
  return ids;
}

bool equal(const host::Recording& a, const host::Recording& b) {
  return std::ranges::equal(a, b, [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.content == y.second.content && x.second.names == y.second.names &&
           x.second.link == y.second.link && x.second.exists == y.second.exists;
  });
}

TEST(Snapshot, WritesTheFormat) {
  Snapshot snapshot;
  snapshot.tool = "angio 0.1.0";
  snapshot.host = "gpu-a";
  snapshot.captured = "2026-11-29T12:00:00Z";
  host::Recording& all = snapshot.recording;
  all["/a b"].content = "0-1\n";
  all["/block"].content = "one\ntwo\n";
  all["/cut"].content = "one\ntwo";
  all["/dir"].names = host::Names{"x", "y z"};
  all["/empty"].content = "";
  all["/fail"].content = std::unexpected(ReadError{EIO, "Driver/library version mismatch"});
  all["/link"].link = "../x y";
  all["/nul"].content = "a=1\0b=2\0"s;
  all["/raw"].content = "\x86\x80"s;
  all["/see"].exists = true;
  all["/unseen"].exists = false;
  EXPECT_EQ(
      render_snapshot(snapshot),
      "angio snapshot 1\ntool angio 0.1.0\nhost gpu-a\ncaptured 2026-11-29T12:00:00Z\nscope recorded\n"
      "= /a\\x20b 0-1\n+ /block\n|one\n|two\n+ /cut\n|one\n~two\n: /dir x y\\x20z\n- /empty\n"
      "! /fail EIO Driver/library version mismatch\n> /link ../x\\x20y\n0 /nul\n|a=1\n|b=2\n% /raw 8680\n"
      "? /see\n! /unseen exists ENOENT\nend 11\n");
  const Snapshot back = parse(render_snapshot(snapshot));
  EXPECT_TRUE(equal(back.recording, all));
  EXPECT_EQ(back.host, "gpu-a");
  EXPECT_EQ(back.captured, "2026-11-29T12:00:00Z");
  EXPECT_EQ(note_ids(back), "");
}

TEST(Snapshot, QuestionsOfOnePathStayApart) {
  Snapshot snapshot;
  host::Answers& answers = snapshot.recording["/p"];
  answers.content = std::unexpected(ReadError{EISDIR, {}});
  answers.names = std::unexpected(ReadError{EACCES, {}});
  answers.link = std::unexpected(ReadError{EINVAL, {}});
  answers.exists = true;
  EXPECT_TRUE(equal(parse(render_snapshot(snapshot)).recording, snapshot.recording));
  EXPECT_EQ(count_answers(snapshot.recording), 4U);
}

TEST(Snapshot, WhatWasNotCollectedIsSilent) {
  Snapshot snapshot;
  snapshot.recording["/p"].content = std::unexpected(ReadError{host::kNotCollected, {}});
  EXPECT_EQ(render_snapshot(snapshot), "angio snapshot 1\nscope recorded\nend 0\n");
}

// Random contents, names and errors of the nastiest letters come back to the byte.
TEST(Snapshot, RoundTripOfAnything) {
  std::mt19937 random(20261129);
  using namespace std::string_view_literals;
  constexpr std::string_view kLetters = "ab /\\\n\r\t\0\x01\x7f\x80\xc3\xa9|~=x."sv;
  const auto text = [&](std::size_t longest) {
    std::string made(random() % (longest + 1), ' ');
    for (char& c : made)
      c = kLetters[random() % kLetters.size()];
    return made;
  };
  const auto name = [&] {
    std::string made = text(6);
    std::erase_if(made, [](char c) { return c == '/' || c == '\0' || c == '.'; });
    return made + "n";
  };
  for (int round = 0; round < 300; ++round) {
    Snapshot snapshot;
    snapshot.scope = round % 2 == 0 ? host::Scope::kComplete : host::Scope::kRecorded;
    for (int i = 0; i < 20; ++i) {
      host::Answers& answers = snapshot.recording["/" + name() + "/" + name()];
      if (random() % 2 == 0) answers.content = text(40);
      if (random() % 4 == 0)
        answers.content = std::unexpected(ReadError{static_cast<int>(random() % 134), text(10)});
      if (random() % 3 == 0) answers.link = text(12);
      if (random() % 3 == 0) answers.exists = random() % 2 == 0;
      if (random() % 3 == 0) {
        host::Names names{name(), name()};
        std::ranges::sort(names);
        answers.names = std::move(names);
      }
    }
    std::erase_if(snapshot.recording, [](const auto& entry) { return count_answers({entry}) == 0; });
    const Snapshot back = parse(render_snapshot(snapshot));
    ASSERT_TRUE(equal(back.recording, snapshot.recording)) << render_snapshot(snapshot);
    ASSERT_EQ(back.scope, snapshot.scope);
    ASSERT_EQ(note_ids(back), "");
  }
}

TEST(Snapshot, RefusesWhatIsNone) {
  EXPECT_EQ(parse_snapshot("", "t.snap").error().message, "t.snap: the file is empty");
  EXPECT_EQ(parse_snapshot("<xml/>", "t.snap").error().code, ErrorCode::kInvalidInput);
  EXPECT_EQ(parse_snapshot("angio snapshot x\n", "t.snap").error().code, ErrorCode::kInvalidInput);
  const auto newer = parse_snapshot("angio snapshot 2\n", "t.snap");
  EXPECT_EQ(newer.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(newer.error().message.find("reads up to 1"), std::string::npos);
}

TEST(Snapshot, HostilePathsAreCountedAndLeftOut) {
  const Snapshot read = parse(
      "angio snapshot 1\n= relative 1\n= /a/../b 1\n= /a//b 1\n= /a/./b 1\n= /a/ 1\n= /x\\x00y 1\n= /x\\zz "
      "1\n"
      "= /" +
      std::string(5000, 'a') + " 1\n= /fine 1\n: /d a ../b .. c\n> /l " + std::string(5000, 'b') + "\n");
  EXPECT_EQ(note_ids(read), "snap.bad-path*8 snap.bad-name*2 snap.bad-link*1 ");
  EXPECT_EQ(read.notes[0].text, "t.snap:2: has a path that is not absolute and plain");
  EXPECT_EQ(**read.recording.at("/fine").content, "1\n");
  EXPECT_EQ(**read.recording.at("/d").names, (host::Names{"a", "c"}));
}

TEST(Snapshot, DamagedRecordsAreCounted) {
  const Snapshot read = parse(
      "angio snapshot 1\nnonsense here\nZ /p 1\n! /p EWHAT\n% /p abc\n% /p xy\n|stray\n|stray\n= /p 1\n= /p "
      "2\n\n# remark\n");
  EXPECT_EQ(note_ids(read),
            "snap.unknown-line*1 snap.unknown-record*1 snap.bad-error*1 snap.bad-bytes*2 snap.stray-line*1 "
            "snap.duplicate*1 ");
  EXPECT_EQ(**read.recording.at("/p").content, "1\n");
}

TEST(Snapshot, CrLfAndBomAreHarmless) {
  const Snapshot read = parse(
      "\xEF\xBB\xBF"
      "angio snapshot 1\r\ntool angio 0.1.0\r\n= /p 1\r\n+ /q\r\n|a\r\n|b\r\nend 2\r\n");
  EXPECT_EQ(**read.recording.at("/p").content, "1\n");
  EXPECT_EQ(**read.recording.at("/q").content, "a\nb\n");
  EXPECT_EQ(note_ids(read), "");
}

// Cut at every byte: what is read is a part of the whole, nothing half, and the loss is said.
TEST(Snapshot, CutAnywhereKeepsWholeAnswers) {
  Snapshot snapshot;
  snapshot.tool = "angio 0.1.0";
  snapshot.recording["/a"].content = "0-127\n";
  snapshot.recording["/b"].content = "one\ntwo\n";
  snapshot.recording["/c"].link = "../target";
  snapshot.recording["/d"].names = host::Names{"x", "yy"};
  const std::string whole = render_snapshot(snapshot);
  for (std::size_t size = whole.find("scope"); size < whole.size(); ++size) {
    const Snapshot read = parse(whole.substr(0, size));
    EXPECT_EQ(note_ids(read), "snap.truncated*1 ") << size;
    for (const auto& [path, answers] : read.recording) {
      const host::Answers& original = snapshot.recording.at(path);
      if (answers.content) {
        EXPECT_EQ(answers.content, original.content) << size;
      }
      if (answers.link) {
        EXPECT_EQ(answers.link, original.link) << size;
      }
      if (answers.names) {
        EXPECT_EQ(answers.names, original.names) << size;
      }
    }
  }
}

TEST(Snapshot, ContentLargerThanAnyProbeReadsIsRefused) {
  const std::string line(std::size_t{1} << 20U, 'x');
  std::string text = "angio snapshot 1\n+ /big\n";
  for (int i = 0; i < 66; ++i)
    text += "|" + line + "\n";
  const Snapshot read = parse(text + "= /after 1\n");
  EXPECT_EQ(note_ids(read), "snap.too-large*1 ");
  EXPECT_EQ(**read.recording.at("/after").content, "1\n");
}

host::Recording hand_made_machine() {
  host::Recording all;
  const auto file = [&](const std::string& path, const std::string& text) { all[path].content = text; };
  file("/proc/sys/kernel/hostname", "gpu-a\n");
  file("/proc/sys/kernel/osrelease", "5.15.0\n");
  file("/sys/devices/system/cpu/online", "0-1\n");
  file("/sys/devices/system/cpu/present", "0-1\n");
  file("/sys/devices/system/cpu/possible", "0-1\n");
  for (const std::string cpu : {"0", "1"}) {
    const std::string topology = "/sys/devices/system/cpu/cpu" + cpu + "/topology/";
    file(topology + "physical_package_id", cpu + "\n");
    file(topology + "core_id", "0\n");
    file(topology + "thread_siblings_list", cpu + "\n");
    file(topology + "core_cpus_list", cpu + "\n");
    const std::string node = "/sys/devices/system/node/node" + cpu + "/";
    file(node + "cpulist", cpu + "\n");
    file(node + "distance", cpu == "0" ? "10 21\n" : "21 10\n");
    file(node + "meminfo", "Node " + cpu + " MemTotal:       16384 kB\n");
  }
  file("/sys/devices/system/node/online", "0-1\n");
  const std::string device = "/sys/bus/pci/devices/0000:1b:00.0/";
  file(device + "class", "0x030200\n");
  file(device + "vendor", "0x10de\n");
  file(device + "device", "0x2330\n");
  file(device + "numa_node", "1\n");
  file(device + "local_cpulist", "1\n");
  file("/proc/77/status", "Name:\tpython\nMems_allowed_list:\t0-1\n");
  file("/proc/77/cmdline", "python\0train.py\0"s);
  file("/proc/77/task/77/status", "Name:\tpython\nCpus_allowed_list:\t1\n");
  std::string stat = "77 (python) S";
  for (int field = 4; field < 39; ++field)
    stat += " 0";
  file("/proc/77/task/77/stat", stat + " 1\n");
  return all;
}

// The promise of the format: a snapshot is as good as the machine it was taken on.
TEST(Snapshot, TheMachineReadBackIsTheMachineProbed) {
  const auto root = host::make_memory_root(hand_made_machine(), host::Scope::kComplete);
  const host::RecordingRoot recorder(*root);
  ProbeOptions options;
  options.processes = {77};
  const model::Machine live = probe_machine(recorder, options);
  Snapshot snapshot;
  snapshot.tool = "angio 0.1.0";
  snapshot.host = live.name;
  snapshot.captured = "2026-11-29T12:00:00Z";
  snapshot.recording = recorder.recording();
  const model::Machine read = machine_of(parse(render_snapshot(snapshot)), "dir/gpu-a.snap");

  EXPECT_EQ(read.name, "gpu-a");
  EXPECT_EQ(read.origin, "snapshot dir/gpu-a.snap");
  EXPECT_TRUE(read.captured.is("2026-11-29T12:00:00Z"));
  EXPECT_EQ(read.cpus.online, live.cpus.online);
  EXPECT_EQ(read.cpus.packages.size(), live.cpus.packages.size());
  EXPECT_EQ(read.cpus.cores.size(), 2U);
  ASSERT_EQ(read.numa.nodes.size(), 2U);
  EXPECT_EQ(*read.numa.nodes[0].distances.get(), (std::vector<std::uint32_t>{10, 21}));
  ASSERT_EQ(read.pci.devices.size(), 1U);
  EXPECT_EQ(read.pci.devices[0].numa.get()->value, 1U);
  EXPECT_EQ(read.gpus.size(), live.gpus.size());
  EXPECT_EQ(*read.software.kernel.get(), "5.15.0");
  EXPECT_EQ(read.software.container.presence(), live.software.container.presence());
  EXPECT_EQ(read.software.nvidia_on_disk.presence(), live.software.nvidia_on_disk.presence());
  ASSERT_EQ(read.processes.size(), 1U);
  EXPECT_EQ(read.processes[0].command, "python train.py");
  EXPECT_TRUE(read.processes[0].threads.at(0).last_cpu.is(1));
  EXPECT_EQ(read.notes.size(), live.notes.size()) << read.notes.at(0).id << " " << read.notes.at(0).text;

  // Probing the snapshot asks nothing that the snapshot does not hold.
  const auto replay = host::make_memory_root(snapshot.recording, host::Scope::kRecorded);
  const host::RecordingRoot again(*replay);
  (void)probe_machine(again, options);
  for (const auto& [path, answers] : again.recording()) {
    if (answers.content && !*answers.content) {
      EXPECT_NE(answers.content->error().error, host::kNotCollected) << path;
    }
    if (answers.names && !*answers.names) {
      EXPECT_NE(answers.names->error().error, host::kNotCollected) << path;
    }
    if (answers.link && !*answers.link) {
      EXPECT_NE(answers.link->error().error, host::kNotCollected) << path;
    }
  }
}

}  // namespace
}  // namespace angio::probe
