#!/bin/sh
# quality: the whole question set in each form of the weights. float32 gives the recorded answers, q8
# nearly all of them, and q4 costs little accuracy; at every token of the answers the distributions of
# q8 and q4 are near those of float32. Run by part.cmake where the program is not instrumented: 2100
# answers.
. "${0%/*}/harness.sh"

# Numbers before the first inner object of the line are those of the whole set.
number() { sed "s/^{[^{]*\"$1\":\([0-9]*\)[,}].*/\1/; q" out; }
share_of() { # share_of QUANT [FLAG...]: sets $agreeing and $correct, per cent of all, rounded down
    quant=$1
    shift
    run eval "$DATA/eval" -m "$MODEL" --quant "$quant" --json -q "$@"
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
near() { # near MEAN P99 SAME: bounds of the divergence, and the least share of the same likeliest token
    expect_json "o[0]['against']['kl_mean'] <= $1 and o[0]['against']['kl_p99'] <= $2"
    expect_json "o[0]['against']['same_likeliest'] >= $3 * o[0]['against']['positions']"
}

share_of q8 --reference "$MODEL"
[ "$agreeing" -ge 95 ] || fail "q8 gives $agreeing % of the recorded answers"
near 0.00003 0.0006 0.996
share_of q4 --reference "$MODEL"
[ "$correct" -ge $((reference - 5)) ] || fail "q4 is right in $correct %, f32 in $reference %"
near 0.0004 0.008 0.993
expect_json 'o[0]["against"]["bits_per_weight"] < 4.9'
