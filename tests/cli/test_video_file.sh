#!/bin/sh
# Video files and animations as clips: the same frames, times and answer as the folder they were made
# of; and what is no video, or not whole. Needs ffmpeg, which makes the files here too.
. "${0%/*}/harness.sh"
clip=$PICTURES/video1

# What needs no ffmpeg: addresses and what ffmpeg would take for one, stdin, devices, pictures.
for address in http://127.0.0.1/a.mp4 https://x/y rtsp://127.0.0.1/x 'concat:a.mp4|b.mp4' data:video/mp4,x \
    pipe:0 file:a.mp4 lavfi:testsrc; do
    run video "$address" -m "$MODEL"
    expect_refusal "is an address, and ocelli does not fetch"
done
run video "$clip" http://127.0.0.1/a.mp4 --fps 2 -m "$MODEL"
expect_refusal "is an address"
run video - -m "$MODEL"
expect_refusal 'cannot be read from stdin'
run video /dev/null -m "$MODEL"
expect_refusal "'/dev/null' is not a folder of frames and not a file"
mkfifo pipe
run video pipe -m "$MODEL"
expect_refusal "'pipe' is not a folder of frames and not a file"
run video "$PICTURES/picture03.jpg" -m "$MODEL"
expect_refusal 'it is one picture'
echo 'no video' >notes.mp4
ran='video without ffmpeg'
PATH=/nowhere "$OCELLI" video notes.mp4 -m "$MODEL" >out 2>err </dev/null
code=$?
expect_refusal 'the program ffmpeg, which is not installed; .*ffmpeg -i FILE -vf fps=2 frames/%04d.png'
# A program of that name in the folder of the pictures is not run.
printf '#!/bin/sh\ntouch ran\n' >ffmpeg
cp ffmpeg ffprobe
chmod +x ffmpeg ffprobe
PATH=.: "$OCELLI" video notes.mp4 -m "$MODEL" >out 2>err </dev/null
code=$?
expect_refusal 'not installed'
[ ! -e ran ] || fail "a program of the working folder was run"
rm ffmpeg ffprobe

command -v ffmpeg >/dev/null 2>&1 && command -v ffprobe >/dev/null 2>&1 || skip "ffmpeg is not installed"
make() { # make FILE ARGUMENT...: by ffmpeg, quietly
    made=$1
    shift
    ffmpeg -nostdin -v error "$@" -y "file:$made" </dev/null >made 2>&1 || fail "ffmpeg cannot make $made: $(cat made)"
}

# A lossless file of the folder's frames at 2 a second is the folder at --fps 2.
run video "$clip" --fps 2 --json -m "$MODEL" -q
cp out folder
make lossless.mkv -framerate 2 -i "$clip/frame%02d.png" -c:v ffv1 -pix_fmt bgr0
make lossless.mp4 -framerate 2 -i "$clip/frame%02d.png" -c:v libx264rgb -crf 0 -preset ultrafast
make lossless.avi -framerate 2 -i "$clip/frame%02d.png" -c:v ffv1 -pix_fmt bgr0
for file in lossless.mkv lossless.mp4 lossless.avi; do
    run video $file --json -m "$MODEL" -q
    expect_code 0
    expect_no_err
    cat folder >>out
    expect_json 'all(o[0][k] == o[1][k] for k in ("answer", "prompt_tokens", "image_tokens", "fps"))'
    expect_json '[f["seconds"] for f in o[0]["frames"]] == [f["seconds"] for f in o[1]["frames"]]'
done
run video lossless.mkv -m "$MODEL" -q
cp out answer

# The file's name is a name: never an option, a pattern or a protocol; and what it is called says nothing.
cp lossless.mkv ./-i.mkv
cp lossless.mkv 'with blanks, %d and "quotes".mkv'
cp lossless.mkv concat:lossless.mkv
cp lossless.mkv lossless.txt
cp lossless.mkv 'subtitles=x,[0:v];.mkv'
for file in ./-i.mkv 'with blanks, %d and "quotes".mkv' concat:lossless.mkv lossless.txt 'subtitles=x,[0:v];.mkv'; do
    run video "$file" -m "$MODEL" -q
    expect_code 0
    cmp -s out answer || fail "'$file' gives another answer"
done
run video -m "$MODEL" -q -- -i.mkv
cmp -s out answer || fail "a name that begins with a dash gives another answer"

# Sampled by the reference's rule: 30 frames a second for 4 seconds are 8 of 120, at their own times.
times='[0, 17/30, 34/30, 51/30, 68/30, 85/30, 102/30, 119/30]'
make plain.mp4 -f lavfi -i testsrc=size=160x96:rate=30:duration=4 -c:v libx264 -bf 3 -pix_fmt yuv420p
make plain.ts -i plain.mp4 -c copy
make plain.avi -i plain.mp4 -c copy
make plain.webm -i plain.mp4 -c:v libvpx -deadline realtime -auto-alt-ref 1 -lag-in-frames 16
for file in plain.mp4 plain.ts plain.avi plain.webm; do
    run video $file --dry-run --json -m "$MODEL"
    expect_code 0
    expect_no_err
    expect_json 'o[0]["media"][0]["frames_found"] == 120 and abs(o[0]["media"][0]["fps"] - 30) < 0.1'
    expect_json "all(abs(f['seconds'] - t) < 0.0011 for f, t in zip(o[0]['media'][0]['frames'], $times, strict=True))"
done
# Which frame came is seen in its pixels: each is the one that ffmpeg makes of that number.
mkdir chosen
for n in 0 17 34 51 68 85 102 119; do
    make chosen/$n.png -i plain.mp4 -vf "select=eq(n\,$n)" -frames:v 1
done
printf '%s\n' 0 0.56666667 1.13333333 1.7 2.26666667 2.83333333 3.4 3.96666667 >times
run video chosen --times times --json -m "$MODEL" -q
cp out by_hand
run video plain.mp4 --json -m "$MODEL" -q
cat by_hand >>out
expect_json 'o[0]["answer"] == o[1]["answer"] and o[0]["prompt_tokens"] == o[1]["prompt_tokens"]'
run video plain.mp4 --dry-run --frames 3 -m "$MODEL"
expect_order 'frame 0  0.000 s' 'frame 60  2.000 s' 'frame 119  3.967 s' # 59.5 is rounded to even
run video plain.mp4 --dry-run --sample-fps 1 --max-frames 5 -m "$MODEL"
expect_out_has '120 found, 4 used'

# A rate that varies: the times are those of the file.
mkdir uneven
for i in 1 2 3 4 5 6; do cp "$clip/frame0$i.png" uneven; done
cat >list <<'LIST'
ffconcat version 1.0
file uneven/frame01.png
duration 0.6
file uneven/frame02.png
duration 2
file uneven/frame03.png
duration 0.2
file uneven/frame04.png
duration 3
file uneven/frame05.png
duration 1
file uneven/frame06.png
duration 1
LIST
make uneven.mkv -f concat -i list -fps_mode passthrough -c:v ffv1 -pix_fmt bgr0
printf '0\n0.6\n2.6\n2.8\n5.8\n6.8\n' >times
run video uneven --times times --json -m "$MODEL" -q
cp out folder
run video uneven.mkv --sample-fps 25 --json -m "$MODEL" -q
expect_code 0
cat folder >>out
expect_json 'o[0]["answer"] == o[1]["answer"] and o[0]["prompt_tokens"] == o[1]["prompt_tokens"]'
expect_json '[f["seconds"] for f in o[0]["frames"]] == [0, 0.6, 2.6, 2.8, 5.8, 6.8]'
# Such a list is a script for ffmpeg, which would open what it names: as a clip it is none.
run video list -m "$MODEL"
expect_refusal 'neither a folder of frames nor a video'
printf '#EXTM3U\n#EXTINF:1,\nlossless.mkv\n' >list.m3u8
run video list.m3u8 -m "$MODEL"
expect_refusal 'neither a folder of frames nor a video'

# Turned as the file asks; a size that changes on the way; sound alone.
make turned.mp4 -i plain.mp4 -c copy -metadata:s:v rotate=90
run video turned.mp4 --dry-run -m "$MODEL"
expect_out_has 'source +96x160 pixels'
make large.ts -f lavfi -i testsrc=size=320x192:rate=30:duration=1 -c:v libx264 -pix_fmt yuv420p
make short.ts -f lavfi -i testsrc=size=160x96:rate=30:duration=1 -c:v libx264 -pix_fmt yuv420p -output_ts_offset 1
cat large.ts short.ts >both.ts
run video both.ts --dry-run --frames 6 -m "$MODEL"
expect_code 0
expect_out_has '6 used'
make sound.mp4 -f lavfi -i sine=duration=1 -c:a aac
run video sound.mp4 -m "$MODEL"
expect_refusal "'sound.mp4' has no video in it"

# Not whole: what can be read is used, and --strict fails. Without its index an mp4 is nothing.
head -c $(($(wc -c <lossless.mkv) * 2 / 3)) lossless.mkv >cut.mkv
run video cut.mkv --dry-run -m "$MODEL"
expect_code 0
expect_err_has "warning: 'cut.mkv': only what can be read of it is used: "
expect_out_has '3 found, 3 used'
run video cut.mkv --strict -m "$MODEL"
expect_refusal "'cut.mkv': "
head -c 2000 plain.mp4 >cut.mp4
run video cut.mp4 -m "$MODEL"
expect_refusal "'cut.mp4' is neither a folder of frames nor a video that ffmpeg can read: "
: >empty.mp4
for file in notes.mp4 empty.mp4 "$MODEL/config.json"; do
    run video "$file" -m "$MODEL"
    expect_refusal 'is neither a folder of frames nor a video that ffmpeg can read: '
    [ "$(grep -c . err)" -eq 1 ] || fail "more than a line"
done
# A frame in the middle that is damaged is reported and left out; the others keep their times.
make key.mkv -framerate 2 -i "$clip/frame%02d.png" -c:v png -pix_fmt rgb24
python3 - <<'PYTHON' || fail "cannot damage key.mkv"
data = bytearray(open("key.mkv", "rb").read())
starts = [i for i in range(len(data)) if data.startswith(b"\x89PNG", i)]
assert len(starts) == 6
data[starts[2] + 16:starts[2] + 24] = bytes(8) # its width and height
open("damaged.mkv", "wb").write(data)
PYTHON
run video damaged.mkv --dry-run -m "$MODEL"
expect_code 0
expect_err_has "warning: frame 'frame 2' left out: ffmpeg could not decode it, at 1.000 s of 'damaged.mkv'"
expect_order 'frame 0  0.000' 'frame 1  0.500' 'frame 3  1.500' 'frame 4  2.000' 'frame 5  2.500'
run video damaged.mkv --strict --dry-run -m "$MODEL"
expect_code 1
expect_err_has "frame 'frame 2': "

# Limits: pixels of a frame, and what they are told with.
run video plain.mp4 --max-input-pixels 1000 -m "$MODEL"
expect_refusal 'frames of 160x96 pixels; at most 1000 are taken \(--max-input-pixels\)'
run video plain.mp4 --frames 121 -m "$MODEL"
expect_refusal '121 .*120'
run video lossless.mkv --fps 3 -m "$MODEL"
expect_answer "$(cat answer)"
expect_err_has "fps has no effect on 'lossless.mkv'"
run video lossless.mkv --times times -m "$MODEL"
expect_refusal "times is for a folder of frames"

# More chosen frames than ffmpeg can be told of in one argument.
make many.nut -f lavfi -i testsrc=size=32x32:rate=60:duration=130 -c:v rawvideo -pix_fmt rgb24
run video many.nut --dry-run --sample-fps 60 --max-frames 100000 -m "$MODEL" --json
expect_code 0
expect_json 'len(o[0]["media"][0]["frames"]) == 7800 and abs(o[0]["media"][0]["frames"][7799]["seconds"] - 7799 / 60) < 1e-5'

# Segments of a file.
run video plain.mp4 --every 1s --json -m "$MODEL" -q
expect_json '[(x["start"], x["end"], x["frames"]) for x in o] == [(0, 1, 4), (1, 2, 4), (2, 3, 4), (3, 4, 4)]'
run video plain.mp4 --every 1500ms --sample-fps 4 --json -m "$MODEL" -q
expect_json '[(x["start"], x["end"], x["frames"]) for x in o] == [(0, 1.5, 6), (1.5, 3, 6), (3, 4, 4)]'

# Several clips in one question, of all kinds; the last operand is the question where it is no path.
run video lossless.mkv "$clip" lossless.mp4 "What do they show?" --fps 2 --json -m "$MODEL" -q
expect_code 0
expect_json '[v["video"] for v in o[0]["videos"]][::2] == ["lossless.mkv", "lossless.mp4"] and o[0]["question"] == "What do they show?"'
expect_json 'o[0]["image_tokens"] == 3 * 36'
run video lossless.mkv lossless.mp4 --dry-run -m "$MODEL"
expect_order 'clip    1    lossless.mkv' 'clip    2    lossless.mp4' 'tokens, of them 72 for pictures'
run video lossless.mkv what is it "there?" -m "$MODEL"
expect_refusal "cannot open clip 'what': .*put the question in quotes"

# An animation needs no ffmpeg.
make moving.gif -i lossless.mkv
run video moving.gif --dry-run --json -m "$MODEL"
if [ "$code" -eq 0 ]; then
    expect_json '[f["seconds"] for f in o[0]["media"][0]["frames"]] == [0, 0.5, 1, 1.5, 2, 2.5]'
    PATH=/nowhere "$OCELLI" video moving.gif -m "$MODEL" -q >out 2>err </dev/null
    code=$?
    expect_code 0
    printf '/video moving.gif\nDescribe this video.\n' >in
    "$OCELLI" chat -m "$MODEL" -q <in >said 2>err || fail "chat: $(cat err)"
    cmp -s out said || fail "chat says another thing about the animation"
else
    expect_refusal 'GIF'
fi
exit 0
