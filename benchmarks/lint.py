#!/usr/bin/env python3
"""angio lint over many files of every kind, beside a grep for NCCL_ over the same files, in turns.

  benchmarks/lint.py ANGIO [FILES [ROUNDS]]      1,000 files, 7 rounds

The goal is one second for 1,000 files. Files are as people write them: 20 to 120 lines, a dozen settings, some wrong.
"""

import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

SETTINGS = ["NCCL_DEBUG=INFO", "NCCL_ALGO=Ring,Tree,Coll", "NCCL_PROTO=LL128", "NCCL_IB_HCA=mlx5_1", "NCCL_BUFFSIZE=8M",
            "NCCL_IB_TIMEOUT=22", "NCCL_SOCKET_IFNAME=eth0", "NCCL_IB_GIDINDEX=3", "NCCL_P2P_DISABLE=1", "UCX_TLS=rc,sm",
            "NCCL_IB_QPS_PER_CONNECTION=4", "NCCL_NVLS_ENABLE=0", "OMP_NUM_THREADS=8", "NCCL_CROSS_NIC=1"]


def shell(settings, lines):
    body = [f"export {setting}" for setting in settings]
    body += [f'echo "step {n}: $(hostname) $((n + {n}))" | tee -a log.{n}' for n in range(lines)]
    return "#!/bin/bash\n#SBATCH --nodes=4\n" + "\n".join(body) + "\nsrun torchrun --nnodes=4 --nproc-per-node=8 train.py\n"


def yaml(settings, lines):
    pairs = "".join("    - name: {}\n      value: \"{}\"\n".format(*setting.split("=", 1)) for setting in settings)
    rest = "".join(f"    key{n}: value {n}\n" for n in range(lines))
    return f"apiVersion: v1\nkind: Pod\nspec:\n  containers:\n  - name: rank\n    env:\n{pairs}    resources:\n{rest}"


def python(settings, lines):
    body = ['os.environ["{}"] = "{}"'.format(*setting.split("=", 1)) for setting in settings]
    return "import os\n" + "\n".join(body + [f"x{n} = train(step={n})  # {n}" for n in range(lines)]) + "\n"


def dockerfile(settings, lines):
    runs = "".join(f"RUN apt-get install -y package{n} && rm -rf /var/lib/apt/lists/*\n" for n in range(lines))
    return "FROM registry.example/base:1\n" + runs + "".join(f"ENV {setting}\n" for setting in settings)


KINDS = [(".sh", shell), (".yaml", yaml), (".py", python), (".dockerfile", dockerfile),
         (".env", lambda settings, lines: "\n".join(settings + [f"KEY_{n}={n}" for n in range(lines)]) + "\n")]


def write_files(folder, count):
    random.seed(1)
    for number in range(count):
        ending, make = KINDS[number % len(KINDS)]
        settings = random.sample(SETTINGS, random.randint(4, len(SETTINGS)))
        (folder / f"file{number}{ending}").write_text(make(settings, random.randint(10, 100)))


def timed(words):
    start = time.perf_counter()
    result = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    return time.perf_counter() - start, result.stdout


def main():
    angio = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 1000
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 7
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_files(folder, count)
        size = sum(path.stat().st_size for path in folder.iterdir())
        ours, theirs = [], []
        for _ in range(rounds):
            seconds, output = timed([angio, "lint", "--nccl", "2.28.9", name])
            ours.append(seconds)
            theirs.append(timed(["grep", "-rn", "NCCL_", name])[0])
    print(f"{count} files, {size / 1e6:.1f} MB, {rounds} rounds, medians")
    print(f"angio lint  {statistics.median(ours):.3f} s   {output.decode().strip().splitlines()[-1]}")
    print(f"grep -rn    {statistics.median(theirs):.3f} s   lines only")
    return 0 if statistics.median(ours) <= 1.0 * count / 1000 else 1


if __name__ == "__main__":
    sys.exit(main())
