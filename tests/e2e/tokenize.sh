#!/bin/sh
# SPDX-License-Identifier: MIT
# tokenize: forms of input and output, flags, decoding, on a vocabulary-only file; files whose vocabulary is damaged.
. tests/e2e/lib.inc
. tests/e2e/gguf.inc
v=tests/data/spm_tiny/vocab.gguf
text_is() { printf "$1" | cmp -s - "$tmp/out"; }

run tokenize $v -p "Hello world"
check lines eval 'exits 0 && silent err && [ "$(wc -l <"$tmp/out")" = 8 ] && [ "$(head -n 1 "$tmp/out")" = "      1  <s>" ]'
check lines_bytes grep -q "^    439  .* 20$" "$tmp/out"
run tokenize $v -p "Hello world" --no-bos --ids
check ids text_is '439 502 440 294 444 427 366\n'
run tokenize $v -p "Hello world" --json
check json text_is '{"ids": [1, 439, 502, 440, 294, 444, 427, 366], "pieces": ["<s>", "▁", "H", "e", "ll", "o", "▁wor", "ld"]}\n'
run tokenize $v -p "" --no-bos --json
check json_empty text_is '{"ids": [], "pieces": []}\n'
run tokenize $v --special --ids -p "<s></s>"
check special text_is '1 2\n'
run tokenize $v --ids -p "</s>"
check not_special eval '! text_is "1 2\n" && exits 0'

printf 'a\000b\377 \342\202\254\n' >"$tmp/text"
run tokenize $v --ids -f "$tmp/text"
cp "$tmp/out" "$tmp/ids"
check file eval 'exits 0 && silent err'
${RUNNER:-} "$TINYLLM" tokenize $v --ids -f - <"$tmp/text" >"$tmp/out"
check dash cmp -s "$tmp/out" "$tmp/ids"
${RUNNER:-} "$TINYLLM" tokenize $v --ids <"$tmp/text" >"$tmp/out"
check standard_input cmp -s "$tmp/out" "$tmp/ids"
run tokenize $v --decode -f "$tmp/ids"
check round_trip cmp -s "$tmp/out" "$tmp/text"
run tokenize $v --decode --special -p "1 439,502 2"
check decode_special text_is '<s>H</s>'
run tokenize $v --decode --json -p "439 502 258"
check decode_json text_is '{"text": "H�"}\n'
run tokenize $v --decode -p ""
check decode_nothing eval 'exits 0 && silent out'

run tokenize $v --decode -p "512"
check id_too_large refused 2 512
run tokenize $v --decode -p "1 x"
check id_malformed refused 2 x
run tokenize $v -p a -f b
check two_inputs refused 2 "not both"
run tokenize $v -f "$tmp/none"
check no_file refused 1 "$tmp/none"
run tokenize "$tmp/none.gguf" -p a
check no_model refused 1 none.gguf

# What comes back is what went in, whatever stands at its ends: a SentencePiece vocabulary adds a space and takes it away.
spm=tests/data/spm_tiny/vocab.gguf bpe=$tmp/bpe.gguf bare=$tmp/bare.gguf
"$BUILD/tools/mkmodel" "$bpe" --layers 1 --embd 64
"$BUILD/tools/mkmodel" "$bare" --arch gemma3 --layers 1 --embd 64
n=0
for text in Hello ' Hello' '  Hello' '   ' '\n' '\n Hello' '\tHello \n' '</s>Hello' '</s> Hello' '</s>\nHello' '<s>' ' <s> ' 'a</s>' '<0x41>' 'e\314\201\303\251' \
    '\342\200\217\327\220' '\360\237\221\251\342\200\215\360\237\221\247' '\r\n\r\n' '\000' '\001\033[31m' '3333+777=12' '\357\273\277x' '\377\376' '\360\237\230'; do
    n=$((n + 1))
    printf "$text" >"$tmp/text"
    for file in $spm $bpe $bare; do
        for special in '' --special; do
            run tokenize $file --no-bos $special --ids -f "$tmp/text"
            cp "$tmp/out" "$tmp/ids"
            run tokenize $file --decode $special -f "$tmp/ids"
            check "comes_back_${n}_$(basename $file .gguf)$special" eval 'exits 0 && cmp -s "$tmp/out" "$tmp/text"'
        done
    done
done
run tokenize $spm --ids -p "  Hello" --no-bos
check space_is_added_once text_is '274 439 502 440 294 444\n'
run tokenize $spm --ids -p "</s> Hello</s>Hello" --no-bos --special
check space_is_added_to_the_first_text text_is '2 274 502 440 294 444 2 502 440 294 444\n'
for file in $spm $bare; do   # U+2581 is how these vocabularies write a space: it has the same tokens
    printf 'x\342\226\201a' >"$tmp/text"
    run tokenize $file --ids -f "$tmp/text"
    cp "$tmp/out" "$tmp/ids"
    run tokenize $file --ids -p 'x a'
    check "lower_block_is_a_space_$(basename $file .gguf)" cmp -s "$tmp/out" "$tmp/ids"
done
run tokenize $spm --ids -p "" --special
check nothing_gets_no_space text_is '1\n'

# Vocabularies of a few tokens, whole and damaged.
vocab() { # MODEL KEYS_AFTER TOKENS...
    model=$1 more=$2
    shift 2
    header 3 0 $((2 + more))
    key_str tokenizer.ggml.model "$model"
    array tokenizer.ggml.tokens 8 $#
    for piece; do string "$piece"; done
}
{ vocab gpt2 1 a b ab; array tokenizer.ggml.merges 8 0; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p abc --ids
check no_pre eval 'exits 0 && text_is "0 1\n" && err_has "# warning:" && err_has gpt-2'
{ vocab gpt2 1 a b ab; array tokenizer.ggml.merges 8 1; string "a b"; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab --ids
check merge text_is '2\n'
{ vocab gpt2 1 a b ab; array tokenizer.ggml.merges 8 1; string "b a"; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab --ids
check merge_without_its_piece text_is '0 1\n'
{ vocab gpt2 0 a b ab; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check no_merges refused 1 tokenizer.ggml.merges
{ vocab gpt2 2 a b ab; key_str tokenizer.ggml.pre "$(printf 'no\033such')"; array tokenizer.ggml.merges 8 0; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab --ids
check odd_pre eval 'exits 0 && err_has "no\\x1bsuch" && ! grep -q "$(printf "\033")" "$tmp/err"'
{ vocab gpt2 2 a b ab; key_str tokenizer.ggml.pre ""; array tokenizer.ggml.merges 8 0; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab --ids
check empty_pre eval 'exits 0 && err_has "# warning:" && err_has gpt-2'
for pre in LLAMA-BPE llama-bpe2 "llama-bpe " qwen; do
    { vocab gpt2 2 a b ab; key_str tokenizer.ggml.pre "$pre"; array tokenizer.ggml.merges 8 0; } >"$tmp/m.gguf"
    run tokenize "$tmp/m.gguf" -p ab --ids
    check "unknown_pre_$pre" eval 'exits 0 && err_has "# warning:" && err_has "\"$pre\"" && err_has gpt-2'
done
{ vocab gpt2 2 a b ab; key_u32 tokenizer.ggml.pre 7; array tokenizer.ggml.merges 8 0; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check number_as_pre refused 1 tokenizer.ggml.pre
{ vocab gpt2 1 a b ab; array tokenizer.ggml.token_type 5 2; u32 1; u32 1; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check short_types refused 1 tokenizer.ggml.token_type
{ vocab gpt2 1 a b ab; key_str tokenizer.ggml.token_type x; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check text_types refused 1 tokenizer.ggml.token_type
{ vocab llama 1 a b ab; array tokenizer.ggml.scores 6 4; zeros 16; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check long_scores refused 1 tokenizer.ggml.scores
{ vocab llama 0 a b ab; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check no_scores refused 1 scores
{ vocab gpt2 1 a b ab; key_u32 tokenizer.ggml.eos_token_id 3; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab
check id_outside refused 1 tokenizer.ggml.eos_token_id
{ vocab gpt2 2 a b ab; key_u32 tokenizer.ggml.eos_token_id 4294967295; array tokenizer.ggml.merges 8 0; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p ab --ids
check id_none text_is '0 1\n'
{ vocab bert 0 a; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p a
check unknown_model refused 1 bert
{ vocab gpt2 0; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p a
check empty_vocabulary refused 1 empty
{ header 3 0 1; arch; } >"$tmp/m.gguf"
run tokenize "$tmp/m.gguf" -p a
check no_vocabulary refused 1 tokenizer.ggml.model
