#!/bin/sh
# ocelli merge: order, doubles, errors that were mended, torn and hostile lines, what is missing.
. "${0%/*}/harness.sh"

# line PATH CAPTION [SECONDS [MODEL [PROMPT [INDEX]]]], failed PATH [SECONDS]: as a worker writes them
line() {
    printf '{"path":"%s","caption":"%s","finish_reason":"stop","seconds":{"file":%s},"model":{"name":"here","fingerprint":"%s"},"prompt":{"index":%s,"text":"%s"},"error":null}\n' \
        "$1" "$2" "${3-1.5}" "${4-m1}" "${6-0}" "${5-Describe.}"
}
failed() {
    printf '{"path":"%s","caption":null,"seconds":%s,"model":{"name":"there","fingerprint":"m1"},"prompt":{"index":0,"text":"Describe."},"error":"damaged"}\n' "$1" "${2-0}"
}

expect_lines() { # FILE: its lines are those on stdin
    cat >wanted
    cmp -s wanted "$1" || {
        diff wanted "$1"
        fail "$1 has other lines"
    }
}
expect_kept() { # refused, and nothing written
    expect_refusal "$1"
    [ ! -e all ] && [ ! -e all.partial ] || fail "a refused merge left a file"
}

# ---- natural order of paths, files before sub folders as a walk has them; nothing on stdout
{
    line d/p10.png ten
    line d/p2.png two
    line d/s/p1.png deep
} >1-of-2.jsonl
{
    line d/P1.png one
    line d/s10/a.png last
    line d/s2/a.png middle
    line d/z.png z
} >2-of-2.jsonl
run merge all 1-of-2.jsonl 2-of-2.jsonl
expect_code 0
expect_no_out
expect_err_has '7 captions'
{
    line d/P1.png one
    line d/p2.png two
    line d/p10.png ten
    line d/z.png z
    line d/s/p1.png deep
    line d/s2/a.png middle
    line d/s10/a.png last
} >whole
expect_lines all <whole
# The order of the files does not matter; merging what is merged changes nothing.
run merge again 2-of-2.jsonl 1-of-2.jsonl -q
expect_code 0
expect_no_err
expect_lines again <whole
run merge third all -q
expect_code 0
expect_lines third <whole

# ---- OUT is no shard by mistake, and not replaced unasked
cp 1-of-2.jsonl before
run merge 1-of-2.jsonl 2-of-2.jsonl
expect_refusal 'the first name is the file to write'
run merge all 1-of-2.jsonl
expect_refusal "'all' is there already"
ln -s 1-of-2.jsonl link
for name in 1-of-2.jsonl ./1-of-2.jsonl link; do
    run merge 1-of-2.jsonl "$name" 2-of-2.jsonl --force
    expect_misuse 'written and read'
done
cmp -s before 1-of-2.jsonl || fail "a shard was changed"
run merge all 1-of-2.jsonl --force -q
expect_code 3 # the second of two is missing
expect_err_has 'no file of shard 2/2'
run merge all 1-of-2.jsonl 2-of-2.jsonl --force -q
expect_code 0
expect_lines all <whole
run merge all
expect_misuse 'merge needs OUT SHARD'
run merge - 1-of-2.jsonl
expect_misuse 'a file'
mkdir folder
run merge folder 1-of-2.jsonl --force
expect_refusal 'no regular file'
rm all

# ---- doubles: equal but for the seconds, an error before or after, the last of one file
{
    line a.png same 1
    failed b.png
    line c.png old
    failed e.png 1
} >one
{
    line a.png same 2
    line b.png mended
    failed c.png
    failed e.png 2
} >two
line c.png new >>one
run merge all one two
expect_code 3
expect_out e.png
expect_err_has "failed: 'e.png'"
expect_err_has '5 lines were there more than once'
expect_err_has '3 captions in .all.; 1 pictures failed, 0 are missing'
{
    line a.png same 1
    line b.png mended
    line c.png new
    failed e.png 2
} | expect_lines all
rm all
line a.png other >three
run merge all one two three
expect_kept "one:1 and three:1 differ about 'a.png'"

# ---- other models are refused, errors without one are not; --mixed takes them
line f.png f 1 m2 >other
run merge all one other
expect_kept 'other:1 is of model m2, but one:1 of m1; --mixed'
run merge all one other --mixed -q
expect_code 3
[ "$(wc -l <all)" -eq 5 ] || fail "not five lines"
rm all

# ---- several prompts: in the order in which they were asked, and one that is missing
{
    line a.png first 1 m1 'What?'
    line a.png second 1 m1 'How?' 1
    line b.png first 1 m1 'What?'
} >prompts
run merge all prompts -q
expect_code 3
expect_out b.png
expect_err_has "a prompt is missing: 'b.png'"
expect_lines all <prompts
rm all
# ... and workers that asked different things; prompts that vary from picture to picture do not count.
for i in 1 2 3; do line a$i.png a 1 m1 'What?'; done >asks
for i in 1 2 3; do line b$i.png b 1 m1 'How?'; done >asks_else
for i in 1 2 3; do line c$i.png c 1 m1 "What is $i?"; done >asks_each
run merge all asks asks_each asks_else
expect_kept "'asks_else' asks 'How\?', but 'asks' asks 'What\?'; --mixed"
run merge all asks asks_each asks_else --mixed -q
expect_code 0
rm all
run merge all asks asks_each -q
expect_code 0
rm all
# The model may lie elsewhere on another machine.
line a.png a | sed 's/here/there/' >elsewhere
line a.png a >hereabouts
run merge all hereabouts elsewhere -q
expect_code 0
line a.png a | expect_lines all
rm all
# A name that is no UTF-8 is compared by its bytes.
line 'x?.png' x | sed 's/,/,"path_hex":"78ff2e706e67",/' >bytes
printf 'x\377.png\n' >list
run merge all bytes --expect list -q
expect_code 0
expect_no_err
rm all list

# ---- a torn last line is left out, and an empty file or line is nothing
line a.png a >torn
line b.png b | head -c 40 >>torn
: >empty
run merge all torn empty
expect_code 0
expect_err_has 'torn:2: the last line is torn'
line a.png a | expect_lines all
rm all
{
    line a.png a
    printf '\n\n'
    line b.png b | tr -d '\n'
} >spaced
run merge all spaced -q
expect_code 0
expect_no_err
{
    line a.png a
    line b.png b
} | expect_lines all
rm all
{
    line a.png a
    head -c 5000 /dev/zero
} >zeros
run merge all zeros
expect_code 0
expect_err_has 'zeros:2: the last line is torn'
rm all

# ---- hostile lines are named by file and line
hostile() { # PATTERN: of the line in the file hostile, between two good ones
    {
        line a.png a
        cat hostile
        echo
        line b.png b
    } >bad
    run merge all bad
    expect_kept "bad:2: $1"
}
printf 'nonsense' >hostile
hostile 'not JSON$'
printf '{"path":"x","caption":"y"} {}' >hostile
hostile 'not JSON$'
printf '{"path":"x","capt{"path":"b.png"}' >hostile
hostile 'not JSON$'
printf '[1]' >hostile
hostile 'not a JSON object'
printf '7' >hostile
hostile 'not a JSON object'
printf '{}' >hostile
hostile 'no line of .*"path", a "prompt" and a "model"'
printf '{"path":""}' >hostile
hostile 'no line of .*"path", a "prompt" and a "model"'
printf '{"path":7,"caption":"c"}' >hostile
hostile 'no line of .*"path", a "prompt" and a "model"'
printf '{"path":"x","caption":"c","model":{},"prompt":{"index":0,"text":"d"}}' >hostile
hostile 'no line of .*"path", a "prompt" and a "model"'
rest='"model":{"fingerprint":"m1"},"prompt":{"index":0,"text":"d"}'
printf '{"path":"x","caption":7,%s}' "$rest" >hostile
hostile 'a line has either a "caption" or an "error"'
printf '{"path":"x",%s}' "$rest" >hostile
hostile 'a line has either a "caption" or an "error"'
printf '{"path":"x","caption":"c","error":"e",%s}' "$rest" >hostile
hostile 'a line has either'
for index in -1 64 1e300 '"0"' null; do
    line x c 1 m1 d "$index" | tr -d '\n' >hostile
    hostile 'no line of'
done
for hex in 7 7g 00 7800 '' FF; do
    line x c | sed "s/,/,\"path_hex\":\"$hex\",/" | tr -d '\n' >hostile
    hostile 'no line of'
done
printf '{"path":"x","caption":"\377"}' >hostile
hostile 'not JSON: bytes that are no UTF-8'
printf '{"path":"x\000y","caption":"c"}' >hostile
hostile 'not JSON: bytes'
{
    printf '{"path":"x","caption":'
    head -c 100000 /dev/zero | tr '\0' '['
} >hostile
hostile 'values nested deeper'
{
    printf '{"path":"x","caption":"'
    head -c 5000000 /dev/zero | tr '\0' 'x'
    printf '"}'
} >hostile
hostile 'the line is too long'
# A line without an end is not read into memory.
{
    line a.png a
    head -c 60000000 /dev/zero | tr '\0' 'x'
} >endless
run merge all endless
expect_kept 'endless:2: the line is longer than'
# One of the length of a novel is a caption.
{
    printf '{"path":"x","caption":"'
    head -c 3000000 /dev/zero | tr '\0' 'x'
    printf '",%s}\n' "$rest"
} >novel
run merge all novel -q
expect_code 0
cmp -s all novel || fail "a long line was changed"
rm all

run merge all one nowhere
expect_kept "cannot open 'nowhere'"
mkfifo pipe
run merge all one pipe
expect_kept "'pipe' is no regular file"
run merge all one folder
expect_kept "'folder' is no regular file"
run merge nowhere/all one
expect_code 1
expect_err_has "cannot write 'nowhere/all.partial'"
if [ -e /dev/full ]; then # OUT.partial is not written through a link
    ln -s /dev/full all.partial
    run merge all one -q
    expect_code 3
    [ -f all ] && [ ! -h all ] || fail "written through a link"
    rm all
fi

# ---- what is missing, by folder and by list
mkdir -p d/s
for name in P1 p2 p3 p10 s/p1; do cp "$PICTURES/picture01.png" d/$name.png; done
echo text >d/notes.txt
run merge all 1-of-2.jsonl 2-of-2.jsonl --expect d
expect_code 3
expect_out d/p3.png
expect_err_has "missing: 'd/p3.png'"
expect_err_has "3 pictures are not in 'd'"
{
    line d/P1.png one
    line d/p2.png two
    line d/p10.png ten
    line d/s/p1.png deep
    line d/z.png z
    line d/s2/a.png middle
    line d/s10/a.png last
} | expect_lines all
printf 'd/s/p1.png\nd/p10.png\nd/p2.png\nd/p10.png\n' >list
run merge all 1-of-2.jsonl --expect list --force
expect_code 0
expect_no_out
{
    line d/s/p1.png deep
    line d/p10.png ten
    line d/p2.png two
} | expect_lines all
printf 'd/p2.png\nx/9.png\nx/3.png\nx/10.png\n' >list
run merge all 1-of-2.jsonl --expect list --force -q
expect_code 3
expect_out x/9.png x/3.png x/10.png
run merge all 1-of-2.jsonl --expect nowhere --force
expect_refusal "cannot read 'nowhere'"
seq -f 'x/%g.png' 1 30 >list
run merge all 1-of-2.jsonl --expect list --force -q
expect_code 3
[ "$(wc -l <out)" -eq 30 ] || fail "not all are on stdout"
[ "$(grep -c "missing: 'x" err)" -eq 10 ] || fail "more than ten on stderr"
expect_err_has 'and more, listed on stdout'
rm all

# ---- a hundred files, more than are held open; random lines of a known order
mkdir many
awk 'BEGIN { seed = 7; for (i = 0; i < 20000; i++) { seed = (seed * 16807) % 2147483647
    file = sprintf("many/%d.jsonl", seed % 100)
    printf "{\"path\":\"p/%d.png\",\"caption\":\"c %d\",\"seconds\":%d,\"model\":{\"fingerprint\":\"m\"},\"prompt\":{\"index\":0,\"text\":\"d\"}}\n", i, i, seed >file } }'
run merge all many/*.jsonl -q
expect_code 0
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "{\"path\":\"p/%d.png\",\"caption\":\"c %d\"\n", i, i }' >wanted
sed 's/,"seconds.*//' all | cmp -s - wanted || fail "20000 lines of 100 files are not in order"
exit 0
