#!/bin/sh
# The job file of samples/kubernetes: its command is run for each index as a pod would have it, with the
# test's folders in place of the claims; the merged lines are those of one run. No cluster is asked.
. "${0%/*}/harness.sh"
. "$DATA/cli/shards.sh"
python3 -c 'import yaml' 2>/dev/null || skip "no python3-yaml"
make_photos 2
make_single
mkdir claim
cat >read.py <<'PYTHON'
# job.py: checks the file and writes pod-K.sh for every index K.
import shlex, sys, yaml

job = yaml.safe_load(open(sys.argv[1], encoding="utf-8"))
places = {"/photos": "photos", "/model": sys.argv[2], "/out": "claim", "ocelli": sys.argv[3]}
assert job["apiVersion"] == "batch/v1" and job["kind"] == "Job"
spec = job["spec"]
assert spec["completionMode"] == "Indexed"
assert spec["backoffLimitPerIndex"] >= 1
pod = spec["template"]["spec"]
assert pod["restartPolicy"] == "Never"
(container,) = pod["containers"]
environment = {item["name"]: item["value"] for item in container["env"]}
assert environment == {"OCELLI_SHARDS": str(spec["completions"])}
assert all(isinstance(value, str) for value in environment.values())
assert container["resources"]["requests"] and container["resources"]["limits"]
mounts = {m["mountPath"]: m.get("readOnly", False) for m in container["volumeMounts"]}
assert mounts == {"/photos": True, "/model": True, "/out": False}
assert {m["name"] for m in container["volumeMounts"]} == {v["name"] for v in pod["volumes"]}
assert all(isinstance(word, str) for word in container["command"])
rules = spec["podFailurePolicy"]["rules"]
assert rules[0]["onExitCodes"]["values"] == [2, 3] and rules[0]["action"] == "FailIndex"
assert rules[0]["onExitCodes"]["containerName"] == container["name"]
words = []
for word in container["command"]:
    for place, here in places.items():
        if word == place or word.startswith(place + "/"):
            word = here + word[len(place):]
            break
    words.append(shlex.quote(word))
for index in range(spec["completions"]):
    with open(f"pod-{index}.sh", "w", encoding="utf-8") as file:
        for name, value in environment.items():
            file.write(f"export {name}={shlex.quote(value)}\n")
        file.write(f"export JOB_COMPLETION_INDEX={index}\nexec {' '.join(words)} -n 24\n")
print(spec["completions"])
PYTHON
completions=$(python3 read.py "$SAMPLES/kubernetes/caption-job.yaml" "$MODEL" "$OCELLI") ||
    fail "the job file"
[ "$completions" -ge 2 ] || fail "$completions completions"
index=0
while [ $index -lt "$completions" ]; do
    ran="pod-$index.sh: $(tail -n 1 pod-$index.sh)"
    sh pod-$index.sh >out 2>err </dev/null
    code=$?
    expect_code 0
    expect_no_out
    expect_err_has "^ocelli: shard $((index + 1))/$completions, by JOB_COMPLETION_INDEX"
    index=$((index + 1))
done
expect_single claim/captions-*-of-"$completions".jsonl
# A pod that does not know how many there are does nothing, not everything.
code=0
sed -i '/OCELLI_SHARDS/d; s/claim/nobody/' pod-1.sh
sh pod-1.sh >out 2>err </dev/null || code=$?
ran='a pod without OCELLI_SHARDS'
expect_misuse 'set OCELLI_SHARDS'
[ ! -e nobody ] || fail "something was written"
exit 0
