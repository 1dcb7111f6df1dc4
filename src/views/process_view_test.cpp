#include "views/process_view.hpp"

#include <gtest/gtest.h>

#include "model/synthetic.hpp"
#include "views/process_json.hpp"

namespace angio::views {
namespace {

using model::Observed;

constexpr std::uint64_t kGib = std::uint64_t{1} << 30U;

template <typename T>
Observed<T> known(T value) {
  return Observed<T>::known(std::move(value), {});
}

class ProcessView : public testing::Test {
 protected:
  ProcessView() : machine_(model::topology("2 numa cores:4 { 2 gpu; 1 hca }").value()) {
    model::Process process;
    process.id = 42;
    process.command = "python train.py";
    process.user = known(1000U);
    process.gpus = {2};
    process.settings = {{"RANK", "2", {}}};
    process.libraries = {{"libcuda.so.1", "/usr/lib/libcuda.so.1", "", {}}};
    for (std::uint32_t i = 0; i < 3; ++i) {
      model::Thread thread{42 + i, i == 1 ? "NCCL Progress 2" : "python", {}, known(4 + i)};
      thread.allowed = known(*parse_cpu_list(i == 2 ? "0-7" : "4-7"));
      process.threads.push_back(thread);
    }
    process.policies = known(std::map<std::string, std::uint64_t>{{"bind:1", 40}, {"default", 2}});
    model::MemoryKinds near;
    near.anonymous = 10 * kGib;
    near.shared_anonymous = 2 * kGib;
    model::MemoryKinds far;
    far.file = kGib;
    process.memory = known(std::map<std::uint32_t, model::MemoryKinds>{{0, far}, {1, near}});
    process.bytes_per_node = known(std::map<std::uint32_t, std::uint64_t>{{0, kGib}, {1, 12 * kGib}});
    process.rdma = known(std::vector<std::uint32_t>{1});
    machine_.processes.push_back(process);
  }

  std::string text(bool threads = false) {
    ProcessReport report;
    report.machine = &machine_;
    report.survey = &survey_;
    report.users = {{1000, "alice"}};
    report.threads = threads;
    return report::render_terminal(process_document(report), {.width = 80, .colour = false, .ascii = true});
  }

  model::Machine machine_;
  model::ProcessSurvey survey_;
};

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_F(ProcessView, SaysWhereEverythingIs) {
  const std::string shown = text();
  EXPECT_TRUE(shown.starts_with("1 rank: 1 bound\n")) << shown;
  for (const char* part : {
           "rank 2  process 42  alice  python train.py\n",
           "  verdict  bound: 4 CPUs of node 1, GPU 2 is on node 1, 92 % of pages local\n",
           "threads started before binding: 1 of 3 may run anywhere\n",
           "  threads  2 on 4-7, 1 on all CPUs; last ran on 4-6\n",
           "1 NCCL proxy\n",
           "  memory   13 GiB, policy bind:1; default for 2 of 42 mappings\n",
           "  node 0   1 GiB remote: 1 GiB file\n",
           "  node 1   12 GiB: 10 GiB anonymous, 2 GiB pinned by CUDA\n",
       })
    EXPECT_TRUE(has(shown, part)) << part << "\n" << shown;
}

TEST_F(ProcessView, OneLineForEachThread) {
  const std::string shown = text(true);
  EXPECT_TRUE(has(shown, "    43  NCCL Progress 2  4-7               5     1  NCCL proxy\n")) << shown;
}

TEST_F(ProcessView, WithoutCudaUnnamedMemoryIsShared) {
  machine_.processes[0].libraries.clear();
  EXPECT_TRUE(has(text(), "12 GiB: 10 GiB anonymous, 2 GiB shared\n")) << text();
}

TEST_F(ProcessView, NothingToShow) {
  machine_.processes.clear();
  survey_.looked_at = 122;
  survey_.hidden = 3;
  const std::string shown = text();
  EXPECT_TRUE(has(shown, "no training process: none of 122 processes uses a GPU")) << shown;
  EXPECT_TRUE(has(shown, "3 processes could not be looked at: denied; sudo angio ps")) << shown;
}

TEST_F(ProcessView, DeniedSaysSo) {
  model::Process& process = machine_.processes[0];
  process.memory =
      Observed<std::map<std::uint32_t, model::MemoryKinds>>::unreadable(model::Reason::kDenied, {});
  process.rdma = Observed<std::vector<std::uint32_t>>::unreadable(model::Reason::kDenied, {});
  const std::string shown = text();
  EXPECT_TRUE(has(shown, "  memory   unknown: numa_maps denied; sudo angio ps\n")) << shown;
  EXPECT_TRUE(has(shown, "  nic      unknown: denied; sudo angio ps\n")) << shown;
}

TEST_F(ProcessView, Json) {
  ProcessReport report;
  report.machine = &machine_;
  report.survey = &survey_;
  const Json json = process_json(report);
  EXPECT_EQ(*json.find("schema")->as_string(), "angio.processes/1");
  const Json& process = json.find("processes")->as_array()->at(0);
  EXPECT_EQ(*process.find("rank")->as_integer(), 2);
  EXPECT_EQ(*process.find("verdict")->find("bound")->as_string(), "bound");
  EXPECT_EQ(*process.find("verdict")->find("threads_beyond_mask")->as_integer(), 1);
  EXPECT_EQ(*process.find("verdict")->find("trouble")->as_bool(), true);
  EXPECT_EQ(process.find("threads"), nullptr);
}

}  // namespace
}  // namespace angio::views
