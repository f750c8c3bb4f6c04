#!/bin/sh
# SPDX-License-Identifier: MIT
# vs_llama.sh MODEL LLAMA_BENCH [ROUNDS] [THREADS]: tinyllm and llama.cpp's llama-bench on one file, in turn, so that
# both meet the same disturbances. Each round measures a prompt of about 512 tokens and 64 tokens decoded from an empty
# context, each in a process of its own. Prints the rounds and the medians, in tokens per second, for a quiet machine.
[ $# -ge 2 ] || { sed -n 's/^# //; 3,5p' "$0" >&2; exit 2; }
model=$1 peer=$2 rounds=${3:-5} threads=${4:-2}
tinyllm=${TINYLLM:-./tinyllm}
die() { echo "vs_llama: $*" >&2; exit 1; }
[ -x "$tinyllm" ] && [ -x "$peer" ] && [ -f "$model" ] || die "missing: $tinyllm, $peer or $model"
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT

# One word is one token or a few, by vocabulary: the text is cut to 512 tokens by counting.
words() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) printf "%s", (i ? " time" : "time") }'; }
per=$("$tinyllm" tokenize "$model" --ids --no-bos -p "$(words 100)" | wc -w)
[ "$per" -gt 0 ] || exit 1
words $((51200 / per)) >"$tmp/prompt"

number() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$2" | head -n 1; }
ours() {
    "$tinyllm" run "$model" -t "$threads" --temp 0 --ignore-eos --quiet --json "$@" >"$tmp/out" </dev/null || exit 1
}
theirs() {
    "$peer" -m "$model" -t "$threads" -fa 1 -r 1 -o json "$@" >"$tmp/out" 2>"$tmp/err" </dev/null ||
        die "$peer failed: $(tail -n 1 "$tmp/err")"
}
median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

echo "round  prefill: tinyllm  llama.cpp   decode: tinyllm  llama.cpp"
i=0
while [ $i -lt "$rounds" ]; do
    i=$((i + 1))
    ours -f "$tmp/prompt" -n 1 && p=$(number prefill_tok_s "$tmp/out") &&
        theirs -p 512 -n 0 && q=$(number avg_ts "$tmp/out") &&
        ours -p time -n 65 && d=$(number decode_tok_s "$tmp/out") &&
        theirs -p 0 -n 64 && e=$(number avg_ts "$tmp/out")
    echo "$p $q $d $e" >>"$tmp/all"
    printf '%5d %17.1f %10.1f %18.1f %10.1f\n' $i "$p" "$q" "$d" "$e"
done
set --
for column in 1 2 3 4; do set -- "$@" "$(cut -d ' ' -f $column "$tmp/all" | median)"; done
printf 'median %16.1f %10.1f %18.1f %10.1f\n' "$@"
awk -v a="$1" -v b="$2" -v c="$3" -v d="$4" '
    BEGIN { printf "tinyllm / llama.cpp: prefill %.2f, decode %.2f\n", a / b, c / d }'
