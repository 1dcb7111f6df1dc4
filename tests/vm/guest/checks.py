"""Counts checks; each becomes a line on the terminal and an entry of /out/checks.json."""

import json
import time


class Checks:
    def __init__(self):
        self.results = []
        self.started = time.monotonic()

    def section(self, title):
        """What comes now and when it began: a hang or a slow part can be seen."""
        print(f"{time.monotonic() - self.started:5.1f} s  {title}", flush=True)

    def note(self, state, name, reason=""):
        self.results.append({"state": state, "name": name, "reason": reason})
        if state != "passed":
            print(f"{state}: {name}: {reason}", flush=True)

    def true(self, name, condition, reason):
        """reason: what was seen, for when the condition does not hold."""
        self.note("passed" if condition else "failed", name, "" if condition else reason)
        return condition

    def equal(self, name, seen, expected):
        return self.true(name, seen == expected, f"seen {seen}, expected {expected}")

    def skip(self, name, reason):
        self.note("skipped", name, reason)

    def finish(self):
        """Exit status: 0, or 1 when a check failed or nothing was checked."""
        count = {state: sum(each["state"] == state for each in self.results)
                 for state in ("passed", "failed", "skipped")}
        with open("/out/checks.json", "w", encoding="utf-8") as file:
            json.dump(self.results, file, indent=1)
        print(", ".join(f"{number} {state}" for state, number in count.items()), flush=True)
        return 0 if count["passed"] and not count["failed"] else 1
