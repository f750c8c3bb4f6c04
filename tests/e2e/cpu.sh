# SPDX-License-Identifier: MIT
# tinyllm cpu: the report, its JSON form, and levels that are wrong or not of this CPU.
bin=${TINYLLM:-./tinyllm}
unset TINYLLM_CPU
out=$(mktemp) err=$(mktemp)
trap 'rm -f "$out" "$err"' EXIT
# check NAME COMMAND...: the command must succeed
check() {
    name=$1; shift
    if "$@"; then echo "ok $name"; else echo "FAIL $name: $(head -c 200 "$err")"; fi
}
# exits CODE ARGS...: tinyllm cpu ARGS ends with CODE; its output is in $out and $err
exits() { want=$1; shift; "$bin" cpu "$@" >"$out" 2>"$err"; [ $? = "$want" ]; }
one_line_about() { [ ! -s "$out" ] && [ "$(wc -l <"$err")" = 1 ] && grep -q "^tinyllm: .*$1" "$err"; }
in_use() { grep -q "^level  *$1: $2" "$out"; }

check cpu_report exits 0
check cpu_no_status [ ! -s "$err" ]
best=$(sed -n 's/^level  *\([a-z0-9]*\): the best.*/\1/p' "$out")
check cpu_best_level [ -n "$best" ]
check cpu_all_types [ "$(grep -c ' tl_gemm_' "$out")" = 18 ]
check cpu_kernel_of_best grep -q "^  q8_0 .*tl_gemm_q8_0.*$best" "$out"
check cpu_scalar exits 0 --cpu scalar
check cpu_scalar_in_use in_use scalar 'set by --cpu'
check cpu_scalar_kernels [ "$(grep -c 'tl_gemm_[a-z0-9_]*_scalar .*portable C' "$out")" = 18 ]
export TINYLLM_CPU=scalar
check cpu_env exits 0
check cpu_env_in_use in_use scalar 'set by TINYLLM_CPU'
check cpu_option_beats_env exits 0 --cpu "$best"
check cpu_option_in_use in_use "$best" 'set by --cpu'
export TINYLLM_CPU=avx9
check cpu_env_unknown exits 2
check cpu_env_unknown_line one_line_about 'TINYLLM_CPU.*avx9.*scalar'
unset TINYLLM_CPU
check cpu_option_unknown exits 2 --cpu nope
check cpu_extra_word exits 2 word
exits 0
for level in $(sed -n 's/^  \([a-z0-9]*\)  *no: the CPU lacks.*/\1/p' "$out"); do
    check "cpu_refuses_$level" exits 2 --cpu "$level"
    check "cpu_refuses_${level}_line" one_line_about "$level.*lacks"
done
check cpu_json exits 0 --json
if command -v python3 >/dev/null; then
    python3 - "$out" "$best" >"$err" 2>&1 <<'END'
import json, sys
r = json.load(open(sys.argv[1]))
assert r["level"] == sys.argv[2] and len(r["types"]) == 18 and r["levels"][0] == {"name": "scalar", "usable": True, "lacks": []}
assert 1 <= r["threads"]["usable"] <= r["threads"]["online"]
assert all(t["kernel"].startswith("tl_gemm_") and t["rows"] >= 1 for t in r["types"])
END
    check cpu_json_content [ $? = 0 ]
else
    echo "skip cpu_json_content: no python3"
fi
