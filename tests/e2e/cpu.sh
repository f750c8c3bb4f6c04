#!/bin/sh
# SPDX-License-Identifier: MIT
# tinyllm cpu: the report, its JSON form, and levels that do not exist or are not of this CPU.
. tests/e2e/lib.inc
unset TINYLLM_CPU

uses() { exits 0 && silent err && grep -q "^level  *$1: $2" "$tmp/out"; }
types=$(grep -cE '^(FLOAT|QUANT)\(' kernels/types.def)   # those that can be computed with
kernels() { [ "$(grep -c " tl_gemm_$1" "$tmp/out")" = "$types" ]; }
json_valid() {
    python3 - "$tmp/out" "$best" "$types" <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["level"] == sys.argv[2] and r["levels"][0] == {"name": "scalar", "usable": True, "lacks": []}
assert 1 <= r["threads"]["usable"] <= r["threads"]["online"]
assert len(r["types"]) == int(sys.argv[3]) and all(t["kernel"].startswith("tl_gemm_") and t["rows"] >= 1 for t in r["types"])
END
}

run cpu
best=$(sed -n 's/^level  *\([a-z0-9]*\): .*/\1/p' "$tmp/out")
lacking=$(sed -n 's/^  \([a-z0-9]*\)  *no: the CPU lacks.*/\1/p' "$tmp/out")
check best uses "$best" "the best"
check kernels_of_best kernels
check q8_0_at_best grep -q "^  q8_0 .*tl_gemm_q8_0.*$best" "$tmp/out"
run cpu --cpu scalar
check option uses scalar "set by --cpu"
check kernels_of_scalar kernels '[a-z0-9_]*_scalar .*portable C'

export TINYLLM_CPU=scalar
run cpu
check env uses scalar "set by TINYLLM_CPU"
run cpu --cpu "$best"
check option_beats_env uses "$best" "set by --cpu"
export TINYLLM_CPU=
run cpu
check empty_env uses "$best" "the best"
export TINYLLM_CPU=avx9
run cpu
check unknown_env refused 2 'TINYLLM_CPU: no CPU level "avx9"; there are scalar'
unset TINYLLM_CPU
run cpu --cpu nope
check unknown_option refused 2 '--cpu: no CPU level "nope"'
for level in $lacking; do
    run cpu --cpu "$level"
    check "refuses_$level" refused 2 "this CPU cannot run level $level: it lacks"
done

run cpu --json
check json_level json_is level "$best"
if command -v python3 >/dev/null; then check json_valid json_valid; else echo "skip json_valid: no python3"; fi
