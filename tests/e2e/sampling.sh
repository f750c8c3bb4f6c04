#!/bin/sh
# SPDX-License-Identifier: MIT
# Sampling through the program: the same text however it is computed, seeds, settings at and beyond their bounds, bias,
# penalties, counts of log-probabilities. unit/sample_test.c and steps_test.c have the arithmetic.
. tests/e2e/lib.inc

mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
m=$tmp/m.gguf
mkmodel "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2 --gain 2
same_as() { cmp -s "$tmp/out" "$1"; }
text() { run run "$m" -p "the end of the world" -n 40 --ignore-eos -q "$@"; }
answer() { run run "$m" -p "the end of the world" --json -q "$@"; }

# ---- the same text, however it comes about
for temp in 0 1; do
    how="--temp $temp --seed 7"
    text $how
    cp "$tmp/out" "$tmp/plain"
    rm -f "$tmp/cache"
    for other in "-t 1" "-t 2" "-t 3" "--no-pack" "-c 400" "--speculate lookup" "--cache $tmp/cache" "--cache $tmp/cache -t 1" "--stop never-in-it"; do
        text $how $other
        check "same_text_${temp}_$(echo "$other" | sed "s|$tmp/||; s/[^a-z0-9]/_/g")" eval 'exits 0 && same_as "$tmp/plain"'
    done
done

# ---- seeds
for seed in 0 1 4294967295 4294967296 9223372036854775807; do
    text --temp 1 --seed $seed
    cp "$tmp/out" "$tmp/first"
    ! cmp -s "$tmp/first" "$tmp/before"
    differs=$?
    answer --temp 1 --seed $seed -n 40 --ignore-eos
    check "seed_$seed" eval '[ $differs = 0 ] && json_is seed $seed'
    text --temp 1 --seed $seed
    check "seed_${seed}_again" same_as "$tmp/first"
    mv "$tmp/first" "$tmp/before"
done
answer --temp 1 -n 40 --ignore-eos
one=$(json seed)
answer --temp 1 -n 40 --ignore-eos --seed -1
check no_seed_is_a_new_one eval '[ -n "$one" ] && [ "$(json seed)" != "$one" ]'
for seed in -2 9223372036854775808 1e3 1.5 0x10 42x "" " 42" "$(printf '%0400d' 0 | tr 0 9)"; do
    answer --seed "$seed"
    check "bad_seed_$(printf %.12s "$seed")" refused 2 "--seed"
done

# ---- bounds: what is refused is refused before the model is looked for
wrong() { run run "$tmp/none.gguf" -p x "$1" "$2"; check "refused_$1_$2" refused 2 "${1#--}"; }
for v in -1 nan inf -inf 1e300 1e400 x "" "0 1" 0,5; do wrong --temp "$v"; done
for o in --top-p --min-p --typical --xtc-probability --xtc-threshold; do for v in -0.1 1.1 nan inf x; do wrong $o $v; done; done
for v in -2 2147483648 1.5 x; do wrong --top-k $v; wrong --repeat-last-n $v; done
for v in 0 -1 nan 101; do wrong --repeat-penalty $v; done
for o in --presence-penalty --frequency-penalty --mirostat-ent --dynatemp-range --dry-multiplier; do for v in nan inf x; do wrong $o $v; done; done
run run "$tmp/none.gguf" -p x --repeat-last-n 2000000
check refused_window refused 2 "repeat_last_n"

# What is allowed always leaves a token; many settings name the greedy one.
text --temp 0
cp "$tmp/out" "$tmp/greedy"
for how in "--top-k 1" "--top-p 0" "--min-p 1" "--temp 1e-30" "--temp 0 --top-p 0 --min-p 1 --typical 0 --top-k 1" "--temp 1e9 --top-k 1"; do
    text --seed 3 $how
    check "greedy_$(echo "$how" | tr -c 'a-z0-9\n' _)" eval 'exits 0 && same_as "$tmp/greedy"'
done
text --temp 1 --seed 3 --top-k 0 --top-p 1 --min-p 0
cp "$tmp/out" "$tmp/open"
for how in "--top-k -1" "--top-k 400" "--top-k 2147483647"; do
    text --temp 1 --seed 3 $how --top-p 1 --min-p 0
    check "top_k_is_off_$(echo "$how" | tr -c 'a-z0-9\n' _)" eval 'exits 0 && same_as "$tmp/open"'
done
for how in "--typical 0" "--top-nsigma 0.0001" "--xtc-probability 1 --xtc-threshold 0" "--mirostat 2 --mirostat-ent 0" "--dynatemp-range 1e9" "--temp 1e9 --top-k 0 --top-p 1 --min-p 0" \
    "--presence-penalty 100 --frequency-penalty -100 --repeat-penalty 100" "--dry-multiplier 1e9 --dry-base 100" "--repeat-last-n 1048576 --repeat-penalty 0.01"; do
    answer --seed 3 -n 60 --ignore-eos $how
    check "extreme_$(echo "$how" | tr -c 'a-z0-9\n' _)" eval 'exits 0 && json_is tokens 60'
done

# ---- bias. 65 is "a" in this vocabulary of bytes and a few more.
ids() { sed 's/.*"token_ids": \[\([^]]*\)\].*/\1/' "$tmp/out"; }
count_of() { ids | tr ',' '\n' | grep -cx " *$1"; }
for temp in 0 2; do
    answer --temp $temp --seed 1 -n 30 --ignore-eos --logprobs 0
    often=$(ids | tr -d ' ' | tr ',' '\n' | sort | uniq -c | sort -rn | sed -n '1s/.* //p')
    answer --temp $temp --seed 1 -n 30 --ignore-eos --logprobs 0 --logit-bias "$often=-100"
    check "bias_never_$temp" eval 'exits 0 && [ "$(count_of $often)" = 0 ]'
    answer --temp $temp --seed 1 -n 30 --ignore-eos --logprobs 0 --logit-bias 65=100
    check "bias_always_$temp" eval 'exits 0 && [ "$(count_of 65)" = 30 ]'
    answer --temp $temp --seed 1 -n 30 --ignore-eos --logprobs 0 --logit-bias 65=100 --logit-bias 65=-100 --logit-bias 65=100
    check "bias_adds_up_$temp" eval 'exits 0 && [ "$(count_of 65)" = 30 ]'
done
many=$(awk 'BEGIN { for (i = 0; i < 300; i++) printf " --logit-bias %d=-100", i }')
answer --temp 0 -n 30 --ignore-eos --logprobs 0 $many
check bias_of_many eval 'exits 0 && json_is tokens 30 && ! ids | tr "," "\n" | grep -qx " *[12]\{0,1\}[0-9]\{0,1\}[0-9]"'
for b in 400=1 999999999=1 99999999999=1 -1=1 a=1 =1 5 5= 5=nan 5=inf 5=-inf 5=1e400 5=false 5=1=2 5.5=1 5:1 "5=1,6=1" "5=1 "; do
    answer --logit-bias "$b"
    check "bad_bias_$b" refused 2 "bias"
done

# ---- penalties: the window, and the prompt in it, kept or computed
penalised() { answer --temp 0 -n 60 --ignore-eos --frequency-penalty 2 --presence-penalty 2 "$@"; json text; }
all=$(penalised --repeat-last-n -1)
check window_of_all_is_a_window eval '[ -n "$all" ] && [ "$all" != "$(penalised --repeat-last-n 0)" ] && [ "$all" != "$(penalised --repeat-last-n 1)" ]'
check window_beyond_the_text [ "$(penalised --repeat-last-n 100000)" = "$all" ]
run run "$m" -p "the end of the world" -n 60 --temp 0 --ignore-eos --json -q
check no_window_is_no_penalty [ "$(penalised --repeat-last-n 0)" = "$(json text)" ]
rm -f "$tmp/cache"
for round in 1 2; do check "penalties_with_a_cache_$round" [ "$(penalised --repeat-last-n -1 --cache "$tmp/cache")" = "$all" ]; done

# ---- how many log-probabilities
for n in 0 1 5 20 21 100; do
    answer --temp 1 --seed 2 -n 4 --ignore-eos --logprobs $n
    tokens=$(sed 's/.*"token_logprobs": \[\([^]]*\)\].*/\1/' "$tmp/out" | tr ',' '\n' | wc -l)
    check "logprobs_$n" eval 'exits 0 && [ $tokens = 4 ] && ! out_has "null" && ! out_has inf'
done
for n in -1 101 x 1.5; do
    answer --logprobs $n
    check "logprobs_refused_$n" refused 2 "--logprobs"
done
