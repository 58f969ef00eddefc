/* batch_work.h - answers the pictures of a batch: several encoded in one pass of the tower, several
 * answered together, in a batch that pictures join as soon as others leave it.
 *
 * What is answered does not depend on what is answered beside it. How many are held at a time is
 * bounded by --batch and by half of the memory that is free. */
#ifndef OCELLI_TOOLS_BATCH_WORK_H
#define OCELLI_TOOLS_BATCH_WORK_H

#include "tools/batch_job.h"
#include "tools/session_run.h"

typedef struct work_times {
    double file, encode, prefill, decode; /* seconds; file beside the others */
    uint64_t image_tokens, prompt_tokens, new_tokens;
} work_times;

/* A job is JOB_ANSWERED or JOB_FAILED. An exit code other than EXIT_DONE ends the work. */
typedef int (*work_done_fn)(void *user, size_t job);
/* Now and then; draws. Nonzero ends the work. */
typedef int (*work_look_fn)(void *user);

typedef struct batch_work {
    run *run; /* its model is open */
    batch_job *jobs;
    size_t count, prompts;
    const char *prefix; /* before each caption; NULL: none */
    work_done_fn done;
    work_look_fn look;
    void *user;
    work_times times;
} batch_work;

/* Answers the jobs that wait. EXIT_DONE: all are answered or failed; EXIT_INTERRUPTED; what done
 * returned; EXIT_FAILED after a message. */
int batch_work_run(batch_work *work);

#endif
