#!/bin/sh
# SPDX-License-Identifier: MIT
# The program's manners: help, unknown words, bad arguments, output that cannot be written, exit codes.
. tests/e2e/lib.inc

overview_on() { grep -q "^Commands:" "$tmp/$1" && grep -q "^  run " "$tmp/$1"; }
commands=$(sed -n 's/^TL_CMD(\(.*\))$/\1/p' src/cmd/cmd.def)

run
check no_arguments eval 'exits 2 && silent out && overview_on err'
for word in help --help -h; do
    run $word
    check "overview_$word" eval 'exits 0 && silent err && overview_on out'
done
run --version
check version eval 'exits 0 && silent err && grep -qE "^tinyllm [0-9]+\.[0-9]+\.[0-9]+$" "$tmp/out"'

for c in $commands; do
    run help "$c"
    cp "$tmp/out" "$tmp/help"
    check "help_$c" eval 'exits 0 && silent err && out_has "Usage: tinyllm $c" && out_has "  -h, --help" && out_has "Examples:"'
    run "$c" --help
    check "help_option_$c" eval 'exits 0 && silent err && cmp -s "$tmp/out" "$tmp/help"'
    run "$c" some.gguf other --nonsense -h
    check "help_wins_$c" eval 'exits 0 && cmp -s "$tmp/out" "$tmp/help"'
    run "$c" --no-such-option
    check "unknown_option_$c" refused 2 "unknown option --no-such-option"
done
check every_command_in_overview eval '(run help; for c in $commands; do grep -q "^  $c " "$tmp/out" || exit 1; done)'

# Help fits the terminal; commands to be copied and single words stay in one line.
if command -v script >/dev/null 2>&1 && [ -z "${RUNNER:-}" ]; then
    words() { tr -s ' \r\n' '\n' <"$1"; }
    for c in $commands; do
        run help "$c"
        words "$tmp/out" >"$tmp/help"
        TERM=xterm script -qec "stty cols 80; '$TINYLLM' help $c" /dev/null >"$tmp/out" 2>&1 </dev/null
        words "$tmp/out" >"$tmp/narrow"
        check "help_fits_$c" eval 'cmp -s "$tmp/help" "$tmp/narrow" && ! tr -d "\r" <"$tmp/out" | grep -v -e "^  [a-z]" -e "^ *[^ ]*$" | grep -q "^.\{81\}"'
    done
else
    echo "skip help_fits: no script, or a runner"
fi

run tokenise
check near_command refused 2 "unknown command 'tokenise'; did you mean tokenize?"
run zzzzzzzz
check unknown_command refused 2 "unknown command 'zzzzzzzz'"
run --zzzzzz
check unknown_first_option refused 2 "unknown option '--zzzzzz'"
run help perplexty
check help_of_near_command refused 2 "did you mean perplexity?"
run "$(printf 'a\nb\033[31m')"
check control_bytes_escaped refused 2 'a\nb\x1b[31m'

run run model.gguf --tmep 1
check near_option refused 2 "did you mean --temp?"
run run
check missing_model refused 2 "usage: tinyllm run MODEL"
run inspect a.gguf b.gguf
check one_model_too_many refused 2 "unexpected word 'b.gguf'"
run run a.gguf -p x -t 1025
check too_many_threads refused 2 "1025 is out of range 1..1024"
run run a.gguf -p x -n ten
check number_wanted refused 2 "-n,--n-predict wants a whole number, not 'ten'"
run run a.gguf -p x --kv f64
check unknown_kv refused 2 "f16, f32"
run run a.gguf -p x -f y
check prompt_twice refused 2 "-p and -f"
run run a.gguf -p x --stop ""
check empty_stop refused 2 "--stop"
run logits a.gguf --ids "1 2"
check logits_needs_out refused 2 "--out FILE is missing"
run logits a.gguf --out x
check logits_needs_ids refused 2 "--ids LIST is missing"
run perplexity a.gguf
check perplexity_needs_file refused 2 "-f FILE is missing"

# What is wrong about the options is told before the model is looked for.
for option in "--logit-bias 7" "--logit-bias x=1" "--logit-bias 7=nan" "--logit-bias=-1=1" "--logit-bias 7=1x" "--stop="; do
    run run "$tmp/absent.gguf" -p x $option
    check "before_the_model_$option" refused 2 "${option%%[ =]*}"
done
for bad in "" "1 x" "1.5" "99999999999"; do
    run logits "$tmp/absent.gguf" --ids "$bad" --out "$tmp/o"
    check "before_the_model_ids_'$bad'" refused 2 "token id"
done
run perplexity "$tmp/absent.gguf" -f "$tmp/no-such-text"
check text_comes_first refused 1 "no-such-text"
run run a.gguf -p x --seed 9223372036854775808
check whole_numbers_in_ranges refused 2 "is out of range -1..9223372036854775807"

mkdir "$tmp/folder"
: >"$tmp/empty.gguf"
echo '<html><body>404 Not Found</body></html>' >"$tmp/page.gguf"
printf 'text' >"$tmp/text"
for c in "run FILE -p x" "inspect FILE" "tokenize FILE -p x" "perplexity FILE -f $tmp/text" "logits FILE --ids 1 --out $tmp/o"; do
    name=${c%% *}
    for file in missing.gguf folder empty.gguf page.gguf; do
        # shellcheck disable=SC2046
        run $(echo "$c" | sed "s|FILE|$tmp/$file|")
        check "${name}_$file" refused 1 "$tmp/$file"
    done
done
check nothing_written_on_failure [ ! -e "$tmp/o" ]
run run "$tmp/missing.gguf" -f "$tmp/no-such-prompt"
check prompt_file_comes_first refused 1 "no-such-prompt"
run run "$tmp/page.gguf" -p x --cpu nonsense
check unknown_level refused 2 "nonsense"
export TINYLLM_CPU=rubbish
run run "$tmp/page.gguf" -p x
unset TINYLLM_CPU
check unknown_level_in_environment refused 2 "TINYLLM_CPU"

if [ -c /dev/full ]; then
    rc=0; "$TINYLLM" help >/dev/full 2>"$tmp/err" || rc=$?; : >"$tmp/out"
    check disk_full refused 1 "cannot write to standard output: No space left on device"
else
    echo "skip disk_full: no /dev/full"
fi
rc=0; "$TINYLLM" help >&- 2>"$tmp/err" || rc=$?; : >"$tmp/out"
check closed_output refused 1 "cannot write to standard output"
: >"$tmp/err"
(for i in 1 2 3 4 5 6 7 8 9; do "$TINYLLM" help run 2>>"$tmp/err" || break; done) | head -n 1 >"$tmp/out"
check reader_goes_away silent err

sh tools/mkdocs.sh "$TINYLLM" >"$tmp/cli.md"
check docs_are_current cmp -s "$tmp/cli.md" docs/CLI.md
