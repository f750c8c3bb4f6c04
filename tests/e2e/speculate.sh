#!/bin/sh
# SPDX-License-Identifier: MIT
# run with drafts: the text of a run without, the figures, and what is refused. unit/speculate_test.c has the many cases.
. tests/e2e/lib.inc

m=$tmp/m.gguf d=$tmp/d.gguf other=$tmp/other.gguf piece=$tmp/piece.gguf
mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
mkmodel "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2
mkmodel "$d" --layers 1 --embd 64 --heads 4 --kv-heads 2
mkmodel "$other" --layers 1 --embd 64 --vocab 500
LC_ALL=C sed 's/<|bos|>/<|boz|>/' "$d" >"$piece"

text="the end of the end of the end of the"
for temp in 0 0.8; do
    run run "$m" -p "$text" -n 200 --temp $temp --seed 3 --ignore-eos -q
    cp "$tmp/out" "$tmp/plain"
    for how in "--speculate lookup" "--draft $d" "--draft $m --draft-max 3" "-md $d" "--speculate off"; do
        run run "$m" -p "$text" -n 200 --temp $temp --seed 3 --ignore-eos -q $how
        check "same_text_${temp}_$(echo "$how" | sed "s|$tmp/||; s/[^a-z0-9]/_/g")" eval 'exits 0 && silent err && cmp -s "$tmp/out" "$tmp/plain"'
    done
done

run run "$m" -p "$text" -n 100 --temp 0 --ignore-eos --json
check plain_figures eval 'json_is passes 99 && json_is drafted 0 && json_is accepted 0 && ! err_has drafted'
run run "$m" -p "$text" -n 100 --temp 0 --ignore-eos --json --draft "$m"
check figures eval '[ $(($(json passes) + $(json accepted))) = 99 ] && [ "$(json accepted)" -le "$(json drafted)" ]'
check status_line eval 'err_has " passes, $(json accepted) of $(json drafted) drafted tokens right"'

run run "$m" -p x --speculate magic
check unknown_source refused 2 "off, lookup or model"
run run "$m" -p x --speculate model
check model_without_file refused 2 "--draft FILE"
run run "$m" -p x --speculate lookup --draft "$d"
check two_sources refused 2 "--draft needs --speculate model"
run run "$m" -p x --draft-max 3
check max_alone refused 2 "--draft-max needs"
run run "$m" -p x --speculate lookup --draft-max 17
check max_too_large refused 2 "--draft-max"
run run "$m" -p x --draft "$tmp/none.gguf"
check no_such_draft refused 1 none.gguf
run run "$m" -p x --draft "$other"
check another_vocabulary refused 1 "other.gguf: draft model: its vocabulary has 500 tokens, the model's"
run run "$m" -p x --draft "$piece"
check another_piece refused 1 '<|boz|>'
