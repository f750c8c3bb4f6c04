#!/bin/sh
# SPDX-License-Identifier: MIT
# template: the command's interface; all templates of the shared folder, if it is there and python3 can read its list.
. tests/e2e/lib.inc
text_is() { printf "$1" | cmp -s - "$tmp/out"; }

printf '{%% for m in messages %%}\n<{{ m.role }}>{{ m.content }}\n{%% endfor %%}\n{{ bos_token }}' >"$tmp/t.jinja"
printf '{"messages": [{"role": "user", "content": "Hi \\u00e9"}], "bos_token": "<s>"}' >"$tmp/c.json"
run template "$tmp/t.jinja" --input "$tmp/c.json"
check renders eval 'exits 0 && silent err && text_is "<user>Hi é\n<s>"'
${RUNNER:-} "$TINYLLM" template "$tmp/t.jinja" -i - <"$tmp/c.json" >"$tmp/out"
check standard_input text_is '<user>Hi é\n<s>'
printf '{{ strftime_now("%%Y") }}' >"$tmp/now.jinja"
run template "$tmp/now.jinja" --input "$tmp/c.json"
check clock text_is "$(date +%Y)"

# A terminal is not left to what messages say; a pipe gets it as it is.
printf '{"messages": [{"role": "user", "content": "\\u001b]0;x\\u0007\\u009b2J"}]}' >"$tmp/esc.json"
run template "$tmp/t.jinja" --input "$tmp/esc.json"
check pipe_gets_raw_text text_is '<user>\033]0;x\007\302\2332J\n'
if command -v script >/dev/null 2>&1 && [ -z "${RUNNER:-}" ]; then
    script -qec "'$TINYLLM' template '$tmp/t.jinja' --input '$tmp/esc.json'" /dev/null </dev/null 2>&1 | tr -d '\r' >"$tmp/out"
    check terminal_gets_escapes text_is '<user>\\x1b]0;x\\x07\\xc2\\x9b2J\n'
else
    echo "skip terminal_gets_escapes: no script"
fi

printf 'a\n{{ raise_exception("no roles") }}' >"$tmp/bad.jinja"
run template "$tmp/bad.jinja" --input "$tmp/c.json"
check raised refused 1 "bad.jinja: line 2: no roles"
printf '{{ 1' >"$tmp/bad.jinja"
run template "$tmp/bad.jinja" --input "$tmp/c.json"
check syntax refused 1 "bad.jinja: line 1: expected"
printf '{"messages": [' >"$tmp/bad.json"
run template "$tmp/t.jinja" --input "$tmp/bad.json"
check json refused 1 "bad.json: line 1: JSON"
run template "$tmp/none.jinja" --input "$tmp/c.json"
check no_template refused 1 none.jinja
run template "$tmp/t.jinja" --input "$tmp/none.json"
check no_input refused 1 none.json
run template "$tmp/t.jinja"
check input_wanted refused 2 "--input"

# A model's own template, with the tokens its file names; the case's win.
if [ -x "$BUILD/tools/mkmodel" ]; then
    ${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/m.gguf" --layers 1 --embd 64 --chat-template '{{ messages[0].content }}{{ eos_token }}{{ style }}'
    printf '{"messages": [{"role": "user", "content": "Hi"}]}' >"$tmp/c.json"
    run template "$tmp/m.gguf" --input "$tmp/c.json"
    check of_a_model eval 'exits 0 && text_is "Hi<|eos|>"'
    printf '{"messages": [{"role": "user", "content": "Hi"}], "eos_token": "E", "style": "!"}' >"$tmp/c.json"
    run template "$tmp/m.gguf" --input "$tmp/c.json"
    check case_wins eval 'exits 0 && text_is "HiE!"'
    ${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/m.gguf" --layers 1 --embd 64
    run template "$tmp/m.gguf" --input "$tmp/c.json"
    check of_a_model_without refused 1 "m.gguf: has no tokenizer.chat_template"
fi
printf '{"mesages": []}' >"$tmp/c.json"
run template "$tmp/t.jinja" --input "$tmp/c.json"
check misspelt refused 2 "has no variable \"mesages\"; did you mean messages?"
printf '{"messages": [], "mode": 1}' >"$tmp/c.json"
run template "$tmp/t.jinja" --input "$tmp/c.json"
check unknown_variable refused 2 "has no variable \"mode\""

list=${TINYLLM_SHARED:-../shared}/templates/expected.jsonl
if [ ! -f "$list" ]; then
    echo "skip published: no $list"
elif ! command -v python3 >/dev/null; then
    echo "skip published: no python3"
else
    rc=0
    python3 - "$list" "$TINYLLM" "$tmp" >"$tmp/out" 2>"$tmp/err" <<'PY' || rc=$?
import json, os, subprocess, sys
path, program, tmp = sys.argv[1:]
lines = [json.loads(line) for line in open(path, encoding="utf-8")]
head, bad = lines[0], []
for x in lines[1:]:
    case = {k: head[k] for k in ("bos_token", "eos_token", "now")}
    with open(tmp + "/case.json", "w") as f:
        json.dump({**head["cases"][x["case"]], **case}, f)
    command = [program, "template", os.path.join(os.path.dirname(path), x["template"]), "--input", tmp + "/case.json"]
    r = subprocess.run(os.environ.get("RUNNER", "").split() + command, capture_output=True)
    if (r.returncode == 0) != ("text" in x) or r.stdout.decode() != x.get("text", ""):
        bad.append(x["template"] + "/" + x["case"])
print(*bad[:9], sep="\n")
sys.exit(len(bad) > 0)
PY
    check published exits 0
fi
