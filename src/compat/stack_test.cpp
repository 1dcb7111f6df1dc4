#include "compat/stack.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "knowledge/versions.hpp"

namespace angio::compat {
namespace {

std::string value(const Stack& stack, Part part) {
  const std::string* found = stack.get(part);
  return found == nullptr ? "unknown" : *found;
}

Stack text(std::string_view input) {
  return parse_stack(input).stack;
}

TEST(Words, ReadVersionsAndNames) {
  const std::vector<std::string> words = {
      "driver=535.54.03", "nccl=v2.20.5+cuda12.4", "gpu=sm90",
      "peermem=loaded",   "pytorch=2.3.0+cu121",   "kernel=5.15.0-91-generic"};
  const auto stack = parse_words(words);
  ASSERT_TRUE(stack);
  EXPECT_EQ(value(*stack, Part::kDriver), "535.54.03");
  EXPECT_EQ(value(*stack, Part::kNccl), "2.20.5");
  EXPECT_EQ(value(*stack, Part::kNcclCuda), "12.4");
  EXPECT_EQ(value(*stack, Part::kPytorchCuda), "12.1");
  EXPECT_EQ(value(*stack, Part::kGpu), "9.0");
  EXPECT_EQ(value(*stack, Part::kPeermem), "yes");
  EXPECT_EQ(value(*stack, Part::kKernel), "5.15.0");
}

TEST(Words, AreNamedWhenWrong) {
  const auto error = [](const std::string& word) {
    const auto stack = parse_words(std::vector<std::string>{word});
    return stack ? std::string("none") : stack.error().message + "|" + stack.error().hint;
  };
  EXPECT_EQ(error("nvidia=535"), "there is no part \"nvidia\"|angio compat --parts lists the parts");
  EXPECT_EQ(error("drivr=535"), "there is no part \"drivr\"|Did you mean driver?");
  EXPECT_EQ(error("driver=new"), "driver=\"new\" is not understood, expected a version such as 12.4|");
  EXPECT_EQ(
      error("535.54.03"),
      "\"535.54.03\" is no PART=VERSION|For example driver=535.54.03; angio compat --parts lists the parts");
  EXPECT_EQ(
      error("gpu=K9"),
      "gpu=\"K9\" is not understood, expected a compute capability (9.0, sm90) or a model such as H100|");
  EXPECT_EQ(error("peermem=maybe"), "peermem=\"maybe\" is not understood, expected yes or no|");
}

TEST(Text, NvidiaSmi) {
  const Stack stack = text(
      "| NVIDIA-SMI 545.23.06     Driver Version: 545.23.06    CUDA Version: 12.3     |\n"
      "|   0  NVIDIA X  |\n");
  EXPECT_EQ(value(stack, Part::kDriver), "545.23.06");
  EXPECT_EQ(value(stack, Part::kUserDriver), "545.23.06");
  EXPECT_EQ(value(stack, Part::kCudaDriver), "12.3");
  const Stack query =
      text("Driver Version                            : 470.57.02\nCUDA Version                    : 11.4\n");
  EXPECT_EQ(value(query, Part::kDriver), "470.57.02");
  EXPECT_EQ(value(query, Part::kCudaDriver), "11.4");
}

std::string only_gpu(std::string_view input) {
  const Stack stack = text(input);
  return stack.gpus.size() == 1 ? stack.gpus[0].name + " " + stack.gpus[0].capability : "";
}

TEST(Text, RowsOfNvidiaSmi) {
  EXPECT_EQ(only_gpu("|   0  NVIDIA B200                    On  |   00000000:1B:00.0 Off |        0 |\n"
                     "| N/A   31C    P0            141W / 1000W |       4MiB / 183359MiB |      0% |\n"
                     "|   1  NVIDIA B200                    On  |   00000000:43:00.0 Off |        0 |\n"
                     "|    0   N/A  N/A            4711      C   python                  512MiB |\n"),
            "NVIDIA B200 10.0");
  EXPECT_EQ(only_gpu("|   0  Tesla V100-SXM2...  Off  | 00000000:00:1E.0 Off |                    0 |\n"),
            "Tesla V100-SXM2... 7.0");
  EXPECT_EQ(only_gpu("name, driver_version\nNVIDIA H100 80GB HBM3, 570.86.15\n"),
            "NVIDIA H100 80GB HBM3 9.0");
  EXPECT_EQ(only_gpu("GPU models and configuration: GPU 0: NVIDIA A10\n"), "NVIDIA A10 8.6");
  EXPECT_EQ(only_gpu("NVIDIA H100 was not found: see the manual\n| 0 NVIDIA H100 |\n"), "");
}

TEST(Text, NvmlMismatch) {
  const Stack stack =
      text("Failed to initialize NVML: Driver/library version mismatch\nNVML library version: 550.54\n");
  EXPECT_TRUE(stack.mismatch);
  EXPECT_EQ(value(stack, Part::kUserDriver), "550.54");
}

TEST(Text, KernelModule) {
  const Stack stack = text(
      "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build  (builder)  Mon\n");
  EXPECT_EQ(value(stack, Part::kDriver), "560.35.03");
  EXPECT_EQ(value(stack, Part::kModule), "open");
}

TEST(Text, Packages) {
  const Stack pip = text(
      "torch==2.4.0+cu121\n[pip3] nvidia-nccl-cu12==2.20.5 ; platform_system == 'Linux'\nnumpy==1.26.4\n");
  EXPECT_EQ(value(pip, Part::kPytorch), "2.4.0");
  EXPECT_EQ(value(pip, Part::kNcclInstalled), "2.20.5");
  const Stack conda = text(
      "nccl    2.21.5.1    h6fe1337_0    conda-forge\ncuda-cudart   12.4.127  0  nvidia\nucx  1.15.0  h1\n");
  EXPECT_EQ(value(conda, Part::kNcclInstalled), "2.21.5");
  EXPECT_EQ(value(conda, Part::kCuda), "12.4.127");
  EXPECT_EQ(value(conda, Part::kUcx), "1.15.0");
  const Stack dpkg = text(
      "ii  libnccl2:amd64  2.19.3-1+cuda12.3  amd64  NCCL\nii  rdma-core  39.0-1  amd64  RDMA\n"
      "ii  cuda-compat-12-8  570.86.15-0ubuntu1  amd64  compat\n");
  EXPECT_EQ(value(dpkg, Part::kNcclInstalled), "2.19.3");
  EXPECT_EQ(value(dpkg, Part::kNcclCuda), "12.3");
  EXPECT_EQ(value(dpkg, Part::kRdmaCore), "39.0");
  EXPECT_EQ(value(dpkg, Part::kCudaCompat), "12.8");
  const Stack rpm = text("libnccl-2.22.3-1+cuda12.5.x86_64\nrdma-core-46.0-1.el8.x86_64\n");
  EXPECT_EQ(value(rpm, Part::kNcclInstalled), "2.22.3");
  EXPECT_EQ(value(rpm, Part::kNcclCuda), "12.5");
  EXPECT_EQ(value(rpm, Part::kRdmaCore), "46.0");
}

TEST(Text, CondaNamesTheCudaOfPytorch) {
  const auto cuda = [](std::string_view input) { return value(text(input), Part::kPytorchCuda); };
  EXPECT_EQ(cuda("pytorch   2.1.2   py3.10_cuda12.1_cudnn8.9.2_0   pytorch\n"), "12.1");
  EXPECT_EQ(cuda("pytorch   2.5.1   cuda126_py312h30b5a27_301   conda-forge\n"), "12.6");
  EXPECT_EQ(cuda("pytorch   2.5.1   cpu_generic_py312h0   conda-forge\n"), "unknown");
  EXPECT_EQ(cuda("pytorch-cuda   12.1   ha16c6d3_5   pytorch\n"), "12.1");
  EXPECT_EQ(cuda("pytorch=2.1.2=py3.10_cuda11.8_cudnn8.7.0_0\n"), "11.8");
  EXPECT_EQ(value(text("nccl=2.21.5.1=h6fe1337_0\n"), Part::kNcclInstalled), "2.21.5");
}

TEST(Text, PackagesOfTheDriver) {
  const Stack dpkg = text(
      "ii  nvidia-driver-535-server  535.129.03-0ubuntu0.22.04.1  amd64  driver\n"
      "ii  nvidia-fabricmanager-535  535.104.05-1  amd64  fabric\n");
  EXPECT_EQ(value(dpkg, Part::kDiskDriver), "535.129.03");
  EXPECT_EQ(value(dpkg, Part::kFabricManager), "535.104.05");
  EXPECT_EQ(value(dpkg, Part::kDriver), "unknown");
  const Stack rpm =
      text("nvidia-driver-cuda-535.104.05-1.el9.x86_64\nnvidia-fabricmanager-535-535.104.05-1.x86_64\n");
  EXPECT_EQ(value(rpm, Part::kDiskDriver), "535.104.05");
  EXPECT_EQ(value(rpm, Part::kFabricManager), "535.104.05");
  EXPECT_EQ(value(text("nvidia-open-575 575.57.08-0ubuntu1\n"), Part::kDiskDriver), "575.57.08");
  EXPECT_EQ(value(text("Fabric Manager version is : 550.54.15\n"), Part::kFabricManager), "550.54.15");
  EXPECT_TRUE(text("nvidia-driver-assistant 0.22.82.03-1\nnvidia-settings 510.47.03-0ubuntu1\n").empty());
}

TEST(Text, PythonAtAPrompt) {
  EXPECT_EQ(value(text("torch.version.cuda 12.1\n"), Part::kPytorchCuda), "12.1");
  EXPECT_EQ(value(text(">>> torch.version.cuda\n'12.1'\n"), Part::kPytorchCuda), "12.1");
  EXPECT_EQ(value(text(">>> torch.version.cuda\n>>> 5.3 apples\n"), Part::kPytorchCuda), "unknown");
  EXPECT_EQ(value(text("torch.version.cuda: 12.1\n570.26\n"), Part::kPytorchCuda), "12.1");
  const Stack quoted = text("'2.4.0+cu121'\n'0.19.0+cu121'\n");
  EXPECT_EQ(value(quoted, Part::kPytorch), "2.4.0");
  EXPECT_EQ(value(quoted, Part::kPytorchCuda), "12.1");
  EXPECT_TRUE(quoted.conflicts.empty());
  const Stack both = text("print(torch.__version__, torch.version.cuda)\n2.3.1+cu118 11.8\n");
  EXPECT_EQ(value(both, Part::kPytorch), "2.3.1");
  EXPECT_EQ(value(both, Part::kPytorchCuda), "11.8");
  EXPECT_EQ(value(text("torch.cuda.nccl.version()\n(2, 20, 5)\n"), Part::kNccl), "2.20.5");
}

TEST(Text, Poetry) {
  EXPECT_EQ(value(text("torch = \"2.4.0\"\n"), Part::kPytorch), "2.4.0");
  EXPECT_EQ(value(text("torch = {version = \"2.4.1+cu118\", source = \"x\"}\n"), Part::kPytorchCuda), "11.8");
  EXPECT_EQ(value(text("torch = \"^2.4.0\"\n"), Part::kPytorch), "unknown");
  EXPECT_EQ(
      value(text("[[package]]\nname = \"nvidia-nccl-cu12\"\nversion = \"2.20.5\"\n"), Part::kNcclInstalled),
      "2.20.5");
}

TEST(Text, TorchFindsTheDriverTooOld) {
  EXPECT_EQ(value(text("RuntimeError: The NVIDIA driver on your system is too old (found version 11040). "
                       "Please update your GPU driver\n"),
                  Part::kCudaDriver),
            "11.4");
}

TEST(Text, NvbandwidthCountsTheCudaApi) {
  const Stack stack = text("CUDA Driver Version: 12040\nDriver Version: 550.54.14\n");
  EXPECT_EQ(value(stack, Part::kCudaDriver), "12.4");
  EXPECT_EQ(value(stack, Part::kDriver), "550.54.14");
}

TEST(Text, Libraries) {
  const Stack stack = text(
      "\tlibnccl.so.2 (libc6,x86-64) => /usr/lib/libnccl.so.2.18.5\n"
      "\tlibcudart.so.12 (libc6,x86-64) => /usr/local/cuda/lib64/libcudart.so.12\n"
      "\tlibibverbs.so.1 (libc6) => /usr/lib/libibverbs.so.1.14.44.0\n"
      "\tlibcuda.so.1 => /usr/local/cuda-12.8/compat/libcuda.so.570.26\n");
  EXPECT_EQ(value(stack, Part::kNcclInstalled), "2.18.5");
  EXPECT_EQ(value(stack, Part::kCuda), "12");
  EXPECT_EQ(value(stack, Part::kRdmaCore), "44");
  EXPECT_EQ(value(stack, Part::kUserDriver), "unknown");
}

TEST(Text, TorchAndNccl) {
  const Stack stack = text(
      "PyTorch version: 2.7.1+cu126\nCUDA used to build PyTorch: 12.6\nCUDA runtime version: 12.6.77\n"
      "Nvidia driver version: 560.28.03\nGPU 0: NVIDIA H100 80GB HBM3\nGPU 1: NVIDIA H100 80GB HBM3\n"
      "node1:12:34 [0] NCCL INFO cudaDriverVersion 12060\nNCCL version 2.26.2+cuda12.8\n");
  EXPECT_EQ(value(stack, Part::kPytorch), "2.7.1");
  EXPECT_EQ(value(stack, Part::kPytorchCuda), "12.6");
  EXPECT_EQ(value(stack, Part::kDriver), "560.28.03");
  EXPECT_EQ(value(stack, Part::kCudaDriver), "12.6");
  EXPECT_EQ(value(stack, Part::kNccl), "2.26.2");
  EXPECT_EQ(value(stack, Part::kNcclCuda), "12.8");
  ASSERT_EQ(stack.gpus.size(), 1U);
  EXPECT_EQ(stack.gpus[0].capability, "9.0");
}

TEST(Text, NetworkTools) {
  const Stack stack = text(
      "MLNX_OFED_LINUX-23.10-0.5.5.0:\n# Library version: 1.16.0\nhca_id:\tmlx5_0\n\tfw_ver:\t28.39.1002\n"
      "Linux gpu1 5.14.0-362.el9.x86_64 #1 SMP x86_64 GNU/Linux\n");
  EXPECT_EQ(value(stack, Part::kOfed), "23.10");
  EXPECT_EQ(value(stack, Part::kUcx), "1.16.0");
  EXPECT_EQ(value(stack, Part::kAdapter), "mlx5");
  EXPECT_EQ(value(stack, Part::kKernel), "5.14.0");
  ASSERT_EQ(stack.firmware.size(), 1U);
  EXPECT_EQ(stack.firmware[0].version, "28.39.1002");
}

TEST(Text, KernelRelease) {
  EXPECT_EQ(value(text("6.8.0-45-generic\n"), Part::kKernel), "6.8.0");
  EXPECT_EQ(value(text("2.20.5-1+cuda12.4\n"), Part::kKernel), "unknown");
  EXPECT_EQ(value(text("12.1.105-1\n"), Part::kKernel), "unknown");
}

TEST(Text, OtherLinesAreCountedOnly) {
  const ParsedStack parsed = parse_stack("hello\n\nworld == 3\n\x01\xff\nfiles: 5.4\n");
  EXPECT_TRUE(parsed.stack.empty());
  EXPECT_EQ(parsed.lines, 4U);
  EXPECT_EQ(parsed.understood, 0U);
  EXPECT_TRUE(parse_stack("").stack.empty());
}

TEST(Text, TwoValuesAreAConflictAndTheFirstCounts) {
  const Stack stack = text("torch==2.4.0\ntorch==2.5.1\n");
  EXPECT_EQ(value(stack, Part::kPytorch), "2.4.0");
  ASSERT_EQ(stack.conflicts.size(), 1U);
  EXPECT_EQ(stack.conflicts[0].other.text, "2.5.1");
  EXPECT_EQ(stack.conflicts[0].other.where, "line 2");
}

TEST(Tables, AreInTheOrderOfVersions) {
  EXPECT_EQ(knowledge::nccl_releases().front().version, "2.3.5");
  EXPECT_EQ(knowledge::nccl_releases().back().version, "2.30.7");
}

TEST(Tables, ToolkitsAndRanges) {
  EXPECT_EQ(knowledge::find_cuda_toolkit("12.3")->driver, "545.23.06");
  EXPECT_EQ(knowledge::find_cuda_toolkit("12.3.1")->driver, "545.23.08");
  EXPECT_EQ(knowledge::find_cuda_toolkit("12.3.107")->name, "12.3 GA");
  EXPECT_EQ(knowledge::find_cuda_toolkit("12.7"), nullptr);
  EXPECT_EQ(knowledge::newest_cuda_of("535.54.03"), "12.2");
  EXPECT_EQ(knowledge::newest_cuda_of("300.1"), "");
  EXPECT_EQ(knowledge::newest_cuda_of("470.82.01"), "11.4");
  EXPECT_EQ(knowledge::newest_cuda_of("465.19.01"), "11.3");
  EXPECT_EQ(knowledge::newest_cuda_of("460.27.03"), "11.2");
  EXPECT_EQ(knowledge::newest_cuda_of("535"), "12.2");
  EXPECT_EQ(knowledge::newest_cuda_of("560.35.03"), "12.6");
  EXPECT_EQ(knowledge::newest_cuda_of("565.57.01"), "");  // 12.7, which was no toolkit
  EXPECT_EQ(knowledge::least_cuda_of("565.57.01"), "12.6");
  EXPECT_EQ(knowledge::newest_cuda_of("575.57.08"), "12.9");
  EXPECT_EQ(knowledge::newest_cuda_of("610.43"), "13.3");
  EXPECT_EQ(knowledge::newest_cuda_of("999.1"), "");
  EXPECT_EQ(knowledge::compare_as_given("535", "535.54.03"), 0);
  EXPECT_EQ(knowledge::compare_as_given("580.65", "580.65.06"), 0);
  EXPECT_LT(knowledge::compare_as_given("580.64", "580.65.06"), 0);
  EXPECT_TRUE(*knowledge::version_within("2.16", "2.16.2", ""));
  EXPECT_FALSE(knowledge::version_within("12", "12.8", "").has_value());
  EXPECT_TRUE(*knowledge::version_within("13", "12.8", ""));
  EXPECT_TRUE(*knowledge::version_within("2.10.3", "", "2.10"));
  EXPECT_FALSE(*knowledge::version_within("2.11.4", "", "2.10"));
  EXPECT_TRUE(*knowledge::version_within("5.15.0-91-generic", "5.12", ""));
  EXPECT_FALSE(knowledge::version_within("newest", "5.12", "").has_value());
  EXPECT_EQ(knowledge::capability_of("NVIDIA GH200 480GB"), "9.0");
  EXPECT_EQ(knowledge::capability_of("NVIDIA A100-SXM4-80GB"), "8.0");
  EXPECT_EQ(knowledge::capability_of("NVIDIA A10"), "8.6");
  EXPECT_EQ(knowledge::capability_of("Something else"), "");
}

TEST(FromMachine, ReadsDriverLibrariesAndAdapters) {
  model::Machine machine;
  const auto known = [](auto value) { return model::Observed<decltype(value)>::known(value, {}); };
  machine.software.nvidia_loaded = known(std::string("570.86.15"));
  machine.software.cuda_driver = known(std::uint32_t{12080});
  machine.software.modules = known(std::vector<std::string>{"nvidia", "nvidia_peermem"});
  machine.software.rdma_core = known(std::string("1.14.44.0"));
  machine.software.libraries = {
      {"libnccl.so.2", "/usr/lib/libnccl.so.2.20.5", "2.20.5", {}},
      {"libcuda.so.1", "/usr/local/cuda-12.9/compat/libcuda.so.575.57.08", "575.57.08", {}}};
  machine.rdma.emplace_back().name = "mlx5_0";
  const Stack stack = stack_of(machine);
  EXPECT_EQ(value(stack, Part::kDriver), "570.86.15");
  EXPECT_EQ(value(stack, Part::kCudaDriver), "12.8");
  EXPECT_EQ(value(stack, Part::kPeermem), "yes");
  EXPECT_EQ(value(stack, Part::kRdmaCore), "44");
  EXPECT_EQ(value(stack, Part::kNcclInstalled), "2.20.5");
  EXPECT_EQ(value(stack, Part::kCudaCompat), "12.9");
  EXPECT_EQ(value(stack, Part::kUserDriver), "unknown");
  EXPECT_EQ(value(stack, Part::kAdapter), "mlx5");
}

}  // namespace
}  // namespace angio::compat
