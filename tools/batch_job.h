/* batch_job.h - one picture of a batch, from the decision what is to be done to its record. The parts
 * of a batch hand it on: batch_run decides, batch_feed decodes, batch_work answers, batch_record
 * writes. */
#ifndef OCELLI_TOOLS_BATCH_JOB_H
#define OCELLI_TOOLS_BATCH_JOB_H

#include "tools/batch_lines.h"
#include "tools/batch_list.h"

#include <ocelli.h>

typedef enum job_state {
    JOB_SKIPPED,  /* it has its caption */
    JOB_LEFT,     /* beyond --limit */
    JOB_WAITING,  /* to be answered */
    JOB_ANSWERED, /* to be recorded */
    JOB_FAILED,   /* to be recorded: error says why */
    JOB_RECORDED
} job_state;

typedef struct job_answer {
    char *prompt;  /* as it is asked; owned */
    char *text;    /* the caption, its prefix included; owned; NULL: none yet */
    bool kept;     /* its JSON line is in the file already */
    bool repeated; /* asked again with more room */
    ocelli_result result;
} job_answer;

typedef struct batch_job {
    const batch_item *item;
    char *sidecar;       /* owned; NULL: none */
    job_answer *answers; /* [prompts]; NULL where nothing is to be answered */
    char *error;         /* owned */
    job_state state;
    int width, height; /* as the tower sees it */
    uint64_t image_tokens;
    double file_seconds, encode_seconds;
} batch_job;

#endif
