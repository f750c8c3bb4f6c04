#!/bin/sh
# SPDX-License-Identifier: MIT
# Conversations through run --chat and chat, told apart by what goes wrong elsewhere: ends of turns, one begin-of-text
# token, characters in pieces, templates that refuse or are none, odd lines, signals. chat.sh has the commands.
. tests/e2e/lib.inc

mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
tiny="--layers 2 --embd 64 --heads 4 --kv-heads 2"
m=$tmp/m.gguf
form='{% for m in messages %}<|bos|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|bos|>{% endif %}'
mkmodel "$m" $tiny --chat-template "$form"
lines() { rc=0; printf "$1" >"$tmp/in"; shift; ${RUNNER:-} "$TINYLLM" chat "$@" <"$tmp/in" >"$tmp/out" 2>"$tmp/err" || rc=$?; }
answers() { [ "$(wc -l <"$tmp/out")" = "$1" ]; }
whole_utf8() { ! command -v iconv >/dev/null || iconv -f utf-8 -t utf-8 "$tmp/out" >/dev/null 2>&1; }
id_of() { run tokenize "$1" --special --no-bos --ids -p "$2"; cat "$tmp/out"; }

# ---- ends of turns: the token that the file names, and the known ones it does not; the mark is not in the text
end=$(id_of "$m" "<|im_end|>") begin=$(id_of "$m" "<|bos|>") eos=$(id_of "$m" "<|eos|>")
for id in $end $eos; do
    run run "$m" --chat -p hi --logit-bias "$id=100" --json -q
    check "run_ends_at_$id" eval 'exits 0 && json_is finish stop && json_is tokens 0 && json_is text ""'
    lines 'hi\nhi\n' "$m" --logit-bias "$id=100" --json -q
    check "chat_ends_at_$id" eval 'exits 0 && answers 2 && [ "$(grep -c "^{\"text\": \"\".*\"finish\": \"stop\"" "$tmp/out")" = 2 ]'
    run run "$m" --chat -p hi --logit-bias "$id=100" --ignore-eos -n 5 --json -q
    check "ignored_end_$id" eval 'exits 0 && json_is finish length && json_is tokens 5'
done
run run "$m" --chat -p hi --logit-bias "$begin=100" -n 5 --json -q
check mark_is_not_printed eval 'exits 0 && json_is tokens 5 && json_is text ""'
# A file that names another end, or none: the turn's end is known by its name.
for other in 0 4294967295; do
    at=$(LC_ALL=C grep -abo 'tokenizer.ggml.eos_token_id' "$m" | head -n 1 | cut -d: -f1)
    cp "$m" "$tmp/eos.gguf"
    bytes=$([ $other = 0 ] && echo '\000\000\000\000' || echo '\377\377\377\377')
    printf "$bytes" | dd of="$tmp/eos.gguf" bs=1 seek=$((at + 27 + 4)) conv=notrunc 2>/dev/null
    run run "$tmp/eos.gguf" --chat -p hi --logit-bias "$end=100" --json -q
    check "eos_is_$other" eval 'exits 0 && json_is finish stop && json_is tokens 0'
done

# ---- one begin-of-text token, whoever writes it
g=$tmp/g.gguf
mkmodel "$g" --arch gemma3 $tiny --chat-template '{{ bos_token }}{% for m in messages %}{{ m.role }} {{ m.content }}</s>{% endfor %}'
bos() { tr -d ',[]' <"$tmp/out" | tr ' ' '\n' | grep -cx 1; }
for text in "Hi" "<s>Hi" "<s> Hi" "<s>"; do
    run tokenize "$g" --special --ids -p "$text"
    n=$(wc -w <"$tmp/out")
    check "one_begin_in_'$text'" eval 'exits 0 && [ "$(bos)" = 1 ]'
    run run "$g" --special -p "$text" -n 0 --json -q
    check "counted_in_'$text'" json_is prompt_tokens "$n"
done
run tokenize "$g" --special --ids -p "Hi" --no-bos
check no_begin eval '[ "$(bos)" = 0 ]'
run tokenize "$g" --ids -p "<s>Hi"
check text_is_no_begin eval '[ "$(bos)" = 1 ] && [ "$(wc -w <"$tmp/out")" -gt 4 ]'
run tokenize "$m" --special --ids -p "<|bos|>user"
check none_where_the_file_wants_none eval '[ "$(grep -ow "$begin" "$tmp/out" | wc -l)" = 1 ]'
lines 'a\nb\nc\n/save '"$tmp"'/talk.json\n' "$g" --temp 0 --ignore-eos -n 4 --json -q
third=$(sed -n '3s/.*"prompt_tokens": \([0-9]*\).*/\1/p' "$tmp/out")
sed 's/, {"role": "assistant", "content": "[^"]*"}\]/]/; s/^{/{"bos_token": "<s>", /' "$tmp/talk.json" >"$tmp/case.json"
run template "$g" --input "$tmp/case.json"
if exits 0; then
    cp "$tmp/out" "$tmp/rendered"
    check one_begin_in_three_turns eval '[ "$(grep -o "<s>" "$tmp/rendered" | wc -l)" = 1 ] && [ -n "$third" ]'
else
    echo "FAIL one_begin_in_three_turns: $(cat "$tmp/err")"
fi

# ---- characters that arrive in pieces: each token is a byte here
for n in 1 2 3 4 5 6 7 8 9 10 11 12; do
    run run "$m" -p x --regex '(😀|é|日){3}' --temp 1 --seed 4 -n $n -q
    text=$(cat "$tmp/out")
    check "pieces_of_characters_$n" eval 'exits 0 && whole_utf8 && [ "$(grep -o "�" "$tmp/out" | wc -l)" -le 1 ] && case $text in *�?*) false ;; esac'
    run run "$m" -p x --regex '(😀|é|日){3}' --temp 1 --seed 4 -n $n -q --json
    check "pieces_of_characters_${n}_json" json_is text "$text"
    lines 'x\n' "$m" --regex '(😀|é|日){3}' --temp 1 --seed 4 -n $n -q --json
    check "pieces_of_characters_${n}_chat" eval 'exits 0 && whole_utf8 && answers 1'
done
printf 'a\377\376\200b\300\257\355\240\200\364\220\200\200' >"$tmp/bytes"
run run "$m" -f "$tmp/bytes" -n 4 --ignore-eos --json -q --echo
check any_bytes_as_text eval 'exits 0 && whole_utf8 && json_is prompt_tokens 14'
run run "$m" -f "$tmp/bytes" --chat -n 4 --ignore-eos -q
check any_bytes_as_a_question eval 'exits 0 && whole_utf8'
lines 'a\377\376\nb\300\257\n\355\240\200\n' "$m" --ignore-eos -n 3 --json -q --system "$(printf '\377')"
check any_bytes_in_a_conversation eval 'exits 0 && answers 3 && whole_utf8'

# ---- templates that refuse, in their own words
strict='{% if messages[0].role == "system" %}{{ raise_exception("No system role here: \"sorry\"") }}{% endif %}{% for m in messages %}{% if (m.role == "user") != (loop.index0 % 2 == 0) %}{{ raise_exception("Roles must take turns") }}{% endif %}<|bos|>{{ m.content }}<|im_end|>{% endfor %}'
printf '%s' "$strict" >"$tmp/strict.jinja"
refuses() { # NAME MESSAGES WORDS
    printf '{"messages": %s}' "$2" >"$tmp/case.json"
    run template "$tmp/strict.jinja" --input "$tmp/case.json"
    check "$1" refused 1 "$3"
}
user='{"role": "user", "content": "a"}' assistant='{"role": "assistant", "content": "b"}'
refuses system_first "[{\"role\": \"system\", \"content\": \"s\"}, $user]" 'strict.jinja: line 1: No system role here: "sorry"'
refuses two_users "[$user, $user]" "Roles must take turns"
refuses assistant_first "[$assistant]" "Roles must take turns"
refuses unknown_role '[{"role": "foo", "content": "a"}]' "Roles must take turns"
refuses no_role '[{"content": "a"}]' "Roles must take turns"
refuses no_messages '[]' "line 1: "
refuses messages_are_none 'null' "line 1: "
refuses messages_are_a_number '7' "line 1: "
mkmodel "$tmp/strict.gguf" $tiny --chat-template "$strict"
run run "$tmp/strict.gguf" --chat --system s -p a -q
check run_says_the_templates_words refused 1 'No system role here: "sorry"'
run chat "$tmp/strict.gguf" --system s
check chat_says_the_templates_words refused 1 'No system role here: "sorry"'
lines '/system s\na\na\n/reset\n/system\na\n' "$tmp/strict.gguf" --ignore-eos -n 3 --json -q
check chat_goes_on eval 'err_has "No system role here" && [ "$(grep -c "^{\"text\"" "$tmp/out")" -ge 1 ]'

# ---- no template, or none that can be
mkmodel "$tmp/bare.gguf" $tiny
for command in run chat; do
    how=$([ $command = run ] && echo "--chat -p x")
    run $command "$tmp/bare.gguf" $how
    check "${command}_without_template" refused 1 "chat"
done
for bad in '{{' '{% for m in messages %}' '{% endfor %}' '{% nosuch %}' '{{ x | nosuch }}' '{{ nosuch(1) }}' '{{ messages[0].content' '{% include "x" %}' "{{ 'a" '{% if %}'; do
    mkmodel "$tmp/bad.gguf" $tiny --chat-template "$bad"
    run chat "$tmp/bad.gguf"
    check "chat_at_once_$bad" eval 'refused 1 "tokenizer.chat_template: line 1" && err_has bad.gguf'
    run run "$tmp/bad.gguf" --chat -p x
    check "run_at_once_$bad" refused 1 "tokenizer.chat_template: line 1"
    run run "$tmp/bad.gguf" -p x -n 1 -q
    check "text_all_the_same_$bad" exits 0
done
mkmodel "$tmp/large.gguf" $tiny --chat-template "$(awk 'BEGIN { for (i = 0; i < 20000; i++) printf "x y " }')"
lines 'x\n' "$tmp/large.gguf" -q -n 2
check large_template eval 'exits 1 && err_has "the context of 512"'
for empty in '' ' ' '{# nothing #}' '{{ "" }}'; do
    mkmodel "$tmp/empty.gguf" $tiny --chat-template "$empty"
    lines 'x\n' "$tmp/empty.gguf" -q -n 2
    check "empty_template_'$empty'" eval '! exits 139 && ! exits 134 && [ -s "$tmp/err" -o $rc = 0 ]'
done
printf '%s' "$form" >"$tmp/form.jinja"
lines 'x\n' "$tmp/bare.gguf" --chat-template "$tmp/form.jinja" --temp 0 --ignore-eos -n 6 -q
cp "$tmp/out" "$tmp/given"
lines 'x\n' "$m" --temp 0 --ignore-eos -n 6 -q
check given_template_is_as_the_files eval 'exits 0 && [ -s "$tmp/out" ] && cmp -s "$tmp/out" "$tmp/given"'

# ---- odd lines
for input in '' '\n\n\n' '   \n\t\n' '\r\n\r\n' 'a' 'a\n' 'a\r\n' 'a\r' '\000\n' 'a\000b' '\303' '\357\273\277a\n' '/\n' '/nosuch' '/quit' '/quit\nnever\n' '\\\n' 'a\\\n' 'a\\'; do
    lines "$input" "$m" --ignore-eos -n 2 -q
    check "input_$(printf '%s' "$input" | tr -c 'a-z0-9/\n' _)_$(printf '%s' "$input" | cksum | cut -c1-4)" eval '[ $rc -le 1 ] && [ "$(wc -l <"$tmp/err")" -le 1 ]'
done
rc=0; ${RUNNER:-} "$TINYLLM" chat "$m" -q </dev/null >"$tmp/out" 2>"$tmp/err" || rc=$?
check null_device eval 'exits 0 && silent out && silent err'
rc=0; ${RUNNER:-} "$TINYLLM" chat "$m" -q <&- >"$tmp/out" 2>"$tmp/err" || rc=$?
check closed_input eval '[ $rc -le 1 ] && silent out'
rc=0; ${RUNNER:-} "$TINYLLM" chat "$m" -q <"$tmp" >"$tmp/out" 2>"$tmp/err" || rc=$?
check folder_as_input eval '[ $rc -le 1 ] && silent out'
if [ -c /dev/full ]; then
    printf 'a\nb\n' >"$tmp/in"
    rc=0; ${RUNNER:-} "$TINYLLM" chat "$m" --ignore-eos -n 3 -q <"$tmp/in" >/dev/full 2>"$tmp/err" || rc=$?
    check full_output eval 'exits 1 && [ "$(grep -c "No space left" "$tmp/err")" = 1 ] && [ "$(wc -l <"$tmp/err")" = 1 ]'
fi

# ---- turns that are forgotten: what follows is as if they had never been, for every cache type and both kinds of rotation
w=$tmp/w.gguf
mkmodel "$w" --arch gemma3 --layers 6 --embd 64 --heads 4 --kv-heads 2 --key attention.sliding_window=16 --chat-template "$form"
for kv in f16 f32 q8_0 q4_0; do
    for model in "$m" "$w"; do
        how="--temp 0 --ignore-eos -n 8 -c 96 --overflow shift --json --kv $kv"
        lines "one\ntwo\nthree\nfour\nfive\nsix\nseven\n/save $tmp/talk.json\n" "$model" $how -q
        dropped=$(grep -c '"dropped_turns": [1-9]' "$tmp/out") last=$(sed -n '7s/, "tokens".*//p' "$tmp/out")
        lines "/load $tmp/talk.json\n/retry\n" "$model" $how -q
        check "forgotten_$(basename "$model")_$kv" eval '[ "$dropped" -gt 0 ] && [ -n "$last" ] && [ "$(sed -n "1s/, \"tokens\".*//p" "$tmp/out")" = "$last" ]'
    done
done

# ---- signals: the first Ctrl-C ends the answer, the second the program; shells ignore it for what they leave behind
if [ -n "${RUNNER:-}" ] || ! env --default-signal=INT true 2>/dev/null || ! mkfifo "$tmp/fifo" 2>/dev/null; then
    echo "skip second_signal_ends_it: no fifo, no env --default-signal, or a runner"
else
    wait_for() { for _ in $(seq 100); do eval "$1" && return 0; sleep 0.1; done; return 1; }
    env --default-signal=INT "$TINYLLM" chat "$m" --ignore-eos -c 200000 -q <"$tmp/fifo" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    exec 4>"$tmp/fifo"
    echo "hi" >&4
    wait_for '[ "$(wc -c <"$tmp/out")" -gt 20 ]'
    kill -INT $pid
    wait_for '[ "$(tail -c 1 "$tmp/out")" = "" ]'
    check first_signal_leaves_it_running kill -0 $pid
    kill -INT $pid
    check second_signal_ends_it wait_for '! kill -0 $pid 2>/dev/null'
    exec 4>&-
    wait $pid || :
    for signal in TERM HUP; do
        "$TINYLLM" chat "$m" --ignore-eos -c 200000 -q <"$tmp/fifo" >"$tmp/out" 2>"$tmp/err" &
        pid=$!
        exec 4>"$tmp/fifo"
        echo "hi" >&4
        wait_for '[ "$(wc -c <"$tmp/out")" -gt 20 ]'
        kill -$signal $pid
        check "ends_with_$signal" wait_for '! kill -0 $pid 2>/dev/null'
        exec 4>&-
        wait $pid || :
    done
fi
