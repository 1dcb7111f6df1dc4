# Sourced by the cases: the folder $s of results to judge, step() and mesh() that make another one in $d, and all() for a
# walk that measures nothing.
s=../../../samples/judge
d=$(mktemp -d)
trap 'rm -rf "$d"' EXIT
all() { $ANGIO bench all --no-run "$@" 2>&1; }
# step EXPOSED-SHARE INPUT-MS
step() {
  printf '{"schema": "angio.bench-step/1", "subject": "n0", "backend": "nccl", "ranks": 16, "step": {"median_ms": 212},' > $d/step.json
  printf ' "by_rank": [{"rank": 0, "host": "n0", "input_ms": %s}, {"rank": 8, "host": "n1", "input_ms": 2}], "exposed_share": %s}' "$2" "$1" >> $d/step.json
}
# mesh FINDINGS
mesh() {
  printf '{"schema": "angio.mesh/1", "subject": "n[0-3]", "measures": [{}, {}], "findings": [%s]}' "$1" > $d/mesh.json
}
