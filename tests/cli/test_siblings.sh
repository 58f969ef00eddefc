#!/bin/sh
# The other families, Qwen2.5-VL and Qwen2-VL, through the program: what is said of them, checkpoints made
# in their shape, packages, pictures and clips.
. "${0%/*}/harness.sh"
models=$DATA/golden/siblings/models
media=$DATA/golden/siblings/media

run info "$models/q25a_bf16"
expect_code 0
expect_no_err
expect_out_has '^family +qwen2_5_vl, a checkpoint$'
expect_out_has '^windows +of 4 patches, in 3 of 5 layers$'
expect_out_has '^pictures .*, each frame$'
run info "$models/q25a_bf16" --json
expect_json 'o[0]["family"] == "qwen2_5_vl" and o[0]["vision"]["window"] == 4 and o[0]["vision"]["window_layers"] == 3'
run info "$models/q2a_bf16"
expect_out_has '^family +qwen2_vl, a checkpoint$'
grep -q '^windows' out && fail "Qwen2-VL has no windows"

# Clips: which times the family is told; 5 frames at 2 a second make pairs a second apart.
run video "$PICTURES/video1" --dry-run --fps 2 -m "$models/q25a_bf16"
expect_code 0
expect_out_has '^  times +1 s from one pair to the next$'
run video "$PICTURES/video1" --dry-run --fps 8 --frames 4 -m "$models/q25a_bf16"
expect_out_has "^  times +$(awk -v found="$(ls "$PICTURES/video1" | wc -l)" 'BEGIN { printf "%g", 2 * found / (8 * 4) }') s from one pair"
run video "$PICTURES/video1" --dry-run --fps 2 -m "$models/q2a_bf16"
expect_code 0
expect_out_has '^  times +none: '

# A family that is not known is refused, and those that are known are named.
run info "$models/q35a_bf16"
expect_refusal 'qwen3_5.*qwen3_vl, qwen3_vl_moe, qwen2_5_vl, qwen2_vl'

# Checkpoints in their shape: the same tensors as theirs, by name and size.
cat >same.py <<'PYTHON'
import glob, json, struct, sys

def tensors(folder):
    found = {}
    for file in glob.glob(folder + "/*.safetensors"):
        data = open(file, "rb").read()
        length = struct.unpack("<Q", data[:8])[0]
        header = json.loads(data[8:8 + length])
        header.pop("__metadata__", None)
        found.update({name: entry["shape"] for name, entry in header.items()})
    return found

ours, theirs = tensors(sys.argv[1]), tensors(sys.argv[2])
assert ours == theirs, set(ours) ^ set(theirs)
PYTHON
for name in q25a_bf16 q25b_sharded_bf16 q2a_bf16; do
    model=$models/$name
    run synth --config "$model/config.json" made-$name --tokenizer "$model" -q
    expect_code 0
    if has_python; then
        python3 same.py made-$name "$model" >said 2>&1 || fail "$name: $(tail -n 1 said)"
    fi
    for made in "$model" made-$name; do
        run caption "$PICTURES/picture01.png" -m "$made" -n 6 --no-repetition-stop
        expect_code 0
        cp out answer
        for vision in bf16 q8; do
            run pack "$made" packed --quant q8 --vision $vision --force -q
            expect_code 0
            run verify packed
            expect_answer good
        done
        run pack "$made" packed --force -q
        expect_code 0
        run caption "$PICTURES/picture01.png" -m packed -n 6 --no-repetition-stop
        expect_code 0
        cmp -s out answer || fail "$made: the package says something else"
    done
done
run synth --config "$models/q25a_bf16/config.json" cut --tokenizer "$models/q25a_bf16" --layers 2 -q
expect_code 0
run info cut
expect_out_has '^windows +of 4 patches, in 1 of 2 layers$'

# A clip is one run of pads. Five frames are three pairs of 2 x 6 patches, three tokens each.
for name in q25a_bf16 q2a_bf16; do
    run video "$media/clip5" "What happens?" --fps 4 -m "$models/$name" -n 5 --json --no-repetition-stop
    expect_code 0
    expect_json 'o[0]["image_tokens"] == 9 and o[0]["prompt_tokens"] == 39'
    # The model's own sampling takes an even number.
    run video "$media/clip13_5fps" --fps 5 --sample-fps 2 --dry-run -m "$models/$name" --json
    expect_json '[f["name"][-6:-4] for f in o[0]["media"][0]["frames"]] == ["00", "03", "06", "09"]'
done

# Bench counts windows and the gate.
if has_python; then
    cp -r "$models/q25a_bf16" own
    run bench -m "$PWD/own" --runs 1 --json -q
    expect_code 0
    python3 - <<'PYTHON' || fail "the work is not what it should be"
import json
o, c = json.load(open("out")), json.load(open("own/config.json"))
v = c["vision_config"]
H, I, D = v["hidden_size"], v["intermediate_size"], v["depth"]
rows = {f["name"]: f["work"] for f in o["figures"] if f["group"] == "encode"}
squares = lambda extent: extent // 4 * 16 + (extent % 4) ** 2
for name, h, w in (("448x448", 32, 32), ("640x480", 34, 46), ("1024x1024", 72, 72)):
    n = h * w
    linear = 2 * n * (1176 * H + D * (4 * H * H + 3 * H * I))
    linear += 2 * n // 4 * (16 * H * H + 4 * H * c["hidden_size"])
    pairs = 2 * n * n + 3 * squares(h) * squares(w)
    assert rows[name]["linear_operations"] == linear, (name, rows[name], linear)
    assert rows[name]["attention_operations"] == 4 * pairs * H, (name, rows[name], pairs)
PYTHON
fi
