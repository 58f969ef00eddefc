# harness.sh - what the scripts of this folder share; each begins with: . "${0%/*}/harness.sh"
#
# The environment gives OCELLI (the program), SAMPLES (the samples folder) and DATA (the tests
# folder). A script runs in an empty folder that is removed at its end. `run` runs the program with
# stdin empty and keeps its exit code in $code and its output in the files out and err; the expect_
# functions look at these, and end the script at the first thing that is not as it should be.
set -u
: "${OCELLI:?the program to test}" "${SAMPLES:?the samples folder}" "${DATA:?the tests folder}"
unset OCELLI_MODEL OCELLI_CPU OCELLI_HOME OCELLI_CACHE NO_COLOR POSIXLY_CORRECT
unset HF_ENDPOINT HF_TOKEN HF_HUB_OFFLINE HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY
unset OCELLI_SHARDS JOB_COMPLETION_INDEX SLURM_ARRAY_TASK_ID SLURM_STEP_ID # nor anybody's shard
unset OMPI_COMM_WORLD_RANK MV2_COMM_WORLD_RANK PMI_RANK PMIX_RANK
unset http_proxy https_proxy all_proxy no_proxy CURL_CA_BUNDLE SSL_CERT_FILE
LC_ALL=C
export LC_ALL
MODEL=$SAMPLES/model
PICTURES=$SAMPLES/pictures
scratch=$(mktemp -d) || exit 1
pid='' # of a program in the background, ended with the script
trap '[ -z "$pid" ] || kill -9 $pid 2>/dev/null; cd /; chmod -R u+rwx "$scratch" 2>/dev/null; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
XDG_DATA_HOME=$scratch/data # nobody's models but the test's
export XDG_DATA_HOME
ran='nothing yet'

fail() {
    echo "FAILED: $*"
    echo "  command: $ran"
    echo "  exit code: ${code-}"
    for file in out err; do
        [ -f $file ] && sed "s/^/  $file: /" $file | head -n 20
    done
    exit 1
}

skip() {
    echo "skipped: $*"
    exit 77
}

run() {
    ran="ocelli $*"
    "$OCELLI" "$@" >out 2>err </dev/null
    code=$?
}

# run with the text of the first argument on stdin
run_with() {
    printf '%s' "$1" >in
    shift
    ran="ocelli $* <in"
    "$OCELLI" "$@" >out 2>err <in
    code=$?
}

expect_code() { [ "$code" -eq "$1" ] || fail "exit code $code where $1 was expected"; }

# stdout is exactly these lines
expect_out() {
    printf '%s\n' "$@" >expected
    cmp -s expected out || fail "stdout is not: $*"
}
expect_out_has() { grep -Eq -e "$1" out || fail "stdout lacks /$1/"; }
expect_out_lacks() { if grep -Eq -e "$1" out; then fail "stdout has /$1/"; fi; }
expect_err_has() { grep -Eq -e "$1" err || fail "stderr lacks /$1/"; }
expect_err_lacks() { if grep -Eq -e "$1" err; then fail "stderr has /$1/"; fi; }
expect_no_out() { [ ! -s out ] || fail "stdout is not empty"; }
expect_no_err() { [ ! -s err ] || fail "stderr is not empty"; }

# exit code 0, and these lines on stdout
expect_answer() {
    expect_code 0
    expect_out "$@"
}

# exit code 1, nothing on stdout, one to three whole lines on stderr with the pattern
expect_refusal() {
    expect_code 1
    expect_no_out
    expect_err_has "$1"
    lines=$(grep -c . err)
    [ "$lines" -ge 1 ] && [ "$lines" -le 3 ] || fail "$lines lines on stderr"
    [ "$(tail -c 1 err)" = "" ] || fail "the message has no newline"
}

# exit code 2, nothing on stdout, a message with the pattern that says where help is
expect_misuse() {
    expect_code 2
    expect_no_out
    expect_err_has "$1"
    expect_err_has "; try 'ocelli help( [a-z]+)?'\$"
}

# The words appear in out in this order.
expect_order() {
    text=$(tr '\n' ' ' <out)
    for word in "$@"; do
        case $text in
        *"$word"*) text=${text#*"$word"} ;;
        *) fail "'$word' is missing from stdout, or not in order" ;;
        esac
    done
}

# can_pull: the program was built with libcurl.
can_pull() { ! HF_HUB_OFFLINE=1 "$OCELLI" pull a/b 2>&1 </dev/null | grep -q 'built without libcurl'; }

# Starts the hub of pull_server.py, which serves $1, and sets HF_ENDPOINT; $store is its other host's
# port. Requests are logged in the file requests. $2: its certificate, for TLS.
start_hub() {
    rm -f ports
    python3 "$DATA/cli/pull_server.py" "$1" ports requests ${2:+"$2"} &
    pid="$pid $!"
    tries=0
    until [ -f ports ]; do
        tries=$((tries + 1))
        [ $tries -lt 400 ] || fail "the server does not start"
        sleep 0.05
    done
    read -r hub store <ports
    HF_ENDPOINT=http${2:+s}://127.0.0.1:$hub
    export HF_ENDPOINT
}

has_python() { command -v python3 >/dev/null 2>&1; }

# Every line of out is a JSON object; the Python expression about `o`, the list of them, is true.
expect_json() {
    has_python || return 0
    python3 - "$1" <<'PYTHON' || fail "JSON: not so: $1"
import json, sys
o = [json.loads(line) for line in open("out", encoding="utf-8")]
sys.exit(0 if all(isinstance(x, dict) for x in o) and eval(sys.argv[1]) else 1)
PYTHON
}
