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

# While it waits for a picture on stdin.
mkfifo pipe
for signal in INT TERM HUP; do
    ran="caption - ended by $signal"
    "$OCELLI" caption - -m "$MODEL" <pipe >out 2>err &
    pid=$!
    exec 3>pipe # both ends are open now, so the program has begun to read or is about to
    printf 'x' >&3
    wait_for '[ ! -s out ]'
    sleep 0.3
    end_with $signal
    exec 3>&-
    expect_code 130
    expect_no_out
done

# Between two messages of a conversation.
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

# In the middle of an answer. The tiny random model does not end by itself.
tiny=$DATA/golden/qwen3vl/models/t1_f32
for signal in INT TERM; do
    ran="ask ended by $signal"
    "$OCELLI" ask "Go on." -m "$tiny" -n 100000 --no-repetition-stop --threads 1 -q >out 2>err &
    pid=$!
    wait_for '[ -s out ] || ! kill -0 $pid 2>/dev/null'
    end_with $signal
    expect_code 130
    expect_no_err
    [ -s out ] || fail "nothing had been said"
    [ "$(tail -c 1 out)" = "" ] || fail "the last line of stdout is not whole"
    python=$(command -v python3) && { "$python" -c 'open("out", encoding="utf-8").read()' || fail "not UTF-8"; }
done
exit 0
