#!/bin/sh
# --every: a clip told in segments, by their borders; --follow: a folder that grows while it is told.
. "${0%/*}/harness.sh"

# wait_for COMMAND: up to 30 seconds until it is true
wait_for() {
    tries=0
    until eval "$1"; do
        tries=$((tries + 1))
        [ $tries -lt 600 ] || fail "waited in vain for: $1"
        sleep 0.05
    done
}

# Twenty frames, 5 a second: 4 seconds; those of the clip over and over.
mkdir long
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    cp "$PICTURES/video1/frame0$((i % 6 + 1)).png" long/$i.png
done

# A frame at the border belongs to the later segment; the last one is shorter.
run video long --fps 5 --every 1500ms --json -m "$MODEL" -q
expect_code 0
expect_no_err
expect_json '[(x["start"], x["end"], x["frames"]) for x in o] == [(0, 1.5, 8), (1.5, 3, 7), (3, 4, 5)]'
expect_json 'all(x["text"] and x["tokens"] > 0 and x["finish_reason"] == "stop" and x["video"] == "long" for x in o)'
cp out segments
run video long --fps 5 --every 1.5s -m "$MODEL" -q
expect_code 0
[ "$(wc -l <out)" -eq 3 ] || fail "not a line for each segment"
expect_order '[0:00:00-0:00:01.5] ' '[0:00:01.5-0:00:03] ' '[0:00:03-0:00:04] '

# Borders are exact where doubles are not: 3 / 10 is the fourth 0.1 s.
run video long --fps 10 --every 100ms --json -m "$MODEL" -q
expect_json '[(x["start"], x["frames"]) for x in o] == [(round(i * 0.1, 6), 1) for i in range(20)]'
run video long --fps 5 --every 4s --json -m "$MODEL" -q
expect_json '[(x["start"], x["end"], x["frames"]) for x in o] == [(0, 4, 20)]'
run video long --fps 5 --every 1h --json -m "$MODEL" -q
expect_json '[(x["start"], x["end"]) for x in o] == [(0, 4)]'

# A segment is a clip of its frames with the times of the whole.
mkdir middle
printf '1.6\n1.8\n2\n2.2\n2.4\n2.6\n2.8\n' >times
for i in 9 10 11 12 13 14 15; do cp long/$i.png middle; done
run video middle --times times --json -m "$MODEL" -q
expect_code 0
cat segments >>out
expect_json 'o[0]["answer"] == o[2]["text"] and o[0]["prompt_tokens"] == o[2]["prompt_tokens"]'
run video long --fps 5 --every 1.5s --dry-run --json -m "$MODEL"
expect_json '[x["media"][0]["timestamps"][0] for x in o] == [0.1, 1.7, 3.1]'
expect_json 'o[1]["media"][0]["frames"][0]["name"] == "9.png"'

# Sampling holds for each segment; one that has fewer gives what it has.
run video long --fps 5 --every 1500ms --frames 6 --json -m "$MODEL" -q
expect_json '[x["frames"] for x in o] == [6, 6, 5]'

# Given times: segments without a frame are none.
printf '0\n9.5\n10\n40\n' >times
mkdir four
for i in 1 2 3 4; do cp long/$i.png four; done
run video four --times times --every 10s --json -m "$MODEL" -q
expect_json '[(x["start"], x["end"], x["frames"]) for x in o] == [(0, 10, 2), (10, 20, 1), (40, 50, 1)]'
run video four --times times --every 10s -m "$MODEL" -q
expect_order '[0:00:00-0:00:10] ' '[0:00:10-0:00:20] ' '[0:00:40-0:00:50] '

# A segment with no readable frame is told, the others are answered, and the exit code says so.
cp -r four damaged
printf 'broken' >damaged/3.png
run video damaged --times times --every 10s --json -m "$MODEL" -q
expect_code 3
expect_err_has "frame '3.png' left out"
expect_err_has "'damaged', 0:00:10-0:00:20: none of its frames could be read"
expect_json '[("text" in x, "error" in x) for x in o] == [(True, False), (False, True), (True, False)]'
run video damaged --times times --every 10s --strict -m "$MODEL" -q
expect_code 1
expect_err_has "frame '3.png': "

# Wrong times.
for bad in 10 0s -1s 10x s 1s2m 5ms 1.2.3s ''; do
    run video long "--every=$bad" -m "$MODEL"
    expect_misuse '--every needs a time such as 10s'
done
run video long four --every 1s -m "$MODEL"
expect_misuse '--every is for one clip, and there are 2'
run video long --follow -m "$MODEL"
expect_misuse '--follow needs --every'
run video long --every 1s --follow-idle 1s -m "$MODEL"
expect_misuse '--follow-idle goes with --follow'
run video long/1.png --every 1s --follow -m "$MODEL"
expect_refusal "--follow needs a folder of frames, and 'long/1.png' is a file"
run video nowhere --every 1s --follow -m "$MODEL"
expect_refusal "cannot open folder 'nowhere'"

# Followed to its end, a folder gives what it gives at once.
run video long --fps 5 --every 1500ms --follow --follow-idle 1s --json -m "$MODEL" -q
expect_code 0
expect_no_err
cmp -s out segments || fail "followed, the folder gives other segments"

# Frames come while it is followed: copied (empty at first), renamed in, and one damaged; hidden files,
# texts and sub folders are none. A segment is told as soon as its last frame is there.
mkdir grow
sed 's/"long"/"grow"/' segments >followed
ran="video grow --follow"
"$OCELLI" video grow --fps 5 --every 1500ms --follow --json -m "$MODEL" -q >out 2>err </dev/null &
pid=$!
: >grow/notes.txt
mkdir grow/sub
for i in 1 2 3 4 5 6 7 8; do cp long/$i.png grow; done
wait_for '[ "$(wc -l <out)" -eq 1 ]'
head -n 1 followed | cmp -s - out || fail "the first segment is another one"
for i in 9 10 11 12; do
    cp long/$i.png grow/.part
    mv grow/.part grow/$i.png
done
# One that is written slowly holds up those after it.
exec 4>grow/13.png
head -c 300 long/13.png >&4
cp long/14.png long/15.png grow
sleep 1
tail -c +301 long/13.png >&4
exec 4>&-
wait_for '[ "$(wc -l <out)" -eq 2 ]'
head -n 2 followed | cmp -s - out || fail "the second segment is another one"
cp long/16.png grow
cp long/1.png grow/0.png
wait_for 'grep -q 0.png err'
expect_err_has "warning: frame '0.png' left out: it came after '16.png'"
# Ctrl-C: what was told is whole, what was not is not told.
kill -INT $pid
wait $pid
code=$?
pid=''
expect_code 130
head -n 2 followed | cmp -s - out || fail "another output after Ctrl-C"
[ "$(wc -l <err)" -eq 1 ] || fail "more than the late frame on stderr"

# A damaged frame keeps its place in time; a folder that is removed ends it.
rm -r grow
mkdir grow
ran="video grow --follow, a damaged frame"
"$OCELLI" video grow --fps 2 --every 1s --follow --json -m "$MODEL" -q >out 2>err </dev/null &
pid=$!
cp long/1.png grow/1.png
printf 'broken' >grow/2.png
cp long/3.png long/4.png grow
wait_for '[ "$(wc -l <out)" -eq 2 ]'
expect_json '[(x["start"], x["frames"]) for x in o] == [(0, 1), (1, 2)]'
expect_err_has "warning: frame '2.png' left out: "
rm -r grow
wait $pid
code=$?
pid=''
expect_code 1
expect_err_has "folder 'grow'"
exit 0
