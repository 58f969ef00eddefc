#!/bin/sh
# Full disks, closed descriptors and readers that go away.
. "${0%/*}/harness.sh"
picture=$PICTURES/picture01.png

if [ -c /dev/full ]; then
    for command in "caption $picture -m $MODEL" "caption $picture -m $MODEL --json" \
        "caption $picture -m $MODEL --dry-run" "help ask" "man" "completions bash" "--version" "info $MODEL"; do
        ran="$command >/dev/full"
        "$OCELLI" $command >/dev/full 2>err </dev/null
        code=$?
        : >out
        expect_code 1
        expect_err_has "cannot write to stdout: No space left on device"
    done
fi

# A reader that goes away is no news.
{ "$OCELLI" man; echo $? >code; } 2>err | true
code=$(cat code)
: >out
[ "$code" -eq 0 ] || [ "$code" -eq 1 ] || fail "exit code $code"
expect_no_err
mkfifo pipe
{ "$OCELLI" caption "$picture" "$picture" "$picture" -m "$MODEL" -q 2>err; echo $? >code; } >pipe &
: <pipe
wait
code=$(cat code)
expect_code 1
expect_no_err

# Without stdin, stdout or stderr nothing is written into the model.
cp -r "$MODEL" model
before=$(cat model/* | cksum)
"$OCELLI" caption "$picture" -m model >&- 2>err </dev/null
code=$?
expect_code 1
expect_err_has "cannot write to stdout"
"$OCELLI" caption "$picture" -m model -p "Describe it." <&- >out 2>&-
code=$?
expect_answer "A pineapple on a red background."
"$OCELLI" caption - -m model <&- >out 2>err
code=$?
expect_refusal "stdin"
[ "$(cat model/* | cksum)" = "$before" ] || fail "the model was written to"

# A package that does not fit on the disk: a message, and nothing left behind.
mkdir place
ran="pack with a limit on the size of files"
(
    ulimit -f 1000
    "$OCELLI" pack "$MODEL" place/package >out 2>err </dev/null
)
code=$?
expect_refusal 'place|package'
[ -z "$(ls -A place)" ] || fail "left behind: $(ls -A place)"
exit 0
