#!/bin/sh
# SPDX-License-Identifier: MIT
# chat: conversations over pipes and on a terminal, with tiny random models.
. tests/e2e/lib.inc

m=$tmp/m.gguf
mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
tiny="--layers 2 --embd 64 --heads 4 --kv-heads 2 --chat-template"
form='{% for m in messages %}<|bos|>{{ m.role }}: {{ m.content }}<|im_end|>{% endfor %}{% if add_generation_prompt %}<|bos|>{% endif %}'
mkmodel "$m" $tiny "$form"
same="--temp 0 --ignore-eos -n 8"

# chat LINES ARGS: the lines, printf's way, to standard input
chat() {
    rc=0 lines=$1
    shift
    printf "$lines" | ${RUNNER:-} "$TINYLLM" chat "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
}
# The text of answer N, of the JSON in $tmp/out; a number of it.
text() { sed -n "${1}s/^{\"text\": \(\".*\"\), \"tokens\".*/\1/p" "$tmp/out"; }
number() { sed -n "${1}s/.*\"$2\": \([0-9]*\).*/\1/p" "$tmp/out"; }
answers() { [ "$(wc -l <"$tmp/out")" = "$1" ]; }

# ---- lines
run chat "$m"
check no_input eval 'exits 0 && silent out'
chat 'the end' "$m" $same --json
check last_line_without_end eval 'exits 0 && answers 1'
one=$(text 1)
check one_answer [ -n "$one" ]
run run "$m" --chat -p "the end" $same --json
check same_as_run [ "\"$(json text)\"" = "$one" ]
chat '/set temp 0\r\n/set n 8\r\n/set ignore-eos\r\nthe end\r\n/quit\r\nx\r\n' "$m" --json
check line_ends_of_commands eval 'exits 0 && answers 1 && [ "$(text 1)" = "$one" ]'
chat 'the end\r\n\n  \n' "$m" $same --json
check line_ends_and_blank_lines eval 'exits 0 && answers 1 && [ "$(text 1)" = "$one" ]'
chat 'the end\n' "$m" $same -q
check text_alone eval 'exits 0 && silent err && [ "$(tail -c 1 "$tmp/out")" = "" ] && ! out_has "> "'
chat 'a\377b\300\n\nx\000y\n' "$m" $same --json
check any_bytes eval 'exits 0 && answers 2'
printf 'a\377b\300\n/save %s\n' "$tmp/bytes.json" | ${RUNNER:-} "$TINYLLM" chat "$m" $same -q >"$tmp/out" 2>"$tmp/err"
check any_bytes_are_saved_as_text grep -q "$(printf '"a\357\277\275b\357\277\275"')" "$tmp/bytes.json"
awk 'BEGIN { for (i = 0; i < 131072; i++) printf "the end "; print "" }' >"$tmp/long"
rc=0; ${RUNNER:-} "$TINYLLM" chat "$m" $same <"$tmp/long" >"$tmp/out" 2>"$tmp/err" || rc=$?
check megabyte eval 'exits 1 && silent out && [ "$(grep -c "^tinyllm: " "$tmp/err")" = 1 ]'
chat '//the end\n' "$m" $same --json
slash=$(text 1)
chat '/the end\n' "$m" $same --json --no-commands
check slash_as_text eval 'exits 0 && [ -n "$slash" ] && [ "$(text 1)" = "$slash" ]'

# ---- turns
chat 'one\ntwo\nthree\n/stats\n' "$m" $same --json
check kept_between_turns eval 'exits 0 && answers 3 && [ "$(number 1 kept_tokens)" = 0 ] &&
    [ "$(number 2 kept_tokens)" -ge "$(number 1 prompt_tokens)" ] && [ "$(number 3 kept_tokens)" -ge "$(number 2 prompt_tokens)" ]'
check stats eval 'err_has "last answer: $(number 3 kept_tokens) tokens of the prompt kept, "'
talk=$tmp/talk.json
printf 'one\ntwo\nthree\n/save %s\nfour\n' "$talk" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json --system be >"$tmp/out" 2>"$tmp/err"
third=$(text 3) fourth=$(text 4)
printf '/load %s\nfour\n' "$talk" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json >"$tmp/out" 2>"$tmp/err"
check load_goes_on eval '[ -n "$fourth" ] && [ "$(text 1)" = "$fourth" ] && [ "$(number 1 kept_tokens)" = 0 ]'
printf '/load %s\n/retry\n' "$talk" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json >"$tmp/out" 2>"$tmp/err"
check load_and_retry [ "$(text 1)" = "$third" ]
check file_is_a_template_case eval '"$TINYLLM" template "$m" --input "$talk" | grep -q "system: be"'
cp "$talk" "$tmp/before.json"
printf '/load %s\n/save %s\n' "$talk" "$talk" | ${RUNNER:-} "$TINYLLM" chat "$m" -q 2>/dev/null
check save_what_was_loaded cmp -s "$talk" "$tmp/before.json"
chat 'one\ntwo\n/undo\ntwo\n/retry\n' "$m" $same --json
check undo_and_retry eval 'exits 0 && answers 4 && [ "$(text 2)" = "$(text 3)" ] && [ "$(text 2)" = "$(text 4)" ]'
chat 'one\nsix\n/edit two\n/reset\none\ntwo\n' "$m" $same --json
check edit_and_reset eval 'answers 5 && [ "$(text 3)" = "$(text 5)" ] && [ "$(text 1)" = "$(text 4)" ]'
chat 'one\n/retry\n/undo\none\n' "$m" --ignore-eos -n 8 --seed 5 --json
check retry_has_another_seed eval '[ "$(text 1)" != "$(text 2)" ] && [ "$(text 1)" = "$(text 3)" ]'
chat '/set temp 0\n/set ignore-eos\n/set n 8\nthe end\n' "$m" --json
check set eval 'exits 0 && [ "$(text 1)" = "$one" ]'
chat '/set temp -1\n/set tmep 1\n/set logit-bias 400=1\n/set think no\n/foo\n/stat\n/undo\n/save\n/tool x\n/edit\n' "$m"
check wrong_commands eval 'exits 1 && silent out && [ "$(grep -c "^tinyllm: " "$tmp/err")" = 10 ] && err_has "did you mean /stats?"'
chat '/help\n/set\n' "$m" -q
check help_lists_all eval 'exits 0 && [ "$(grep -c "^# /" "$tmp/err")" = "$(grep -c "^CHAT_COMMAND(" src/cmd/chat_commands.def)" ] && err_has "# top-k"'
chat '/set temp 0.25\n/set temp\n/set n\n/set think off\n/set stop x y\n/set\n' "$m" -q
check set_shows_values eval 'exits 0 && grep -q "^# temp  *0.25: temperature" "$tmp/err" && grep -q "^# n-predict  *-1: " "$tmp/err" &&
    grep -q "^# think  *off$" "$tmp/err" && grep -q "^# stop  *x y$" "$tmp/err" && grep -q "^# ignore-eos  *off$" "$tmp/err" && grep -q "^# top-k  *40$" "$tmp/err"'
chat '/set foo 1\n/set tpo-k 1\n/set --top-p x\n' "$m" -q
check set_names_settings eval 'err_has "there is no setting foo (/set lists them)" && err_has "there is no setting tpo-k; did you mean top-k?" && ! err_has "unknown option"'
chat '/set temp 0.25\n/set n 7\n/set ignore-eos\n/set --top-k 3\n/set temp -1\n' "$m" -q
check set_tells_the_new_value [ "$(tr -s ' ' <"$tmp/err" | grep '^#')" = "# temp 0.25
# n-predict 7
# ignore-eos on
# top-k 3" ]
printf '[{"role": "user", "content": "one"}, {"role": "assistant", "content": "1"}, {"role": "user", "content": "two\\nlines"}, {"role": "assistant", "content": "%s"},
    {"role": "user", "content": "three"}]' "$(awk 'BEGIN { for (i = 0; i < 40; i++) printf "äb " }')" >"$tmp/stands.json"
chat "/load $tmp/stands.json\n" "$m" -q
check load_shows_where_it_stands eval 'exits 0 && grep -q "^# loaded: 5 messages, 3 turns, [1-9][0-9]* of 512 tokens" "$tmp/err" && ! err_has one && err_has "  user: two lines" &&
    grep -q "^#   assistant: \(äb \)\{21\}ä\.\.\.$" "$tmp/err" && err_has "  user: three" && err_has "/retry asks it again"'
chat '/help\n' "$m" -q
check help_fits_80_columns eval 'exits 0 && ! grep -q "^.\{81\}" "$tmp/err"'
chat '/set dry-sequence-breaker\n/set dry-sequence-breaker none\n/set dry-sequence-breaker\n' "$m" -q
check breakers_of_the_default eval 'exits 0 && err_has "breaker default: " && err_has "breaker none: "'
chat '/quit\nthe end\n' "$m" $same
check quit eval 'exits 0 && silent out'
chat '/system be\nthe end\n' "$m" $same --json
second=$(text 1)
chat 'the end\n' "$m" $same --json --system be
check system_by_command eval '[ "$(text 1)" = "$second" ] && [ "$second" != "$one" ]'

# ---- files that are no conversations
printf '/save %s/none/x.json\nthe end\n' "$tmp" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json -q >"$tmp/out" 2>"$tmp/err"
check save_fails eval 'one_line && err_has none/x.json && [ "$(text 2)" = "$one" ]'
n=0
for bad in '' '3' '{"messages": 1}' '{"messages": [1]}' '{"messages": [{"role": "user"}]}' '{"messages": [{"role": "king", "content": ""}]}' \
    '{"messages": [], "messages": []}' '{"messages": [{"role": "user", "content": 1}]}' \
    '{"messages": [], "tools": {}}' '{"messages": [{"role": "user", "content": "x", "tool_calls": {}}]}' '{"messages": []} x' '{"massages": []}' \
    '{"messages": [{"role": "user", "content": null}]}' '[{"role": "user", "content": [1]}]' '[{"role": 1, "content": ""}]' '[{"content": ""}]' \
    '[{"role": "user", "content": [{"type": "text", "text": 1}]}]' '[{"role": "user", "content": "x", "name": ["x"]}]' '[{"role": "user", "content": "x"]'; do
    n=$((n + 1))
    printf '%s' "$bad" >"$tmp/bad.json"
    printf 'the end\n/load %s\n/retry\n' "$tmp/bad.json" | ${RUNNER:-} "$TINYLLM" chat "$m" $same -q --json >"$tmp/out" 2>"$tmp/err"
    check "bad_conversation_$n" eval 'one_line && err_has bad.json && [ "$(text 1)" = "$one" ] && grep -q "^{\"error\": " "$tmp/out" && [ "$(text 3)" = "$one" ]'
done

# ---- conversations of other programs: all members stay, and the template gets them; parts of a content are lines
printf '%s' '{% for m in messages %}<|bos|>{{ m.role }}{{ m.name }}{{ m.tool_call_id }}{% if m.tool_calls %}{{ m.tool_calls[0].id }}{% endif %}{{ m.reasoning_content }}: {{ m.content }}<|im_end|>{% endfor %}' >"$tmp/all.jinja"
cat >"$tmp/openai.json" <<'EOF'
{"messages": [{"role": "developer", "content": "be"}, {"content": [{"type": "text", "text": "a\u0041"}, {"type": "text", "text": "b"}], "role": "user",  "name": "ada"}, {"role": "assistant", "content": null, "tool_calls": [{"id": "call_1", "type": "function", "function": {"name": "rain", "arguments": "{}"}}], "reasoning_content": "hm", "refusal": null}, {"role": "tool", "tool_call_id": "call_1", "content": "42"}], "tools": [], "model": "m", "temperature": 0.5}
EOF
printf '/load %s\n/save %s\n/retry\n' "$tmp/openai.json" "$talk" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json --chat-template "$tmp/all.jinja" >"$tmp/out" 2>"$tmp/err"
check openai_form eval '! grep -q "^tinyllm" "$tmp/err" && cmp -s "$talk" "$tmp/openai.json" && [ -n "$(text 1)" ]'
sed 's/\[{"type": "text", "text": "a.u0041"}, {"type": "text", "text": "b"}\]/"aA\\nb"/; s/"content": null/"content": ""/; s/^{"messages": //; s/\], "tools".*/]/' "$tmp/openai.json" >"$tmp/plain.json"
one_text=$(text 1)
printf '/load %s\n/retry\n/edit\n' "$tmp/plain.json" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json --chat-template "$tmp/all.jinja" >"$tmp/out" 2>"$tmp/err"
check content_as_parts_or_text eval '[ "$(text 1)" = "$one_text" ] && grep -q "^.{.role" "$tmp/plain.json"'
printf '%s' '{% for m in messages %}{{ m.role }}{{ m.name }}{{ m.tool_call_id }}{% if m.tool_calls %}{{ m.tool_calls[0].id }}{% endif %}{{ m.reasoning_content }}: {{ m.content }}|{% endfor %}' >"$tmp/all.jinja"
sed 's/, "model".*/}/' "$talk" >"$tmp/case.json"
check template_gets_all [ "$("$TINYLLM" template "$tmp/all.jinja" --input "$tmp/case.json" 2>&1)" = "developer: be|userada: [{'type': 'text', 'text': 'aA'}, {'type': 'text', 'text': 'b'}]|assistantcall_1hm: None|toolcall_1: 42|" ]
printf '[{"role": "user", "content": "x"},\n{"role": "user", "content": [{"type": "text", "text": "x"}, {"type": "image_url", "image_url": {}}]}]' >"$tmp/bad.json"
printf '/load %s\n' "$tmp/bad.json" | ${RUNNER:-} "$TINYLLM" chat "$m" -q >"$tmp/out" 2>"$tmp/err"
check picture_is_refused eval 'one_line && err_has "bad.json: line 2: message 2: \"content\": part 2 is of type \"image_url\""'
printf '%s' "{% if messages | length > 1 %}{{ raise_exception('one at a time') }}{% endif %}$form" >"$tmp/one.jinja"
printf '[{"role": "user", "content": "x"}, {"role": "user", "content": "x"}]' >"$tmp/bad.json"
printf 'the end\n/load %s\n/retry\n' "$tmp/bad.json" | ${RUNNER:-} "$TINYLLM" chat "$m" $same --json -q --chat-template "$tmp/one.jinja" >"$tmp/out" 2>"$tmp/err"
check template_refuses_a_file eval 'one_line && err_has "one at a time" && err_has bad.json && [ "$(text 3)" = "$one" ]'
chat '/system x y\n/system\n/system ""\n/system\n' "$m"
check system_is_shown eval 'exits 0 && err_has "# system: x y" && err_has "# there is no system message"'

# ---- the end of the context
chat 'one\ntwo\nthe end of the world and all the other things that are in it and more of them\n/undo\nsix\n' "$m" $same -c 96 --json
check overflow_is_refused eval 'exits 1 && answers 4 && err_has "more than the context of 96" && [ -n "$(text 2)" ] && sed -n 3p "$tmp/out" | grep -q "^{\"error\""'
lines='one\ntwo\nthree\nfour\nfive\nsix\nseven\n'
chat "$lines" "$m" $same -c 96 --overflow shift --system be --json
check overflow_shifts eval 'exits 0 && answers 7 && grep -q "\"dropped_turns\": [1-9]" "$tmp/out" && err_has "forgotten"'
chat "$lines"'/save '"$talk"'\n' "$m" $same -c 96 --overflow shift --system be --json
check shift_keeps_system_and_whole_turns eval 'grep -q "^{\"messages\": \[{\"role\": \"system\", \"content\": \"be\"}, {\"role\": \"user\"" "$talk" && grep -q seven "$talk" && ! grep -q "\"one\"" "$talk"'
last=$(text 7)
printf '/load %s\n/retry\n' "$talk" | ${RUNNER:-} "$TINYLLM" chat "$m" $same -c 96 --overflow shift --json >"$tmp/out" 2>"$tmp/err"
check shifted_is_as_if_new [ "$(text 1)" = "$last" ]

# 200 turns, of which as few as possible are forgotten: with one less forgotten it would be too long
awk 'BEGIN { printf "["; for (i = 1; i <= 200; i++) printf "{\"role\": \"user\", \"content\": \"the %s of %d\"},\n{\"role\": \"assistant\", \"content\": \"end\"}%s\n", i % 3 ? "end" : "", i, i < 200 ? "," : ""; print "]" }' >"$tmp/long.json"
printf '/load %s\nend\n' "$tmp/long.json" | ${RUNNER:-} "$TINYLLM" chat "$m" $same -c 512 --overflow shift --json >"$tmp/out" 2>"$tmp/err"
n=$(number 1 dropped_turns) last=$(text 1)
check many_turns eval '[ "$n" -gt 100 ] && [ "$n" -lt 200 ]'
for less in 0 1; do
    awk -v n=$((n - less)) 'NR == 1 && n { print "["; next } NR > 2 * n' "$tmp/long.json" >"$tmp/shorter.json"
    printf '/load %s\nend\n' "$tmp/shorter.json" | ${RUNNER:-} "$TINYLLM" chat "$m" $same -c 505 --overflow shift -n 1 --json >"$tmp/out" 2>"$tmp/err"
    check "many_turns_less_$less" [ "$(number 1 dropped_turns)" = $less ]
done
chat "one\ntwo\n$(awk 'BEGIN { for (i = 0; i < 50; i++) printf "the end " }')\n/save $talk\n" "$m" $same -c 64 --overflow shift --json
check question_too_long_forgets_nothing eval 'exits 1 && err_has "fewer words" && grep -q "\"one\"" "$talk"'

# ---- templates
mkmodel "$tmp/none.gguf" --layers 1 --embd 64
run chat "$tmp/none.gguf"
check no_template refused 1 "no chat template: give one with --chat-template"
printf '%s' "$form" >"$tmp/form.jinja"
chat 'the end' "$tmp/none.gguf" $same --json --chat-template "$tmp/form.jinja"
check template_from_file eval 'exits 0 && answers 1'
run chat "$m" --chat-template "$tmp/none.jinja"
check template_missing refused 1 none.jinja
printf '{{' >"$tmp/bad.jinja"
run chat "$m" --chat-template "$tmp/bad.jinja"
check template_broken refused 1 "line 1"
printf '%s' "{% if messages[0].role == 'system' %}{{ raise_exception('no system') }}{% endif %}$form" >"$tmp/strict.jinja"
run chat "$m" --chat-template "$tmp/strict.jinja" --system be
check template_refuses refused 1 "no system"
chat '/system be\nthe end\n' "$m" $same --json --chat-template "$tmp/strict.jinja"
check refused_system_is_dropped eval 'exits 1 && err_has "no system" && [ "$(text 2)" = "$one" ]'
# An answer ends with what the template puts behind answers, even where no list knows the token. 397 is <|bos|>.
printf '%s' '{% for m in messages %}{{ m.role }}: {{ m.content }}<|bos|>{% endfor %}' >"$tmp/end.jinja"
chat 'the end' "$m" --logit-bias 397=100 -n 5 --json --chat-template "$tmp/end.jinja"
check template_names_the_end eval 'out_has "\"finish\": \"stop\"" && [ "$(number 1 tokens)" = 0 ]'
chat 'the end' "$m" --logit-bias 397=100 -n 5 --json
check other_control_tokens_do_not_end eval '[ "$(number 1 tokens)" = 5 ] && [ "$(text 1)" = "\"\"" ]'

# ---- thoughts and tools
printf '%s<think>\n' "$form" >"$tmp/think.jinja"
chat 'the end' "$m" $same --json --chat-template "$tmp/think.jinja"
check thoughts_in_json eval 'exits 0 && grep -q "^{\"text\": \"\", \"thinking\": \"..*\"" "$tmp/out"'
chat 'the end' "$m" $same -q --chat-template "$tmp/think.jinja" --think hide
check thoughts_hidden eval 'exits 0 && silent out'
printf '%s' "$form"'{% if enable_thinking is defined %}{{ enable_thinking }}{% endif %}' >"$tmp/switch.jinja"
for how in auto on off; do
    chat 'the end' "$m" $same --json --chat-template "$tmp/switch.jinja" --think $how
    eval "$how=\$(number 1 prompt_tokens)"
done
check thinking_switch eval '[ "$auto" -lt "$on" ] && [ "$on" -lt "$off" ]'   # nothing, True, False
chat '' "$m" --think off
check switch_without_effect err_has "--think off changes nothing"
run chat "$m" --think maybe
check think_word refused 2 "'maybe' is not auto, on, off or hide"
run chat "$m" --overflow cut
check overflow_word refused 2 "'cut' is not stop or shift"
printf '[{"type": "function", "function": {"name": "rain"}}]' >"$tmp/tools.json"
printf '{{ tools[0].function.name }}%s' "$form" >"$tmp/tools.jinja"
chat 'the end\n/tool 42\n/save '"$talk"'\n' "$m" $same --json --chat-template "$tmp/tools.jinja" --tools "$tmp/tools.json"
check tools eval 'exits 0 && answers 2 && grep -q "{\"role\": \"tool\", \"content\": \"42\"}" "$talk" && grep -q "\"tools\": \[{\"type\"" "$talk"'
printf '{"a": 1}' >"$tmp/tools.json"
run chat "$m" --tools "$tmp/tools.json"
check tools_are_a_list refused 1 "tools.json: line 1"

call='<tool_call>{"name": "rain"\, "arguments": {}}</tool_call>'
chat 'the end\n' "$m" --choice "$call" --json
check tool_calls eval 'exits 0 && grep -qF "\"tool_calls\": [\"{\\\"name\\\": \\\"rain\\\", " "$tmp/out" && [ "$(number 1 kept_tokens)" = 0 ] && grep -q "^{\"text\": \"\"," "$tmp/out"'

# Parts that begin with control tokens. say ID...: biases that make an answer of these tokens: each of them is used once, as
# the penalty takes it away then. A number with p is that of a token that the prompt has once, too.
say() {
    n=$((10 * $#)) biases="--temp 0 --frequency-penalty 100 --repeat-last-n -1 -n 16"
    for id; do
        case $id in *p) biases="$biases --logit-bias ${id%p}=$((n + 100))" ;; *) biases="$biases --logit-bias $id=$n" ;; esac
        n=$((n - 10))
    done
}
parts=$tmp/parts.gguf
mkmodel "$parts" $tiny "$form" --vocab 420 $(printf -- '--control %s ' '<think>' '</think>' '[TOOL_CALLS]' '[ARGS]') --word 'why so' --word yes --word rain --word '{"a": 1}' --word '<tool_call>' --word '[{"name": "f"}, {"name": "g"}]'
end=419p   # <|im_end|>; the others from 287 on
say 287 291 288 292 $end
chat 'Q\n/save '"$talk"'\n' "$parts" $biases --json
check thought_by_token eval 'exits 0 && out_has "{\"text\": \"yes\", \"thinking\": \"why so\", \"tokens\": 4," &&
    grep -qF "{\"role\": \"assistant\", \"content\": \"yes\", \"reasoning_content\": \"why so\"}" "$talk"'
chat 'Q\n' "$parts" $biases -q
check thought_by_token_shown [ "$(cat "$tmp/out")" = "<think>why so</think>yes" ]
chat 'Q\n' "$parts" $biases -q --think hide
check thought_by_token_hidden [ "$(cat "$tmp/out")" = yes ]
say 292 289 293 290 294 $end
chat 'Q\n/tool wet\n/save '"$talk"'\n' "$parts" $biases --json
check call_by_token eval 'exits 0 && head -n 1 "$tmp/out" | grep -qF "{\"text\": \"yes\", \"tool_calls\": [\"{\\\"name\\\": \\\"rain\\\", \\\"arguments\\\": {\\\"a\\\": 1}}\"], "'
check call_is_kept eval 'grep -qF "\"content\": \"yes\", \"tool_calls\": [{\"id\": \"call00010\", \"type\": \"function\", \"function\": {\"name\": \"rain\", \"arguments\": {\"a\": 1}}}]}, {\"role\": \"tool\", \"tool_call_id\": \"call00010\", \"name\": \"rain\", \"content\": \"wet\"}" "$talk"'
say 289 296 $end
chat 'Q\n/tool 1\n/save '"$talk"'\n' "$parts" $biases --json
check list_of_calls eval 'head -n 1 "$tmp/out" | grep -qF "\"tool_calls\": [\"{\\\"name\\\": \\\"f\\\"}\", \"{\\\"name\\\": \\\"g\\\"}\"]" && grep -qF "\"tool_call_id\": \"call00010\", \"name\": \"f\"" "$talk"'
chat 'Q\n' "$parts" $biases --json -n 2
check call_that_is_cut_is_none eval 'exits 0 && ! out_has tool_calls'
say 295 292 $end
chat 'Q\n' "$parts" $biases --json
check marks_that_are_text eval 'out_has "{\"text\": \"\", " && ! out_has tool_calls'   # a call that has no end

# Calls with fields, as text and as control tokens: of Mistral, DeepSeek (three ages) and Kimi-K2.
rain='"tool_calls": ["{\"name\": \"rain\", \"arguments\": {\"a\": 1}}"'
for two in '[TOOL_CALLS]rain[CALL_ID]call12345[ARGS]{"a": 1}' '[TOOL_CALLS]rain[ARGS]{"a": 1}' \
    '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>rain<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜><｜tool▁calls▁end｜>' \
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.rain:0<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|><|tool_calls_section_end|>'; do
    chat 'the end\n' "$m" --choice "$(printf '%s' "$two" | sed 's/,/\\,/g')" --json
    check "fields_of_calls_$(printf '%s' "$two" | cut -c 1-60)" eval 'exits 0 && out_has "{\"text\": \"\", $rain], "'
done
age='function<｜tool▁sep｜>rain\n```json\n{"a": 1}\n```' two='<｜tool▁call▁begin｜>'$age'<｜tool▁call▁end｜>'
printf 'root ::= "%s"' "$(printf '%s' "<｜tool▁calls▁begin｜>$two\\n$two<｜tool▁calls▁end｜>" | sed 's/"/\\"/g')" >"$tmp/fields.gbnf"
chat 'the end\n' "$m" --grammar "$tmp/fields.gbnf" --json
check fields_of_two_calls eval 'exits 0 && out_has "$rain, ${rain#*[}], "'
mkmodel "$tmp/mistral.gguf" $tiny "$form" --vocab 420 $(printf -- '--control %s ' '[TOOL_CALLS]' '[CALL_ID]' '[ARGS]') --word rain --word abc --word '{"a": "[ARGS]"}'
say 287 290 288 291 289 292 $end
chat 'Q\n/save '"$talk"'\n' "$tmp/mistral.gguf" $biases --json
check fields_that_are_tokens eval 'exits 0 && out_has "\"tool_calls\": [\"{\\\"name\\\": \\\"rain\\\", \\\"arguments\\\": {\\\"a\\\": \\\"[ARGS]\\\"}}\"], "'

# Thoughts are free, and what follows them is the grammar's: marks that are control tokens, or text, or headers.
free() { exits 0 && out_has "{\"text\": \"$1\", \"thinking\": \"$2\", " && out_has '"finish": "stop"'; }
say 287 291 288 293
chat 'Q\nQ\n/save '"$talk"'\n' "$parts" $biases --json --choice no,maybe
check thoughts_before_a_grammar eval 'exits 0 && answers 2 && [ "$(grep -c "^{\"text\": \"\(no\|maybe\)\", \"thinking\": \"why so\"" "$tmp/out")" = 2 ]'
check thoughts_before_a_grammar_are_kept grep -q '"content": "\(no\|maybe\)", "reasoning_content": "why so"' "$talk"
for drafts in "--speculate lookup" "--draft $parts"; do
    cp "$tmp/out" "$tmp/plain"
    chat 'Q\nQ\n' "$parts" $biases --json --choice no,maybe $drafts
    check "free_thoughts_with_drafts_${drafts%% /*}" eval '[ "$(text 1)" = "$(sed -n "1s/^{\"text\": \(\".*\"\), \"tokens\".*/\1/p" "$tmp/plain")" ] && answers 2'
done
chat 'Q\n' "$parts" $biases --json --choice no,maybe --think off
check no_thoughts_no_waiting eval 'exits 0 && ! out_has thinking && grep -q "^{\"text\": \"\(no\|maybe\)\"" "$tmp/out"'
chat 'Q\n' "$parts" $biases -q --choice no
check thoughts_and_constrained_text_shown [ "$(cat "$tmp/out")" = "<think>why so</think>no" ]
say 287 291 $end
chat 'Q\n' "$parts" $biases --json --choice no
check thought_without_end_is_closed free no "why so"
say 287 291
chat 'Q\n' "$parts" $biases --json --choice no -n 2
check thought_that_fills_the_answer eval 'exits 0 && out_has "{\"text\": \"\", \"thinking\": \"why so\", \"tokens\": 2," && out_has "\"finish\": \"length\""'
for first in 292 289 $end; do   # text, a call, the end: the grammar holds from the first token
    say $first 291
    chat 'Q\n' "$parts" $biases --json --choice no,maybe --think off
    cp "$tmp/out" "$tmp/off"
    chat 'Q\n' "$parts" $biases --json --choice no,maybe
    check "grammar_at_once_$first" eval 'exits 0 && ! out_has thinking && [ "$(text 1)" = "$(sed -n "1s/^{\"text\": \(\".*\"\), \"tokens\".*/\1/p" "$tmp/off")" ]'
done
mkmodel "$tmp/texts.gguf" $tiny "{% set mark = '<think>' %}$form" --vocab 420 --word '<think>' --word ' <thi' --word nk --word 'so</think>x' --word 'so</th' --word ink --word why
run tokenize "$tmp/texts.gguf" --no-bos --ids -p '<think>'
open=$(cat "$tmp/out")
say $open $((open + 6)) $((open + 3))
chat 'Q\n' "$tmp/texts.gguf" $biases --json --choice no
check text_behind_a_mark_is_not_free free no whyso

# Messages with headers. <|end|> ends one and not the answer.
oss=$tmp/oss.gguf
mkmodel "$oss" $tiny "$form"'<|start|>assistant' --vocab 420 $(printf -- '--control %s ' '<|start|>' '<|channel|>' '<|message|>' '<|end|>' '<|return|>' '<|call|>') \
    --word analysis --word final --word 'why so' --word yes --word ' to=functions.rain' --word commentary --word '{"a": 1}' --word assistant
printf '%s' "$form"'<|start|>assistant<|channel|>analysis<|message|>' >"$tmp/analysis.jinja"
say 295 290 287p 300p 288p 294 289p 296 291
chat 'Q\n/save '"$talk"'\n' "$oss" $biases --json --chat-template "$tmp/analysis.jinja"
check channels eval 'exits 0 && out_has "{\"text\": \"yes\", \"thinking\": \"why so\", \"tokens\": 8, " && out_has "\"finish\": \"stop\"" &&
    grep -qF "\"content\": \"yes\", \"thinking\": \"why so\"}" "$talk"'
chat 'Q\n' "$oss" $biases -q --chat-template "$tmp/analysis.jinja"
check channels_shown [ "$(cat "$tmp/out")" = "why so<|end|>
yes" ]
chat 'Q\n' "$oss" $biases --json --chat-template "$tmp/analysis.jinja" --choice no
check channels_before_a_grammar free no "why so"
say 297 288 298 289 299 292
chat 'Q\n/tool wet\n/save '"$talk"'\n' "$oss" $biases --json
check channel_with_recipient eval 'exits 0 && head -n 1 "$tmp/out" | grep -qF "{\"text\": \"\", \"tool_calls\": [\"{\\\"name\\\": \\\"rain\\\", \\\"arguments\\\": {\\\"a\\\": 1}}\"], " &&
    grep -qF "\"tool_call_id\": \"call00010\", \"name\": \"rain\"" "$talk"'

# ---- grammars and the cache
chat 'the end\nthe end\n' "$m" --choice yes,no -q
check choice_in_every_turn eval 'exits 0 && answers 2 && ! grep -qv "^\(yes\|no\)$" "$tmp/out"'
chat 'one\ntwo\n' "$m" $same --json --cache "$tmp/cache"
second=$(text 2) n=$(number 2 prompt_tokens)
chat 'one\n' "$m" $same --json --cache "$tmp/cache"
check cache eval 'exits 0 && [ "$(number 1 kept_tokens)" = $(($(number 1 prompt_tokens) - 1)) ]'
chat 'one\ntwo\n' "$m" $same --json --cache "$tmp/cache"
check cached_is_the_same eval '[ "$(text 2)" = "$second" ] && [ "$(number 2 prompt_tokens)" = "$n" ]'
printf x >"$tmp/cache"
chat 'one\ntwo\n' "$m" $same --json --cache "$tmp/cache"
check bad_cache_is_told eval 'exits 0 && err_has "# warning: " && [ "$(text 2)" = "$second" ]'

# ---- drafts: the same texts, whatever was taken back or forgotten
mkmodel "$tmp/draft.gguf" --layers 1 --embd 64 --heads 4 --kv-heads 2
lines='the end of the end of the end\none\n/retry\n/undo\ntwo\n/edit the end\nthe end of the end of the end\n'
for ctx in 4096 160; do
    for how in "" "--speculate lookup" "--draft $tmp/draft.gguf" "--draft $m --draft-max 3"; do
        chat "$lines" "$m" --temp 0.8 --seed 3 --ignore-eos -n 40 -c $ctx --overflow shift --json $how
        sed 's/, "prefill_tok_s".*//' "$tmp/out" >"$tmp/now"
        [ "$how" ] || cp "$tmp/now" "$tmp/plain"
        check "drafts_${ctx}_$(echo "$how" | sed "s|$tmp/||; s/[^a-z0-9]/_/g")" eval 'exits 0 && answers 6 && cmp -s "$tmp/now" "$tmp/plain"'
    done
    [ $ctx = 160 ] && check drafts_meet_shift grep -q '"dropped_turns": [1-9]' "$tmp/plain"
done
chat 'the end of the end of the end\n/stats\n' "$m" $same -n 100 --json --draft "$m"
check draft_figures eval 'exits 0 && [ $(($(number 1 passes) + $(number 1 accepted))) = 99 ] && [ "$(number 1 accepted)" -gt 0 ] &&
    err_has "drafts: of the last answer $(number 1 accepted) of $(number 1 drafted) drafted tokens right, of all "'
run chat "$m" --speculate model
check draft_without_model refused 2 "--draft FILE"
mkmodel "$tmp/other.gguf" --layers 1 --embd 64 --vocab 500
run chat "$m" --draft "$tmp/other.gguf"
check draft_of_another_vocabulary refused 1 "draft model: its vocabulary"

# ---- interrupts and closed output
if [ -z "${RUNNER:-}" ] && mkfifo "$tmp/in" 2>/dev/null; then
    "$TINYLLM" chat "$m" --ignore-eos -c 200000 -q <"$tmp/in" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    exec 4>"$tmp/in"
    echo "the end" >&4
    wait_text() { for _ in $(seq 100); do [ "$(wc -c <"$tmp/$1")" -gt "$2" ] && break; sleep 0.1; done; }
    wait_text out 50
    kill -INT $pid
    for _ in $(seq 100); do [ "$(tail -c 1 "$tmp/out")" = "" ] && break; sleep 0.1; done
    printf '/undo\n' >&4
    wait_text err 0
    check interrupt_stops_the_answer eval 'kill -0 $pid && err_has "0 messages are left"'
    exec 4>&-
    rc=0; wait $pid || rc=$?
    check interrupted_chat_ends_well exits 0
    "$TINYLLM" chat "$m" $same -q </dev/null | head -n 1 >/dev/null
    (printf 'a\nb\nc\nd\n'; sleep 0.3; printf 'e\nf\n') | "$TINYLLM" chat "$m" $same -q 2>"$tmp/err" | head -n 1 >"$tmp/out"
    check closed_output_is_quiet silent err
    { { (printf 'a\nb\nc\nd\n'; sleep 0.3; printf 'e\nf\n') | "$TINYLLM" chat "$m" $same -q; echo $? >"$tmp/code"; } | head -n 1 >"$tmp/out"; } 2>"$tmp/err"
    check closed_output_ends_it eval '[ "$(cat "$tmp/code")" = 141 ] && silent err'   # 128 + SIGPIPE
else
    echo "skip interrupt_stops_the_answer: no fifo, or a runner"
fi

# ---- a terminal
if command -v script >/dev/null 2>&1 && [ -z "${RUNNER:-}" ]; then
    # What stty -a says of a terminal that is as it should be.
    cooked() { grep -Eq "(^|[ ;])icanon" "$tmp/out" && grep -Eq "(^|[ ;])echo([ ;]|.?$)" "$tmp/out"; }
    # keys COMMAND: types standard input at a terminal
    keys() { rc=0; (sleep 0.3; cat; sleep 0.5) | TERM=xterm script -qec "$1" /dev/null >"$tmp/out" 2>&1 || rc=$?; }
    printf 'the endx\177\r/stats\r\004' | keys "'$TINYLLM' chat '$m' $same"
    check terminal eval 'exits 0 && out_has "> the end" && out_has "# last answer" && out_has "Ctrl-D ends"'
    printf 'the end\r/quit\r' | keys "'$TINYLLM' '$m'"
    check model_alone_talks eval 'exits 0 && out_has "/help lists commands"'
    printf '' | keys "'$TINYLLM' '$tmp/none.gguf'"
    check model_alone_without_template out_has "tinyllm run MODEL"
    printf 'the end\033\rb"\r/quit\r' | XDG_STATE_HOME=$tmp/state keys "'$TINYLLM' chat '$m' $same --history"
    printf '\033[A\033[A\r\004' | XDG_STATE_HOME=$tmp/state keys "'$TINYLLM' chat '$m' $same --history"
    check history eval 'exits 0 && out_has "> the end" && [ "$(sed -n 1p "$tmp/state/tinyllm/history")" = "\"the end\\nb\\\"\"" ] && [ "$(wc -l <"$tmp/state/tinyllm/history")" = 3 ]'
    check history_is_private eval 'ls -ld "$tmp/state/tinyllm" | grep -q "^drwx------"'
    printf 'the end\r\004' | XDG_STATE_HOME=$m keys "'$TINYLLM' chat '$m' $same --history"
    check history_that_fails eval 'exits 0 && out_has "# warning: " && out_has "Not a directory"'
    printf 'the end\r42\r\r\004' | keys "'$TINYLLM' chat '$m' --choice '$call'"
    check results_of_tools eval 'exits 0 && [ "$(grep -c "result of rain" "$tmp/out")" -ge 3 ] && grep -q "$(printf "\033\\[2m")<tool_call>" "$tmp/out"'
    printf 'the end\r\004' | NO_COLOR=1 keys "'$TINYLLM' chat '$m' --choice '$call'"
    check no_color eval 'exits 0 && out_has "<tool_call>" && ! grep -q "$(printf "\033\\[2m")" "$tmp/out"'
    printf 'the end\r\004' | keys "stty cols 1 rows 2; '$TINYLLM' chat '$m' $same; echo rc \$?; stty -a"
    check terminal_of_one_column eval 'out_has "rc 0" && cooked'
    printf 'the end\r/stast\r/save %s\r\004' "$talk" | keys "stty cols 30; '$TINYLLM' chat '$m' --choice 'eleven twelve thirteen fourteen fifteen'"
    tr -d '\r' <"$tmp/out" >"$tmp/lines"
    check lines_break_between_words eval 'grep -qx "eleven twelve thirteen" "$tmp/lines" && grep -qx "fourteen fifteen" "$tmp/lines" &&
        grep -qx "tinyllm: unknown command" "$tmp/lines" && grep -qx "/stast; did you mean /stats?" "$tmp/lines" && grep -q "thirteen fourteen" "$talk"'
    (printf '\003/set n 3\r/stats\r\022et n'; sleep 0.4; printf '\r\022/set\007/undo\r\004') | keys "'$TINYLLM' chat '$m' $same"
    check ctrl_c_in_an_empty_line out_has "# Ctrl-D or /quit leaves"
    check ctrl_r eval 'exits 0 && out_has "(search: et n) " && [ "$(grep -c "^# n-predict" "$tmp/out")" = 2 ] && out_has "there is no question yet"'
    printf 'a\003\003the end\r/undo\r/edit\r\004' | keys "'$TINYLLM' chat '$m' $same"
    check ctrl_c_clears_the_line eval 'exits 0 && out_has "# the last question is taken back, 0 messages" && out_has "no question yet"'
    printf 'one\r/edit\r\003/stats\r/edit\r\001two \r/save %s\r\004' "$talk" | keys "'$TINYLLM' chat '$m' $same"
    check edit_that_is_left_takes_nothing eval 'exits 0 && out_has "tokens, 2 messages" && grep -q "\"two one\"" "$talk" && ! grep -q "\"one\"" "$talk"'
    printf 'x' | keys "(sleep 0.6; kill -TERM \$(cat '$tmp/pid')) & sh -c 'echo \$\$ >\"$tmp/pid\"; exec \"$TINYLLM\" chat \"$m\"'; stty -a"
    check a_signal_leaves_the_terminal_well cooked
    # Ctrl-C: the answer goes on until then. The shell that starts the program gets the signals, too.
    (printf 'the end\r'; sleep 0.5; printf '\003'; sleep 0.3; printf '/undo\r\004') | keys "trap : INT; '$TINYLLM' chat '$m' --ignore-eos -c 100000; echo rc \$?; stty -a"
    check ctrl_c_stops_the_answer eval 'out_has "# stopped: interrupted" && out_has "0 messages are left" && out_has "rc 0" && cooked'
    # Twice: the answer goes into a pipe that is full already, so that it cannot end in between.
    mkfifo "$tmp/full"
    fill="exec 5<>'$tmp/full'; cat /dev/zero >&5 & sleep 0.3; kill \$!"
    (sleep 0.5; printf 'the end\r'; sleep 0.5; printf '\003'; sleep 0.3; printf '\003'; sleep 0.3) | keys "trap : INT; $fill; '$TINYLLM' chat '$m' --ignore-eos -c 100000 >'$tmp/full'; echo rc \$?; stty -a"
    check ctrl_c_twice_ends_the_program eval 'out_has "rc 130" && ! out_has "stopped" && cooked'
else
    echo "skip terminal: no script, or a runner"
fi

# ---- answers that follow a grammar, each from its beginning
chat 'one\ntwo\nthree' "$m" --choice 'aye,no way' --temp 5 --top-k 0 --seed 1 --json
check constrained_answers eval 'exits 0 && answers 3 && [ "$(grep -cE "^.\"text\": \"(aye|no way)\", .*\"finish\": \"stop\"" "$tmp/out")" = 3 ]'
