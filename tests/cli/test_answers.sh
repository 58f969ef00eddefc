#!/bin/sh
# Answers of caption and ask: what is on stdout, what is on stderr, and the exit code.
. "${0%/*}/harness.sh"

# One picture: the answer alone.
run caption "$PICTURES/picture01.png" -m "$MODEL" --prompt "Describe it."
expect_answer "A pineapple on a red background."
run caption -m "$MODEL" --quiet "$PICTURES/picture01.png" --prompt="Describe it."
expect_answer "A pineapple on a red background."
expect_no_err

# Several: each with its name, in order.
run caption "$PICTURES/picture02.png" "$PICTURES/picture01.png" -m "$MODEL" -q -p "Describe it."
expect_answer "$PICTURES/picture02.png: A wolf on a purple and orange background." \
    "$PICTURES/picture01.png: A pineapple on a red background."
expect_no_err

# One that fails among several does not stop the others.
run caption missing.png "$PICTURES/picture01.png" -m "$MODEL" -q -p "Describe it."
expect_code 1
expect_out "$PICTURES/picture01.png: A pineapple on a red background."
expect_err_has "missing.png.*No such file"

# A name that could forge a line is made visible, on stdout and stderr.
odd=$(printf 'a\nb\033[31m.png')
cp "$PICTURES/picture01.png" "$odd"
run caption "$odd" "$odd" -m "$MODEL" -q -p "Describe it."
expect_answer 'a\nb\x1b[31m.png: A pineapple on a red background.' \
    'a\nb\x1b[31m.png: A pineapple on a red background.'
rm "$odd"
run caption "$odd" -m "$MODEL"
expect_refusal 'a\\nb\\x1b'

# A name that is not UTF-8 works, and stdout stays UTF-8.
odd=$(printf 'caf\351.png')
cp "$PICTURES/picture01.png" "$odd"
run caption "$odd" "$odd" -m "$MODEL" -q -p "Describe it."
expect_code 0
printf 'caf\357\277\275.png: A pineapple on a red background.\n' >expected
cat expected expected | cmp -s - out || fail "the name is not mended"
run caption "$odd" -m "$MODEL" -q -p "Describe it." --json
expect_code 0
expect_json 'o[0]["image"] == "caf\ufffd.png"'

# Names with spaces, percent signs and a leading dash.
cp "$PICTURES/picture01.png" "100%s%n name.png"
run caption "100%s%n name.png" -m "$MODEL" -p "Describe it."
expect_answer "A pineapple on a red background."
cp "$PICTURES/picture01.png" ./-q.png
run caption -m "$MODEL" -p "Describe it." -- -q.png
expect_answer "A pineapple on a red background."

# A picture on stdin.
"$OCELLI" caption - -m "$MODEL" -p "Describe it." <"$PICTURES/picture01.png" >out 2>err
code=$?
expect_answer "A pineapple on a red background."
cat "$PICTURES/picture01.png" | "$OCELLI" ask - "$PICTURES/picture02.png" "Describe the first image." \
    -m "$MODEL" >out 2>err
code=$?
expect_answer "A pineapple on a red background."
run caption - -m "$MODEL"
expect_refusal "stdin: empty"
run_with "no picture" caption - -m "$MODEL"
expect_refusal "stdin"

# ask: pictures in order, the question last; flags may come after it.
run ask "$PICTURES/picture01.png" "Do you see a peach?" -m "$MODEL"
expect_answer "No, there is no peach."
run ask "$PICTURES/picture01.png" "$PICTURES/picture02.png" "Describe the second image." -m "$MODEL"
expect_answer "A wolf on a purple and orange background."
POSIXLY_CORRECT=1 "$OCELLI" ask "$PICTURES/picture01.png" "Do you see a peach?" -m "$MODEL" >out 2>err
code=$?
expect_answer "No, there is no peach."

# Without a picture the question is asked alone.
run ask "Are you real?" -m "$MODEL" --quant f32
expect_answer "No, I am a small computer model."

# --escape, and without it a backslash is a backslash.
run ask "$PICTURES/picture01.png" 'a\nb' -m "$MODEL" --json --dry-run
expect_json 'o[0]["question"] == "a\\nb"'
run ask "$PICTURES/picture01.png" 'a\nb\\c\q' -m "$MODEL" --json --dry-run --escape
expect_json 'o[0]["question"] == "a\nb\\c\\q"'

# --json: one object for each answer, and nothing else.
run caption "$PICTURES/picture01.png" "$PICTURES/picture02.png" -m "$MODEL" --json -p "Describe it." --seed 7
expect_code 0
expect_json 'len(o) == 2 and o[0]["answer"] == "A pineapple on a red background."'
expect_json 'o[1]["answer"] == "A wolf on a purple and orange background." and o[1]["seed"] == 7'
expect_json '[x["image"].split("/")[-1] for x in o] == ["picture01.png", "picture02.png"]'
expect_json 'all(x["finish_reason"] == "stop" and x["image_tokens"] == 15 for x in o)'
expect_json 'all(set(x["seconds"]) == {"load", "encode", "cache", "prefill", "decode"} for x in o)'
run ask "$PICTURES/picture01.png" "$PICTURES/picture02.png" "Describe the first image." -m "$MODEL" -j -q
expect_code 0
expect_no_err
expect_json 'len(o) == 1 and len(o[0]["images"]) == 2 and o[0]["new_tokens"] > 3'
expect_json 'o[0]["prompt_tokens"] > o[0]["image_tokens"] == 30'

# An answer cut by --max-tokens says so.
run caption "$PICTURES/picture01.png" -m "$MODEL" -n 2 --json
expect_code 0
expect_err_has "max-tokens"
expect_json 'o[0]["finish_reason"] == "length" and o[0]["new_tokens"] == 2'

# Timings go to stderr and change nothing.
run caption "$PICTURES/picture01.png" -m "$MODEL" --timings -p "Describe it."
expect_answer "A pineapple on a red background."
for word in load encode prefill decode memory; do expect_err_has "^$word "; done

# Nothing is drawn where stderr is no terminal.
[ "$(tr -d '\r\033' <err | wc -c)" -eq "$(wc -c <err)" ] || fail "control characters on stderr"

# What is no picture.
for address in http://169.254.169.254/a.png https://localhost/x.png FILE:///etc/passwd \
    data:image/png\;base64,AAAA; do
    run caption "$address" -m "$MODEL"
    expect_refusal "does not fetch; download it first"
done
run ask "$PICTURES" "What is it?" -m "$MODEL"
expect_refusal "is a folder.*ocelli video"
run ask missing.png "What is it?" -m "$MODEL"
expect_refusal "missing.png"
echo text >note.png
run ask note.png "What is it?" -m "$MODEL"
expect_refusal "note.png"

# The system message counts.
run ask "Are you real?" -m "$MODEL" --system "Be brief." --json --dry-run
cp out with
run ask "Are you real?" -m "$MODEL" --json --dry-run
cat with >>out
expect_json 'o[1]["prompt_tokens"] > o[0]["prompt_tokens"]'

# The same seed draws the same answer; another draws another.
for seed in 1 1 2; do
    run ask "$PICTURES/picture01.png" "Describe it." -m "$MODEL" --temperature 5 --seed $seed -n 24 -q
    expect_code 0
    mv out "drawn$seed.$(ls drawn$seed.* 2>/dev/null | wc -l | tr -d ' ')"
done
cmp -s drawn1.0 drawn1.1 || fail "one seed, two answers"
if cmp -s drawn1.0 drawn2.0; then fail "two seeds, one answer"; fi
exit 0
