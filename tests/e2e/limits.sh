#!/bin/sh
# SPDX-License-Identifier: MIT
# Limits that a control group sets: fewer threads under a CPU quota, and no work that a memory limit would end with a
# kill. Makes groups where this user may. How fast a quota leaves the program: bench/quota.sh.
. tests/e2e/lib.inc
unset TINYLLM_CPU
groups=
trap '[ -z "$groups" ] || rmdir $groups; rm -rf "$tmp"' EXIT

# new_group CONTROLLER: a group of its own in $group; fails where that is not allowed or the controller not given.
new_group() {
    group=/sys/fs/cgroup/$1/tinyllm-$$ v2=
    if [ -f /sys/fs/cgroup/cgroup.controllers ]; then
        group=/sys/fs/cgroup$(sed -n 's/^0:://p' /proc/self/cgroup)/tinyllm-$$-$1 v2=1
    fi
    mkdir "$group" 2>/dev/null || return 1
    groups="$groups $group"
    [ -f "$group/$1.max" ] || [ -z "$v2" ]
}
set_limit() { echo "$2" 2>/dev/null >"$group/$1"; }
# Moves a shell into the group; it then becomes the program.
run_there() {
    rc=0
    sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" ${RUNNER:-} "$TINYLLM" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null || rc=$?
}

m=$tmp/tiny.gguf
"$BUILD/tools/mkmodel" "$m" --type q8_0 --embd 64 --heads 2 --kv-heads 1 --ff 128 || { echo "FAIL mkmodel: exit $?"; exit 0; }
threads_are() { exits 0 && sed 1d "$tmp/out" | cut -d, -f8 | grep -qx "$1"; }
if new_group cpu && if [ "$v2" ]; then set_limit cpu.max "100000 100000"; else set_limit cpu.cfs_quota_us 100000; fi; then
    run_there bench "$m" -p 0 -n 4 -r 1 --no-limits --csv
    check quota_of_one threads_are 1
    run_there bench "$m" -p 0 -n 4 -r 1 --no-limits --csv -t 2
    check quota_is_advice threads_are 2
    if [ "$v2" ]; then set_limit cpu.max "50000 100000"; else set_limit cpu.cfs_quota_us 50000; fi
    run_there bench "$m" -p 0 -n 4 -r 1 --no-limits --csv
    check quota_of_half threads_are 1
else
    echo "skip quota: no control group for cpu can be made here"
fi

set -- bench --shape layers=8,dim=1024,ff=4096,heads=16,kv=4,vocab=32000,tied=1 --type q8_0 -p 0 -n 4 -r 1 --no-limits --csv
if new_group memory && if [ "$v2" ]; then set_limit memory.max 200000000; else set_limit memory.limit_in_bytes 200000000; fi; then
    run_there "$@"
    check memory_limit eval 'exits 1 && one_line && err_has "memory, this process may use " && err_has " MiB" && out_has "building it needs"'
else
    echo "skip memory_limit: no control group for memory can be made here"
fi
