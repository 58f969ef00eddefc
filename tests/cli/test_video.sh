#!/bin/sh
# Clips: which files are frames, in what order, at what times, and what is said of damaged ones.
. "${0%/*}/harness.sh"
frame=$PICTURES/video1/frame01.png
other=$PICTURES/picture01.png

# frames FOLDER NAME...: copies of one frame
frames() {
    folder=$1
    mkdir "$folder"
    shift
    for name in "$@"; do cp "$frame" "$folder/$name"; done
}

# Natural order: numbers by value, leading zeros aside, letters without case, ties by bytes.
frames order f10.png f9.png f2.png F1.png f02.png f1b.png f1a.png g.png f100.png f011.png
run video order --dry-run --fps 2 -m "$MODEL"
expect_code 0
expect_order F1.png f1a.png f1b.png f02.png f2.png f9.png f10.png f011.png f100.png g.png
run video order --dry-run --fps 2 -m "$MODEL" --json
expect_json '[f["name"] for f in o[0]["media"][0]["frames"]] == ["F1.png", "f1a.png", "f1b.png", "f02.png", "f2.png", "f9.png", "f10.png", "f011.png", "f100.png", "g.png"]'

# An answer; without a question the clip is described; --fps or a note that it was assumed.
run video "$PICTURES/video1" "Describe this video." --fps 2 -m "$MODEL" -q
expect_code 0
expect_no_err
cp out described
run video "$PICTURES/video1" --fps 2 -m "$MODEL"
cmp -s out described || fail "the question is not the one that is told"
expect_err_lacks "fps"
run video "$PICTURES/video1" -m "$MODEL"
cmp -s out described || fail "2 is not the rate that is assumed"
expect_err_has "taking the frames as 2 a second.*--fps"

# Times: the mean of each pair, and an odd clip repeats its last frame.
frames six 1.png 2.png 3.png 4.png 5.png 6.png
run video six --dry-run --fps 2 -m "$MODEL"
expect_out_has '^  times +0\.2 1\.2 2\.2 s'
frames five 1.png 2.png 3.png 4.png 5.png
run video five --dry-run --fps 2 -m "$MODEL"
expect_out_has '^  times +0\.2 1\.2 2\.0 s'
run video five --dry-run --fps 2 -m "$MODEL" --json
expect_json 'o[0]["media"][0]["timestamps"] == [0.25, 1.25, 2.0]'
run video five --dry-run -m "$MODEL"
expect_out_has 'rate +2 frames a second \(assumed'

# Without a sampling flag every frame is used, however many the model's own sampling would take.
frames twelve 01.png 02.png 03.png 04.png 05.png 06.png 07.png 08.png 09.png 10.png 11.png 12.png
run video twelve --dry-run --fps 2 -m "$MODEL"
expect_out_has 'frames +12 found, 12 used, 6 pairs'

# Sampling: times follow the source, and only the frames used are decoded.
run video twelve --dry-run --fps 4 --sample-fps 2 -m "$MODEL" --json
expect_json '[f["name"] for f in o[0]["media"][0]["frames"]] == ["01.png", "03.png", "05.png", "08.png", "10.png", "12.png"]'
expect_json 'o[0]["media"][0]["timestamps"] == [0.25, 1.375, 2.5]'
run video twelve --dry-run --fps 4 --frames 3 -m "$MODEL"
expect_out_has '12 found, 3 used, 2 pairs'
expect_order 01.png 0.000 07.png 1.500 12.png 2.750 # 5.5 is rounded to even
run video twelve --dry-run --fps 4 --max-frames 4 -m "$MODEL"
expect_out_has '12 found, 4 used, 2 pairs'
printf 'broken' >twelve/02.png
run video twelve --fps 4 --frames 3 --strict -m "$MODEL" -q
expect_code 0
expect_no_err
run video twelve --fps 4 --frames 13 -m "$MODEL"
expect_refusal '13 .*12'

# What is no frame: hidden files, folders, texts; content decides, not the name.
frames litter 1.png .hidden.png ._2.png
echo notes >litter/notes.txt
echo '{}' >litter/caption.json
mkdir litter/sub.png
cp "$frame" litter/sub.png/9.png
cp "$frame" litter/2.dat
: >litter/Thumbs.db
run video litter --dry-run --fps 2 -m "$MODEL" --strict
expect_code 0
expect_out_has 'frames +2 found, 2 used'
expect_order 1.png 2.dat
expect_out_lacks 'notes|hidden|sub|caption|Thumbs'

# Portable pixmaps are frames, by content and by name, and a text that begins like one is none.
mkdir pixmaps
for name in 1.ppm 2.PNM 3.raw; do
    { printf 'P6\n# made by hand\n56 56\n255\n'; head -c 9408 /dev/zero; } >pixmaps/$name
done
{ printf 'P5 56 56 255\n'; head -c 3136 /dev/zero; } >pixmaps/4.pgm
{ printf 'P4\n56 56\n'; head -c 392 /dev/zero; } >pixmaps/5
printf 'P6 is a kind of pixmap\n' >pixmaps/notes
run video pixmaps --dry-run --fps 2 -m "$MODEL" --strict
expect_code 0
expect_out_has 'frames +5 found, 5 used'
expect_order 1.ppm 2.PNM 3.raw 4.pgm 5
frames beside 1.png
cp pixmaps/1.ppm beside/2.ppm
run video beside --dry-run --fps 2 -m "$MODEL" -q
expect_out_has 'frames +2 found, 2 used'
printf 'broken' >beside/3.pbm
run video beside --dry-run --fps 2 -m "$MODEL" -q
expect_err_has "warning: frame '3.pbm' left out"

# A damaged frame is reported by name and keeps its place in time; --strict fails.
frames damaged f1.png f2.png f3.png f4.png
head -c 100 "$frame" >damaged/f2.png
run video damaged "Describe this video." --fps 2 -m "$MODEL" -q
expect_code 0
expect_err_has "warning: frame 'f2.png' left out: "
run video damaged --fps 2 -m "$MODEL" --dry-run
expect_out_has '4 found, 3 used'
expect_order f1.png 0.000 f3.png 1.000 f4.png 1.500
run video damaged --fps 2 -m "$MODEL" --strict
expect_refusal "frame 'f2.png': "
: >damaged/f1.png
echo text >damaged/f3.png
rm damaged/f4.png
run video damaged --fps 2 -m "$MODEL"
expect_code 1
expect_no_out
for name in f1 f2 f3; do expect_err_has "frame '$name.png' left out"; done
expect_err_has "'damaged': none of its frames could be read"

# Mixed sizes: one size for all, and a note.
frames mixed 1.png 2.png
cp "$other" mixed/3.png
run video mixed --fps 2 -m "$MODEL"
expect_code 0
expect_err_has "frames differ in size \('1.png' is 256x192, '3.png' is 288x384\)"
run video mixed --fps 2 -m "$MODEL" -q
expect_code 0
expect_no_err

# Folders without frames.
mkdir empty texts
echo a >texts/a.txt
echo b >texts/b.txt
run video empty --fps 2 -m "$MODEL"
expect_refusal "no pictures in 'empty': the folder is empty"
run video texts --fps 2 -m "$MODEL"
expect_refusal "no pictures in 'texts': none of its 2 entries"
run video nowhere --fps 2 -m "$MODEL"
expect_refusal "nowhere.*No such file"
run video "$other" --fps 2 -m "$MODEL"
expect_refusal "is not a folder of frames"

# Frames asked as separate pictures are another prompt, and the tokens show.
run ask six/1.png six/2.png six/3.png six/4.png "What happens?" --dry-run --json -m "$MODEL"
cp out pictures
frames four 1.png 2.png 3.png 4.png
run video four "What happens?" --dry-run --json -m "$MODEL"
cat pictures >>out
expect_json 'o[1]["image_tokens"] == 60 and o[0]["image_tokens"] < 60'

# --json of an answer names the clip and its frames.
run video five --fps 2 -m "$MODEL" --json -q
expect_code 0
expect_no_err
expect_json 'o[0]["video"] == "five" and o[0]["fps"] == 2 and len(o[0]["frames"]) == 5 and o[0]["answer"]'
exit 0
