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
all=$a a=$begin
unusable too_long "positions, the context 100" --kv q8_0 -c 100
a=$all
printf 'not a cache, but a text of more than the 88 bytes that the header of a saved state has: it is somebody else'"'"'s' >"$c"
cp "$c" "$tmp/good"
unusable foreign "does not begin as one" --kv q8_0
rm -f "$c"
run run "$tmp/other.gguf" -p "$a" -n 4 --ignore-eos -q --cache "$c"
cp "$c" "$tmp/good"
unusable other_model "of another model"

# ---- who else could come along
c=$tmp/cache
for arch in llama gemma3; do   # gemma3: with a window
    mkmodel "$tmp/$arch.gguf" --arch $arch --layers 3 --embd 64 --heads 4 --kv-heads 2 --seed 4
    main=$m m=$tmp/$arch.gguf
    rm -f "$c"
    go first_$arch "$a" --kv q4_0
    go penalties_$arch "$a" --kv q4_0 --repeat-penalty 1.4 --repeat-last-n -1
    check penalties_are_warm_$arch [ "$cached" = $((prompt_tokens - 1)) ]
    go other_context_$arch "$a" --kv q4_0 -c 400
    check other_context_is_warm_$arch [ "$cached" = $((prompt_tokens - 1)) ]
    go unpacked_$arch "$a" --kv q4_0 --no-pack
    go drafts_$arch "$a" --kv q4_0 --speculate lookup
    check drafts_are_warm_$arch [ "$cached" = $((prompt_tokens - 1)) ]
    m=$main
done
rm -f "$c"
go to_keep "$a"
run run "$m" -p "$a" -n 0 -q --cache "$c"
check nothing_wanted eval 'exits 0 && silent err'
main=$m m=$tmp/name.gguf
cp "$main" "$m"
go other_name "$a"
check other_name_is_warm eval '[ "$cached" = $((prompt_tokens - 1)) ] && [ ! -s "$tmp/warned" ]'
cp "$c" "$tmp/good"
cp "$c" "$tmp/keep"
mkmodel "$m" --layers 2 --embd 64 --heads 4 --kv-heads 2 --type q8_0
unusable other_quantization "of another model"
# One weight in the middle of the embeddings (the first tensor), which the prompt's tokens need not even be; one number.
cp "$main" "$m"
printf '\077' | dd of="$m" bs=1 seek=$(($(wc -c <"$m") / 2)) conv=notrunc 2>/dev/null
unusable other_weight "of another model"
m=$main
for used in 3 2; do mkmodel "$tmp/used$used.gguf" --arch qwen3moe --layers 2 --embd 64 --heads 4 --kv-heads 2 --used $used; done
m=$tmp/used3.gguf
rm -f "$c"
go experts "$a"
cp "$c" "$tmp/good"
m=$tmp/used2.gguf
unusable other_hyper_parameter "of another model"
m=$main

# Several programs at once: each text is right, and what the last one left is whole.
for word in one two six ten; do
    run run "$m" -p "$a $word" -n 9 --ignore-eos --temp 0 -q
    cp "$tmp/out" "$tmp/$word.cold"
done
pids=
cp "$tmp/keep" "$c"
for word in one two six ten; do
    ${RUNNER:-} "$TINYLLM" run "$m" -p "$a $word" -n 9 --ignore-eos --temp 0 -q -t 1 --cache "$c" >"$tmp/$word" 2>"$tmp/$word.err" </dev/null &
    pids="$pids $!"
done
wait $pids
for word in one two six ten; do check "at_once_$word" eval 'cmp -s "$tmp/$word" "$tmp/$word.cold" && [ ! -s "$tmp/$word.err" ]'; done
go after_all "$a"
check after_all_is_whole eval '[ "$cached" -gt 90 ] && [ ! -s "$tmp/warned" ]'

# One bit that is another, and bytes that came behind.
rm -f "$c"
go for_damage "$a"
cp "$c" "$tmp/good"
size=$(wc -c <"$tmp/good")
for i in 0 1 2 3 4 5 6 7 8 9; do
    at=$((i * size / 10 + i * 37))
    old=$(dd if="$tmp/good" bs=1 skip=$at count=1 2>/dev/null | od -An -tu1 | tr -d ' ')
    bit=$((1 << i % 8))
    cp "$tmp/good" "$c"
    printf "\\$(printf %o $(((old & bit) ? old - bit : old + bit)))" | dd of="$c" bs=1 seek=$at conv=notrunc 2>/dev/null
    go "bit_at_$at" "$a"
    check "bit_at_${at}_is_named" grep -q "^# warning: the cache is not used and will be replaced: " "$tmp/warned"
done
printf x | cat "$tmp/good" - >"$c"
go grown "$a"
check grown_is_named grep -q damaged "$tmp/warned"
: >"$c"
go empty "$a"
check empty_is_named grep -q "is cut" "$tmp/warned"
go empty_is_replaced "$a"
check empty_is_warm [ "$cached" = $((prompt_tokens - 1)) ]

# An old file outlives a write that fails.
cp "$c" "$tmp/good"
(ulimit -f 16; run run "$m" -p "$a and so on" -n 4 --temp 0 --ignore-eos -q --cache "$c"; exit $rc)
rc=$?
check cut_write eval 'exits 0 && err_has "# warning: the cache is not kept: " && cmp -s "$c" "$tmp/good"'

# ---- places that are no plain files
rm -f "$c"
ln -s place "$c"
go link "$a"
check link_stays eval '[ -h "$c" ] && [ -f "$tmp/place" ]'
go link_again "$a"
check link_is_warm eval '[ "$cached" = $((prompt_tokens - 1)) ] && [ -h "$c" ]'
go link_rewritten "$a and so on"
check link_still_there [ -h "$c" ]
rm -f "$c"
cp "$m" "$tmp/name.gguf"
c=$tmp/name.gguf
go model_as_cache "$a"
check model_is_left_alone eval 'cmp -s "$m" "$c" && grep -q "^# warning: the cache is not used and not kept: .*name.gguf is a model" "$tmp/warned"'
c=$tmp/fifo
if [ -z "${RUNNER:-}" ] && mkfifo "$c" 2>/dev/null; then
    "$TINYLLM" run "$m" -p x -n 4 -q --cache "$c" >"$tmp/out" 2>"$tmp/err" &
    pid=$!
    for _ in $(seq 100); do kill -0 $pid 2>/dev/null || break; sleep 0.1; done
    kill $pid 2>/dev/null
    rc=0; wait $pid || rc=$?
    check fifo_is_not_waited_for eval 'exits 0 && err_has "fifo is not a regular file"'
else
    echo "skip fifo_is_not_waited_for: no fifo, or a runner"
fi
mkdir "$tmp/closed"
chmod 500 "$tmp/closed"
c=$tmp/closed/cache
if touch "$c" 2>/dev/null; then
    echo "skip closed_folder: this user may write everywhere"
else
    go closed_folder "$a"
    check closed_folder_is_named grep -q "^# warning: the cache is not kept: .*Permission denied" "$tmp/warned"
fi

# What cannot be written is a warning, and nothing is lost.
c=$tmp/none/cache
go no_folder "$a"
check no_folder_is_named grep -q "^# warning: the cache is not kept: .*none/cache" "$tmp/warned"
c=/dev/full
[ ! -e /dev/full ] || { go full_disk "$a"; check full_disk_is_named grep -q "^# warning: the cache is not" "$tmp/warned"; }
c=/dev/zero
[ ! -e $c ] || { go endless "$a"; check endless_is_named grep -q "/dev/zero is not a regular file" "$tmp/warned"; }
c=$tmp
go folder "$a"
check folder_is_named eval 'grep -q "is a directory" "$tmp/warned" && [ "$(wc -l <"$tmp/warned")" = 1 ]'
check nothing_left [ -z "$(find "$tmp" -name '*.tmp*')" ]
