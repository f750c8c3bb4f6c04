#!/bin/sh
# SPDX-License-Identifier: MIT
# tinyllm bench with models: rows, forms of the output, failing cases among good ones, shapes, the roofline picture. How
# fast they are does not matter.
. tests/e2e/lib.inc
unset TINYLLM_CPU
m=$tmp/tiny.gguf
"$BUILD/tools/mkmodel" "$m" --type q8_0 --embd 64 --heads 2 --kv-heads 1 --ff 128 || { echo "FAIL mkmodel: exit $?"; exit 0; }

tests_are() { [ "$(cut -d, -f9 "$tmp/out" | sed 1d | tr '\n' ' ')" = "$1" ]; }
even() { [ "$(awk -F, '{print NF}' "$tmp/out" | sort -u | wc -l)" = 1 ]; }
lines() { [ "$(wc -l <"$tmp/out")" = "$1" ]; }
python() { python3 - "$@" <<END
import json, sys
d = json.load(open(sys.argv[1]))
$code
END
}
has_python=$(command -v python3)
json_holds() {
    code=$2
    if [ -n "$has_python" ]; then check "$1" python "$tmp/out"; else echo "skip $1: no python3"; fi
}

run bench "$m" -p 8 -n 4 -t 1 -r 2 --json
check json exits 0
check quiet silent err
json_holds json_rows '
assert d["machine"]["read"] and d["machine"]["peak"]
pp, tg = d["rows"]
assert (pp["test"], tg["test"]) == ("pp8", "tg4") and pp["model"] == "tiny" and pp["kv"] == "f16"
for r in d["rows"]:
    assert r["threads"] == 1 and r["tok_s"] > 0 and r["tok_s_min"] <= r["tok_s"] <= r["tok_s_max"]
    assert r["gb_s"] > 0 and r["gmac_s"] > 0 and r["of_read"] > 0 and r["of_peak"] > 0 and r["bytes"] > 0
    assert r["regime"] in ("memory-bound", "compute-bound", "overhead-bound") and r["hint"] and r["error"] is None
    assert 1 <= r["runs"] <= 4 and r["rss_bytes"] > 1 << 20
    for k in ("joules_per_token", "cycles_per_token"):
        assert r[k] >= 0 if isinstance(r[k], (int, float)) else r[k].startswith("unavailable: ")
assert pp["ttft_ms"] > 0 and tg["ttft_ms"] is None'

run bench "$m" -p 8,16 -n 4 -d 0,32 --batch 1,3 -t 1,2 -r 1 --no-limits --csv
check csv exits 0
once="pp8 pp16 tg4 tg4*b3 pp8@d32 pp16@d32 tg4@d32 tg4*b3@d32 "
check csv_tests tests_are "$once$once"
run bench "$m" -p 0 -n 4 -t 1 -r 1 --no-limits --csv --cpu scalar --kv f16,f32
check no_prefill tests_are "tg4 tg4 "
check kv_types eval 'cut -d, -f7 "$tmp/out" | tr "\n" " " | grep -q "^kv f16 f32 $"'
check level eval 'sed 1d "$tmp/out" | cut -d, -f6 | sort -u | grep -qx scalar'
run bench "$m" -p 8 -n 0 -t 1 -r 1 --no-limits
check text out_has "pp8"
check text_subject eval 'head -n 1 "$tmp/out" | grep -q "^model tiny, size [0-9.]* MiB, cpu "'
check text_no_limits eval 'out_has "limits were not measured (--no-limits)" && ! out_has "--machine"'
run bench "$m" -p 8,16 -n 4 -d 0,32 -t 1,2 --kv f16,q8_0 -r 1
check fits_80_columns eval '! grep -q "^.\{81\}" "$tmp/out"'
run bench "$m" -p 8,16 -n 4 -t 1,2 -r 1 --ops
check ops_fit_80_columns eval '! grep -q "^.\{81\}" "$tmp/out" && grep -q "^threads 2$" "$tmp/out"'
run bench "$m" -p 8 -n 4 -t 1 -r 1 --md
check markdown eval 'grep -q "^| test | tok/s | " "$tmp/out" && grep -q "^| tg4 | " "$tmp/out"'
run bench "$m" -p 0 -n 4 -d 5000 -t 1 -r 1 --no-limits
check beyond_trained err_has "warning: tests go to 5005 positions, the model was trained for "
run bench "$m" -p 8 -n 0 -t 1 -r 1 --no-limits
check text_note out_has "joules: "

# What fails is told, the rest goes on.
run bench "$m" -p 0 -n 4 -d 0,30000000 -t 1 -r 1 --no-limits --csv
check too_deep exits 1
check too_deep_told err_has "tiny: tg4@d30000000: "
check too_deep_rows tests_are "tg4 tg4@d30000000 "
run bench "$tmp/none.gguf" "$m" -p 0 -n 4 -t 1 -r 1 --no-limits --json
check no_file exits 1
check no_file_told err_has "none.gguf"
json_holds no_file_rows '
a, b = d["rows"]
assert a["model"] == "none" and a["tok_s"] is None and a["error"] and b["tok_s"] > 0 and b["of_read"] is None
assert b["regime"] == "unknown"'

run bench "$m" -p 8 -n 4 -t 1 -r 1 --no-limits --no-pack --csv
check no_pack_is_named eval '[ "$(cut -d, -f1 "$tmp/out" | tr "\n" "/")" = "model/tiny --no-pack/tiny --no-pack/" ]'

# Operations and their picture.
run bench "$m" -p 8 -n 4 -t 1 -r 1 --ops --csv --svg "$tmp/roof.svg"
check ops exits 0
check ops_rows lines 19
check ops_disturbance eval 'head -n 1 "$tmp/out" | grep -q ",runs,discarded,disturbed,"'
check ops_vector eval 'sed 1d "$tmp/out" | grep ",prepare," | grep -qv "overhead-bound"'
check ops_names eval 'cut -d, -f6 "$tmp/out" | sort -u | tr "\n" " " | grep -q "attention .*gate_up .*qkv "'
check svg eval 'head -n 1 "$tmp/roof.svg" | grep -q "^<svg " && tail -n 1 "$tmp/roof.svg" | grep -qx "</svg>"'
check svg_what eval 'grep -q "tinyllm [0-9.]*, 20[0-9][0-9]-" "$tmp/roof.svg" && grep -q "prefers-color-scheme:dark" "$tmp/roof.svg"'
check svg_vector grep -q '>prepare [0-9]* %<' "$tmp/roof.svg"
check svg_labels grep -q '>gate_up [0-9]* %<' "$tmp/roof.svg"
if [ -n "$has_python" ]; then
    check svg_xml python3 -c 'import sys, xml.dom.minidom as x; x.parse(sys.argv[1])' "$tmp/roof.svg"
else echo "skip svg_xml: no python3"; fi

# Shapes.
run bench --shape layers=2,dim=64,ff=128,heads=2,vocab=300 --type q4_k_m,q8_0,f16,tq2_0 -p 8 -n 4 -t 1 -r 1 --no-limits --json
check shape exits 0
json_holds shape_rows '
assert [r["model"] for r in d["rows"][::2]] == ["shape." + t for t in ("q4_k_m", "q8_0", "f16", "tq2_0")]
assert all(r["tok_s"] > 0 and r["file"] is None and r["size_bytes"] > 0 for r in d["rows"])'
for arch in qwen2 qwen2moe qwen3 gemma gemma2 gemma3 olmo2 granite smollm3 phi2 phi3 starcoder2 gpt2 gptneox; do
    run bench --shape "layers=2,dim=64,ff=128,heads=4,kv=2,head=32,vocab=300,tied=1,window=8,arch=$arch" -p 0 -n 4 -t 1 \
        -r 1 --no-limits --csv
    check "shape_$arch" exits 0
done
run bench --shape layers=1024,dim=131072,ff=1048576,heads=1024 --type f32 --no-limits --csv -t 1 -p 0 -n 1 -r 1
check shape_too_large eval 'exits 1 && one_line && err_has "building it needs 3" && err_has " PiB of memory, this process may use "'

run bench "$m" --json --csv
check two_forms refused 2 "--json, --csv and --md"
run bench "$m" --svg x.svg
check svg_alone refused 2 "--svg is for --ops"
run bench "$m" --type q4_0
check type_alone refused 2 "--type is for --shape"
run bench "$m" --kv f99
check kv_unknown refused 2 "f99"
run bench "$m" -p x
check prefill_text refused 2 "-p wants numbers"
run bench "$m" -n ''
check decode_empty refused 2 "-n wants numbers"
run bench --shape qwen9
check shape_unknown refused 2 "no shape"
run bench --shape qwen3-4b --type q9_9
check type_unknown refused 2 "no type"
run bench --shape layers=2,dim=64,ff=128,heads=2,vocab=300 --type q8_0,q9_9 -p 8 -n 0 -r 1 --no-limits
check types_are_checked_first refused 2 "no type"
run bench "$m" -p 0 -n 0,0
check nothing_to_measure refused 2 "nothing to measure"
run bench "$m" -p 8 -n 0 -t 1 -r 1 --ops --csv --svg "$tmp/no/folder.svg"
check table_without_picture eval 'exits 1 && one_line && err_has folder.svg && out_has gate_up'
run bench --shape layers=2
check shape_short refused 2 "are needed"
moe=layers=2,dim=64,ff=64,heads=2,vocab=300,arch=qwen2moe
run bench --shape $moe,experts=4,used=2,expert_ff=32,shared_ff=64 --type q8_0 -p 20 -n 4 -t 2 -r 1 --no-limits --json
check shape_experts exits 0
run bench --shape $moe,experts=4,used=5
check shape_experts_used refused 2 "used= must be 1 to 4"
run bench --shape $moe,used=2
check shape_no_experts refused 2 "need experts="
run bench --shape layers=2,dim=64,ff=64,heads=2,arch=qwen2,experts=4,used=2
check shape_experts_arch refused 2 "qwen2 has no experts"
run bench --shape $moe,experts=4,used=2,expert_ff=40
check shape_experts_width refused 2 "multiples of 32"
