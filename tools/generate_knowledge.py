#!/usr/bin/env python3
import argparse, pathlib
p = argparse.ArgumentParser(); p.add_argument("--data"); p.add_argument("--out"); a = p.parse_args()
out = pathlib.Path(a.out); out.mkdir(parents=True, exist_ok=True); (out / "knowledge_tables.inc").write_text("")
