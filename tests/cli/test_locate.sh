#!/bin/sh
# locate, look and embed: places in source pixels or a refusal with the answer's text, maps that add up,
# arrays that are the recorded rows.
. "${0%/*}/harness.sh"
P=$PICTURES/picture01.png

# The sample model was never taught the form: its answer is shown, and no box.
run locate -m "$MODEL" "$P" "the pineapple"
expect_refusal 'the answer says no place: it is not JSON'
expect_err_has '^ocelli: the answer was: .'
run locate -m "$MODEL" "$P" "x" --draw out.gif
expect_misuse "must end with .png, .jpg or .jpeg|built without"
run locate -m "$MODEL" "$P" ""
expect_misuse 'is empty'
run embed -m "$MODEL" "$P"
expect_misuse 'one of them is needed'
run embed -m "$MODEL" "$P" "$PICTURES/picture02.png" -o a.npy
expect_misuse 'there are 2 pictures'
run look -m "$MODEL" "$P" "What is it?" --per-token
expect_misuse 'is for --json'
[ ! -e a.npy ] || fail "a file was written"

has_python || skip "the rest needs python3"
python3 "$DATA/cli/say_instead.py" "$MODEL" boxes pineapple '
```json
[{"bbox_2d": [500, 625, 1000, 1000], "label": "fruit <b>"}, {"point_2d": [750, 800]}]
```' || fail "no model"
run locate -q -m boxes "$P" "the fruit"
expect_answer 'fruit <b> 144,240,288,384' 'the fruit 216,307.2'
run locate -m boxes "$P" "the fruit" --json
expect_code 0
expect_json '(o[0]["width"] == 288 and o[0]["height"] == 384 and o[0]["query"] == "the fruit"
    and o[0]["boxes"] == [{"label": "fruit <b>", "box": [144, 240, 288, 384]}]
    and o[0]["points"] == [{"label": "the fruit", "point": [216, 307.2]}])'
run locate -m boxes "$P" "the fruit" --max-tokens 2
expect_refusal 'cut short'
run locate -q -m boxes "$P" "$PICTURES/picture02.png" "the fruit"
expect_code 3
expect_out_has 'picture01.png: fruit <b> 144,240,288,384$'
expect_err_has 'picture02.png: the answer says no place'
if ! "$OCELLI" locate -m boxes "$P" x --draw probe.png 2>&1 | grep -q 'built without'; then
    run locate -q -m boxes "$P" "the fruit" --draw drawn.png
    expect_code 0
    python3 -c '
import struct
head = open("drawn.png", "rb").read(24)
assert head[:8] == b"\x89PNG\r\n\x1a\n" and struct.unpack(">II", head[16:]) == (288, 384)' ||
        fail "the drawing is no PNG of the picture's size"
    run locate -q -m boxes "$P" "the fruit" --draw drawn.jpg
    expect_code 0
    [ "$(od -An -tx1 -N3 drawn.jpg | tr -d ' ')" = ffd8ff ] || fail "the drawing is no JPEG"
    run look -q -m "$MODEL" "$P" "What is it?" --draw heat.png
    expect_answer 'It is a pineapple.'
    [ -s heat.png ] || fail "no map was drawn"
fi
python3 "$DATA/cli/say_instead.py" "$MODEL" none pineapple '
```json
[]
```' || fail "no model"
run locate -m none "$P" "the fruit"
expect_code 0
expect_no_out
expect_err_has 'nothing found'

# The map's centre of mass is on the object's side.
for case in samples/pictures/picture01.png:1:1 tests/eval/media/image046.png:-1:1 \
    tests/eval/media/image165.png:-1:1; do
    picture=$DATA/../${case%%:*}
    run look -m "$MODEL" "$picture" "What is it?" --json --per-token
    expect_code 0
    sides=${case#*:}
    WANT_X=${sides%:*} WANT_Y=${sides#*:} python3 - <<'PYTHON' || fail "the map of $case"
import json, os
o = json.load(open("out"))
def check(m):
    assert abs(sum(map(sum, m)) - 1) < 1e-3
m = o["map"]
check(m)
for token in o["tokens"]:
    check(token["map"])
    assert 0 < token["share"] < 1
assert "".join(token["text"] for token in o["tokens"]) == o["answer"]
h, w = len(m), len(m[0])
x = sum(m[i][j] * (j + 0.5) for i in range(h) for j in range(w)) / w - 0.5
y = sum(m[i][j] * (i + 0.5) for i in range(h) for j in range(w)) / h - 0.5
assert x * int(os.environ["WANT_X"]) > 0 and y * int(os.environ["WANT_Y"]) > 0, (x, y)
PYTHON
done

# Arrays against the recordings of the reference.
GOLDEN=$DATA/golden/qwen3vl
for what in rows:image_embeds deepstack:image_deepstack pooled:image_embeds; do
    run embed -q -m "$GOLDEN/models/t1_f32" --quant f32 "$GOLDEN/media/square96.png" \
        --what "${what%:*}" -o "${what%:*}.npy"
    expect_code 0
    python3 - "${what%:*}" "$GOLDEN/cases/c02_t1_image_identity/${what#*:}.npy" <<'PYTHON' ||
import ast, struct, sys
def load(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00"
    size = struct.unpack("<H", data[8:10])[0]
    head = ast.literal_eval(data[10:10 + size].decode())
    assert head["descr"] == "<f4" and not head["fortran_order"] and (10 + size) % 64 == 0
    body = data[10 + size:]
    return head["shape"], struct.unpack("<%df" % (len(body) // 4), body)
what = sys.argv[1]
shape, got = load(what + ".npy")
old_shape, old = load(sys.argv[2])
if what == "pooled":
    tokens, width = old_shape
    mean = [sum(old[t * width + i] for t in range(tokens)) / tokens for i in range(width)]
    length = sum(v * v for v in mean) ** 0.5
    old_shape, old = (width,), [v / length for v in mean]
assert shape == old_shape and len(got) == len(old), (shape, old_shape)
assert max(abs(a - b) for a, b in zip(got, old)) < 1e-4
PYTHON
        fail "$what is not as recorded"
done
run embed -q -m "$MODEL" "$P" "$PICTURES/picture02.png" --what pooled -o both.npy
expect_code 0
printf '%s\n' "$P" "$PICTURES/picture02.png" | cmp -s - both.npy.names || fail "the names"
grep -aq "'shape': (2, 256)" both.npy || fail "the matrix's shape"
run embed -q -m "$MODEL" "$P" "$PICTURES/picture02.png" --out-dir arrays
expect_code 0
[ -s arrays/picture01.png.npy ] && [ -s arrays/picture02.png.npy ] || fail "a file each"
exit 0
