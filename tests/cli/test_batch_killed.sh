#!/bin/sh
# A folder's captions and kill -9, signals, a second process: whatever happens, a rerun comes to the
# bytes of an undisturbed run, and nothing that was recorded is done again.
. "${0%/*}/harness.sh"
has_python || skip "needs python3"

# fresh FOLDER: 24 pictures in two folders, some with a caption by hand
fresh() {
    rm -rf "$1" "$1.jsonl"
    mkdir -p "$1/sub"
    for i in 01 02 04 05 07 08 10 11; do
        cp "$PICTURES/picture$i.png" "$1/q$i.png"
        cp "$PICTURES/picture$i.png" "$1/sub/r$i.png"
        cp "$PICTURES/picture$i.png" "$1/sub/s$i.png"
    done
    printf 'broken' >"$1/q03.png"
    echo "by hand" >"$1/q02.txt"
    echo "by hand too" >"$1/sub/r05.txt"
}

# The files of a folder with their bytes, JSON lines without the seconds and with the folder's name made
# the same.
state() {
    (cd "$1" && find . -type f ! -name '.ocelli*' | sort | xargs -d '\n' cksum)
    [ ! -f "$1.jsonl" ] || sed "s/\"seconds\":{[^}]*}//; s!\"$1/!\"x/!g" "$1.jsonl"
}

caption_folder() {
    folder=$1
    shift
    "$OCELLI" caption "$folder" -m "$MODEL" -n 12 -q --batch 4 "$@"
}

# An exact number of bytes is written at each moment, whatever the speed: kill_at.py waits for it.
all=0
size_now() { find . -type f -print0 | xargs -0 cat | wc -c; }
for flags in "" "--mode append" "--mode prepend" "--mode overwrite" "--jsonl" "--jsonl --sidecar" \
    "--jsonl --sidecar --mode append" "--jsonl --mode overwrite"; do
    fresh a
    fresh b
    rm -f a.jsonl b.jsonl wanted got partly
    # shellcheck disable=SC2086 # words are meant
    set -- $flags
    jsonl=''
    rest=''
    for word in "$@"; do
        if [ "$word" = --jsonl ]; then jsonl=yes; else rest="$rest $word"; fi
    done
    # shellcheck disable=SC2086
    caption_folder a ${jsonl:+--jsonl a.jsonl} $rest >out 2>err
    code=$?
    ran="caption a $flags"
    expect_code 3
    state a >wanted
    rm -f out err
    killed=0
    for step in 1 200 500 1500; do
        # shellcheck disable=SC2086
        result=$(python3 "$DATA/cli/kill_at.py" . $(($(size_now) + step)) "$OCELLI" caption b \
            -m "$MODEL" -n 12 -q --batch 4 ${jsonl:+--jsonl b.jsonl} $rest)
        case $result in killed*) killed=$((killed + 1)) ;; esac
    done
    # shellcheck disable=SC2086
    caption_folder b ${jsonl:+--jsonl b.jsonl} $rest >out 2>err
    code=$?
    ran="caption b $flags after $killed kills"
    expect_code 3
    state b >got
    cmp -s wanted got || { diff wanted got | head -n 5; fail "other bytes than an undisturbed run"; }
    [ -z "$(find b -name '.ocelli-draft*.tmp')" ] || fail "a temporary is left"
    all=$((all + killed))
done
[ $all -ge 4 ] || fail "hardly a run was killed in time: $all"

# The file that keeps failing is mended: the run comes to its end and removes the journal.
fresh a
caption_folder a --mode append >out 2>err
[ -f a/.ocelli-caption.journal ] || fail "what is to be tried again is not remembered"
cp "$PICTURES/picture05.png" a/q03.png
cksum a/q01.txt >before
ran="caption a --mode append, again"
caption_folder a --mode append >out 2>err
code=$?
expect_code 0
cksum a/q01.txt | cmp -s - before || fail "a caption was appended twice"
[ ! -e a/.ocelli-caption.journal ] || fail "the journal of a finished run is left"
[ -s a/q03.txt ] || fail "the mended picture has no caption"

# ---- signals: soon, with whole files, and the way to go on
for signal in INT TERM; do
    fresh a
    for i in 1 2 3 4 5 6 7 8 9; do
        mkdir a/more$i
        cp "$PICTURES"/*.png a/more$i
    done
    find a -name '*.txt' -delete
    "$OCELLI" caption a -m "$MODEL" --batch 2 -t 1 --jsonl a.jsonl --sidecar >out 2>err &
    pid=$!
    tries=0
    until [ -s a/q01.txt ]; do
        tries=$((tries + 1))
        [ $tries -lt 2000 ] || fail "no caption comes"
        sleep 0.005
    done
    kill -$signal $pid
    wait $pid
    code=$?
    pid=''
    ran="caption a, ended by $signal"
    expect_code 130
    expect_err_has '^ocelli: stopped: [0-9]+ captioned, .* left; the same command goes on from here$'
    [ -z "$(find a -name '.ocelli*')" ] || fail "something is left behind"
    [ "$(tail -c 1 a.jsonl)" = "" ] || fail "the last JSON line is not whole"
    for text in $(find a -name '*.txt'); do
        [ "$(tail -c 1 "$text")" = "" ] && [ -s "$text" ] || fail "$text is not whole"
    done
done

# ---- two at once: the second says so and does nothing
fresh a
python3 - a >holder 2>&1 <<'PYTHON' &
import fcntl, sys, time
f = open(sys.argv[1] + "/.ocelli-caption.journal", "w")
fcntl.lockf(f, fcntl.LOCK_EX)
print("held", flush=True)
time.sleep(60)
PYTHON
pid=$!
tries=0
until grep -q held holder; do
    tries=$((tries + 1))
    [ $tries -lt 400 ] || fail "the lock is not taken"
    sleep 0.05
done
run caption a -m "$MODEL"
expect_refusal "another ocelli is at work here"
[ ! -e a/q01.txt ] || fail "the second run has written"
kill $pid
wait $pid 2>/dev/null
pid=''
caption_folder a >out 2>err
code=$?
expect_code 3
exit 0
