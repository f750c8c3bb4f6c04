#!/bin/sh
# SPDX-License-Identifier: MIT
# versus.sh [options] LLAMA_BENCH MODEL...: tinyllm and a llama-bench program on the same files, in turn, so that both
# meet the same disturbances. Prints medians in tokens per second, their spread, and the ratio of each pair's median.
#   -t N      threads of both; default 2
#   -r N      pairs; default 5
#   -p N      tokens of the prompt, 0: none; default 512
#   -n N      tokens decoded, 0: none; default 64
#   -d N      positions in the cache before; default 0
#   -o FILE   all runs as CSV
#   -x ARGS   more arguments for llama-bench; default "-fa 1"
#   -y ARGS   more arguments for tinyllm bench
# $TINYLLM names our program, default ./tinyllm. bench/README.md says how to read the result.
usage() { sed -n 's/^# \{0,1\}//; 3,13p' "$0" >&2; exit 2; }
die() { echo "versus: $*" >&2; exit 1; }
threads=2 pairs=5 prompt=512 decode=64 depth=0 csv='' theirs='-fa 1' ours=''
while getopts t:r:p:n:d:o:x:y: option; do
    case $option in
        t) threads=$OPTARG ;; r) pairs=$OPTARG ;; p) prompt=$OPTARG ;; n) decode=$OPTARG ;; d) depth=$OPTARG ;;
        o) csv=$OPTARG ;; x) theirs=$OPTARG ;; y) ours=$OPTARG ;; *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 2 ] || usage
for number in "$threads" "$pairs" "$prompt" "$decode" "$depth"; do
    case $number in '' | *[!0-9]*) die "'$number' is not a number" ;; esac
done
[ "$depth" = 0 ] || theirs="-d $depth $theirs"   # not every peer knows -d
peer=$1
shift
tinyllm=${TINYLLM:-./tinyllm}
[ -x "$tinyllm" ] || die "no program $tinyllm: run make, or set TINYLLM"
[ -x "$peer" ] || die "no program $peer"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
trap 'exit 1' INT TERM

# Column NAME of CSV on stdin, quotes removed; two columns side by side with a second name. Fields hold no commas but
# in quotes, which awk keeps together here.
columns() {
    awk -v want="$1" '
        function split_row(line, v,    n, i, c, quoted) {
            n = 1; v[1] = ""; quoted = 0
            for (i = 1; i <= length(line); i++) {
                c = substr(line, i, 1)
                if (c == "\"") quoted = !quoted
                else if (c == "," && !quoted) v[++n] = ""
                else v[n] = v[n] c
            }
            return n
        }
        NR == 1 { n = split_row($0, v); for (i = 1; i <= n; i++) at[v[i]] = i; m = split(want, name, " "); next }
        { split_row($0, v); s = ""; for (i = 1; i <= m; i++) s = s (i > 1 ? " " : "") v[at[name[i]]]; print s }'
}
# Lines "model round who test tok_s" into $tmp/all.
run_ours() {
    # shellcheck disable=SC2086
    "$tinyllm" bench "$1" -p "$prompt" -n "$decode" -d "$depth" -t "$threads" -r 1 --no-limits --csv $ours \
        >"$tmp/out" 2>"$tmp/err" </dev/null || die "$tinyllm failed: $(tail -n 1 "$tmp/err")"
    columns "test tok_s" <"$tmp/out" | while read -r test rate; do
        case $test in pp*) kind=prefill ;; *) kind=decode ;; esac
        echo "$2 $3 tinyllm $kind $rate"
    done >>"$tmp/all"
}
run_peer() {
    # shellcheck disable=SC2086
    "$peer" -m "$1" -p "$prompt" -n "$decode" -t "$threads" -r 1 -o csv $theirs \
        >"$tmp/out" 2>"$tmp/err" </dev/null || die "$peer failed: $(tail -n 1 "$tmp/err")"
    columns "n_prompt n_gen avg_ts" <"$tmp/out" | while read -r n_prompt _ rate; do
        [ "$n_prompt" -gt 0 ] && kind=prefill || kind=decode
        echo "$2 $3 peer $kind $rate"
    done >>"$tmp/all"
}

for model; do
    [ -f "$model" ] || die "no file $model"
    name=$(basename "$model" .gguf | tr ' ' '_')
    round=0
    while [ $round -lt "$pairs" ]; do
        round=$((round + 1))
        echo "# $name: pair $round of $pairs" >&2
        run_ours "$model" "$name" $round
        run_peer "$model" "$name" $round
    done
done
if [ -n "$csv" ]; then
    { echo "model,pair,program,test,tok_s"; tr ' ' ',' <"$tmp/all"; } >"$csv" || die "cannot write $csv"
fi

# Spread: (largest - smallest) / median.
awk '
    function middle(list,    v, n, i, j, x) {
        n = split(list, v, " ")
        for (i = 2; i <= n; i++) {
            x = v[i] + 0
            for (j = i; j > 1 && v[j - 1] + 0 > x; j--) v[j] = v[j - 1]
            v[j] = x
        }
        least = v[1]; most = v[n]
        return n % 2 ? v[(n + 1) / 2] + 0 : (v[n / 2] + v[n / 2 + 1]) / 2
    }
    { key = $1 " " $4; if (!(key in seen)) { seen[key] = 1; order[++n_keys] = key }; rates[key, $3] = rates[key, $3] " " $5 }
    END {
        printf "%-32s %-8s %12s %7s %12s %7s %7s\n", "model", "test", "tinyllm", "spread", "peer", "spread", "ratio"
        for (i = 1; i <= n_keys; i++) {
            split(order[i], part, " ")
            a = middle(rates[order[i], "tinyllm"]); as = a > 0 ? (most - least) / a : 0
            b = middle(rates[order[i], "peer"]); bs = b > 0 ? (most - least) / b : 0
            printf "%-32s %-8s %12.1f %7.3f %12.1f %7.3f %7.2f\n", part[1], part[2], a, as, b, bs, (b > 0 ? a / b : 0)
        }
    }' "$tmp/all"
