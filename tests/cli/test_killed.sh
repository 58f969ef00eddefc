#!/bin/sh
# pack and pull killed with SIGKILL at ten moments each, spread over the bytes that they write: nothing
# half-written is opened, and a rerun ends with the bytes of a run that nobody disturbed.
. "${0%/*}/harness.sh"
has_python || skip "no python3"

# moments TOTAL: ten byte counts, one in each tenth of TOTAL, at places drawn from a fixed seed
moments() {
    awk -v total="$1" 'BEGIN { seed = 20240607
        for (i = 0; i < 10; i++) {
            seed = (seed * 16807) % 2147483647
            printf "%d ", 1 + int((i + seed / 2147483647) * (total - 1) / 10) } }'
}
bytes_in() { find "$1" -type f -exec cat {} + | wc -c; }

# stopped_at FOLDER BYTES COMMAND...: counts the kill, unless the program was faster
kills=0
stopped_at() {
    ran="kill -9 at $2 bytes: $3 $4 $5 $6"
    result=$(python3 "$DATA/cli/kill_at.py" "$@") || fail "kill_at.py"
    echo "  at $2 bytes: $result"
    case $result in
    killed*) kills=$((kills + 1)) ;;
    "ended 0") ;;
    *) fail "$result" ;;
    esac
}

# ---- pack: a checkpoint large enough that the moments lie in different files of the package
sed -e 's/"vocab_size": [0-9]*/"vocab_size": 20000/' "$MODEL/config.json" >config.json
if ! "$OCELLI" synth --config config.json big -q 2>err; then
    cp "$MODEL/config.json" config.json
    run synth --config config.json big -q
    expect_code 0
fi
run pack big whole --quant q8 -q
expect_code 0
echo "pack:"
for moment in $(moments "$(bytes_in whole)"); do
    rm -rf made made.partial
    stopped_at made.partial "$moment" "$OCELLI" pack big made --quant q8
    if [ ! -e made ]; then
        run info made
        expect_refusal made
        run info made.partial
        # Its last file may have been there, and nothing but the renaming to do: then it is whole.
        if [ "$code" -eq 0 ]; then
            run verify made.partial
            expect_answer good
        else
            expect_refusal made.partial
        fi
        run pack big made --quant q8 -q
        expect_code 0
    fi
    diff -r whole made || fail "a rerun of pack made other bytes"
    [ ! -e made.partial ] || fail "made.partial is left"
done
[ $kills -ge 8 ] || fail "pack was killed $kills times only"

# ---- pull: one folder, killed ten times on its way
can_pull || exit 0
mkdir -p root/slow/tiny
for file in "$MODEL"/*; do ln -s "$file" root/slow/tiny/; done
start_hub root
kills=0
echo "pull:"
total=$(cat "$MODEL"/* | wc -c)
for moment in $(moments "$total"); do
    stopped_at got "$moment" "$OCELLI" pull slow/tiny got
    run info got
    if [ -f got/model.safetensors ] && [ "$code" -eq 0 ]; then
        cmp -s got/model.safetensors "$MODEL/model.safetensors" || fail "half a model was opened"
    else
        expect_refusal got
    fi
    run models --json
    expect_code 0
done
run pull slow/tiny got -q
expect_answer got
for file in "$MODEL"/*; do
    cmp -s "$file" "got/${file##*/}" || fail "a rerun of pull ended with another ${file##*/}"
done
[ "$(ls got | wc -l)" -eq "$(ls "$MODEL" | wc -l)" ] || fail "other files are left: $(ls got)"
[ $kills -ge 8 ] || fail "pull was killed $kills times only"
# It went on each time, and did not begin again: eleven runs asked for the weights from ever later bytes.
sed -n 's/^hub .*model.safetensors bytes=\([0-9]*\)- .*/\1/p' requests >offsets
sort -n offsets | cmp -s - offsets || fail "a rerun began before what was there"
[ "$(sort -u offsets | wc -l)" -ge 6 ] || fail "the kills were not spread: $(tr '\n' ' ' <offsets)"
# Killed at the end of a small file, between renaming and recording, too: every small file in turn.
for moment in 1 1200 4700 5000 10500 11800 12000 25000 90000 130000; do
    rm -rf got
    stopped_at got "$moment" "$OCELLI" pull slow/tiny got
    run info got
    expect_refusal got
done
exit 0
