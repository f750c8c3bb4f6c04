#!/bin/sh
# SPDX-License-Identifier: MIT
# check_syms.sh LIBRARY BUILD [SHARED]: prints every break of the rules below and fails if there is one.
#  - every global symbol the library defines starts with tl_
#  - the objects of a CPU level define tl_fill_<level>[_part] and no other global: no caller can reach them unchecked
#  - the library never ends the process and never prints: it does not refer to exit, abort, assert, printf, stderr, ...
#  - the shared library exports the functions that tinyllm.h declares and nothing else
# $NM: another nm, for cross builds.
lib=$1 build=$2 nm=${NM:-nm} bad=0
complain() { echo "symbols: $*"; bad=1; }
[ -f "$lib" ] || { echo "symbols: $lib is missing: run make first"; exit 1; }

# Names the sanitizers and the compiler add are theirs.
names=$($nm -g --defined-only "$lib" | awk 'NF == 3 && $2 ~ /^[A-Z]$/ {print $3}' |
    grep -Ev '^(tl_|__(asan|ubsan|odr_asan)|DW\.ref)')
[ -z "$names" ] || complain "global names without tl_:" $names

forbidden=$($nm -g --undefined-only "$lib" | awk '{print $2}' | sort -u |
    grep -Ex '_?exit|quick_exit|abort|__assert_fail|_*(v?printf|puts|putchar|perror)(_chk)?|stdout|stderr|raise|kill')
[ -z "$forbidden" ] || for name in $forbidden; do
    complain "the library refers to $name, in:" $($nm -A -g --undefined-only "$lib" |
        awk -v n="$name" '$NF == n {print $1}')
done

for object in "$build"/kernels/*_*/*.o; do
    [ -f "$object" ] || { complain "$build/kernels has no objects of CPU levels"; continue; }
    level=$(basename "$(dirname "$object")")
    for name in $($nm -g --defined-only "$object" | awk 'NF == 3 {print $3}' | grep -v '^__odr_asan'); do
        case $name in
            "tl_fill_${level#*_}" | "tl_fill_${level#*_}"_*) ;;
            *) complain "$object exports $name: a level exports tl_fill_${level#*_}* only" ;;
        esac
    done
done

if [ -f "${3:-}" ]; then
    declared=$(sed 's|/\*.*\*/||; s|//.*||' include/tinyllm.h | grep -v -e '^ \*' -e '^typedef.*_fn(' | grep -o 'tl_[a-z0-9_]*(' | tr -d '(' | sort -u)
    exported=$($nm -D --defined-only "$3" | awk 'NF == 3 {print $3}' | grep -Ev '^__|^_(init|fini|edata|end)$|^DW' | sort -u)
    for name in $exported; do
        echo "$declared" | grep -qx "$name" || complain "$3 exports $name, which tinyllm.h does not declare"
    done
    for name in $declared; do
        echo "$exported" | grep -qx "$name" || complain "$3 does not export $name"
    done
fi

[ $bad = 0 ] && echo "symbols: ok"
exit $bad
