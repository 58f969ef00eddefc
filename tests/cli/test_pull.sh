#!/bin/sh
# pull: a checkpoint over HTTP, from a server that is good, slow of wit, broken or hostile.
. "${0%/*}/harness.sh"

# What needs no server.
for name in tiny /tiny good/ a/b/c ../tiny good/.. .a/b a/.b "a b/c" a/b%2f; do
    run pull "$name"
    if can_pull; then expect_misuse "is no repository: it is owner/name"; fi
done
for address in https://host/a/b https://huggingface.co.host/a/b https://huggingface.co/a \
    https://huggingface.co/a/b/tree/ https://huggingface.co/a/../b https://huggingface.co/a/b/blob/main/c; do
    run pull "$address"
    if can_pull; then expect_misuse "is no repository's address on this hub"; fi
done
run pull https://huggingface.co/a/b/tree/c --revision d
if can_pull; then expect_misuse "both name a revision"; fi
if ! can_pull; then
    run pull good/tiny
    expect_refusal 'built without libcurl.*libcurl4-openssl-dev'
    exit 0
fi
has_python || skip "no python3"

# ---- the hub: a smaller model under the names of all behaviours, and the sample model with files that
# nobody needs
SMALL=$DATA/golden/qwen3vl/models/t1_bf16
for owner in cut direct norange cutnorange busy wrong gated paged longer misfit circle local short astray \
    down good; do
    mkdir -p "root/$owner"
    ln -s "$SMALL" "root/$owner/small"
done
mkdir -p root/good/tiny/onnx root/list root/moved/small root/slow
ln -s ../good/tiny root/slow/tiny
for file in "$MODEL"/*; do ln -s "$file" root/good/tiny/; done
for file in pytorch_model.bin onnx/model.onnx onnx/config.json .gitattributes notes.txt; do
    echo "nobody needs $file" >"root/good/tiny/$file"
done
for lie in dots inside absolute backslash newline empty slash own partial hidden long control turned \
    isolated twice negative fraction enormous words nohash badhash untyped full \
    notjson object deep none many huge circle endless away; do
    mkdir "root/list/$lie"
    echo '{}' >"root/list/$lie/config.json"
    echo x >"root/list/$lie/model.safetensors"
done
start_hub root
home=$XDG_DATA_HOME/ocelli/models

# same FOLDER [MODEL]: it holds the model's files, bit for bit, and none else but the record
same() {
    for file in "${2-$SMALL}"/*; do
        cmp -s "$file" "$1/${file##*/}" || fail "$1/${file##*/} differs"
    done
    [ "$(ls -A "$1" | grep -vc '^\.ocelli-pull\.json$')" -eq "$(ls "${2-$SMALL}" | wc -l)" ] ||
        fail "$1 holds other files: $(ls -A "$1")"
}
# asked PATTERN: how many requests there were for it
asked() { grep -Ec -e "$1" requests; }
nothing_of() { [ ! -e "$home/$1" ] || fail "$1 was written"; }

# ---- a good server
# The address of a page is as good as the name, and may say the revision.
run pull "$HF_ENDPOINT/good/tiny/" --dry-run
expect_code 0
expect_out_has " to fetch, into $home/good/tiny\$"
run pull "$HF_ENDPOINT/good/tiny/tree/main" --dry-run
expect_code 0
expect_out_has " to fetch, into $home/good/tiny\$"
run pull "$HF_ENDPOINT/good/tiny/tree/v2" --dry-run
expect_refusal "no repository 'good/tiny', or it has no revision 'v2'"
run pull good/tiny --dry-run
expect_code 0
expect_no_err
expect_out_has ' 20\.6 MiB  to fetch  model\.safetensors$'
expect_out_has " to fetch, into $home/good/tiny\$"
expect_out_lacks 'onnx|pytorch|notes|gitattributes'
nothing_of good
run pull good/tiny
expect_answer "$home/good/tiny"
expect_err_has 'good/tiny: 12 of 12 files to fetch, 20\.7 MiB, into'
expect_err_has 'every hash is right'
expect_err_has "ocelli pack '$home/good/tiny' '$home/good/tiny-q8' --quant q8 --embed-bf16"
same "$home/good/tiny" "$MODEL"
[ "$(asked "^store /good/tiny/resolve/main/model.safetensors - -$")" -eq 1 ] || fail "the store was not asked once"
# Again: the list alone.
: >requests
run pull good/tiny -q
expect_answer "$home/good/tiny"
expect_no_err
[ "$(wc -l <requests)" -eq 1 ] || fail "files were fetched again"
# A file lost, one spoiled, one only touched.
rm "$home/good/tiny/vocab.json"
echo '{}' >"$home/good/tiny/config.json"
touch "$home/good/tiny/model.safetensors"
: >requests
run pull good/tiny --json
expect_code 0
expect_err_has "config\.json' has been changed since it was fetched; it is fetched anew"
expect_json 'o[0]["fetched_files"] == 2 and o[0]["repository"] == "good/tiny" and len(o[0]["files"]) == 12'
expect_json 'all(f["whole"] for f in o[0]["files"]) and o[0]["fetched_bytes"] == 1494 + 29305'
same "$home/good/tiny" "$MODEL"
[ "$(wc -l <requests)" -eq 3 ] || fail "not two files were fetched"
# The model answers, by its name and by half of it.
run caption "$PICTURES/picture01.png" -m good/tiny -p "Describe it."
expect_answer "A pineapple on a red background."
run caption "$PICTURES/picture01.png" -m tiny -p "Describe it."
expect_answer "A pineapple on a red background."
# Into a folder, from another revision, and packed at once; again, and nothing is left to do.
run pull good/tiny made/of/parts/ --revision refs/pr/1 --pack q4
expect_answer made/of/parts-q4
same made/of/parts "$MODEL"
grep -q '^hub /api/models/good/tiny/tree/refs%2Fpr%2F1?recursive=true ' requests || fail "another revision"
run verify made/of/parts-q4 -q
expect_answer good
run pull good/tiny made/of/parts --revision refs/pr/1 --pack q4 -q
expect_answer made/of/parts-q4
expect_no_err
# Files that came another way are taken over after a look; another's are refused and stay.
mkdir mine && cp "$SMALL"/*.safetensors mine/
run pull good/small mine
expect_code 0
expect_err_has '9 of 10 files to fetch'
same mine
mkdir his && echo '{"his": 1}' >his/config.json
run pull good/small his
expect_refusal "'his/config.json' is there and is not the repository's"
[ "$(cat his/config.json)" = '{"his": 1}' ] && [ "$(ls -A his)" = config.json ] || fail "his files were touched"
run pull paged/small mine
expect_refusal "'mine' holds good/small; choose another folder"
echo "a file" >file
run pull good/small file
expect_refusal "file"
run pull good/small /proc/nowhere
expect_refusal "/proc"

# ---- servers that are not quite so good
for owner in paged moved direct cut norange cutnorange busy short; do
    run pull $owner/small
    expect_answer "$home/$owner/small"
    same "$home/$owner/small"
done
grep -q '^store /cut/small/resolve/main/model.safetensors bytes=451194- -$' requests || fail "cut: not resumed"
[ "$(asked '^store /cutnorange/small/.* bytes=')" -ge 1 ] || fail "cutnorange: no range was asked for"
[ "$(asked '^hub /api/models/paged/.*cursor=')" -ge 3 ] || fail "paged: $(asked paged) pages"
run pull cut/small -q --json
expect_code 0
# Left by an earlier run: the beginning of the file, the whole of it, too much, something else.
part() { # part COMMAND-THAT-MAKES-THE-PARTIAL-FILE
    rm -f mine/model.safetensors
    eval "$1" >mine/model.safetensors.partial
    : >requests
    run pull good/small mine
    expect_code 0
    same mine
}
part 'head -c 900000 "$SMALL/model.safetensors"'
expect_err_has 'of which 878\.9 KiB are here already'
grep -q '^store .*model.safetensors bytes=900000- -$' requests || fail "not resumed at its end"
part 'cat "$SMALL/model.safetensors"'
[ "$(wc -l <requests)" -eq 1 ] || fail "a whole file was fetched again"
part 'cat "$SMALL/model.safetensors"; echo more'
grep -q '^store .*model.safetensors - -$' requests || fail "too long a file was kept"
part 'echo something else'
expect_err_has "what an earlier run left of 'model.safetensors' does not fit"
# Its server has forgotten its ranges, and has no more than that.
head -c 900000 "$SMALL/model.safetensors" >mine/model.safetensors.partial
rm mine/model.safetensors mine/.ocelli-pull.json
run pull short/small mine
expect_code 0
same mine
# A partial file that is a link to somebody's is not written through.
rm mine/model.safetensors
echo his >target && ln -s ../target mine/model.safetensors.partial
run pull short/small mine
expect_code 1
expect_err_has 'model\.safetensors\.partial'
[ "$(cat target)" = his ] || fail "a link was followed"
mkdir theirs && ln -s ../target theirs/.ocelli-pull.json.partial
run pull good/small theirs
expect_refusal "cannot write 'theirs/.ocelli-pull.json'"
[ "$(cat target)" = his ] || fail "a link was followed to write the record"

# A wrong hash: named, removed, and right the next time.
run pull wrong/small
expect_code 1
expect_no_out
hash=$(sha256sum "$SMALL/model.safetensors")
expect_err_has "wrong/small: 'model.safetensors' has the SHA-256 [0-9a-f]{64} where the list of files says ${hash%% *}; it is removed"
[ ! -e "$home/wrong/small/model.safetensors.partial" ] && [ ! -e "$home/wrong/small/model.safetensors" ] ||
    fail "the wrong file is left"
run caption "$PICTURES/picture01.png" -m wrong/small
expect_refusal "its download is not finished; 'ocelli pull wrong/small' goes on"
run info "$home/wrong/small"
expect_refusal "its download is not finished"
run pull wrong/small
expect_answer "$home/wrong/small"
same "$home/wrong/small"

# ---- tokens
run pull gated/small
expect_refusal 'gated/small: .* answers 401: it needs a token, .*HF_TOKEN'
HF_TOKEN=hf_false "$OCELLI" pull gated/small >out 2>err
code=$?
expect_refusal 'answers 403: the token of HF_TOKEN may not read it; accept the terms at .*/gated/small'
HF_TOKEN='hf_right
X-Evil: 1' "$OCELLI" pull gated/small >out 2>err
code=$?
expect_refusal 'HF_TOKEN holds characters'
nothing_of gated
HF_TOKEN=' hf_right
' "$OCELLI" pull gated/small -q >out 2>err
code=$?
expect_answer "$home/gated/small"
same "$home/gated/small"
grep -q '^hub .*Bearer hf_right$' requests || fail "the hub got no token"
if grep '^store ' requests | grep -q 'hf_'; then fail "the other host got the token"; fi

# ---- no, and what to do
run pull good/nothing
expect_refusal "has no repository 'good/nothing', or it has no revision 'main'"
run pull good/small x --revision v9
expect_refusal "no revision 'v9'"
run pull good/small x --include '*.gguf'
expect_refusal "matches no weights; there are: model.safetensors \(1.3 MiB\)"
run pull list/full
expect_refusal "needs 131072\.0 GiB more|needs 128\.0 TiB more, but .* are free there; nothing was fetched"
HF_ENDPOINT=ftp://host "$OCELLI" pull good/small x >out 2>err
code=$?
expect_refusal "HF_ENDPOINT: 'ftp://host' is no address"
HF_ENDPOINT=http://127.0.0.1:1 "$OCELLI" pull good/small x >out 2>err
code=$?
expect_refusal "cannot reach http://127.0.0.1:1: .*is there a network"
HF_HUB_OFFLINE=1 "$OCELLI" pull good/small x >out 2>err
code=$?
expect_refusal 'HF_HUB_OFFLINE is set'
HF_HUB_OFFLINE=1 "$OCELLI" pull good/tiny -q >out 2>err
code=$?
expect_answer "$home/good/tiny"
# Over a proxy, which is asked for a host that there is not; and not where NO_PROXY says so.
HTTP_PROXY=$HF_ENDPOINT HF_ENDPOINT=http://hub.invalid "$OCELLI" pull direct/small proxied -q >out 2>err
code=$?
expect_answer proxied
same proxied
grep -q '^hub http://hub.invalid/direct/small/resolve/main/config.json' requests || fail "no proxy was used"
HTTP_PROXY=$HF_ENDPOINT NO_PROXY=127.0.0.1 HF_ENDPOINT=http://127.0.0.1:1 "$OCELLI" pull direct/small x >out 2>err
code=$?
expect_refusal 'cannot reach http://127.0.0.1:1'

# ---- hostile servers: one line, soon, and nothing outside its place
for lie in dots inside absolute backslash newline empty slash own partial hidden long \
    control turned isolated; do
    run pull list/$lie
    expect_refusal "list/$lie: the name '.*' in the list of files (is|leads|has) .*; nothing is taken"
    nothing_of list/$lie
done
for lie in negative fraction enormous words nohash badhash; do
    run pull list/$lie
    expect_refusal "list/$lie: the list of files has no usable size and hash for 'model.safetensors'"
done
lie() { # lie NAME PATTERN
    run pull "list/$1"
    expect_refusal "list/$1: $2"
    nothing_of "list/$1"
}
lie twice "the list of files names '.*' twice"
lie untyped 'the list of files has an entry without a type'
lie notjson '.* as the list of files is no JSON array'
lie object '.* as the list of files is no JSON array'
lie deep '.* as the list of files is no JSON array'
run pull list/none
expect_refusal 'list/none has no files'
lie many 'the list of files has more than 1000000 values'
lie huge 'the list of files is larger than 16777216 bytes'
lie circle '.* lead in a circle'
lie endless 'the list of files has more than 100 pages'
lie away "cannot get its list of files: the server leads to 'file:///etc/passwd'"
[ ! -e evil.json ] && [ ! -e /tmp/evil.json ] && [ ! -e "$home/evil.json" ] || fail "a file outside"
refused() { # refused OWNER PATTERN: for its large file
    run pull "$1/small"
    expect_code 1
    expect_no_out
    expect_err_has "$2"
    [ ! -e "$home/$1/small/model.safetensors" ] || fail "$1: the file is there"
}
refused longer "longer/small: the server sends more of 'model.safetensors' than the 1353584 bytes"
refused misfit "misfit/small: the server's 'model.safetensors' has 1353588 bytes, but the list of files says 1353584"
refused circle 'circle/small: cannot get model.safetensors: redirected more than 10 times'
refused local "cannot get model.safetensors: the server leads to 'file:///etc/passwd', which is no http"
refused astray "the server sends 'model.safetensors' from byte 451193 where 451194 was asked for"
[ ! -e "$home/longer/small/model.safetensors.partial" ] || fail "what was too long is left"

# Patience has an end; a signal ends it at once, and the next run goes on.
ran="pull slow/tiny ended by INT"
"$OCELLI" pull slow/tiny >out 2>err &
puller=$!
tries=0
until [ "$(wc -c 2>/dev/null <"$home/slow/tiny/model.safetensors.partial")" -gt 1000000 ] 2>/dev/null; do
    tries=$((tries + 1))
    [ $tries -lt 400 ] || fail "slow/tiny does not come"
    sleep 0.05
done
run pull slow/tiny
expect_code 1
expect_err_has 'is in use: another pull writes there'
kill -INT $puller
wait $puller
code=$?
expect_code 130
: >requests
run pull slow/tiny
expect_code 0
same "$home/slow/tiny" "$MODEL"
grep -Eq '^store .*model.safetensors bytes=[0-9]{7,}- -$' requests || fail "not resumed after the signal"
ran="pull down/small ended by TERM"
"$OCELLI" pull down/small >out 2>err &
puller=$!
tries=0
until grep -q 'answers 503; trying again in 1.0 s' err; do
    tries=$((tries + 1))
    [ $tries -lt 400 ] || fail "down/small is not tried again"
    sleep 0.05
done
kill -TERM $puller
wait $puller
code=$?
expect_code 130

# ---- on a terminal: a bar with rate and time left, and the question whether to pack
cat >terminal.py <<'PYTHON'
import os, pty, sys
answer, command = sys.argv[1], sys.argv[2:]
child, terminal = pty.fork()
if child == 0:
    os.environ["TERM"] = "xterm"
    os.execv(command[0], command)
shown = b""
while True:
    try:
        piece = os.read(terminal, 4096)
    except OSError:
        break
    if not piece:
        break
    shown += piece
    if b"Pack it now" in shown and answer is not None:
        os.write(terminal, answer.encode() + b"\n")
        answer = None
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
PYTHON
at_terminal() {
    ran="ocelli $* on a terminal"
    python3 terminal.py "$@" >out 2>err
    code=$?
}
at_terminal q4 "$OCELLI" pull slow/tiny asked
expect_code 0
expect_out_has 'Pack it now \(q8, q4, no\)\? '
tr '\r' '\n' <out >lines
grep -Eq 'model\.safetensors +\[#+ *\] +[0-9]+ %, [0-9.]+ [KMG]iB/s, 0:0[0-9] left$' lines || fail "no bar was drawn"
[ "$(sed 's/\x1b\[[0-9;]*[a-zA-Z]//g' lines | awk '/ %, / && length($0) > m { m = length($0) } END { print m }')" -lt 80 ] ||
    fail "the bar is wider than the terminal"
run verify asked-q4 -q
expect_answer good
at_terminal no "$OCELLI" pull good/small asked2
expect_code 0
[ ! -e asked2-q8 ] && [ ! -e asked2-q4 ] || fail "packed though the answer was no"
at_terminal q4 "$OCELLI" pull good/small asked2 -q
expect_code 0
expect_out_lacks 'Pack it'

# ---- GGUF repositories and sharded ones: what is chosen
mkdir -p root/good/gguf root/good/one root/good/shards root/good/bins
for file in M-Q4_K_M.gguf M-Q8_0.gguf mmproj-M-F16.gguf mmproj-M-Q8_0.gguf README.md config.json; do
    echo "$file" >root/good/gguf/$file
done
cp root/good/gguf/M-Q8_0.gguf root/good/gguf/mmproj-M-F16.gguf root/good/one/
run pull good/gguf
expect_refusal "holds several models; choose with --include PATTERN among: M-Q4_K_M.gguf \(.*\), M-Q8_0.gguf"
files() { (cd "$1" && ls | tr '\n' ' '); }
run pull good/gguf a --include '*Q4_K_M*' -q
expect_answer a
[ "$(files a)" = "M-Q4_K_M.gguf README.md mmproj-M-F16.gguf " ] || fail "chosen: $(files a)"
run pull good/gguf b --include '*Q8_0*,nothing' -q
expect_answer b
[ "$(files b)" = "M-Q8_0.gguf README.md mmproj-M-Q8_0.gguf " ] || fail "chosen: $(files b)"
run pull good/one c -q
expect_answer c
[ "$(files c)" = "M-Q8_0.gguf mmproj-M-F16.gguf " ] || fail "chosen: $(files c)"
# What --include chose is packed, with its vision file, whatever else the folder holds.
mkdir root/good/several
ln -s "$DATA/golden/gguf/models/t5-q6_K.gguf" "$DATA/golden/gguf/models/t5-q4_K_M.gguf" \
    "$DATA/golden/gguf/models/mmproj-t5-f16.gguf" root/good/several/
run pull good/several s --include '*q4_K*' -q
expect_answer s
run pull good/several s --include '*q6_K*' --pack q4 -q
expect_answer s-q4
grep -q '"source_dtype":[[:space:]]*"q6_K"' s-q4/manifest.json || fail "packed another file"
run pull good/several s --include '*q4_K*' --pack q4 -q
expect_answer s-q4
grep -q '"source_dtype":[[:space:]]*"q4_K"' s-q4/manifest.json || fail "packed another file"
run pull good/several t --include 't5*' --pack q4
expect_refusal 'packs one model, but --include t5\* matches 2'
[ ! -e t ] || fail "something was fetched"
echo '{}' >root/good/bins/config.json
echo x >root/good/bins/pytorch_model.bin
run pull good/bins
expect_refusal 'holds no model that ocelli reads: no safetensors and no GGUF files'
cd root/good/shards || fail "no folder"
for i in 1 2 3; do echo "shard $i" >model-0000$i-of-00002.safetensors; done
echo '{"weight_map": {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}}' \
    >model.safetensors.index.json
echo '{}' >pytorch_model.bin.index.json
echo '{}' >config.json
cp model-00001-of-00002.safetensors consolidated.safetensors
cd "$scratch" || exit 1
run pull good/shards d -q
expect_answer d
[ "$(files d)" = "config.json model-00001-of-00002.safetensors model-00002-of-00002.safetensors model.safetensors.index.json " ] ||
    fail "chosen: $(files d)"
mkdir root/good/torn
echo '{"weight_map": {"a": "../../evil.safetensors"}}' >root/good/torn/model.safetensors.index.json
echo '{}' >root/good/torn/config.json
run pull good/torn
expect_refusal "names the shard '../../evil.safetensors', which the repository has not"

# ---- over TLS: an unknown certificate, a known one, and a way out of https
command -v openssl >/dev/null 2>&1 || exit 0
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1 \
    -keyout key.pem -out certificate.pem 2>/dev/null || fail "openssl"
cat key.pem certificate.pem >both.pem
start_hub root both.pem
run pull direct/small e
expect_refusal "cannot get its list of files: .*certificate"
SSL_CERT_FILE=certificate.pem
export SSL_CERT_FILE
run pull direct/small e -q
expect_answer e
same e
run pull good/small g
expect_code 1
expect_err_has "cannot get model.safetensors: the server leads to 'http://127.0.0.1:$store/.*', away from https"
exit 0
