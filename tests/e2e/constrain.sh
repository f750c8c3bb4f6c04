#!/bin/sh
# SPDX-License-Identifier: MIT
# run with --grammar and --choice on a tiny random model: texts follow, end where they should, and faults are told.
. tests/e2e/lib.inc

m=$tmp/m.gguf
${RUNNER:-} "$BUILD/tools/mkmodel" "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2 || { echo "FAIL mkmodel"; exit 1; }
g=$tmp/g.gbnf
grammar() { printf '%s\n' "$@" >"$g"; }

# Hot and random, without truncations: nothing but the grammar keeps the text in shape.
wild="--temp 5 --top-k 0 --top-p 1 --min-p 0"
grammar 'root ::= "[" item ("," item){1,3} "]"' 'item ::= [0-9]{1,3} | "\"" [a-z]* "\""'
ok=1 n=0
for seed in 1 2 3 4 5 6 7 8; do
    run run "$m" -p "the end" --grammar "$g" $wild --seed $seed -n 400 --json
    [ "$(json finish)" = stop ] || continue
    n=$((n + 1))
    run run "$m" -p "the end" --grammar "$g" $wild --seed $seed -n 400 -q
    grep -qxE '\[([0-9]{1,3}|"[a-z]*")(,([0-9]{1,3}|"[a-z]*")){1,3}\]' "$tmp/out" || { ok=0; cat "$tmp/out"; }
done
check texts_follow_the_grammar eval '[ $ok = 1 ] && [ $n -ge 4 ]'

grammar 'root ::= "the" " end"'
run run "$m" -p x --grammar "$g" --ignore-eos --json
check one_text eval 'json_is text "the end" && json_is finish stop'
run run "$m" -p x --grammar "$g" --json -n 1
check cut_text_has_length json_is finish length
run run "$m" -p x --choice "" -q
check empty_choice refused 2 "--choice"
run run "$m" -p x --choice "a,,b" -q
check empty_choice_among refused 2 "one is empty"
ok=1
for seed in 1 2 3 4 5 6; do
    run run "$m" -p x --choice 'no"\,way\,yes,b a,\x' $wild --seed $seed -q
    grep -qxF -e 'no",way,yes' -e 'b a' -e '\x' "$tmp/out" || { ok=0; cat "$tmp/out"; }
done
check choices eval '[ $ok = 1 ]'
run run "$m" -p x --choice a --grammar "$g"
check one_constraint_at_a_time refused 2 "cannot be given together"
run run "$m" -p x --grammar "$tmp/none"
check missing_grammar refused 1 "$tmp/none"
grammar 'root ::= "a"' '  | nowhere'
run run "$m" -p x --grammar "$g"
check broken_grammar refused 1 "$g: grammar: line 2, column 5: there is no rule 'nowhere'"
grammar 'root ::= root "a" | "b"'
run run "$m" -p x --grammar "$g"
check left_recursion refused 1 "'root' is left-recursive"

# Schemas and regular expressions.
printf '%s' '{"type":"object","properties":{"n":{"type":"integer","minimum":3,"maximum":57},"s":{"enum":["a","b"]}},"required":["n"]}' >"$tmp/s.json"
ok=1
for seed in 1 2 3 4 5 6; do
    run run "$m" -p x --json-schema "$tmp/s.json" $wild --seed $seed -q
    grep -qxE '\{"n": ?([3-9]|[1-4][0-9]|5[0-7])(, ?"s": ?"[ab]")?\}' "$tmp/out" || { ok=0; cat "$tmp/out"; }
    run run "$m" -p x --regex '\d{3}-[a-c]+x' $wild --seed $seed -q -n 200
    grep -qxE '[0-9]{3}-[a-c]+x' "$tmp/out" || { ok=0; cat "$tmp/out"; }
done
check schema_and_regex eval '[ $ok = 1 ]'
echo '{"properties": {"a": {"minContains": 1}}}' >"$tmp/s.json"
run run "$m" -p x --json-schema "$tmp/s.json"
check unknown_keyword refused 1 "$tmp/s.json: #/properties/a/minContains: tinyllm cannot enforce this keyword"
run run "$m" -p x --json-schema "$tmp/none"
check missing_schema refused 1 "$tmp/none"
run run "$m" -p x --regex 'a(?=b)'
check regex_with_look_ahead refused 1 "--regex: position 2: tinyllm cannot enforce a look-ahead"
