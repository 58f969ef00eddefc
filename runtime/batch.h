/* batch.h - the answers of several sessions, decoded together. Its public face is in ocelli.h. */
#ifndef OC_BATCH_H
#define OC_BATCH_H

#include "runtime/answer.h"

enum { OC_BATCH_MOST = 4096 };

struct ocelli_batch {
    ocelli_model *model;
    size_t most;        /* answers at one time */
    oc_answer *answers; /* [most], the first count are in use, in the order they came */
    size_t count;
    /* Of the step being made; kept for the next. */
    oc_row *rows;       /* [room] */
    float *inputs;      /* [room, hidden] */
    size_t *shares;     /* [most]: rows of each answer */
    bool *is_prompt;    /* [most]: those rows are of its prompt */
    size_t room;        /* rows */
    size_t sized_rows;  /* what scratch was computed for */
    size_t sized_heads; /* rows of them that want logits */
    size_t scratch;     /* bytes */
};

#endif
