/* session.h - one conversation on one model: what was said, and what the cache holds of it. */
#ifndef OC_SESSION_H
#define OC_SESSION_H

#include "runtime/conversation.h"

struct ocelli_session {
    ocelli_model *model;
    oc_conversation talk;
    oc_chat_options chat;
    size_t context, prefill_rows;
    oc_kv_cache cache;
    oc_fused held;  /* the tokens behind the cache; of its media only the identity may be read */
    size_t kept;    /* leading tokens of held whose keys and values are in the cache */
    oc_arena arena; /* scratch of the decoder */
    float *inputs;  /* [prefill_rows, hidden] */
    oc_row *rows;   /* [prefill_rows] */
    float *logits;  /* [vocab] */
    oc_buffer answer;
};

#endif
