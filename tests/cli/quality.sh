#!/bin/sh
# quality: the whole question set in each form of the weights. float32 gives the recorded answers, q8
# nearly all of them, and q4 costs little accuracy. Run by part.cmake where the program is not
# instrumented: 900 answers.
. "${0%/*}/harness.sh"

# Numbers before the first inner object of the line are those of the whole set.
number() { sed "s/^{[^{]*\"$1\":\([0-9]*\)[,}].*/\1/; q" out; }
share_of() { # share_of QUANT: sets $agreeing and $correct, per cent of all, rounded down
    run eval "$DATA/eval" -m "$MODEL" --quant "$1" --json -q
    expect_code 0
    expect_no_err
    items=$(number items)
    [ "$items" -ge 300 ] || fail "$items questions"
    agreeing=$(($(number agreeing) * 100 / items))
    correct=$(($(number correct) * 100 / items))
}

share_of f32
[ "$agreeing" -ge 99 ] || fail "f32 gives $agreeing % of the recorded answers"
reference=$correct
share_of q8
[ "$agreeing" -ge 95 ] || fail "q8 gives $agreeing % of the recorded answers"
share_of q4
[ "$correct" -ge $((reference - 5)) ] || fail "q4 is right in $correct %, f32 in $reference %"
