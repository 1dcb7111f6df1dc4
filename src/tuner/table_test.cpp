#include "tuner/table.hpp"

#include <gtest/gtest.h>

#include <string>

namespace angio::tuner {
namespace {

// "line: message" of the only problem; what it is instead, if there is not one.
std::string problem_of(const std::string& text) {
  const Table table = parse_table(text);
  if (table.problems.size() != 1) return std::to_string(table.problems.size()) + " problems";
  const Remark& one = table.problems.front();
  return std::to_string(one.line) + ": " + one.message + (one.hint.empty() ? "" : " | " + one.hint);
}

TEST(TunerToml, EveryKeyHasItsValue) {
  const Table table = parse_table(R"(# a table
[[rule]]
collective = "AllReduce"   # as NCCL writes it
min_bytes = "64K"
max_bytes = 1_048_576
nodes = "2-8"
ranks = "16-*"
algorithm = 'tree'
protocol = "LL"
channels = 4
num_pipe_ops = 1
reg_buff = true

[[ rule ]]
collective = "reduce_scatter"
algorithm = "ring"
protocol = "simple"
)");
  ASSERT_TRUE(table.usable()) << table.problems.front().message;
  ASSERT_EQ(table.rules.size(), 2U);
  const Rule& rule = table.rules.front();
  EXPECT_EQ(table.format, Format::kToml);
  EXPECT_EQ(rule.collective, Collective::kAllReduce);
  EXPECT_EQ(rule.bytes, (Range{65536, 1048576}));
  EXPECT_EQ(rule.nodes, (Range{2, 8}));
  EXPECT_EQ(rule.ranks, (Range{16, kUnlimited}));
  EXPECT_EQ(rule.algorithm, Algorithm::kTree);
  EXPECT_EQ(rule.protocol, Protocol::kLl);
  EXPECT_EQ(rule.channels, 4U);
  EXPECT_EQ(rule.pipe_ops, (Range{1, 1}));
  EXPECT_EQ(rule.registered, (Range{1, 1}));
  EXPECT_EQ(rule.line, 2U);
  const Rule& open = table.rules.back();
  EXPECT_EQ(open.collective, Collective::kReduceScatter);
  EXPECT_EQ(open.bytes, (Range{0, kUnlimited}));
  EXPECT_EQ(open.nodes, (Range{1, kUnlimited}));
  EXPECT_EQ(open.channels, 0U);
  EXPECT_EQ(open.line, 14U);
}

TEST(TunerCsv, NamedColumnsInAnyOrder) {
  const Table table = parse_table(
      "collective,nodes,ranks,min_bytes,max_bytes,algorithm,protocol,channels\n"
      "allgather, 4, 32, 0, 256KiB, ring, ll, 2   # small ones\r\n"
      "\"allgather\",4,32,262145,*,nvls,simple,*\n");
  ASSERT_TRUE(table.usable()) << table.problems.front().message;
  ASSERT_EQ(table.rules.size(), 2U);
  EXPECT_EQ(table.format, Format::kCsv);
  EXPECT_EQ(table.rules[0].bytes, (Range{0, 262144}));
  EXPECT_EQ(table.rules[0].ranks, (Range{32, 32}));
  EXPECT_EQ(table.rules[0].channels, 2U);
  EXPECT_EQ(table.rules[1].algorithm, Algorithm::kNvls);
  EXPECT_EQ(table.rules[1].channels, 0U);
  EXPECT_EQ(table.rules[1].line, 3U);
}

// The order and the wildcards of the CSV that NCCL's example tuner reads.
TEST(TunerCsv, TheOrderOfNcclsExample) {
  const Table table = parse_table(
      "broadcast,0,32768,ring,ll,-1,1,8\n"
      "allreduce,65537,-1,nvls_tree,simple,16,4,-1,2,0\n");
  ASSERT_TRUE(table.usable()) << table.problems.front().message;
  EXPECT_EQ(table.rules[0].channels, 0U);
  EXPECT_EQ(table.rules[0].nodes, (Range{1, 1}));
  EXPECT_EQ(table.rules[0].ranks, (Range{8, 8}));
  EXPECT_EQ(table.rules[1].algorithm, Algorithm::kNvlsTree);
  EXPECT_EQ(table.rules[1].ranks, (Range{1, kUnlimited}));
  EXPECT_EQ(table.rules[1].pipe_ops, (Range{2, 2}));
  EXPECT_EQ(table.rules[1].registered, (Range{0, 0}));
  EXPECT_EQ(table.rules[1].bytes.high, kUnlimited);
}

TEST(TunerTable, UnknownWordsNameTheirLine) {
  EXPECT_EQ(problem_of("allreduce,0,1K,rin,ll,-1,1,8\n"),
            "1: there is no algorithm \"rin\" | did you mean ring?");
  EXPECT_EQ(problem_of("allgather,0,1K,butterfly,ll,-1,1,8\n"),
            "1: there is no algorithm \"butterfly\" | known are tree, ring, collnetdirect, collnetchain, "
            "nvls, nvlstree, "
            "pat");
  EXPECT_EQ(problem_of("# x\nallredcue,0,1K,ring,ll,-1,1,8\n"),
            "2: there is no collective \"allredcue\" | did you mean allreduce?");
  EXPECT_EQ(problem_of("[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\nprotocol = \"l128\"\n"),
            "4: there is no protocol \"l128\" | did you mean ll128?");
  EXPECT_EQ(
      problem_of(
          "[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\nprotocol = \"ll\"\nchanels = 2\n"),
      "5: there is no key \"chanels\" | did you mean channels?");
  // What the column would have said is missing too; the first line says why.
  const Table table = parse_table("collective,algoritm,protocol\nallreduce,ring,ll\n");
  ASSERT_EQ(table.problems.size(), 2U);
  EXPECT_EQ(table.problems[0].message, "there is no column \"algoritm\"");
  EXPECT_EQ(table.problems[0].hint, "did you mean algorithm?");
  EXPECT_EQ(table.problems[1].message, "the row has no algorithm");
}

TEST(TunerTable, NumbersOutOfTheirRange) {
  EXPECT_EQ(
      problem_of("allreduce,0,1X,ring,ll,-1,1,8\n"),
      "1: max_bytes \"1X\" is no size | write 65536, 64K, 16M or 1G (powers of 1024); max_bytes may be *");
  EXPECT_EQ(problem_of("allreduce,0,1K,ring,ll,65,1,8\n"),
            "1: channels \"65\" is no number from 1 to 64 | * or nothing leaves it to NCCL");
  EXPECT_EQ(problem_of("allreduce,0,1K,ring,ll,4,0,8\n"),
            "1: nodes \"0\" is no number or range from 1 on | write 4, 2-8, 16-* or *");
  EXPECT_EQ(problem_of("allreduce,0,1K,ring,ll,4,8-2,8\n"), "1: nodes \"8-2\" ends before it begins");
  EXPECT_EQ(problem_of("allreduce,0,1K,ring,ll,4,1,8,1,2\n"),
            "1: reg_buff \"2\" is unknown | write 0, 1 or *");
  EXPECT_EQ(problem_of("allreduce,0,99999999999999999999,ring,ll,4,1,8\n").substr(0, 14), "1: max_bytes \"");
}

TEST(TunerTable, ContradictionsAreRefused) {
  EXPECT_EQ(problem_of("allreduce,2K,1K,ring,ll,-1,1,8\n"), "1: min_bytes 2048 is above max_bytes 1024");
  EXPECT_EQ(
      problem_of("allreduce,0,1K,ring,ll,-1,16,8\n"),
      "1: nodes 16 cannot be with ranks 8 | a node has at least one rank; ranks counts those of all nodes");
  EXPECT_EQ(problem_of("broadcast,0,1K,tree,ll,-1,1,8\n"),
            "1: NCCL has no tree with ll for broadcast | it has ring");
  EXPECT_EQ(problem_of("allgather,0,1K,nvls,ll128,-1,1,8\n"),
            "1: NCCL has no nvls with ll128 for allgather | it has ring, collnetdirect (simple only), "
            "nvls (simple only), pat (simple only)");
  EXPECT_EQ(problem_of("allreduce,0,1K,nvlstree,simple,-1,1,8\n"),
            "1: NCCL has no nvlstree on one node | nvls is its form there");
}

TEST(TunerTable, ARowThatNeverDecidesIsRefused) {
  const std::string never =
      " on, take all its sizes | the first row that fits decides; put the narrower row "
      "first, or remove one";
  EXPECT_EQ(problem_of("allreduce,0,1M,ring,ll,-1,*,*\nallreduce,1K,2K,tree,ll,-1,2,16\n"),
            "2: the row can never decide: earlier rows, from line 1" + never);
  // Two rows together take it, and leave nothing between them.
  EXPECT_EQ(problem_of("allreduce,0,1K,ring,ll,-1,2,16\nallreduce,1025,4K,ring,ll,-1,2,16\n"
                       "allreduce,512,2K,tree,ll,-1,2,16\n"),
            "3: the row can never decide: earlier rows, from line 1" + never);
  EXPECT_EQ(problem_of("allreduce,0,1K,ring,ll,-1,2,16\nallreduce,1026,4K,ring,ll,-1,2,16\n"
                       "allreduce,512,2K,tree,ll,-1,2,16\n"),
            "0 problems");
  // The other way round the first is narrower: an overlap, and no more.
  EXPECT_EQ(problem_of("allreduce,1K,2K,tree,ll,-1,2,16\nallreduce,0,1M,ring,ll,-1,*,*\n"), "0 problems");
  EXPECT_EQ(problem_of("allreduce,0,1M,ring,ll,-1,*,*\nallgather,1K,2K,ring,ll,-1,2,16\n"), "0 problems");
}

TEST(TunerTable, OverlapsAreSaid) {
  const Table table = parse_table(
      "allreduce,0,1K,tree,ll,-1,2,16\nallreduce,512,2K,ring,ll,-1,2,16\nallreduce,4K,8K,ring,ll,-1,2,16\n");
  ASSERT_TRUE(table.usable());
  ASSERT_EQ(table.remarks.size(), 1U);
  EXPECT_EQ(table.remarks[0].line, 2U);
  EXPECT_EQ(table.remarks[0].message,
            "the row overlaps line 1, which stands first and decides where both fit");
}

// Tables are written so: one row ends where the next begins. That is one remark, not one a row.
TEST(TunerTable, RowsThatOnlyTouchAreCounted) {
  const Table table = parse_table(
      "allreduce,0,1K,tree,ll,-1,2,16\nallreduce,1K,2K,ring,ll,-1,2,16\nallreduce,2K,8K,ring,simple,-1,2,16\n"
      "allreduce,4K,16K,ring,simple,-1,2,16\n");
  ASSERT_TRUE(table.usable());
  ASSERT_EQ(table.remarks.size(), 2U);
  EXPECT_EQ(table.remarks[0].line, 4U);
  EXPECT_EQ(table.remarks[0].message,
            "the row overlaps line 3, which stands first and decides where both fit");
  EXPECT_EQ(table.remarks[1].line, 0U);
  EXPECT_EQ(table.remarks[1].message,
            "2 rows begin with the size with which an earlier one ends; there the earlier one decides");
}

TEST(TunerToml, WhatNoTableNeedsIsRefusedByName) {
  const std::string head = "[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\nprotocol = \"ll\"\n";
  EXPECT_EQ(problem_of(head + "nodes = [1, 2]\n"),
            "5: \"nodes\": a list is not known here | write one [[rule]] for each of its values");
  EXPECT_EQ(problem_of(head + "nodes = 1.5\n").substr(0, 57),
            "5: \"nodes\": \"1.5\" is neither a whole decimal number nor a");
  EXPECT_EQ(problem_of(head + "nodes.x = 1\n"), "5: a dotted key is not known here");
  EXPECT_EQ(problem_of(head + "nodes = \"2\n"),
            "5: \"nodes\": the string is not closed | a \" is missing at its end");
  EXPECT_EQ(problem_of(head + "nodes = 2 3\n").substr(0, 17), "5: \"nodes\": \"2 3\"");
  EXPECT_EQ(problem_of(head + "nodes = \"2\" 3\n"),
            "5: after the value of \"nodes\" there is more than a comment");
  EXPECT_EQ(problem_of(head + "nodes = 2\nnodes = 3\n"), "6: nodes stands twice in this rule");
  EXPECT_EQ(problem_of(head + "nodes = \"\"\"2\"\"\"\n"),
            "5: \"nodes\": a string over several lines is not known here");
  EXPECT_EQ(problem_of(head + "nodes = 007\n").substr(0, 20), "5: \"nodes\": \"007\" is");
  EXPECT_EQ(problem_of("nodes = 2\n" + head), "1: \"nodes\" stands before the first [[rule]]");
  EXPECT_EQ(problem_of(head + "[rules]\nnodes = 2\n"),
            "5: only [[rule]] is known here, not \"rules\" | each row begins with a line [[rule]]");
  EXPECT_EQ(problem_of(head + "nodes = 2 # \x01\n"),
            "5: the line holds bytes that are no text (control characters or not UTF-8)");
}

TEST(TunerTable, AMissingWordAndAWrongNumberOfColumns) {
  EXPECT_EQ(problem_of("[[rule]]\ncollective = \"allreduce\"\nalgorithm = \"ring\"\n"),
            "1: the row has no protocol | collective, algorithm and protocol are needed");
  EXPECT_EQ(
      problem_of("allreduce,0,1K,ring,ll\n"),
      "1: the row has 5 columns, expected 8 to 10 | a first line with the names of the columns frees their "
      "number and order");
  EXPECT_EQ(problem_of("collective,algorithm,protocol\nallreduce,ring\n"),
            "2: the row has 2 columns, expected 3");
}

TEST(TunerTable, NothingIsNoTable) {
  EXPECT_EQ(problem_of(""), "0: the table has no rows");
  EXPECT_EQ(problem_of("# only words\n\n"), "0: the table has no rows");
  EXPECT_EQ(problem_of("collective,algorithm,protocol\n"), "0: the table has no rows");
}

TEST(TunerTable, ManyProblemsAreCounted) {
  std::string text;
  for (int i = 0; i < 70; ++i)
    text += "allreduce,0,1K,rin,ll,-1,1,8\n";
  const Table table = parse_table(text);
  EXPECT_EQ(table.problems.size(), kMaxRemarks);
  EXPECT_EQ(table.more_problems, 20U);
}

TEST(TunerTable, TooMuchIsRefused) {
  std::string text;
  for (std::size_t i = 0; i <= kMaxRows; ++i)
    text += "allreduce," + std::to_string(2 * i) + "," + std::to_string(2 * i) + ",ring,ll,-1,1,8\n";
  EXPECT_EQ(problem_of(text), "65537: the table has more than 65536 rows");
  EXPECT_EQ(problem_of(std::string(kMaxFile + 1, '#')),
            "0: the file is larger than 16 MiB: that is no table");
  std::string pipes;
  for (std::size_t i = 1; i <= kMaxPipeRanges + 1; ++i)
    pipes += "allreduce,0,1K,ring,ll,-1,1,8," + std::to_string(i) + "\n";
  EXPECT_EQ(problem_of(pipes), "9: the table has more than 8 different ranges of num_pipe_ops");
}

TEST(TunerTable, TheHashIsOfTheBytes) {
  // FNV-1a of the empty text and of "a", from its definition.
  EXPECT_EQ(hash_text(parse_table("").hash), "cbf29ce484222325");
  EXPECT_EQ(hash_text(parse_table("a").hash), "af63dc4c8601ec8c");
}

TEST(TunerWords, SizesAndRanges) {
  EXPECT_EQ(parse_size("64K"), 65536U);
  EXPECT_EQ(parse_size("1 MiB"), 1048576U);
  EXPECT_EQ(parse_size("4GB"), std::uint64_t{4} << 30U);
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("18446744073709551615"), kUnlimited);
  for (const char* wrong : {"", "K", "1KK", "1 ", "1\t", "-1", "1.5M", "1 B B", "16777216T", "1ib"})
    EXPECT_EQ(parse_size(wrong), std::nullopt) << wrong;
  EXPECT_EQ(to_text(Range{1, kUnlimited}), "*");
  EXPECT_EQ(to_text(Range{2, 8}), "2-8");
  EXPECT_EQ(to_text(Range{16, kUnlimited}), "16-*");
}

}  // namespace
}  // namespace angio::tuner
