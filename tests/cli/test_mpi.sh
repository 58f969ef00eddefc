#!/bin/sh
# Three ranks of Open MPI's launcher divide a folder; the merged lines are those of one run.
. "${0%/*}/harness.sh"
. "$DATA/cli/shards.sh"
command -v mpirun >/dev/null 2>&1 || skip "no mpirun"
mpirun --version 2>/dev/null | grep -q 'Open MPI' || skip "another mpirun than Open MPI's"
make_photos 2
make_single
# Root is the usual user of a test's container; ranks may outnumber its CPUs.
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TMPDIR=$scratch
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM TMPDIR
ranks() { # COUNT FLAG...
    count=$1
    shift
    ran="mpirun -n $count ocelli caption photos $*"
    # shellcheck disable=SC2086
    mpirun --oversubscribe --mca plm isolated --mca btl self -n "$count" "$OCELLI" caption photos $FLAGS "$@" \
        >out 2>err </dev/null
    code=$?
}
ranks 3 --jsonl 'captions-{shard}.jsonl'
expect_code 0
for k in 1 2 3; do expect_err_has "^ocelli: shard $k/3, by OMPI_COMM_WORLD_RANK"; done
[ "$(ls captions-*-of-3.jsonl | wc -l)" -eq 3 ] || fail "not three files: $(ls)"
expect_single captions-*-of-3.jsonl
# Again: nothing is left to do.
cp captions-2-of-3.jsonl before
ranks 3 --jsonl 'captions-{shard}.jsonl'
expect_code 0
cmp -s before captions-2-of-3.jsonl || fail "a rerun changed the lines"
# One rank has all of the work, and one file's name needs no place for a number.
ranks 1 -q --jsonl alone.jsonl
expect_code 0
expect_no_err
expect_single alone.jsonl
ranks 2 -q --jsonl alone-2.jsonl
[ "$code" -ne 0 ] || fail "two ranks wrote one file"
expect_err_has '2 shards must not write one file'
[ ! -e alone-2.jsonl ] || fail "two ranks began to write one file"
exit 0
