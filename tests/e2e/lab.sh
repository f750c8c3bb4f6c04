#!/bin/sh
# SPDX-License-Identifier: MIT
# With two published models, in the folder $TINYLLM_LAB: what tiny random ones cannot show. Their texts are compared with
# each other, never with texts that other programs wrote.
. tests/e2e/lib.inc

smol=${TINYLLM_LAB:-}/SmolLM2-135M-Instruct.Q4_1.gguf gemma=${TINYLLM_LAB:-}/gemma-3-270m-q4_k_m.gguf
if [ -n "${RUNNER:-}" ] || [ ! -f "$smol" ] || [ ! -f "$gemma" ]; then
    echo "skip lab: no SmolLM2-135M-Instruct.Q4_1.gguf and gemma-3-270m-q4_k_m.gguf in \$TINYLLM_LAB, or a runner"
    exit 0
fi
ids_are() { exits 0 && [ "$(cat "$tmp/out")" = "$1" ]; }
same_as() { [ -s "$1" ] && cmp -s "$tmp/out" "$1"; }

# ---- tokens: digits by themselves; one begin-of-text token; texts that come back
run tokenize "$smol" --ids -p "3333+777=12"
check digits_smollm ids_are "35 35 35 35 27 39 39 39 45 33 34"
run tokenize "$gemma" --ids -p "3333+777=12" --no-bos
check digits_gemma eval 'exits 0 && [ "$(wc -w <"$tmp/out")" = 11 ]'
for case in "Hi|2 10979" "<bos>Hi|2 10979" " Hello|2 26352" "<eos> Hello|2 1 26352" "|2"; do
    run tokenize "$gemma" --special --ids -p "${case%|*}"
    check "gemma_'${case%|*}'" ids_are "${case#*|}"
    run run "$gemma" --special -p "${case%|*}" -n 0 --json -q
    check "gemma_counts_'${case%|*}'" json_is prompt_tokens "$(echo "${case#*|}" | wc -w)"
done
for text in '  Hello' '</s>Hello\nx' '<eos>\n' '日本 😀\t' '\303\251e\314\201'; do
    printf "$text" >"$tmp/text"
    for m in "$smol" "$gemma"; do
        run tokenize "$m" --no-bos --ids -f "$tmp/text"
        cp "$tmp/out" "$tmp/ids"
        run tokenize "$m" --decode -f "$tmp/ids"
        check "comes_back_$(printf %s "$text" | cksum | cut -c1-4)_$(basename "$m" | cut -c1-5)" cmp -s "$tmp/out" "$tmp/text"
    done
done

# ---- ends of turns
run run "$smol" --chat -p "Say hi." --temp 0 -n 60 --json -q
hi=$(json text)
check turn_ends eval 'json_is finish stop && [ -n "$hi" ] && ! out_has "<|"'
run run "$smol" --chat -p "Say hi." --temp 0 -n 60 --json -q --ignore-eos
check ignored_end_goes_on eval 'json_is finish length && json_is tokens 60 && ! out_has "<|im_"'
at=$(LC_ALL=C grep -abo tokenizer.ggml.eos_token_id "$smol" | head -n 1 | cut -d: -f1)
cp "$smol" "$tmp/eos.gguf"
printf '\000\000\000\000' | dd of="$tmp/eos.gguf" bs=1 seek=$((at + 27 + 4)) conv=notrunc 2>/dev/null
run run "$tmp/eos.gguf" --chat -p "Say hi." --temp 0 -n 60 --json -q
check other_eos_ends_all_the_same eval 'json_is finish stop && [ "$(json text)" = "$hi" ]'
rm -f "$tmp/eos.gguf"
for id in 1 106; do
    run run "$gemma" -p hi --logit-bias $id=100 -n 5 --json -q
    check "gemma_ends_at_$id" eval 'json_is finish stop && json_is tokens 0'
done
run chat "$gemma"
check no_template refused 1 "no chat template"

# ---- the memory that inspect foretells is what a full context takes, within 5 %
for m in "$smol" "$gemma"; do
    run inspect "$m" -c 2048 --json
    foretold=$(json memory_bytes)
    run bench "$m" -p 2048 -n 0 -r 1 --no-limits --json
    taken=$(sed -n 's/.*"rss_bytes": \([0-9]*\).*/\1/p' "$tmp/out")
    check "memory_$(basename "$m" | cut -c1-5)" [ $((taken * 100)) -gt $((foretold * 95)) -a $((taken * 100)) -lt $((foretold * 105)) ]
done

# ---- characters in pieces: SmolLM2 writes an emoji as several tokens
for n in 1 2 3 4 8 12; do
    run run "$smol" -p "😀😀😀😀😀😀😀😀" -n $n --temp 0 -q
    text=$(cat "$tmp/out")
    check "emoji_$n" eval 'exits 0 && [ "$(grep -o "�" "$tmp/out" | wc -l)" -le 1 ]'
    run run "$smol" -p "😀😀😀😀😀😀😀😀" -n $n --temp 0 -q --json
    check "emoji_${n}_json" json_is text "$text"
done
# Gemma's byte tokens: F0 9F 98 80 one after the other.
byte() { run tokenize "$gemma" --decode -p "$1"; od -An -tx1 <"$tmp/out" | tr -d ' \n'; }
check gemma_bytes eval '[ "$(byte "478 397 390 366")" = f09f9880 ]'
run run "$gemma" -p x --regex '😀' --temp 0 -q -n 9
check gemma_emoji eval '[ "$(cat "$tmp/out")" = "😀" ]'

# ---- the same text on every way
long=$(seq 1 250 | tr '\n' ' ')
for m in "$smol" "$gemma"; do
    name=$(basename "$m" | cut -c1-5)
    run run "$m" -p "$long" -n 30 --temp 0 --ignore-eos -q
    cp "$tmp/out" "$tmp/plain"
    for how in "-t 1" "-t 2" "--no-pack" "--speculate lookup" "-c 1500" "--cache $tmp/cache" "--cache $tmp/cache"; do
        run run "$m" -p "$long" -n 30 --temp 0 --ignore-eos -q $how
        check "same_text_${name}_$(echo "$how" | sed "s|$tmp/||; s/[^a-z0-9]/_/g")" same_as "$tmp/plain"
    done
    rm -f "$tmp/cache"
done
# The context's end is no other text.
for n in 63 64 65; do
    prompt=$(awk -v n=$n 'BEGIN { for (i = 0; i < n; i++) printf "%s", i ? " a" : "a" }')
    run run "$smol" -p "$prompt" -c 64 -n -1 --temp 0 --ignore-eos --json -q
    if [ $n = 65 ]; then check prompt_of_65 refused 1 "the prompt has 65 tokens, the context 64"; continue; fi
    text=$(json text)
    check "ends_with_the_context_$n" eval 'json_is finish context && json_is tokens $((65 - n))'
    run run "$smol" -p "$prompt" -c 128 -n $((65 - n)) --temp 0 --ignore-eos --json -q
    check "as_in_a_larger_one_$n" json_is text "$text"
done

# ---- Gemma's window of 512: perplexity near its length is that of other pieces and threads
seq 1 900 | awk '{ printf "%d is %d and %d. ", $1, $1 * 7 % 100, $1 * 13 % 50 }' >"$tmp/text"
for c in 513 1024; do
    run perplexity "$gemma" -f "$tmp/text" -c $c --chunks 1 --json -q
    value=$(json perplexity)
    run perplexity "$gemma" -f "$tmp/text" -c $c --chunks 1 --json -q -t 1
    check "window_$c" eval 'exits 0 && [ -n "$value" ] && json_is perplexity "$value"'
done
# Back to the second turn, whose beginning no window reaches any more.
printf '%s' '{{ bos_token }}{% for m in messages %}{{ m.content }}\n{% endfor %}' >"$tmp/talk.jinja"
talk() { printf '%s\n' "$@" | "$TINYLLM" chat "$gemma" --chat-template "$tmp/talk.jinja" --temp 0 --ignore-eos -n 12 --json -q -c 4096 2>"$tmp/err" >"$tmp/out"; }
talk one "2 $long" "3 $long" /undo /undo four
kept=$(sed -n '3s/.*"kept_tokens": \([0-9]*\).*/\1/p' "$tmp/out")
sed -n '$s/, "tokens".*//p' "$tmp/out" >"$tmp/back"
talk one four
check back_behind_the_window eval '[ "$(wc -l <"$tmp/out")" = 2 ] && [ "$(sed -n "2s/, \"tokens\".*//p" "$tmp/out")" = "$(cat "$tmp/back")" ]'
check only_new_is_computed [ "${kept:-0}" -gt 900 ]
