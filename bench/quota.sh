#!/bin/sh
# SPDX-License-Identifier: MIT
# quota.sh MODEL [ROUNDS]: decoding without a CPU quota, with one of half the CPUs and one of a quarter, in turn. Prints
# medians of the rounds (default 5) in tokens per second; fails if half the CPUs leave less than 35 % of the speed.
# Needs the right to make control groups. $TINYLLM names the program, default ./tinyllm.
die() { echo "quota: $*" >&2; exit 1; }
[ $# -ge 1 ] || { sed -n 's/^# \{0,1\}//; 3,5p' "$0" >&2; exit 2; }
model=$1 rounds=${2:-5} tinyllm=${TINYLLM:-./tinyllm} cpus=$(nproc)
case $rounds in '' | 0 | *[!0-9]*) die "'$rounds' is not a number of rounds" ;; esac
[ -x "$tinyllm" ] || die "no program $tinyllm: run make, or set TINYLLM"
group=/sys/fs/cgroup/cpu/tinyllm-$$ v2=
if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
    group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/tinyllm-$$ v2=1
fi
mkdir "$group" || exit 1
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"; rmdir "$group"' EXIT
trap 'exit 1' INT TERM

# [microseconds of CPU time in 100000]
set_quota() {
    if [ "$v2" ]; then echo "$1 100000" >"$group/cpu.max"
    elif [ "$1" = max ]; then echo -1 >"$group/cpu.cfs_quota_us"
    else echo "$1" >"$group/cpu.cfs_quota_us"; fi || die "cannot set a quota in $group"
}
# Appends the rate to $tmp/$1; $tmp/threads.$1 says how many threads were chosen.
measure() {
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$tinyllm" bench "$model" -p 0 -n 64 -r 1 --no-limits --csv \
        >"$tmp/out" 2>"$tmp/err" </dev/null || die "$tinyllm failed: $(tail -n 1 "$tmp/err")"
    sed 1d "$tmp/out" | cut -d, -f10 >>"$tmp/$1"
    sed 1d "$tmp/out" | cut -d, -f8 >"$tmp/threads.$1"
}
median() { sort -n "$tmp/$1" | awk '{v[NR] = $1} END {print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2}'; }

for round in $(seq "$rounds"); do
    for part in 1 2 4; do
        if [ $part = 1 ]; then set_quota max; else set_quota $((cpus * 100000 / part)); fi
        measure $part
    done
done
printf '%-12s %8s %8s %8s\n' CPUs threads tok/s share
for part in 1 2 4; do
    awk -v cpus="$cpus" -v part=$part -v threads="$(cat "$tmp/threads.$part")" -v rate="$(median $part)" -v all="$(median 1)" '
        BEGIN {printf "%-12s %8d %8.1f %8.2f\n", cpus / part, threads, rate, rate / all; exit part == 2 && rate < 0.35 * all}' ||
        die "half the CPUs leave less than 35 % of the speed"
done
