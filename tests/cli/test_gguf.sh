#!/bin/sh
# GGUF models: a text model and its vision file, a folder with both, packages of them, and what is
# refused before any work.
. "${0%/*}/harness.sh"
models=$DATA/golden/gguf/models
text=$models/t5-q6_K.gguf
vision=$models/mmproj-t5-f16.gguf
picture=$PICTURES/picture01.png
mkdir both
ln -s "$text" both/text.gguf
ln -s "$vision" both/mmproj.gguf

# The pair, the folder and the package of them say the same.
run ask -m "$text" --mmproj "$vision" --max-tokens 8 "$picture" "What is this?"
expect_code 0
cp out pair
[ -s pair ] || fail "no answer"
run ask -m both --max-tokens 8 "$picture" "What is this?"
expect_code 0
cmp -s pair out || fail "the folder answers otherwise"
mkdir capitals
ln -s "$text" capitals/TEXT.GGUF
ln -s "$vision" capitals/MMPROJ.Gguf
run ask -m capitals --max-tokens 8 "$picture" "What is this?"
expect_code 0
cmp -s pair out || fail "a folder of names in capitals answers otherwise"
run pack both packed
expect_code 0
run verify packed
expect_answer good
run ask -m packed --max-tokens 8 "$picture" "What is this?"
expect_code 0
cmp -s pair out || fail "the package answers otherwise"
run pack "$text" packed2 --mmproj "$vision" --quant q4 --vision q8
expect_code 0
run info packed2
expect_code 0
expect_out_has 'tensors q6_K, embedding table f32, decoder q4, vision q8'

# What it is.
run info "$text" --mmproj "$vision" --json
expect_code 0
expect_json 'o[0]["form"] == "gguf" and o[0]["family"] == "qwen3_vl"'
expect_json 'o[0]["embed_dtype"] == "q6_K" and o[0]["vision"]["layers"] == 2'
run caption -m both --max-tokens 4 "$picture"
expect_code 0
run caption -m both --dry-run "$picture"
expect_code 0

run eval "$DATA/eval" -m "$text" --mmproj "$vision" --limit 1 --max-tokens 4 \
    --reference "$models/t5_bf16" --json
expect_code 0
expect_json 'o[0]["items"] == 1 and o[0]["against"]["positions"] > 0'
run bench -m "$text" --mmproj "$vision" --only load --quick --json
expect_code 0

# Without the vision file it reads text, and a picture is refused before anything is loaded.
run info "$text"
expect_code 0
expect_out_has 'vision         none'
run ask -m "$text" --max-tokens 4 "Hello"
expect_code 0
run ask -m "$text" "$picture" "What is this?"
expect_refusal 'cannot see; give the mmproj'
expect_err_lacks 'quantising'
run caption -m "$text" "$picture"
expect_refusal 'cannot see; give the mmproj'
run pack "$text" packed3
expect_refusal 'no package can be made; give the mmproj'
[ ! -e packed3 ] && [ ! -e packed3.partial ] || fail "something is left"
# A conversation may go on without it.
run_with "/image $picture
Hello
" chat -m "$text" --max-tokens 4
expect_code 0
expect_err_has 'cannot see; give the mmproj'
[ -s out ] || fail "no answer"

# What does not belong together.
run ask -m "$models/t1-q4_0.gguf" --mmproj "$vision" "$picture" "What is this?"
expect_refusal 'visual rows of 256, but .* takes rows of 64'
run ask -m "$text" --mmproj "$models/t1-q4_0.gguf" "$picture" "What is this?"
expect_refusal 'is a text model, not a vision file'
run ask -m "$vision" "$picture" "What is this?"
expect_refusal 'is a vision file \(mmproj\), not a text model'
run ask -m "$MODEL" --mmproj "$vision" "$picture" "What is this?"
expect_refusal 'is no GGUF text model'
run ask -m "$models" "$picture" "What is this?"
expect_refusal 'holds several'
run verify both
expect_refusal 'no package'
head -c 100000 "$text" >cut.gguf
run info cut.gguf
expect_refusal 'truncated or damaged'
printf 'x' >not.gguf
run info not.gguf
expect_refusal 'not a GGUF file'
