#!/bin/sh
# chat: a conversation on stdin.
. "${0%/*}/harness.sh"
one=$PICTURES/picture01.png
two=$PICTURES/picture02.png

run_with "/image $one
Describe it.
Do you see a peach?
" chat -m "$MODEL" -q
expect_code 0
expect_no_err
[ "$(wc -l <out)" -eq 2 ] || fail "two messages, two lines"
[ "$(head -n 1 out)" = "A pineapple on a red background." ] || fail "the first answer is wrong"

# An operand is a picture of the first message; a path may hold spaces and be in quotes.
cp "$one" "a picture.png"
run_with "Describe it." chat "$one" -m "$MODEL" -q
expect_answer "A pineapple on a red background."
run_with '/image a picture.png
Describe it.
/reset
/image "a picture.png"  
Describe it.
' chat -m "$MODEL" -q
expect_answer "A pineapple on a red background." "A pineapple on a red background."

# After /reset it is as if nothing had been said.
run_with "/image $one
/image $two
Describe the first image.
Describe the second image." chat -m "$MODEL" -q
expect_code 0
cp out fresh
run_with "/image $two
Describe it.
/image $two
/reset
/image $one
/image $two
Describe the first image.
Describe the second image." chat -m "$MODEL" -q
expect_code 0
tail -n 2 out | cmp -s - fresh || fail "the conversation after /reset is another"

# The cache is kept: the second question on a picture encodes nothing and computes only what is new.
run_with "/image $one
Describe it.
Do you see a peach?
" chat -m "$MODEL" -q --json
expect_code 0
expect_json 'len(o) == 2 and o[1]["reused_tokens"] >= o[0]["prompt_tokens"] and o[1]["seconds"]["encode"] == 0'
expect_json 'o[0]["media"] == [{"image": o[0]["media"][0]["image"]}] and o[1]["media"] == []'

# A clip, with its rate.
run_with "/video $PICTURES/video1 2
Describe this video.
" chat -m "$MODEL" -q
expect_code 0
cp out clip
run video "$PICTURES/video1" "Describe this video." --fps 2 -m "$MODEL" -q
cmp -s out clip || fail "a clip in chat is another clip"

# Mistakes are told and the conversation goes on.
bad=$(printf 'not \377 text')
run_with "/image missing.png
/image
/video nowhere
/frobnicate
$bad
/image $one

Describe it.
" chat -m "$MODEL" -q
expect_code 0
expect_out "A pineapple on a red background."
expect_err_has "missing.png"
expect_err_has "/image needs a path"
expect_err_has "nowhere"
expect_err_has "unknown command '/frobnicate'"
expect_err_has "not UTF-8"

# A message that does not fit is taken back, and its picture waits for the next one.
long=$(awk 'BEGIN { for (i = 0; i < 6000; i++) printf "word%d ", i }')
run_with "/image $one
$long
Describe it.
" chat -m "$MODEL" -q
expect_code 0
expect_out "A pineapple on a red background."
expect_err_has 'context|token'

# /quit ends; /help lists; two slashes send one; Windows line ends are taken off.
run_with "/help
/quit
Describe it.
" chat -m "$MODEL" -q
expect_code 0
expect_no_out
expect_err_has '/image PATH'
run_with "//reset
" chat -m "$MODEL" -q --json
expect_json 'len(o) == 1 and o[0]["question"] == "/reset"'
printf 'Are you real?\r\n' >in
"$OCELLI" chat -m "$MODEL" -q --json <in >out 2>err
code=$?
expect_code 0
expect_json 'o[0]["question"] == "Are you real?"'

# A line longer than any buffer, the last one without a newline, and a zero byte in one.
awk 'BEGIN { for (i = 0; i < 2000; i++) printf "the "; printf "\nzero" }' >in
printf '\000byte\nAre you real?' >>in
"$OCELLI" chat -m "$MODEL" -q --json <in >out 2>err
code=$?
expect_code 0
expect_err_has "zero byte"
expect_json 'o[-1]["question"] == "Are you real?" and len(o) == 2 and o[0]["question"] == "the " * 2000'

# /system sets the system message and begins anew.
run_with "Are you real?
/system Be brief.
Are you real?
" chat -m "$MODEL" -q --json
expect_json 'len(o) == 2 and o[1]["prompt_tokens"] > o[0]["prompt_tokens"]'

# Nothing but answers on stdout, and no prompt where nobody types.
run_with "" chat -m "$MODEL"
expect_code 0
expect_no_out
expect_no_err
exit 0
