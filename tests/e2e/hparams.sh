#!/bin/sh
# SPDX-License-Identifier: MIT
# Settings that change the arithmetic: logits are the same bits where a key says what is so anyway, others where not.
. tests/e2e/lib.inc
mkmodel=$BUILD/tools/mkmodel
[ -x "$mkmodel" ] || { echo "skip hparams: $mkmodel is not built"; exit 0; }
ids="1 2 3 5 8 13 21 34 55 89 144 233 1 2 3 5 8 13 21 34 55 89 144 233"

logits() { # OUT OPTIONS...: of a model made with these
    out=$1
    shift
    ${RUNNER:-} "$mkmodel" "$tmp/m.gguf" --layers 2 --embd 64 --heads 4 --kv-heads 2 "$@" &&
        run logits "$tmp/m.gguf" --ids "$ids" -q --out "$out"
}
setting() { # ARCH KEY SAME OTHER
    logits "$tmp/plain" --arch "$1"
    for v in $3; do
        logits "$tmp/same" --arch "$1" --key "$2=$v"
        check "$1_$2=$v" cmp -s "$tmp/plain" "$tmp/same"
    done
    logits "$tmp/other" --arch "$1" --key "$2=$4"
    check "$1_$2=$4" eval 'exits 0 && [ -s "$tmp/other" ] && ! cmp -s "$tmp/plain" "$tmp/other"'
}
setting llama attention.scale "0 0.25" 0.5       # heads of 16 values: 1 / sqrt(16)
setting llama embedding_scale "0 1" 2
setting gemma3 attention.scale 0.25 0.5
setting gemma3 embedding_scale 8 1               # sqrt(64)
setting gemma3 attention.sliding_window_pattern 6 2
setting llama attention.sliding_window "0 24" 8
window="--key attention.sliding_window=8"
logits "$tmp/plain" $window
logits "$tmp/same" $window --key rope.freq_base_swa=10000
check llama_rope.freq_base_swa=10000 cmp -s "$tmp/plain" "$tmp/same"
logits "$tmp/other" $window --key rope.freq_base_swa=1000
check llama_rope.freq_base_swa=1000 eval 'exits 0 && ! cmp -s "$tmp/plain" "$tmp/other"'
logits "$tmp/other" $window --key attention.sliding_window_pattern=2
check llama_attention.sliding_window_pattern=2 eval 'exits 0 && ! cmp -s "$tmp/plain" "$tmp/other"'
setting llama rope.scaling.attn_factor "1 1.0" 0.5
setting gemma2 attn_logit_softcapping "0 50" 2.5
setting gemma2 final_logit_softcapping "0 30" 2.5
setting gemma2 attention.sliding_window_pattern 2 1
setting granite residual_scale "0 1" 0.5
setting granite logit_scale "0 1" 0.5
setting gptneox use_parallel_residual true false
yarn="--key rope.scaling.type=yarn --key rope.scaling.factor=4.0 --key rope.scaling.original_context_length=64"
logits "$tmp/linear" --key rope.scaling.type=linear --key rope.scaling.factor=4.0
logits "$tmp/plain" $yarn
check yarn eval 'exits 0 && ! cmp -s "$tmp/linear" "$tmp/plain"'
for key in yarn_beta_fast=32 yarn_beta_slow=1.0 attn_factor=1 yarn_ext_factor=1.0; do
    logits "$tmp/same" $yarn --key rope.scaling.$key
    check "yarn_$key" cmp -s "$tmp/plain" "$tmp/same"
done
for key in yarn_beta_fast=2 yarn_beta_slow=16.0 attn_factor=0.5; do
    logits "$tmp/other" $yarn --key rope.scaling.$key
    check "yarn_$key" eval 'exits 0 && ! cmp -s "$tmp/plain" "$tmp/other"'
done
logits "$tmp/other" --arch granite --key logit_scale=0.0000001
check tiny_logit_scale refused 1 "granite.logit_scale is 1e-07"
logits "$tmp/other" --key attention.scale=-1.0
check negative_scale refused 1 "llama.attention.scale is -1"
