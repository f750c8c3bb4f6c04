#!/bin/sh
# SPDX-License-Identifier: MIT
# The context: prompts at and beyond its end, never a cut text, windows, and one that does not fit into memory.
. tests/e2e/lib.inc

mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
m=$tmp/m.gguf w=$tmp/w.gguf
mkmodel "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2
mkmodel "$w" --arch gemma3 --layers 6 --embd 64 --heads 4 --kv-heads 2 --key attention.sliding_window=16 --ctx 4096

# A text of N tokens: single bytes that no merge joins.
tokens() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s", i % 2 ? "#" : "%" }'; }
answer() { run run "$m" -p "$(tokens "$1")" --temp 0 --ignore-eos --json -q -c "$2" -n "$3"; }
answer 62 512 40
check a_byte_a_token json_is prompt_tokens 62

# ---- the end of the context: the text up to it is that of a larger one
for n in 1 31 62 63 64; do
    for want in 0 1 2 3 40 -1; do
        most=$((65 - n)) end=length   # the last token is not computed, so there may be one more than the context
        [ $want -ge 0 ] && [ $want -le $most ] && count=$want || { count=$most; end=context; }
        answer $n 512 $count
        larger=$(json text)
        answer $n 64 $want
        check "prompt_${n}_of_64_n_$want" eval 'exits 0 && json_is tokens $count && json_is finish $end && [ "$(json text)" = "$larger" ]'
    done
done
for n in 65 66 128 2000; do
    answer $n 64 5
    check "prompt_${n}_of_64" refused 1 "the prompt has $n tokens, the context 64; -c $((n + 5)) would hold it"
done
for c in 1 2 8; do
    answer $c $c 5
    check "context_of_$c" eval 'exits 0 && json_is ctx $c && json_is tokens 1 && json_is finish context'
    answer $((c + 1)) $c 5
    check "context_of_${c}_and_one" refused 1 "the context $c"
done
for c in 0 -1 x 1.5 16777217 99999999999999999999; do
    answer 5 "$c" 5
    check "bad_context_$c" refused 2 ctx
done
answer 5 513 1
check beyond_the_trained_context eval 'exits 0 && err_has "# warning: the model was trained for contexts of 512 tokens"'
answer 600 1024 3
check prompt_of_more_than_a_batch eval 'exits 0 && json_is prompt_tokens 600 && json_is tokens 3'

# ---- never cut: from a file, from standard input, as a question, in a conversation
tokens 2000 >"$tmp/text"
run run "$m" -f "$tmp/text" -c 512 -q
check file_is_not_cut refused 1 "the prompt has 2000 tokens, the context 512"
rc=0; ${RUNNER:-} "$TINYLLM" run "$m" -c 512 -q <"$tmp/text" >"$tmp/out" 2>"$tmp/err" || rc=$?
check standard_input_is_not_cut refused 1 "the prompt has 2000 tokens, the context 512"
mkmodel "$tmp/chat.gguf" --layers 1 --embd 64 --chat-template '{{ messages[0].content }}'
run run "$tmp/chat.gguf" --chat -f "$tmp/text" -c 512 -q
check question_is_not_cut refused 1 "the context 512"
for how in stop shift; do   # a single turn that is too long has nothing that may be forgotten
    rc=0; ${RUNNER:-} "$TINYLLM" chat "$tmp/chat.gguf" -c 512 -q --overflow $how <"$tmp/text" >"$tmp/out" 2>"$tmp/err" || rc=$?
    check "turn_is_not_cut_$how" eval 'exits 1 && silent out && err_has "the context of 512"'
done
run perplexity "$m" -f "$tmp/text" -c 512 --chunks 1 -q
check perplexity_takes_windows exits 0

# ---- a window: texts around its length, taken back far behind it, in every cache type
talk='{% for m in messages %}{{ m.content }};{% endfor %}'
printf '%s' "$talk" >"$tmp/talk.jinja"
line=$(tokens 60 | tr % c)
talks() { printf "$1" | ${RUNNER:-} "$TINYLLM" chat "$w" --chat-template "$tmp/talk.jinja" --temp 0 --ignore-eos -n 8 --json -q --kv $kv 2>"$tmp/err" | sed 's/, "tokens".*//'; }
for kv in f16 f32 q8_0 q4_0; do
    for n in 14 15 16 17 33; do
        run run "$w" -p "$(tokens $n)" -n 20 --temp 0 --ignore-eos -q --kv $kv
        cp "$tmp/out" "$tmp/plain"
        run run "$w" -p "$(tokens $n)" -n 20 --temp 0 --ignore-eos -q --kv $kv -t 1 --speculate lookup
        check "window_16_prompt_${n}_$kv" eval 'exits 0 && [ -s "$tmp/plain" ] && cmp -s "$tmp/out" "$tmp/plain"'
    done
    # One, two, three; back to one; four: as one, four.
    talks "1$(echo "$line" | tr c b)\\n2$line\\n3$line\\n/undo\\n/undo\\n4\\n" >"$tmp/back"
    talks "1$(echo "$line" | tr c b)\\n4\\n" >"$tmp/new"
    check "back_behind_the_window_$kv" eval '[ "$(wc -l <"$tmp/back")" = 4 ] && [ -s "$tmp/new" ] && [ "$(sed -n 4p "$tmp/back")" = "$(sed -n 2p "$tmp/new")" ]'
done

# ---- more context than memory
for n in 131072 1000000000; do
    mkmodel "$tmp/huge.gguf" --layers 2 --embd 64 --heads 4 --kv-heads 2 --key context_length=$n
    run run "$tmp/huge.gguf" -p x -n 1 --json -q
    check "trained_for_$n" eval 'exits 0 && json_is ctx 4096 && silent err'
done
(ulimit -v 600000 && exec "$TINYLLM" --version) >/dev/null 2>&1 || no_limit=1   # sanitizers take terabytes
if [ -z "${RUNNER:-}" ] && [ -z "${no_limit:-}" ]; then
    limited() { (ulimit -v 600000; run "$@"; exit $rc); rc=$?; }
    limited run "$tmp/huge.gguf" -p x -n 1 -t 1 -q --json
    check limited_by_default eval 'exits 0 && json_is ctx 4096'
    limited run "$tmp/huge.gguf" -p x -n 1 -t 1 -q --json -c 16000000
    fits=$(sed -n 's/.*out of memory: [0-9.]* [GM]iB for .* (this process may use [0-9.]* MiB; -c \([0-9]*\) fits)$/\1/p' "$tmp/err")
    check limited_names_what_fits eval 'refused 1 "out of memory" && [ "${fits:-0}" -ge 100000 ]'
    limited run "$tmp/huge.gguf" -p x -n 1 -t 1 -q --json -c "${fits:-1}"
    check what_fits_fits eval 'exits 0 && json_is ctx "$fits" && ! err_has "takes"'
else
    echo "skip limited_names_what_fits: this program cannot be limited"
fi
