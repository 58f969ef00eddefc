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
