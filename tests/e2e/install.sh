#!/bin/sh
# SPDX-License-Identifier: MIT
# make install and uninstall, the shared library as another program sees it, and the pages that shells and man read.
. tests/e2e/lib.inc
rc=0
[ -z "${RUNNER:-}" ] || { echo "skip install: cross build"; exit 0; }
nm "$(dirname "$TINYLLM")/libtinyllm.a" 2>/dev/null | grep -q __asan_init && { echo "skip install: sanitized build"; exit 0; }
root=$tmp/dest usr=$tmp/dest/usr
made() { make BUILD="$BUILD" PREFIX=/usr DESTDIR="$root" "$1" >"$tmp/out" 2>"$tmp/err"; }
check install made install
for file in bin/tinyllm include/tinyllm.h lib/libtinyllm.a lib/libtinyllm.so lib/pkgconfig/tinyllm.pc share/man/man1/tinyllm.1 \
    share/bash-completion/completions/tinyllm share/zsh/site-functions/_tinyllm share/fish/vendor_completions.d/tinyllm.fish; do
    check "installed_$(basename $file)" test -s "$usr/$file"
done
check program_runs eval '"$usr/bin/tinyllm" --version >"$tmp/out" && grep -q "^tinyllm [0-9]" "$tmp/out"'

"$BUILD/tools/mkmodel" "$tmp/m.gguf" --layers 1 --embd 64
flags="-I$usr/include -L$usr/lib -ltinyllm"
if command -v pkg-config >/dev/null 2>&1; then
    flags=$(PKG_CONFIG_PATH=$usr/lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$root pkg-config --cflags --libs tinyllm)
else
    echo "skip pkg_config: there is none"
fi
shared_example() {
    ${CC:-cc} -std=c99 tests/unit/example_c99.c -o "$tmp/shared" $flags >"$tmp/out" 2>"$tmp/err" &&
        LD_LIBRARY_PATH=$usr/lib "$tmp/shared" "$tmp/m.gguf" >"$tmp/out" 2>"$tmp/err" && [ -s "$tmp/out" ]
}
check example_with_the_shared_library shared_example
if command -v python3 >/dev/null 2>&1; then
    check python_loads_it python3 -c "
import ctypes, sys
lib = ctypes.CDLL('$usr/lib/libtinyllm.so')
lib.tl_version.restype = ctypes.c_char_p
sys.exit(0 if lib.tl_version()[0:1].isdigit() else 1)"
else
    echo "skip python_loads_it: no python3"
fi

# Each command and option stands in each form.
complete_form() {
    "$TINYLLM" help --"$1" >"$tmp/page" || return 1
    sed -n 's/^TL_CMD(\(.*\))$/\1/p' src/cmd/cmd.def | while read -r c; do
        grep -q "$c" "$tmp/page" || { echo "$c is missing" >"$tmp/err"; return 1; }
        "$TINYLLM" help "$c" | sed -n 's/^ *\(-., \)*--\([a-z][a-z0-9-]*\).*/\2/p' | grep -vx help | while read -r o; do
            sed 's/\\-/-/g' "$tmp/page" | grep -q -e "-$o" -e "-l $o" || { echo "$c --$o is missing" >"$tmp/err"; return 1; }
        done || return 1
    done
}
for form in man bash zsh fish; do check "all_options_in_$form" complete_form $form; done
for shell in bash zsh fish; do
    if command -v $shell >/dev/null 2>&1; then
        "$TINYLLM" help --$shell >"$tmp/page"
        check "${shell}_reads_it" $shell -n "$tmp/page"
    else
        echo "skip ${shell}_reads_it: no $shell"
    fi
done
if command -v bash >/dev/null 2>&1; then
    "$TINYLLM" help --bash >"$tmp/page"
    completes() {   # words of a command line, then what must be offered
        bash -c '. "$0"; COMP_WORDS=($1); COMP_CWORD=$((${#COMP_WORDS[@]} - 1)); _tinyllm; printf "%s\n" "${COMPREPLY[@]}"' \
            "$tmp/page" "$1" >"$tmp/out" 2>"$tmp/err"
        grep -qx -e "$2" "$tmp/out"
    }
    check completes_a_command completes "tinyllm per" perplexity
    check completes_an_option completes "tinyllm run --thr" --threads
fi
if command -v mandoc >/dev/null 2>&1; then
    check man_page_is_clean eval '"$TINYLLM" help --man >"$tmp/t.1" && mandoc -Tlint -W error "$tmp/t.1" >"$tmp/out"'
else
    echo "skip man_page_is_clean: no mandoc"
fi
check uninstall made uninstall
check uninstall_leaves_nothing eval '[ -z "$(find "$root" -type f -o -type l)" ]'
