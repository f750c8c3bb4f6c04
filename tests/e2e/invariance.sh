#!/bin/sh
# SPDX-License-Identifier: MIT
# Logits of tiny quantized models have the same bits for every thread count and chunk size, packed or not, at every
# level; and levels agree closely with the exact path. Models come from tools/mkmodel.
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
mk=${BUILD:-build}/tools/mkmodel
ids="1 7 30 45 9 81 2 17 33 64 5 99 12 4 71 23 8 150 31 6 77"
[ -x "$mk" ] || { echo "FAIL invariance: $mk is missing"; exit 1; }
levels="scalar $("$TINYLLM" cpu --json | tr ',{}[]' '\n' | sed -n 's/.*"level":"\([a-z0-9]*\)".*/\1/p' | sort -u)"
i=0
archs="llama qwen2 qwen3 gemma gemma2 gemma3 olmo2 granite smollm3 phi3 phi2 starcoder2 gpt2 gptneox qwen2moe qwen3moe granitemoe gpt-oss"
# Every type that can be computed with, and the elements of its block.
for row in $(sed -nE 's/^(FLOAT|QUANT)\([ 0-9]*, [A-Z0-9_]*, *([a-z0-9_]*), *([0-9]*),.*/\2:\3/p' kernels/types.def); do
    type=${row%:*}
    i=$((i + 1))
    arch=${archs%% *}   # by turns
    archs="${archs#* } $arch"
    case ${row#*:} in 256) embd=256 ff=512 heads=8 ;; 64) embd=128 ff=192 heads=4 ;; *) embd=96 ff=160 heads=4 ;; esac
    "$mk" "$dir/m" --arch $arch --type $type --embd $embd --ff $ff --heads $heads --kv-heads 2 --head-dim 32 --layers 2 --seed $i >/dev/null 2>"$dir/err" ||
        { echo "FAIL invariance $type: $(head -1 "$dir/err")"; continue; }
    bad=
    for level in $levels; do
        "$TINYLLM" logits "$dir/m" --ids "$ids" --cpu $level -t 1 --out "$dir/ref" 2>"$dir/err" || { bad="$level: $(head -1 "$dir/err")"; break; }
        for run in "1 1" "2 3" "3 0" "2 7" "2 1 --no-pack" "1 18 --no-pack"; do
            set -- $run
            "$TINYLLM" logits "$dir/m" --ids "$ids" --cpu $level -t $1 --chunk $2 $3 --out "$dir/got" 2>"$dir/err" &&
                cmp -s "$dir/ref" "$dir/got" || bad="$bad $level: $1 threads chunk $2 $3 differs;"
        done
    done
    [ -z "$bad" ] && echo "ok invariance $arch $type" || echo "FAIL invariance $arch $type: $bad"
done
