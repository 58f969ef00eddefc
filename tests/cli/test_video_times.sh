#!/bin/sh
# --times: when the frames of a folder were, whatever their number; and what is wrong with such a file.
. "${0%/*}/harness.sh"
frame=$PICTURES/video1/frame01.png

mkdir four
for name in f1 f2 f10 f11; do cp "$frame" four/$name.png; done

# Each pair's time is the mean of its two; the prompt's tokens spell it, with one decimal.
printf '0\n2\n5\n9\n' >times
run video four --times times --dry-run -m "$MODEL"
expect_code 0
expect_no_err
expect_out_has '^  times +1\.0 7\.0 s'
expect_order f1.png 0.000 f2.png 2.000 f10.png 5.000 f11.png 9.000
expect_out_has '^  rate +0\.333333 frames a second on average'
run video four --times times --dry-run -m "$MODEL" --json
expect_json 'o[0]["media"][0]["timestamps"] == [1.0, 7.0]'
expect_json 'o[0]["media"][0]["fps_assumed"] == False'
expect_json '[f["seconds"] for f in o[0]["media"][0]["frames"]] == [0, 2, 5, 9]'

# Times of a steady rate are that rate: the same prompt, the same answer.
printf '0\n0.5\n1\n1.5\n2\n2.5\n' >steady
run video "$PICTURES/video1" --fps 2 -m "$MODEL" -q --json
cp out by_rate
run video "$PICTURES/video1" --times steady -m "$MODEL" -q --json
expect_code 0
expect_no_err
cat by_rate >>out
expect_json 'o[0]["answer"] == o[1]["answer"] and o[0]["frames"] == o[1]["frames"] and o[0]["fps"] == o[1]["fps"] == 2'

# Comments, empty lines, blanks, other line ends, a byte order mark, exponents; stdin.
printf '\357\273\277# camera 1\r\n\r\n 0 \r\n\t2.0\r\n5e0\r\n# late\n9' >times
run video four --times times --dry-run -m "$MODEL"
expect_out_has '^  times +1\.0 7\.0 s'
run_with "$(cat times)" video four --times - --dry-run -m "$MODEL"
expect_out_has '^  times +1\.0 7\.0 s'

# Lines that name their frame stand in any order, and names may have blanks.
mv four/f11.png 'four/f11 last.png'
printf 'f11 last.png   9\nf2.png 2\nf1.png\t0\nf10.png 5\n' >times
run video four --times times --dry-run -m "$MODEL"
expect_code 0
expect_out_has '^  times +1\.0 7\.0 s'
expect_order f1.png f2.png f10.png 'f11 last.png  9.000'

# Sampling takes frames by the reference's rule, and their times are those of the source: of frames
# 0, 2 (1.5 is rounded to even) and 3.
printf '0\n2\n5\n9\n' >times
run video four --times times --frames 3 --dry-run -m "$MODEL"
expect_order f1.png 0.000 f10.png 5.000 'f11 last.png' 9.000
expect_out_lacks 'f2.png'
expect_out_has '^  times +2\.5 9\.0 s'
# 4 frames over 12 s are 0.25 a second for 3 of them.
run video four --times times --sample-fps 0.25 --max-frames 3 --dry-run -m "$MODEL"
expect_out_has '4 found, 3 used'

# A damaged frame takes its time with it.
cp -r four damaged
printf 'broken' >damaged/f2.png
run video damaged --times times --dry-run -m "$MODEL" -q
expect_code 0
expect_err_has "frame 'f2.png' left out"
expect_out_has '^  times +2\.5 9\.0 s'

# One frame.
mkdir one
cp "$frame" one/1.png
echo 7 >times
run video one --times times --dry-run -m "$MODEL"
expect_out_has '^  times +7\.0 s'

# What is refused, with one line.
refused() { # refused TEXT PATTERN
    printf "$1" >times
    run video four --times times -m "$MODEL"
    expect_refusal "$2"
    [ "$(grep -c . err)" -eq 1 ] || fail "more than a line"
}
refused '0\n2\n5\n' "--times times has 3 times, 'four' has 4 frames"
refused '0\n2\n5\n9\n12\n' "has 5 times, 'four' has 4 frames"
refused '' "has 0 times, 'four' has 4 frames"
refused '0\n5\n2\n9\n' "must ascend: 'f2.png' is at 5 s, and 'f10.png' after it at 2 s"
refused '0\n2\n2\n9\n' 'must ascend'
refused '%s-1\n2\n5\n9\n' 'line 1: -1 seconds is not a time from 0'
refused '0\n2\nnan\n9\n' "line 3: 'nan' is not a time in seconds"
refused '0\n2\ninf\n9\n' "line 3: 'inf' is not a time"
refused '0\n2\n1e999\n9\n' "line 3: '1e999' is not a time"
refused '0\n2\n1e13\n9\n' 'line 3: 1e\+13 seconds is not a time'
refused '0\n0x10\n5\n9\n' "line 2: '0x10' is not a time"
refused '0\n00:02\n5\n9\n' "line 2: '00:02' is not a time"
refused 'f1.png 0\n2\n5\n9\n' 'line 2 is a time alone, and those before it do not'
refused 'f1.png 0\nf3.png 2\nf10.png 5\nf11 last.png 9\n' "line 2: 'f3.png' is no frame of 'four'"
refused 'f1.png 0\nf1.png 2\nf10.png 5\nf11 last.png 9\n' "line 2: 'f1.png' has a time already"
refused '0\n2\000\n5\n9\n' 'line 2 holds a zero byte'
run video four --times nowhere -m "$MODEL"
expect_refusal "cannot open 'nowhere' \(--times\): No such file"
run video four --times four -m "$MODEL"
expect_refusal "'four' \(--times\)"
printf '0\n2\n5\n9\n' >times
run video four --times times --fps 2 -m "$MODEL"
expect_misuse '--times and --fps'
run video four one --times times -m "$MODEL"
expect_misuse '--times is for one clip, and there are 2'
run video four --times times --every 5s --follow -m "$MODEL"
expect_misuse '--times and --follow'
exit 0
