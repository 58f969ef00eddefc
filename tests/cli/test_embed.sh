#!/bin/sh
# The embedding table: whatever may be resident of it, the answer is the same; its bf16 form; its bench.
. "${0%/*}/harness.sh"

picture=$PICTURES/picture01.png
run caption --quiet -m "$MODEL" "$picture"
expect_code 0
cp out plain
for budget in 0 1 1K 1M 1m 64M 2G 17179869183G; do
    run caption --quiet -m "$MODEL" --embed-budget $budget "$picture"
    expect_code 0
    cmp -s out plain || fail "another answer with --embed-budget $budget"
done

# What is told: a table beyond its budget takes nothing.
run info -m "$MODEL" --json --embed-budget 1G
expect_code 0
cp out all
run info -m "$MODEL" --json --embed-budget 1K
expect_code 0
cat all >>out
expect_json 'o[1]["memory"]["weights"] - o[0]["memory"]["weights"] == o[0]["bytes"]["embedding"] > 0'

# "K", "KB" and "KiB" are 1024 bytes; the table, of 4 bytes a number, just fits and just does not.
run info -m "$MODEL" --json
expect_code 0
table=$(python3 -c 'import json; print(json.load(open("out"))["bytes"]["embedding"])') || skip "no python3"
[ "$((table % 1024))" -eq 0 ] || fail "the sample's table is not of whole KiB"
within=$((table / 1024))
for unit in K k KB KiB kib; do
    run info -m "$MODEL" --json --embed-budget "$within$unit"
    cmp -s out all || fail "$within$unit does not hold a table of $table bytes"
    run info -m "$MODEL" --json --embed-budget "$((within - 1))$unit"
    cmp -s out all && fail "$((within - 1))$unit holds a table of $table bytes"
done
for unit in M MB MiB; do
    run info -m "$MODEL" --json --embed-budget "$((table / 1048576 + 1))$unit"
    cmp -s out all || fail "a budget in $unit does not hold the table"
done

# Packages: the table as float32 and as bf16, which are the same numbers.
run pack "$MODEL" wide -q
expect_code 0
run pack "$MODEL" narrow --embed-bf16 -q
expect_code 0
for package in wide narrow; do
    for budget in 0 64M; do
        run caption --quiet -m $package --embed-budget $budget "$picture"
        expect_code 0
        cmp -s out plain || fail "another answer of $package with --embed-budget $budget"
    done
    run caption --quiet -m $package --copy-weights "$picture"
    expect_code 0
    cmp -s out plain || fail "another answer of $package with --copy-weights"
    run verify -q $package
    expect_code 0
done
[ $(($(wc -c <wide/embed_tokens.bin))) -eq $((2 * $(wc -c <narrow/embed_tokens.bin))) ] ||
    fail "bf16 is not half of float32"
run info -m narrow --json
cp out both
run info -m wide --json
cat both >>out
expect_json '[x["embed_dtype"] for x in o] == ["f32", "bf16"] and o[0]["fingerprint"] == o[1]["fingerprint"] != ""'
run info -m narrow
expect_out_has 'embedding table bf16'

# A table that is too short, by one byte, or too long: never mapped, never read.
for form in wide narrow; do
    cp -r $form short
    truncate -s -1 short/embed_tokens.bin
    run caption -m short "$picture"
    expect_refusal 'embed_tokens.bin: [0-9]+ bytes, but'
    run caption -m short --embed-budget 0 "$picture"
    expect_refusal 'embed_tokens.bin: [0-9]+ bytes, but'
    truncate -s +2 short/embed_tokens.bin
    run caption -m short "$picture"
    expect_refusal 'embed_tokens.bin: [0-9]+ bytes, but'
    rm -rf short
done

# The figures of bench.
run bench -m wide --only embed --quick --json -q
expect_code 0
expect_json '{f["group"] for f in o[0]["figures"]} == {"embed"} and len(o[0]["figures"]) == 12'
expect_json 'all(f["median"] >= 0 for f in o[0]["figures"])'
expect_json '[f["name"] for f in o[0]["figures"] if "limit" in f] == ["a row, 1 at a time", "a row, 512 at a time"]'
if [ -r /proc/self/smaps_rollup ] && has_python; then
    # Without a budget all of the table that random ids reach is resident; with none, next to nothing.
    cp out free
    run bench -m wide --only embed --quick --json -q --embed-budget 0
    expect_code 0
    cat free >>out
    expect_json '{f["name"]: f["median"] for f in o[0]["figures"]}["RSS"] <= 262144 < {f["name"]: f["median"] for f in o[0]["figures"]}["RSS, no budget"]'
fi
exit 0
