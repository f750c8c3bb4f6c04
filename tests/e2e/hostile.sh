#!/bin/sh
# SPDX-License-Identifier: MIT
# Damaged and malicious model files: every command refuses them with exit code 1 and one line that says what is wrong.
. tests/e2e/lib.inc
. tests/e2e/gguf.inc
mkmodel=$BUILD/tools/mkmodel
[ -x "$mkmodel" ] || { echo "skip hostile: $mkmodel is not built"; exit 0; }
f=$tmp/file.gguf

# NAME TEXT: $f (or $3) must be refused with TEXT by inspect and by run.
bad() {
    run inspect "${3:-$f}"
    check "$1_inspect" refused 1 "$2"
    run run "${3:-$f}" -p x -n 1
    check "$1_run" refused 1 "$2"
}
# NAME TEXT TYPE OFFSET DIMS...: one tensor before 64 bytes of data.
bad_tensor() {
    name=$1 text=$2
    shift 2
    { header 3 1 1; arch; tensor t "$@"; } >"$f"
    data "$f" 64
    bad "$name" "$text"
}
# NAME TEXT COMMANDS: a file of one key that the commands write.
bad_key() {
    { header 3 0 1; eval "$3"; zeros 32; } >"$f"
    bad "$1" "$2"
}

# Not a GGUF file at all.
bad missing_file "No such file" "$tmp/absent.gguf"
bad folder "directory" "$tmp"
: >"$f"
bad empty "empty"
echo '<!doctype html><title>404</title>' >"$f"
bad web_page "web page"
echo GG >"$f"
bad too_short "not a GGUF file"

# Cut short at every kind of place.
${RUNNER:-} "$mkmodel" "$tmp/whole.gguf" --embd 32 --heads 2 --ff 64
size=$(wc -c <"$tmp/whole.gguf")
for n in 4 23 24 100 3000 7000 9000 $((size / 2)) $((size - 1)); do
    head -c "$n" "$tmp/whole.gguf" >"$f"
    bad "cut_at_$n" "incomplete"
done

# Versions and byte order.
for version in 0 1 4 99; do
    { header $version 0 1; arch; zeros 32; } >"$f"
    bad "version_$version" "version $version is not supported"
done
{ printf GGUF; u32 $((3 << 24)); zeros 64; } >"$f"
bad big_endian "big-endian"

# Counts and lengths far beyond the file.
{ header 3 0 $((1 << 60)); arch; } >"$f"
bad many_keys "keys, more than"
{ header 3 $((1 << 61)) 1; arch; } >"$f"
bad many_tensors "tensors, more than"
bad_key long_key "ends inside key" 'u64 281474976710655'
bad_key long_string "past the end" 'key x 8; u64 -8'
bad_key long_array "past the end" 'array x 0 $((1 << 62))'
bad_key wrapping_array "past the end" 'array x 12 $(((1 << 61) + 1))'
bad_key long_list "past the end" 'array x 8 $((1 << 40))'

# Keys.
bad_key empty_key "name of 0 bytes" 'key_u32 "" 1'
bad_key empty_architecture "general.architecture" 'key_str general.architecture ""'
bad_key unknown_value_type "unknown value type 13" 'key x 13'
bad_key bad_truth_value "truth value" 'key x 7; byte 2'
bad_key deep_arrays "too deeply" 'array x 9 1; for i in 1 2 3 4 5 6 7 8 9; do u32 9; u64 1; done'
{ header 3 0 2; key_u32 x 1; key_u32 x 1; zeros 32; } >"$f"
bad same_key_twice "'x' occurs twice"
{ header 3 0 2; key_u32 "$(printf 'a\033[31m')" 1; key_u32 "$(printf 'a\033[31m')" 1; zeros 32; } >"$f"
bad control_bytes '\x1b[31m'

# Alignment.
for a in 0 4 48 2147483648; do
    { header 3 1 2; arch; key_u32 general.alignment "$a"; tensor t 0 0 8; } >"$f"
    data "$f" 64
    bad "alignment_$a" "general.alignment is $a"
done
bad_key signed_alignment "general.alignment" 'key general.alignment 5; u32 32'

# Tensors.
bad_tensor product_wraps "'t'" 0 0 $((1 << 32)) $((1 << 32))
bad_tensor bytes_wrap "'t'" 0 0 $((1 << 42)) $((1 << 22))
bad_tensor negative_product "'t'" 24 0 9223372036854775807 2 1 1
bad_tensor negative_dimension "dimension 1" 0 0 -1
bad_tensor zero_dimension "dimension 2 of 0" 0 0 4 0
bad_tensor five_dimensions "5 dimensions" 0 0 1 1 1 1 1
bad_tensor no_dimension "0 dimensions" 0 0
bad_tensor odd_rows "block of 32" 2 0 33
bad_tensor unknown_type "type 99" 99 0 32
bad_tensor withdrawn_type "q4_0_4_4" 31 0 32
bad_tensor odd_offset "alignment" 0 4 8
bad_tensor far_offset "incomplete" 0 $((1 << 40)) 8
bad_tensor wrapping_offset "out of range" 0 -32 8
bad_tensor one_byte_missing "incomplete" 24 0 65
{ header 3 2 1; arch; tensor t 0 0 8; tensor t 0 32 8; } >"$f"
data "$f" 64
bad same_tensor_twice "'t' occurs twice"
{ header 3 2 1; arch; tensor t 0 0 9; tensor u 0 32 8; } >"$f"
data "$f" 64
bad overlap "overlap"

# Settings out of range: each is told by name, without faults that only follow from it.
settings() { # [VARIABLE=VALUE]; the defaults lack nothing but tensors
    heads=4 kv_heads=2 embd=64 rot=16 blocks=1 ctx=64 base=1176256512 eps=925353388 factor=1065353216
    keys=14 more=
    eval "${1:-}"
    header 3 0 "$keys"
    arch
    key_str tokenizer.ggml.model gpt2
    array tokenizer.ggml.tokens 8 1; string a
    array tokenizer.ggml.merges 8 0
    key_u32 llama.block_count "$blocks"
    key_u32 llama.context_length "$ctx"
    key_u32 llama.embedding_length "$embd"
    key_u32 llama.feed_forward_length 64
    key_u32 llama.attention.head_count "$heads"
    key_u32 llama.attention.head_count_kv "$kv_heads"
    key_u32 llama.rope.dimension_count "$rot"
    key llama.rope.freq_base 6; u32 "$base"
    key llama.attention.layer_norm_rms_epsilon 6; u32 "$eps"
    key llama.rope.scaling.factor 6; u32 "$factor"    # counts without a type too
    eval "$more"
}
bad_setting() { # VARIABLE VALUE TEXT
    settings "$1=$2" >"$f"
    run run "$f" -p a -n 1
    check "setting_$1_$2" eval 'refused 1 "'"$3"'" && err_has ": 1 fault: "'
    run inspect "$f"
    check "setting_$1_$2_inspect" eval 'exits 1 && one_line && err_has "'"$3"'" && out_has "architecture "'
}
settings >"$f"
run run "$f" -p a -n 1
check settings_alone refused 1 "token_embd.weight is missing"
run inspect "$f"
check settings_alone_inspect eval 'exits 0 && silent err'
bad_setting heads 0 "head_count' is 0: 1 to"
bad_setting heads 4294967295 "head_count' is 4294967295"
bad_setting kv_heads 0 "head_count_kv' is 0"
bad_setting kv_heads 3 "head_count 4 is not a multiple of head_count_kv 3"
bad_setting embd 0 "embedding_length' is 0"
bad_setting embd 63 "embedding_length 63 is not a multiple of attention.head_count 4"
bad_setting embd 60 "rope.dimension_count' is 16: 2 to 15"
bad_setting blocks 0 "block_count' is 0"
bad_setting blocks 2147483648 "block_count' is 2147483648"
bad_setting ctx 0 "context_length' is 0"
bad_setting rot 15 "rope.dimension_count is 15, it must be even"
bad_setting rot 18 "rope.dimension_count' is 18: 2 to 16"
bad_setting base 0 "rope.freq_base is 0"
bad_setting base 2143289344 "rope.freq_base' is nan"
bad_setting eps 2143289344 "rms_epsilon' is nan"
bad_setting factor 0 "rope.scaling.factor is 0"
bad_setting factor 2143289344 "rope.scaling.factor' is nan"

# Settings that ask for arithmetic that is not there: refused by name, told by inspect, and taken where they ask nothing.
with_key() { settings "keys=15 more='$1'" >"$f"; }
not_computed() { # KEY VALUE "TYPE; BYTES" "TYPE; BYTES of off"
    asked="llama.$1 = $2"
    with_key "key llama.$1 $3"
    run run "$f" -p a -n 1
    check "asks_$1" eval 'refused 1 "$asked" && err_has ": 1 fault: "'
    run inspect "$f"
    check "asks_$1_inspect" eval 'exits 0 && [ "$(wc -l <"$tmp/err")" = 1 ] && err_has "# run would refuse this: " && err_has "$asked"'
    with_key "key llama.$1 $4"
    run run "$f" -p a -n 1
    check "asks_$1_off" refused 1 "token_embd.weight is missing"
}
one="6; u32 1065353216" half="6; u32 1056964608" none="6; u32 0"
not_computed expert_gating_func 2 "4; u32 2" "4; u32 1"
not_computed expert_weights_scale 0.5 "$half" "$one"
not_computed expert_group_count 8 "4; u32 8" "4; u32 1"
not_computed use_parallel_residual 1 "7; byte 1" "7; byte 0"
not_computed swin_norm 1 "7; byte 1" "7; byte 0"
not_computed logit_scale 0.5 "$half" "$one"
not_computed residual_scale 0.5 "$half" "$none"
not_computed attention.causal 0 "7; byte 0" "7; byte 1"
not_computed attention.clamp_kqv 0.5 "$half" "$none"
not_computed attention.max_alibi_bias 0.5 "$half" "$none"
not_computed attention.output_scale 0.5 "$half" "$one"
not_computed attention.temperature_length 8 "4; u32 8" "4; u32 0"
not_computed attention.temperature_scale 0.5 "$half" "$none"
not_computed attention.shared_kv_layers 1 "4; u32 1" "4; u32 0"
not_computed rope.scaling.yarn_ext_factor 0.5 "$half" "$one"
not_computed rope.scaling.yarn_attn_factor 0.5 "$half" "$one"
not_computed rope.scaling.yarn_log_multiplier 0.5 "$half" "$none"
not_computed rope.scaling.type \"dynamic\" "8; string dynamic" "8; string none"
with_key 'array llama.attention.sliding_window_pattern 7 2; byte 1; byte 0'
run run "$f" -p a -n 1
check window_layers refused 1 "sliding_window_pattern is not one truth value for each of 1 layers"
with_key 'key_u32 llama.expert_count 8'
run run "$f" -p a -n 1
check experts_used_missing refused 1 ": 1 fault: llama.expert_used_count is missing"
with_key 'key_u32 llama.expert_count 1025'
run run "$f" -p a -n 1
check experts_too_many refused 1 "expert_count' is 1025: 0 to 1024"
settings "keys=16 more='key_u32 llama.expert_count 8; key_u32 llama.expert_used_count 9'" >"$f"
run run "$f" -p a -n 1
check experts_used_too_many refused 1 "expert_used_count' is 9: 1 to 8"
with_key 'key llama.residual_scale 8; string x'
run run "$f" -p a -n 1
check asks_text refused 1 "llama.residual_scale is not a number"
with_key 'key llama.residual_scale 6; u32 2143289344'
run run "$f" -p a -n 1
check asks_nan refused 1 "llama.residual_scale = nan"
settings "keys=16 more='array llama.expert_group_count 4 1; u32 8; key llama.logit_scale $half'" >"$f"
run run "$f" -p a -n 1
check asks_two eval 'refused 1 ": 2 faults: llama.expert_group_count = 8" && err_has "llama.logit_scale = 0.5"'

{ header 3 0 3; arch; key_str tokenizer.ggml.model gpt2; array tokenizer.ggml.tokens 8 1; string a; } >"$f"
run run "$f" -p a -n 1
check no_merges refused 1 "tokenizer.ggml.merges: missing"

# Split models.
${RUNNER:-} "$mkmodel" "$tmp/s.gguf" --embd 32 --heads 2 --ff 64 --split 3
mv "$tmp/s-00002-of-00003.gguf" "$tmp/renamed.gguf"
run run "$tmp/s-00001-of-00003.gguf" -p x -n 1
check missing_part refused 1 "s-00002-of-00003.gguf"
run run "$tmp/renamed.gguf" -p x -n 1
check renamed_part refused 1 "00002-of-00003.gguf"
cp "$tmp/s-00003-of-00003.gguf" "$tmp/s-00002-of-00003.gguf"
bad part_twice "part 3 of 3" "$tmp/s-00001-of-00003.gguf"
