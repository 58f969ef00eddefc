/* shard.h - which part of the work is this process's, where several divide it without talking.
 *
 * The work is pictures, told apart by their paths; a shard is K of N, and owns a path by a hash of it
 * alone: the same on every machine, in any order, whatever else lies in the folder.
 *
 *     owner(path) = stable_mix(FNV-1a(path)) mod N        (stable_hash.h; 0 is shard 1 of N)
 *
 * Which shard this is, is said by --shard K/N or found in the environment of the launcher:
 *
 *     Slurm       SLURM_ARRAY_TASK_ID with _MIN, _MAX, _STEP and _COUNT; and within one, or without
 *                 one, the tasks of srun: SLURM_PROCID of SLURM_STEP_NUM_TASKS, where SLURM_STEP_ID
 *                 says that srun started this (a batch script has SLURM_PROCID and SLURM_NTASKS too,
 *                 and is alone)
 *     Kubernetes  JOB_COMPLETION_INDEX; an indexed job does not tell its pods how many there are, so
 *                 the job file says it in OCELLI_SHARDS
 *     MPI         OMPI_COMM_WORLD_RANK of _SIZE, MV2_COMM_WORLD_RANK of _SIZE, PMI_RANK of PMI_SIZE,
 *                 PMIX_RANK of SLURM_STEP_NUM_TASKS: the first that is there. They come before srun's
 *                 own, since mpirun within Slurm starts its daemons by srun
 *
 * MPI or srun within an array task divide that task's part: shards are numbered task by task.
 * OCELLI_SHARDS gives the number where the launcher does not, and must agree where it does.
 *
 * This part prints nothing and reads no environment of its own; shard_flag.h is what commands call.
 */
#ifndef OCELLI_TOOLS_SHARD_H
#define OCELLI_TOOLS_SHARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No cluster comes near, and index times count stays in 64 bits. */
#define SHARD_MOST UINT64_C(1000000)

typedef struct shard {
    uint64_t index; /* 0 .. count - 1; shown as index + 1 */
    uint64_t count; /* 1: all of the work */
    char from[96];  /* the variables that said so; "" where nothing or --shard did */
} shard;

/* The value of an environment variable, or NULL. */
typedef const char *(*shard_variable_fn)(void *user, const char *name);

/* The shard that word asks for: "K/N" with K from 1 to N, "none", or "auto" (NULL is auto): what the
 * environment says. False with a sentence in why [size] if the word is none of these, or if the
 * environment contradicts itself or says too little; *out is then the whole. */
bool shard_find(const char *word, shard_variable_fn variable, void *user, shard *out, char *why,
                size_t size);

/* Whether the work on path is this shard's. path is relative to the folder that was named on the command
 * line, so that machines may have it at different places; for a picture named itself, its last
 * component. "./a", "a/." and "a//b" are the same as "a", "a" and "a/b". True for every path where
 * count is 1.
 *
 * Look for pictures that would get the same sidecar (a.jpg, a.png) before asking this: they may be of
 * different shards, and each shard must come to the same names. */
bool shard_owns(const shard *s, const char *path);

/* "2-of-4", "1-of-1". */
void shard_label(const shard *s, char *out, size_t size);

/* A new string, freed by the caller: pattern with each {shard} replaced by the label. NULL: no memory.
 * *placed (if not NULL) tells whether there was one. */
char *shard_expand(const shard *s, const char *pattern, bool *placed);

#endif
