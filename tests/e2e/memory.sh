#!/bin/sh
# SPDX-License-Identifier: MIT
# What weights cost in memory: packed ones are not there twice, and with --no-pack they stay in the file's shared pages.
. tests/e2e/lib.inc
unset TINYLLM_CPU

# The highest resident size while loading and running, against the file's plus 15 %. Its cache is next to nothing; a
# sanitized program keeps shadows of its own.
room=1.15
nm "$TINYLLM" 2>/dev/null | grep -q __asan_init && room=1.25
csv() { sed -n 2p "$tmp/out" | cut -d, -f"$1"; }
bounded() { exits 0 && awk "BEGIN {exit !($(csv 21) > $(csv 5) && $(csv 21) < $room * $(csv 5))}"; }
if [ -r /proc/self/status ] && [ -w /proc/self/clear_refs ]; then
    for pack in "" --no-pack; do
        run bench --shape layers=8,dim=1024,ff=4096,heads=16,kv=4,vocab=32000,tied=1 --type q8_0 -p 16 -n 0 -r 1 \
            --no-limits --csv $pack
        check "resident${pack:+_no_pack}" bounded
    done
else
    echo "skip resident: no /proc/self/clear_refs"
fi

# With room for less private memory than the weights take.
m=$tmp/m.gguf
${RUNNER:-} "$BUILD/tools/mkmodel" "$m" --type q8_0 --embd 1024 --heads 8 --kv-heads 2 --ff 2048 --layers 4 ||
    { echo "FAIL mkmodel: exit $?"; exit 0; }
limited() { (ulimit -d 32000; run "$@"; exit $rc); rc=$?; }
set -- run "$m" -p a -n 4 -c 64 -t 1 --temp 0 -q
run "$@"
cp "$tmp/out" "$tmp/all"
limited --version
exits 0 || { echo "skip shared: no program starts with so little memory"; exit 0; }   # sanitizers take terabytes
limited "$@"
if exits 0; then
    echo "skip shared: this system does not limit private memory"
else
    check private_is_limited eval 'exits 1 && err_has "for packed weights"'
    limited "$@" --no-pack
    check shared eval 'exits 0 && cmp -s "$tmp/out" "$tmp/all"'
fi
