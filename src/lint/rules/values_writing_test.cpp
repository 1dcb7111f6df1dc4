#include <gtest/gtest.h>

#include "lint/rules/rule_testing.hpp"

namespace angio::lint {
namespace {

constexpr std::string_view kEquals = "env.shell.blank-around-equals";
constexpr std::string_view kOdd = "text.characters.typographic";
constexpr std::string_view kMark = "text.file.byte-order-mark";

Tried tried(std::string text, FileKind kind = FileKind::kShell) {
  return try_lint(std::move(text), nccl("2.28.9"), kind);
}

TEST(LintWriting, BlanksAroundEquals) {
  const Tried both = tried("export NCCL_DEBUG = INFO\n");
  EXPECT_EQ(both.severity(kEquals), "error");
  EXPECT_EQ(both.fixed(), "export NCCL_DEBUG=INFO\n");
  EXPECT_EQ(tried("NCCL_DEBUG = INFO\n").fixed(), "NCCL_DEBUG=INFO\n");
  EXPECT_EQ(tried("NCCL_DEBUG =INFO\n").fixed(), "NCCL_DEBUG=INFO\n");
  EXPECT_EQ(tried("NCCL_DEBUG =INFO\n").severity(kEquals), "error");
  const Tried cut = tried("export NCCL_DEBUG= INFO\n");
  EXPECT_EQ(
      cut.message(kEquals),
      "export NCCL_DEBUG= INFO: the blank ends the value; NCCL_DEBUG is empty, and INFO is taken for another "
      "name");
  EXPECT_EQ(cut.severity("env.value.empty"), "");
  EXPECT_EQ(tried("export NCCL_DEBUG=\n").severity("env.value.empty"), "info");
  for (const std::string_view good : {"export NCCL_DEBUG=INFO\n", "NCCL_DEBUG= ./x\n", "[ \"$A\" = b ]\n",
                                      "A_B=1\nexport NCCL_DEBUG= A_B\n", "make FOO =x\n", "test A_B = c\n"})
    EXPECT_EQ(tried(std::string(good)).severity(kEquals), "") << good;
}

TEST(LintWriting, TypographicCharacters) {
  EXPECT_EQ(tried("export NCCL_IB_HCA=\xE2\x80\x9Cmlx5\xE2\x80\x9D\n").severity(kOdd), "error");
  EXPECT_EQ(tried("torchrun \xE2\x80\x93\xE2\x80\x93nproc_per_node=8 t.py\n").severity(kOdd), "error");
  EXPECT_EQ(tried("export NCCL_DEBUG=INFO\xC2\xA0\n").severity(kOdd), "error");
  EXPECT_EQ(tried("torchrun\xC2\xA0t.py\n").severity(kOdd), "error");
  EXPECT_EQ(tried("env:\n  NCCL_DEBUG: INFO\xC2\xA0x\n", FileKind::kYaml).severity(kOdd), "error");
  EXPECT_EQ(tried("echo \xE2\x80\x9Chi\xE2\x80\x9D # \xE2\x80\x93\nrun \"\xE2\x80\x9Chi\xE2\x80\x9D\"\n")
                .severity(kOdd),
            "");
}

TEST(LintWriting, DashesAndQuotesInsideWordsAreNames) {
  EXPECT_EQ(tried("run B\xE2\x80\x93"
                  "1 \xE2\x80\x93 don\xE2\x80\x99t\n")
                .severity(kOdd),
            "");
}

TEST(LintWriting, ByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  const Tried shell = tried(mark + "export NCCL_IB_DISABLE=true\n");
  EXPECT_EQ(shell.severity(kMark), "warning");
  EXPECT_EQ(shell.severity("env.value.not-a-number"), "error");
  EXPECT_EQ(shell.fixed(), "export NCCL_IB_DISABLE=1\n");
  const Tried conf = tried(mark + "NCCL_IB_DISABLE=true\n", FileKind::kNcclConf);
  EXPECT_EQ(conf.severity("env.value.not-a-number"), "error");
  EXPECT_EQ(conf.severity("env.conf.blanks"), "");
  EXPECT_EQ(tried(mark + "os.environ['NCCL_IB_DISABLE'] = 'true'\n", FileKind::kPython).severity(kMark), "");
  EXPECT_EQ(tried(mark + "os.environ['NCCL_IB_DISABLE'] = 'true'\n", FileKind::kPython)
                .severity("env.value.not-a-number"),
            "error");
  EXPECT_EQ(
      tried(mark + "ENV NCCL_IB_DISABLE=true\n", FileKind::kDockerfile).severity("env.value.not-a-number"),
      "error");
  EXPECT_EQ(tried(mark + "NCCL_IB_DISABLE: \"true\"\n", FileKind::kYaml).severity("env.value.not-a-number"),
            "error");
}

TEST(LintWriting, BlanksAtTheEndOfAValue) {
  const Tried image = tried("FROM a\nENV NCCL_DEBUG=\"INFO \"\n", FileKind::kDockerfile);
  EXPECT_EQ(image.severity("env.value.end-blank"), "warning");
  EXPECT_EQ(image.fixed(), "FROM a\nENV NCCL_DEBUG=\"INFO\"\n");
  const Tried python = tried("os.environ[\"NCCL_SOCKET_IFNAME\"] = \"eth0 \"\n", FileKind::kPython);
  EXPECT_EQ(python.fixed(), "os.environ[\"NCCL_SOCKET_IFNAME\"] = \"eth0\"\n");
  EXPECT_EQ(tried("export NCCL_IB_TIMEOUT=\"22 \"\n").severity("env.value.end-blank"), "");
}

TEST(LintWriting, PythonWordsAreNoStrings) {
  const Tried word = tried("os.environ[\"NCCL_IB_DISABLE\"] = True\n", FileKind::kPython);
  EXPECT_EQ(word.severity("python.environ.not-a-string"), "error");
  EXPECT_EQ(word.fixed(), "os.environ[\"NCCL_IB_DISABLE\"] = \"1\"\n");
  EXPECT_EQ(tried("os.environ[\"NCCL_IB_DISABLE\"] = value\n", FileKind::kPython)
                .severity("python.environ.not-a-string"),
            "");
}

TEST(LintWriting, KubernetesGivesOneAdvice) {
  const std::string head = "apiVersion: v1\nkind: ConfigMap\ndata:\n  NCCL_NVLS_ENABLE: ";
  for (const auto& [word, digit] : {std::pair{"off", "0"}, std::pair{"true", "1"}}) {
    const Tried one = tried(head + word + "\n", FileKind::kYaml);
    EXPECT_EQ(one.severity("kubernetes.env.not-a-string"), "error");
    EXPECT_EQ(one.severity("env.value.not-a-number"), "");
    EXPECT_EQ(one.advice("kubernetes.env.not-a-string"),
              std::string("write \"") + digit + "\"; NCCL reads a number here");
    EXPECT_EQ(one.fixed(), head + "\"" + digit + "\"\n");
  }
  EXPECT_EQ(tried(head + "\"off\"\n", FileKind::kYaml).severity("env.value.not-a-number"), "info");
}

}  // namespace
}  // namespace angio::lint
