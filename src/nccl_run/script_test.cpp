#include "nccl_run/script.hpp"

#include <gtest/gtest.h>

#include "nccl_run/amounts.hpp"

namespace angio::nccl_run {
namespace {

NodeScript example() {
  NodeScript script;
  script.library = "/opt/env/lib/libnccl.so.2";
  script.redirect = true;
  script.node = 1;
  script.nodes = 2;
  script.first_rank = 4;
  script.ranks = 2;
  script.world = 6;
  script.devices = {3, 0};
  script.operations = {{Collective::kAllReduce, 8}, {Collective::kSendRecv, std::uint64_t{1} << 40U}};
  script.estimates = false;
  script.progress = true;
  return script;
}

TEST(Collectives, EveryLabelIsReadBack) {
  for (const char* word :
       {"AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce", "AllToAll", "SendRecv"}) {
    const Result<Collective> collective = parse_collective(word);
    ASSERT_TRUE(collective) << word;
    EXPECT_EQ(label(*collective), word);
  }
}

TEST(Collectives, OtherSpellings) {
  EXPECT_EQ(parse_collective("all_reduce").value(), Collective::kAllReduce);
  EXPECT_EQ(parse_collective("reduce-scatter").value(), Collective::kReduceScatter);
  EXPECT_EQ(parse_collective(" ALLGATHER ").value(), Collective::kAllGather);
}

TEST(Collectives, UnknownWordsNameWhatThereIs) {
  const Result<Collective> near = parse_collective("allreduc");
  ASSERT_FALSE(near);
  EXPECT_EQ(near.error().message, "\"allreduc\" is no collective");
  EXPECT_EQ(near.error().hint, "did you mean allreduce?");
  EXPECT_EQ(parse_collective("xyz").error().hint,
            "known: allreduce, allgather, reducescatter, broadcast, reduce, alltoall, sendrecv");
  EXPECT_FALSE(parse_collective(""));
}

TEST(Script, IsReadBackWhole) {
  const std::string text = write_script(example());
  EXPECT_EQ(text.find('\n'), text.npos);
  const Result<NodeScript> script = parse_script(text);
  ASSERT_TRUE(script) << script.error().message;
  EXPECT_EQ(script->library, "/opt/env/lib/libnccl.so.2");
  EXPECT_TRUE(script->redirect);
  EXPECT_EQ(script->node, 1U);
  EXPECT_EQ(script->nodes, 2U);
  EXPECT_EQ(script->first_rank, 4U);
  EXPECT_EQ(script->ranks, 2U);
  EXPECT_EQ(script->world, 6U);
  EXPECT_EQ(script->devices, (std::vector<std::uint32_t>{3, 0}));
  ASSERT_EQ(script->operations.size(), 2U);
  EXPECT_EQ(script->operations[1].collective, Collective::kSendRecv);
  EXPECT_EQ(script->operations[1].bytes, std::uint64_t{1} << 40U);
  EXPECT_FALSE(script->estimates);
  EXPECT_TRUE(script->progress);
}

TEST(Script, RefusesWhatIsNotWhole) {
  EXPECT_FALSE(parse_script(""));
  EXPECT_FALSE(parse_script("{}"));
  EXPECT_EQ(parse_script("{}").error().message,
            "script of a node: \"library\" is missing or not of its type");
  NodeScript script = example();
  script.devices = {3};
  EXPECT_FALSE(parse_script(write_script(script)));
  script = example();
  script.world = 5;
  EXPECT_FALSE(parse_script(write_script(script)));
  script = example();
  script.node = 2;
  EXPECT_FALSE(parse_script(write_script(script)));
}

TEST(Reports, AddUp) {
  NodeReports reports;
  ASSERT_TRUE(add_report(write_loaded({22809, 0.9, 77, 330, true}), reports));
  ASSERT_TRUE(add_report(write_id("00ff"), reports));
  ASSERT_TRUE(add_report(write_init({0.35}), reports));
  ASSERT_TRUE(add_report(write_operation({0, 15.25, 1.5, "ncclDevKernel_X", 16, 512}), reports));
  ASSERT_TRUE(add_report(write_operation({1, std::nullopt, 2, "", 0, 0}), reports));
  ASSERT_TRUE(add_report(write_memory({3, 1000, 2000, 30}), reports));
  ASSERT_TRUE(add_report(write_failed({"ncclAllReduce", 5, "invalid \"usage\""}), reports));
  ASSERT_TRUE(add_report(write_refused("cudaGraphLaunch"), reports));
  ASSERT_TRUE(add_report(write_done({1U << 20U}), reports));
  EXPECT_EQ(reports.loaded->version, 22809);
  EXPECT_EQ(reports.loaded->provided, 77U);
  EXPECT_EQ(reports.loaded->refused, 330U);
  EXPECT_TRUE(reports.loaded->progress);
  EXPECT_EQ(reports.id, "00ff");
  EXPECT_DOUBLE_EQ(reports.init->seconds, 0.35);
  ASSERT_EQ(reports.operations.size(), 2U);
  EXPECT_DOUBLE_EQ(*reports.operations[0].estimate_us, 15.25);
  EXPECT_EQ(reports.operations[0].kernel, "ncclDevKernel_X");
  EXPECT_EQ(reports.operations[0].grid, 16U);
  EXPECT_EQ(reports.operations[0].block, 512U);
  EXPECT_FALSE(reports.operations[1].estimate_us);
  ASSERT_EQ(reports.memory.size(), 1U);
  EXPECT_EQ(reports.memory[0].device, 3U);
  EXPECT_EQ(reports.memory[0].after_init, 1000U);
  EXPECT_EQ(reports.memory[0].peak, 2000U);
  EXPECT_EQ(reports.memory[0].host, 30U);
  EXPECT_EQ(reports.failed->result, 5);
  EXPECT_EQ(reports.failed->text, "invalid \"usage\"");
  ASSERT_TRUE(add_report(write_failed({"dlopen", std::nullopt, "no such file"}), reports));
  EXPECT_EQ(reports.failed->result, std::nullopt);
  EXPECT_EQ(reports.refused_calls, std::vector<std::string>{"cudaGraphLaunch"});
  EXPECT_EQ(reports.done->rss, 1U << 20U);
}

TEST(Reports, RefuseOthers) {
  NodeReports reports;
  EXPECT_FALSE(add_report("", reports));
  EXPECT_FALSE(add_report("{\"report\":\"lunch\"}", reports));
  EXPECT_FALSE(add_report("{\"report\":\"init\",\"seconds\":\"soon\"}", reports));
  EXPECT_FALSE(
      add_report("{\"report\":\"memory\",\"device\":-1,\"after_init\":0,\"peak\":0,\"host\":0}", reports));
  EXPECT_FALSE(reports.init);
  EXPECT_TRUE(reports.memory.empty());
}

TEST(Marks, AreReadBack) {
  const Operation operation{Collective::kAllReduce, 1048576};
  EXPECT_EQ(operation_mark(3, operation), "angio dryrun: operation 3 AllReduce 1048576 bytes");
  EXPECT_EQ(parse_operation_mark(operation_mark(3, operation)), 3U);
  EXPECT_EQ(parse_operation_mark("angio dryrun: operation 12 SendRecv 8 bytes\n"), 12U);
}

TEST(Marks, OtherLinesAreNone) {
  EXPECT_FALSE(parse_operation_mark(""));
  EXPECT_FALSE(parse_operation_mark("angio dryrun: operation x AllReduce 8 bytes"));
  EXPECT_FALSE(parse_operation_mark("angio dryrun: operation 1 AllReduce 8"));
  EXPECT_FALSE(parse_operation_mark("angio dryrun: operation 1 Lunch 8 bytes"));
  EXPECT_FALSE(parse_operation_mark("host:1:2 [0] NCCL INFO angio dryrun: operation 1 AllReduce 8 bytes"));
}

TEST(Amounts, CountWhatNcclIsTold) {
  EXPECT_EQ(element_count({Collective::kAllReduce, 1024}, 8, 4), 256U);
  EXPECT_EQ(element_count({Collective::kBroadcast, 1024}, 8, 4), 256U);
  EXPECT_EQ(element_count({Collective::kSendRecv, 1024}, 8, 4), 256U);
  EXPECT_EQ(element_count({Collective::kAllGather, 1024}, 8, 4), 32U);
  EXPECT_EQ(element_count({Collective::kReduceScatter, 1024}, 8, 4), 32U);
  EXPECT_EQ(element_count({Collective::kAllToAll, 1024}, 8, 4), 32U);
  EXPECT_EQ(element_count({Collective::kAllToAll, 8}, 8, 4), 1U);  // rounded up to one for each rank
  EXPECT_EQ(element_count({Collective::kAllReduce, 0}, 8, 4), 1U);
}

TEST(Amounts, BuffersHoldEveryOperation) {
  EXPECT_EQ(buffer_bytes({}, 8, 4), 0U);
  EXPECT_EQ(buffer_bytes({{Collective::kAllReduce, 1024}, {Collective::kAllGather, 64}}, 8, 4), 1024U);
  EXPECT_EQ(buffer_bytes({{Collective::kAllGather, 8}}, 64, 4), 256U);  // 64 ranks, one element each
}

}  // namespace
}  // namespace angio::nccl_run
