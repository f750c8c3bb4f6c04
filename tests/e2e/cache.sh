#!/bin/sh
# SPDX-License-Identifier: MIT
# run --cache: the text of a run with a cache, whatever it holds, is that of a run without one.
. tests/e2e/lib.inc

mkmodel() { ${RUNNER:-} "$BUILD/tools/mkmodel" "$@" || { echo "FAIL mkmodel $*"; exit 1; }; }
m=$tmp/m.gguf
mkmodel "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2
mkmodel "$tmp/other.gguf" --layers 2 --embd 64 --heads 4 --kv-heads 2 --seed 9
c=$tmp/cache
a=$(seq 1 90 | tr '\n' ' ')
begin=$(printf %s "$a" | cut -c1-60)

# go NAME PROMPT OPTIONS: with and without the cache; $cached tokens came from it, the first run's warnings are in $tmp/err.
go() {
    name=$1 prompt=$2; shift 2
    run run "$m" -p "$prompt" -n 20 --ignore-eos --seed 3 --temp 1.5 --json -q "$@" --cache "$c"
    cp "$tmp/out" "$tmp/warm"; cp "$tmp/err" "$tmp/warned"
    cached=$(json cached_tokens)
    warm=$(json text)
    run run "$m" -p "$prompt" -n 20 --ignore-eos --seed 3 --temp 1.5 --json -q "$@"
    check "$name" eval 'exits 0 && [ "$warm" = "$(json text)" ] && [ -n "$warm" ]'
    prompt_tokens=$(json prompt_tokens)
}

for kv in f16 q8_0; do
    rm -f "$c"
    go first_$kv "$a" --kv $kv
    check first_has_nothing_$kv [ "$cached" = 0 ]
    check first_is_silent_$kv [ ! -s "$tmp/warned" ]
    go beginning_$kv "$begin" --kv $kv
    check beginning_is_cached_$kv [ "$cached" -ge $((prompt_tokens - 2)) ]
    go again_$kv "$a" --kv $kv
    check all_is_cached_$kv [ "$cached" = $((prompt_tokens - 1)) ]
    go longer_$kv "${a}and on" --kv $kv
    check only_new_is_computed_$kv [ "$cached" -gt $((prompt_tokens / 2)) ]
    go threads_$kv "$a" --kv $kv -t 1
done

# What cannot be used is named and replaced; the text is right.
cp "$c" "$tmp/good"
size=$(wc -c <"$tmp/good")
at=0
while [ $at -lt "$size" ]; do
    head -c $at "$tmp/good" >"$c"
    go cut_at_$at "$a" --kv q8_0
    check cut_at_${at}_is_named grep -q "^# warning: the cache is not used and will be replaced: .*cut" "$tmp/warned"
    at=$((at + 4096))
done
go rebuilt "$a" --kv q8_0
check rebuilt_is_used [ "$cached" = $((prompt_tokens - 1)) ]

unusable() {   # NAME WORDS OPTIONS: a good file that is not this run's
    name=$1 words=$2; shift 2
    cp "$tmp/good" "$c"
    go "$name" "$a" "$@"
    check "${name}_is_named" grep -q "$words" "$tmp/warned"
}
unusable cache_type "of type q8_0, this session's of f16"
if json_is cpu scalar; then
    echo "skip level: this run is at the lowest already"
else
    unusable level "computed at CPU level" --kv q8_0 --cpu scalar
fi
prompt=$a a=$begin
unusable too_long "positions, the context 100" --kv q8_0 -c 100
a=$prompt
printf 'not a cache, but a text of more than the 88 bytes that the header of a saved state has: it is somebody else'"'"'s' >"$c"
cp "$c" "$tmp/good"
unusable foreign "does not begin as one" --kv q8_0
rm -f "$c"
run run "$tmp/other.gguf" -p "$a" -n 4 --ignore-eos -q --cache "$c"
cp "$c" "$tmp/good"
unusable other_model "of another model"

# What cannot be written is a warning, and nothing is lost.
c=$tmp/none/cache
go no_folder "$a"
check no_folder_is_named grep -q "^# warning: the cache is not kept: .*none/cache" "$tmp/warned"
c=/dev/full
[ -e /dev/full ] && { go full_disk "$a"; check full_disk_is_named grep -q "^# warning: the cache is not" "$tmp/warned"; }
c=$tmp
go folder "$a"
check nothing_left [ -z "$(find "$tmp" -name '*.tmp*')" ]
