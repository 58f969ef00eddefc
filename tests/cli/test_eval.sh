#!/bin/sh
# eval: accuracy by task and kind, and agreement with the recorded answers.
. "${0%/*}/harness.sh"

# The first items in full precision: every answer is the recorded one.
run eval "$DATA/eval" -m "$MODEL" --quant f32 --limit 20 --json -q
expect_code 0
expect_no_err
expect_json 'o[0]["items"] == 20 and o[0]["recorded"] == 20 and o[0]["agreeing"] == 20'
expect_json 'sum(t["items"] for t in o[0]["tasks"].values()) == 20'
expect_json 'sum(t["correct"] for t in o[0]["tasks"].values()) == o[0]["correct"]'
expect_json 'o[0]["kinds"] == {"image": {"items": 20, "correct": o[0]["correct"]}}'
correct=$(sed 's/.*"correct":\([0-9]*\).*/\1/; q' out)
run eval "$DATA/eval" -m "$MODEL" --quant f32 --limit 20
expect_code 0
expect_out_has '^as expected +[0-9]+ of +20 +[0-9.]+ %$'
expect_out_has '^as recorded +20 of +20 +100\.0 %$'
expect_out_has '^image +[0-9]+ of +20 '

# Against a reference: nothing lies between float32 and itself, little between it and q8, more to q4;
# every token of the reference's answers is a position, the end included.
for quant in f32 q8 q4; do
    run eval "$DATA/eval" -m "$MODEL" --quant $quant --limit 8 --reference "$MODEL" --json -q
    expect_code 0
    expect_no_err
    expect_json 'o[0]["items"] == 8 and o[0]["against"]["model"].endswith("model")'
    expect_json 'o[0]["against"]["positions"] >= 8 * 4 and 0 <= o[0]["against"]["kl_mean"] <= o[0]["against"]["kl_p99"]'
    expect_json 'o[0]["against"]["same_likeliest"] <= o[0]["against"]["positions"]'
    cp out against_$quant
done
if has_python; then
    python3 - <<'PYTHON' || fail "the distances of f32, q8 and q4 are not in order"
import json
f32, q8, q4 = (json.load(open("against_" + q))["against"] for q in ("f32", "q8", "q4"))
assert f32["same_likeliest"] == f32["positions"] == q8["positions"] == q4["positions"]
assert f32["kl_mean"] < 1e-9 < q8["kl_mean"] < q4["kl_mean"] < 0.01
assert 32 <= f32["bits_per_weight"] < 32.1 and 8.25 <= q8["bits_per_weight"] < 8.35
assert 4.5 <= q4["bits_per_weight"] < 4.9
assert q4["head_bytes"] < q8["head_bytes"] < f32["head_bytes"] == 2048 * 256 * 4
PYTHON
fi
run eval "$DATA/eval" -m "$MODEL" --limit 2 --reference "$MODEL" -q
expect_code 0
expect_out_has '^against .*model in float32$'
expect_out_has '^same likeliest +[0-9]+ of +[0-9]+ '
expect_out_has '^KL divergence +mean 0\.[0-9]+, 99th percentile 0\.[0-9]+ nats$'
expect_out_has '^decoder +[0-9.]+ MiB, of it the head [0-9.]+ [KM]iB; 8\.[0-9]+ bits a weight$'
run eval "$DATA/eval" -m "$MODEL" --limit 2 --reference nowhere -q
expect_refusal 'nowhere'
run eval "$DATA/eval" -m "$MODEL" --limit 2 --reference "$DATA/golden/qwen3vl/models/t1_f32" -q
expect_refusal 'different vocabularies'

# Clips and pairs, by a file of our own; a wrong answer counts as one; --verbose shows it.
mkdir own
cp "$PICTURES/picture01.png" own/a.png
cp -r "$PICTURES/video1" own/clip
cat >own/items.json <<'JSON'
{"items": [
 {"id": "x1", "task": "caption", "kind": "still", "media": [{"type": "image", "path": "a.png"}],
  "question": "Describe it.", "expected": "A pineapple on a red background.",
  "model_answer": " A pineapple on a red background.\n"},
 {"id": "x2", "task": "caption", "kind": "still", "media": [{"type": "image", "path": "a.png"}],
  "question": "Describe it.", "expected": "A wolf.", "model_answer": "A wolf."},
 {"id": "y1", "task": "vcap", "media": [{"type": "video", "path": "clip", "fps": 2}],
  "question": "Describe this video.", "expected": "?"},
 {"id": "y2", "task": "vcap", "media": [{"type": "video", "fps": 2, "frames": ["clip/frame01.png", "clip/frame02.png"]}],
  "question": "Describe this video.", "expected": "?"},
 {"id": "z1", "question": "Are you real?", "expected": "No, I am a small computer model."}]}
JSON
run eval own -m "$MODEL" --quant f32 --json -v
expect_code 0
expect_err_has "x2: 'A pineapple on a red background.' where 'A wolf.' is recorded"
expect_err_lacks "x1:"
expect_json 'o[0]["items"] == 5 and o[0]["correct"] == 2 and o[0]["recorded"] == 2 and o[0]["agreeing"] == 1'
expect_json 'o[0]["kinds"]["still"] == {"items": 2, "correct": 1} and o[0]["kinds"]["y"]["items"] == 2'
expect_json 'o[0]["tasks"]["-"] == {"items": 1, "correct": 1}'

# Files that are not what they should be.
run eval nowhere -m "$MODEL"
expect_refusal 'nowhere/items.json'
mkdir bad
for text in '' '{' '[]' '{"items": 5}' '[{"id": "a"}]' \
    '[{"id": "a", "question": "q", "expected": "e", "media": {}}]' \
    '[{"id": "a", "question": "q", "expected": "e", "media": [{"type": "image"}]}]' \
    '[{"id": "a", "question": "q", "expected": "e", "media": [{"type": "video", "frames": []}]}]' \
    '[{"id": "a", "question": "q", "expected": "e", "media": [{"type": "video", "path": "x", "fps": 0}]}]'; do
    printf '%s' "$text" >bad/items.json
    run eval bad -m "$MODEL"
    expect_refusal 'bad/items.json'
done
printf '%s' '[{"id": "a7", "question": "q", "expected": "e", "media": [{"type": "image", "path": "no.png"}]}]' >bad/items.json
run eval bad -m "$MODEL" -q
expect_refusal "a7"
exit 0
