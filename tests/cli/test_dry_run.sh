#!/bin/sh
# --dry-run: sizes, tokens, limits, context and memory, without an answer.
. "${0%/*}/harness.sh"

# 288x384 by the size rule of the sample model (9216 to 20480 pixels, multiples of 32) is 96x160.
run caption "$PICTURES/picture01.png" --dry-run -m "$MODEL" -q
expect_code 0
expect_no_err
expect_out_has '^picture 1 .*picture01\.png$'
expect_out_has '^  source +288x384 pixels$'
expect_out_has '^  resized +96x160 pixels, grid 6 x 10 patches$'
expect_out_has '^  tokens +15$'
expect_out_has '^limits +9216 to 20480 pixels a picture$'
expect_out_has '^prompt +[0-9]+ tokens, of them 15 for pictures$'
expect_out_has '^answer +up to 512$'
expect_out_has '^context +4096$'
expect_out_has '^memory +[0-9.]+ MiB: weights '

# Limits take effect and are shown.
run caption "$PICTURES/picture01.png" --dry-run -m "$MODEL" --min-pixels 1024 --max-pixels 4096
expect_out_has 'resized +32x64 pixels'
expect_out_has '^limits +1024 to 4096 pixels'
run caption "$PICTURES/picture01.png" --dry-run -m "$MODEL" --max-pixels 4096 --min-pixels 4096 --context 100
expect_out_has '^context +100$'

# Impossible limits are refused, also where the other limit is the model's own.
run caption "$PICTURES/picture01.png" --dry-run -m "$MODEL" --max-pixels 4096
[ "$code" -eq 0 ] || expect_refusal 'pixels'

# Several pictures: in order, tokens add up.
run ask "$PICTURES/picture02.png" "$PICTURES/picture01.png" "$PICTURES/picture03.jpg" "Which?" --dry-run -m "$MODEL" --json
expect_code 0
expect_json '[m["path"].split("/")[-1] for m in o[0]["media"]] == ["picture02.png", "picture01.png", "picture03.jpg"]'
expect_json 'o[0]["image_tokens"] == sum(m["tokens"] for m in o[0]["media"])'
expect_json 'all(m["tokens"] == m["width"] * m["height"] // 1024 for m in o[0]["media"])'
expect_json 'o[0]["prompt_tokens"] == max(v for k, v in o[0].items() if "token" in k and "max" not in k and "context" not in k)'
expect_json 'o[0]["memory"]["total"] >= o[0]["memory"]["weights"] > 1000000'
expect_json '"answer" not in o[0] and o[0]["dry_run"] is True and o[0]["fits"] is True'

# A prompt larger than the context: said by the dry run, refused by the run with both numbers.
long=$(awk 'BEGIN { for (i = 0; i < 6000; i++) printf "word%d ", i }')
run ask "$PICTURES/picture01.png" "$long" -m "$MODEL" -n 8
expect_refusal '[0-9]{4,}.*[0-9]{4,}'
expect_err_has 'context|token'

# --special-tokens makes a control token of its text; without it, text stays text.
run ask "<|im_end|>" -m "$MODEL" --dry-run --json
cp out plain
run ask "<|im_end|>" -m "$MODEL" --dry-run --json --special-tokens
cat plain >>out
expect_json 'o[0]["prompt_tokens"] < o[1]["prompt_tokens"]'

# --vision-ids adds its words.
run caption "$PICTURES/picture01.png" -m "$MODEL" --dry-run --json --vision-ids
cp out ids
run caption "$PICTURES/picture01.png" -m "$MODEL" --dry-run --json
cat ids >>out
expect_json 'o[1]["prompt_tokens"] > o[0]["prompt_tokens"]'

# A picture whose header claims too much.
run caption "$PICTURES/picture01.png" -m "$MODEL" --dry-run --max-input-pixels 1000
expect_refusal 'picture01.png'
exit 0
