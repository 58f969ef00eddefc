#!/bin/sh
# Where pack writes: other people's files and links stay, and a manifest that lies is refused.
. "${0%/*}/harness.sh"

# The temporary folder holds somebody's file: refused, and the file stays.
mkdir a.partial && echo mine >a.partial/notes
run pack "$MODEL" a
expect_code 1
expect_err_has 'a\.partial: holds files that are not of a package'
[ "$(cat a.partial/notes)" = mine ] || fail "somebody's file was removed"
[ ! -e a ] || fail "something was written"
rm -r a.partial
# What a killed run left is no reason to refuse.
mkdir a.partial && echo half >a.partial/decoder.safetensors
run pack "$MODEL" a -q
expect_code 0
[ ! -e a.partial ] || fail "the temporary folder is left"

# Replacing keeps a folder named .old.
mkdir a.old && echo mine >a.old/config.json
run pack "$MODEL" a --force -q
expect_code 0
[ "$(cat a.old/config.json)" = mine ] || fail "a folder beside the package was emptied"
[ ! -e a.old1 ] || fail "the replaced package is left"

# A link stays a link; one that leads nowhere is refused before anything is written.
ln -s a link
run pack "$MODEL" link --force -q
expect_code 0
[ -L link ] || fail "the link was replaced"
run verify link
expect_answer good
ln -s nowhere dangling
run pack "$MODEL" dangling
expect_code 1
expect_err_has 'dangling: a symbolic link that leads nowhere'
ln -s a b.partial
run pack "$MODEL" b
expect_code 1
expect_err_has 'b\.partial: cannot be used as the temporary folder'
run verify a
expect_answer good

# A manifest that says the head is not tied, so that nothing would be proved.
cp a/manifest.json kept
sed '/"tied"/s/true/false/' kept >a/manifest.json
run verify a
expect_code 1
expect_err_has 'manifest.json says the head is not tied, config.json says tied'
cp kept a/manifest.json

# A file listed twice.
python3 -c "
import json
m = json.load(open('a/manifest.json'))
m['files'].append(m['files'][0])
json.dump(m, open('a/manifest.json', 'w'))" 2>/dev/null || skip "no python3"
run verify a
expect_code 1
expect_err_has 'embed_tokens.bin is listed twice'

# A manifest that names another quantisation than the file holds: neither opened nor proved.
sed '/"quant"/s/q[48]/f16/' kept >a/manifest.json
for command in verify info; do
    run $command a
    expect_code 1
    expect_err_has 'manifest.json says f16, but decoder.safetensors holds "q[48] '
done
cp kept a/manifest.json
