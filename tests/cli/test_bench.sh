#!/bin/sh
# bench: every figure is there, and the limits follow from the config and the machine. Nothing is said
# about how fast anything is.
. "${0%/*}/harness.sh"

# A copy: a model that another process has open cannot be dropped from the page cache, which is said.
cp -r "$MODEL" model
MODEL=$PWD/model
run bench -m "$MODEL" --runs 1 --json -q --plot all.svg
expect_code 0
expect_no_err
if has_python; then
    cp "$MODEL/config.json" config.json
    python3 - <<'PYTHON' || fail "the figures are not consistent"
import json
o = json.load(open("out"))
c = json.load(open("config.json"))
t, v = c["text_config"], c["vision_config"]
rows = {(f["group"], f["name"]): f for f in o["figures"]}
prompts = {int(n.split()[0]): f for (g, n), f in rows.items() if g == "prefill"}
assert len(rows) == len(o["figures"]), "two figures of one name"
assert {g for g, n in rows} == {"load", "encode", "prefill", "decode", "together", "caption", "memory"}
assert [n for g, n in rows if g == "encode"] == ["448x448", "640x480", "1024x1024"]
assert [n for g, n in rows if g == "together"] == ["1 session", "2 sessions", "4 sessions", "8 sessions"]
assert sorted(prompts) == [128, 512, 2048], sorted(prompts)
assert [n for g, n in rows if g == "decode"] == ["after 32 tokens", "after 2048 tokens"]
assert [n for g, n in rows if g == "caption"] == ["first token", "64 tokens"]
m = o["machine"]
assert m["read_bytes_per_second"] > 0 and m["f32_operations_per_second"] > 0

# Every figure is a number, and the share is what it says: of a limit that follows from the work and
# from the machine as it was then, which is never above the best it has shown.
for f in o["figures"]:
    assert f["runs"] == 1 and f["least"] <= f["median"] <= f["most"], f
    assert f["least"] > 0 or f["name"] == "of them in large pages", f
    if f["group"] in ("load", "memory"):
        assert "limit" not in f
        continue
    w, now = f["work"], f["machine"]
    assert set(now) | {"cpu_tier", "threads"} == set(m)
    assert all(0 <= now[k] <= m[k] for k in now), (now, m)
    half = max(now["f32_operations_per_second"], now["bf16_operations_per_second"])
    byte = max(half, now["int8_operations_per_second"])
    if f["group"] in ("encode", "prefill"):
        peak = half if f["group"] == "encode" else byte
        seconds = max(w["linear_operations"] / peak + w["attention_operations"] / half,
                      w["bytes"] / now["read_bytes_per_second"])
        limit = seconds if f["group"] == "encode" else int(f["name"].split()[0]) / seconds
        assert abs(limit - f["limit"]) < 1e-6 * limit, f
    share = f["limit"] / f["median"] if f["unit"] == "seconds" else f["median"] / f["limit"]
    assert abs(share - f["share"]) < 1e-6 * share, f

# The work, counted again.
H, I = v["hidden_size"], v["intermediate_size"]
merged = 4 * H
merger = merged * merged + merged * t["hidden_size"]
for size, patches in (("448x448", 28 * 28), ("640x480", 40 * 30), ("1024x1024", 64 * 64)):
    w = rows["encode", size]["work"]
    linear = 2 * patches * (1536 * H + v["depth"] * (4 * H * H + 2 * H * I))
    linear += 2 * patches // 4 * (1 + len(v["deepstack_visual_indexes"])) * merger
    assert w["linear_operations"] == linear, (size, w, linear)
    assert w["attention_operations"] == 4 * patches * patches * H * v["depth"], (size, w)
    assert rows["encode", size]["detail"] == "%d tokens" % (patches // 4)
D, L = t["hidden_size"], t["num_hidden_layers"]
q, kv = t["num_attention_heads"] * t["head_dim"], t["num_key_value_heads"] * t["head_dim"]
token = 2 * L * (2 * D * q + 2 * D * kv + 3 * D * t["intermediate_size"])
head = 2 * t["vocab_size"] * D
for n, f in prompts.items():
    assert f["work"]["linear_operations"] == n * token + head, (n, f)
    assert f["work"]["attention_operations"] == 4 * q * L * n * (n + 1) // 2, (n, f)
cache = 2 * kv * L * 2  # float16
one, two = rows["together", "1 session"]["work"], rows["together", "2 sessions"]["work"]
assert two["linear_operations"] == 2 * one["linear_operations"] == 2 * 32 * (token + head)
steps = sum(32 + i for i in range(1, 33))
assert two["bytes"] - one["bytes"] == steps * cache, (two, one, cache)
decode = rows["decode", "after 2048 tokens"]["work"]
assert decode["attention_operations"] == 4 * q * L * sum(2048 + i for i in range(1, 33))

# The 512 MiB that measuring the machine takes are not in the peak.
peak = rows["memory", "peak RSS of a caption"]["median"]
files, large = (rows["memory", name]["median"] for name in
                ("mapped files in memory", "of them in large pages"))
assert 0 < files < peak and 0 <= large <= files, (files, large, peak)
assert peak < 512 << 20 and rows["memory", "PSS after it"]["median"] < 512 << 20, peak

import xml.dom.minidom
chart = xml.dom.minidom.parse("all.svg")
limited = sum("limit" in f for f in o["figures"])
assert len(chart.getElementsByTagName("rect")) == limited + 1
PYTHON
fi

# The table, several runs, one group; a model whose name is markup.
ln -s "$MODEL" 'a&b<c>"d'
run bench -m 'a&b<c>"d' --only decode --quick --runs 2 --plot one.svg
expect_code 0
expect_err_has '^ocelli: decode after 32 tokens: [0-9.]+ tok/s$'
expect_out_has '^machine  [0-9.]+ GB/s read, [0-9]+ f32'
expect_out_has '^decode +after 32 tokens +[0-9.]+ tok/s +[0-9.]+ tok/s +[0-9]+ %  2: [0-9.]+ tok/s to [0-9.]+ tok/s; 15 tokens$'
expect_out_lacks '^(load|encode|prefill|together|caption|memory)'
if has_python; then
    python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("one.svg")' 2>err ||
        fail "the chart is not well-formed"
fi
run bench -m "$MODEL" --only load,memory --quick -q
expect_code 0
expect_no_err
expect_order load cold load warm memory 'peak RSS' memory PSS

# The form of the tower moves its limit: eight bits are computed at the int8 peak, float32 at its own.
for vision in q8 f32; do
    run bench -m "$MODEL" --only encode --quick -q --json --vision $vision
    expect_code 0
    expect_json "o[0]['vision_type'] == '$vision'"
    has_python && { python3 - $vision <<'PYTHON' || fail "the limit of $vision"; }
import json, sys
f = json.load(open("out"))["figures"][0]
w, m = f["work"], f["machine"]
single = m["f32_operations_per_second"]
half = max(single, m["bf16_operations_per_second"])
linear, attention = (single, single) if sys.argv[1] == "f32" else (max(half, m["int8_operations_per_second"]), half)
limit = max(w["linear_operations"] / linear + w["attention_operations"] / attention,
            w["bytes"] / m["read_bytes_per_second"])
assert abs(limit - f["limit"]) < 1e-6 * limit, f
PYTHON
done

# Pictures an hour, one at a time and together, by phase.
run bench -m "$MODEL" --only folder --quick -q --json
expect_code 0
expect_json '[f["name"] for f in o[0]["figures"]] == ["256x256, one at a time", "256x256, 4 together", "640x480, one at a time", "640x480, 4 together"]'
expect_json 'all(f["unit"] == "pictures/hour" and f["median"] > 0 and len(f["detail"].split(" + ")) == 3 for f in o[0]["figures"])'

# Cost over size, only where it is asked for: what does not fit is left out or shrunk, and says so.
run bench -m "$MODEL" --only sizes --json --runs 1
expect_code 0
expect_err_has 'a prompt of 8192 tokens: left out, since the model.s context is 4096 tokens'
expect_json '[f["name"] for f in o[0]["figures"]] == ["prefill 512 tokens", "prefill 2048 tokens", "decode after 2048", "encode 256x256", "encode 512x512", "encode 1024x1024", "encode 2048x2048", "encode 4096x4096"]'
expect_json 'all(f["group"] == "sizes" and f["limit"] > 0 and f["peak_bytes"] > 0 and f["told_bytes"] > 0 for f in o[0]["figures"])'
expect_json '[f["detail"] for f in o[0]["figures"]][3] == "16 tokens, resized to 128x128"'

# The threads and the tier of the model are those of the machine's limit.
run bench -m "$MODEL" --only decode --quick -q --json --cpu scalar -t 1
expect_code 0
expect_json 'o[0]["machine"]["cpu_tier"] == "scalar" and o[0]["machine"]["threads"] == 1 and o[0]["machine"]["int8_operations_per_second"] == 0'

run bench -m "$MODEL" --only decode,speed
expect_misuse "not 'speed'"
run bench -m "$MODEL" --runs 0
expect_misuse 'runs'
run bench -m "$MODEL" --only memory -q --plot missing/chart.svg
expect_code 1
expect_err_has missing/chart.svg
run bench -m nowhere
expect_refusal nowhere
exit 0
