#!/bin/sh
# SPDX-License-Identifier: MIT
# run, perplexity and logits on tiny random models: what they print where, and that their numbers agree.
. tests/e2e/lib.inc

m=$tmp/m.gguf     # byte-level BPE, no begin-of-text token
g=$tmp/g.gguf     # SentencePiece, with one
mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
mkmodel "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2
mkmodel "$g" --arch gemma3 --layers 2 --embd 64 --heads 4 --kv-heads 2

same() { cmp -s "$1" "$2"; }
text=$tmp/text
all=$tmp/all
figures='^# load [0-9]+ ms \| prefill [0-9]+ tok, [0-9.e+]+ tok/s \| decode [0-9]+ tok, [0-9.e+]+ tok/s, [0-9.e+-]+ GB/s read \| seed [0-9]+$'

# ---- what goes where
run run "$m" -p "the end" -n 24 --temp 0 --ignore-eos
cp "$tmp/out" "$all"
check text_on_stdout eval 'exits 0 && [ -s "$tmp/out" ] && ! out_has "# "'
check status_on_stderr eval 'grep -qE "$figures" "$tmp/err" && grep -qE "^# model tiny random model \(llama\)" "$tmp/err"'
check prompt_not_repeated eval '! out_has "the end"'
run run "$m" -p "the end" -n 1 --ignore-eos
check one_token_has_no_speed eval 'err_has "decode 1 tok | seed"'
run run "$m" -p "the end" -n 24 --temp 0 --ignore-eos --quiet
check quiet eval 'exits 0 && silent err && same "$tmp/out" "$all"'
run run "$m" --prompt="the end" --n-predict=24 --temp 0 --ignore-eos -t 1 -q
check one_thread_same_text same "$tmp/out" "$all"
run run "$m" -p "the end" -n 24 --temp 0 --ignore-eos -t 2 --cpu scalar -q
check scalar_runs eval 'exits 0 && [ -s "$tmp/out" ]'
printf 'the end' >"$text"
run run "$m" -f "$text" -n 24 --temp 0 --ignore-eos -q
check prompt_from_file same "$tmp/out" "$all"
for dash in "" "-f -"; do
    rc=0; ${RUNNER:-} "$TINYLLM" run "$m" $dash -n 24 --temp 0 --ignore-eos -q <"$text" >"$tmp/out" 2>"$tmp/err" || rc=$?
    check "prompt_from_stdin${dash:+_named}" same "$tmp/out" "$all"
done
run run "$m" -p "the end" -n 24 --temp 0 --ignore-eos --json
check json_alone eval '[ "$(wc -l <"$tmp/out")" = 1 ] && json_is finish length && json_is tokens 24 && json_is ctx 512'
check json_speeds eval '(for k in load_ms ttft_ms prefill_tok_s decode_tok_s gb_s; do case $(json $k) in "" | null | 0) exit 1 ;; esac; done)'
check valid_utf8 eval 'iconv -f utf-8 -t utf-8 "$all" >/dev/null 2>&1 || ! command -v iconv >/dev/null'
run run "$m" -p "the end" -t 1024 -n 1
check too_many_threads_warns eval 'exits 0 && [ "$(grep -c "# warning: 1024 threads.* are started, and that is slower" "$tmp/err")" = 1 ]'
# More threads than CPUs can be measured, but not so many that they stand still.
cpus=$(sed -n 's/.*may use only \([0-9]*\) CPU.*/\1/p' "$tmp/err")
check too_many_threads_are_fewer err_has ", $((cpus * 4)) threads |"
run run "$m" -p "the end" -t $((cpus * 4)) -n 1 -q
check warnings_stay eval 'exits 0 && [ "$(wc -l <"$tmp/err")" = 1 ] && err_has "# warning: $((cpus * 4)) threads, but"'
run logits "$m" --ids 1 -t $((cpus + 1)) -q --out "$tmp/few"
check logits_warnings_stay err_has "# warning: "
trained="# warning: the model was trained for contexts of 512 tokens"
run run "$m" -p "the end" -c 513 -n 1 -q
check context_warning_stays err_has "$trained"
run run "$m" -p "the end" -c 512 -n 1 -q
check trained_context_is_silent silent err
LC_ALL=C sed 's/tokenizer.ggml.pre\(.\{12\}\)gpt-2/tokenizer.ggml.pre\1gpt-7/' "$m" >"$tmp/pre.gguf"
run run "$tmp/pre.gguf" -p "the end" -n 1 -q
check pre_tokenizer_warning_stays eval 'exits 0 && err_has "# warning: " && err_has "gpt-7"'
run run "$m" -p "the end" -n 0
check zero_tokens eval 'exits 0 && silent out && err_has "decode 0 tok"'

# ---- chat templates
chat='{% for m in messages %}<|im_start|>{{ m.role }}: {{ m.content }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<|bos|>{% endif %}'
mkmodel "$tmp/chat.gguf" --layers 2 --embd 64 --heads 4 --kv-heads 2 --chat-template "$chat"
run run "$tmp/chat.gguf" --special -p "<|im_start|>user: the end<|eos|><|bos|>" -n 8 --temp 0 --ignore-eos --json
prompt_tokens=$(json prompt_tokens) chat_text=$(json text)
run run "$tmp/chat.gguf" --chat -p "the end" -n 8 --temp 0 --ignore-eos --json
check chat eval 'exits 0 && json_is prompt_tokens "$prompt_tokens" && json_is text "$chat_text"'
run run "$tmp/chat.gguf" --special -p "<|im_start|>system: be<|eos|><|im_start|>user: the end<|eos|><|bos|>" -n 1 --json
prompt_tokens=$(json prompt_tokens)
run run "$tmp/chat.gguf" --chat --system be -p "the end" -n 1 --json
check chat_system json_is prompt_tokens "$prompt_tokens"
run run "$m" --chat -p x
check chat_without_template refused 1 tokenizer.chat_template
run run "$m" --system x -p x
check system_without_chat refused 2 --chat
mkmodel "$tmp/chat.gguf" --layers 1 --embd 64 --chat-template "{{ raise_exception('never') }}"
run run "$tmp/chat.gguf" --chat -p x
check chat_refused refused 1 "tokenizer.chat_template: line 1: never"

# ---- how a text ends
size=$(wc -c <"$all")
stop=$(dd if="$all" bs=1 skip=$((size / 2)) count=200 2>/dev/null | LC_ALL=C tr -c 'a-zA-Z0-9 ' '\n' | grep -m 1 '[a-zA-Z0-9]')
if [ -n "$stop" ]; then
    run run "$m" -p "the end" -n 24 --temp 0 --ignore-eos --stop "never this" --stop "$stop" --json
    check stop_in_json eval 'json_is finish stop && [ "$(json tokens)" -le 24 ]'
    run run "$m" -p "the end" -n 24 --temp 0 --ignore-eos --stop "never this" --stop "$stop" -q
    n=$(wc -c <"$tmp/out")
    # All before the stop string, nothing of it.
    check stop_text eval '[ $n -lt $size ] && [ "$(head -c $n "$all" | cksum)" = "$(cksum <"$tmp/out")" ] && ! grep -qF -e "$stop" "$tmp/out" &&
        [ "$(dd if="$all" bs=1 skip=$n count=${#stop} 2>/dev/null)" = "$stop" ]'
else
    echo "FAIL stop_text: the random model wrote nothing to stop at"
fi
run run "$m" -p "the end" -n -1 -c 16 --ignore-eos --json
check context_is_the_end eval 'exits 0 && json_is finish context && [ $(($(json prompt_tokens) + $(json tokens))) = 17 ]'
check context_is_told err_has "the context of 16 tokens is full"
eos=399
run run "$m" -p "the end" --logit-bias $eos=100 --logit-bias 5=-100 --json
check end_token_ends eval 'json_is finish stop && json_is tokens 0 && out_has "\"text\": \"\""'
run run "$m" -p "the end" --logit-bias $eos=100 --ignore-eos -n 5 --json
check ignore_eos json_is finish length
run run "$m" -p "the end" --logit-bias 400=1
check bias_outside_vocabulary refused 2 400
run run "$m" -p "the end" --logit-bias 7
check malformed_bias refused 2 "ID=NUMBER"

# ---- samplers
run run "$m" -p "the end" --samplers top_k,foo
check unknown_sampler refused 2 "'foo' in the list of samplers is none of penalties, dry, top_n_sigma, top_k, typical, top_p, min_p, xtc, temp, mirostat"
run run "$m" -p "the end" --samplers "top-k;top_k"
check sampler_twice refused 2 "top_k stands twice"
run run "$m" -p "the end" --repeat-last-n 99999999
check counts_are_whole_numbers refused 2 "repeat_last_n is 99999999;"
: >"$tmp/empty.jinja"
run run "$m" -p "the end" --chat --chat-template "$tmp/empty.jinja"
check empty_template refused 1 "empty.jinja: the chat template makes nothing of the question"
run run "$tmp/no.gguf" -p "the end" --samplers foo
check sampler_told_before_the_model refused 2 foo
run run --help
check sampler_order_in_help out_has "penalties,dry,top_n_sigma,top_k,typical,top_p,min_p,xtc,temp,mirostat, then the draw"
run run "$m" -p "the end" --mirostat 1
check mirostat_1 refused 2 "0 (off) or 2"
run run "$m" -p "the end" --sampling-seq kpt
check sampler_letters refused 2 "use --samplers"
sampled() { run run "$m" -p "the end" -n 60 --ignore-eos --temp 1.5 --seed 5 -q "$@"; }
sampled --top-k 0 --top-p 1 --min-p 0
cp "$tmp/out" "$tmp/plain"
sampled --samplers temp
check samplers_left_out_are_off same "$tmp/out" "$tmp/plain"
sampled --samplers temp --typical 1 --top-nsigma 0 --xtc-probability 0 --dry-multiplier 0 --mirostat 0 --dynatemp-range 0
check off_is_off same "$tmp/out" "$tmp/plain"
for option in "--typical 0.2" "--top-n-sigma 0.5" "--xtc-probability 1 --xtc-threshold 0.001" "--dynatemp-range 1" \
    "--dry-multiplier 9 --dry-allowed-length 0" "--mirostat 2 --mirostat-ent 2"; do
    sampled --top-k 0 --top-p 1 --min-p 0 $option
    check "changes_the_text_${option%% *}" eval 'exits 0 && ! same "$tmp/out" "$tmp/plain"'
done
# Greedy text of a tiny model goes in a circle; DRY breaks it, and a breaker that is everywhere keeps it.
repeats() { run run "$m" -p "the end" -n 200 --temp 0 --ignore-eos -q "$@"; }
repeats
cp "$tmp/out" "$tmp/plain"
repeats --dry-multiplier 5 --dry-sequence-breaker none
check dry_breaks_the_circle eval 'exits 0 && ! same "$tmp/out" "$tmp/plain"'
repeats --dry-multiplier 5 --dry-penalty-last-n 0
check dry_without_window same "$tmp/out" "$tmp/plain"

# ---- log-probabilities
run run "$m" -p "the end" --logprobs 2
check logprobs_without_json refused 2 "--logprobs needs --json"
run run "$m" -p "the end" --json --echo --logprobs 2 --cache "$tmp/kept"
check echo_and_cache refused 2 "leave out --cache"
run run "$m" -p "the end" -n 6 --temp 0 --ignore-eos --json
check no_logprobs_unasked eval '! out_has logprobs'
answer=$(json text)
run run "$m" -p "the end" -n 6 --temp 0 --ignore-eos --json --echo
check echo_in_json eval '! out_has logprobs && [ "$(json text)" = "the end$answer" ]'
run run "$m" -p "the end" -n 6 --temp 0 --ignore-eos -q --echo
check echo_in_text eval '[ "$(head -c 7 "$tmp/out")" = "the end" ]'
part() { sed "s/.*\"$1\": \[\([^]]*\)\].*/\1/" "$tmp/out" | tr -d ,; }   # an array of numbers or texts
run run "$m" -p "the end of the world" -n 5 --temp 1 --seed 3 --ignore-eos --json --echo --logprobs 3
check logprobs_lengths eval '[ "$(part token_ids | wc -w)" = $(($(json prompt_tokens) + 5)) ] && [ "$(part token_logprobs | wc -w)" = "$(part text_offset | wc -w)" ] &&
    [ "$(part token_ids | wc -w)" = "$(part token_logprobs | wc -w)" ]'
ids=$(part token_ids) got=$(part token_logprobs)
check first_has_none eval 'case $got in "null "*) ;; *) false ;; esac && out_has "\"top_logprobs\": [null, {"'
run logits "$m" --ids "$ids" --out "$tmp/l" -q
od -An -v -t f4 -w1600 "$tmp/l" >"$tmp/rows"
# The definition, from the rows of logits; what is printed has ten digits.
by_definition() {
    { echo "$ids"; echo "$got"; cat "$tmp/rows"; } | awk 'NR == 1 { n = split($0, id, " ") } NR == 2 { split($0, lp, " ") }
        NR > 2 && NR - 1 <= n { top = -1e30; sum = 0
            for (i = 1; i <= NF; i++) if ($i > top) top = $i
            for (i = 1; i <= NF; i++) sum += exp($i - top)
            d = $(id[NR - 1] + 1) - top - log(sum) - lp[NR - 1]; if (d * d > 1e-9) bad = 1; rows++ }
        END { exit !(rows == n - 1 && !bad) }'
}
check logprobs_by_definition by_definition
# The model's own, whatever the sampler does; without --echo the answer's alone, and the same numbers.
run run "$m" -p "the end of the world" -n 5 --temp 0.3 --top-k 1 --logit-bias "$(echo "$ids" | awk '{ print $(NF - 4) }')=100" --ignore-eos --json --logprobs 1
check logprobs_before_sampling eval '[ "$(part token_logprobs | cut -d " " -f 1)" = "$(echo "$got" | awk "{ print \$(NF - 4) }")" ]'
run run "$g" -p "the end" -n 0 --json --echo --logprobs 1
check logprobs_of_the_prompt_alone eval 'exits 0 && [ "$(part token_ids | wc -w)" = "$(json prompt_tokens)" ] && [ "$(json text)" = "the end" ]'
run run "$m" -p "the end" -n 0 --json --logprobs 1
check logprobs_of_nothing out_has '"logprobs": {"tokens": [], "token_ids": [], "token_logprobs": [], "top_logprobs": [], "text_offset": []}'

run run "$m" -p "the end" -n 3 --ignore-eos
check length_is_told err_has "# stopped: after 3 tokens (-n N for more)"
# A special token by its name, which is not in the text.
run run "$m" -p "the end" --logit-bias 397=100 --stop "<|bos|>" -n 20 --json
check stop_at_a_special_token eval 'json_is finish stop && json_is text ""'
run run "$m" "the end" -n5 --temperature 0 -s 3 --ctx-size 64 --ignore-eos --json
check words_of_others eval 'exits 0 && json_is tokens 5 && json_is seed 3 && json_is ctx 64'
run run "$m" "the end" -p "the end"
check text_twice refused 2 "given twice"
for option in "-ngl 99" "-cnv" "--mlock" "-b 512" "-fa" "-no-cnv" "-st" "-e" "-hf x"; do
    run run "$m" -p x $option
    check "hint_for_${option%% *}" refused 2 "unknown option ${option%% *}: "
done
run "$m" "the end" -n 24 --temp 0 --ignore-eos -q
check model_alone_runs same "$tmp/out" "$all"
run -m "$m" -p "the end" -n 24 --temp 0 --ignore-eos -q
check model_by_option_runs same "$tmp/out" "$all"
run --model="$m" -p "the end" -n 24 --temp 0 --ignore-eos -q
check model_by_long_option_runs same "$tmp/out" "$all"
run run "$m" -m other.gguf
check model_twice refused 2 "stands there already"
run cpu -m "$m"
check no_model_wanted refused 2 "takes no model"
# A terminal is not left to what a model writes; a pipe gets it as it is. Token 10 is a line break, 27 is escape.
if command -v script >/dev/null 2>&1 && [ -z "${RUNNER:-}" ]; then
    run run "$m" -p "the end" -n 1 --logit-bias 27=100 -q
    check pipe_gets_raw_text eval '[ "$(od -An -tx1 <"$tmp/out" | tr -d " \n")" = 1b ]'
    script -qec "'$TINYLLM' run '$m' -p 'the end' -n 2 --logit-bias 27=100" /dev/null >"$tmp/out" 2>&1 </dev/null
    check terminal_gets_escapes eval 'out_has "\\x1b\\x1b" && ! grep -q "$(printf "\033[^[]")" "$tmp/out"'
    check status_begins_a_line eval 'tr -d "\r" <"$tmp/out" | grep -q "^# stopped: after 2 tokens"'
else
    echo "skip terminal_gets_escapes: no script"
fi

# ---- what does not fit
long="the end and the other end of the world on which he is sitting"
run run "$m" -p "$long" -c 8 -n 4
prompt=$(sed -n 's/.*the prompt has \([0-9]*\) tokens, the context 8;.*/\1/p' "$tmp/err")
fits=$(sed -n 's/.*-c \([0-9]*\) would hold it.*/\1/p' "$tmp/err")
check long_prompt_refused eval 'refused 1 "the context 8" && [ "$prompt" -gt 8 ] && [ "$fits" = $((prompt + 4)) ]'
run run "$m" -p "$long" -c "$fits" -n 4 --json --ignore-eos
check named_context_fits eval 'exits 0 && json_is prompt_tokens $prompt && json_is finish length && json_is tokens 4'
run run "$m" -p "$long" -c "$prompt" -n 4 --json --ignore-eos
check full_prompt_gives_one eval 'exits 0 && json_is finish context && json_is tokens 1'
run run "$m" -p "" -n 4
check empty_prompt_refused refused 2 "the prompt is empty"
run run "$g" -p "" -n 4 --json
check empty_prompt_is_bos eval 'exits 0 && json_is prompt_tokens 1'
run run "$g" -p "" --no-bos
check empty_prompt_no_bos refused 2 "--no-bos"
run run "$m" -p "<|im_end|>" -n 0 --json
check special_is_text eval '[ "$(json prompt_tokens)" -gt 3 ]'
run run "$m" -p "<|im_end|>" -n 0 --json --special
check special_is_token json_is prompt_tokens 1
run run "$g" -p "the end" -n 0 --json
with=$(json prompt_tokens)
run run "$g" -p "the end" -n 0 --json --no-bos
check no_bos_takes_one [ "$(json prompt_tokens)" = $((with - 1)) ]

# ---- sampling
for seed in 1 1 2; do
    run run "$m" -p "the end" -n 24 --seed $seed --ignore-eos --temp 1 -q
    mv "$tmp/out" "$tmp/seed$seed${again:-}"
    [ $seed = 1 ] && again=b
done
check same_seed_same_text same "$tmp/seed1" "$tmp/seed1b"
check other_seed_other_text eval '! same "$tmp/seed1" "$tmp/seed2b"'
run run "$m" -p "the end" -n 2 --json
seed=$(json seed)
cp "$tmp/out" "$tmp/first"
run run "$m" -p "the end" -n 2 --json --seed "$seed"
check told_seed_repeats eval '[ "$(cut -d, -f1 "$tmp/out")" = "$(cut -d, -f1 "$tmp/first")" ]'
run run "$m" -p "x" --temp -1
check negative_temperature refused 2 "--temp"

# ---- interrupts and broken output
${RUNNER:-} "$TINYLLM" run "$m" -p "the end" -n -1 -c 1000000 --ignore-eos >"$tmp/out" 2>"$tmp/err" &
pid=$!
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do [ "$(wc -c <"$tmp/out")" -gt 50 ] && break; sleep 0.1; done
kill -INT $pid 2>/dev/null
rc=0; wait $pid || rc=$?
check interrupt_ends_cleanly eval 'exits 0 && err_has "# stopped: interrupted" && grep -qE "$figures" "$tmp/err" && [ -s "$tmp/out" ]'
if [ -c /dev/full ]; then
    rc=0; ${RUNNER:-} "$TINYLLM" run "$m" -p "the end" -n 100 --ignore-eos --seed 1 -q >/dev/full 2>"$tmp/err" || rc=$?
    : >"$tmp/out"
    check disk_full refused 1 "No space left"
else
    echo "skip disk_full: no /dev/full"
fi

# ---- logits
ids="1 2 3 5 8 13 21 34 55 89 144 233"
run logits "$m" --ids "$ids" --out "$tmp/whole"
check logits_size eval 'exits 0 && silent out && [ "$(wc -c <"$tmp/whole")" = $((12 * 400 * 4)) ]'
for chunk in 1 3 5; do
    run logits "$m" --ids "$ids" --chunk $chunk -t 1 --out "$tmp/cut"
    check "logits_chunk_$chunk" same "$tmp/whole" "$tmp/cut"
done
run logits "$m" --ids "1,2,3,5 , 8" --exact --kv f32 -q --out "$tmp/exact"
check logits_exact eval 'exits 0 && silent err && [ "$(wc -c <"$tmp/exact")" = $((5 * 400 * 4)) ] && ! cmp -s "$tmp/exact" "$tmp/whole"'
cp "$tmp/whole" "$tmp/cut"
run logits "$m" --ids "1 400" --out "$tmp/cut"
check id_outside_vocabulary eval 'refused 2 "token id 400 is outside the vocabulary, 0..399" && same "$tmp/whole" "$tmp/cut"'
for bad in "" "1 x" "-1" "1.5" "99999999999"; do
    run logits "$m" --ids="$bad" --out "$tmp/cut"
    check "bad_ids_'$bad'" eval 'refused 2 id && same "$tmp/whole" "$tmp/cut"'
done
(ulimit -f 8; run logits "$m" --ids "$ids" --out "$tmp/cut"; exit $rc)
rc=$?
check logits_over_file_limit eval 'refused 1 "File too large" && same "$tmp/whole" "$tmp/cut"'
run logits "$m" --ids 1 --out "$tmp/no/folder"
check logits_no_folder refused 1 "no/folder"
mkmodel "$tmp/slow.gguf" --layers 4 --embd 512 --ff 4096 --heads 8
${RUNNER:-} "$TINYLLM" logits "$tmp/slow.gguf" --ids "$(seq 1 390 | tr '\n' ' ')" --chunk 1 --exact -t 1 --out "$tmp/stopped" 2>"$tmp/err" &
pid=$!
for _ in $(seq 200); do ls "$tmp" | grep -q "^stopped.tmp" && break; sleep 0.05; done
kill -INT $pid 2>/dev/null
rc=0; wait $pid || rc=$?
: >"$tmp/out"
check logits_interrupted eval 'refused 1 cancelled && [ ! -e "$tmp/stopped" ]'
check no_leftovers eval '! ls "$tmp" | grep -q "\.tmp\."'

# ---- perplexity
i=0
while [ $i -lt 12 ]; do echo "the end and $i the other, he is sitting on 12 worn stones"; i=$((i + 1)); done >"$text"
run perplexity "$g" -f "$text" -c 32 --chunks 3 --json
cp "$tmp/out" "$tmp/ppl"
check perplexity_json eval 'exits 0 && json_is chunks 3 && json_is tokens 45 && [ "$(wc -l <"$tmp/out")" = 1 ]'
run perplexity "$g" -f "$text" -c 32 --chunks 3 --json -t 1 -q
check perplexity_one_thread eval 'silent err && same "$tmp/out" "$tmp/ppl"'
run perplexity "$g" -f "$text" -c 32 --chunks 3
check perplexity_text eval 'grep -qE "^perplexity [0-9.]+ \+/- [0-9.]+ \(3 windows of 32, 45 tokens scored\)$" "$tmp/out" && err_has "begin-of-text"'
run perplexity "$g" -f "$text" -c 300 --chunks 1
check perplexity_one_window eval 'out_has "(1 window of 300, 149 tokens scored)" && exits 0'
i=0
while [ $i -lt 6 ]; do cat "$text"; i=$((i + 1)); done >"$tmp/longer"
run perplexity "$m" -f "$tmp/longer" -c 600 --chunks 1 -q
check perplexity_context_warning err_has "$trained"
run perplexity "$m" -f "$all" -c 65536
check text_too_short refused 1 "one window of -c 65536 needs 65536"
# Weights that overflow: a float32 4 bytes before the end of output_norm's first 32 is made huge, or no number.
broken() { # VALUE as printf escapes
    ${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/broken.gguf" --layers 1 --embd 64 --heads 4 --kv-heads 2 --tied
    at=$(($(wc -c <"$tmp/broken.gguf") - 8))   # the last tensor is output_norm
    printf "$1" | dd of="$tmp/broken.gguf" bs=1 seek=$at conv=notrunc 2>/dev/null
}
broken '\312\362\111\161'   # 1e30
run perplexity "$tmp/broken.gguf" -f "$text" -c 32 --chunks 2 -q
check perplexity_overflow refused 1 "window 1 of 2, position"
broken '\000\000\300\177'   # NaN
run perplexity "$tmp/broken.gguf" -f "$text" -c 32 --chunks 2 -q
check perplexity_nan refused 1 "window 1 of 2, position 16"
run run "$tmp/broken.gguf" -p "x y z" -n 4 -q
check run_nan refused 1 "position 4: the model gave NaN for token 0"
run logits "$tmp/broken.gguf" --ids "1 2 3" --out "$tmp/nan" -q
check logits_nan eval 'refused 1 "position 0: the logit of token 0" && [ ! -e "$tmp/nan" ]'
# The definition once more, from logits: the second window, whose first token is replaced by the begin-of-text token.
run tokenize "$g" -f "$text" --json
if [ "$rc" = 0 ]; then
    list=$(sed 's/.*"ids": \[\([^]]*\)\].*/\1/' "$tmp/out" | tr -d ',' | tr ' ' '\n')
    window() { echo "1 $(echo "$list" | sed -n "$(($1 * 32 + 2)),$(($1 * 32 + 32))p" | tr '\n' ' ')"; }
    for w in 0 1 2; do
        run logits "$g" --ids "$(window $w)" --out "$tmp/w" -q
        window $w | tr ' ' '\n' | grep . | sed 's/^/id /' >>"$tmp/nll"
        od -An -v -t f4 -w1600 "$tmp/w" | sed 's/^/x /' >>"$tmp/nll"
    done
    awk '$1 == "id" { if (rows) { n = rows = 0 } id[n++] = $2 }
         $1 == "x" { r = rows++; if (r < 16 || r == 31) next
                     top = -1e30; sum = 0
                     for (i = 2; i <= NF; i++) if ($i > top) top = $i
                     for (i = 2; i <= NF; i++) sum += exp($i - top)
                     v = top + log(sum) - $(id[r + 1] + 2); s += v; s2 += v * v; c++ }
         END { m = s / c; printf "%.6g %.5g %d\n", exp(m), exp(m) * sqrt((s2 / c - m * m) / (c - 1)), c }' "$tmp/nll" >"$tmp/want"
    cp "$tmp/ppl" "$tmp/out"
    printf '%.6g %.5g %d\n' "$(json perplexity)" "$(json stderr)" "$(json tokens)" >"$tmp/got"
    near() { paste -d ' ' "$tmp/want" "$tmp/got" | awk '{ d = $1 / $4 - 1; e = $2 / $5 - 1; exit !(d * d < 1e-8 && e * e < 1e-6 && $3 == $6) }'; }
    check perplexity_by_definition near
else
    echo "FAIL perplexity_by_definition: tokenize failed"
fi
