#!/bin/sh
# SPDX-License-Identifier: MIT
# What compilers for other targets and C libraries make of the Makefile and of src.
. tests/e2e/lib.inc
rc=0
cc=${CC:-cc}
MAKEFLAGS=
if echo 'int x;' | $cc -m32 -x c -c - -o "$tmp/x.o" 2>/dev/null; then
    refused() { ! make -n CC="$cc" CFLAGS=-m32 >"$tmp/out" 2>"$tmp/err" && [ "$(wc -l <"$tmp/err")" = 1 ] && grep -q '64-bit target' "$tmp/err"; }
    check refuses_32_bits refused
else
    echo "skip refuses_32_bits: $cc has no -m32"
fi
if command -v musl-gcc >/dev/null 2>&1 && [ -z "${RUNNER:-}" ]; then
    objects=$(find src -name '*.c' | sed "s|^\(.*\)c\$|$tmp/musl/\1o|")
    built() { make BUILD="$tmp/musl" CC=musl-gcc OPT=-O0 CFLAGS=-Werror $objects >"$tmp/out" 2>"$tmp/err"; }
    check compiles_with_musl built
else
    echo "skip compiles_with_musl: no musl-gcc"
fi
