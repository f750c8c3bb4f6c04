#!/bin/sh
# SPDX-License-Identifier: MIT
# Run from the project's root: counts the files of src, kernels, include and tools that name a member of each table, and
# fails if one of them is not in docs/ADDING.md's steps for its kind: a second list has grown.
bad=0 said=""
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

# The code without its comments.
for file in $(find src kernels include tools -name '*.[ch]' -o -name '*.def' -o -name '*.sh' -o -name '*.py' -o -name '*.mk'); do
    mkdir -p "$tmp/$(dirname "$file")"
    case $file in
        *.py | *.sh | *.mk) sed 's/^ *#.*//' "$file" >"$tmp/$file" ;;
        *) sed -E 's@/\*.*@@; s@^ \*.*@@' "$file" >"$tmp/$file" ;;
    esac
done

with() { printf '%s\n' "$1" | sed "s/@@/$upper/g; s/@/$lower/g"; }

# kind NAME MEMBERS PATTERN FILES: what names a member, and where that may stand, as regular expressions. "@" is the
# member in small letters, "@@" in capitals.
kind() {
    most=0 least=99
    for member in $2; do
        upper=$(echo "$member" | tr a-z A-Z) lower=$(echo "$member" | tr A-Z a-z) n=0
        for file in $(cd "$tmp" && grep -rlE "$(with "$3")" .); do
            if echo "$file" | grep -qxE "\./($(with "$4"))"; then n=$((n + 1))
            else echo "places: $file names $1 $lower: no step of docs/ADDING.md"; bad=1; fi
        done
        [ $n -gt $most ] && most=$n
        [ $n -lt $least ] && least=$n
        [ $n -gt 0 ] || { echo "places: $1 $lower is named nowhere: $0 is out of date"; bad=1; }
    done
    said="$said${said:+, }$1 $least to $most"
}

rows() { sed -nE "s/^$1\\(([0-9]+, *)?([A-Za-z0-9_]+).*/\\2/p" "$2"; }

# Recipes and file types have names of types, too; q8_0 is left out, which bench takes where nothing else is asked for.
kind "tensor type" "$(rows QUANT kernels/types.def | grep -vx Q8_0)" '"@"|\bTL_TYPE_@@\b|\bTL_UNPACK\(@\)|QUANT\( *[0-9]+, *@@\b|\b(PACK|PANEL|GEMM|SLOT)[A-Z0-9_]*\(.*\b@\b' \
    'kernels/types(\.def|/@\.c)|kernels/(x86|arm)/[a-z0-9]+\.h|src/(bench/mix|model/facts|cmd/cmd_bench)\.c'
# Some architectures have given their names to vocabularies and pre-tokenizers.
kind architecture "$(rows ARCH src/model/arch.def)" '"@"|\btl_arch_@\b|ARCH\(@\)' \
    'src/model/arch(\.def|/@\.c)|src/(bench/(shape\.c|shapes\.def)|model/load_vocab\.c|text/[a-z]+\.(c|def))|tools/(reference\.py|mkmodel\.c)'
kind "CPU level" "$(rows LEVEL kernels/levels.def)" '"@"|\btl_fill_@\b|LEVEL\(@\b' \
    'kernels/(levels\.def|cpu\.c|(x86|arm)_[a-z0-9]+/[a-z]+\.c)|tools/test_arm\.sh'
kind command "$(rows TL_CMD src/cmd/cmd.def)" '\btl_cmd_@ *=|TL_CMD\(@\)' 'src/cmd/cmd(\.def|_@\.c)'
kind "cache type" "$(rows KV kernels/kv.def)" '\bTL_KV_(TYPE_)?@@\b|\btl_kv_type_@\b|^ *KV\(@@\b' \
    'kernels/(kv\.def|kv/@\.c|vec/fill\.tmpl\.h|x86_avxvnni/vec\.c)|include/tinyllm\.h|src/(engine/open|cmd/cmd_model|cmd/cmd_bench_model)\.c'
kind activation "$(rows FFN kernels/ffn.def)" '\bTL_FFN_@@\b|FFN\(@@\b|FN\(@\)|void @\(' \
    'kernels/(ffn\.def|scalar/ffn\.c|vec/ffn\.tmpl\.h)|src/model/arch/[a-z0-9_]+\.c'

[ $bad = 0 ] && echo "places: files that name one: $said"
exit $bad
