#!/bin/sh
# Captions of a folder: which pictures, where the captions go, what is left alone, what fails.
. "${0%/*}/harness.sh"

batch() { run caption "$@" -m "$MODEL" -n 12 -q; }

# photos: copies of a few samples, sub folders, names that need care
make_photos() {
    rm -rf photos
    mkdir -p "photos/sub dir/deep" photos/.hidden
    cp "$PICTURES/picture01.png" photos/p10.png
    cp "$PICTURES/picture02.png" photos/p2.png
    cp "$PICTURES/picture03.jpg" "photos/sub dir/a b.jpg"
    cp "$PICTURES/picture04.png" "photos/sub dir/deep/c.png"
    cp "$PICTURES/picture05.png" photos/.hidden/x.png
    cp "$PICTURES/picture05.png" photos/.x.png
    echo "no picture" >photos/notes.md
    ln -s .. photos/sub\ dir/up
}

# single PATH: what caption says about one picture
single() { "$OCELLI" caption "$1" -m "$MODEL" -n 12 -q 2>/dev/null; }

# ---- sidecars
make_photos
batch photos
expect_code 0
expect_no_out
expect_no_err
for name in p10.png p2.png "sub dir/a b.jpg" "sub dir/deep/c.png"; do
    single "photos/$name" >expected
    cmp -s expected "photos/${name%.*}.txt" || fail "the caption of $name is not that of one picture"
done
[ "$(find photos -name '*.txt' | wc -l)" -eq 4 ] || fail "other captions than of 4 pictures"
[ -z "$(find photos -name '.ocelli*')" ] || fail "something is left behind"

# Nothing is done again, and no model is needed for that.
find photos -type f | sort | xargs -d '\n' cksum >before
run caption photos -m nosuchmodel -q
expect_code 0
run caption photos -m nosuchmodel
expect_err_has '0 captioned, 4 skipped, 0 failed; 1 files are no pictures'
find photos -type f | sort | xargs -d '\n' cksum | cmp -s - before || fail "a second run changed something"

# A caption by hand is left, an empty one counts as missing.
echo "by hand" >photos/p2.txt
: >photos/p10.txt
printf ' \n' >"photos/sub dir/a b.txt"
batch photos
expect_code 0
[ "$(cat photos/p2.txt)" = "by hand" ] || fail "a caption by hand was changed"
single photos/p10.png | cmp -s - photos/p10.txt || fail "an empty caption was not filled"
single "photos/sub dir/a b.jpg" | cmp -s - "photos/sub dir/a b.txt" || fail "blanks count as a caption"

# ---- modes
batch photos --mode append -p "What color?"
expect_code 0
[ "$(head -n 1 photos/p2.txt)" = "by hand" ] || fail "append has not kept the old text first"
[ "$(wc -l <photos/p2.txt)" -eq 2 ] || fail "append has not added a line"
batch photos --mode prepend
[ "$(sed -n 2p photos/p2.txt)" = "by hand" ] || fail "prepend is not before the old text"
batch photos --mode overwrite
single photos/p2.png | cmp -s - photos/p2.txt || fail "overwrite has not replaced the caption"
[ -z "$(find photos -name '.ocelli*')" ] || fail "a journal is left behind"
printf 'no end of line' >photos/p2.txt
batch photos/p2.png --mode append
[ "$(wc -l <photos/p2.txt)" -eq 2 ] || fail "append to a text without a newline joins the lines"
ln -sf ../linked photos/p2.txt
echo old >linked
batch photos/p2.png --mode overwrite
[ -L photos/p2.txt ] || fail "a link was replaced by a file"
single photos/p2.png | cmp -s - linked || fail "the link's file was not written"

# ---- names: two pictures of one name, a picture called like a caption, without an ending
rm -rf names && mkdir names
cp "$PICTURES/picture01.png" names/a.png
cp "$PICTURES/picture03.jpg" names/a.jpg
cp "$PICTURES/picture02.png" names/b.txt
cp "$PICTURES/picture04.png" names/b.png
cp "$PICTURES/picture05.png" names/plain
cp "$PICTURES/picture05.png" names/d.PNG
echo "old" >names/a.txt
cksum <names/b.txt >before
run caption names -m "$MODEL" -n 12
expect_code 0
expect_err_has '^ocelli: 4 pictures share their name'
cksum <names/b.txt | cmp -s - before || fail "a picture was overwritten by a caption"
[ "$(cat names/a.txt)" = "old" ] || fail "the caption of a name that two pictures have was touched"
for name in a.jpg.txt a.png.txt b.txt.txt b.png.txt plain.txt d.txt; do
    [ -s "names/$name" ] || fail "names/$name is missing"
done
[ "$(find names -name '*.txt' | wc -l)" -eq 8 ] || fail "names has other captions"
# A list that names one of the two comes to the same place.
rm names/a.jpg.txt
batch names/a.jpg --sidecar
[ -s names/a.jpg.txt ] || fail "one picture alone has another caption than in its folder"

# ---- where captions go
make_photos
batch photos --out-dir to/captions --ext .caption
expect_code 0
[ -z "$(find photos -name '*.caption')" ] || fail "--out-dir wrote beside the pictures"
for name in p10 p2 "sub dir/a b" "sub dir/deep/c"; do
    [ -s "to/captions/$name.caption" ] || fail "to/captions/$name.caption is missing"
done
mkdir other && cp photos/p2.png other/p2.png
run caption photos other --out-dir out2 -m "$MODEL" -q
expect_refusal "would both be 'out2/p2.txt'"
[ ! -e out2 ] || fail "a refused run has made its folder"

# ---- several prompts, a prompt from a file, placeholders, a prefix
make_photos
printf 'sky, sea\n' >photos/p2.tags
printf 'Picture {name} in {dir}: {tags}{other}.\n' >prompt.txt
batch photos/p2.png --jsonl p.jsonl --prompt-file prompt.txt -p "What is it?" --prefix "sks, "
expect_code 0
cp p.jsonl out
expect_json '[x["prompt"]["text"] for x in o] == ["What is it?", "Picture p2 in photos: sky, sea{other}."]'
expect_json '[x["prompt"]["index"] for x in o] == [0, 1]'
expect_json 'all(x["caption"].startswith("sks, ") for x in o)'
batch photos/p2.png --sidecar --prompt-file prompt.txt -p "What is it?" --prefix "sks, "
[ "$(wc -l <photos/p2.txt)" -ge 2 ] || fail "two prompts, but not two lines"
"$OCELLI" caption photos/p2.png -m "$MODEL" -n 12 -q -p "What is it?" --prompt-file prompt.txt 2>/dev/null |
    sed 's/^/sks, /' | cmp -s - photos/p2.txt || fail "prompts are answered otherwise than one by one"

# ---- an answer that was cut is asked again
run caption photos/p10.png -m "$MODEL" -q --jsonl cut.jsonl -n 2
cp cut.jsonl out
expect_json 'o[0]["finish_reason"] == "length" and o[0]["new_tokens"] == 2'
rm cut.jsonl
run caption photos/p10.png -m "$MODEL" -q --jsonl cut.jsonl -n 2 --retry-length 60
cp cut.jsonl out
expect_json 'o[0]["new_tokens"] > 2'

# ---- failures
make_photos
printf 'not a png' >photos/p3.png
batch photos --jsonl f.jsonl
expect_code 3
expect_err_has "p3.png"
cp f.jsonl out
expect_json '[x["path"] for x in o] == ["photos/p2.png", "photos/p3.png", "photos/p10.png", "photos/sub dir/a b.jpg", "photos/sub dir/deep/c.png"]'
expect_json 'o[1]["caption"] is None and "p3.png" in o[1]["error"] and o[0]["error"] is None'
expect_json 'o[0]["width"] > 0 and o[0]["image_tokens"] > 0 and len(o[0]["model"]["fingerprint"]) == 32 and o[0]["model"]["name"] == "model"'
[ -z "$(find photos -name '*.txt')" ] || fail "--jsonl alone wrote sidecars"
cp "$PICTURES/picture05.png" photos/p3.png
batch photos --jsonl f.jsonl
expect_code 0
cp f.jsonl out
expect_json 'len(o) == 5 and o[1]["path"] == "photos/p3.png" and o[1]["caption"]'
printf 'not a png' >photos/p3.png
batch photos --strict
expect_code 1
batch photos nosuchfile.png
expect_code 3
expect_err_has "nosuchfile.png"
batch photos/p10.png nosuchfolder/ --sidecar
expect_code 3

# ---- lists
make_photos
printf 'photos/p2.png\nphotos/sub dir/a b.jpg\n\nphotos/none.png' >list
batch --files-from list --jsonl l.jsonl
expect_code 3
cp l.jsonl out
expect_json '[x["path"] for x in o] == ["photos/p2.png", "photos/sub dir/a b.jpg", "photos/none.png"]'
odd=$(printf 'photos/odd\nname \351.png')
cp photos/p2.png "$odd"
printf '%s\0photos/p10.png\0' "$odd" | "$OCELLI" caption --files-from - -0 -m "$MODEL" -n 12 -q >out 2>err
code=$?
expect_code 0
single photos/p2.png | cmp -s - "${odd%.png}.txt" || fail "a name with a newline and Latin-1 has no caption"
batch photos --jsonl - --mode overwrite
expect_code 0
expect_json 'len(o) == 5 and o[0]["path_hex"].endswith("e92e706e67")'
batch photos --jsonl odd.jsonl
batch photos --jsonl odd.jsonl
[ "$(wc -l <odd.jsonl)" -eq 5 ] || fail "what the file holds was asked again"
rm "$odd" "${odd%.png}.txt"

# ---- patterns that no shell has expanded
batch 'photos/p*.png'
expect_code 0
[ -s photos/p2.txt ] && [ -s photos/p10.txt ] || fail "a pattern was not expanded"
batch 'photos/z*.png'
expect_refusal "no file matches 'photos/z\*.png'"

# ---- the JSON lines: torn at their end, of somebody else, in stdout
make_photos
batch photos --jsonl j.jsonl
cp j.jsonl whole
head -c $(($(wc -c <j.jsonl) - 20)) whole >j.jsonl
batch photos --jsonl j.jsonl
expect_code 0
sed 's/"seconds":{[^}]*}//' whole >one
sed 's/"seconds":{[^}]*}//' j.jsonl | cmp -s one - || fail "a torn line was not mended to the same bytes"
head -n 3 whole | cmp -s - - >/dev/null
head -n 3 j.jsonl >three && head -n 3 whole | cmp -s - three || fail "whole lines were done again"
sed -n '4p;2p' whole >j.jsonl # out of order, two missing
batch photos --jsonl j.jsonl
sed 's/"seconds":{[^}]*}//' j.jsonl | cmp -s one - || fail "gaps were not filled in order"
echo "my diary" >diary
batch photos --jsonl diary
expect_refusal "diary"
[ "$(cat diary)" = "my diary" ] || fail "a file that is not ours was changed"
batch photos --jsonl j.jsonl --sidecar
expect_code 0
[ -s "photos/sub dir/deep/c.txt" ] || fail "captions of the JSON lines were not written beside the pictures"
sed 's/"seconds":{[^}]*}//' j.jsonl | cmp -s one - || fail "they were asked again"

# ---- nothing is touched by --dry-run
make_photos
run caption photos --dry-run -m nosuchmodel
expect_code 0
expect_out "caption  photos/p2.png -> photos/p2.txt" "caption  photos/p10.png -> photos/p10.txt" \
    "caption  photos/sub dir/a b.jpg -> photos/sub dir/a b.txt" \
    "caption  photos/sub dir/deep/c.png -> photos/sub dir/deep/c.txt" \
    "4 to caption, 0 done already, 0 cannot be read; 1 files are no pictures"
[ "$(find photos -name '*.txt' -o -name '.ocelli*' | wc -l)" -eq 0 ] || fail "--dry-run wrote something"
batch photos --limit 3
[ "$(find photos -name '*.txt' | wc -l)" -eq 3 ] || fail "--limit 3 made other than 3 captions"
batch photos --limit 3
[ "$(find photos -name '*.txt' | wc -l)" -eq 4 ] || fail "the rest was not done"

# ---- where nothing can be written; root may write anywhere
if [ "$(id -u)" -ne 0 ]; then
    make_photos
    chmod a-w photos
    batch photos
    expect_refusal "photos/.ocelli-caption.journal"
    batch photos --jsonl elsewhere.jsonl
    expect_code 0
    chmod u+w photos
fi

# ---- misuse
run caption photos --json
expect_misuse "--jsonl FILE"
run caption photos --ext .png
expect_misuse "--ext needs the ending of a text file"
run caption photos -
expect_misuse "'-' is a picture without a name"
run caption photos --jsonl a.jsonl --mode append
expect_misuse "add --sidecar"
run caption photos -0
expect_misuse "--null is about --files-from"
run caption photos -p a -p a
expect_misuse "prompts 1 and 2 are the same"
mkdir empty
run caption empty -m nosuchmodel
expect_code 0
expect_err_has "no pictures found"
exit 0
