#!/bin/sh
# SPDX-License-Identifier: MIT
# tinyllm bench --machine and --kernels: forms of the output and refusals. How fast this machine is does not matter.
. tests/e2e/lib.inc
unset TINYLLM_CPU

done_well() { exits 0 && grep -q '^# bench: ' "$tmp/err"; }
valid() {
    python3 - "$tmp/out" <<'END'
import json, sys
m = json.load(open(sys.argv[1]))["machine"]
reads, peaks = m["read"], m["peak"]
assert {(r["where"], r["threads"]) for r in reads} == {("dram", 1), ("l2", 1)}
assert all(r["best"] >= r["gb_s"] > 0 and r["samples"] >= 1 and r["discarded"] >= 0 for r in reads)
assert {p["kind"] for p in peaks if p["level"] == "scalar"} == {"int8", "f32"}
assert all(p["gmac_s"] > 0 and p["threads"] == 1 and 0.1 < p["ghz"] < 10 for p in peaks)
assert m["huge_pages"] in ("always", "madvise", "never", "unknown")
assert m["cores"] in ("two cores", "one core", "unclear", "unknown")
assert m["seconds"] > 0 and m["threads_usable"] >= 1 and m["level"] in {p["level"] for p in peaks}
END
}
# Lines of CSV that have as many fields as the first (no field here holds a comma).
even() { [ "$(awk -F, '{print NF}' "$tmp/out" | sort -u | wc -l)" = 1 ]; }
has_line() { grep -q "$1" "$tmp/out"; }

run bench --machine --json -t 1
check machine_json done_well
if command -v python3 >/dev/null; then check machine_valid valid; else echo "skip machine_valid: no python3"; fi

run bench --kernels rope_ --csv --loop 0.01 --cpu scalar
check loop_csv done_well
check loop_even even
check loop_row has_line '^rope_scalar,scalar,,vec,,64,1,,[0-9]'
run bench --kernels gemm_q8_0_scalar --loop 0.01 --cpu scalar
check product_text done_well
check kernel_once has_line '^kernel tl_gemm_q8_0_scalar$'
check gemv has_line '^8192  *2048  *1  *[0-9]'
check gemm has_line '^ *576  *576  *512  *[0-9]'
run bench --kernels gemm_q8_0_scalar --loop 0.01 --cpu scalar --md
check markdown has_line '^| rows | k | tokens | ns/run | '

run bench --kernels attn_q8_0 --csv --loop 0.01 --cpu scalar
check attention done_well
for n in 1 2 3 4 48; do
    for size in 64 128; do
        check "attention_${size}_$n" has_line "^attn_q8_0_scalar,scalar,q8_0,attn,64,$size,$n,cache,[0-9]"
    done
done
check attention_rows eval '[ "$(wc -l <"$tmp/out")" = 11 ]'

run bench
check no_mode refused 2 "choose one of"
run bench --machine --kernels
check two_modes refused 2 "choose one of"
run bench --machine --json --csv
check two_forms refused 2 "--json, --csv and --md"
run bench --machine word
check too_many refused 2 "'word'"
for list in 0 1,,2 1,x 1, 1,99999 -1 1.5; do
    run bench --machine -t "$list"
    check "threads_$list" refused 2 "wants numbers from 1"
done
run bench --machine -t 1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1
check threads_many refused 2 "more than 16 numbers"
run bench --kernels no_such_kernel
check no_kernel_before_limits refused 2 "no kernel has 'no_such_kernel' in its name"
run bench --kernels --cpu scalar,nope
check no_level refused 2 'no CPU level "nope"'
run bench --kernels --cpu scalar,
check empty_level refused 2 "--cpu wants names"
run bench --kernels --loop -1
check loop_range refused 2 "--loop"
