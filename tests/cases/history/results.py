#!/usr/bin/env python3
"""Results of made-up days as angio's commands write them:

    results.py DAY [sent=371] [errors=0] [state=TEXT] [subject=gpu-x] [schema=angio.rdma/1] [captured=TIME]
               [driver=550.90] [repeats=5]
    results.py --days FOLDER    thirty days of a healthy host, one file each: 01.json to 30.json

Day 1 is 2026-10-01; noise of half a per cent that is the same every time."""
import json
import pathlib
import random
import sys


def result(day, sent=None, errors=None, state="InfiniBand ACTIVE LinkUp 4x NDR", subject="gpu-x", schema="angio.rdma/1",
           captured=None, driver=None, repeats=0):
    rng = random.Random(day)
    port = f"{subject} mlx5_0 port 1"
    sent = round(371 + rng.gauss(0, 1.8), 2) if sent is None else float(sent)
    errors = day // 4 if errors is None else int(errors)
    metrics = [{"subject": port, "name": "state", "text": state, "kind": "state"},
               {"subject": port, "name": "data rate", "value": 400, "unit": "Gb/s", "kind": "higher_is_better"},
               {"subject": port, "name": "sent", "value": sent, "unit": "Gb/s", "kind": "higher_is_better"}]
    if errors:
        metrics.append({"subject": port, "name": "symbol_error", "value": errors, "unit": "symbols", "kind": "counter_of_errors"})
    month, date = (10, day) if day <= 31 else (11, day - 31)
    if repeats:
        metrics[2]["samples"] = [round(sent + rng.gauss(0, 1), 2) for _ in range(int(repeats))]
    environment = {"hardware": {"GPUs": "8 x H100"}, "versions": {"driver": driver}, "settings": {"NCCL_ALGO": "Ring"}}
    content = {"schema": schema, "subject": subject, "captured": captured or f"2026-{month:02}-{date:02}T04:10:00Z"}
    return content | ({"environment": environment} if driver else {}) | {"metrics": metrics}


def main():
    if sys.argv[1] == "--days":
        for day in range(1, 31):
            (pathlib.Path(sys.argv[2]) / f"{day:02}.json").write_text(json.dumps(result(day)))
        return
    options = dict(word.split("=", 1) for word in sys.argv[2:])
    print(json.dumps(result(int(sys.argv[1]), **options)))


if __name__ == "__main__":
    main()
