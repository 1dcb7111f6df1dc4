#include <gtest/gtest.h>

#include "lint/readers/described.hpp"

namespace angio::lint {
namespace {

using Lines = std::vector<std::string>;

Script read(FileKind kind, std::string text) {
  return read_script("file", std::move(text), kind);
}

TEST(Recognise, GoesByNameThenByFirstLine) {
  EXPECT_EQ(recognise("a/job.sh", ""), FileKind::kShell);
  EXPECT_EQ(recognise("Dockerfile.gpu", ""), FileKind::kDockerfile);
  EXPECT_EQ(recognise("/etc/nccl.conf", ""), FileKind::kNcclConf);
  EXPECT_EQ(recognise("x/.nccl.conf", ""), FileKind::kNcclConf);
  EXPECT_EQ(recognise("pod.yml", ""), FileKind::kYaml);
  EXPECT_EQ(recognise("train.env", ""), FileKind::kEnvFile);
  EXPECT_EQ(recognise("train", "#!/usr/bin/env python3\n"), FileKind::kPython);
  EXPECT_EQ(recognise("train", "#!/bin/bash\n"), FileKind::kShell);
  EXPECT_EQ(recognise("-", "apiVersion: v1\n"), FileKind::kYaml);
  EXPECT_EQ(recognise("-", ""), FileKind::kShell);
}

TEST(EnvFileReader, ReadsLines) {
  const Script script =
      read(FileKind::kEnvFile, "# c\nA=1\nexport B=\"two\"\n C = 3 # why\nD=$X\nnonsense\nE=\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 env file", "B=two export", "C=3 env file, glued",
                                        "D=$X env file, dynamic", "E= env file"}));
  EXPECT_EQ(script.notes, (Lines{"line 6: no NAME=value"}));
  EXPECT_EQ(value_text(script, script.settings[1]), "\"two\"");
}

TEST(NcclConfReader, TakesValuesLiterally) {
  const Script script = read(FileKind::kNcclConf,
                             "#A=0\nNCCL_DEBUG=WARN\nNCCL_IB_HCA=\"=mlx5_0\"\nNCCL_ALGO=Ring # old\nnoise\n");
  EXPECT_EQ(settings_of(script), (Lines{"NCCL_DEBUG=WARN nccl.conf", "NCCL_IB_HCA=\"=mlx5_0\" nccl.conf",
                                        "NCCL_ALGO=Ring # old nccl.conf, glued"}));
}

TEST(DockerfileReader, ReadsEnvInBothForms) {
  const Script script = read(
      FileKind::kDockerfile,
      "FROM x\nENV A=1 B=\"two words\" \\\n    # a comment\n    C=3\nENV D four # five\nARG E=5\nenv F=$E\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 ENV", "B=two words ENV", "C=3 ENV", "D=four # five ENV, glued",
                                        "E=5 ARG, unexported", "F=$E ENV, dynamic"}));
}

TEST(DockerfileReader, ReadsRunAndEntryPoints) {
  const Script script = read(FileKind::kDockerfile,
                             "RUN --mount=type=cache apt-get update && \\\n# note\n    export A=1\n"
                             "RUN <<EOF\nexport B=2\nEOF\nCMD [\"bash\", \"-c\", \"export C=3 && torchrun "
                             "t.py\"]\nENTRYPOINT D=4 run\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 RUN export", "B=2 RUN export", "C=3 export", "D=4 command"}));
  EXPECT_EQ(commands_of(script)[0], "apt-get|update");
}

TEST(YamlReader, ReadsKubernetesLists) {
  const Script script = read(FileKind::kYaml, R"(apiVersion: v1
kind: Pod
spec:
  containers:
  - name: trainer
    env:
    - name: NCCL_DEBUG
      value: INFO   # noisy
    - name: NCCL_IB_HCA
      value: "=mlx5_0"
    - {name: NCCL_ALGO, value: 'Ring'}
    - name: NCCL_SOCKET_IFNAME
      valueFrom:
        configMapKeyRef: {name: net, key: ifname}
    - value: "1"
      name: NCCL_IB_DISABLE
    image: x
---
data:
  NCCL_PROTO: LL128
  other: x
)");
  EXPECT_EQ(settings_of(script), (Lines{"NCCL_DEBUG=INFO env", "NCCL_IB_HCA==mlx5_0 env",
                                        "NCCL_ALGO=Ring env", "NCCL_SOCKET_IFNAME= env, dynamic",
                                        "NCCL_IB_DISABLE=1 env", "NCCL_PROTO=LL128 KEY: value"}));
  EXPECT_EQ(value_text(script, script.settings[1]), "\"=mlx5_0\"");
}

TEST(YamlReader, ReadsCompose) {
  const Script script = read(FileKind::kYaml, R"(services:
  a:
    environment:
      NCCL_DEBUG: INFO
      NCCL_IB_GID_INDEX: ${GID}
    command: torchrun --nproc_per_node=8 train.py
  b:
    environment:
      - NCCL_DEBUG=WARN
      - "NCCL_ALGO={{ .Values.algo }}"
)");
  EXPECT_EQ(settings_of(script),
            (Lines{"NCCL_DEBUG=INFO KEY: value", "NCCL_IB_GID_INDEX=${GID} KEY: value, dynamic",
                   "NCCL_DEBUG=WARN KEY=value", "NCCL_ALGO={{ .Values.algo }} KEY=value, dynamic"}));
  EXPECT_EQ(commands_of(script), (Lines{"torchrun|--nproc_per_node=8|train.py"}));
}

TEST(YamlReader, ReadsArgumentsAndBlocks) {
  const Script script = read(FileKind::kYaml, R"(spec:
  containers:
  - command: ["/bin/bash", "-c"]
    args:
    - |
      export A=1
      torchrun train.py
  - command:
      - mpirun
      - -x
      - NCCL_DEBUG=INFO
      - python
  - command: [sh, -c, "export B=\"x\"; run"]
steps:
  - run: |
      export C=3
  - run: >
      mpirun
      -x D=4
      ./x
)");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=1 export", "NCCL_DEBUG=INFO mpirun -x", "B=x export", "C=3 export", "D=4 mpirun -x"}));
}

TEST(PythonReader, ReadsTheEnvironment) {
  const Script script = read(FileKind::kPython, R"(import os
os.environ["A"] = "1"
os.environ['B']=str(2)
os.environ.setdefault("C", f"{x}")
os.environ.update({"D": "4",
                   "E": name}, F_G="6")
os.putenv("G", "7")
del os.environ["H"]
os.environ.pop("I", None)
env = {"J": "1", "K": "2"}
ray.init(runtime_env={"env_vars": {"NCCL_DEBUG": "INFO"}})
print("os.environ['Z'] = 1")  # os.environ["Y"] = "1"
x = os.environ["L"] == "1"
)");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=1 os.environ", "B=2 os.environ", "C={x} os.environ.setdefault, dynamic",
                   "D=4 os.environ.update", "E=name os.environ.update, dynamic", "F_G=6 os.environ.update",
                   "G=7 os.putenv", "H= del os.environ, unset", "I= os.environ.pop, unset",
                   "J=1 env dictionary", "K=2 env dictionary", "NCCL_DEBUG=INFO env dictionary"}));
}

TEST(PythonReader, ReadsCommandsAndMagics) {
  const Script script = read(FileKind::kPython,
                             "%env A=1\n%env B 2\n!C=3 run\nos.system(\"export D=4 && go\")\n"
                             "subprocess.run([\"mpirun\", \"-x\", \"E=5\", name, \"python\"])\n"
                             "subprocess.check_call(f\"nvidia-smi -i {i}\", shell=True)\n");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=1 %env", "B=2 %env", "C=3 command", "D=4 export", "E=5 mpirun -x"}));
  EXPECT_EQ(commands_of(script)[0], "run");
}

TEST(ProcessEnvironment, KeepsPlaces) {
  const Script script = script_of_environment("process 7", {{"A", "1"}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_EQ(settings_of(script), (Lines{"A=1 env:", "NCCL_DEBUG=INFO env:"}));
  EXPECT_EQ(value_text(script, script.settings[1]), "INFO");
}

TEST(Readers, HostileTextTakesLinearTime) {
  for (const FileKind kind :
       {FileKind::kEnvFile, FileKind::kNcclConf, FileKind::kDockerfile, FileKind::kYaml, FileKind::kPython}) {
    for (const std::string_view part :
         {"env={", "{", "[", "- ", "\"", "'''", "RUN <<A\n", "a: |\n", "ENV A=1 \\\n",
          "os.environ[\"x\"]=", "a: \"", "- {name: ", "\\\n", "key: 'x\n"}) {
      std::string text;
      while (text.size() < 60'000)
        text += part;
      const Script script = read(kind, text);
      for (const Setting& setting : script.settings) {
        ASSERT_LE(setting.value_place.offset + setting.value_place.length, script.text.size());
      }
    }
  }
}

}  // namespace
}  // namespace angio::lint
