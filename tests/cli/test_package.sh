#!/bin/sh
# pack, verify and info.
. "${0%/*}/harness.sh"
picture=$PICTURES/picture01.png

for quant in q8 q4 f16 f32; do
    run pack "$MODEL" $quant --quant $quant -q
    expect_code 0
    expect_no_out
    expect_no_err
    run verify $quant
    expect_answer good
    run info $quant --json
    expect_code 0
    expect_json "o[0]['form'] == 'package' and o[0]['quant'] == '$quant' and o[0]['tied'] is True"
    # A package answers as its checkpoint does when that is held in the same type.
    run ask "$picture" "Write a detailed description." -m $quant -q
    expect_code 0
    expect_no_err
    cp out packed
    run ask "$picture" "Write a detailed description." -m "$MODEL" --quant $quant -q
    expect_code 0
    cmp -s out packed || fail "$quant: the package answers otherwise"
done
run ask "$picture" "Write a detailed description." -m f32 -q
expect_answer "The picture shows a small pineapple in the bottom right corner. The background is red."

# Smaller types make smaller packages.
size() { cat "$1"/* | wc -c; }
[ "$(size q4)" -lt "$(size q8)" ] && [ "$(size q8)" -lt "$(size f16)" ] &&
    [ "$(size f16)" -lt "$(size f32)" ] || fail "the sizes are not in order"
run pack "$MODEL" bf16 --embed-bf16 -q
expect_code 0
[ "$(size bf16)" -lt "$(size q8)" ] || fail "--embed-bf16 saves nothing"
run verify bf16 --json
expect_code 0
expect_json 'o == [{"package": "bf16", "good": True}]'

# Without --quiet one line says what was done, on stderr.
run pack "$MODEL" again
expect_code 0
expect_no_out
expect_err_has "packed .* as q8 into 'again'"

# A package that is there is kept, unless --force.
run pack "$MODEL" again --quant q4
expect_refusal again
run info again --json
expect_json 'o[0]["quant"] == "q8"'
run pack "$MODEL" again --quant q4 --force -q
expect_code 0
run info again --json
expect_json 'o[0]["quant"] == "q4"'
run verify again
expect_answer good

# The tower's form: a package answers as the checkpoint does in that form, and says what it is.
for vision in bf16 q8 f32; do
    run pack "$MODEL" v$vision --quant q4 --vision $vision -q
    expect_code 0
    expect_no_err
    run verify v$vision -q
    expect_answer good
    run info v$vision --json
    expect_json "o[0]['vision_type'] == '$vision' and o[0]['quant'] == 'q4'"
    run info v$vision
    expect_out_has "decoder q4, vision $vision\$"
    grep -q "\"vision\":.*\"$vision\"" v$vision/manifest.json || fail "the manifest does not say $vision"
    run caption "$picture" -m v$vision -q
    expect_code 0
    cp out packed
    run caption "$picture" -m "$MODEL" --quant q4 --vision $vision -q
    expect_answer "A pineapple on a red background."
    cmp -s out packed || fail "$vision: the package answers otherwise"
done
[ "$(size vq8)" -lt "$(size vbf16)" ] && [ "$(size vbf16)" -lt "$(size vf32)" ] ||
    fail "the towers' sizes are not in order"
run caption "$picture" -m vq8 --vision bf16
expect_refusal "vq8: its vision tower is packed as q8, so it cannot be opened as bf16"
run info "$MODEL" --json --quant f32
expect_json 'o[0]["vision_type"] == "f32"'
run info "$MODEL" --json
expect_json 'o[0]["vision_type"] == "bf16" and o[0]["vision"]["intermediate_size"] == 640 and o[0]["vision"]["taps"] == 3'

# A package of an earlier version says what to do.
sed 's/"version":.*,/"version": 1,/' vbf16/manifest.json >old.json
cp old.json vbf16/manifest.json
run caption "$picture" -m vbf16
expect_refusal "package version 1; this program reads version 2: pack the checkpoint again"

# Damage is found, by name.
printf 'X' | dd of=again/decoder.safetensors bs=1 seek=200000 conv=notrunc 2>/dev/null
run verify again
expect_refusal 'decoder.safetensors'
run verify again --json
expect_code 1
expect_json 'o[0]["good"] is False and "decoder" in o[0]["error"]'
run verify "$MODEL"
expect_refusal .
run verify nowhere
expect_refusal nowhere
run pack nowhere out1
expect_refusal nowhere
[ ! -e out1 ] || fail "a failed pack left something"

# info of the checkpoint: what config.json and the files say.
run info "$MODEL" --json --context 1000 --picture 640x200
expect_code 0
expect_json 'o[0]["family"] == "qwen3_vl" and o[0]["form"] == "checkpoint" and o[0]["checkpoint_dtype"] == "bf16"'
expect_json 'o[0]["decoder"]["layers"] == 6 and o[0]["decoder"]["hidden_size"] == 256 and o[0]["decoder"]["vocab_size"] == 2048'
expect_json 'o[0]["vision"]["layers"] == 6 and o[0]["vision"]["patch_size"] == 16'
expect_json 'o[0]["memory"]["context_tokens"] == 1000 and o[0]["memory"]["picture_width"] == 640'
expect_json 'o[0]["memory"]["image_tokens"] == o[0]["memory"]["resized_width"] * o[0]["memory"]["resized_height"] // 1024'
expect_json 'o[0]["memory"]["total"] == sum(o[0]["memory"][k] for k in ("weights", "kv_cache", "scratch", "visual_rows"))'
run info -m "$MODEL"
expect_code 0
for word in model family types decoder vocabulary context vision pictures kernels bytes memory; do
    expect_out_has "^$word( |\$)"
done

# More context needs more memory.
run info "$MODEL" --json --context 100
cp out less
run info "$MODEL" --json --context 4000
cat less >>out
expect_json 'o[0]["memory"]["kv_cache"] > o[1]["memory"]["kv_cache"]'
exit 0
