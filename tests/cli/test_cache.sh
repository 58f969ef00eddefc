#!/bin/sh
# The cache of encoded pictures: a second question about a picture encodes nothing, in one process and
# in the next, and answers are what they are without it.
. "${0%/*}/harness.sh"
one=$PICTURES/picture01.png
two=$PICTURES/picture02.png
none='encode +[0-9.]+ s, [0-9]+ image tokens$'
memory='encode +0\.000 s, [0-9]+ image tokens, from the cache \(memory\)$'
disk='encode +0\.000 s, [0-9]+ image tokens, from the cache \(disk\)$'

# In one conversation, after /reset, and not for another picture.
run_with "/image $one
Describe it.
/reset
/image $one
Do you see a peach?
/reset
/image $two
Describe it.
" chat -m "$MODEL" -q --timings
expect_code 0
cp out with
grep encode err >encodings
[ "$(wc -l <encodings)" -eq 3 ] || fail "three answers, three encodings"
sed -n 1p encodings | grep -Eq "$none" || fail "the first look is no hit"
sed -n 2p encodings | grep -Eq "$memory" || fail "the second look is one"
sed -n 3p encodings | grep -Eq "$none" || fail "another picture is none"
run ask "$one" "Do you see a peach?" -m "$MODEL" -q
expect_code 0
sed -n 2p with | cmp -s - out || fail "the answer from the cache is another"

# Twice in one question.
run ask "$one" "$two" "$one" "Describe the first image." -m "$MODEL" -q --timings
expect_code 0
expect_err_has 'encode .* image tokens, 1 of 3 from the cache \(memory\)$'
expect_err_lacks '^cache'

# From process to process: nothing, then the disk; the same answers, in every form of the tower.
for form in f32 q8 bf16; do
    run ask "$one" "Describe it." -m "$MODEL" -q --vision $form
    expect_code 0
    cp out plain
    run ask "$one" "Describe it." -m "$MODEL" --vision $form --cache kept --timings -v
    expect_code 0
    cmp -s out plain || fail "the answer that goes into the cache is another ($form)"
    expect_err_has "$none"
    expect_err_lacks 'damaged|is not kept'
    run ask "$one" "Describe it." -m "$MODEL" --vision $form --cache kept --timings -v
    expect_code 0
    cmp -s out plain || fail "the answer from the cache is another ($form)"
    expect_err_has "$disk"
    expect_err_has '^cache +[0-9.]+ s$'
done
[ "$(find kept -name '*.rows' | wc -l)" -eq 3 ] || fail "three forms, three entries"
[ "$(find kept | wc -l)" -eq 4 ] || fail "something else is left in the folder"

# Whatever the command, and by the environment; the flag goes before it.
OCELLI_CACHE=$scratch/kept
export OCELLI_CACHE
run caption "$one" -p "Do you see a peach?" -m "$MODEL" --json
expect_code 0
expect_json 'o[0].get("cached", {"disk": 1})["disk"] == 1 and o[0]["seconds"]["encode"] == 0'
run_with "/image $one
Describe it." chat -m "$MODEL" -q --json
expect_json 'o[0]["cached"] == {"memory": 0, "disk": 1} and o[0]["seconds"]["encode"] == 0'
run ask "$one" "Describe it." -m "$MODEL" -q --timings --cache other
expect_err_has "$none"
[ -d other ] || fail "the folder was not made"
unset OCELLI_CACHE
run ask "$one" "Describe it." -m "$MODEL" -q --timings --cache kept --max-pixels 40000
expect_err_has "$none"
run ask "$one" "Describe it." -m "$MODEL" -q --timings --cache kept --cpu scalar
expect_err_has "$none"

# A clip.
for hit in "$none" "$disk"; do
    run video "$PICTURES/video1" "Describe this video." -m "$MODEL" -q --timings --cache clips
    expect_code 0
    expect_err_has "$hit"
    [ ! -f clip ] || cmp -s out clip || fail "the answer about the clip is another"
    cp out clip
done

# A damaged entry is told with --verbose, as good as none, and replaced.
rm -rf kept
run ask "$one" "Describe it." -m "$MODEL" -q --cache kept
expect_code 0
cp out plain
entry=$(find kept -name '*.rows')
size=$(wc -c <"$entry")
for damage in cut empty text byte link; do
    case $damage in
    cut) head -c $((size - 1)) "$entry" >damaged ;;
    empty) : >damaged ;;
    text) head -c "$size" /dev/zero | tr '\0' x >damaged ;;
    byte) { head -c $((size - 5)) "$entry"; printf x; tail -c 4 "$entry"; } >damaged ;;
    link) : >damaged ;;
    esac
    if [ $damage = link ]; then
        rm "$entry"
        ln -s "$scratch/plain" "$entry"
    else
        cat damaged >"$entry"
    fi
    run ask "$one" "Describe it." -m "$MODEL" -v --timings --cache kept
    expect_code 0
    cmp -s out plain || fail "the answer beside a damaged entry is another ($damage)"
    expect_err_has "$none"
    expect_err_has '^ocelli: .*\.rows (has|is) .*; the picture is encoded again$'
    run ask "$one" "Describe it." -m "$MODEL" -v --timings --cache kept
    expect_err_has "$disk"
    expect_err_lacks 'encoded again'
done

# The bound: room for one picture, and the last one stays.
for picture in "$one" "$two" "$one"; do
    run ask "$picture" "Describe it." -m "$MODEL" -q --timings --cache bound --cache-size $((size / 1024 + 1))K
    expect_code 0
    expect_err_has "$none"
    [ "$(find bound -name '*.rows' | wc -l)" -eq 1 ] || fail "the bound does not hold"
done
run ask "$one" "Describe it." -m "$MODEL" -q --timings --cache bound --cache-size 0
expect_code 0
expect_err_has "$none"

# Several at once fill one folder, killed at any moment.
rm -rf kept
for i in 1 2 3 4 5 6; do
    "$OCELLI" caption "$one" "$two" "$PICTURES/picture05.png" -m "$MODEL" -q --cache kept \
        --max-tokens 1 >/dev/null 2>&1 </dev/null &
    pid="$pid $!"
    sleep 0.0$i
done
sleep 0.2
# shellcheck disable=SC2086 # words are meant
kill -9 $pid 2>/dev/null
# shellcheck disable=SC2086
wait $pid 2>/dev/null
pid=''
run ask "$one" "Describe it." -m "$MODEL" -v --cache kept
expect_code 0
cmp -s out plain || fail "the answer is another after kill -9"
expect_err_lacks 'encoded again'

# Folders that will not do; nothing is loaded for them.
mkdir open
chmod 777 open
: >file
run ask "$one" "Describe it." -m "$MODEL" -q --cache open
expect_refusal 'cache folder open: anyone may write to it'
run ask "$one" "Describe it." -m "$MODEL" -q --cache file
expect_refusal 'cache folder file: Not a directory'
run ask "$one" "Describe it." -m "$MODEL" -q --cache no/where
expect_refusal 'cache folder no/where: the folder that it would be in is not there'
run ask "$one" "Describe it." -m "$MODEL" -q --cache ''
expect_misuse "\-\-cache"
run ask "$one" "Describe it." -m "$MODEL" -q --cache kept --cache-size much
expect_misuse "\-\-cache-size needs a size"
run ask "$one" "Describe it." -m "$MODEL" -q --cache file --dry-run # encodes nothing
expect_code 0

# A folder that cannot be written to: told once, and the answers come.
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked
    chmod 500 locked
    run ask "$one" "$two" "Describe the first image." -m "$MODEL" -q --cache locked
    expect_code 0
    [ "$(grep -c 'warning: cache folder locked: .*; what is encoded is not kept there' err)" -eq 1 ] ||
        fail "a folder that cannot be written to is not told once"
fi
