#!/bin/sh
# The job file of samples/slurm on a real Slurm of one node: an array of four, of which one task's
# program is killed, one task is preempted and one is told to stop; all are queued again. The merged
# lines are those of one run.
. "${0%/*}/harness.sh"
. "$DATA/cli/slurm.sh"
. "$DATA/cli/shards.sh"
start_slurm
export OCELLI
make_photos 10
FLAGS="$FLAGS --min-pixels 200000" # large enough that each takes a moment
make_single

# ---- which shard: arrays that begin elsewhere, steps, srun; a batch script and salloc are alone
mkdir few
cp photos/copy1-0[12].png few/
dry() { # NAME LAUNCHER SBATCH_FLAG...: queues a script that tells in the file NAME which shard it is
    name=$1
    printf '#!/bin/sh\n%s "$OCELLI" caption few %s --dry-run --jsonl "x-{shard}" </dev/null >>%s 2>&1\n' \
        "$2" "$FLAGS" "$name" >"$name.sh"
    shift 2
    sbatch -o /dev/null "$@" "$name.sh" >/dev/null || fail "sbatch $name"
}
expect_shards() { # NAME SHARD...: of the notes in it, in any order
    name=$1
    shift
    sed -n 's/^ocelli: shard \([0-9/]*\), by \(.*\); --shard none .*/\1 \2/p' "$name" | sort >found
    for line in "$@"; do echo "$line"; done | sort >wanted
    cmp -s found wanted || fail "$name: $(cat "$name")"
}
nothing_queued() { [ -z "$(squeue -h)" ]; }
dry step '' -n 1 --array=3-7:2
dry gaps '' -n 1 --array=1,3
dry alone '' -n 3
dry tasks srun -n 2
dry both srun -n 2 --array=1-2
slurm_wait "six jobs" nothing_queued
expect_shards step '1/3 SLURM_ARRAY_TASK_ID' '2/3 SLURM_ARRAY_TASK_ID' '3/3 SLURM_ARRAY_TASK_ID'
grep -q 'are not all from 1 to 3' gaps || fail "an array with gaps was taken: $(cat gaps)"
grep -q 'photos/\|^2 to caption' alone || fail "$(cat alone)"
expect_shards alone
expect_shards tasks '1/2 SLURM_PROCID' '2/2 SLURM_PROCID'
both='SLURM_ARRAY_TASK_ID and SLURM_PROCID'
expect_shards both "1/4 $both" "2/4 $both" "3/4 $both" "4/4 $both"
cp alone.sh allocated.sh
salloc -n 3 sh allocated.sh >/dev/null 2>&1 || fail "salloc"
expect_shards alone

# ---- the array of four
lines_of() { # SHARD: how many it has
    [ -f "lines/captions-$1-of-4.jsonl" ] && wc -l <"lines/captions-$1-of-4.jsonl" || echo 0
}
has_begun() { [ "$(lines_of "$1")" -ge 3 ]; }
program_of() { # TASK: the ids of its processes that are ocelli
    grep -lxz "SLURM_ARRAY_TASK_ID=$1" /proc/[0-9]*/environ 2>/dev/null | while read -r environment; do
        process=${environment%/environ}
        if grep -qxz "SLURM_ARRAY_JOB_ID=$job" "$environment" 2>/dev/null &&
            [ "$(readlink "$process/exe" 2>/dev/null)" = "$(readlink -f "$OCELLI")" ]; then
            echo "${process#/proc/}"
        fi
    done
}
has_program() {
    victim=$(program_of 1)
    [ -n "$victim" ]
}
state_of() { squeue -h --states=all -j "${job}_$1" -o %T; }
is_in() { [ "$(state_of "$1")" = "$2" ]; }
is_over() { squeue -h --states=all -j "$job" -o %T | grep -vqx COMPLETED || return 0; return 1; }
restarts_of() { scontrol show job "${job}_$1" | sed -n 's/.*Restarts=\([0-9]*\).*/\1/p'; }

# One picture at a time, so that there is a middle.
job=$(sbatch --parsable --cpus-per-task=1 "$SAMPLES/slurm/caption.sbatch" photos lines -m "$MODEL" -n 24 \
    --min-pixels 200000 --batch 1) || fail "sbatch"
slurm_wait "task 1's program" has_program
slurm_wait "shard 2" has_begun 2
# shellcheck disable=SC2086
kill -9 $victim
slurm_wait "shard 3" has_begun 3
scontrol requeue "${job}_2" || fail "scontrol requeue"
slurm_wait "shard 4" has_begun 4
scancel --batch --signal=TERM "${job}_3" || fail "scancel"
slurm_wait "task 1 to fail" is_in 1 FAILED
had=$(lines_of 2)
scontrol requeue "${job}_1" || fail "scontrol requeue"
# Slurm lets what was queued again rest for two minutes, since a node refuses for some seconds a job of a
# number that it has just ended.
for task in 1 2 3; do
    slurm_wait "task $task to be queued again" is_in $task PENDING
    scontrol update "JobId=${job}_$task" StartTime=now+8 || fail "scontrol update"
done
slurm_wait "the array" is_over
for task in 1 2 3; do
    [ "$(restarts_of $task)" = 1 ] || fail "task $task began $(restarts_of $task) times again"
done
[ "$had" -lt "$(lines_of 2)" ] || fail "task 1 was not killed in the middle: it had all $had lines"
expect_single lines/captions-*-of-4.jsonl
# What the killed task had recorded is there with the seconds it had then: it was not done again.
grep -h 'captioned' ocelli-*_1.log >sums || fail "no sum in the log"
again=$(sed -n 's/^ocelli: \([0-9]*\) captioned.*/\1/p' sums | tail -n 1)
[ "$again" -eq $(($(lines_of 2) - had)) ] || fail "task 1 did $again of $(lines_of 2), having $had"
exit 0
