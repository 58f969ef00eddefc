#!/bin/sh
# synth: checkpoints of random weights. Their sizes, their numbers (made again in another language), and
# that they open, pack and answer.
. "${0%/*}/harness.sh"
models=$DATA/golden/qwen3vl/models
config=$models/t1_bf16/config.json

# The published models' numbers of parameters.
shape() { # shape NAME PARAMETERS
    run synth "$1" --dry-run --json
    expect_code 0
    expect_no_err
    expect_out_has "\"parameters\":$2,"
}
shape qwen3-vl-2b 2127532032
shape qwen3-vl-4b 4437815808
shape qwen3-vl-8b 8767123696
shape qwen3-vl-30b-a3b 31070754032
shape qwen3-vl-32b 33357390064
shape qwen3-vl-235b-a22b 235670022896
shape qwen2.5-vl-3b 3754622976
shape qwen2-vl-2b 2208985600
run synth qwen3-vl-2b nowhere --dry-run
expect_code 0
expect_out_has '^parameters +2127532032: decoder 1720574976, vision 406957056$'
expect_out_has '^tensors +625 in 3 files$'
[ ! -e nowhere ] || fail "--dry-run wrote something"

run synth qwen3-vl-3b made
expect_misuse "no shape 'qwen3-vl-3b'; there are qwen3-vl-2b, "
run synth made
expect_misuse 'needs SHAPE OUT'
# Help and completions name every shape, as the refusal does.
run synth qwen3-vl-3b out
shapes=$(sed -n 's/.*; there are \(.*\); try .*/\1/p' err | tr -d ,)
[ "$(echo "$shapes" | wc -w)" -ge 8 ] || fail "fewer than eight shapes: $shapes"
run help synth
tr -s ' \n' '  ' <out >page
"$OCELLI" completions bash >completions || fail "completions"
for name in $shapes; do
    grep -q "[ ]$name[,.]" page || fail "the help lacks $name"
    grep -q "[' ]$name " completions || fail "the completions lack $name"
done
run synth qwen3-vl-2b made --config "$config"
expect_misuse 'give one of them'
run synth --config missing.json made
expect_refusal missing.json
printf '{"text_config": {}}' >broken.json
run synth --config broken.json made
expect_refusal broken.json
sed 's/"num_hidden_layers": 4/"num_hidden_layers": 4.5/' "$config" >broken.json
run synth --config broken.json made
expect_refusal 'num_hidden_layers: expected a whole number'
[ ! -e made ] && [ ! -e made.partial ] || fail "something is left behind"

run synth --config "$config" made --shard-size 300000 --seed 7
expect_code 0
expect_no_out
expect_err_has "into 'made'"
[ ! -e made.partial ] || fail "made.partial is left"
[ -f made/model-00005-of-00005.safetensors ] || fail "there are not five files: $(ls made)"
run info made --json
expect_json 'o[0]["decoder"]["layers"] == 4 and o[0]["tied"] is True and o[0]["checkpoint_dtype"] == "bf16"'
run caption "$PICTURES/picture01.png" -m made -n 12 --json --no-repetition-stop
expect_code 0
expect_json 'o[0]["new_tokens"] > 0 or o[0]["finish_reason"] == "stop"'
for quant in q4 q8; do
    run pack made packed-$quant --quant $quant -q
    expect_code 0
    run verify packed-$quant
    expect_answer good
    run caption "$PICTURES/picture01.png" -m packed-$quant -n 4
    expect_code 0
done

# Hollow files are of full size and take no room; the largest models open and are planned so.
run synth qwen3-vl-235b-a22b huge --hollow
expect_code 0
expect_err_has "of hollow weights"
[ "$(du -sk huge | cut -f1)" -lt 60000 ] || fail "hollow files take room: $(du -sk huge)"
bytes=$(stat -c %s huge/*.safetensors | awk '{sum += $1} END {printf "%.0f", sum}')
[ "$bytes" -gt 471340045792 ] || fail "235670022896 numbers of 2 bytes in $bytes bytes"
run info huge --json
expect_code 0
expect_json 'o[0]["decoder"]["layers"] == 94 and o[0]["decoder"]["experts"] == 128'
run caption "$PICTURES/picture01.png" -m huge --dry-run --json
expect_code 0
# To hold one or to pack it, where memory or disk are too small for it, is refused before any weight is
# read. (timeout: not to take the machine's memory where it is not.)
if [ "$(awk '/^MemTotal/ {print $2}' /proc/meminfo)" -lt 200000000 ]; then
    ran='ocelli caption -m huge'
    timeout 20 "$OCELLI" caption "$PICTURES/picture01.png" -m huge >out 2>err </dev/null
    code=$?
    expect_refusal 'huge: its weights as q8 take 2[0-9]{2}\.[0-9] GiB of memory, and this machine has [0-9.]+ [GM]iB; .*pack it'
    expect_err_lacks 'quantising|packing'
fi
if [ "$(df -Pk . | awk 'NR == 2 {print $4}')" -lt 200000000 ]; then
    ran='ocelli pack huge packed-huge'
    timeout 20 "$OCELLI" pack huge packed-huge >out 2>err </dev/null
    code=$?
    expect_refusal 'packed-huge: the package takes 2[0-9]{2}\.[0-9] GiB, but [0-9.]+ [GM]iB are free there'
    [ ! -e packed-huge ] && [ ! -e packed-huge.partial ] || fail "a refused pack left something"
fi
rm -rf huge

# The numbers, from their definition.
cat >check.py <<'PYTHON'
import json, math, struct, sys

folder, seed, layers, tower = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
mask = (1 << 64) - 1

def mix(z):
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)

def bf16(x):
    bits = struct.unpack("<I", struct.pack("<f", x))[0]
    return (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16

def fnv(name):
    hash = 0xCBF29CE484222325
    for byte in name.encode():
        hash = ((hash ^ byte) * 0x100000001B3) & mask
    return hash

# Published values of both functions.
assert mix((1234567 + 0x9E3779B97F4A7C15) & mask) == 6457827717110365317
assert fnv("a") == 0xAF63DC4C8601EC8C

def value(name, i, mean, deviation):
    word = mix(((fnv(name) ^ seed) + (i // 2 + 1) * 0x9E3779B97F4A7C15) & mask)
    level = sum(word.to_bytes(8, "little")[4 * (i % 2):4 * (i % 2) + 4])
    return bf16(mean + (level - 510) * (deviation / math.sqrt(21845)))

def law(name, shape):
    if name.endswith(("embed_tokens.weight", "lm_head.weight")):
        return 0, 0.01
    if name.endswith("pos_embed.weight"):
        return 0, 0.05
    if name.endswith(".bias"):
        return 0, 0.02
    if "norm" in name.split(".")[-2]:
        return 1, 0.05
    columns = shape[1] if len(shape) == 3 else math.prod(shape[1:])
    gain = 1.0
    if "o_proj" in name or "down_proj" in name:
        gain = 1 / math.sqrt(2 * layers)
    elif ".blocks." in name and ("attn.proj." in name or "linear_fc2" in name):
        gain = 1 / math.sqrt(2 * tower)
    elif "linear_fc2" in name:
        gain = 0.5
    return 0, gain / math.sqrt(columns)

index = json.load(open(folder + "/model.safetensors.index.json"))
seen, checked = set(), 0
for file in sorted(set(index["weight_map"].values())):
    data = open(folder + "/" + file, "rb").read()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + length])
    assert length % 8 == 0 and header.pop("__metadata__") == {"format": "pt"}
    end = 0
    for name, entry in header.items():
        assert index["weight_map"][name] == file and name not in seen, name
        seen.add(name)
        count = math.prod(entry["shape"])
        begin, end_of_it = entry["data_offsets"]
        assert begin == end and end_of_it == begin + 2 * count and entry["dtype"] == "BF16", name
        end = end_of_it
        mean, deviation = law(name, entry["shape"])
        for i in sorted({0, 1, 2, 3, count // 2, count // 3, count - 2, count - 1}):
            at = 8 + length + begin + 2 * i
            stored = struct.unpack("<H", data[at:at + 2])[0]
            assert stored == value(name, i, mean, deviation), (name, i, hex(stored))
            checked += 1
    assert len(data) == 8 + length + end, file
assert seen == set(index["weight_map"])
sizes = index["metadata"]
assert sizes["total_size"] == 2 * sizes["total_parameters"]
print(len(seen), "tensors,", checked, "values")
PYTHON
if has_python; then
    python3 check.py made 7 4 6 >checked 2>&1 || fail "the numbers are others: $(tail -n 1 checked)"
fi

# The same seed gives the same bytes, whatever the threads; another seed others.
run synth --config "$config" again --shard-size 300000 --seed 7 -q --threads 1
expect_code 0
expect_no_err
for file in made/*; do
    cmp -s "$file" "again/${file#made/}" || fail "$file differs with one thread"
done
run synth --config "$config" other --shard-size 300000 -q --threads 3
expect_code 0
cmp -s made/model-00001-of-00005.safetensors other/model-00001-of-00005.safetensors &&
    fail "another seed gives the same weights"

# Experts, an untied head, a tokenizer of its own, fewer layers than deepstack has taps.
run synth --config "$models/t3_bf16/config.json" experts --tokenizer "$models/t3_bf16" -q
expect_code 0
cmp -s experts/tokenizer.json "$models/t3_bf16/tokenizer.json" || fail "the tokenizer is not copied"
if has_python; then
    python3 check.py experts 0 4 5 >checked 2>&1 || fail "experts: $(tail -n 1 checked)"
fi
run ask "Hello" -m experts -n 3
expect_code 0
run synth --config "$config" cut --layers 1 -q
expect_code 0
run info cut --json
expect_json 'o[0]["decoder"]["layers"] == 1 and o[0]["vision"]["layers"] == 3'
run caption "$PICTURES/picture01.png" -m cut -n 3
expect_code 0
run synth --config "$config" out2 --layers 5
expect_refusal 'no 5 layers'
run synth --config "$config" out2 --tokenizer "$MODEL"
expect_refusal 'vocab_size 512'
sed 's/"image_token_id": 468/"image_token_id": 470/' "$config" >odd.json
run synth --config odd.json out2
expect_refusal 'give its own with --tokenizer'
mkdir empty
run synth --config "$config" out2 --tokenizer empty
expect_refusal 'empty'
[ ! -e out2 ] && [ ! -e out2.partial ] || fail "a refused run left something"

# What is there is kept, unless --force, and then only if it is a checkpoint.
run synth --config "$config" made --seed 8
expect_refusal "'made' exists"
cmp -s made/model-00001-of-00005.safetensors again/model-00001-of-00005.safetensors ||
    fail "a refused run wrote"
run synth --config "$config" made --seed 8 --force -q
expect_code 0
[ -f made/model-00001-of-00001.safetensors ] && [ ! -e made/model-00001-of-00005.safetensors ] ||
    fail "--force left old files: $(ls made)"
[ ! -e made.replaced ] && [ ! -e made.partial ] || fail "--force left a folder"
mkdir mine
echo precious >mine/diary
run synth --config "$config" mine --force
expect_refusal 'not a checkpoint'
[ "$(cat mine/diary)" = precious ] || fail "--force removed what is no checkpoint"
run synth --config "$config" empty -q
expect_code 0
run info empty -q
expect_code 0

# A disk that takes no more: a message, and nothing left.
(
    ulimit -f 200
    run synth --config "$config" full
    expect_refusal 'cannot write'
    [ ! -e full ] && [ ! -e full.partial ] || fail "a full disk left something"
) || exit 1

# A signal: nothing left. A disk with no room for the model refuses before it writes.
"$OCELLI" synth qwen3-vl-2b large -q 2>err &
pid=$!
while [ ! -e large.partial/model-00001-of-00003.safetensors ] && kill -0 $pid 2>/dev/null; do
    sleep 0.05
done
kill -TERM $pid 2>/dev/null
wait $pid
code=$?
if grep -q 'are free there' err; then
    expect_code 1
else
    expect_code 130
fi
[ ! -e large ] && [ ! -e large.partial ] || fail "a signal left something"
exit 0
