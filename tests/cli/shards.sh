# shards.sh - for tests that divide captions among workers, sourced after harness.sh: a folder of
# pictures, what one run makes of it, and whether the merged lines of several are the same.

# make_photos COPIES: photos/ with the sample pictures so often, in two folders; FLAGS for the model
make_photos() {
    mkdir -p photos/more
    copy=1
    while [ $copy -le "$1" ]; do
        for file in "$PICTURES"/picture0*.png; do
            name=${file##*/picture}
            cp "$file" "photos/copy$copy-$name"
            cp "$file" "photos/more/$name-copy$copy.png"
        done
        copy=$((copy + 1))
    done
    FLAGS="-m $MODEL -n 24 -t 1"
    photos=$(find photos -type f | wc -l)
}

# What one undisturbed run writes, in single.jsonl.
make_single() {
    # shellcheck disable=SC2086
    run caption "${1-photos}" $FLAGS -q --jsonl single.jsonl
    expect_code 0
    [ "$(wc -l <single.jsonl)" -eq "$photos" ] || fail "one run made $(wc -l <single.jsonl) lines"
}

# Seconds are all that may differ.
without_seconds() { sed 's/,"seconds":{[^}]*}//' "$1"; }

# expect_single FILE...: no picture is in two of the files or missing, and merged they are the single run
expect_single() {
    cat "$@" | sed 's/^{"path":"\([^"]*\)".*/\1/' | sort >paths
    [ "$(uniq -d paths | wc -l)" -eq 0 ] || fail "captioned twice: $(uniq -d paths | head -n 3)"
    run merge merged.jsonl "$@" --force --expect "${expected_in-photos}"
    expect_code 0
    expect_no_out
    without_seconds merged.jsonl >merged
    without_seconds single.jsonl >single
    cmp -s merged single || fail "merged lines differ from the single run: $(diff merged single | head -n 5)"
    grep -q '"seconds":{' merged.jsonl || fail "no seconds in the lines"
    if grep -q seconds merged; then fail "seconds were compared"; fi
}
