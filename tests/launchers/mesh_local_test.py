#!/usr/bin/env python3
"""angio mesh with real agents on this host (--with local): figures, a host that dies, one that hangs, strangers, Ctrl-C and
--resume.

  mesh_local_test.py ANGIO [UNITTEST ARGUMENTS]"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

import support

ANGIO = None
# Holds the token and speaks the same language, and says that it is older.
OLD_AGENT = """
import hashlib, hmac, json, os, socket, sys
host, _, port = sys.argv[1].rpartition(":")
with socket.create_connection((host, int(port))) as connection, connection.makefile("rw") as lines:
    challenge = json.loads(lines.readline())["random"]
    proof = hmac.new(os.environ["ANGIO_MESH_TOKEN"].encode(), f"agent|{challenge}|00".encode(), hashlib.sha256).hexdigest()
    print(json.dumps({"say": "hello", "random": "00", "proof": proof, "name": "h1", "host_name": "h1", "version": "angio 0.0.1"}), file=lines, flush=True)
    lines.read()
"""


class MeshLocalTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="angio-mesh-")
        self.out = pathlib.Path(self.folder.name) / "mesh.json"

    def tearDown(self):
        self.folder.cleanup()
        self.assertEqual(ANGIO.leftovers(), [])

    def start(self, *words, hosts="h[0-3]", **environment):
        return subprocess.Popen([ANGIO.path, "mesh", "--with", "local", "--hosts", hosts, "--transport", "tcp", "--seconds", "1",
                                 *map(str, words)], env=ANGIO.environment(**environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def finish(self, process, timeout=120):
        out, err = process.communicate(timeout=timeout)
        return process.returncode, out.decode(), err.decode()

    def result(self):
        return json.loads(self.out.read_text())

    def agents(self):
        return {word[word.index("--name") + 1]: pid for pid in support.marked(ANGIO.mark)
                for word in [pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")] if "mesh-node" in word and "--name" in word}

    def wait_for_round(self, number):
        support.wait_until(lambda: self.out.exists() and self.result()["rounds_done"] >= number, 60, f"round {number}")

    def test_measures_every_direction(self):
        code, out, err = self.finish(self.start("--out", self.out))
        self.assertEqual(code, 0, err)
        self.assertIn("angio: 4 of 4 hosts answered", err)
        self.assertRegex(err, r"3 rounds of at most 2 pairs at once, 3 tests a pair: about \d+ s")
        self.assertIn("h[0-3]: 4 hosts, 6 of 6 pairs measured", out)
        result = self.result()
        self.assertEqual(result["schema"], "angio.mesh/1")
        self.assertEqual(len(result["measures"]), 12)
        for one in result["measures"]:
            self.assertEqual(one["state"], "done")
            self.assertGreater(one["bits_per_second"], 1e6)
            self.assertGreater(one["latency_us"], 0.5)
            self.assertLess(one["latency_us"], 1e6)
            self.assertGreater(one["from_cpu"] + one["to_cpu"], 0.01)
        names = {(metric["subject"], metric["name"]) for metric in result["metrics"]}
        self.assertIn(("h0", "median TCP sent"), names)
        self.assertEqual(list(pathlib.Path(self.folder.name).iterdir()), [self.out])

    def test_the_token_is_no_argument(self):
        process = self.start("--level", "lat", "--out", self.out)
        support.wait_until(lambda: len(self.agents()) == 4, 30, "four agents")
        for pid in support.marked(ANGIO.mark):
            environment = pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            token = [one.split(b"=", 1)[1] for one in environment if one.startswith(b"ANGIO_MESH_TOKEN=")]
            for other in support.marked(ANGIO.mark):
                words = pathlib.Path(f"/proc/{other}/cmdline").read_bytes()
                self.assertFalse(any(one in words for one in token))
        self.assertEqual(self.finish(process)[0], 0)

    def test_a_killed_agent_is_named_and_the_others_go_on(self):
        process = self.start("--level", "bw", "--out", self.out, hosts="h[0-4]")
        self.wait_for_round(1)
        os.kill(self.agents()["h2"], signal.SIGKILL)
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, err)
        self.assertIn("h2 is not usable: it vanished", out)
        result = self.result()
        lost = [one for one in result["measures"] if "h2" in (one["from"], one["to"]) and one["state"] == "failed"]
        self.assertGreaterEqual(len(lost), 4)
        self.assertTrue(all(one["trouble"].startswith("h2: it vanished") for one in lost))
        others = [one for one in result["measures"] if "h2" not in (one["from"], one["to"])]
        self.assertEqual(len(others), 12)
        self.assertEqual({one["state"] for one in others}, {"done"})
        self.assertEqual([f["rule"] for f in result["findings"] if f["severity"] == "critical"], ["mesh.host.lost"])
        # Once more with what failed.
        code, out, err = self.finish(self.start("--resume", self.out, "--retry-failed", "--out", self.out, hosts="h[0-4]"))
        self.assertEqual(code, 0, err)
        again = self.result()
        self.assertEqual({one["state"] for one in again["measures"]}, {"done"})
        self.assertEqual(len(again["measures"]), 20)
        kept = {(one["from"], one["to"]): one.get("bits_per_second") for one in others}
        for one in again["measures"]:
            if (one["from"], one["to"]) in kept:
                self.assertEqual(one["bits_per_second"], kept[one["from"], one["to"]])

    def test_an_agent_that_hangs_is_passed_over(self):
        process = self.start("--level", "bw", "--out", self.out, "--patience", 1)
        self.wait_for_round(1)
        pid = self.agents()["h1"]
        os.kill(pid, signal.SIGSTOP)
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, err)
        self.assertIn("h1 is not usable: it did not answer for", out)
        states = {(one["from"], one["to"]): one["state"] for one in self.result()["measures"]}
        self.assertEqual({state for pair, state in states.items() if "h1" not in pair}, {"done"})

    def test_interrupted_and_resumed(self):
        process = self.start("--level", "bw", "--out", self.out, hosts="h[0-5]")
        self.wait_for_round(1)
        process.send_signal(signal.SIGINT)
        code, out, err = self.finish(process)
        self.assertEqual(code, 130)
        self.assertIn("--resume", err)
        result = self.result()
        self.assertLess(result["rounds_done"], 5)
        self.assertNotIn("failed", {one["state"] for one in result["measures"]})
        self.assertEqual([f for f in result["findings"] if f["severity"] == "critical"], [])
        done = {(one["from"], one["to"]): one["bits_per_second"] for one in result["measures"] if one["state"] == "done"}
        code, out, err = self.finish(self.start("--resume", self.out, "--out", self.out, hosts="h[0-5]"))
        self.assertEqual(code, 0, err)
        result = self.result()
        self.assertEqual(len(result["measures"]), 30)
        self.assertEqual({one["state"] for one in result["measures"]}, {"done"})
        for pair, rate in done.items():
            self.assertEqual([one["bits_per_second"] for one in result["measures"] if (one["from"], one["to"]) == pair], [rate])

    def test_agents_end_with_their_controller(self):
        process = self.start()
        support.wait_until(lambda: len(self.agents()) == 4, 30, "four agents")
        process.kill()
        process.communicate()
        support.wait_until(lambda: not self.agents(), 20, "the end of the agents")

    def control_port(self):
        for pid in self.agents().values():
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
            return int(words[words.index("mesh-node") + 1].rpartition(":")[2])
        return None

    def test_strangers_are_refused(self):
        process = self.start("--level", "lat", "--out", self.out)
        port = support.wait_until(self.control_port, 30, "the controller's port")
        with socket.create_connection(("127.0.0.1", port), timeout=10) as stranger:
            challenge = json.loads(stranger.makefile().readline())
            self.assertEqual(challenge["say"], "challenge")
            hello = {"say": "hello", "random": "00", "proof": "0" * 64, "name": "h0", "host_name": "h0", "version": "", "programs": []}
            stranger.sendall(json.dumps(hello).encode() + b"\n")
            stranger.settimeout(10)
            self.assertEqual(stranger.recv(1), b"")
        code, out, err = self.finish(process)
        self.assertEqual(code, 0, err)
        self.assertEqual({one["state"] for one in self.result()["measures"]}, {"done"})
        self.assertIn("127.0.0.1 does not hold the token of this mesh", self.result()["notes"])

    def test_nobody_comes_in_once_it_has_begun(self):
        process = self.start("--out", self.out)
        port = support.wait_until(self.control_port, 30, "the controller's port")
        self.wait_for_round(1)
        with self.assertRaises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=10)
        self.assertEqual(self.finish(process)[0], 0)

    def test_an_agent_of_another_version_is_named(self):
        old = pathlib.Path(self.folder.name) / "old.py"
        old.write_text(OLD_AGENT)
        wrapper = pathlib.Path(self.folder.name) / "angio"
        wrapper.write_text(f'#!/bin/sh\nif [ "$4" = h1 ]; then exec {sys.executable} {old} "$2"; fi\nexec {ANGIO.path} "$@"\n')
        wrapper.chmod(0o755)
        code, out, err = self.finish(self.start("--angio", wrapper, "--out", self.out, "--level", "lat", hosts="h[0-2]"))
        self.assertEqual(code, 0, err)
        self.assertIn("h1: its agent is angio 0.0.1, this is angio ", err)
        self.assertEqual({(one["from"], one["to"]) for one in self.result()["measures"] if one["state"] == "done"}, {("h0", "h2"), ("h2", "h0")})

    def test_an_agent_refuses_another_controller(self):
        with socket.socket() as server:
            server.bind(("127.0.0.1", 0))
            server.listen()
            agent = subprocess.Popen([ANGIO.path, "mesh-node", f"127.0.0.1:{server.getsockname()[1]}", "--name", "h0"],
                                     env=ANGIO.environment(ANGIO_MESH_TOKEN="secret"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                     stderr=subprocess.PIPE)
            connection, _ = server.accept()
            with connection, connection.makefile("rw") as lines:
                lines.write(json.dumps({"say": "challenge", "random": "ab"}) + "\n")
                lines.flush()
                hello = lines.readline()
                self.assertNotIn("secret", hello)
                lines.write(json.dumps({"say": "welcome", "proof": "0" * 64}) + "\n")
                lines.flush()
                out, err = agent.communicate(timeout=20)
        self.assertEqual(agent.returncode, 3)
        self.assertIn(b"does not hold the token", err)

    def test_latency_alone_and_rails(self):
        code, out, err = self.finish(self.start("--level", "lat", "--interface", "lo,lo", "--out", self.out, hosts="a,b,c"))
        self.assertEqual(code, 0, err)
        measures = self.result()["measures"]
        self.assertEqual(len(measures), 12)
        self.assertEqual({one["from_rail"] for one in measures}, {0, 1})
        self.assertTrue(all("latency_us" in one and "bits_per_second" not in one for one in measures))

    def test_no_rdma_here(self):
        process = subprocess.run([ANGIO.path, "mesh", "--with", "local", "--hosts", "a,b", "--device", "no_such_0", "--transport", "rdma"],
                                 env=ANGIO.environment(), stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
        self.assertEqual(process.returncode, 3)
        self.assertIn(b"fewer than two hosts have an active RDMA port", process.stderr)

    def test_agents_that_cannot_start(self):
        code, out, err = self.finish(self.start("--angio", "/nonexistent/angio"))
        self.assertEqual(code, 3)
        self.assertIn("/nonexistent/angio is not installed", err)
        code, out, err = self.finish(self.start("--angio", "/bin/false", "--start-timeout", 10))
        self.assertEqual(code, 3)
        self.assertIn("0 of 4 hosts answered, a mesh needs two; h0: it did not come", err)

    def fake_ssh(self):
        """Runs the command here, with the environment of a login: nothing of the caller's."""
        folder = pathlib.Path(self.folder.name) / "bin"
        folder.mkdir()
        path = folder / "ssh"
        name, value = ANGIO.mark.split("=")
        path.write_text(f'#!/bin/sh\nset -e\nwhile [ "$1" != h0 ] && [ "$1" != h1 ]; do shift; done\n'
                        f'exec env -i {name}={value} PATH="$PATH" sh -c "$2"\n')
        path.chmod(0o755)
        return str(folder)

    def test_over_ssh_the_token_goes_by_input(self):
        path = self.fake_ssh() + ":" + os.environ["PATH"]
        process = subprocess.run([ANGIO.path, "mesh", "--with", "ssh", "--hosts", "h0,h1", "--transport", "tcp", "--seconds", "1",
                                  "--control", "127.0.0.1", "--out", self.out], env=ANGIO.environment(PATH=path), stdin=subprocess.DEVNULL,
                                 capture_output=True, timeout=60)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual([one["state"] for one in self.result()["measures"]], ["done", "done"])
        self.assertIn("UNDECIDED", subprocess.run([ANGIO.path, "mesh", "show", "--undecided", self.out], capture_output=True, text=True).stdout)

    def test_a_host_that_ssh_does_not_find_is_not_waited_for(self):
        path = self.fake_ssh() + ":" + os.environ["PATH"]
        ssh = pathlib.Path(path.split(":")[0]) / "ssh"
        ssh.write_text(ssh.read_text().replace("set -e\n", "set -e\ncase \"$*\" in *nowhere*) echo 'ssh: Could not resolve hostname nowhere' >&2; exit 255;; esac\n"))
        process = subprocess.run([ANGIO.path, "mesh", "--with", "ssh", "--hosts", "h0,nowhere,h1", "--transport", "tcp", "--level", "lat", "--seconds", "1",
                                  "--start-timeout", "600", "--control", "127.0.0.1", "--out", self.out], env=ANGIO.environment(PATH=path),
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("nowhere: it did not come: ssh: Could not resolve hostname nowhere", process.stderr)
        self.assertIn("nowhere is not usable", process.stdout)

    def test_no_such_interface(self):
        code, out, err = self.finish(self.start("--interface", "nosuch0"))
        self.assertEqual(code, 3)
        self.assertIn("fewer than two hosts have an interface that was asked for", err)

    def test_by_mpirun(self):
        if not shutil.which("mpirun") or "Open MPI" not in subprocess.run(["mpirun", "--version"], capture_output=True, text=True).stdout:
            self.skipTest("not installed: mpirun of Open MPI")
        # Its remote shell, which starts every daemon here whatever host it is for.
        shell = pathlib.Path(self.folder.name) / "shell"
        shell.write_text(f'#!/bin/sh\nexport TMPDIR="{self.folder.name}/$1"\nmkdir -p "$TMPDIR"\nshift\nexec sh -c "$*"\n')
        shell.chmod(0o755)
        more = {"OMPI_MCA_plm_rsh_agent": str(shell), "OMPI_MCA_oob_tcp_if_include": "lo", "OMPI_ALLOW_RUN_AS_ROOT": "1",
                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        done = subprocess.run([ANGIO.path, "mesh", "--with", "mpirun", "--hosts", "h[0-3]", "--transport", "tcp", "--seconds", "1",
                               "--control", "127.0.0.1", "--out", self.out], env=ANGIO.environment(**more), stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = self.result()
        self.assertEqual([one["state"] for one in result["measures"]], ["done"] * 12)
        self.assertEqual(result["launcher"], "mpirun")

    def test_svg_is_whole(self):
        code, out, err = self.finish(self.start("--format", "svg", "--level", "bw"))
        self.assertEqual(code, 0, err)
        self.assertTrue(out.startswith("<svg "))
        self.assertEqual(len(re.findall(r'class="box heat h\d"', out)), 6 + 12)


def main():
    global ANGIO
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    ANGIO = support.Angio(sys.argv[1])
    unittest.main(argv=[sys.argv[0], *sys.argv[2:]], verbosity=2)


if __name__ == "__main__":
    main()
