#!/bin/sh
# SPDX-License-Identifier: MIT
# test_arm.sh: cross-builds for aarch64 into build/arm and runs the tests under qemu-user, where no Arm machine is at hand.
# Needs gcc-aarch64-linux-gnu and qemu-user; without them everything is skipped, visibly. Last line:
# "N passed, N failed, N skipped".
#  - One emulated CPU for each level: it must reach exactly that level, since an instruction it lacks traps.
#  - Kernel tests run on each of them, the other unit tests on the first: they do not depend on the level.
cd "$(dirname "$0")/.." || exit 1
passed=0 failed=0 skipped=0
finish() { echo "$passed passed, $failed failed, $skipped skipped"; [ "$failed" = 0 ]; exit; }
good() { passed=$((passed + 1)); echo "ok   $*"; }
bad() { failed=$((failed + 1)); echo "FAIL $*"; }

for tool in aarch64-linux-gnu-gcc qemu-aarch64; do
    command -v $tool >/dev/null && continue
    skipped=1
    echo "skip arm: $tool is not installed (Debian: gcc-aarch64-linux-gnu, qemu-user)"
done
[ $skipped = 0 ] || finish

dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
make -j"$(nproc)" arm >"$dir/make" 2>&1 || { tail -n 20 "$dir/make"; bad "arm: make arm"; finish; }
if grep -A 3 warning: "$dir/make"; then bad "arm: warnings of the compiler"; else good "arm: built without warnings"; fi

# cpu, its level, levels whose kernels are tested there: each once, as emulation is slow.
while read -r cpu level tested; do
    got=$(qemu-aarch64 -cpu "$cpu" build/arm/tinyllm cpu --json | tr , '\n' | sed -n 's/^ *"level": *"\(.*\)"$/\1/p' | head -n 1)
    if [ "$got" = "$level" ]; then good "arm: $cpu has level $level"; else bad "arm: $cpu has level '$got', not $level"; fi
    for test in build/arm/tests/kern/*_test $([ "$level" != neon ] || ls build/arm/tests/unit/*_test); do
        echo "$cpu" "$tested" "$test"
    done >>"$dir/tests"
done <<CPUS
cortex-a53 neon scalar,neon
cortex-a76 dotprod dotprod
max i8mm i8mm
CPUS

# As many at once as there are CPUs: emulation is slow, and a test is mostly one thread.
xargs -P "$(nproc)" -n 3 sh -c '
    TINYLLM_TEST_LEVELS=$2 RUNNER="qemu-aarch64 -cpu $1" BUILD=build/arm sh tests/run.sh "$3" >"$0/$1-${3##*/}.log" 2>&1
    true' "$dir" <"$dir/tests"
for log in "$dir"/*.log; do
    cpu=${log##*/} cpu=${cpu%-*_test.log}
    sed -e '$d' -e "s/^== .*/& ($cpu)/" "$log"
    set -- $(tail -n 1 "$log")
    case "$*" in
        [0-9]*" passed, "[0-9]*" failed, "[0-9]*" skipped")
            passed=$((passed + $1)) failed=$((failed + $3)) skipped=$((skipped + $5)) ;;
        *) bad "arm: $(basename "$log" .log) ended without a count" ;;
    esac
done
finish
