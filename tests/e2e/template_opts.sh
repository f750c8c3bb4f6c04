#!/bin/sh
# SPDX-License-Identifier: MIT
# template_opts: what a chat template is given besides messages, by run, chat and template: --chat-template,
# --chat-template-kwargs, --tools, --think; the switches of the shared folder's templates, if it is there.
. tests/e2e/lib.inc
text_is() { [ "$(cat "$tmp/out")" = "$1" ]; }
printf '{"messages": [{"role": "user", "content": "Hi"}], "add_generation_prompt": true, "bos_token": "", "eos_token": ""}' >"$tmp/hi.json"
# template TEXT OPTIONS...: renders TEXT
template() {
    printf '%s\n\n' "$1" >"$tmp/t.jinja"
    shift
    run template "$tmp/t.jinja" --input "$tmp/hi.json" "$@"
}

# ---- variables
template '{{ style }} {{ n + 1 }}' --chat-template-kwargs '{"style": "low", "n": 2}'
check kwargs eval 'exits 0 && silent err && text_is "low 3"'
template '{{ strftime_now("%Y") }}' --chat-template-kwargs '{"now": "1999-01-31"}'
check kwargs_now text_is 1999
for bad in '{' '[]' 'yes' '{"messages": []}' '{"a": 1, "bos_token": "x"}' '{enable_thinking: false}' '' '{} x'; do
    template x --chat-template-kwargs "$bad"
    check "kwargs_refused $bad" refused 2 "--chat-template-kwargs: "
done
template '{{ style }}' --chat-template-kwargs '{"stile": "low"}'
check kwargs_misspelt eval 'exits 0 && err_has "has no variable \"stile\""'
template '{{ style }}' --chat-template-kwargs ' { } ' --think auto
check kwargs_empty eval 'exits 0 && silent err && text_is ""'

# ---- tools
form='{% for t in tools %}{{ t.function.name if t.function else t.name }};{% endfor %}'
printf '[{"type": "function", "function": {"name": "rain"}},\n {"name": "sun"}]' >"$tmp/tools.json"
template "$form" --tools "$tmp/tools.json"
check tools_wrapped_and_bare text_is "rain;sun;"
for bad in '{}' '"x"' '3' 'null' '[1]' '[{"name": "a"}, "b"]'; do
    printf '%s' "$bad" >"$tmp/bad.json"
    template "$form" --tools "$tmp/bad.json"
    check "tools_refused $bad" refused 1 "bad.json: line 1"
done
printf '[\n{]' >"$tmp/bad.json"
template "$form" --tools "$tmp/bad.json"
check tools_broken refused 1 "bad.json: line 2: JSON"
template "$form" --tools "$tmp/none.json"
check tools_missing refused 1 none.json

# ---- thoughts
# switch NAME TEMPLATE ON OFF: what the template writes with --think on and off
switch() {
    on=$3 off=$4
    template "$2" --think on
    check "think_on $1" eval 'exits 0 && silent err && text_is "$on"'
    template "$2" --think off
    check "think_off $1" eval 'exits 0 && silent err && text_is "$off"'
}
switch enable_thinking '{{ enable_thinking }}' True False
switch default '{{ enable_thinking | default(true) }}' True False
switch thinking '{{ thinking }}' True False
switch first_name_alone '{% if enable_thinking %}{{ thinking is defined }}{% endif %}' False ''
switch mode '{{ "no" if thinking_mode == "disabled" else "yes" }}' yes no
switch option "{{ 'no' if thinking_option == 'off' else 'yes' }}" yes no
switch budget '{{ thinking_budget }}' -1 0
switch reasoning '{{ reasoning }}' True False
switch force '{{ force_reasoning is defined }} {{ skip_reasoning is defined }}' "True False" "False True"
switch effort_none '{% if reasoning_effort == "none" %}no{% else %}{{ reasoning_effort }}{% endif %}' high no
switch effort_no_think '{{ "" if reasoning_effort == "no_think" else raise_exception("what?") if reasoning_effort != "high" else "high" }}' high ''
switch effort_minimal '{{ reasoning_effort not in ["low", "minimal"] }}' True False
for name in reasoning_effort reasoning_strength; do
    template "{{ $name }}" --think off
    check "think_off $name" eval 'text_is low && err_has "cannot turn thoughts off"'
done
for how in on off; do
    template 'thinking: {{ messages[0].content }}' --think $how
    check "think_$how without_effect" eval 'exits 0 && text_is "thinking: Hi" && err_has "--think $how changes nothing"'
done
template '{{ "/no_think" in messages[0].content }}' --think off
check think_words err_has "write one of them into --system"
template '{{ enable_thinking }}' --think off --chat-template-kwargs '{"enable_thinking": true}'
check think_against_kwargs eval 'text_is True && err_has "changes nothing"'
template '{{ enable_thinking }}{{ style }}' --think off --chat-template-kwargs '{"style": "!"}'
check think_beside_kwargs eval 'silent err && text_is "False!"'
template x --think hide
check think_word refused 2 "'hide' is not auto, on or off"

# ---- other programs' names
template '{{ enable_thinking }}' --reasoning off
check reasoning text_is False
for option in --no-jinja "--reasoning-budget 0" "--reasoning-format none"; do
    template x $option
    check "hint $option" refused 2 "${option%% *}: "
done

# ---- run and chat
if [ -x "$BUILD/tools/mkmodel" ]; then
    tiny="--layers 1 --embd 64"
    ${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/m.gguf" $tiny --chat-template '{{ messages[0].content }}{% if tools %}{{ tools[0].name }}{% endif %}{{ style }}{{ enable_thinking }}'
    ${RUNNER:-} "$BUILD/tools/mkmodel" "$tmp/none.gguf" $tiny
    printf '[{"name": "sun"}]' >"$tmp/tools.json"
    printf '<{{ messages[0].content }}>' >"$tmp/t.jinja"
    # same TEXT OPTIONS...: run and chat compute the tokens of TEXT
    same() {
        run run "$tmp/m.gguf" -p "$1" -n 1 --temp 0 --json -q
        expected=$(json prompt_tokens)
        shift
        run run "$tmp/m.gguf" --chat -p Hi -n 1 --temp 0 --json "$@"
        check "run $*" eval 'exits 0 && json_is prompt_tokens "$expected"'
        printf 'Hi\n' | ${RUNNER:-} "$TINYLLM" chat "$tmp/m.gguf" -n 1 --temp 0 --json "$@" >"$tmp/out" 2>"$tmp/err" || rc=$?
        check "chat $*" json_is prompt_tokens "$expected"
    }
    same HiFalse --think off
    same HiTrue --chat-template-kwargs '{"enable_thinking": true}'
    same 'HisunlowTrue' --tools "$tmp/tools.json" --think on --chat-template-kwargs '{"style": "low"}'
    same '<Hi>' --chat-template "$tmp/t.jinja"
    run run "$tmp/m.gguf" -p HiFalse -n 1 --temp 0 --json -q
    expected=$(json prompt_tokens)
    printf '/set think off\nHi\n' | ${RUNNER:-} "$TINYLLM" chat "$tmp/m.gguf" -n 1 --temp 0 --json -q >"$tmp/out" 2>"$tmp/err"
    check set_think eval 'json_is prompt_tokens "$expected" && ! err_has warning'
    printf '/set think off\n' | ${RUNNER:-} "$TINYLLM" chat "$tmp/m.gguf" --chat-template "$tmp/t.jinja" -q >"$tmp/out" 2>"$tmp/err"
    check set_think_without_effect err_has "--think off changes nothing"
    run run "$tmp/none.gguf" --chat -p Hi -n 1 --chat-template-file "$tmp/t.jinja"
    check template_for_a_model_without exits 0
    run template "$tmp/m.gguf" --input "$tmp/hi.json" --chat-template "$tmp/t.jinja"
    check template_with_a_models_tokens eval 'exits 0 && printf "<Hi>" | cmp -s - "$tmp/out"'
    run template "$tmp/t.jinja" --input "$tmp/hi.json" --chat-template "$tmp/t.jinja"
    check template_twice refused 2 "leave out --chat-template"
    run run "$tmp/m.gguf" --chat -p Hi --think off --chat-template "$tmp/t.jinja" -n 1
    check run_warns eval 'exits 0 && err_has "warning: the chat template knows no variable for thoughts"'
    printf '{{' >"$tmp/bad.jinja"
    run run "$tmp/none.gguf" --chat -p Hi --chat-template "$tmp/bad.jinja"
    check run_template_broken refused 1 "bad.jinja: line 1"
    for option in "--think off" "--tools $tmp/tools.json" "--chat-template $tmp/t.jinja" "--chat-template-kwargs {}"; do
        run run "$tmp/m.gguf" -p Hi $option
        check "run_needs_chat $option" refused 2 "${option%% *} needs --chat"
    done
    run run "$tmp/none" --chat -p Hi --chat-template-kwargs '{'
    check kwargs_before_model refused 2 "--chat-template-kwargs: line 1: JSON"
fi

# ---- published templates: which variable switches each; -: none; !: shorter thoughts only
folder=${TINYLLM_SHARED:-../shared}/templates
if [ ! -d "$folder" ]; then
    echo "skip published_switches: no $folder"
else
    bad=
    while read -r name how; do
        [ -f "$folder/$name.jinja" ] || continue
        run template "$folder/$name.jinja" --input "$tmp/hi.json" --think on
        mv "$tmp/out" "$tmp/on"
        run template "$folder/$name.jinja" --input "$tmp/hi.json" --think off
        case $how in
            -) cmp -s "$tmp/on" "$tmp/out" && err_has "changes nothing" ;;
            words) cmp -s "$tmp/on" "$tmp/out" && err_has "in messages" ;;
            !*) ! cmp -s "$tmp/on" "$tmp/out" && err_has "$(printf '"%s"' "${how#!}")" ;;
            *)
                mv "$tmp/out" "$tmp/off"
                ! cmp -s "$tmp/on" "$tmp/off" && silent err &&
                    run template "$folder/$name.jinja" --input "$tmp/hi.json" --chat-template-kwargs "{$how}" && cmp -s "$tmp/off" "$tmp/out"
                ;;
        esac || bad="$bad $name"
    done <<'END'
Apertus-8B-Instruct "enable_thinking": false
Apriel-1.6-15b-Thinker-fixed -
ByteDance-Seed-OSS "thinking_budget": 0
Cohere2MoE "reasoning": false
CohereForAI-c4ai-command-r7b-12-2024-tool_use "enable_thinking": false
GLM-4.6 "enable_thinking": false
GigaChat3-10B-A1.8B -
GigaChat3.1-10B-A1.8B -
Kimi-K2-Instruct -
Kimi-K2-Thinking -
LFM2-8B-A1B -
LFM2.5-8B-A1B -
MiMo-VL -
MiniMax-M1 -
MiniMax-M3 "thinking_mode": "disabled"
Mistral-Small-3.2-24B-Instruct-2506 -
NVIDIA-Nemotron-Nano-v2 words
NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use -
Qwen-QwQ-32B "enable_thinking": false
Qwen-Qwen2.5-7B-Instruct -
Qwen3-Coder -
Qwen3.5-4B "enable_thinking": false
Spark2.5 "enable_thinking": false
StepFun3.5-Flash -
deepseek-ai-DeepSeek-R1-Distill-Qwen-32B "enable_thinking": false
deepseek-ai-DeepSeek-V3.1 "enable_thinking": false
deepseek-ai-DeepSeek-V4-Flash-0731 "enable_thinking": false
deepseek-ai-DeepSeek-V4 "enable_thinking": false
google-gemma-2-2b-it -
google-gemma-4-31B-it-interleaved "enable_thinking": false
ibm-granite-granite-3.3-2B-Instruct "thinking": false
ibm-granite-granite-4.0 -
inclusionai-ling-3.0-flash "enable_thinking": false
llama-cpp-deepseek-r1 -
meetkai-functionary-medium-v3.1 -
meetkai-functionary-medium-v3.2 -
meta-llama-Llama-3.2-3B-Instruct -
meta-llama-Llama-3.3-70B-Instruct -
mistralai-Ministral-3-14B-Reasoning-2512 -
mistralai-Mistral-Nemo-Instruct-2407 -
muse-glimmer !reasoning_strength
openai-gpt-oss-120b !reasoning_effort
poolside-Laguna-S-2.1 "enable_thinking": false
poolside-Laguna-XS-2.1 "enable_thinking": false
tencent-Hy3 "reasoning_effort": "no_think"
unsloth-Apriel-1.5 -
upstage-Solar-Open-100B "reasoning_effort": "minimal"
END
    check published_switches eval '[ -z "$bad" ] || { echo "$bad"; false; }'
fi
