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

log=$(mktemp) && trap 'rm -f "$log"' EXIT
make -j"$(nproc)" arm >"$log" 2>&1 || { tail -n 20 "$log"; bad "arm: make arm"; finish; }
if grep -A 3 warning: "$log"; then bad "arm: warnings of the compiler"; else good "arm: built without warnings"; fi

# Adds the counts of tests/run.sh: $1 the CPU, then the selection.
run_tests() {
    BUILD=build/arm RUNNER="qemu-aarch64 -cpu $1" sh tests/run.sh "$2" >"$log" 2>&1
    sed -e '$d' -e "s/^== .*/& ($1)/" "$log"
    set -- "$1" $(tail -n 1 "$log")
    case "$*" in
        *" passed, "[0-9]*" failed, "[0-9]*" skipped")
            passed=$((passed + $2)) failed=$((failed + $4)) skipped=$((skipped + $6)) ;;
        *) bad "arm: tests/run.sh on $1 ended without a count" ;;
    esac
}

# cpu, its level, levels whose kernels are tested there: each once, as emulation is slow.
while read -r cpu level tested; do
    got=$(qemu-aarch64 -cpu "$cpu" build/arm/tinyllm cpu --json | tr , '\n' | sed -n 's/^ *"level": *"\(.*\)"$/\1/p' | head -n 1)
    if [ "$got" = "$level" ]; then good "arm: $cpu has level $level"; else bad "arm: $cpu has level '$got', not $level"; fi
    TINYLLM_TEST_LEVELS=$tested run_tests "$cpu" tests/kern/
    [ "$level" != neon ] || run_tests "$cpu" tests/unit/
done <<CPUS
cortex-a53 neon scalar,neon
cortex-a76 dotprod dotprod
max i8mm i8mm
CPUS
finish
