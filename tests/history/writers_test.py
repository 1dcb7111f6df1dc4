#!/usr/bin/env python3
"""The store of `angio history` under real processes: writers beside each other, readers beside them, writers that are
killed, what they leave, and who may read it. The last line is "N passed, N failed, N skipped"."""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest

ANGIO = ""
NOBODY = 65534
PATIENCE = 120  # of a single command, on a machine that does other things
FIGURES = 30

# The tables of the first form of the file, as angio 0.1 made them.
FORM_1 = """
CREATE TABLE record(id INTEGER PRIMARY KEY, schema TEXT NOT NULL, subject TEXT NOT NULL, captured TEXT NOT NULL,
  digest TEXT NOT NULL, UNIQUE(schema, subject, captured, digest));
CREATE TABLE word(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE metric(subject INTEGER NOT NULL REFERENCES word(id), name INTEGER NOT NULL REFERENCES word(id),
  record INTEGER NOT NULL REFERENCES record(id) ON DELETE CASCADE, kind TEXT NOT NULL,
  unit INTEGER NOT NULL REFERENCES word(id), value REAL, text INTEGER REFERENCES word(id),
  PRIMARY KEY(subject, name, record)) WITHOUT ROWID;
CREATE INDEX metric_by_name ON metric(name);
CREATE INDEX metric_by_record ON metric(record);
INSERT INTO word(id, text) VALUES (1, 'old-1'), (2, 'sent'), (3, 'Gb/s');
INSERT INTO record VALUES (1, 'angio.rdma/1', 'old-1', '2026-01-01T00:00:00Z', '0123456789abcdef');
INSERT INTO metric VALUES (1, 2, 1, 'higher_is_better', 3, 371.0, NULL);
PRAGMA application_id = 1097754440;
PRAGMA user_version = 1;
"""

# Dies in the middle of a transaction that is half written to the file.
DIE_WITH_A_JOURNAL = """
import os, signal, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA cache_size = 1"); c.execute("PRAGMA cache_spill = 1")
c.execute("BEGIN IMMEDIATE")
c.execute("DELETE FROM metric")
c.executemany("INSERT INTO word(text) VALUES (?)", ((f"half {i} " + "x" * 500,) for i in range(3000)))
os.kill(os.getpid(), signal.SIGKILL)
"""

# Dies after a commit that stands in a write-ahead log only.
DIE_WITH_A_WAL = """
import os, signal, sqlite3, sys
c = sqlite3.connect(sys.argv[1], isolation_level=None)
c.execute("PRAGMA journal_mode = WAL"); c.execute("PRAGMA wal_autocheckpoint = 0")
c.execute("INSERT INTO record(schema, subject, captured, digest) VALUES ('angio.rdma/1', 'in-the-log', '2026-02-01T00:00:00Z', 'f')")
os.kill(os.getpid(), signal.SIGKILL)
"""


def result(subject, number, environment=None):
    metrics = [{"subject": f"{subject} port {port}", "name": "sent", "value": 300 + number + port, "unit": "Gb/s",
                "kind": "higher_is_better"} for port in range(FIGURES)]
    content = {"schema": "angio.rdma/1", "subject": subject, "metrics": metrics,
               "captured": f"2026-03-{1 + number // 1440:02}T{number // 60 % 24:02}:{number % 60:02}:00Z"}
    return json.dumps(content | ({"environment": environment} if environment else {}))


def history(*words, prefix=(), **options):
    return subprocess.run([*prefix, ANGIO, "history", *words], capture_output=True, text=True, timeout=PATIENCE, **options)


def add(store, subject, number):
    """Whether the result was acknowledged."""
    done = history("add", "--store", store, "-", input=result(subject, number, {"versions": {"driver": subject}}))
    return done.returncode == 0 and "kept" in done.stdout, done


def entries(store):
    done = history("list", "--format", "json", "--store", store)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["records"]


def intact(store):
    with contextlib.closing(sqlite3.connect(store, timeout=60)) as connection:
        return connection.execute("PRAGMA integrity_check").fetchone()[0]


class Folder(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="angio-history-")
        self.store = os.path.join(self.folder, "history.db")
        self.addCleanup(self.remove)

    def remove(self):
        for folder, folders, _ in os.walk(self.folder):
            for name in [folder, *(os.path.join(folder, each) for each in folders)]:
                os.chmod(name, 0o700)
        shutil.rmtree(self.folder)

    def as_reader(self):
        """A prefix that runs a command as somebody who may read the folder and not write there."""
        if os.geteuid() != 0:
            self.protect()
            if os.access(self.store, os.W_OK) or os.access(self.folder, os.W_OK):
                self.skipTest(f"the file system of {self.folder} does not keep permissions")
            return ()
        if shutil.which("setpriv") is None:
            self.skipTest("root, and no setpriv to run a command as nobody")
        program = os.path.join(self.folder, "angio")  # the build folder may be closed to others
        shutil.copy(ANGIO, program)
        os.chmod(program, 0o755)
        self.protect()
        prefix = ("setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
        if subprocess.run([*prefix, "test", "-r", self.store, "-a", "-x", program], check=False).returncode != 0:
            self.skipTest(f"nobody may not enter {self.folder} (a folder above it is closed): set TMPDIR to another one")
        if subprocess.run([*prefix, "test", "-w", self.store], check=False).returncode == 0:
            self.skipTest(f"the file system of {self.folder} does not keep permissions")
        if subprocess.run([*prefix, program, "--version"], capture_output=True, check=False).returncode != 0:
            self.skipTest(f"programs in {self.folder} cannot be run (mounted noexec?)")
        return prefix

    def protect(self):
        for path in pathlib.Path(self.folder).iterdir():
            path.chmod(0o444 if path.name != "angio" else 0o555)
        os.chmod(self.folder, 0o555)

    def list_as_reader(self):
        self.prefix = prefix = self.as_reader()
        program = os.path.join(self.folder, "angio") if prefix else ANGIO
        return subprocess.run([*prefix, program, "history", "list", "--store", self.store], capture_output=True, text=True,
                              timeout=PATIENCE)


class Writers(Folder):
    def test_eight_writers_and_two_readers(self):
        writers, each = 8, 12
        acknowledged, troubles, done = [], [], threading.Event()

        def write(writer):
            for number in range(each):
                kept, process = add(self.store, f"gpu-{writer}", number)
                (acknowledged if kept else troubles).append((writer, number) if kept else process.stderr)

        def read():
            while not done.is_set():
                listed = history("list", "--format", "json", "--store", self.store)
                if listed.returncode != 0:
                    # Before the first writer made the file or its tables there is none.
                    if not ("no history yet" in listed.stderr or "is empty" in listed.stderr):
                        troubles.append(listed.stderr)
                    continue
                for record in json.loads(listed.stdout)["records"]:
                    if record["figures"] != FIGURES or record["environment"] is None:
                        troubles.append(f"half a record: {record}")
                shown = history("show", "gpu-0", "--format", "json", "--store", self.store)
                if shown.returncode == 0:
                    counts = {len(series["samples"]) for series in json.loads(shown.stdout)["series"]}
                    if len(counts) > 1:
                        troubles.append(f"figures of one subject with different numbers of records: {counts}")

        threads = [threading.Thread(target=write, args=(writer,)) for writer in range(writers)]
        readers = [threading.Thread(target=read) for _ in range(2)]
        for thread in threads + readers:
            thread.start()
        for thread in threads:
            thread.join()
        done.set()
        for thread in readers:
            thread.join()
        self.assertEqual(troubles, [])
        self.assertEqual(len(acknowledged), writers * each)
        self.assertEqual(len(entries(self.store)), writers * each)
        self.assertEqual(intact(self.store), "ok")

    def test_the_first_form_is_brought_up_once(self):
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            connection.executescript(FORM_1)
        self.assertEqual(entries(self.store)[0]["subject"], "old-1")  # a reader reads it as it is
        self.assertEqual(self.form(), 1)
        shown = history("show", "old-1", "--store", self.store)
        self.assertIn("371 Gb/s", shown.stdout)
        threads = [threading.Thread(target=add, args=(self.store, f"gpu-{writer}", 1)) for writer in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(self.form(), 2)
        self.assertEqual({record["subject"] for record in entries(self.store)}, {"old-1"} | {f"gpu-{n}" for n in range(6)})
        self.assertEqual(intact(self.store), "ok")

    def form(self):
        with contextlib.closing(sqlite3.connect(self.store)) as connection:
            return connection.execute("PRAGMA user_version").fetchone()[0]


class Killed(Folder):
    def test_what_was_acknowledged_stays(self):
        rng = random.Random(7)
        acknowledged = []
        for number in range(40):
            writer = subprocess.Popen([ANGIO, "history", "add", "--store", self.store, "-"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            writer.stdin.write(result("gpu-a", number))
            writer.stdin.close()
            time.sleep(rng.uniform(0, 0.03))
            writer.kill()
            words = writer.stdout.read()
            writer.wait()
            writer.stdout.close()
            writer.stderr.close()
            if "kept" in words:
                acknowledged.append(json.loads(result("gpu-a", number))["captured"])
        kept, process = add(self.store, "gpu-b", 1)  # after all of them the next one can
        self.assertTrue(kept, process.stderr)
        there = {record["captured"] for record in entries(self.store) if record["subject"] == "gpu-a"}
        self.assertEqual([time for time in acknowledged if time not in there], [])
        self.assertTrue(all(record["figures"] == FIGURES for record in entries(self.store)))
        self.assertEqual(intact(self.store), "ok")

    def leave_a_journal(self):
        add(self.store, "gpu-a", 1)
        add(self.store, "gpu-a", 2)
        died = subprocess.run([sys.executable, "-c", DIE_WITH_A_JOURNAL, self.store], timeout=PATIENCE)
        self.assertEqual(died.returncode, -signal.SIGKILL)
        journal = pathlib.Path(self.store + "-journal")
        self.assertTrue(journal.exists() and journal.stat().st_size > 512, "no journal was left")
        return journal

    def test_a_journal_is_rolled_back_by_a_reader_who_may_write(self):
        journal = self.leave_a_journal()
        records = entries(self.store)
        self.assertEqual([record["figures"] for record in records], [FIGURES, FIGURES])
        self.assertFalse(journal.exists())
        self.assertEqual(intact(self.store), "ok")

    def test_a_journal_is_rolled_back_by_the_next_writer(self):
        self.leave_a_journal()
        self.assertTrue(add(self.store, "gpu-a", 3)[0])
        self.assertEqual([record["figures"] for record in entries(self.store)], [FIGURES] * 3)

    def test_who_may_only_read_is_told_of_a_journal(self):
        self.leave_a_journal()
        listed = self.list_as_reader()
        self.assertEqual(listed.returncode, 3, listed.stdout)
        self.assertIn("a writer was interrupted", listed.stderr)
        self.assertIn("rolled back", listed.stderr)
        self.assertNotIn("damaged", listed.stderr)

    def test_a_log_of_another_program_is_read_by_its_owner(self):
        add(self.store, "gpu-a", 1)
        died = subprocess.run([sys.executable, "-c", DIE_WITH_A_WAL, self.store], timeout=PATIENCE)
        self.assertEqual(died.returncode, -signal.SIGKILL)
        self.assertTrue(os.path.exists(self.store + "-wal"))
        self.assertEqual({record["subject"] for record in entries(self.store)}, {"gpu-a", "in-the-log"})

    def test_a_log_is_read_whole_or_said_to_be_there(self):
        add(self.store, "gpu-a", 1)
        subprocess.run([sys.executable, "-c", DIE_WITH_A_WAL, self.store], timeout=PATIENCE)
        listed = self.list_as_reader()
        if listed.returncode == 0:
            self.assertIn("in-the-log", listed.stdout)
        else:
            self.assertIn("a writer was interrupted", listed.stderr)


class Rights(Folder):
    def test_a_read_only_history_is_read(self):
        add(self.store, "gpu-a", 1)
        listed = self.list_as_reader()
        self.assertEqual(listed.returncode, 0, listed.stderr)
        self.assertIn("gpu-a", listed.stdout)
        program = os.path.join(self.folder, "angio") if self.prefix else ANGIO
        added = subprocess.run([*self.prefix, program, "history", "add", "--store", self.store, "-"], capture_output=True,
                               text=True, timeout=PATIENCE, input=result("gpu-a", 2))
        self.assertEqual(added.returncode, 3)
        self.assertIn("cannot be written (read-only file, folder or disk)", added.stderr)

    def test_a_closed_folder_is_not_an_empty_history(self):
        add(self.store, "gpu-a", 1)
        prefix = self.as_reader()
        program = ANGIO
        if prefix:  # the program must stay in reach
            program = os.path.join(self.folder, "angio")
        os.chmod(self.folder, 0o711 if prefix else 0o500)
        closed = os.path.join(self.folder, "closed")
        if prefix:
            os.mkdir(closed, 0o700)
        else:
            os.chmod(self.folder, 0o700)
            os.mkdir(closed, 0o000)
        listed = subprocess.run([*prefix, program, "history", "list", "--store", os.path.join(closed, "history.db")],
                                capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(listed.returncode, 3)
        self.assertIn("Permission denied", listed.stderr)
        self.assertNotIn("no history yet", listed.stderr)


def main():
    global ANGIO
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--angio", required=True)
    arguments, rest = parser.parse_known_args()
    ANGIO = os.path.abspath(arguments.angio)
    program = unittest.main(argv=[sys.argv[0], *rest], exit=False, verbosity=2)
    for test, reason in program.result.skipped:
        print(f"skipped {test.id()}: {reason}")
    failed = len(program.result.failures) + len(program.result.errors)
    skipped = len(program.result.skipped)
    print(f"{program.result.testsRun - failed - skipped} passed, {failed} failed, {skipped} skipped")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
