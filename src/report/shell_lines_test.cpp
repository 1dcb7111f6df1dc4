#include "report/shell_lines.hpp"

#include <gtest/gtest.h>

#include "report/document.hpp"

namespace angio::report {
namespace {

using Lines = std::vector<std::string>;

TEST(ShellLines, ShortCommandsStayOnOneLine) {
  EXPECT_EQ(shell_lines("sudo modprobe nvidia_peermem", 40), Lines{"sudo modprobe nvidia_peermem"});
  EXPECT_EQ(shell_lines("", 40), Lines{""});
}

TEST(ShellLines, LongOnesGoOnBehindABackslash) {
  EXPECT_EQ(shell_lines("one two three four five", 12), (Lines{"one two \\", "three four \\", "five"}));
  EXPECT_EQ(shell_lines("sudo rmmod a; sudo rmmod b", 16), (Lines{"sudo rmmod a; \\", "sudo rmmod b"}));
}

TEST(ShellLines, WordsAreNeverBroken) {
  EXPECT_EQ(shell_lines("echo 1 | sudo tee /sys/bus/pci/devices/0000:18:00.0/numa_node", 30),
            (Lines{"echo 1 | sudo tee \\", "/sys/bus/pci/devices/0000:18:00.0/numa_node"}));
  EXPECT_EQ(shell_lines("/a/path/that/is/long/enough next", 10),
            (Lines{"/a/path/that/is/long/enough \\", "next"}));
}

TEST(ShellLines, QuotesCommentsAndEscapedBlanksStayWhole) {
  EXPECT_EQ(shell_lines("grep 'a b c d e f' file", 12), (Lines{"grep \\", "'a b c d e f' \\", "file"}));
  EXPECT_EQ(shell_lines("ls a\\ b\\ c d", 8), (Lines{"ls \\", "a\\ b\\ c \\", "d"}));
  EXPECT_EQ(shell_lines("run it # and say a lot of words", 12),
            (Lines{"run it \\", "# and say a lot of words"}));
  EXPECT_EQ(shell_lines("the rank's GPU and more words", 8), Lines{"the rank's GPU and more words"});
}

TEST(ShellLines, LinesOfTheirOwnAndHereDocumentsAreKept) {
  EXPECT_EQ(shell_lines("first\nsecond", 40), (Lines{"first", "second"}));
  EXPECT_EQ(shell_lines("cat <<E\na b c d e f\nE", 6), (Lines{"cat <<E", "a b c d e f", "E"}));
}

TEST(ShellLines, TheTerminalPrintsACommandSo) {
  Document document;
  Fields fields{{{"fix", plain("Load it")}, {"", command("sudo modprobe nvidia_peermem nvidia_uvm")}}, 2};
  document.blocks.emplace_back(fields);
  EXPECT_EQ(render_terminal(document, {32, false, false}),
            "  fix  Load it\n       sudo modprobe \\\n       nvidia_peermem nvidia_uvm\n");
  EXPECT_NE(render_html(document).find("<code>sudo modprobe nvidia_peermem nvidia_uvm</code>"),
            std::string::npos);
}

}  // namespace
}  // namespace angio::report
