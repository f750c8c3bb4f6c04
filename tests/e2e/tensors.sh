#!/bin/sh
# SPDX-License-Identifier: MIT
# Models whose tensors are missing or have other shapes than the hyper-parameters say: refused, with the tensor's name.
. tests/e2e/lib.inc
mkmodel=$BUILD/tools/mkmodel
[ -x "$mkmodel" ] || { echo "skip tensors: $mkmodel is not built"; exit 0; }

bad() { # ARCH OPTION TENSOR TEXT
    ${RUNNER:-} "$mkmodel" "$tmp/m.gguf" --arch "$1" --layers 2 --embd 64 --heads 4 --kv-heads 2 --vocab 500 "$2" "$3"
    run run "$tmp/m.gguf" -p x -n 1
    check "$1$2=$3" refused 1 "$4"
}
bad llama --without blk.1.attn_k.weight "1 fault: tensor blk.1.attn_k.weight is missing"
bad llama --without blk.0.ffn_gate.weight "1 fault: tensor blk.0.ffn_gate.weight is missing"
bad llama --without output_norm.weight "1 fault: tensor output_norm.weight is missing"
bad llama --without token_embd.weight "tensor token_embd.weight is missing"
bad llama --halved blk.0.ffn_up.weight "1 fault: tensor blk.0.ffn_up.weight is [64, 64], expected [64, 128]"
bad llama --halved blk.1.attn_norm.weight "1 fault: tensor blk.1.attn_norm.weight is [32, 1], expected [64, 1]"
bad llama --halved token_embd.weight "token_embd.weight has 250 rows for 500 tokens"
bad qwen2 --without blk.0.attn_v.bias "1 fault: tensor blk.0.attn_v.bias is missing"
bad qwen3 --without blk.0.attn_q_norm.weight "1 fault: tensor blk.0.attn_q_norm.weight is missing"
bad olmo2 --halved blk.0.attn_q_norm.weight "1 fault: tensor blk.0.attn_q_norm.weight is [32, 1], expected [64, 1]"
bad olmo2 --without blk.1.post_ffw_norm.weight "1 fault: tensor blk.1.post_ffw_norm.weight is missing"
bad phi3 --halved blk.0.attn_qkv.weight "1 fault: tensor blk.0.attn_qkv.weight is [64, 64], expected [64, 128]"
bad phi3 --halved blk.0.ffn_up.weight "1 fault: tensor blk.0.ffn_gate.weight is missing"
bad gptneox --without blk.1.ffn_norm.bias "1 fault: tensor blk.1.ffn_norm.bias is missing"
bad gptneox --without blk.0.attn_qkv.bias "1 fault: tensor blk.0.attn_qkv.bias is missing"
bad starcoder2 --without output_norm.bias "1 fault: tensor output_norm.bias is missing"
bad starcoder2 --without blk.0.ffn_down.bias "1 fault: tensor blk.0.ffn_down.bias is missing"
bad phi2 --halved output.bias "1 fault: tensor output.bias is [250, 1], expected [500, 1]"
bad phi2 --without blk.0.attn_norm.weight "blk.0.attn_norm.weight is missing"
bad gpt2 --without position_embd.weight "1 fault: tensor position_embd.weight is missing"
bad gpt2 --halved blk.1.attn_output.bias "1 fault: tensor blk.1.attn_output.bias is [32, 1], expected [64, 1]"
bad qwen3moe --without blk.1.ffn_gate_exps.weight "1 fault: tensor blk.1.ffn_gate_exps.weight is missing"
bad qwen3moe --halved blk.0.ffn_down_exps.weight "tensor blk.0.ffn_down_exps.weight is [128, 32, 4], expected [128, 64, 4]"
bad qwen3moe --halved blk.0.ffn_gate_inp.weight "1 fault: tensor blk.0.ffn_gate_inp.weight is [64, 2], expected [64, 4]"
bad qwen3moe --without blk.0.ffn_gate_inp.weight "tensor blk.0.ffn_gate.weight is missing"
bad qwen2moe --without blk.1.ffn_down_shexp.weight "1 fault: tensor blk.1.ffn_down_shexp.weight is missing"
bad qwen2moe --halved blk.0.ffn_gate_inp_shexp.weight "1 fault: tensor blk.0.ffn_gate_inp_shexp.weight is [32, 1], expected [64, 1]"
bad gpt-oss --without blk.1.attn_sinks.weight "1 fault: tensor blk.1.attn_sinks.weight is missing"
bad gpt-oss --halved blk.0.ffn_up_exps.bias "1 fault: tensor blk.0.ffn_up_exps.bias is [128, 2], expected [128, 4]"
bad gpt-oss --without blk.0.post_attention_norm.weight "1 fault: tensor blk.0.post_attention_norm.weight is missing"
bad gpt-oss --without blk.0.ffn_gate_inp.bias "1 fault: tensor blk.0.ffn_gate_inp.bias is missing"

# A table of positions bounds the context: by itself where none is asked for, by an error where one is.
${RUNNER:-} "$mkmodel" "$tmp/m.gguf" --arch gpt2 --embd 64 --ctx 512 --halved position_embd.weight
run run "$tmp/m.gguf" -p x -n 1 --json
check positions_bound_the_default eval 'exits 0 && json_is ctx 256'
run run "$tmp/m.gguf" -p x -n 1 -c 257
check positions_bound_the_context refused 2 "n_ctx is 257, this model knows 256 positions"
