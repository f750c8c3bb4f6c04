#!/bin/sh
# SPDX-License-Identifier: MIT
# The public header and the library as a stranger's program sees them: the example compiles without warnings as C99 and
# as C++, links and runs; the header stands alone; the library brings no foreign names and never exits or prints.
. tests/e2e/lib.inc
lib=$(dirname "$TINYLLM")/libtinyllm.a
CC=${CC:-cc}
warn="-Wall -Wextra -Wshadow -Werror -pedantic"
rc=0
: >"$tmp/out" >"$tmp/err"
# A sanitized library needs a sanitized program.
san=
nm "$lib" 2>/dev/null | grep -q __asan_init && san=-fsanitize=address,undefined

compile() { $1 $2 $warn -Iinclude "$3" -o "$4" ${5:-} $san "$lib" -lm -lpthread >"$tmp/out" 2>"$tmp/err"; }
alone() { printf '#include "tinyllm.h"\n#include "tinyllm.h"\nint main(void) { return TL_OK; }\n' >"$tmp/alone.$3"
          $1 $2 $warn -Iinclude "$tmp/alone.$3" -o "$tmp/alone" >"$tmp/out" 2>"$tmp/err"; }
answers() {
    rc=0
    ${RUNNER:-} "$1" "$tmp/m.gguf" >"$tmp/out" 2>"$tmp/err" || rc=$?
    exits 0 && silent err && [ -s "$tmp/out" ]
}
names_the_file() {
    rc=0
    ${RUNNER:-} "$1" "$tmp/none.gguf" >"$tmp/out" 2>"$tmp/err" || rc=$?
    exits 1 && silent out && [ "$(wc -l <"$tmp/err")" = 1 ] && err_has none.gguf
}

${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/m.gguf" --layers 1 --embd 64 || { echo "FAIL api: mkmodel"; exit 1; }
check header_alone_c99 alone "$CC" -std=c99 c
check example_c99 compile "$CC" -std=c99 tests/unit/example_c99.c "$tmp/c99"
check example_c99_runs answers "$tmp/c99"
check example_c99_fails names_the_file "$tmp/c99"
example_text() { sed 's/^ \* \{0,1\}//; s/^ *//; s/ *$//' "$1"; }
# Every line of the example in the header's comment stands in the program.
in_program() {
    example_text tests/unit/example_c99.c >"$tmp/program"
    sed -n '/^ \*     tl_error err = {0};/,/^ \*\//p' include/tinyllm.h | sed 's/^ \*\/$//' >"$tmp/comment"
    example_text "$tmp/comment" | grep . >"$tmp/out"
    [ "$(wc -l <"$tmp/out")" -gt 15 ] && ! grep -vxFf "$tmp/program" "$tmp/out" >"$tmp/err"
}
check example_is_the_header_text in_program

# Each function of the header is called with NULL somewhere in null_test.c.
all_called() {
    sed 's|/\*.*\*/||' include/tinyllm.h | grep -v -e '^ \*' -e '^typedef.*_fn(' | grep -o 'tl_[a-z0-9_]*(' | sort -u >"$tmp/declared"
    while read -r f; do grep -qF "$f" tests/unit/null_test.c || { echo "$f" >"$tmp/out"; return 1; }; done <"$tmp/declared"
}
check null_test_calls_every_function all_called

# The chats of docs/examples: two turns; no file, no template.
chat='{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:'
${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/chat.gguf" --layers 1 --embd 64 --chat-template "$chat" || { echo "FAIL api: mkmodel"; exit 1; }
two_turns() {
    rc=0
    "$@" "$tmp/chat.gguf" "Hi" "And now?" >"$tmp/out" 2>"$tmp/err" || rc=$?
    exits 0 && silent err && [ "$(wc -l <"$tmp/out")" -ge 2 ] || return 1
    "$@" "$tmp/m.gguf" "Hi" >"$tmp/out" 2>"$tmp/err" && return 1
    err_has tokenizer.chat_template || return 1
    "$@" "$tmp/none.gguf" "Hi" >"$tmp/out" 2>"$tmp/err" && return 1
    err_has none.gguf
}
check example_chat_c compile "$CC" -std=c99 docs/examples/chat.c "$tmp/chat_c"
check example_chat_c_runs two_turns ${RUNNER:-} "$tmp/chat_c"
so=$(cd "$(dirname "$TINYLLM")" && pwd)/libtinyllm.so
if [ -n "$san" ] || [ -n "${RUNNER:-}" ] || ! command -v python3 >/dev/null 2>&1 || [ ! -e "$so" ]; then
    echo "skip example_chat_py: needs python3 and a plain shared library"
else
    check example_chat_py two_turns env TINYLLM_LIBRARY="$so" python3 docs/examples/chat.py
fi

cxx=
for c in "${CXX:-c++}" g++ clang++; do command -v "$c" >/dev/null 2>&1 && { cxx=$c; break; }; done
if [ -n "$cxx" ]; then
    check header_alone_cxx alone "$cxx" -std=c++11 cc
    # In C++11, {0} for a struct is complete; -Wextra asks for every field all the same.
    compile_cxx() { cp tests/unit/example_c99.c "$tmp/example.cc"
                    compile "$cxx" "-std=c++11 -Wno-missing-field-initializers" "$tmp/example.cc" "$tmp/cxx"; }
    check example_cxx compile_cxx
    check example_cxx_runs answers "$tmp/cxx"
    check example_chat_cpp compile "$cxx" -std=c++17 docs/examples/chat.cpp "$tmp/chat_cpp"
    check example_chat_cpp_runs two_turns ${RUNNER:-} "$tmp/chat_cpp"
else
    echo "skip example_cxx: no C++ compiler"
    echo "skip example_chat_cpp: no C++ compiler"
fi

if command -v nm >/dev/null 2>&1; then
    # Names the sanitizers add are theirs.
    foreign() { nm -g --defined-only "$lib" 2>/dev/null | awk 'NF == 3 { print $3 }' |
                grep -v -e '^tl_' -e '^__odr_asan' >"$tmp/out"; ! [ -s "$tmp/out" ]; }
    check only_tl_names foreign
    never='exit|_exit|quick_exit|abort|printf|vprintf|puts|putchar|fprintf|vfprintf|fputs|fputc|perror|stdout|stderr|__assert_fail|signal|sigaction|setlocale|system|popen|fork|__printf_chk|__fprintf_chk|__vfprintf_chk|__vprintf_chk'
    quiet() { nm -u "$lib" 2>/dev/null | awk '{ print $2 }' | grep -xE "$never" >"$tmp/out"; ! [ -s "$tmp/out" ]; }
    check never_exits_or_prints quiet
else
    echo "skip only_tl_names: no nm"
    echo "skip never_exits_or_prints: no nm"
fi
