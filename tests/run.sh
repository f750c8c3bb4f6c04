#!/bin/sh
# SPDX-License-Identifier: MIT
# Runs every built test program and every tests/e2e/*.sh, adds up their last lines and prints
# "N passed, N failed, N skipped" last. Arguments select by part of a name; ^name excludes.
# An e2e script prints "ok name", "FAIL name: ...", "skip name: why" lines. $RUNNER (qemu) starts the programs.
build=${BUILD:-build}
total_p=0 total_f=0 total_s=0
selected() {
    [ -z "$select" ] && return 0
    for w in $select; do
        case $w in ^*) case $1 in *"${w#^}"*) return 1 ;; esac; any=${any:-0} ;; *) any=1; case $1 in *"$w"*) return 0 ;; esac ;; esac
    done
    [ "${any:-0}" = 0 ]
}
select=$*
log=$(mktemp)
trap 'rm -f "$log"' EXIT
for t in "$build"/tests/unit/*_test "$build"/tests/kern/*_test tests/e2e/*.sh; do
    [ -f "$t" ] || continue
    selected "$t" || continue
    echo "== $t"
    case $t in
        *.sh) sh "$t" >"$log" 2>&1; rc=$?
              p=$(grep -c '^ok ' "$log"); f=$(grep -c '^FAIL ' "$log"); s=$(grep -c '^skip ' "$log")
              [ $rc -ne 0 ] && [ "$f" = 0 ] && { f=1; echo "FAIL $t: exit $rc" >>"$log"; }
              grep -v '^ok ' "$log" ;;
        *)    ${RUNNER:-} "$t" >"$log" 2>&1; rc=$?
              line=$(tail -n 1 "$log")
              case $line in
                  *" passed, "*" failed, "*" skipped")
                      p=${line%% passed*}; f=${line#*passed, }; f=${f%% failed*}; s=${line#*failed, }; s=${s%% skipped*} ;;
                  *)  p=0 s=0 f=1; echo "FAIL $t: ended with exit $rc and no count" >>"$log" ;;
              esac
              grep -Ev '^ok  |passed, ' "$log" ;;
    esac
    total_p=$((total_p + p)); total_f=$((total_f + f)); total_s=$((total_s + s))
done
echo "$total_p passed, $total_f failed, $total_s skipped"
[ "$total_f" = 0 ]
