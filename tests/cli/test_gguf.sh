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
mkdir alone
ln -s "$text" alone/text.gguf
run info alone/text.gguf
expect_code 0
expect_out_has 'vision         none'
run ask -m alone/text.gguf --max-tokens 4 "Hello"
expect_code 0
run ask -m alone/text.gguf "$picture" "What is this?"
expect_refusal 'cannot see; give its vision file too \(mmproj: the mmproj-'
expect_err_lacks 'quantising'
run caption -m alone/text.gguf "$picture"
expect_refusal 'cannot see; give its vision file too \(mmproj: the mmproj-'
run pack alone/text.gguf packed3
expect_refusal 'no package can be made; give its vision file too \(mmproj'
[ ! -e packed3 ] && [ ! -e packed3.partial ] || fail "something is left"
# A conversation may go on without it.
run_with "/image $picture
Hello
" chat -m alone/text.gguf --max-tokens 4
expect_code 0
expect_err_has 'cannot see; give its vision file too \(mmproj: the mmproj-'
[ -s out ] || fail "no answer"

# One vision file beside it that fits is taken by itself; of several none is, and they are named.
run ask -m "$text" --max-tokens 8 "$picture" "What is this?"
expect_code 0
cmp -s pair out || fail "with the file beside it, it answers otherwise"
ln -s "$vision" alone/b.gguf
ln -s "$models/mmproj-t1-f32.gguf" alone/c.gguf
run ask -m alone/text.gguf --max-tokens 8 "$picture" "What is this?"
expect_code 0
cmp -s pair out || fail "with the file beside it, it answers otherwise"
(cd alone && "$OCELLI" info text.gguf) >out 2>err
expect_out_has 'vision         2 layers'
ln -s "$vision" alone/a.gguf
run ask -m alone/text.gguf "$picture" "What is this?"
expect_refusal 'so it cannot see; give one of those beside it too \(mmproj\): a.gguf, b.gguf$'
run pack alone/text.gguf packed3
expect_refusal 'no package can be made; give one of those beside it too \(mmproj\): a.gguf, b.gguf$'

# Clips have the released models' limits, here and in a package; the kind is what most bytes have.
run info both
expect_out_has '4096 to 25165824'
run info packed
expect_out_has '4096 to 25165824'
cmp -s packed/video_preprocessor_config.json packed2/video_preprocessor_config.json || fail "no limits of clips"
run info "$models/t5-q4_K_M.gguf"
expect_out_has 'tensors q4_K, embedding table q6_K'
# A table that is no bf16 is not kept as it is, and that is said.
run pack both packed4 --embed-bf16
expect_code 0
expect_err_has 'its embedding table is q6_K, not bf16, and is kept as float32, exact'

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
expect_refusal 'holds several text models; give one of them by itself: t1-f32.gguf, t1-mix.gguf, '
run verify both
expect_refusal 'no package'
head -c 100000 "$text" >cut.gguf
run info cut.gguf
expect_refusal 'truncated or damaged'
printf 'x' >not.gguf
run info not.gguf
expect_refusal 'not a GGUF file'
