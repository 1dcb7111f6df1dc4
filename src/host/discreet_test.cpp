#include "host/discreet.hpp"

#include <gtest/gtest.h>

#include <cerrno>

#include "host/clock.hpp"
#include "host/system_roots.hpp"

namespace angio::host {
namespace {

using namespace std::string_literals;

TEST(ShareableSetting, AllowsByPrefixAndRefusesSecrets) {
  for (const char* name :
       {"NCCL_DEBUG", "UCX_TLS", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS",
        "SLURM_JOB_ID", "RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "LD_LIBRARY_PATH", "PMI_RANK",
        "OMPI_COMM_WORLD_LOCAL_RANK", "NVIDIA_VISIBLE_DEVICES"}) {
    EXPECT_TRUE(is_shareable_setting(name)) << name;
  }
  for (const char* name :
       {"SLURM_JWT", "NCCL_SECRET", "CUDA_API_KEY", "UCX_AUTH_TOKEN", "SLURM_PASSWORD", "HF_TOKEN",
        "HOSTNAME", "PATH", "HOME", "AWS_SECRET_ACCESS_KEY", "RANKX", "", "NCCL_X\nY", "nccl_debug"}) {
    EXPECT_FALSE(is_shareable_setting(name)) << name;
  }
}

TEST(ShareableSettings, KeepsAllowedEntriesAndLineNumbers) {
  const std::string environ = "PATH=/bin\0NCCL_DEBUG=INFO\0HF_TOKEN=hf_abc\0UCX_TLS=rc\0"s;
  EXPECT_EQ(shareable_settings(environ, '\0'), "NCCL_DEBUG=INFO\0UCX_TLS=rc\0"s);
  EXPECT_EQ(shareable_settings("# note\nAPI_KEY=1\nNCCL_IB_HCA=mlx5\n", '\n'), "\n\nNCCL_IB_HCA=mlx5\n");
  EXPECT_EQ(shareable_settings("NCCL_A=1", '\0'), "NCCL_A=1\0"s);
}

TEST(ShareableValue, DropsCredentialsInUrls) {
  EXPECT_EQ(shareable_value("http://joe:pw@proxy:80/x,tcp://10.0.0.1:7"),
            "http://...@proxy:80/x,tcp://10.0.0.1:7");
  EXPECT_EQ(shareable_value("mlx5_0:1"), "mlx5_0:1");
  EXPECT_EQ(shareable_value("://@"), "://...@");
}

TEST(ShareableArguments, KeepsNamesAndNumbersOnly) {
  const std::string arguments =
      "python\0train.py\0--token\0hf_abc\0--lr=0.1\0--api-key=xyz\0--password\0"
      "1234\0-m\0torch.run\0secretword\0--batch\0"
      "32\0NCCL_DEBUG=INFO\0HF_TOKEN=q\0"s;
  EXPECT_EQ(shareable_arguments(arguments),
            "python\0train.py\0--token\0...\0--lr=0.1\0--api-key=...\0--password\0...\0-m\0torch.run\0...\0--"
            "batch\0"
            "32\0NCCL_DEBUG=INFO\0...\0"s);
  EXPECT_EQ(shareable_arguments("python\0-c\0import os; key='s3cr3t'\0"s), "python\0-c\0...\0"s);
  EXPECT_EQ(shareable_arguments("sshd: alice [priv]"), "sshd\0"s);
  EXPECT_EQ(shareable_arguments("mysql\0-psecret123\0"s), "mysql\0...\0"s);
  EXPECT_EQ(shareable_arguments(""), "");
}

TEST(ShareableKernelOptions, MasksSecretsAndKeepsTheRest) {
  EXPECT_EQ(shareable_kernel_options("ro pci=noacs rd.luks.key=abc iommu=pt\n"),
            "ro pci=noacs rd.luks.key=... iommu=pt\n");
  EXPECT_EQ(shareable_kernel_options("quiet token=abc\n"), "quiet token=...\n");
}

TEST(ShareableArtefact, MasksSecretAssignmentsInLogsAndDumps) {
  EXPECT_EQ(shareable_artefact("NCCL_DEBUG=INFO\nexport WANDB_API_KEY=abc\nloss=1\n  \"HF_TOKEN=x\""),
            "NCCL_DEBUG=INFO\nexport WANDB_API_KEY=...\nloss=1\n  \"HF_TOKEN=...");
}

TEST(Reduced, MapsKeepLibrariesWithoutAddresses) {
  EXPECT_EQ(reduced_maps("7f00-7f10 r-xp 0 08:01 5   /usr/lib/libnccl.so.2.21.5\n"
                         "7f20-7f30 r--p 0 08:01 5   /usr/lib/libnccl.so.2.21.5\n"
                         "7f40-7f50 rw-p 0 08:01 6   /home/joe/data.bin\n7f60-7f70 rw-p 0 0 0 [stack]\n"
                         "7f80-7f90 rw-s 0 0 0 /dev/shm/nccl-4f\n7fa0-7fb0 rw-s 0 0 0 /dev/shm/mine\n"),
            "0-0 r-xp 0 00:00 0 /dev/shm/nccl-4f\n0-0 r-xp 0 00:00 0 /usr/lib/libnccl.so.2.21.5\n");
}

TEST(Reduced, NumaMapsAreSummedByPolicyAndPageSize) {
  EXPECT_EQ(reduced_numa_maps("7f00 default file=/home/joe/x mapped=3 N0=2 N1=1 kernelpagesize_kB=4\n"
                              "7f10 default anon=5 N0=5 kernelpagesize_kB=4\n"
                              "7f20 bind:0 anon=1 N0=1 kernelpagesize_kB=2048\nbroken\n"),
            "0 bind:0 anon=1 N0=1 mappings=1 kernelpagesize_kB=2048\n"
            "0 default anon=5 N0=5 mappings=1 kernelpagesize_kB=4\n"
            "0 default file=(file) N0=2 N1=1 mappings=1 kernelpagesize_kB=4\n");
}

TEST(Reduced, NumaMapsTellWhatIsBehindThePages) {
  const std::string reduced = reduced_numa_maps(
      "7f00 default file=/dev/shm/nccl-x dirty=3 N0=3 kernelpagesize_kB=4\n"
      "7f10 default file=/dev/zero\\040(deleted) dirty=2 N1=2 kernelpagesize_kB=4\n"
      "7f20 default file=/dev/nvidia0 kernelpagesize_kB=4\n"
      "7f30 default file=/anon_hugepage\\040(deleted) huge anon=2 N0=2 kernelpagesize_kB=2048\n"
      "7f40 default file=/usr/lib/libc.so.6 anon=4 N0=6 N1=2 kernelpagesize_kB=4\n7f50 default heap\n");
  EXPECT_EQ(reduced,
            "0 default anon=0 mappings=1\n0 default anon=4 N0=3 N1=1 mappings=0 kernelpagesize_kB=4\n"
            "0 default file=(file) N0=3 N1=1 mappings=1 kernelpagesize_kB=4\n"
            "0 default file=(shared) N0=3 mappings=1 kernelpagesize_kB=4\n"
            "0 default file=(zero) N1=2 mappings=1 kernelpagesize_kB=4\n"
            "0 default file=(device) mappings=1 kernelpagesize_kB=4\n"
            "0 default huge N0=2 mappings=1 kernelpagesize_kB=2048\n");
  EXPECT_EQ(reduced_numa_maps(reduced), reduced);
}

TEST(Reduced, StatusStatAndMounts) {
  EXPECT_EQ(reduced_status("Name:\tpython\nUid:\t1000\nCpus_allowed_list:\t0-3\nSigQ:\t1/2\n"),
            "Name:\tpython\nCpus_allowed_list:\t0-3\n");
  std::string stat = "12 (a) b) S";
  for (int field = 4; field <= 52; ++field)
    stat += " " + std::to_string(field);
  const std::string reduced = reduced_stat(stat);
  EXPECT_TRUE(reduced.starts_with("12 (a) b) S 0 0 ")) << reduced;
  EXPECT_TRUE(reduced.ends_with(" 0 39\n")) << reduced;
  EXPECT_EQ(
      reduced_mounts(
          "22 27 0:21 / /proc rw - proc proc rw\n27 1 0:5 / / rw - overlay overlay rw\n"
          "30 27 0:6 / /sys/fs/cgroup rw - cgroup2 none rw\n31 27 0:7 / /home/joe rw - nfs srv:/x rw\n"),
      "27 1 0:5 / / rw - overlay overlay rw\n30 27 0:6 / /sys/fs/cgroup rw - cgroup2 none rw\n");
}

TEST(DiscreetRoot, ARecorderBehindItNeverSeesASecret) {
  Recording files;
  files["/proc/7/environ"].content = "HF_TOKEN=planted-secret\0NCCL_DEBUG=INFO\0"s;
  files["/proc/7/cmdline"].content = "python\0--token=planted-secret\0"s;
  files["/proc/cmdline"].content = "ro token=planted-secret\n";
  files["/etc/nccl.conf"].content = "NCCL_DEBUG=WARN\npassword=planted-secret\n";
  files["/opt/my.conf"].content = "db=planted-secret\nNCCL_ALGO=Ring\n";
  files["/sys/x"].content = "left alone\n";
  files["/gone"].content = std::unexpected(ReadError{EACCES, "words"});
  const auto root = make_discreet_root(make_memory_root(files, Scope::kComplete), {"/opt/my.conf"});
  const RecordingRoot recorder(*root);
  for (const auto& [path, answers] : files)
    (void)recorder.read(path);
  for (const auto& [path, answers] : recorder.recording()) {
    const std::string seen = answers.content->value_or("");
    EXPECT_EQ(seen.find("planted-secret"), std::string::npos) << path;
  }
  EXPECT_EQ(recorder.read("/proc/7/environ").value(), "NCCL_DEBUG=INFO\0"s);
  EXPECT_EQ(recorder.read("/opt/my.conf").value(), "\nNCCL_ALGO=Ring\n");
  EXPECT_EQ(recorder.read("/sys/x").value(), "left alone\n");
  EXPECT_EQ(recorder.read("/gone").error(), (ReadError{EACCES, "words"}));
}

TEST(EnvironmentRoot, ShowsTheAllowedOnly) {
  const std::vector<std::string> environment{"NCCL_DEBUG=INFO", "HF_TOKEN=x",
                                             "KUBERNETES_SERVICE_HOST=10.0.0.1", "EMPTY", "SLURM_JWT=y"};
  const auto root = make_environment_root(environment);
  EXPECT_EQ(root->list("/").value(), (Names{"KUBERNETES_SERVICE_HOST", "NCCL_DEBUG"}));
  EXPECT_EQ(root->read("/NCCL_DEBUG").value(), "INFO");
  EXPECT_EQ(root->read("/KUBERNETES_SERVICE_HOST").value(), "set");
  EXPECT_EQ(root->read("/HF_TOKEN").error().error, ENOENT);
  EXPECT_EQ(make_environment_root({})->list("/").value(), Names{});
  EXPECT_EQ(find_variable(environment, "SLURM_JWT"), "y");
  EXPECT_EQ(find_variable(environment, "SLURM"), "");
}

TEST(SystemRoots, AnswerInTheirForms) {
  EXPECT_NE(make_limits_root()->read("/nofile").value().find(' '), std::string::npos);
  EXPECT_FALSE(make_kernel_identity_root()->read("/release").value().empty());
  EXPECT_EQ(make_filesystem_size_root()->read("/home").error().error, ENOENT);
  EXPECT_EQ(make_home_root("")->read("/.nccl.conf").error().error, ENOENT);
  EXPECT_TRUE(is_communication_library("libnccl.so.2"));
  EXPECT_FALSE(is_communication_library("libc.so.6"));
}

TEST(Clock, UtcText) {
  using namespace std::chrono;
  EXPECT_EQ(utc_text(sys_days{2026y / 11 / 29} + 12h + 3min + 4s + 999ms), "2026-11-29T12:03:04Z");
  EXPECT_EQ(utc_text(system_clock::time_point{}), "1970-01-01T00:00:00Z");
}

}  // namespace
}  // namespace angio::host
