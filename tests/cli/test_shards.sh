#!/bin/sh
# caption --shard: what is refused, what is said, and that the parts are the whole; without a launcher,
# by its variables alone. The launchers themselves are in test_slurm.sh, test_mpi.sh, test_kubernetes.sh.
. "${0%/*}/harness.sh"
. "$DATA/cli/shards.sh"
make_photos 1
make_single

# ---- misuse: nothing is done
for word in 0/4 5/4 4 1/0 x '' 1/1000001 1/4/2; do
    # shellcheck disable=SC2086
    run caption photos $FLAGS --shard "$word" --jsonl '{shard}'
    expect_misuse '--shard: a shard is K/N with K from 1 to N|--shard needs a value'
done
run caption photos --shard 1/4 --jsonl one.jsonl
expect_misuse '4 shards must not write one file; put \{shard\} into the name'
[ ! -e one.jsonl ] || fail "a file was made"
expect_environment_refused() { # PATTERN VARIABLE=VALUE...
    pattern=$1
    shift
    ran="env $* ocelli caption photos"
    env "$@" "$OCELLI" caption photos --jsonl '{shard}' >out 2>err </dev/null
    code=$?
    expect_misuse "cannot tell which shard this is: $pattern.*; say --shard K/N, or --shard none"
}
expect_environment_refused 'JOB_COMPLETION_INDEX is set.*OCELLI_SHARDS' JOB_COMPLETION_INDEX=0
expect_environment_refused 'OCELLI_SHARDS is 4, but nothing' OCELLI_SHARDS=4
expect_environment_refused "PMI_RANK is 'x'" PMI_RANK=x PMI_SIZE=2
expect_environment_refused 'OMPI_COMM_WORLD_RANK is 2, but OMPI_COMM_WORLD_SIZE says that there are 2' \
    OMPI_COMM_WORLD_RANK=2 OMPI_COMM_WORLD_SIZE=2
ls | grep -q -e '-of-' && fail "a refused run left a file"

# ---- the parts are the whole, whatever their number, and in whatever way a part is named
for count in 1 3 20; do # twenty are more than there are pictures
    rm -f part-*
    k=1
    while [ $k -le $count ]; do
        # shellcheck disable=SC2086
        run caption photos $FLAGS -q --shard $k/$count --jsonl 'part-{shard}.jsonl'
        expect_code 0
        expect_no_err
        k=$((k + 1))
    done
    expect_single part-*-of-$count.jsonl
done
# A part is the same when the folder is named otherwise, and by variables in place of the flag.
mkdir elsewhere
mv photos elsewhere/photos
(cd elsewhere/photos && env PMI_RANK=1 PMI_SIZE=3 "$OCELLI" caption . $FLAGS --jsonl '../part-{shard}.jsonl') \
    >out 2>err </dev/null || fail "in the folder: $(cat err)"
expect_err_has '^ocelli: shard 2/3, by PMI_RANK; --shard none would do all of the work$'
# shellcheck disable=SC2086
run caption elsewhere/photos $FLAGS -q --shard 2/3 --jsonl 'part-{shard}.jsonl'
expect_code 0
sed 's/.*"path":"\.\///; s/".*//' elsewhere/part-2-of-3.jsonl >by_place
sed 's/.*"path":"elsewhere\/photos\///; s/".*//' part-2-of-3.jsonl >by_name
cmp -s by_place by_name && [ -s by_name ] || fail "another part by another name: $(diff by_place by_name)"
# --shard comes before the variables, none is all of it; quiet says nothing of it.
PMI_RANK=1 PMI_SIZE=3
export PMI_RANK PMI_SIZE
# shellcheck disable=SC2086
run caption elsewhere/photos $FLAGS -q --shard none --jsonl all.jsonl
expect_code 0
expect_no_err
[ "$(wc -l <all.jsonl)" -eq "$photos" ] || fail "none is not all"
# shellcheck disable=SC2086
run caption elsewhere/photos $FLAGS -q --shard 3/3 --jsonl 'which-{shard}'
expect_code 0
[ -e which-3-of-3 ] || fail "the variables came before the flag"
# Pictures that are named one by one, for stdout, are nobody's part.
# shellcheck disable=SC2086
run caption "$PICTURES/picture01.png" "$PICTURES/picture02.png" $FLAGS -q
expect_code 0
[ "$(wc -l <out)" -eq 2 ] || fail "a named picture was left out"
exit 0
