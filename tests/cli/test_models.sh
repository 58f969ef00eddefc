#!/bin/sh
# models: what the model folder holds, and -m NAME, which finds it there.
. "${0%/*}/harness.sh"
picture=$PICTURES/picture01.png
answer="A pineapple on a red background."

# No folder, an empty one, and one that cannot be read as a folder.
run models
expect_code 0
expect_no_out
expect_err_has "no models in '$XDG_DATA_HOME/ocelli/models'; 'ocelli pull REPO' gets one"
run models --json -q
expect_code 0
expect_no_out
expect_no_err
echo "a file" >file
OCELLI_HOME=$scratch/file "$OCELLI" models >out 2>err
code=$?
expect_refusal "cannot read the model folder '.*/file'"
# Where it is: OCELLI_HOME, XDG_DATA_HOME unless it is relative, HOME.
OCELLI_HOME=there "$OCELLI" models >out 2>err
expect_err_has "no models in 'there'"
XDG_DATA_HOME=relative HOME=/home/x "$OCELLI" models >out 2>err
expect_err_has "no models in '/home/x/.local/share/ocelli/models'"
(unset XDG_DATA_HOME HOME && "$OCELLI" models) >out 2>err
code=$?
expect_refusal 'neither OCELLI_HOME nor HOME is set'

# A checkpoint, its package, one without an owner, a damaged one, one that is half there, and no models.
home=$XDG_DATA_HOME/ocelli/models
mkdir -p "$home/ann/notes" "$home/bob" "$home/.hidden" "$home/ann/deep/er"
cp -r "$MODEL" "$home/ann/tiny"
cp -r "$MODEL" "$home/.hidden/tiny"
cp "$MODEL/config.json" "$home/ann/deep/er/"
echo "no model" >"$home/ann/notes/text.txt"
run pack ann/tiny "$home/ann/tiny-q4" --quant q4 -q
expect_code 0
run verify tiny-q4 -q
expect_answer good
ln -s ann/tiny "$home/linked"
mkdir "$home/bob/broken" "$home/bob/half"
echo '{"model_type": ' >"$home/bob/broken/config.json"
cp "$MODEL/config.json" "$home/bob/half/"
head -c 1000 "$MODEL/model.safetensors" >"$home/bob/half/model.safetensors.partial"
cat >"$home/bob/half/.ocelli-pull.json" <<'JSON'
{"repository": "bob/half", "revision": "main", "files": [
  {"path": "config.json", "bytes": 1494, "hash": "972a6149941870a5123f58a8b55d386ab005d6b7", "time": "1.000000000"},
  {"path": "model.safetensors", "bytes": 21625432, "hash": "0", "time": ""}]}
JSON
run models
expect_code 0
expect_no_err
cut -d ' ' -f 1 out >names
printf '%s\n' ann/tiny ann/tiny-q4 bob/broken bob/half linked | cmp -s - names || fail "listed: $(cat names)"
expect_out_has '^ann/tiny +20\.7 MiB  qwen3_vl, 10\.8 M weights, checkpoint, bf16$'
expect_out_has '^ann/tiny-q4 +[0-9.]+ MiB  qwen3_vl, 10\.8 M weights, package, q4, vision bf16$'
expect_out_has '^bob/broken +0\.0 KiB  cannot be opened: .*config\.json'
expect_out_has "^bob/half +2\.7 KiB  incomplete: 2\.4 KiB of 20\.6 MiB; 'ocelli pull bob/half' goes on\$"
run models --json
expect_code 0
expect_json '[m["name"] for m in o] == ["ann/tiny", "ann/tiny-q4", "bob/broken", "bob/half", "linked"]'
expect_json 'o[0]["bytes"] == sum(__import__("os").path.getsize(o[0]["path"] + "/" + f) for f in __import__("os").listdir(o[0]["path"]))'
expect_json 'o[1]["types"] == "q4, vision bf16" and o[1]["form"] == "package" and "config.json" in o[2]["error"]'
expect_json 'o[3] == {"name": "bob/half", "path": o[3]["path"], "bytes": o[3]["bytes"], "complete": False, "repository": "bob/half", "bytes_there": 2494, "bytes_needed": 21626926}'

# By its whole name, its own, the environment, and for each command.
run caption "$picture" -m ann/tiny -p "Describe it."
expect_answer "$answer"
run caption "$picture" -m tiny-q4 -p "Describe it."
expect_code 0
run caption "$picture" -m linked -p "Describe it."
expect_answer "$answer"
OCELLI_MODEL=ann/tiny "$OCELLI" caption "$picture" -p "Describe it." >out 2>err
code=$?
expect_answer "$answer"
run info tiny --json
expect_code 0
expect_json 'o[0]["model"].endswith("/ocelli/models/ann/tiny")'
run info -m tiny-q4
expect_code 0
OCELLI_HOME=$home/ann "$OCELLI" info -m tiny >out 2>err
code=$?
expect_code 0

# A path that exists goes before a name.
mkdir tiny
run info -m tiny
expect_refusal '^ocelli: .*tiny'
expect_err_lacks 'several'
rmdir tiny

# Several of one name, none of it, names that are no names, and one that is half there.
cp -r "$home/ann/tiny-q4" "$home/bob/tiny"
run info -m tiny
expect_refusal "several models are called 'tiny': ann/tiny, bob/tiny; give one of these"
run info -m bob/tiny
expect_code 0
# A folder of several GGUF files, by its name, its own and its files'.
mkdir "$home/ann/t-GGUF"
ln -s "$DATA/golden/gguf/models/t5-q6_K.gguf" "$DATA/golden/gguf/models/t5-q4_K_M.gguf" \
    "$DATA/golden/gguf/models/mmproj-t5-f16.gguf" "$home/ann/t-GGUF/"
run info -m t-GGUF
expect_refusal "called 't-GGUF': ann/t-GGUF/t5-q4_K_M.gguf, ann/t-GGUF/t5-q6_K.gguf; give one of these"
run info -m ann/t-GGUF
expect_refusal 'give one of them by itself: t5-q4_K_M.gguf, t5-q6_K.gguf'
for name in ann/t-GGUF/t5-q6_K.gguf t5-q6_K.gguf; do
    run caption "$picture" -m $name --dry-run
    expect_code 0
done
run models
expect_out_has '^ann/t-GGUF/t5-q4_K_M.gguf .* q4_K$'
run info -m nowhere
expect_refusal nowhere
run info -m ann/nowhere
expect_refusal ann/nowhere
for name in ../ann/tiny ./ann/tiny ann/../ann/tiny /ann/tiny; do
    run info -m "$name"
    expect_refusal tiny
done
run info -m half
expect_refusal "bob/half': its download is not finished; 'ocelli pull bob/half' goes on with it"
run pack bob/half out
expect_refusal 'its download is not finished'
[ ! -e out.partial ] || fail "something was written"
# Damaged records do no harm: the model opens as it would without them.
for record in '' '[]' '{"repository": 5}' '{"repository": "a/b", "files": [{"path": "x", "bytes": -1}]}' '{"files": {}}'; do
    printf '%s' "$record" >"$home/linked/.ocelli-pull.json"
    run info -m linked -q
    expect_code 0
done
exit 0
