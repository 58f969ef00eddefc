#!/bin/sh
# Signals end the program with exit code 130, soon, and leave stdout in whole lines.
. "${0%/*}/harness.sh"

# wait_for COMMAND: up to 20 seconds until it is true
wait_for() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] || fail "waited in vain for: $1"
        sleep 0.05
    done
}

# end_with SIGNAL: sends it to $pid and takes the exit code
end_with() {
    kill -"$1" $pid
    wait $pid
    code=$?
}

# A signal that comes before the program has begun is lost, so each test waits for the first output.
# While it waits for a picture on stdin.
mkfifo pipe
for signal in INT TERM HUP; do
    rm -f out
    ran="caption - ended by $signal"
    "$OCELLI" caption "$PICTURES/picture01.png" - -m "$MODEL" -q <pipe >out 2>err &
    pid=$!
    exec 3>pipe
    wait_for '[ -s out ]'
    end_with $signal
    exec 3>&-
    expect_code 130
    [ "$(wc -l <out)" -eq 1 ] || fail "the answer before the signal is not whole"
    expect_no_err
done

# Between two messages of a conversation.
rm -f out
ran="chat ended by INT"
"$OCELLI" chat -m "$MODEL" -q <pipe >out 2>err &
pid=$!
exec 3>pipe
printf 'Are you real?\n' >&3
wait_for '[ -s out ]'
end_with INT
exec 3>&-
expect_code 130
[ "$(wc -l <out)" -eq 1 ] || fail "the answer before the signal is not whole"

# In the middle of work: pictures enough for minutes, ended after the first answer.
many=''
for i in 1 2 3 4 5 6 7; do many="$many$many $PICTURES/picture01.png $PICTURES/picture02.png"; done
for signal in INT TERM; do
    for format in "" --json; do
        rm -f out
        ran="caption of many pictures $format ended by $signal"
        # shellcheck disable=SC2086 # words are meant
        "$OCELLI" caption $many $many -m "$MODEL" -q $format >out 2>err &
        pid=$!
        wait_for '[ -s out ]'
        end_with $signal
        expect_code 130
        expect_no_err
        [ "$(tail -c 1 out)" = "" ] || fail "the last line of stdout is not whole"
        [ -z "$format" ] || expect_json 'len(o) >= 1'
    done
done

# eval that is ended has no result. The recorded answer is wrong, so that --verbose shows each item.
mkdir items
cp "$PICTURES/picture01.png" items/a.png
awk 'BEGIN { printf "["; for (i = 0; i < 500; i++) printf "%s{\"id\": \"a%d\", \"question\": \"Describe it.\",\
    \"expected\": \"x\", \"model_answer\": \"x\", \"media\": [{\"type\": \"image\", \"path\": \"a.png\"}]}",
    i ? "," : "", i; printf "]" }' >items/items.json
rm -f err
ran="eval ended by INT"
"$OCELLI" eval items -m "$MODEL" -v >out 2>err &
pid=$!
wait_for 'grep -q recorded err 2>/dev/null'
end_with INT
expect_code 130
expect_no_out
exit 0
