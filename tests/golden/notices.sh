#!/bin/sh
# tests/golden/notices.sh - the runner notices: a changed array, a wrong token, a missing folder, a
# kind of case it does not know. A judge that cannot say no is none.
# Usage: notices.sh GOLDEN_RUNNER GOLDEN_FOLDER
runner=${1:?usage: notices.sh GOLDEN_RUNNER GOLDEN_FOLDER}
golden=${2:?no folder}
scratch=$(mktemp -d) || exit 2
trap 'rm -rf "$scratch"' EXIT
bad=0
case=c16_t2_text_eos

fresh() { # a folder of one case
    rm -rf "$scratch/g"
    mkdir -p "$scratch/g/cases" "$scratch/g/functions"
    cp -R "$golden/models" "$scratch/g/models"
    cp -R "$golden/cases/$case" "$scratch/g/cases/"
    chmod -R u+w "$scratch/g"
}
expect() { # expect EXIT_CODE TEXT WHAT
    "$runner" "$scratch/g" > "$scratch/out" 2>&1
    code=$?
    if [ "$code" != "$1" ] || ! grep -q "$2" "$scratch/out"; then
        echo "$3: exit code $code, expected $1 and '$2'; the runner said:"
        cat "$scratch/out"
        bad=1
    fi
}

fresh
expect 0 "^PASS  cases/$case" "one sound case"

# The sign bit of one float32 of the recorded logits.
fresh
printf '\377' | dd of="$scratch/g/cases/$case/step_logits.npy" bs=1 seek=131 conv=notrunc 2>/dev/null
expect 1 '!! step_logits' "a changed logit"

fresh
sed -i 's/"first_eos_index": 5/"first_eos_index": 6/' "$scratch/g/cases/$case/case.json"
expect 1 '!! first_eos_index' "another end"

fresh
sed -i 's/"input_ids": \[/"input_ids": [ 7,/' "$scratch/g/cases/$case/case.json"
expect 1 '!! input_ids' "one id more"

fresh
cp "$scratch/g/cases/$case/logits_last.npy" "$scratch/g/cases/$case/trace_layer_99.npy"
cp "$scratch/g/cases/$case/logits_last.npy" "$scratch/g/cases/$case/aura.npy"
expect 1 '!! trace_layer_99' "a stage that nobody computes"
grep -q 'NOTE .*aura' "$scratch/out" || { echo "an array of an unknown kind"; bad=1; }

fresh
: > "$scratch/g/cases/$case/logits_last.npy"
expect 1 'not a .npy file' "an empty array file"

fresh
sed -i 's/"messages"/"video_of_a_dream"/' "$scratch/g/cases/$case/case.json"
echo '[]' > "$scratch/g/functions/divination.json"
expect 1 "^SKIP  cases/$case: .*not a kind" "a case of an unknown kind, and nothing else"
grep -q '^SKIP  functions/divination' "$scratch/out" || { echo "an unknown function"; bad=1; }

fresh
rm -rf "$scratch/g/cases" "$scratch/g/functions"
expect 1 'only 0 cases ran' "an empty folder"

rm -rf "$scratch/g"
expect 2 'not there' "no folder"
exit $bad
