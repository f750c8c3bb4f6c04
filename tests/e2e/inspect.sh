#!/bin/sh
# SPDX-License-Identifier: MIT
# inspect: its figures against sums done by hand, its page, and files that say little or nonsense.
. tests/e2e/lib.inc
. tests/e2e/gguf.inc
mkmodel=$BUILD/tools/mkmodel
[ -x "$mkmodel" ] || { echo "skip inspect: $mkmodel is not built"; exit 0; }
f=$tmp/m.gguf
number() { json_is "$1" "$2"; }
page_line() { grep -q "^$1  *$2" "$tmp/out"; }

# 1 layer, rows of 32: q 32x32, k and v 32x16, output 32x32, gate, up, down 32x64 each, 2 norms; embedding, head, norm.
vocab=400
layer=$((32 * 32 * 2 + 32 * 16 * 2 + 32 * 64 * 3 + 32 * 2))
params=$((layer + 32 + 32 * vocab * 2))
${RUNNER:-} "$mkmodel" "$f" --embd 32 --heads 2 --kv-heads 1 --ff 64 --layers 1 --vocab $vocab
run inspect "$f" --json
check json_ok eval 'exits 0 && silent err && [ "$(wc -l <"$tmp/out")" = 1 ]'
check json_parameters number parameters $params
check json_bits number bits_per_weight 32
check json_file_bytes number file_bytes "$(wc -c <"$f" | tr -d ' ')"
check json_per_token number bytes_per_token $(((layer + 32 + 32 * vocab + 32) * 4))
check json_cache number kv_bytes_per_position $(((16 + 16) * 2))
check json_context number context 512
check json_architecture number architecture llama
memory=$(json memory_bytes)
run inspect "$f" --json -c 612
check json_more_context number memory_bytes $((memory + 100 * 64))
check json_note out_has "more than the model was trained for"
if command -v python3 >/dev/null; then
    run inspect "$f" --json --kv --tensors
    check json_valid python3 -c 'import json, sys
d = json.load(open(sys.argv[1]))
assert len(d["tensors"]) == 12 and len(d["metadata"]["tokenizer.ggml.tokens"]) == 400, d.keys()
assert d["tensors"][0]["dims"] == [32, 400] and d["types"] == [{"type": "f32", "tensors": 12, "bytes": d["parameters"] * 4}]' "$tmp/out"
fi

run inspect "$f"
check page eval 'exits 0 && silent err && page_line architecture llama && page_line "key/value heads" 1'
check page_types eval 'grep -q "^f32  *12 .* 100.0 %" "$tmp/out"'
check page_specials eval 'out_has "bos 397 <|bos|>" && out_has "eos 398 <|eos|>" && out_has "eot 399 <|im_end|>"'
check page_end_tokens eval 'page_line "end tokens" 398 && grep -q "^  *399 <|im_end|>" "$tmp/out"'
check page_is_short eval '! out_has blk.0.attn_q.weight && ! out_has tokenizer.ggml.merges'
run inspect "$f" --tensors --kv
check page_lists eval 'out_has "blk.0.attn_q.weight" && out_has "tokenizer.ggml.merges" && out_has "32 x 400"'

# Tied: the embedding is read whole as the head, and one row of it as the embedding.
${RUNNER:-} "$mkmodel" "$f" --embd 32 --heads 2 --kv-heads 1 --ff 64 --layers 1 --vocab $vocab --tied --type f16
run inspect "$f" --json
check tied number bytes_per_token $(((layer - 64 + 32 * vocab + 32) * 2 + (64 + 32) * 4))
${RUNNER:-} "$mkmodel" "$f" --type q4_k
run inspect "$f"
check quantized eval 'page_line "bits per weight" 4.5 && grep -q "^q4_k  *16 " "$tmp/out"'

check chat_template_no page_line "chat template" no
check license_not_given page_line license "not given"
check quantization_by_type page_line quantization "mostly q4_k"
check fits eval 'page_line "fits into memory" "yes: [0-9.]* [KMG]iB available" || page_line "fits into memory" unknown'
run inspect "$f" -c 1073741824
check fits_not eval 'page_line "fits into memory" "no: [0-9.]* [KMG]iB available" || page_line "fits into memory" unknown'
facts_of() { # LICENSE FILE_TYPE TEMPLATE: a file with one q4_1 tensor
    { header 3 1 4; arch; key_str general.license "$1"; key_u32 general.file_type "$2"; key_str tokenizer.chat_template "$3"
      tensor t 3 0 32; } >"$f"
    data "$f" 20
    run inspect "$f" $4
}
facts_of mit 3 "{{ x }}"
check facts eval 'page_line license mit && page_line quantization Q4_1 && page_line "chat template" yes'
facts_of mit 3 "{{ x }}" --json
check facts_json out_has '"license": "mit", "quantization": "Q4_1", "chat_template": true'
facts_of mit 15 ""
check facts_wrong eval 'page_line quantization "mostly q4_1" && page_line "chat template" no && out_has "general.file_type says Q4_K_M, but no"'

# Where memory is short there is an error or the whole page, never a page with other facts.
${RUNNER:-} "$mkmodel" "$f" --embd 32 --heads 2 --ff 64 --layers 2 --vocab 20000
facts_without_memory() {
    "$TINYLLM" inspect "$f" 2>/dev/null | grep -Ev "^fits into|^ +\(with --no-pack" >"$tmp/whole"
    kb=6000
    while [ $kb -le 20000 ]; do
        (ulimit -v $kb && exec "$TINYLLM" inspect "$f") 2>"$tmp/err" | grep -Ev "^fits into|^ +\(with --no-pack" >"$tmp/out"
        [ ! -s "$tmp/out" ] || cmp -s "$tmp/out" "$tmp/whole" || return 1
        kb=$((kb + 200))
    done
}
check short_of_memory facts_without_memory
${RUNNER:-} "$mkmodel" "$f" --type q4_k

# What run would refuse is told, and what it reads per token is the same number.
per_token_is_runs() { # MODEL
    run run "$1" -p "1" -n 3 --ignore-eos -q --json
    bytes=$(awk -v r="$(json decode_tok_s)" -v b="$(json gb_s)" 'BEGIN { printf "%.0f", b / r * 1e9 }')
    run inspect "$1" --json
    exits 0 && silent err && out_has '"refused": null' && number bytes_per_token "$bytes"
}
for model in tests/data/arch/*/model.gguf "$f"; do
    check "per_token_of_$(basename "$(dirname "$model")")" per_token_is_runs "$model"
done
${RUNNER:-} "$mkmodel" "$f" --embd 32 --heads 2 --ff 64 --layers 2
blocks_at=$(($(grep -abo llama.block_count "$f" | cut -d: -f1) + 17 + 4))
patch_blocks() { byte "$1" | dd of="$f" bs=1 seek=$blocks_at conv=notrunc 2>/dev/null; }
patch_blocks 3
run inspect "$f" --json
check tensors_missing eval 'exits 1 && one_line && err_has "faults: tensor blk.2.attn_norm.weight is missing" &&
    out_has "\"refused\": \"$f: " && number layers 3'
patch_blocks 1
run inspect "$f"
check tensors_unknown eval 'exits 0 && [ "$(wc -l <"$tmp/err")" = 1 ] && page_line layers 1 &&
    err_has "# run would refuse this: " && err_has "tensor blk.1."'
run run "$f" -p x
check tensors_unknown_run refused 1 "tensor blk.1."

# A mixture of 4 experts of which one is used.
{
    header 3 2 3
    arch
    key_u32 llama.expert_count 4
    key_u32 llama.expert_used_count 1
    tensor blk.0.ffn_up_exps.weight 0 0 8 2 4
    tensor blk.0.ffn_norm.weight 0 256 8
} >"$f"
data "$f" 288
run inspect "$f" --json
check experts number bytes_per_token $((256 / 4 + 32))

# Files that say little, or nonsense.
{ header 2 1 0; tensor t 0 0 8; } >"$f"
data "$f" 32
run inspect "$f"
check no_keys eval 'exits 0 && page_line architecture unknown && page_line layers unknown && page_line format "GGUF version 2"'
{ header 3 0 0; } >"$f"
run inspect "$f"
check nothing eval 'exits 0 && out_has "no tensors"'
{
    header 3 0 9
    key_str general.architecture "$(printf 'x\033y')"
    for k in block_count attention.head_count; do key_u32 "$(printf 'x\033y').$k" 0; done
    key "$(printf 'x\033y').embedding_length" 10; u64 -1
    key "$(printf 'x\033y').context_length" 6; u32 1
    key_str "$(printf 'x\033y').vocab_size" "many"
    array tokenizer.ggml.tokens 8 1; string "$(printf 'a\nb\302\205\377')"
    key_u32 tokenizer.ggml.eos_token_id 7
    key_u32 tokenizer.ggml.bos_token_id 0
} >"$f"
run inspect "$f" --kv
check nonsense exits 0
check nonsense_notes eval 'out_has "block_count is 0" && out_has "attention.head_count is 0" && out_has "no model is that large" &&
    out_has "context_length is not an integer" && out_has "vocab_size is not an integer" && out_has "not in the vocabulary" &&
    out_has "cannot be used: "'
check control_bytes eval 'out_has "a\\x0ab\\xc2\\x85\\xff" && ! grep -q "$(printf "\033")" "$tmp/out"'
run inspect "$f" --json --kv
check nonsense_json exits 0
{
    header 3 0 6
    arch
    array llama.attention.head_count_kv 5 3; u32 4; u32 -1; u32 2
    array llama.attention.head_count 4 0
    key_u32 llama.block_count 2
    key_u32 llama.embedding_length 4294967295
    key_u32 llama.attention.key_length 4294967295
} >"$f"
run inspect "$f"
check nonsense_arrays eval 'exits 1 && one_line && out_has "head_count_kv is -1" && page_line "cache per position" unknown'

# Parts.
${RUNNER:-} "$mkmodel" "$f" --embd 32 --heads 2 --ff 64
run inspect "$f" --json
whole=$(json parameters)
${RUNNER:-} "$mkmodel" "$tmp/s.gguf" --embd 32 --heads 2 --ff 64 --split 3
run inspect "$tmp/s-00002-of-00003.gguf" --json
check split_whole eval 'exits 0 && silent err && number parameters "$whole" && number parts 3'
rm "$tmp/s-00003-of-00003.gguf"
run inspect "$tmp/s-00002-of-00003.gguf"
check split_single eval 'exits 0 && page_line parts "1 of 3" && err_has "1 part of 3"'

echo more >>"$f"
run inspect "$f"
check surplus eval 'exits 0 && page_line surplus "5 bytes"'
