#include "experiment/tune_spec.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/text.hpp"
#include "experiment/privileged.hpp"
#include "experiment/spec_toml.hpp"
#include "experiment/tune_arms.hpp"

namespace angio::experiment {
namespace {

const std::string kSpec = R"(hypothesis = "channels"
command = ["./train", "--workers", "{workers}", "${HOME}"]
launcher = ["mpirun", "-np", "2"]
run = ["--ranks", "1"]
better = "lower"
[metric]
json = "times[1].ms"
[[factor]]
name = "channels"
environment = "NCCL_MIN_NCHANNELS"
levels = [false, 4, 8]
baseline = 4
[[factor]]
argument = "workers"
levels = [2, "4"]
[[factor]]
run_option = "--memory"
levels = ["preferred", "interleave"]
[[factor]]
launcher_option = "--oversubscribe"
levels = [false, true]
)";

std::string error_of(const std::string& text) {
  const auto spec = parse_tune_spec(text, "x.toml");
  return spec ? "" : spec.error().message + " | " + spec.error().hint;
}

std::string with(const std::string& old, const std::string& now) {
  std::string text = kSpec;
  text.replace(text.find(old), old.size(), now);
  return text;
}

TEST(TuneSpec, ReadsAndBuilds) {
  const auto spec = parse_tune_spec(kSpec, "x.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->wish.arms,
            (std::vector<std::string>{"baseline", "channels=not set", "channels=8", "workers=4",
                                      "--memory=interleave", "--oversubscribe=on"}));
  const auto arms = arms_of(*spec);
  const Start baseline = build_start(*spec, arms[0], "/bin/angio");
  EXPECT_EQ(baseline.command,
            (std::vector<std::string>{"mpirun", "-np", "2", "/bin/angio", "run", "--ranks", "1", "--memory",
                                      "preferred", "--", "./train", "--workers", "2", "${HOME}"}));
  ASSERT_EQ(baseline.environment.size(), 1U);
  EXPECT_EQ(baseline.environment[0].second, "4");
  EXPECT_FALSE(build_start(*spec, arms[1], "angio").environment[0].second);
  EXPECT_EQ(build_start(*spec, arms[5], "angio").command[3], "--oversubscribe");
  const std::string file = settings_file(*spec, arms[2], "why\nbecause");
  EXPECT_TRUE(contains(file, "# why\n# because\nexport NCCL_MIN_NCHANNELS=8\n")) << file;
}

TEST(TuneSpec, ShellCommandsGetQuotedLevels) {
  const auto spec = parse_tune_spec(
      "command = \"./run {what} > log\"\n[metric]\nwall_time = true\n[[factor]]\nargument = \"what\"\n"
      "levels = [\"a\", \"b; rm -rf it's\"]\n",
      "x.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(build_start(*spec, arms_of(*spec)[1], "").command.back(), "./run 'b; rm -rf it'\\''s' > log");
  EXPECT_EQ(spec->wish.better, Better::kLower);
}

TEST(TuneSpec, Combinations) {
  const auto spec = parse_tune_spec(with("better", "design = \"combinations\"\nbetter") +
                                        "[[combination]]\nchannels = 8\nworkers = \"4\"\n",
                                    "x.toml");
  ASSERT_TRUE(spec) << spec.error().message;
  EXPECT_EQ(spec->wish.arms, (std::vector<std::string>{"baseline", "channels=8 workers=4"}));
}

TEST(TuneSpec, NamesFileLineAndWhatWasMeant) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {with("levels = [2", "levles = [2"),
       "x.toml:15: [[factor]] has no \"levles\" | Did you mean \"levels\"?"},
      {with("better = \"lower\"", "better = \"less\""), "x.toml:5: better = \"less\""},
      {with("baseline = 4", "baseline = 5"), "x.toml:12: 5 is none of the levels of \"channels\""},
      {with("json = \"times[1].ms\"", "json = \"times[\""), "x.toml:7: json"},
      {with("{workers}", "{worker}"), "the command has no \"{workers}\""},
      {with("[metric]", "[metrics]"), "Did you mean \"metric\"?"},
      {with("levels = [2, \"4\"]", "levels = [2, \"2\"]"), "there twice"},
      {with("levels = [2, \"4\"]", "levels = [2]"), "at least two"},
      {with("better =", "confidence = 2\nbetter ="), "confidence is 2, expected 0.5 to 0.9999"},
      {with("levels = [2", "levels = [2 3"), "x.toml:15:"},
      {with("environment = \"NCCL_MIN_NCHANNELS\"", "sysctl = \"vm.swappiness\""),
       "sudo sysctl -w vm.swappiness=8"},
      {with("environment = \"NCCL_MIN_NCHANNELS\"", "environment = \"A=B\""), "no name of a variable"},
      {kSpec + "[[watch]]\nname = \"m\"\nlast_number = true\n", "neither a limit nor a budget_percent"},
  };
  for (const auto& [text, words] : cases)
    EXPECT_TRUE(contains(error_of(text), words)) << error_of(text) << "\nexpected " << words;
}

TEST(TuneSpec, WhatStopsTheLibraryIsAnError) {
  for (const std::string& text :
       {std::string("[=]"), std::string("a = [=]"), std::string("\xef\xbb\xbb = 1"),
        std::string("\xef\xbb\xbf\xef\xbb\xbbx=1"), std::string(100000, '['),
        "a = " + std::string(5000, '9') + "-01-01", std::string("a = 99999999999999999999999"),
        std::string("a='''\nb"), std::string("a=1\\"), std::string("a = '\xef\xbb\xbe'"),
        std::string("a = \"\\ \xef\xbb\xbb\""), std::string("\0", 1), std::string("a = \"\xff\""),
        std::string(3 << 20U, '#')})
    EXPECT_TRUE(contains(error_of(text), "x.toml"))
        << printable(text.substr(0, 20)) << ": " << error_of(text);
  std::string deep = "a";
  for (int each = 0; each < 100000; ++each)
    deep += ".a";
  EXPECT_TRUE(contains(error_of(deep + " = 1"), "x.toml:1:"));
  for (std::size_t length = 0; length < kSpec.size(); ++length)
    (void)parse_tune_spec(kSpec.substr(0, length), "x.toml");
}

TEST(Privileged, IsSeenInWordsAndShellLines) {
  const auto found = [](std::vector<std::string> words) {
    const auto privileged = find_privileged(words);
    return privileged ? privileged->what : std::string();
  };
  EXPECT_EQ(found({"sudo", "x"}), "sudo");
  EXPECT_EQ(found({"sh", "-c", "cd /tmp && /usr/bin/sudo -n x"}), "sudo");
  EXPECT_EQ(found({"nvidia-smi", "-pl", "300"}), "nvidia-smi -pl");
  EXPECT_EQ(found({"nvidia-smi", "-q"}), "");
  EXPECT_EQ(found({"sysctl", "vm.swappiness=1"}), "sysctl vm.swappiness=1");
  EXPECT_EQ(found({"sysctl", "vm.swappiness"}), "");
  EXPECT_EQ(found({"echo 1 > /proc/sys/vm/drop_caches; x"}), "a write below /proc");
  EXPECT_EQ(found({"echo 1 >/sys/x"}), "a write below /sys");
  EXPECT_EQ(found({"echo 1 | tee /sys/x"}), "a write below /sys");
  EXPECT_EQ(found({"cat", "/sys/x"}), "");
  EXPECT_EQ(found({"ip", "link", "set", "eth0", "mtu", "9000"}), "ip set");
  EXPECT_EQ(found({"tc", "qdisc", "add", "dev", "eth0"}), "tc add");
  EXPECT_EQ(found({"./train", "--ip", "10.0.0.1"}), "");
}

TEST(Privileged, IsSeenBehindOtherWords) {
  for (const char* line : {"bash -c 'echo 1 > /proc/sys/vm/drop_caches'",
                           "env X=1 sysctl vm.x=1",
                           "/usr/sbin/sysctl -w a=b",
                           "doas x",
                           "pkexec x",
                           "x=$(sudo x)",
                           "{ sudo x; }",
                           R"(\sudo x)",
                           "echo 1 >| /sys/x",
                           "echo 1 1>/sys/x",
                           "echo 1 &>/proc/x",
                           "echo 1 >//proc/sys/x",
                           R"(echo 1 > "/proc/sys/x")",
                           "echo 1 | tee --append /sys/x",
                           "dd if=a of=/sys/x",
                           "cp a /sys/x",
                           "sed -i s/0/1/ /sys/x",
                           "su -c x",
                           "runuser -u root x",
                           "nvidia-smi mig -cgi 9",
                           "nvidia-smi -i 0 -pl=300",
                           "sh -lc 'tc qdisc add dev x'",
                           "swapoff -a"})
    EXPECT_TRUE(find_privileged(std::vector<std::string>{line})) << line;
}

TEST(Privileged, ReadingIsNone) {
  for (const char* line : {"nvidia-smi -q; ./train -c cfg", "nvidia-smi --query-gpu=x | grep -e foo",
                           "ip addr show; ./bench add", "ip route get 1.1.1.1 && ./train set",
                           "sysctl -n vm.x; X=1 ./train", "ethtool -i eth0; ./train -s 1",
                           "tc -s qdisc show || ./b change", "ls -a /sys/class/net", "grep -a /proc/x y",
                           "cat < /proc/meminfo", "cat /proc/meminfo > out", "cat /proc/cpuinfo 2>/dev/null",
                           "cp /proc/cpuinfo kept", "sed -n p /sys/x", "./train --su --mount=/x 2>&1"})
    EXPECT_FALSE(find_privileged(std::vector<std::string>{line})) << line;
}

TEST(Figure, FromPathsAndMetrics) {
  const std::string output =
      "warming up\n"
      R"({"schema": "angio.bench-step/1", "times": [{"ms": 4}, {"ms": 5.5}], "metrics": [)"
      R"({"subject": "a", "name": "samples/s", "value": 12}]})"
      "\ndone\n";
  EXPECT_EQ(read_figure({"times[1].ms", {}, {}, {}}, output), 5.5);
  EXPECT_EQ(read_figure({{}, "samples/s", {}, "angio.bench-step/"}, output), 12.0);
  EXPECT_TRUE(contains(read_figure({{}, "sample/s", {}, {}}, output).error().hint, "samples/s"));
  EXPECT_FALSE(read_figure({{}, "samples/s", {}, "angio.bench-collective/"}, output));
  EXPECT_FALSE(read_figure({"times[9].ms", {}, {}, {}}, output));
  EXPECT_FALSE(read_figure({"times", {}, {}, {}}, "nothing"));
  EXPECT_NE(wrong_path("a..b"), "");
  EXPECT_NE(wrong_path("a[x]"), "");
  EXPECT_NE(wrong_path("a."), "");
}

}  // namespace
}  // namespace angio::experiment
