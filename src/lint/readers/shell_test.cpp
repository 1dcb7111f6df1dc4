#include <gtest/gtest.h>

#include "lint/readers/described.hpp"

namespace angio::lint {
namespace {

using Lines = std::vector<std::string>;

Script shell(std::string text) {
  return read_script("job.sh", std::move(text), FileKind::kShell);
}

TEST(ShellReader, ReadsExports) {
  const Script script = shell("export NCCL_DEBUG=INFO\nexport A=1 B='two words' C\n");
  EXPECT_EQ(settings_of(script), (Lines{"NCCL_DEBUG=INFO export", "A=1 export", "B=two words export"}));
  EXPECT_EQ(value_text(script, script.settings[2]), "'two words'");
  EXPECT_EQ(script.settings[0].value_place.line, 1U);
  EXPECT_EQ(script.settings[0].value_place.column, 19U);
  EXPECT_EQ(script.settings[0].statement_place.length, 23U);
}

TEST(ShellReader, KnowsWhatReachesNoChild) {
  const Script script = shell("A=1\nB=2\nexport B\nset -a\nC=3\nset +a\nD=4\ndeclare -x E=5\nlocal F=6\n");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=1 assignment, unexported", "B=2 assignment", "C=3 assignment",
                   "D=4 assignment, unexported", "E=5 declare", "F=6 local, unexported"}));
}

TEST(ShellReader, ReadsAssignmentsInFrontOfCommands) {
  const Script script = shell("A=1 B=\"x y\" numactl --membind=0 python train.py C=3\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 command", "B=x y command"}));
  EXPECT_EQ(commands_of(script), (Lines{"numactl|--membind=0|python|train.py|C=3"}));
  ASSERT_EQ(script.commands[0].environment.size(), 2U);
  EXPECT_EQ(script.commands[0].environment[1].value, "x y");
}

TEST(ShellReader, TakesWrappersOff) {
  const Script script = shell("sudo -E env -u X A=1 nohup torchrun t.py &\nexec env -i B=2 ./run\n");
  EXPECT_EQ(settings_of(script), (Lines{"X= env -u, unset", "A=1 env", "B=2 env"}));
  EXPECT_EQ(commands_of(script), (Lines{"torchrun|t.py & sudo", "./run"}));
}

TEST(ShellReader, KeepsExpansionsUnknown) {
  const Script script =
      shell("export A=$X B=${Y:-eth0} C=$(hostname -s) D=`date` E='$no' F=a\\$b G=$'q\\'t'\n");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=$X export, dynamic", "B=${Y:-eth0} export, dynamic", "C=$(hostname -s) export, dynamic",
                   "D=`date` export, dynamic", "E=$no export", "F=a$b export", "G=q't export"}));
}

TEST(ShellReader, ReadsCommandSubstitutions) {
  EXPECT_EQ(commands_of(shell("x=$(ibstat | grep MTU)\necho \"$(numactl --hardware)\"\n")),
            (Lines{"ibstat", "grep|MTU", "echo|$(numactl --hardware)", "numactl|--hardware"}));
}

TEST(ShellReader, JoinsContinuedLines) {
  const Script script = shell("mpirun -np 8 \\\n  -x NCCL_DEBUG=INFO \\\n  -x PATH python t.py\n");
  EXPECT_EQ(settings_of(script), (Lines{"NCCL_DEBUG=INFO mpirun -x"}));
  EXPECT_EQ(commands_of(script), (Lines{"mpirun|-np|8|-x|NCCL_DEBUG=INFO|-x|PATH|python|t.py"}));
  EXPECT_EQ(script.settings[0].name_place.line, 2U);
  EXPECT_EQ(script.text.substr(script.settings[0].statement_place.offset,
                               script.settings[0].statement_place.length),
            "-x NCCL_DEBUG=INFO ");
}

TEST(ShellReader, SeesTheCommentThatEndsACommand) {
  const Script script = shell("torchrun --nnodes=2 \\ # two nodes\n  train.py\nls \\ \n -l\n");
  EXPECT_EQ(commands_of(script), (Lines{"torchrun|--nnodes=2 \\# two nodes", "train.py", "ls \\ ", "-l"}));
}

TEST(ShellReader, LeavesHereDocumentsAlone) {
  const Script script =
      shell("cat > x <<EOF\nexport A=1\nEOF\nexport B=2\ncat <<-'E' | sort\n\texport C=3\n\tE\nexport D=4\n");
  EXPECT_EQ(settings_of(script), (Lines{"B=2 export", "D=4 export"}));
}

TEST(ShellReader, ReadsHereDocumentsOfShells) {
  EXPECT_EQ(settings_of(shell(
                "ssh host bash <<'EOF'\nexport A=1\nEOF\nsbatch <<EOF\n#!/bin/bash\nexport B=2\nEOF\n")),
            (Lines{"A=1 export", "B=2 export"}));
}

TEST(ShellReader, ReadsBlocksAndLists) {
  const Script script = shell(
      "if [ -z \"$X\" ]; then export A=1; else export B=2; fi\n"
      "for h in a b; do ssh $h 'export C=3 && run'; done\n"
      "case $1 in\n  a|b) export D=4 ;;\n  *) export E=5;;\nesac\n"
      "setup() { export F=6; }\nfunction other { export G=7; }\n(export H=8)\nwhile true; do export I=9; "
      "break; done\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 export", "B=2 export", "C=3 export", "D=4 export", "E=5 export",
                                        "F=6 export", "G=7 export", "H=8 export", "I=9 export"}));
  for (const Setting& setting : script.settings)
    EXPECT_EQ(setting.statement_place.length, 0U) << setting.name;
}

TEST(ShellReader, GroupsPipelines) {
  const Script script = shell("a | b && c\nd |\n e\n");
  ASSERT_EQ(commands_of(script), (Lines{"a", "b", "c", "d", "e"}));
  EXPECT_EQ(script.commands[0].pipeline, script.commands[1].pipeline);
  EXPECT_NE(script.commands[1].pipeline, script.commands[2].pipeline);
  EXPECT_EQ(script.commands[3].pipeline, script.commands[4].pipeline);
}

TEST(ShellReader, DropsRedirections) {
  EXPECT_EQ(
      commands_of(shell(
          "run a >out 2>&1 </dev/null b &>all\nx 2>err <<< \"in\"\n[[ a < b && c ]] && echo y\n((i++))\n")),
      (Lines{"run|a|b", "x", "[[", "echo|y"}));
}

TEST(ShellReader, ReadsShellsInShells) {
  const Script script = shell(
      "srun bash -c \"export A=\\\"x y\\\"; python -m t\"\nssh -p 22 host B=1 run\nsu - me -c 'C=2 go'\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=x y export", "B=1 command"}));
}

TEST(ShellReader, ReadsWhatLaunchersCarry) {
  const Script script = shell(
      "srun --export=ALL,A=1,B=2 ./x\n"
      "docker run --rm -e C=3 --env D=4 --env=E=5 -e F img bash -e G=6\n"
      "mpiexec -genv H 7 -genv I=8 -n 2 ./x\n"
      "mpirun --mca mca_base_env_list \"J=9;K=10\" ./x\n"
      "kubectl set env deployment/x L=11 M-\n"
      "apptainer exec --env N=12,O=13 img.sif ./x\n");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=1 srun --export", "B=2 srun --export", "C=3 docker --env", "D=4 docker --env",
                   "E=5 docker --env", "H=7 mpirun -genv", "I=8 mpirun -genv",
                   "J=9 mpirun --mca mca_base_env_list", "K=10 mpirun --mca mca_base_env_list",
                   "L=11 kubectl set env", "N=12 apptainer --env", "O=13 apptainer --env"}));
}

TEST(ShellReader, ReadsDirectives) {
  const Script script =
      shell("#!/bin/bash\n#SBATCH --nodes=4\n#SBATCH --export=ALL,A=1\n# plain\n  #SBATCH no\n");
  ASSERT_EQ(script.directives.size(), 2U);
  EXPECT_EQ(script.directives[0].text, "#SBATCH --nodes=4");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 #SBATCH --export"}));
}

TEST(ShellReader, ReadsRemovals) {
  EXPECT_EQ(settings_of(shell("unset A B\nunset -f C\nexport -n D\n")),
            (Lines{"A= unset, unset", "B= unset, unset", "D= export -n, unset"}));
}

TEST(ShellReader, AppendedAndArrayValuesAreUnknown) {
  const Script script = shell("export A+=x\nB=(1 2 'a b')\nexport C[1]=2\n");
  EXPECT_EQ(settings_of(script),
            (Lines{"A=x export, dynamic", "B=(1 2 'a b') assignment, dynamic, unexported"}));
}

TEST(ShellReader, GoesOnBehindAQuoteThatNeverCloses) {
  const Script script = shell("echo \"open\nexport A=1\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 export"}));
  EXPECT_EQ(script.notes, (Lines{"line 1: quote never closed"}));
}

TEST(ShellReader, SurvivesCarriageReturns) {
  const Script script = shell("export A=1\r\nexport B=2\r\n");
  EXPECT_EQ(settings_of(script), (Lines{"A=1 export", "B=2 export"}));
  EXPECT_EQ(script.notes.size(), 1U);
}

TEST(ShellReader, HostileTextTakesLinearTime) {
  for (const std::string_view part : {"$(", "\"$(", "`", "'", "\"", "[[ x\n", "<<A\n", "case x in ", "((",
                                      "${", "\\ ", "a=(", "bash -c '"}) {
    std::string text;
    while (text.size() < 200'000)
      text += part;
    const Script script = shell(text);
    for (const Setting& setting : script.settings) {
      ASSERT_LE(setting.value_place.offset + setting.value_place.length, script.text.size());
    }
    EXPECT_LE(script.notes.size(), 21U) << part;
  }
}

}  // namespace
}  // namespace angio::lint
